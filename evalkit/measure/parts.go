package measure

// Parts returns the integers whose quotient is the measure's value of one topic, for pooling
// over topics: sum the numerators and the denominators, then divide. ok is false for measures
// that are no such quotient.
func (m Measure) Parts(e *Evidence) (num, den int, ok bool) {
	switch m.Family {
	case P:
		return e.relevantWithin(m.limit(), m.Rel), m.Cutoff, true
	case Recall:
		return e.foundWithin(m.limit(), m.Rel), e.groups(m.Rel), true
	case Judged:
		return within(e.Relevant, m.Cutoff) + within(e.Nonrel, m.Cutoff), m.Cutoff, true
	case Dup:
		return within(e.Dup, m.Cutoff), m.Cutoff, true
	case CharRecall, CharPrecision, CharIoU:
		for _, c := range e.Chars {
			if c.Cutoff == m.Cutoff {
				switch m.Family {
				case CharPrecision:
					return c.Inter, c.Delivered, true
				case CharIoU:
					return c.Inter, c.Gold + c.Delivered - c.Inter, true
				}
				return c.Inter, c.Gold, true
			}
		}
	}
	return 0, 0, false
}
