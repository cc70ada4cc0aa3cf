package evalkit

import (
	"math"
	"math/bits"
	"slices"

	"github.com/seed792a4543/assay/evalkit/measure"
)

func exp2(grade int) float64 { return math.Exp2(float64(grade)) - 1 }

// missAll returns the chance that a random k of n units hold none of r marked ones:
// C(n−r,k)/C(n,k).
func missAll(n, r, k int) float64 {
	if k > n-r {
		return 0
	}
	p := 1.0
	for j := range k {
		p *= float64(n-r-j) / float64(n-j)
	}
	return p
}

// firstAt calls f with the chance that the first of r marked among n units in random order
// stands at rank i, for i up to k.
func firstAt(n, r, k int, f func(i int, p float64)) {
	if r == 0 {
		return
	}
	miss := 1.0 // none among the first i−1
	for i := 1; i <= min(k, n-r+1); i++ {
		left := n - i + 1
		f(i, miss*float64(r)/float64(left))
		miss *= float64(left-r) / float64(left)
	}
}

// maxInclusion bounds the groups of all_hit's inclusion and exclusion, which visits every
// subset of them.
const maxInclusion = 12

// maxAPDepth bounds the closed form of ap, whose cost grows with the square of the depth.
const maxAPDepth = 1000

// closed returns the expected value of the measure over all orders of the units; ok is false
// where there is no closed form, or where it would need groups that share no unit.
func (o *odds) closed(m measure.Measure) (v float64, ok bool) {
	if o.n == 0 || m.Rel > 1 {
		return 0, o.n == 0
	}
	k := o.n
	if m.Cutoff > 0 {
		k = min(k, m.Cutoff)
	}
	switch m.Family {
	case measure.Hit:
		return 1 - missAll(o.n, o.relevant, k), true
	case measure.P:
		return float64(o.relevant) * float64(k) / float64(o.n) / float64(m.Cutoff), true
	case measure.Judged:
		return float64(o.relevant+o.nonrel) * float64(k) / float64(o.n) / float64(m.Cutoff), true
	case measure.Recall:
		return o.recall(k), true
	case measure.RPrec:
		return o.recall(min(o.n, len(o.groups))), true
	case measure.RR:
		firstAt(o.n, o.relevant, k, func(i int, p float64) { v += p / float64(i) })
		return v, true
	case measure.Dup:
		return o.dup(k) / float64(m.Cutoff), true
	case measure.AllHit:
		return o.allHit(k)
	case measure.NDCG:
		return o.ndcg(k, m.Cutoff, o.gains, func(g int) float64 { return float64(g) }), o.disjoint
	case measure.NDCGExp:
		return o.ndcg(k, m.Cutoff, o.gainsExp, exp2), o.disjoint
	case measure.AP:
		if k > maxAPDepth {
			return 0, false
		}
		return o.ap(k), o.disjoint
	}
	return 0, false
}

func (o *odds) recall(k int) float64 {
	sum := 0.0
	for _, r := range o.groups {
		sum += 1 - missAll(o.n, r, k)
	}
	return sum / float64(len(o.groups))
}

// dup returns the expected number of slots among the first k that repeat a section: slots
// drawn less sections touched.
func (o *odds) dup(k int) float64 {
	sizes := make([]int, 0, len(o.sections))
	for size := range o.sections {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	touched := 0.0
	for _, size := range sizes {
		touched += float64(o.sections[size]) * (1 - missAll(o.n, size, k))
	}
	return max(float64(k)-touched, 0)
}

// allHit returns the chance that every group is met within k, by inclusion and exclusion over
// the groups missed.
func (o *odds) allHit(k int) (float64, bool) {
	g := len(o.groups)
	if g > maxInclusion || o.masks == nil {
		return 0, false
	}
	sum := 0.0
	for missed := range uint64(1) << g {
		r := 0
		for mask, n := range o.masks {
			if mask&missed != 0 {
				r += n
			}
		}
		p := missAll(o.n, r, k)
		if bits.OnesCount64(missed)%2 == 1 {
			p = -p
		}
		sum += p
	}
	return min(max(sum, 0), 1), true
}

func (o *odds) ndcg(k, cutoff int, gains []float64, gain func(int) float64) float64 {
	ideal := 0.0
	for i, g := range o.ideal {
		if cutoff > 0 && i >= cutoff {
			break
		}
		ideal += gain(g) / math.Log2(float64(i+2))
	}
	sum := 0.0
	for g, r := range o.groups {
		firstAt(o.n, r, k, func(i int, p float64) { sum += p * gains[g] / math.Log2(float64(i+1)) })
	}
	return sum / ideal
}

// ap adds, for each group and each rank its first unit may stand at, one over the rank for the
// group itself and for every other group met before it.
func (o *odds) ap(k int) float64 {
	sum := 0.0
	for g, r := range o.groups {
		firstAt(o.n, r, k, func(i int, p float64) {
			met := 1.0
			for h, other := range o.groups {
				if h != g {
					met += 1 - missAll(o.n-r, other, i-1)
				}
			}
			sum += p * met / float64(i)
		})
	}
	return sum / float64(len(o.groups))
}
