package dense

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/disk"
)

// RowError says why a row was refused. It unwraps to index.ErrDimension where the length is
// wrong, to index.ErrCorrupt where a stored row is bad, else to nothing.
type RowError struct {
	Row    int
	Reason string
	Err    error
}

func (e *RowError) Unwrap() error { return e.Err }
func (e *RowError) Error() string {
	return fmt.Sprintf("vector of row %d: %s: embed its text again", e.Row, e.Reason)
}

// unitTolerance is how far from 1 the length of a vector may be before it is scaled. It is
// chromem-go's, which would else copy and scale the rows it is given.
const unitTolerance = 1e-6

// checkVector returns the length of v, or the reason why it is no direction.
func checkVector(v []float32) (length float64, reason string) {
	var sum float64
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, fmt.Sprintf("value %d is %v", i, x)
		}
		sum += float64(f * f)
	}
	if sum == 0 {
		return 0, "all values are zero"
	}
	return math.Sqrt(sum), ""
}

// unit writes v scaled to length 1 to dst, bit for bit where v has that length already within
// unitTolerance.
func unit(dst, v []float32, length float64) {
	if math.Abs(length-1) < unitTolerance {
		copy(dst, v)
		return
	}
	for i, x := range v {
		dst[i] = float32(float64(x) / length)
	}
}

// Write stores rows, one per chunk in the order of their ordinals, at path; fsys may be nil. A
// nil row says that the chunk has no vector. The others must have dim finite values that are
// not all zero, else Write returns a *RowError that names the first bad row; a row whose
// length is not 1 is stored scaled to it. The same rows give the same bytes on any number of
// cores. On error or cancellation path keeps what it held. Beyond rows, Write uses what a Writer
// does.
func Write(ctx context.Context, fsys *disk.FS, path string, dim int, rows [][]float32) error {
	w, err := Create(fsys, path, dim, len(rows))
	if err != nil {
		return err
	}
	if err := w.Append(ctx, rows); err != nil {
		return errors.Join(err, w.Discard())
	}
	return w.Commit(ctx)
}

// Writer writes a file whose rows come in parts, so that they need not be in memory together. It
// uses some 8 bytes × 4,096 × dimension per core, whatever the number of rows, and a bit per
// row. It ends with Commit or Discard and is not safe for concurrent use.
type Writer struct {
	path    string
	layout  layout
	header  header
	file    *disk.Replacement
	out     *padder
	wave    int         // rows worked on at a time
	sum     hash.Hash32 // of the rows
	taken   int         // rows, those pending included
	pending [][]float32 // fewer than a wave
	total   []float64   // the sum of the rows, in the order of their runs

	presence []uint64
}

// Create begins a file of the given number of rows, which Append then gives, at path. Until Commit
// path keeps what it held.
func Create(fsys *disk.FS, path string, dim, rows int) (*Writer, error) {
	l, err := newLayout(dim, rows)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	w := &Writer{
		path: path, layout: l, header: header{dim: dim, rows: rows}, wave: runtime.GOMAXPROCS(0) * ctxRows,
		sum: crc32.New(castagnoli), total: make([]float64, dim), presence: make([]uint64, l.padded/64),
	}
	if w.file, err = fsys.Replace(path); err != nil {
		return nil, err
	}
	w.out = newPadder(w.file)
	if err := w.out.seek(l.off[sectionRows]); err != nil {
		return nil, errors.Join(err, w.file.Discard())
	}
	return w, nil
}

// Discard removes what was written.
func (w *Writer) Discard() error { return w.file.Discard() }

