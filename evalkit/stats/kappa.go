package stats

import (
	"maps"
	"slices"
)

// Kappa returns Cohen's kappa of two labellers over the same items, in [-1,1]: agreement beyond
// what their label frequencies alone would give. 1 is perfect, 0 is chance.
//
// Cohen, Educational and Psychological Measurement 1960. A labeller that always says the same
// has kappa 0 against one that varies. ok is false for no items, lists of different length, or
// when both used one and the same single label: chance agreement is then 1 and kappa undefined.
func Kappa[L cmpOrdered](a, b []L) (kappa float64, ok bool) {
	if len(a) == 0 || len(a) != len(b) {
		return 0, false
	}
	inA, inB := map[L]int{}, map[L]int{}
	agree := 0
	for i := range a {
		inA[a[i]]++
		inB[b[i]]++
		if a[i] == b[i] {
			agree++
		}
	}
	// In integers: kappa = (n·agree − Σ a·b) / (n² − Σ a·b).
	n, chance := len(a), 0
	for _, label := range slices.Sorted(maps.Keys(inA)) {
		chance += inA[label] * inB[label]
	}
	if n*n == chance {
		return 0, false
	}
	return float64(n*agree-chance) / float64(n*n-chance), true
}

// cmpOrdered are the types labels come in.
type cmpOrdered interface{ ~string | ~int | ~int8 }
