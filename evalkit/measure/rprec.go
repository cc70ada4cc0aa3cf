package measure

// rPrecision returns the gold groups found within the first R slots over R, the number of gold
// groups: trec_eval's Rprec. A second chunk of one gold section does not count, so that it
// equals the recall at R.
func rPrecision(e *Evidence, m Measure) float64 {
	n := e.groups(m.Rel)
	if n == 0 {
		return 0
	}
	return float64(e.foundWithin(n, m.Rel)) / float64(n)
}
