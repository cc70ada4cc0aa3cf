package measure

// hit returns 1 if a slot within the cutoff is relevant, else 0: Success@k.
func hit(e *Evidence, m Measure) float64 {
	if e.relevantWithin(m.limit(), m.Rel) > 0 {
		return 1
	}
	return 0
}
