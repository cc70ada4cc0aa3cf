package dense

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/seed792a4543/assay/index"
)

// The file, all numbers little-endian: a header of headerSize bytes, then the sections in the
// order of the constants below, each starting at a multiple of 64 bytes, gaps filled with
// zeros. Offsets and lengths follow from dimension and row count, so the header does not hold
// them and cannot contradict them.
//
//	0   magic "ASSAYVEC"
//	8   uint32 version
//	12  uint32 dimension
//	16  uint64 rows
//	24  uint64 rows that are present
//	32  uint64 size of the file
//	40  float32 largest ‖ŷ‖ of the high plane, rounded up
//	44  float32 largest ‖ŷ‖ of both planes, rounded up
//	48  uint32 CRC-32C of each section
//	…   zeros
//	124 uint32 CRC-32C of the 124 bytes before it, in every version of the format
const (
	magic      = "ASSAYVEC"
	version    = 1 // 1: first
	headerSize = 128
	sumsAt     = 48
)

// The sections.
const (
	sectionPresence = iota // uint64 words, bit i%64 of word i/64 is set when row i is present
	sectionMean            // float32 × dimension: m
	sectionScale           // float32 × padded rows: the step of the high plane, 16 × that of both
	sectionHighErr         // float32 × padded rows: ‖y-ŷ‖ of the high plane, rounded up
	sectionLowErr          // float32 × padded rows: ‖y-ŷ‖ of both planes, rounded up
	sectionSignFac         // float32 × padded rows: ‖y‖² / ‖y‖₁
	sectionHigh            // high nibbles, blocks of 16 rows, see layout.high
	sectionLow             // low nibbles, row by row, see layout.low
	sectionSign            // uint64 × words per row, blocks of 8 rows, see layout.sign
	sectionRows            // float32 × dimension × rows
	sections
)

var sectionNames = [sections]string{
	"presence", "mean", "scale", "high error", "low error", "sign factor", "high plane", "low plane", "sign plane", "rows",
}

const (
	blockRows = 16      // rows of a block of the high plane
	signRows  = 8       // rows of a block of the sign plane
	padRows   = 64      // row counts are padded to whole words of the presence bitmap
	maxDim    = 1 << 14 // keeps every integer dot product below 2^31 and exact in a float64
	maxRows   = 1<<31 - 1
)

// layout is what follows from dimension and row count.
type layout struct {
	dim, rows int
	padded    int // rows rounded up to padRows
	groups    int // groups of 8 dimensions, the last padded with zeros
	words     int // uint64 words of the sign plane per row
	off, size [sections]int
	total     int
}

// newLayout returns the layout, or an error where dim or rows is out of range.
func newLayout(dim, rows int) (layout, error) {
	if dim < 1 || dim > maxDim {
		return layout{}, fmt.Errorf("dimension %d is outside 1…%d", dim, maxDim)
	}
	if rows < 0 || rows > maxRows {
		return layout{}, fmt.Errorf("%d rows are outside 0…%d", rows, maxRows)
	}
	l := layout{
		dim: dim, rows: rows,
		padded: (rows + padRows - 1) / padRows * padRows,
		groups: (dim + 7) / 8,
		words:  (dim + 63) / 64,
	}
	// Less than 2^48 bytes, which only a 32-bit int cannot hold.
	sizes := [sections]int64{
		sectionPresence: 1,
		sectionMean:     0,
		sectionScale:    32,
		sectionHighErr:  32,
		sectionLowErr:   32,
		sectionSignFac:  32,
		sectionHigh:     32 * int64(l.groups),
		sectionLow:      32 * int64(l.groups),
		sectionSign:     64 * int64(l.words),
		sectionRows:     0,
	}
	at := int64(headerSize)
	for i, n := range sizes {
		n *= int64(l.padded / 8)
		switch i {
		case sectionMean:
			n = 4 * int64(dim)
		case sectionRows:
			n = 4 * int64(dim) * int64(rows)
		}
		l.off[i], l.size[i] = int(at), int(n)
		at += (n + 63) / 64 * 64
	}
	if at > math.MaxInt {
		return layout{}, fmt.Errorf("%d rows of dimension %d are too many for this machine", rows, dim)
	}
	l.total = int(at)
	return l, nil
}

