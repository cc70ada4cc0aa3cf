// Package suggest finds what a misspelt name was probably meant to be.
package suggest

import "strings"

// Nearest returns the candidate closest to name by edit distance (Levenshtein), ignoring case,
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

// Distance returns the Levenshtein distance between a and b in runes.
func Distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	row := make([]int, len(rb)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range ra {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range rb {
			cost := diagonal
			if x != y {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(rb)]
}