// Append gives the rows that come next, under the rules of Write. The rows may be kept until
// Commit. After an error nothing but Discard helps.
func (w *Writer) Append(ctx context.Context, rows [][]float32) error {
	if n := w.taken + len(rows); n > w.layout.rows {
		return fmt.Errorf("write %s: %d rows are given, %d were announced", w.path, n, w.layout.rows)
	}
	for i, row := range rows {
		if row == nil {
			continue
		}
		if r := w.taken + i; len(row) != w.layout.dim {
			return fmt.Errorf("write %s: %w", w.path, &RowError{r, fmt.Sprintf("%d values, %d expected", len(row), w.layout.dim), index.ErrDimension})
		}
	}
	for len(rows) > 0 {
		n := min(w.wave-len(w.pending), len(rows))
		w.pending = append(w.pending, rows[:n]...)
		w.taken += n
		rows = rows[n:]
		if len(w.pending) == w.wave {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// flush stores the pending rows, whose first begins a run of ctxRows.
func (w *Writer) flush(ctx context.Context) error {
	first := w.taken - len(w.pending)
	sums := make([][]float64, chunksOf(len(w.pending)))
	err := eachChunk(ctx, len(w.pending), func(chunk, lo, hi int) error {
		sum := make([]float64, w.layout.dim)
		for i := lo; i < hi; i++ {
			row := w.pending[i]
			if row == nil {
				continue
			}
			length, reason := checkVector(row)
			if reason != "" {
				return &RowError{Row: first + i, Reason: reason}
			}
			if math.Abs(length-1) >= unitTolerance {
				// Into a copy of its own; all others stay the caller's.
				s := make([]float32, len(row))
				unit(s, row, length)
				row, w.pending[i] = s, s
			}
			for j, v := range row {
				sum[j] += float64(v)
			}
		}
		sums[chunk] = sum
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	for _, sum := range sums {
		for j, v := range sum {
			w.total[j] += v
		}
	}
	zero := make([]float32, w.layout.dim)
	for i, row := range w.pending {
		if r := first + i; row != nil {
			w.presence[r/64] |= 1 << (r % 64)
			w.header.present++
		} else {
			row = zero
		}
		b := bytesOf(row)
		w.sum.Write(b)
		if _, err := w.out.Write(b); err != nil {
			return err
		}
	}
	clear(w.pending) // their vectors are not needed any more
	w.pending = w.pending[:0]
	return nil
}

// Commit writes what is made of all rows and moves the file to its path. After an error nothing is
// left of it.
func (w *Writer) Commit(ctx context.Context) error {
	if err := w.finish(ctx); err != nil {
		return errors.Join(err, w.file.Discard())
	}
	return w.file.Commit()
}

func (w *Writer) finish(ctx context.Context) error {
	if w.taken != w.layout.rows {
		return fmt.Errorf("write %s: %d rows are given, %d were announced", w.path, w.taken, w.layout.rows)
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	l, h := &w.layout, &w.header
	h.sums[sectionRows] = w.sum.Sum32()
	if err := w.out.pad(l.total); err != nil {
		return err
	}

	mean := make([]float32, l.dim)
	for j := range mean {
		mean[j] = float32(w.total[j] / float64(max(h.present, 1)))
	}
	if err := w.out.seek(headerSize); err != nil {
		return err
	}
	for i, p := range [][]byte{sectionPresence: bytesOf(w.presence), sectionMean: bytesOf(mean)} {
		if err := w.out.pad(l.off[i]); err != nil {
			return err
		}
		if _, err := w.out.Write(p); err != nil {
			return err
		}
		h.sums[i] = crc32.Checksum(p, castagnoli)
	}
	if err := w.out.pad(l.off[sectionScale]); err != nil {
		return err
	}
	if err := w.writeCodes(ctx, mean); err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	if err := w.out.seek(0); err != nil {
		return err
	}
	if _, err := w.out.Write(h.encode(l.total)); err != nil {
		return err
	}
	return w.out.Flush()
}

// writeCodes reads the rows again and writes the planes, run after run of ctxRows.
func (w *Writer) writeCodes(ctx context.Context, mean []float32) error {
	l, h := &w.layout, &w.header
	rot := newRotation(l.dim)
	type run struct {
		parts     [sections][]byte
		high, low float64 // largest norms
	}
	for first := 0; first < l.rows; first += w.wave {
		n := min(w.wave, l.rows-first)
		runs := make([]run, chunksOf(n))
		err := eachChunk(ctx, n, func(chunk, lo, hi int) error {
			rows := make([]float32, (hi-lo)*l.dim)
			if _, err := w.file.ReadAt(bytesOf(rows), int64(l.off[sectionRows]+4*l.dim*(first+lo))); err != nil {
				return err
			}
			c, err := newCodes(l.dim, hi-lo)
			if err != nil {
				return err
			}
			r := &runs[chunk]
			y := make([]float64, l.dim)
			for i := range hi - lo {
				if at := first + lo + i; w.presence[at/64]&(1<<(at%64)) == 0 {
					continue
				}
				for j, v := range rows[i*l.dim : (i+1)*l.dim] {
					y[j] = float64(v) - float64(mean[j])
				}
				rot.apply(y)
				hn, ln := c.quantise(i, y)
				r.high, r.low = max(r.high, hn), max(r.low, ln)
			}
			r.parts = [sections][]byte{
				sectionScale:   bytesOf(c.scale),
				sectionHighErr: bytesOf(c.highErr),
				sectionLowErr:  bytesOf(c.lowErr),
				sectionSignFac: bytesOf(c.signFac),
				sectionHigh:    c.high,
				sectionLow:     c.low,
				sectionSign:    bytesOf(c.sign),
			}
			return nil
		})
		if err != nil {
			return err
		}
		// The runs of a section lie one behind the other: ctxRows is a multiple of padRows, and a
		// section takes as many bytes for any padRows rows.
		for i := sectionScale; i < sectionRows; i++ {
			if err := w.out.seek(l.off[i] + l.size[i]/l.padded*first); err != nil {
				return err
			}
			for _, r := range runs {
				h.sums[i] = crc32.Update(h.sums[i], castagnoli, r.parts[i])
				if _, err := w.out.Write(r.parts[i]); err != nil {
					return err
				}
			}
		}
		for _, r := range runs {
			h.highNorm = max(h.highNorm, roundUp(r.high*(1+1e-12)))
			h.lowNorm = max(h.lowNorm, roundUp(r.low*(1+1e-12)))
		}
	}
	return nil
}

// newCodes returns room for the codes of that many rows.
func newCodes(dim, rows int) (*codes, error) {
	l, err := newLayout(dim, rows)
	if err != nil {
		return nil, err
	}
	return &codes{
		layout:  l,
		scale:   make([]float32, l.padded),
		highErr: make([]float32, l.padded),
		lowErr:  make([]float32, l.padded),
		signFac: make([]float32, l.padded),
		high:    make([]byte, l.size[sectionHigh]),
		low:     make([]byte, l.size[sectionLow]),
		sign:    make([]uint64, l.words*l.padded),
	}, nil
}

const ctxRows = 4096 // rows between two looks at the context; a multiple of padRows

func chunksOf(n int) int { return (n + ctxRows - 1) / ctxRows }

// eachChunk calls f for each run of ctxRows of n rows, on as many goroutines as there are
// cores, and returns the error of the first chunk that failed, so that the error does not
// depend on timing.
func eachChunk(ctx context.Context, n int, f func(chunk, lo, hi int) error) error {
	chunks := chunksOf(n)
	errs := make([]error, chunks)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), chunks) {
		wg.Go(func() {
			for {
				// Chunks are handed out in order, so all before a failed one are worked on.
				c := int(next.Add(1)) - 1
				if c >= chunks || failed.Load() {
					return
				}
				err := ctx.Err()
				if err == nil {
					err = f(c, c*ctxRows, min((c+1)*ctxRows, n))
				}
				if err != nil {
					errs[c] = err
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// padder writes a file in large pieces and knows where it is.
type padder struct {
	f   *disk.Replacement
	buf []byte
	at  int
}

const padderSize = 1 << 20

func newPadder(f *disk.Replacement) *padder { return &padder{f: f, buf: make([]byte, 0, padderSize)} }

// seek goes on at offset to; the bytes between, if they are never written, are zeros.
func (p *padder) seek(to int) error {
	if to == p.at {
		return nil
	}
	if err := p.Flush(); err != nil {
		return err
	}
	p.at = to
	return p.f.SeekTo(int64(to))
}

func (p *padder) Write(b []byte) (int, error) {
	p.at += len(b)
	if len(p.buf)+len(b) > padderSize {
		if err := p.Flush(); err != nil {
			return 0, err
		}
		if len(b) >= padderSize {
			return p.f.Write(b)
		}
	}
	p.buf = append(p.buf, b...)
	return len(b), nil
}

func (p *padder) pad(to int) error {
	_, err := p.Write(make([]byte, to-p.at))
	return err
}

func (p *padder) Flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	_, err := p.f.Write(p.buf)
	p.buf = p.buf[:0]
	return err
}

// bytesOf returns the bytes of s in memory, which are the file's on a little-endian machine.
func bytesOf[T float32 | uint64](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// sliceOf is the inverse of bytesOf; b must be aligned and whole.
func sliceOf[T float32 | uint64](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

func littleEndian() bool {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], 1)
	return b[0] == 1
}
