package dense

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"sync"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/mapped"
)

// Options says how a file is opened and searched. The zero value searches exactly.
type Options struct {
	// Dim is the dimension the caller's query vectors will have; 0 accepts the file's.
	Dim int
	// Workers is the number of goroutines one call may use; 0 means one per core where the
	// index is large enough to be worth it.
	Workers int
	// Approximate allows a search to miss rows: it ranks all rows by the signs of their
	// values only, and scores in full those that may be among the best with a probability
	// that is high but below 1. Scores are exact, membership is not.
	Approximate bool
	// Candidates is how many rows an approximate search scores in full; 0 means
	// as many as the expected error of the estimates asks for.
	Candidates int
	// Portable uses the inner loops written in Go even where this machine has faster ones; the
	// results are the same.
	Portable bool
	// kernels replaces the ones chosen for this machine, for tests and benchmarks.
	kernels *kernels
}

// Validate returns an error that names the first field out of range.
func (o Options) Validate() error {
	switch {
	case o.Dim < 0 || o.Dim > maxDim:
		return fmt.Errorf("dimension %d is outside 0…%d", o.Dim, maxDim)
	case o.Workers < 0:
		return fmt.Errorf("workers %d is below 0", o.Workers)
	case o.Candidates < 0:
		return fmt.Errorf("candidates %d is below 0", o.Candidates)
	}
	return nil
}

// Index is an open vector file. It is safe for concurrent use, Close included.
type Index struct {
	name string
	opts Options
	kern *kernels

	header   header
	layout   layout
	codes    codes
	presence []uint64
	mean     []float32
	matrix   []float32
	rot      *rotation
	pool     sync.Pool // *scratch
	parallel int       // parallelBytes, less in tests

	mu   sync.RWMutex // held for reading while the mapping is in use
	data []byte       // nil once closed
	file *mapped.File
}

// Open maps the file at path. It reads the header and the presence bits only, so that it takes
// about the same time for any size; Verify reads the rest. Errors are index.ErrCorrupt for a damaged or cut file,
// index.ErrFormat for one of another version, index.ErrDimension where o.Dim is set and
// differs.
func Open(path string, o Options) (*Index, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if !littleEndian() {
		return nil, fmt.Errorf("open %s: vector files need a little-endian machine: %w", path, errors.ErrUnsupported)
	}
	file, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	x, err := newIndex(path, file.Data, o)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	x.file = file
	return x, nil
}

// newIndex checks data, the bytes of the file named path, as far as a search relies on them.
func newIndex(path string, data []byte, o Options) (*Index, error) {
	h, l, err := parseHeader(path, data, int64(len(data)))
	if err != nil {
		return nil, err
	}
	if o.Dim != 0 && o.Dim != h.dim {
		return nil, fmt.Errorf("open %s: vectors of dimension %d, asked for %d: rebuild it or use the embedder it was built with: %w",
			path, h.dim, o.Dim, index.ErrDimension)
	}
	x := &Index{name: path, opts: o, kern: o.kernels, header: h, layout: l, data: data, parallel: parallelBytes}
	switch {
	case x.kern != nil:
	case o.Portable:
		x.kern = &goKernels
	default:
		x.kern = bestKernels()
	}
	section := func(i int) []byte { return data[l.off[i] : l.off[i]+l.size[i] : l.off[i]+l.size[i]] }
	x.presence = sliceOf[uint64](section(sectionPresence))
	x.mean = sliceOf[float32](section(sectionMean))
	x.matrix = sliceOf[float32](section(sectionRows))
	x.codes = codes{
		layout:  l,
		scale:   sliceOf[float32](section(sectionScale)),
		highErr: sliceOf[float32](section(sectionHighErr)),
		lowErr:  sliceOf[float32](section(sectionLowErr)),
		signFac: sliceOf[float32](section(sectionSignFac)),
		high:    section(sectionHigh),
		low:     section(sectionLow),
		sign:    sliceOf[uint64](section(sectionSign)),
	}
	x.rot = newRotation(h.dim)
	if reason := x.checkPresence(); reason != "" {
		return nil, &index.CorruptError{File: path, Reason: reason}
	}
	return x, nil
}

