package hybrid

import (
	"fmt"

	"github.com/seed792a4543/assay/internal/rank"
)

// MMR reorders list so that hits repeat less of what stands above them, and returns the first k
// (all of them for k ≤ 0): maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998).
// Starting from nothing it takes again and again the hit with the greatest
//
//	lambda · relevance − (1 − lambda) · max over hits taken of similarity
//
// and gives it that value as its score, so that scores descend and the result is in the total
// order. Relevance is the score in list, scaled to 0 to 1 by the largest and smallest one (1
// where they are equal). similarity is asked for pairs of ordinals and must be symmetric; negative
// values and NaN count as 0, values above 1 as 1. It is called len(list)·k times at most.
//
// lambda is above 0, where any first hit would do, up to 1, which keeps list as it is. Other values
// are an error. list must be in the total order; it is not changed.
func MMR(list []Fused, k int, lambda float64, similarity func(a, b uint32) float64) ([]Fused, error) {
	if !(lambda > 0 && lambda <= 1) {
		return nil, fmt.Errorf("mmr: lambda %v is out of range: use a value above 0 (different hits) up to 1 (order unchanged)", lambda)
	}
	if k <= 0 || k > len(list) {
		k = len(list)
	}
	out := make([]Fused, 0, k)
	if k == 0 {
		return out, nil
	}
	if lambda == 1 {
		return append(out, list[:k]...), nil
	}
	lo, hi := list[len(list)-1].Score, list[0].Score
	relevance := func(f Fused) float64 {
		if lo == hi {
			return 1
		}
		return (f.Score - lo) / (hi - lo)
	}
	// redundancy is the largest similarity to a hit taken, −1 once taken itself.
	redundancy := make([]float64, len(list))
	for len(out) < k {
		best, value := -1, 0.0
		for i, f := range list {
			if redundancy[i] < 0 {
				continue
			}
			v := float64(lambda*relevance(f)) - float64((1-lambda)*redundancy[i])
			if best < 0 || rank.CompareOrdinals(v, f.Ord, value, list[best].Ord) < 0 {
				best, value = i, v
			}
		}
		taken := list[best]
		taken.Score = value
		out = append(out, taken)
		redundancy[best] = -1
		for i, f := range list {
			if redundancy[i] >= 0 {
				if s := similarity(taken.Ord, f.Ord); s > redundancy[i] {
					redundancy[i] = min(s, 1)
				}
			}
		}
	}
	return out, nil
}
