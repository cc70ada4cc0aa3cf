package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// DefaultResamples is the number of bootstrap resamples and of sign-flip draws used when the
// caller asks for 0.
const DefaultResamples = 2000

// Bootstrap is a bootstrap interval with what is needed to read and repeat it.
type Bootstrap struct {
	Interval
	Mean      float64 `json:"mean"`
	N         int     `json:"n"`
	Resamples int     `json:"resamples"`
	Seed      uint64  `json:"seed"`
	// Uninformative is true when all values are equal: the interval is then a point, which says
	// that the sample is constant and nothing about what other questions would show.
	Uninformative bool `json:"uninformative,omitempty"`
	// Descriptive is true below 10 non-zero values or 30 values (paired differences only): the
	// interval then describes this sample and carries no promise of coverage.
	Descriptive bool `json:"descriptive,omitempty"`
	// NonZero counts the values that are not 0.
	NonZero int `json:"non_zero"`
}

// BootstrapPercentile returns the percentile bootstrap interval of the mean of values.
// resamples 0 means 2,000; the same seed gives the same interval. For rates prefer Wilson, which
// stays honest at 0 and 1.
//
// Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
// ok is false for no values, a NaN or infinite value, or conf outside (0,1).
func BootstrapPercentile(values []float64, resamples int, seed uint64, conf float64) (b Bootstrap, ok bool) {
	b, ok = newBootstrap(values, resamples, seed, conf)
	if !ok || b.Uninformative {
		return b, ok
	}
	means := resampledMeans(values, b.Resamples, seed)
	tail := (1 - conf) / 2
	b.Interval = Interval{Lo: quantile(means, tail), Hi: quantile(means, 1-tail)}
	return b, true
}

// newBootstrap fills everything but the ends of the interval.
func newBootstrap(values []float64, resamples int, seed uint64, conf float64) (Bootstrap, bool) {
	if len(values) == 0 || !(conf > 0 && conf < 1) || !allFinite(values) {
		return Bootstrap{}, false
	}
	if resamples <= 0 {
		resamples = DefaultResamples
	}
	b := Bootstrap{Mean: mean(values), N: len(values), Resamples: resamples, Seed: seed}
	for _, v := range values {
		if v != 0 {
			b.NonZero++
		}
	}
	lo, hi := slices.Min(values), slices.Max(values)
	// 0.25−0.20 and 0.65−0.60 differ in the last bits; that is not variation.
	if hi-lo <= 1e-12*math.Max(1, math.Max(math.Abs(lo), math.Abs(hi))) {
		b.Uninformative = true
		b.Interval = Interval{Lo: lo, Hi: hi}
	}
	return b, true
}

// resampledMeans returns the sorted means of resamples draws with replacement.
func resampledMeans(values []float64, resamples int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0x626f6f74)) // stream "boot"
	means := make([]float64, resamples)
	for i := range means {
		var sum float64
		for range values {
			sum += values[r.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	return means
}

// quantile returns the p-quantile of a sorted sample, the smallest value with at least a share p
// of the sample at or below it (definition 1 of Hyndman & Fan 1996).
func quantile(sorted []float64, p float64) float64 {
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func allFinite(values []float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
