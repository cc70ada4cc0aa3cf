// Package suggest finds what a misspelt name was probably meant to be.
package suggest

import "strings"

// Nearest returns the candidate closest to name by edit distance, ignoring case,
// or "" if none is within a third of the longer length (at least 1). Ties go to the earlier
// candidate.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", -1
	for _, c := range candidates {
		d := Distance(strings.ToLower(name), strings.ToLower(c))
		if limit := max(1, max(len(name), len(c))/3); d > limit {
			continue
		}
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Distance returns the edit distance between a and b in runes, with the exchange of two
// neighbours as one edit (optimal string alignment; Damerau, CACM 1964).
func Distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	before, last := make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range last {
		last[j] = j
	}
	for i, x := range ra {
		row := make([]int, len(rb)+1)
		row[0] = i + 1
		for j, y := range rb {
			cost := last[j]
			if x != y {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && x == rb[j-1] && ra[i-1] == y {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(rb)]
}
