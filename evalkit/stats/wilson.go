package stats

import "math"

// Wilson returns the score interval of one rate, within [0,1]. It keeps its coverage for small n
// and for rates at 0 and 1, where the textbook interval collapses to a point: 5 of 5 gives
// [0.566, 1] at conf 0.95.
//
// Wilson, JASA 1927; recommended by Brown, Cai & DasGupta, Statistical Science 2001.
// ok is false when n is 0, successes are outside 0…n, or conf is outside (0,1).
func Wilson(successes, n int, conf float64) (iv Interval, ok bool) {
	z := Z(conf)
	if n <= 0 || successes < 0 || successes > n || z == 0 {
		return Interval{}, false
	}
	nn, p, zz := float64(n), float64(successes)/float64(n), z*z
	centre := (p + zz/(2*nn)) / (1 + zz/nn)
	half := z / (1 + zz/nn) * math.Sqrt(p*(1-p)/nn+zz/(4*nn*nn))
	iv = Interval{Lo: math.Max(0, centre-half), Hi: math.Min(1, centre+half)}
	// The ends are exact in algebra and off by an ulp in floating point.
	if successes == 0 {
		iv.Lo = 0
	}
	if successes == n {
		iv.Hi = 1
	}
	return iv, true
}
