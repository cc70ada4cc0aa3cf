package dense

import (
	"encoding/binary"
	"math/bits"
)

// kernels are the inner loops. All implementations of all but near give the same integers
// and bits.
type kernels struct {
	name string
	// high sets dst[i] to the dot product of the query with the nibbles of row i of the high
	// plane in codes, which holds len(dst) rows, a multiple of 16.
	high func(dst []int32, codes []byte, q *quantisedQuery)
	// above sets bit i%64 of word i/64 where scale[i]·(d[i]-c) + err[i]·e ≥ t, computed in
	// float32 without fused operations; len(d) is 64·len(bits).
	above func(bits []uint64, d []int32, scale, err []float32, c, e, t float32)
	// low sets dst[i] to the dot product of the query with the nibbles of row list[i] of the
	// low plane in codes, which holds all rows.
	low func(dst []int32, codes []byte, list []uint32, q *quantisedQuery)
	// signs sets dst[i] to the sum of those values of the coarse query where row i of codes, which
	// holds len(dst) rows of the sign plane, a multiple of 8, has a 1.
	signs func(dst []int32, codes []uint64, q *coarseQuery)
	// near sets dst[i] to the dot product of query with row list[i] of matrix, added in any
	// order, and thus only within the rounding error that any order may have. It may be nil.
	near func(dst, matrix []float32, list []uint32, query []float32)
}

// quantisedQuery is a query at 8 bits in the orders the kernels want it in.
type quantisedQuery struct {
	groups int
	plain  []int8 // 8 per group, -127…127, in the order of the dimensions
	// even and odd hold for each group the first and the last four values; both are
	// lengthened with zeros to a multiple of 64.
	even, odd []int8
	pairs     [][4]uint64 // for highGo
	quads     [][4]uint64 // for lowGo
}

// set fills q from values, one per dimension.
func (q *quantisedQuery) set(values []int8, groups int) {
	q.groups = groups
	n := (4*groups + 63) / 64 * 64
	q.plain = grow(q.plain, 8*groups)
	q.even, q.odd = grow(q.even, n), grow(q.odd, n)
	q.pairs = grow(q.pairs, groups)
	q.quads = grow(q.quads, (groups+1)/2)
	clear(q.plain)
	clear(q.even)
	clear(q.odd)
	copy(q.plain, values)
	for g := range groups {
		copy(q.even[4*g:4*g+4], q.plain[8*g:])
		copy(q.odd[4*g:4*g+4], q.plain[8*g+4:])
		v := q.plain[8*g : 8*g+8]
		q.pairs[g] = [4]uint64{lanes(v[2], v[0]), lanes(v[3], v[1]), lanes(v[6], v[4]), lanes(v[7], v[5])}
	}
	for i := range q.quads {
		var v [16]int8
		copy(v[:], q.plain[16*i:])
		q.quads[i] = [4]uint64{
			lanes(v[10], v[8], v[2], v[0]), lanes(v[11], v[9], v[3], v[1]),
			lanes(v[14], v[12], v[6], v[4]), lanes(v[15], v[13], v[7], v[5]),
		}
	}
}

// lanes returns the sum of v[i]·2^(16i) modulo 2^64.
func lanes(v ...int8) uint64 {
	var u uint64
	for i, x := range v {
		u += uint64(int64(x)) << (16 * i)
	}
	return u
}

// The Go kernels multiply several values at once: a 64-bit word holds four small numbers in
// lanes of 16 bits, and in the product of two such words lane n is the sum of a_i·b_(n-i), a
// dot product. Lanes stay within ±30480, so that adding 2^15 to each makes all of them
// non-negative and undoes the borrows between them.
const (
	laneMask = 0x000F_000F_000F_000F
	laneBias = 0x8000_8000_8000_8000
)

