package lexical

import (
	"encoding/binary"
	"slices"
	"sort"
	"unsafe"
)

// postings is the postings file as arrays, in place.
type postings struct {
	terms                  []byte
	termEnds, blkEnds      []uint32
	postEnds               []uint64
	docs, blkDocs, lengths []uint32
	freqs                  []byte
	large                  []uint64
	blkMax                 []float32
	common, ranks          []uint32
	bits                   []uint64
}

// find returns the number of term, -1 if there is none.
func (p *postings) find(term string) int {
	lo, hi := 0, len(p.termEnds)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch have := p.term(mid); {
		case string(have) < term:
			lo = mid + 1
		case string(have) > term:
			hi = mid
		default:
			return mid
		}
	}
	return -1
}

func (p *postings) term(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = p.termEnds[i-1]
	}
	return p.terms[start:p.termEnds[i]]
}

// freq returns the frequency of posting i.
func (p *postings) freq(i uint64) uint32 {
	if f := p.freqs[i]; f != 0 {
		return uint32(f)
	}
	return p.largeFreq(i)
}

func (p *postings) largeFreq(i uint64) uint32 {
	n := len(p.large) / 2
	at := sort.Search(n, func(j int) bool { return p.large[2*j] >= i })
	if at < n && p.large[2*at] == i {
		return uint32(p.large[2*at+1])
	}
	return 0 // only in a damaged file
}

// commonBits returns the bits and ranks of a term, nil for a term that has none.
func (p *postings) commonBits(term int) ([]uint64, []uint32) {
	i, ok := slices.BinarySearch(p.common, uint32(term))
	if !ok {
		return nil, nil
	}
	w := (len(p.lengths) + 63) / 64
	return p.bits[i*w : (i+1)*w], p.ranks[i*w : (i+1)*w]
}

// littleEndian reports whether numbers lie in memory as they do in the file.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

func asU32(b []byte) []uint32  { return cast[uint32](b) }
func asU64(b []byte) []uint64  { return cast[uint64](b) }
func asF32(b []byte) []float32 { return cast[float32](b) }
func u32Bytes(v []uint32) []byte {
	if !littleEndian() || len(v) == 0 {
		b := make([]byte, 0, 4*len(v))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		return b
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 4*len(v))
}

// cast returns b as numbers, in place where memory order and alignment allow it, as a copy
// elsewhere.
func cast[T uint32 | uint64 | float32](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if littleEndian() && uintptr(unsafe.Pointer(&b[0]))%uintptr(size) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
	}
	out := make([]T, n)
	if _, err := binary.Decode(b, binary.LittleEndian, out); err != nil { // unreachable: b is long enough
		panic(err)
	}
	return out
}
