package measure

// precision returns the relevant slots within the cutoff over the cutoff, also where the list
// is shorter, as in trec_eval (m_P.c). In the slots view a second chunk of one gold section
// counts: it is what the reader sees.
func precision(e *Evidence, m Measure) float64 {
	return float64(e.relevantWithin(m.limit(), m.Rel)) / float64(m.Cutoff)
}
