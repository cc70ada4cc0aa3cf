package stats

import "slices"

// Holm returns the adjusted p-values of several tests, in the order given, each in [0,1] and not
// below its own p: comparing them with alpha keeps the chance of any false alarm at alpha,
// however the tests depend on each other.
//
// Holm, Scandinavian Journal of Statistics 1979. An empty list gives an empty list.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	var highest float64
	for rank, i := range order {
		v := min(1, p[i]*float64(len(p)-rank))
		highest = max(highest, v) // a later test is never easier to pass than an earlier one
		adjusted[i] = highest
	}
	return adjusted
}
