package stats

// ClopperPearson returns the exact interval of one rate, within [0,1]: its coverage is never
// below conf, which is why safety claims use it. It is wider than Wilson's.
//
// Clopper & Pearson, Biometrika 1934, by bisection on the binomial tails.
// ok is false when n is 0, successes are outside 0…n, or conf is outside (0,1).
func ClopperPearson(successes, n int, conf float64) (iv Interval, ok bool) {
	if n <= 0 || successes < 0 || successes > n || !(conf > 0 && conf < 1) {
		return Interval{}, false
	}
	tail := (1 - conf) / 2
	iv = Interval{Lo: 0, Hi: 1}
	if successes > 0 { // the p at which seeing this many or more has probability tail
		iv.Lo = bisect(0, 1, func(p float64) bool { return binomialUpper(n, successes, p) < tail })
	}
	if successes < n { // the p at which seeing this many or fewer has probability tail
		iv.Hi = bisect(0, 1, func(p float64) bool { return 1-binomialUpper(n, successes+1, p) > tail })
	}
	return iv, true
}

// ZeroFailures returns how many trials without any failure are needed before the success rate
// can be called at least rate at one-sided confidence conf: the smallest n with
// rate^n ≤ 1−conf. 0.90 at 0.95 needs 29. ok is false unless both lie strictly between 0 and 1.
func ZeroFailures(rate, conf float64) (n int, ok bool) {
	if !(rate > 0 && rate < 1 && conf > 0 && conf < 1) {
		return 0, false
	}
	for p := 1.0; p > 1-conf; n++ {
		p *= rate
		if n > 1<<30 { // unreachable unless rate is within 1e-9 of 1
			return 0, false
		}
	}
	return n, true
}

// bisect returns the point in [lo,hi] where below turns from true to false, to the last bit that
// 100 halvings can reach.
func bisect(lo, hi float64, below func(float64) bool) float64 {
	for range 100 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}
