package dense

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzKernels compares every kernel this machine can run with plain arithmetic.
func FuzzKernels(f *testing.F) {
	for _, dim := range []uint16{1, 8, 9, 64, 100, 127, 128, 384, 768, 1000, 1983, 1999} {
		f.Add(uint64(dim), dim, true)
		f.Add(uint64(dim), dim, false)
	}
	f.Fuzz(func(t *testing.T, seed uint64, d uint16, extreme bool) {
		const n = 128
		dim := int(d)%2100 + 1
		l, err := newLayout(dim, n)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		high, low := make([]byte, l.size[sectionHigh]), make([]byte, l.size[sectionLow])
		values := make([]int8, dim)
		for i := range values {
			values[i] = int8(rng.IntN(255) - 127)
			if extreme {
				values[i] = int8(rng.IntN(2)*254 - 127)
			}
		}
		wantHigh, wantLow := make([]int32, n), make([]int32, n)
		for r := range n {
			for j, v := range values {
				h, w := rng.IntN(16), rng.IntN(16)
				if extreme {
					h, w = 15, 15*(r%2)
				}
				shift := j % 8 / 4 * 4
				high[l.high(r, j/8)+j%4] |= byte(h << shift)
				low[l.low(r, j/8)+j%4] |= byte(w << shift)
				wantHigh[r] += int32(h) * int32(v)
				wantLow[r] += int32(w) * int32(v)
			}
		}
		scale, bound := make([]float32, n), make([]float32, n)
		for r := range n {
			scale[r], bound[r] = rng.Float32(), rng.Float32()
		}
		c, e, limit := float32(rng.NormFloat64()*1000), rng.Float32()*1000, float32(rng.NormFloat64()*1000)
		wantBits := make([]uint64, n/64)
		for r := range n {
			if float32(scale[r]*(float32(wantHigh[r])-c))+float32(bound[r]*e) >= limit {
				wantBits[r/64] |= 1 << (r % 64)
			}
		}
		list := make([]uint32, rng.IntN(n))
		wantList := make([]int32, len(list))
		for i := range list {
			list[i] = rng.Uint32N(n)
			wantList[i] = wantLow[list[i]]
		}
		matrix, query := gaussian(rng, n*dim), gaussian(rng, dim)
		var q quantisedQuery
		q.set(slices.Repeat([]int8{99}, 2*dim), (2*dim+7)/8) // a query used before leaves nothing behind
		q.set(values, l.groups)
		coarse := make([]int8, dim)
		signs, wantSigns := make([]uint64, l.size[sectionSign]/8), make([]int32, n)
		for j := range coarse {
			coarse[j] = int8(rng.IntN(15) - 7)
			for r := range n {
				if extreme || rng.IntN(2) > 0 {
					signs[l.sign(r, j/64)] |= 1 << (j % 64)
					wantSigns[r] += int32(coarse[j])
				}
			}
		}
		var cq coarseQuery
		cq.set(slices.Repeat([]int8{7}, 2*dim), (2*dim+63)/64)
		cq.set(coarse, l.words)
		for _, k := range machineKernels() {
			gotSigns := make([]int32, n)
			k.signs(gotSigns, signs, &cq)
			if diff := cmp.Diff(wantSigns, gotSigns); diff != "" {
				t.Errorf("%s.signs (-want +got):\n%s", k.name, diff)
			}
			got := make([]int32, n)
			k.high(got, high, &q)
			if diff := cmp.Diff(wantHigh, got); diff != "" {
				t.Errorf("%s.high (-want +got):\n%s", k.name, diff)
			}
			gotBits := make([]uint64, n/64)
			k.above(gotBits, got, scale, bound, c, e, limit)
			if diff := cmp.Diff(wantBits, gotBits); diff != "" {
				t.Errorf("%s.above (-want +got):\n%s", k.name, diff)
			}
			gotList := make([]int32, len(list))
			k.low(gotList, low, list, &q)
			if diff := cmp.Diff(wantList, gotList); diff != "" {
				t.Errorf("%s.low (-want +got):\n%s", k.name, diff)
			}
			if k.near == nil {
				continue
			}
			near := make([]float32, len(list))
			k.near(near, matrix, list, query)
			for i, r := range list {
				var want, bound float64
				for j, v := range query {
					want += float64(v) * float64(matrix[int(r)*dim+j])
					bound += math.Abs(float64(v) * float64(matrix[int(r)*dim+j]))
				}
				if bound *= float64(dim) * 1.01 / (1 << 24); math.Abs(float64(near[i])-want) > bound {
					t.Errorf("%s.near row %d: %v, want %v±%v", k.name, r, near[i], want, bound)
				}
			}
		}
	})
}
