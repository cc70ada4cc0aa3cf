package answer

import "fmt"

// Limits are what a run of answers must keep. Rates are compared by their point estimate; a nil
// limit is none. The two refusal rates have a limit each, because either alone is won by always
// or never refusing.
type Limits struct {
	CorrectRefusal *float64 // at least, of unanswerable questions
	WrongRefusal   *float64 // at most, of answerable ones
	FactsRetrieved *float64 // at least, where the right section was delivered
	CitationFacts  *float64 // at least, of answers with all facts
	Numbers        *int     // at most, numbers that are not in the context
	Leaks          *int     // at most
}

// Check returns the limits that the table breaks, none if it keeps them all. An incomplete
// table, and a limit on a line without cases, count as broken: what was not measured has not
// passed.
func (t *Table) Check(l Limits) (broken []string) {
	if !t.Complete {
		broken = append(broken, fmt.Sprintf("the run is incomplete: %d harness errors, %d questions without a record", t.HarnessErrors, len(t.Unrecorded)))
	}
	rate := func(key string, limit *float64, least bool) {
		if limit == nil {
			return
		}
		line := t.Line(key)
		v, ok := line.Rate()
		switch {
		case !ok:
			broken = append(broken, fmt.Sprintf("%s: nothing was measured", key))
		case least && v < *limit:
			broken = append(broken, fmt.Sprintf("%s: %d/%d = %.3f, at least %g is asked", key, line.Count, line.N, v, *limit))
		case !least && v > *limit:
			broken = append(broken, fmt.Sprintf("%s: %d/%d = %.3f, at most %g is allowed", key, line.Count, line.N, v, *limit))
		}
	}
	rate(LineCorrectRefusal, l.CorrectRefusal, true)
	rate(LineWrongRefusal, l.WrongRefusal, false)
	rate(LineFactsRetrieved, l.FactsRetrieved, true)
	rate(LineCitationFacts, l.CitationFacts, true)
	count := func(key string, limit *int) {
		if limit == nil {
			return
		}
		if n := t.Line(key).Count; n > *limit {
			broken = append(broken, fmt.Sprintf("%s: %d, at most %d are allowed", key, n, *limit))
		}
	}
	count(LineNumbers, l.Numbers)
	count(LineLeaks, l.Leaks)
	return broken
}
