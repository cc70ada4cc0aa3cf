package stats

import "math"

// DefaultConf is the two-sided confidence of the paired interval behind a verdict: its lower end
// is a one-sided 95 % bound, the usual choice for a non-inferiority margin.
const DefaultConf = 0.90

// Tango returns the score interval of the difference of two paired rates, candidate minus live,
// within [-1,1]: n questions, of which gained hit only in the candidate and lost only in the
// live build. Unlike Wald's interval it does not collapse when nothing flipped: 27 questions
// without a flip give [-0.0911, 0.0911] at conf 0.90.
//
// Tango, Statistics in Medicine 1998, with the constrained maximum likelihood estimate in closed
// form. ok is false when n is 0, a count is negative, gained+lost exceeds n, or conf is
// outside (0,1).
func Tango(n, gained, lost int, conf float64) (iv Interval, ok bool) {
	z := Z(conf)
	if n <= 0 || gained < 0 || lost < 0 || gained+lost > n || z == 0 {
		return Interval{}, false
	}
	// The statistic falls as the hypothesised difference rises.
	iv.Lo = bisect(-1, 1, func(d float64) bool { return tangoScore(n, gained, lost, d) > z })
	iv.Hi = bisect(-1, 1, func(d float64) bool { return tangoScore(n, gained, lost, d) > -z })
	return iv, true
}

// TangoAbove reports whether the lower end of Tango's interval is above −margin, without
// searching for it: whether a loss of margin is excluded; margin 0 asks for a proven gain. False where Tango has no answer.
func TangoAbove(n, gained, lost int, margin, conf float64) bool {
	z := Z(conf)
	if n <= 0 || gained < 0 || lost < 0 || gained+lost > n || z == 0 || !(margin >= 0) {
		return false
	}
	return tangoAbove(n, gained, lost, margin, z)
}

// tangoAbove is TangoAbove for arguments that are known to be valid, given the quantile.
func tangoAbove(n, gained, lost int, margin, z float64) bool {
	return margin >= 1 || tangoScore(n, gained, lost, -margin) > z
}

// ProvableMargin returns the smallest margin, rounded up to four decimals, that these flips
// prove: −lower. ok is as for Tango.
func ProvableMargin(n, gained, lost int, conf float64) (margin float64, ok bool) {
	iv, ok := Tango(n, gained, lost, conf)
	if !ok {
		return 0, false
	}
	return math.Max(0, math.Ceil(-iv.Lo*1e4)/1e4), true
}

// tangoScore is the score statistic for the hypothesis that the true difference is d, within
// (-1,1): Tango's equations (4) to (8) with b = gained and c = lost.
func tangoScore(n, gained, lost int, d float64) float64 {
	nn, b, c := float64(n), float64(gained), float64(lost)
	qa := 2 * nn
	qb := -b - c + (2*nn-b+c)*d
	qc := -c * d * (1 - d)
	q := (math.Sqrt(math.Max(0, qb*qb-4*qa*qc)) - qb) / (2 * qa) // lost rate under the hypothesis
	variance := nn * (2*q + d*(1-d))
	diff := b - c - nn*d
	if variance <= 0 { // only at a difference that the flips cannot contradict, such as 0 flips at d = 0
		switch {
		case diff > 0:
			return math.Inf(1)
		case diff < 0:
			return math.Inf(-1)
		}
		return 0
	}
	return diff / math.Sqrt(variance)
}
