package measure

// allHit returns 1 if every gold group is found within the cutoff, else 0.
func allHit(e *Evidence, m Measure) float64 {
	if n := e.groups(m.Rel); n > 0 && e.foundWithin(m.limit(), m.Rel) == n {
		return 1
	}
	return 0
}