// checkPresence checks the one section that a search takes positions from; it is one bit per
// row.
func (x *Index) checkPresence() string {
	if crc32.Checksum(bytesOf(x.presence), castagnoli) != x.header.sums[sectionPresence] {
		return "checksum of the presence differs"
	}
	n := 0
	for i, w := range x.presence {
		n += bits.OnesCount64(w)
		if over := (i+1)*64 - x.layout.rows; over > 0 && w>>(64-over) != 0 {
			return "rows past the end are marked as present"
		}
	}
	if n != x.header.present {
		return fmt.Sprintf("%d rows are present, the header says %d", n, x.header.present)
	}
	return ""
}

// Len returns the number of rows, missing ones included.
func (x *Index) Len() int { return x.header.rows }

// Present returns the number of rows that are not missing.
func (x *Index) Present() int { return x.header.present }

// Dim returns the dimension of the rows.
func (x *Index) Dim() int { return x.header.dim }

// Kernels names the inner loops in use: go, avx2 or avx512-vnni.
func (x *Index) Kernels() string { return x.kern.name }

// ScanBytes returns how many bytes of codes a search reads of every row's, a lower bound of its
// time at the machine's memory speed.
func (x *Index) ScanBytes() int {
	if x.opts.Approximate {
		return x.layout.size[sectionSign]
	}
	return x.layout.size[sectionHigh]
}

// Row returns a copy of the stored row, of length 1; nil where the row is missing or out of
// range, or x is closed.
func (x *Index) Row(ord uint32) []float32 {
	if x.acquire() != nil {
		return nil
	}
	defer x.release()
	if int64(ord) >= int64(x.header.rows) || !x.has(ord) {
		return nil
	}
	return append([]float32(nil), x.row(ord)...)
}

func (x *Index) has(ord uint32) bool { return x.presence[ord/64]&(1<<(ord%64)) != 0 }

func (x *Index) row(ord uint32) []float32 {
	d := x.header.dim
	at := int(ord) * d
	return x.matrix[at : at+d : at+d]
}

// acquire keeps the mapping alive until release; it fails once x is closed.
func (x *Index) acquire() error {
	x.mu.RLock()
	if x.data == nil {
		x.mu.RUnlock()
		return fmt.Errorf("%s: %w", x.name, index.ErrClosed)
	}
	return nil
}

func (x *Index) release() { x.mu.RUnlock() }

// Close waits for searches under way and releases the mapping; later calls of other methods
// fail with index.ErrClosed. A second Close does nothing.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.data == nil {
		return nil
	}
	x.data = nil
	return x.file.Close()
}

// Verify reads the whole file: every checksum, the zeros between the sections, and every row,
// which must be finite and of length 1 where present. The error is index.ErrCorrupt and names
// the first fault.
func (x *Index) Verify(ctx context.Context) error {
	if err := x.acquire(); err != nil {
		return err
	}
	defer x.release()
	corrupt := func(format string, args ...any) error {
		return &index.CorruptError{File: x.name, Reason: fmt.Sprintf(format, args...)}
	}
	l := &x.layout
	at := headerSize
	for i := range sections {
		for ; at < l.off[i]; at++ {
			if x.data[at] != 0 {
				return corrupt("byte %d before the %s is not zero", at, sectionNames[i])
			}
		}
		var sum uint32
		for end := at + l.size[i]; at < end; {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(end-at, 1<<22)
			sum = crc32.Update(sum, castagnoli, x.data[at:at+n])
			at += n
		}
		if sum != x.header.sums[i] {
			return corrupt("checksum of the %s differs", sectionNames[i])
		}
	}
	for ; at < l.total; at++ {
		if x.data[at] != 0 {
			return corrupt("byte %d at the end is not zero", at)
		}
	}
	// What follows can only be wrong in a file that was written wrong, checksums included.
	for r := range l.rows {
		if r%ctxRows == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if !x.has(uint32(r)) {
			continue
		}
		length, reason := checkVector(x.row(uint32(r)))
		if reason == "" && math.Abs(length-1) > 2*unitTolerance {
			reason = fmt.Sprintf("length is %v", length)
		}
		if reason != "" {
			return corrupt("%v", &RowError{Row: r, Reason: reason})
		}
	}
	return nil
}
