package stats

import "math"

// McNemar returns the exact one-sided p of a loss: the probability of at least lost losses among
// the gained+lost flips if each flip were a fair coin, Σ_{i≥lost} C(g+l,i)/2^(g+l).
// No flips give 1, as do negative counts.
//
// McNemar, Psychometrika 1947, in its exact binomial form. It is conditional on the flips; the
// questions on which both builds agree say nothing about which is better.
func McNemar(gained, lost int) (p float64) {
	if gained < 0 || lost <= 0 {
		return 1
	}
	m := gained + lost
	if m <= 62 { // exact in integers: no rounding at a p that equals alpha
		var sum, c uint64 = 0, 1 // c = C(m, i) for i = m, m−1, …
		for i := m; i >= lost; i-- {
			sum += c
			c = mulDiv(c, uint64(i), uint64(m-i+1))
		}
		return math.Ldexp(float64(sum), -m)
	}
	return binomialUpper(m, lost, 0.5)
}

// McNemarTwoSided returns the two-sided exact p, twice the smaller tail and at most 1: what a
// comparison without a declared direction reports.
func McNemarTwoSided(gained, lost int) (p float64) {
	return math.Min(1, 2*math.Min(McNemar(gained, lost), McNemar(lost, gained)))
}

// LossesNeeded returns the smallest number of losses that is significant at alpha beside gained
// gains: 5, 7, 9, 10, 12, 13, 15 for 0…6 gains at .05. alpha must lie in (0,1); otherwise 0.
func LossesNeeded(gained int, alpha float64) int {
	if gained < 0 || !(alpha > 0 && alpha < 1) {
		return 0
	}
	l := 1
	for McNemar(gained, l) > alpha {
		l++
	}
	return l
}

// mulDiv returns a·b/c for a product that is divisible by c and whose quotient fits: the step
// from one binomial coefficient to the next. a < 2^60 and b ≤ 62 can overflow 64 bits, so the
// division happens on both parts of a.
func mulDiv(a, b, c uint64) uint64 { return a/c*b + a%c*b/c }
