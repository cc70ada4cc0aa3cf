package dense

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
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
// cores. On error or cancellation path keeps what it held. Beyond rows, Write uses about 1.2
// bytes per value.
func Write(ctx context.Context, fsys *disk.FS, path string, dim int, rows [][]float32) error {
	l, err := newLayout(dim, len(rows))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	h := header{dim: dim, rows: len(rows)}
	presence := make([]uint64, l.padded/64)
	for i, row := range rows {
		if row == nil {
			continue
		}
		if len(row) != dim {
			return fmt.Errorf("write %s: %w", path, &RowError{i, fmt.Sprintf("%d values, %d expected", len(row), dim), index.ErrDimension})
		}
		presence[i/64] |= 1 << (i % 64)
		h.present++
	}

	// Rows that need scaling are scaled into a copy of their own; all others stay the caller's.
	rows, err = unitRows(ctx, rows)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	mean, err := meanOf(ctx, dim, rows, h.present)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	c := &codes{
		layout:  l,
		scale:   make([]float32, l.padded),
		highErr: make([]float32, l.padded),
		lowErr:  make([]float32, l.padded),
		signFac: make([]float32, l.padded),
		high:    make([]byte, l.size[sectionHigh]),
		low:     make([]byte, l.size[sectionLow]),
		sign:    make([]uint64, l.words*l.padded),
	}
	rot := newRotation(dim)
	norms := make([][2]float64, chunksOf(len(rows)))
	err = eachChunk(ctx, len(rows), func(chunk, lo, hi int) error {
		y := make([]float64, dim)
		for r := lo; r < hi; r++ {
			if rows[r] == nil {
				continue
			}
			for j, v := range rows[r] {
				y[j] = float64(v) - float64(mean[j])
			}
			rot.apply(y)
			hn, ln := c.quantise(r, y)
			norms[chunk][0] = max(norms[chunk][0], hn)
			norms[chunk][1] = max(norms[chunk][1], ln)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	for _, n := range norms {
		h.highNorm = max(h.highNorm, roundUp(n[0]*(1+1e-12)))
		h.lowNorm = max(h.lowNorm, roundUp(n[1]*(1+1e-12)))
	}

	parts := [sections][]byte{
		sectionPresence: bytesOf(presence),
		sectionMean:     bytesOf(mean),
		sectionScale:    bytesOf(c.scale),
		sectionHighErr:  bytesOf(c.highErr),
		sectionLowErr:   bytesOf(c.lowErr),
		sectionSignFac:  bytesOf(c.signFac),
		sectionHigh:     c.high,
		sectionLow:      c.low,
		sectionSign:     bytesOf(c.sign),
	}
	for i, p := range parts[:sectionRows] {
		h.sums[i] = crc32.Checksum(p, castagnoli)
	}
	zero := make([]float32, dim)
	writeRows := func(w io.Writer) error {
		for i, row := range rows {
			if i%ctxRows == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			if row == nil {
				row = zero
			}
			if _, err := w.Write(bytesOf(row)); err != nil {
				return err
			}
		}
		return nil
	}
	sum := crc32.New(castagnoli)
	if err := writeRows(sum); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	h.sums[sectionRows] = sum.Sum32()

	return fsys.WriteTo(path, func(out io.Writer) error {
		w := newPadder(out)
		if _, err := w.Write(h.encode(l.total)); err != nil {
			return err
		}
		for i, p := range parts[:sectionRows] {
			if err := w.pad(l.off[i]); err != nil {
				return err
			}
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		if err := w.pad(l.off[sectionRows]); err != nil {
			return err
		}
		if err := writeRows(w); err != nil {
			return err
		}
		if err := w.pad(l.total); err != nil {
			return err
		}
		return w.Flush()
	})
}

// unitRows returns rows with every row of another length than 1 replaced by a scaled copy.
func unitRows(ctx context.Context, rows [][]float32) ([][]float32, error) {
	scaled := make([][]float32, len(rows))
	return scaled, eachChunk(ctx, len(rows), func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			row := rows[i]
			if row == nil {
				continue
			}
			length, reason := checkVector(row)
			if reason != "" {
				return &RowError{Row: i, Reason: reason}
			}
			if math.Abs(length-1) >= unitTolerance {
				s := make([]float32, len(row))
				unit(s, row, length)
				row = s
			}
			scaled[i] = row
		}
		return nil
	})
}

// meanOf returns the mean of the rows that are present, zeros if none is.
func meanOf(ctx context.Context, dim int, rows [][]float32, present int) ([]float32, error) {
	sums := make([][]float64, chunksOf(len(rows)))
	err := eachChunk(ctx, len(rows), func(chunk, lo, hi int) error {
		sum := make([]float64, dim)
		for _, row := range rows[lo:hi] {
			for j, v := range row {
				sum[j] += float64(v)
			}
		}
		sums[chunk] = sum
		return nil
	})
	if err != nil {
		return nil, err
	}
	mean := make([]float32, dim)
	for j := range mean {
		var sum float64
		for _, s := range sums {
			sum += s[j]
		}
		mean[j] = float32(sum / float64(max(present, 1)))
	}
	return mean, nil
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

// padder writes in large pieces and knows where it is.
type padder struct {
	w   io.Writer
	buf []byte
	at  int
}

const padderSize = 1 << 20

func newPadder(w io.Writer) *padder { return &padder{w: w, buf: make([]byte, 0, padderSize)} }

func (p *padder) Write(b []byte) (int, error) {
	p.at += len(b)
	if len(p.buf)+len(b) > padderSize {
		if err := p.Flush(); err != nil {
			return 0, err
		}
		if len(b) >= padderSize {
			return p.w.Write(b)
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
	_, err := p.w.Write(p.buf)
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
