package measure

// recall returns the gold groups found within the cutoff over all gold groups; 0 without gold.
func recall(e *Evidence, m Measure) float64 {
	n := e.groups(m.Rel)
	if n == 0 {
		return 0
	}
	return float64(e.foundWithin(m.limit(), m.Rel)) / float64(n)
}
