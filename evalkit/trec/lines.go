package trec

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// LineError is a fault in one line of a file.
type LineError struct {
	File string
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the fault without its place.
func (e *LineError) Unwrap() error { return e.Err }

// maxLine bounds the length of a line.
const maxLine = 1 << 20

// lines reads a file line by line. Line ends are LF or CRLF; a BOM before the first is dropped.
type lines struct {
	file string
	rd   *bufio.Reader
	n    int
	long []byte
}

func newLines(file string, r io.Reader) *lines {
	return &lines{file: file, rd: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next line without its end; it is valid until the next call. io.EOF ends.
func (l *lines) next() ([]byte, error) {
	line, err := l.rd.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(l.long) > maxLine {
				l.n++
				return nil, l.fail("line is longer than %d bytes", maxLine)
			}
			line, err = l.rd.ReadSlice('\n')
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	if len(line) == 0 && err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("%s:%d: %w", l.file, l.n+1, err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:%d: %w", l.file, l.n+1, err)
	}
	l.n++
	if l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (l *lines) fail(format string, args ...any) error {
	return &LineError{l.file, l.n, fmt.Errorf(format, args...)}
}

// record returns the next line that is neither blank nor a comment (# in the first column, as
// trec_eval 10 has it), split at blanks and tabs into at most len(fields) fields. It returns
// the number of fields of the line.
func (l *lines) record(fields [][]byte) (int, error) {
	for {
		line, err := l.next()
		if err != nil {
			return 0, err
		}
		if len(line) > 0 && line[0] == '#' {
			continue
		}
		if !utf8.Valid(line) {
			return 0, l.fail("not valid UTF-8")
		}
		n, i := 0, 0
		for i < len(line) {
			for i < len(line) && blank(line[i]) {
				i++
			}
			start := i
			for i < len(line) && !blank(line[i]) {
				i++
			}
			if i > start {
				if n < len(fields) {
					fields[n] = line[start:i]
				}
				n++
			}
		}
		if n > 0 {
			return n, nil
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r' }

// number reads a finite decimal number.
func number(b []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("score %q is no finite number", b)
	}
	return v, nil
}

// maxGrade bounds grades to what exponential gain can hold.
const maxGrade = 1000

func grade(b []byte) (int, error) {
	v, err := strconv.Atoi(string(b))
	if err != nil {
		return 0, fmt.Errorf("grade %q is no whole number", b)
	}
	if v > maxGrade || v < -maxGrade {
		return 0, fmt.Errorf("grade %d is outside %d to %d", v, -maxGrade, maxGrade)
	}
	return v, nil
}
