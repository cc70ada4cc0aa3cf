package embed

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// npyFile writes what numpy.save writes.
func npyFile(descr string, rows, cols int, values ...float64) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr, rows, cols)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	var w bytes.Buffer
	w.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&w, binary.LittleEndian, uint16(len(head)))
	w.WriteString(head)
	for _, v := range values {
		switch descr {
		case "<f4":
			_ = binary.Write(&w, binary.LittleEndian, float32(v))
		case "<f8":
			_ = binary.Write(&w, binary.LittleEndian, v)
		case ">f8":
			_ = binary.Write(&w, binary.BigEndian, v)
		}
	}
	return w.Bytes()
}

func write(t *testing.T, dir, name string, data string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecomputed(t *testing.T) {
	keys := unit.Digest("a") + "\n" + unit.Digest("b") + "\n"
	want := [][]float32{{0, 1}, {0.6, 0.8}}
	for _, tt := range []struct{ name, file, data string }{
		{"float32", "v.npy", string(npyFile("<f4", 2, 2, 3, 4, 0, 2))},
		{"float64", "v.npy", string(npyFile("<f8", 2, 2, 3, 4, 0, 2))},
		{"big endian", "v.npy", string(npyFile(">f8", 2, 2, 3, 4, 0, 2))},
		{"jsonl", "v.jsonl", `{"sha256":"` + unit.Digest("a") + `","embedding":[3,4]}` + "\n\n" + `{"text":"b","embedding":[0,2]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "v.keys", keys)
			p, err := OpenPrecomputed(PrecomputedOptions{Vectors: write(t, dir, tt.file, tt.data)})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, mustEmbed(t, p, index.KindDocument, "b", "a")); d != "" {
				t.Error(d)
			}
			rows, err := p.Embed(context.Background(), []string{"a", "a "}, index.KindQuery)
			var te *TextError
			if !errors.Is(err, ErrNoVector) || !errors.As(err, &te) || te.Index != 1 || len(rows) != 1 {
				t.Errorf("rows %v, error %v", rows, err)
			}
			p, err = OpenPrecomputed(PrecomputedOptions{Vectors: filepath.Join(dir, tt.file), Missing: "none"})
			if err != nil {
				t.Fatal(err)
			}
			if rows := mustEmbed(t, p, index.KindQuery, "other"); rows[0] != nil {
				t.Errorf("row %v", rows[0])
			}
		})
	}
	for _, tt := range []struct{ name, file, data, keys, want string }{
		{"zero", "v.jsonl", `{"text":"b","embedding":[0,0]}`, "", "v.jsonl:1: "},
		{"null", "v.jsonl", "\n" + `{"text":"b","embedding":[null,0]}`, "", "v.jsonl:2: component 0"},
		{"twice", "v.jsonl", `{"text":"b","embedding":[1]}` + "\n" + `{"text":"b","embedding":[1]}`, "", "twice"},
		{"lengths", "v.jsonl", `{"text":"b","embedding":[1]}` + "\n" + `{"text":"c","embedding":[1,2]}`, "", "2 components after some of 1"},
		{"wrong hash", "v.jsonl", `{"text":"b","sha256":"` + unit.Digest("a") + `","embedding":[1]}`, "", "not that of text"},
		{"NaN", "v.npy", string(npyFile("<f4", 2, 1, 1, math.NaN())), keys, "row 1: component 0 is NaN"},
		{"few keys", "v.npy", string(npyFile("<f4", 3, 1, 1, 2, 3)), keys, "2 keys for the 3 rows"},
		{"many keys", "v.npy", string(npyFile("<f4", 1, 1, 1)), keys, "more keys than the 1 rows"},
		{"type", "v.npy", string(npyFile("<i8", 1, 1)), keys, `type "<i8"`},
		{"cut", "v.npy", string(npyFile("<f4", 2, 2, 1, 2, 3)), keys, "does not make 12 bytes"},
		{"ending", "v.csv", "", "", ".npy or .jsonl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "v.keys", tt.keys)
			_, err := OpenPrecomputed(PrecomputedOptions{Vectors: write(t, dir, tt.file, tt.data)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(npyFile("<f4", 2, 2, 1, 2, 3, 4))
	f.Add(npyFile("<f8", 1, 1, 1))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := parseNPY("f", data)
		if err != nil {
			return
		}
		if a.rows*a.cols*a.size != len(a.data) {
			t.Fatalf("%d×%d×%d bytes in %d", a.rows, a.cols, a.size, len(a.data))
		}
		a.row(a.rows - 1)
	})
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte(`{"text":"b","embedding":[1,2]}`))
	f.Add([]byte(`{"sha256":"00","embedding":[[1]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, dim, err := parseJSONL("f", data)
		if err != nil {
			return
		}
		for _, r := range rows {
			if err := unit.Check(r, dim); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestUnit(t *testing.T) {
	t.Run("VS-03", func(t *testing.T) {
		for name, v := range map[string][]float64{
			"zero": {0, 0}, "NaN": {1, math.NaN()}, "+Inf": {math.Inf(1), 0}, "-Inf": {0, math.Inf(-1)}, "empty": {},
		} {
			if row, err := unit.Scale(v); err == nil {
				t.Errorf("%s: accepted as %v", name, row)
			}
		}
		for name, v := range map[string][]float32{
			"zero": {0, 0}, "NaN": {1, float32(math.NaN())}, "too long": {1, 1}, "too short": {0.1, 0}, "dimension": {1},
		} {
			if unit.Check(v, 2) == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		for name, v := range map[string][]float64{"huge": {1e300, 1e300}, "tiny": {1e-300, 1e-300}, "plain": {3, 3}} {
			row, err := unit.Scale(v)
			if err != nil || unit.Check(row, 2) != nil || row[0] != row[1] {
				t.Errorf("%s: %v, %v", name, row, err)
			}
		}
	})
}
