package stats

import "math/rand/v2"

// Optimism says how much better the best of several variants looks than it is.
type Optimism struct {
	Winner int `json:"winner"` // index of the variant with the highest mean; the first of equals
	// Mean is the winner's mean as observed, too high by an amount between Bias and IfEqual,
	// because it was chosen for it.
	Mean float64 `json:"mean"`
	// Bias is the optimism if the variants differ as much as observed. It is low where they differ
	// by chance alone: the resampling starts from means that chance has already spread.
	Bias float64 `json:"bias"`
	// IfEqual is the optimism if all variants are equally good, the worst case; ≥ Bias.
	IfEqual float64 `json:"if_equal"`
	// Share is the share of resamples in which the winner wins again, ties counted for the first
	// of equals; near 1/variants the choice is a lottery.
	Share     float64 `json:"share"`
	Resamples int     `json:"resamples"`
	Seed      uint64  `json:"seed"`
}

// WinnerOptimism returns the expected optimism of the best of several variants, values[variant]
// [question], by resampling questions: in each resample the best variant is chosen anew, and what
// its resampled mean exceeds its mean over all questions by is its optimism there. resamples 0
// means 2,000. The estimate is a little high when all variants are equally good and a little low
// when a few are nearly so; confirm a winner once on questions that the choice did not see.
//
// Efron, JASA 1983 (the optimism bootstrap). ok is false for no variant, no question, variants
// with different numbers of questions, or a value that is not finite.
func WinnerOptimism(values [][]float64, resamples int, seed uint64) (o Optimism, ok bool) {
	if len(values) == 0 || len(values[0]) == 0 {
		return Optimism{}, false
	}
	n := len(values[0])
	means := make([]float64, len(values))
	for i, v := range values {
		if len(v) != n || !allFinite(v) {
			return Optimism{}, false
		}
		means[i] = mean(v)
	}
	if resamples <= 0 {
		resamples = DefaultResamples
	}
	o = Optimism{Winner: highest(means), Resamples: resamples, Seed: seed}
	o.Mean = means[o.Winner]
	r := rand.New(rand.NewPCG(seed, 0x73776565)) // stream "swee"
	sums := make([]float64, len(values))
	deviations := make([]float64, len(values))
	var bias, ifEqual float64
	again := 0
	for range resamples {
		clear(sums)
		for range n {
			q := r.IntN(n)
			for i, v := range values {
				sums[i] += v[q]
			}
		}
		for i := range sums {
			deviations[i] = sums[i]/float64(n) - means[i]
		}
		ifEqual += deviations[highest(deviations)]
		best := highest(sums)
		bias += deviations[best]
		if best == o.Winner {
			again++
		}
	}
	o.Bias, o.IfEqual = bias/float64(resamples), ifEqual/float64(resamples)
	o.Share = float64(again) / float64(resamples)
	return o, true
}

// highest returns the index of the largest value, the first of equals.
func highest(v []float64) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}
