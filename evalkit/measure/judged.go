package measure

// judged returns the slots within the cutoff that somebody judged, relevant or not, over the
// cutoff. ir_measures divides a short list by its own length instead.
func judged(e *Evidence, m Measure) float64 {
	return float64(within(e.Relevant, m.Cutoff)+within(e.Nonrel, m.Cutoff)) / float64(m.Cutoff)
}

// unjudged returns the slots within the cutoff that nobody judged over the cutoff; positions a
// short list leaves empty are neither.
func unjudged(e *Evidence, m Measure) float64 {
	slots := min(e.Returned, m.Cutoff)
	return float64(slots-within(e.Relevant, m.Cutoff)-within(e.Nonrel, m.Cutoff)) / float64(m.Cutoff)
}
