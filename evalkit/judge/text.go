package judge

import (
	"slices"
	"strings"
)

func medianOf(v []int) int {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[(len(s)-1)/2]
}

// reversed puts the paragraphs of a context in reverse order.
func reversed(context string) string {
	p := strings.Split(strings.TrimSpace(context), "\n\n")
	slices.Reverse(p)
	return strings.Join(p, "\n\n")
}
