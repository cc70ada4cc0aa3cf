package golden

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong in a golden file.
type Fault struct {
	Line    int // from 1
	Message string
}

// ParseError holds everything wrong with a golden file, in line order.
type ParseError struct {
	Path   string
	Faults []Fault
}

// Error returns one line for each fault: path:line: message.
func (e *ParseError) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d: %s", e.Path, f.Line, f.Message)
	}
	return b.String()
}

func (e *ParseError) sort() {
	slices.SortStableFunc(e.Faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
}

// nearest returns the candidate that s most likely means, "" if none is near: equal but for
// case, or at most two edits (one in short words) away.
func nearest(s string, candidates []string) string {
	best, bestDist := "", 3
	for _, c := range candidates {
		if strings.EqualFold(s, c) {
			return c
		}
		limit := 2
		if len(s) < 5 || len(c) < 5 {
			limit = 1
		}
		// Two letters swapped are two edits; in a short word that is still a slip.
		d := editDistance(s, c)
		if d == 2 && limit == 1 && sameLetters(s, c) {
			d = 1
		}
		if d <= limit && d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 64
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diag := row[0]
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diag+cost)
		}
	}
	return row[len(y)]
}

func didYouMean(s string, candidates []string) string {
	if n := nearest(s, candidates); n != "" {
		return fmt.Sprintf(": did you mean %q?", n)
	}
	return ""
}