// high returns where the 4 bytes of row r for dimensions 8g…8g+7 are in the high plane. Byte j
// of them holds dimension 8g+j in its low and 8g+4+j in its high nibble. The 16 rows of a block
// lie side by side, so that a vector register holds one group of all 16.
func (l *layout) high(r, g int) int {
	return ((r/blockRows)*l.groups+g)*4*blockRows + r%blockRows*4
}

// low returns the same place in the low plane, whose rows are contiguous.
func (l *layout) low(r, g int) int { return (r*l.groups + g) * 4 }

// sign returns where word w of row r is in the sign plane: bit j%64 of word j/64 is set when
// y_j ≥ 0. The 8 rows of a block lie side by side.
func (l *layout) sign(r, w int) int { return ((r/signRows)*l.words+w)*signRows + r%signRows }

type header struct {
	dim, rows, present int
	highNorm, lowNorm  float32
	sums               [sections]uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // read-only

func (h *header) encode(total int) []byte {
	b := make([]byte, headerSize)
	le := binary.LittleEndian
	copy(b, magic)
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], uint32(h.dim))
	le.PutUint64(b[16:], uint64(h.rows))
	le.PutUint64(b[24:], uint64(h.present))
	le.PutUint64(b[32:], uint64(total))
	le.PutUint32(b[40:], math.Float32bits(h.highNorm))
	le.PutUint32(b[44:], math.Float32bits(h.lowNorm))
	for i, s := range h.sums {
		le.PutUint32(b[sumsAt+4*i:], s)
	}
	le.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	return b
}

// parseHeader checks the first bytes of a file of size bytes named name. Nothing is allocated
// that depends on what they say.
func parseHeader(name string, b []byte, size int64) (header, layout, error) {
	corrupt := func(format string, args ...any) (header, layout, error) {
		return header{}, layout{}, &index.CorruptError{File: name, Reason: fmt.Sprintf(format, args...)}
	}
	if len(b) < headerSize {
		return corrupt("%d bytes are too few for a header", size)
	}
	b = b[:headerSize]
	le := binary.LittleEndian
	if le.Uint32(b[headerSize-4:]) != crc32.Checksum(b[:headerSize-4], castagnoli) {
		if string(b[:8]) != magic {
			return corrupt("not a vector file")
		}
		return corrupt("header checksum differs")
	}
	if v := le.Uint32(b[8:]); string(b[:8]) != magic || v != version {
		return header{}, layout{}, fmt.Errorf("%s: vector file of kind %q version %d, this program reads %q version %d: rebuild it with `assay build`: %w",
			name, b[:8], v, magic, version, index.ErrFormat)
	}
	rows, present := le.Uint64(b[16:]), le.Uint64(b[24:])
	if rows > maxRows || present > rows {
		return corrupt("header says %d rows with %d present", rows, present)
	}
	h := header{
		dim: int(le.Uint32(b[12:])), rows: int(rows), present: int(present),
		highNorm: math.Float32frombits(le.Uint32(b[40:])),
		lowNorm:  math.Float32frombits(le.Uint32(b[44:])),
	}
	for _, norm := range []float32{h.highNorm, h.lowNorm} {
		// Bounds on scores are made of them: any other value would let a search miss rows.
		if !(norm >= 0 && norm <= math.MaxFloat32) {
			return corrupt("header says that a plane's largest norm is %v", norm)
		}
	}
	for i := range h.sums {
		h.sums[i] = le.Uint32(b[sumsAt+4*i:])
	}
	l, err := newLayout(h.dim, h.rows)
	if err != nil {
		return corrupt("header: %v", err)
	}
	if uint64(l.total) != le.Uint64(b[32:]) {
		return corrupt("header says %d bytes, %d rows of dimension %d need %d", le.Uint64(b[32:]), h.rows, h.dim, l.total)
	}
	if size != int64(l.total) {
		return corrupt("%d bytes long, %d expected", size, l.total)
	}
	return h, l, nil
}
