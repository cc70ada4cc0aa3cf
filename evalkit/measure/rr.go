package measure

// reciprocalRank returns 1 over the rank of the first relevant slot, 0 if there is none within
// the cutoff.
func reciprocalRank(e *Evidence, m Measure) float64 {
	for i, r := range e.Relevant {
		if r > m.limit() {
			break
		}
		if e.relevant(i, m.Rel) {
			return 1 / float64(r)
		}
	}
	return 0
}
