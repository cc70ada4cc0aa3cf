package measure

import (
	"fmt"
	"math"
)

// Scorer computes values from evidence. It keeps tables between calls, so that scoring many
// topics allocates little. Not safe for concurrent use; the zero value is ready.
type Scorer struct {
	discounts []float64 // discounts[i] = 1/log2(i+2)
	paid      []paidGroup
	pending   []int
}

// Value returns the measure's value, n/a if the evidence has no gold group (at the measure's
// rel level) or, for the span measures, no such cutoff. Every value of a family that is not a
// count lies in [0,1]; anything else would be a bug and panics.
func (s *Scorer) Value(e *Evidence, m Measure) Value {
	if !m.Family.Sums() && e.groups(m.Rel) == 0 {
		return Value{}
	}
	return s.Raw(e, m)
}

// Raw is Value without its first rule: evidence without gold gives 0, as trec_eval -c has it,
// and for judged and unjudged the share.
func (s *Scorer) Raw(e *Evidence, m Measure) Value {
	v, ok := s.compute(e, m)
	if !ok {
		return Value{}
	}
	if m.Family.Sums() || m.Family == GMAP {
		return Value{v, true}
	}
	// Sums of floats may exceed 1 in the last digits.
	if v > 1 && v < 1+1e-9 {
		v = 1
	}
	if !(v >= 0 && v <= 1) {
		panic(fmt.Sprintf("measure: %s = %v is outside [0,1] for %+v", m, v, *e)) // unreachable for evidence that Check accepts
	}
	return Value{v, true}
}

func (s *Scorer) compute(e *Evidence, m Measure) (v float64, ok bool) {
	switch m.Family {
	case Hit:
		return hit(e, m), true
	case P:
		return precision(e, m), true
	case Recall:
		return recall(e, m), true
	case RR:
		return reciprocalRank(e, m), true
	case AP:
		return s.averagePrecision(e, m), true
	case NDCG:
		return s.ndcg(e, m, linearGain), true
	case NDCGExp:
		return s.ndcg(e, m, exponentialGain), true
	case AllHit:
		return allHit(e, m), true
	case RPrec:
		return rPrecision(e, m), true
	case BPref:
		return bpref(e, m), true
	case Judged:
		return judged(e, m), true
	case Unjudged:
		return unjudged(e, m), true
	case Dup:
		return dup(e, m), true
	case CharRecall, CharPrecision, CharIoU:
		return chars(e, m)
	case IPrec:
		return interpolated(e, m.Rel, m.Level), true
	case AvgPrec11:
		return elevenPoint(e, m.Rel), true
	case GMAP:
		return math.Log(math.Max(s.averagePrecision(e, m), minGMAP)), true
	case SetP, SetRecall, SetF, SetAP:
		return set(e, m), true
	case RBP:
		return rankBiased(e, m), true
	}
	return count(e, m)
}

// groups returns the number of gold groups of at least the grade.
func (e *Evidence) groups(rel int) int {
	if rel <= 1 {
		return len(e.Ideal)
	}
	n := 0
	for _, g := range e.Ideal {
		if g >= rel {
			n++
		}
	}
	return n
}

// limit returns the last rank that counts.
func (m Measure) limit() int {
	if m.Cutoff <= 0 {
		return math.MaxInt
	}
	return m.Cutoff
}

// relevant reports whether the i-th relevant slot is relevant at the measure's rel level.
func (e *Evidence) relevant(i, rel int) bool { return rel <= 1 || e.Grades[i] >= rel }

// relevantWithin counts relevant slots of rank at most k.
func (e *Evidence) relevantWithin(k, rel int) int {
	n := 0
	for i, r := range e.Relevant {
		if r > k {
			break
		}
		if e.relevant(i, rel) {
			n++
		}
	}
	return n
}

// foundWithin counts groups found at rank at most k.
func (e *Evidence) foundWithin(k, rel int) int {
	n := 0
	for i := range e.Found {
		if e.Found[i].Rank > k {
			break
		}
		if rel <= 1 || e.Found[i].Gain >= rel {
			n++
		}
	}
	return n
}

func within(ranks []int, k int) int {
	n := 0
	for n < len(ranks) && ranks[n] <= k {
		n++
	}
	return n
}

// Check reports the first thing that makes the evidence impossible: ranks out of order or out
// of range, more found than gold, a gain above the ideal. Values of evidence that passes lie
// in [0,1].
func (e *Evidence) Check() error {
	ascending := func(name string, ranks []int) error {
		last := 0
		for _, r := range ranks {
			if r <= last || r > e.Returned {
				return fmt.Errorf("%s: rank %d after %d in a list of %d", name, r, last, e.Returned)
			}
			last = r
		}
		return nil
	}
	for _, list := range []struct {
		name  string
		ranks []int
	}{{"relevant", e.Relevant}, {"nonrel", e.Nonrel}, {"dup", e.Dup}} {
		if err := ascending(list.name, list.ranks); err != nil {
			return err
		}
	}
	if len(e.Grades) != len(e.Relevant) {
		return fmt.Errorf("%d grades for %d relevant slots", len(e.Grades), len(e.Relevant))
	}
	for i, g := range e.Ideal {
		if g < 1 || g > maxExpGrade || i > 0 && g > e.Ideal[i-1] {
			return fmt.Errorf("ideal grades %v are not descending from %d to 1", e.Ideal, maxExpGrade)
		}
	}
	if len(e.Found) > len(e.Ideal) {
		return fmt.Errorf("%d groups found of %d", len(e.Found), len(e.Ideal))
	}
	if len(e.Nonrel) > e.NonrelTotal {
		return fmt.Errorf("%d slots judged not relevant, but only %d judgments", len(e.Nonrel), e.NonrelTotal)
	}
	return e.checkFound()
}

func (e *Evidence) checkFound() error {
	last := 1
	seen := make(map[int]bool, len(e.Found))
	var gains []int
	for _, f := range e.Found {
		if f.Rank < last || f.Rank > e.Returned {
			return fmt.Errorf("found: rank %d after %d in a list of %d", f.Rank, last, e.Returned)
		}
		if seen[f.Group] {
			return fmt.Errorf("found: group %d twice", f.Group)
		}
		seen[f.Group] = true
		last = f.Rank
		gains = append(gains, f.Gain)
	}
	sortDescending(gains)
	for i, g := range gains {
		if g < 1 || g > e.Ideal[i] {
			return fmt.Errorf("found: gains %v exceed the ideal %v", gains, e.Ideal)
		}
	}
	for _, c := range e.Chars {
		if c.Inter < 0 || c.Inter > min(c.Gold, c.Delivered) {
			return fmt.Errorf("chars at %d: %d of %d gold and %d delivered bytes", c.Cutoff, c.Inter, c.Gold, c.Delivered)
		}
	}
	return nil
}
