package review

import (
	"slices"

	"github.com/seed792a4543/assay/evalkit/verdict"
)

// Pending returns the flips of a comparison that nobody has decided on, in the comparison's order:
// lost first. A decision counts if it names both builds, or names none; one on other builds does
// not, because the lists it was made on were others.
func Pending(c *verdict.Comparison, f *File) []verdict.Flip {
	var out []verdict.Flip
	for _, flip := range c.Flips {
		if !slices.ContainsFunc(f.Decisions, func(d Decision) bool {
			return d.Question == flip.Question &&
				(len(d.Builds) == 0 || slices.Contains(d.Builds, c.A) && slices.Contains(d.Builds, c.B))
		}) {
			out = append(out, flip)
		}
	}
	return out
}
