package stats

import "math"

// logChoose is the natural logarithm of C(n, k), for 0 ≤ k ≤ n.
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// binomialPMF is P(X = k) for X ~ Bin(n, p), with the ends p = 0 and p = 1 exact.
func binomialPMF(n, k int, p float64) float64 {
	switch {
	case k < 0 || k > n:
		return 0
	case p <= 0:
		return oneIf(k == 0)
	case p >= 1:
		return oneIf(k == n)
	}
	return math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// binomialUpper is P(X ≥ k) for X ~ Bin(n, p). The side with the smaller probability is summed,
// outward from k, so that terms only shrink and neither side loses its digits.
func binomialUpper(n, k int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	case p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	if float64(k) > float64(n)*p {
		return binomialRun(n, k, p, 1)
	}
	return 1 - binomialRun(n, k-1, p, -1)
}

// binomialRun sums the probabilities of k, k+step, … until the end or until a term no longer
// changes the sum.
func binomialRun(n, k int, p float64, step int) float64 {
	term := binomialPMF(n, k, p)
	sum, odds := term, p/(1-p)
	for term > 0 {
		if step > 0 {
			if k == n {
				break
			}
			term *= float64(n-k) / float64(k+1) * odds
			k++
		} else {
			if k == 0 {
				break
			}
			term *= float64(k) / float64(n-k+1) / odds
			k--
		}
		if next := sum + term; next == sum {
			break
		} else {
			sum = next
		}
	}
	return math.Min(sum, 1)
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