// highGo is kernels.high. A word holds two rows: lanes 1 and 3 of the product are theirs.
func highGo(dst []int32, codes []byte, q *quantisedQuery) {
	size := 64 * q.groups
	for len(dst) >= blockRows {
		block := codes[:size]
		for p := 0; p < blockRows; p += 2 {
			var a, b int
			at := 4 * p
			pairs := q.pairs
			for len(pairs) >= 2 {
				x := binary.LittleEndian.Uint64(block[at:])
				y := &pairs[0]
				acc := uint64(laneBias) + (x&laneMask)*y[0] + (x>>8&laneMask)*y[1] + (x>>4&laneMask)*y[2] + (x>>12&laneMask)*y[3]
				x = binary.LittleEndian.Uint64(block[at+64:])
				y = &pairs[1]
				acc += (x&laneMask)*y[0] + (x>>8&laneMask)*y[1] + (x>>4&laneMask)*y[2] + (x>>12&laneMask)*y[3]
				a += int(acc>>16&0xffff) - 0x8000
				b += int(acc>>48) - 0x8000
				at += 128
				pairs = pairs[2:]
			}
			if len(pairs) > 0 {
				x := binary.LittleEndian.Uint64(block[at:])
				y := &pairs[0]
				acc := uint64(laneBias) + (x&laneMask)*y[0] + (x>>8&laneMask)*y[1] + (x>>4&laneMask)*y[2] + (x>>12&laneMask)*y[3]
				a += int(acc>>16&0xffff) - 0x8000
				b += int(acc>>48) - 0x8000
			}
			dst[p], dst[p+1] = int32(a), int32(b)
		}
		dst, codes = dst[blockRows:], codes[size:]
	}
}

// lowGo is kernels.low. A word holds two groups of one row: lane 3 of the product is its.
func lowGo(dst []int32, codes []byte, list []uint32, q *quantisedQuery) {
	size := 4 * q.groups
	for i, r := range list {
		row := codes[int(r)*size : int(r)*size+size]
		s := 0
		for j := range q.quads {
			var x uint64
			if len(row) >= 8 {
				x = binary.LittleEndian.Uint64(row)
				row = row[8:]
			} else {
				x = uint64(binary.LittleEndian.Uint32(row))
			}
			y := &q.quads[j]
			acc := uint64(laneBias) + (x&laneMask)*y[0] + (x>>8&laneMask)*y[1] + (x>>4&laneMask)*y[2] + (x>>12&laneMask)*y[3]
			s += int(acc>>48) - 0x8000
		}
		dst[i] = int32(s)
	}
}

// aboveGo is kernels.above.
func aboveGo(bits []uint64, d []int32, scale, err []float32, c, e, t float32) {
	for w := range bits {
		d, scale, err := d[64*w:64*w+64], scale[64*w:64*w+64], err[64*w:64*w+64]
		var word uint64
		for i, v := range d {
			if float32(scale[i]*(float32(v)-c))+float32(err[i]*e) >= t {
				word |= 1 << i
			}
		}
		bits[w] = word
	}
}

// coarseQuery is a query at 4 bits, -7…7, as planes of bits: plane p of word w is
// planes[4·w+p] and counts 1, 2, 4 and -8.
type coarseQuery struct {
	words  int
	planes []uint64
}

// set fills q from values, one per dimension.
func (q *coarseQuery) set(values []int8, words int) {
	q.words = words
	q.planes = grow(q.planes, 4*words)
	clear(q.planes)
	for i, v := range values {
		for p := range 4 {
			q.planes[i/64*4+p] |= uint64(uint8(v)>>p&1) << (i % 64)
		}
	}
}

// signsGo is kernels.signs.
func signsGo(dst []int32, codes []uint64, q *coarseQuery) {
	size := signRows * q.words
	for len(dst) >= signRows {
		block := codes[:size]
		for r := range signRows {
			var a, b, c, d int
			at := r
			for planes := q.planes; len(planes) >= 4; planes = planes[4:] {
				x := block[at]
				at += signRows
				a += bits.OnesCount64(x & planes[0])
				b += bits.OnesCount64(x & planes[1])
				c += bits.OnesCount64(x & planes[2])
				d += bits.OnesCount64(x & planes[3])
			}
			dst[r] = int32(a + 2*b + 4*c - 8*d)
		}
		dst, codes = dst[signRows:], codes[size:]
	}
}

var goKernels = kernels{name: "go", high: highGo, above: aboveGo, low: lowGo, signs: signsGo} // read-only
