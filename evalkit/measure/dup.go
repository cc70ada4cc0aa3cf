package measure

// dup returns the slots within the cutoff that repeat the section of a higher slot, over the
// cutoff. It is 0 in the sections view.
func dup(e *Evidence, m Measure) float64 {
	return float64(within(e.Dup, m.Cutoff)) / float64(m.Cutoff)
}
