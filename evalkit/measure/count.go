package measure

// count returns the plain counts of a topic; ok is false for an unknown family.
func count(e *Evidence, m Measure) (v float64, ok bool) {
	switch m.Family {
	case NumQ:
		return 1, true
	case NumRet:
		return float64(e.Returned), true
	case NumRel:
		return float64(e.groups(m.Rel)), true
	case NumRelRet:
		return float64(e.foundWithin(e.Returned, m.Rel)), true
	case NumNonrelRe:
		return float64(len(e.Nonrel) + len(e.Relevant) - e.relevantWithin(e.Returned, m.Rel)), true
	}
	return 0, false
}
