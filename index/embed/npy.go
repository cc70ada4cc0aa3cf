package embed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/seed792a4543/assay/index"
)

// npy is a NumPy array of two dimensions (format 1.0 to 3.0 of numpy.lib.format), float32 or
// float64, of either byte order, row after row.
type npy struct {
	rows, cols int
	size       int // bytes per number
	order      binary.ByteOrder
	data       []byte
}

func (a *npy) row(i int) []float64 {
	out := make([]float64, a.cols)
	b := a.data[i*a.cols*a.size:]
	for j := range out {
		if a.size == 4 {
			out[j] = float64(math.Float32frombits(a.order.Uint32(b[4*j:])))
		} else {
			out[j] = math.Float64frombits(a.order.Uint64(b[8*j:]))
		}
	}
	return out
}

// parseNPY reads a .npy file. The array refers to data.
func parseNPY(path string, data []byte) (*npy, error) {
	corrupt := func(format string, args ...any) (*npy, error) {
		return nil, &index.CorruptError{File: path, Reason: fmt.Sprintf(format, args...)}
	}
	const magic = "\x93NUMPY"
	if len(data) < 10 || string(data[:6]) != magic {
		return nil, fmt.Errorf("%s: not a .npy file: %w", path, index.ErrFormat)
	}
	var head []byte
	switch major := data[6]; major {
	case 1:
		n := int(binary.LittleEndian.Uint16(data[8:]))
		if len(data) < 10+n {
			return corrupt("header of %d bytes in a file of %d", n, len(data))
		}
		head, data = data[10:10+n], data[10+n:]
	case 2, 3:
		if len(data) < 12 {
			return corrupt("no header")
		}
		n := int64(binary.LittleEndian.Uint32(data[8:]))
		if int64(len(data)) < 12+n {
			return corrupt("header of %d bytes in a file of %d", n, len(data))
		}
		head, data = data[12:12+n], data[12+n:]
	default:
		return nil, fmt.Errorf("%s: .npy version %d, 1 to 3 can be read: %w", path, major, index.ErrFormat)
	}
	descr, fortran, shape, err := parseNPYHeader(string(bytes.TrimSpace(head)))
	if err != nil {
		return corrupt("header: %v", err)
	}
	a := &npy{order: binary.LittleEndian, data: data}
	switch descr {
	case "<f4", ">f4":
		a.size = 4
	case "<f8", ">f8":
		a.size = 8
	default:
		return nil, fmt.Errorf("%s: numbers of type %q: save the array as float32 or float64", path, descr)
	}
	if descr[0] == '>' {
		a.order = binary.BigEndian
	}
	if fortran {
		return nil, fmt.Errorf("%s: the array is in Fortran order: save it with numpy.ascontiguousarray", path)
	}
	if len(shape) != 2 || shape[0] < 1 || shape[1] < 1 {
		return nil, fmt.Errorf("%s: shape %v: want rows and columns, both at least 1", path, shape)
	}
	// Divided, not multiplied, so that no shape overflows.
	cells := int64(len(data)) / int64(a.size)
	if shape[0] > cells || shape[1] > cells/shape[0] || shape[0]*shape[1]*int64(a.size) != int64(len(data)) {
		return corrupt("shape %v of %d-byte numbers does not make %d bytes", shape, a.size, len(data))
	}
	a.rows, a.cols = int(shape[0]), int(shape[1])
	return a, nil
}

// parseNPYHeader reads the literal dictionary {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 2), }, its keys in any order.
func parseNPYHeader(s string) (descr string, fortran bool, shape []int64, err error) {
	body, ok := strings.CutPrefix(s, "{")
	if body, ok2 := strings.CutSuffix(body, "}"); ok && ok2 {
		s = body
	} else {
		return "", false, nil, errors.New("no dictionary")
	}
	seen := map[string]bool{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		key, rest, err := pyString(s)
		if err != nil {
			return "", false, nil, err
		}
		if seen[key] {
			return "", false, nil, fmt.Errorf("%q twice", key)
		}
		seen[key] = true
		rest, ok := strings.CutPrefix(strings.TrimSpace(rest), ":")
		if !ok {
			return "", false, nil, fmt.Errorf("no colon after %q", key)
		}
		rest = strings.TrimSpace(rest)
		switch key {
		case "descr":
			if descr, rest, err = pyString(rest); err != nil {
				return "", false, nil, err
			}
		case "fortran_order":
			word, _, _ := strings.Cut(rest, ",")
			word = strings.TrimSpace(word)
			if word != "True" && word != "False" {
				return "", false, nil, fmt.Errorf("fortran_order is %q", word)
			}
			fortran, rest = word == "True", rest[len(word):]
		case "shape":
			inner, after, ok := strings.Cut(strings.TrimPrefix(rest, "("), ")")
			if !ok || !strings.HasPrefix(rest, "(") {
				return "", false, nil, errors.New("shape is no tuple")
			}
			for f := range strings.SplitSeq(inner, ",") {
				if f = strings.TrimSpace(f); f == "" {
					continue
				}
				n, err := strconv.ParseInt(strings.TrimSuffix(f, "L"), 10, 64)
				if err != nil {
					return "", false, nil, fmt.Errorf("shape holds %q", f)
				}
				shape = append(shape, n)
			}
			rest = after
		default:
			return "", false, nil, fmt.Errorf("unknown key %q", key)
		}
		rest = strings.TrimSpace(rest)
		if rest != "" && rest[0] != ',' {
			return "", false, nil, fmt.Errorf("no comma after %q", key)
		}
		s = strings.TrimPrefix(rest, ",")
	}
	for _, k := range []string{"descr", "fortran_order", "shape"} {
		if !seen[k] {
			return "", false, nil, fmt.Errorf("no %q", k)
		}
	}
	return descr, fortran, shape, nil
}

// pyString reads a quoted string without escapes off the front of s.
func pyString(s string) (value, rest string, err error) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", "", fmt.Errorf("no string at %q", s[:min(len(s), 20)])
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 {
		return "", "", errors.New("unterminated string")
	}
	return s[1 : 1+end], s[2+end:], nil
}
