package measure

// set returns the measures of the whole list as a set, as trec_eval's set_P, set_recall, set_F
// (beta 1) and set_map, which is the product of the first two.
func set(e *Evidence, m Measure) float64 {
	n := e.groups(m.Rel)
	if n == 0 || e.Returned == 0 {
		return 0
	}
	p := float64(e.relevantWithin(e.Returned, m.Rel)) / float64(e.Returned)
	r := float64(e.foundWithin(e.Returned, m.Rel)) / float64(n)
	switch m.Family {
	case SetP:
		return p
	case SetRecall:
		return r
	case SetAP:
		return p * r
	}
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}
