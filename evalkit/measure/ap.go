package measure

// averagePrecision returns the sum, over the gold groups found within the cutoff, of the share
// of positions up to theirs that earn, divided by the number of gold groups: trec_eval's map
// and map_cut. The divisor is R even where the cutoff is smaller.
func (s *Scorer) averagePrecision(e *Evidence, m Measure) float64 {
	n := e.groups(m.Rel)
	if n == 0 {
		return 0
	}
	sum := 0.0
	for i, p := range s.pay(e, m.Rel) {
		if p.pos > m.limit() {
			break
		}
		sum += float64(i+1) / float64(p.pos)
	}
	return sum / float64(n)
}
