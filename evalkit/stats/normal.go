package stats

import "math"

// Z returns the standard normal quantile that leaves (1−conf)/2 above it: 1.959964 for 0.95,
// 1.644854 for 0.90. conf must lie strictly between 0 and 1; anything else gives 0.
func Z(conf float64) float64 {
	if !(conf > 0 && conf < 1) {
		return 0
	}
	return math.Sqrt2 * math.Erfinv(conf)
}

// normalCDF is the standard normal distribution function.
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// normalQuantile is the inverse of normalCDF for p strictly between 0 and 1.
func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// pow15 is x^(3/2) for x ≥ 0.
func pow15(x float64) float64 { return x * math.Sqrt(x) }
