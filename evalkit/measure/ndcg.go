package measure

import "math"

// maxExpGrade is the highest grade whose exponential gain, summed, stays finite.
const maxExpGrade = 1000

func linearGain(grade int) float64      { return float64(grade) }
func exponentialGain(grade int) float64 { return math.Exp2(float64(grade)) - 1 }

// ndcg returns the discounted gain of the positions up to the cutoff over that of the ideal
// ranking of the labels, cut alike. Discount log2(rank+1): Järvelin & Kekäläinen, TOIS 2002;
// linear gain as in trec_eval, exponential as in Burges et al., ICML 2005. The ideal never
// depends on what was returned. 0 without gold.
func (s *Scorer) ndcg(e *Evidence, m Measure, gain func(int) float64) float64 {
	k := m.limit()
	ideal := 0.0
	for i, g := range e.Ideal {
		if i >= k {
			break
		}
		ideal += float64(gain(g) * s.discount(i+1))
	}
	if ideal == 0 {
		return 0
	}
	sum := 0.0
	for _, p := range s.pay(e, 0) {
		if p.pos > k {
			break
		}
		sum += float64(gain(p.gain) * s.discount(p.pos))
	}
	return sum / ideal
}

// maxTable bounds the table of discounts; later positions are computed.
const maxTable = 1 << 16

// discount returns 1/log2(pos+1).
func (s *Scorer) discount(pos int) float64 {
	if pos > maxTable {
		return 1 / math.Log2(float64(pos)+1)
	}
	for len(s.discounts) < pos {
		s.discounts = append(s.discounts, 1/math.Log2(float64(len(s.discounts)+2)))
	}
	return s.discounts[pos-1]
}
