package measure

import "math"

// interpolated returns the highest precision at any rank where at least the level of recall is
// reached: trec_eval's iprec_at_recall. As in its version 10 the level is rounded to a whole
// number of relevant documents; version 9 added 0.9 and cut.
func interpolated(e *Evidence, rel int, level float64) float64 {
	need := int(math.Round(level * float64(e.groups(rel))))
	best, n := 0.0, 0
	for i := range e.Found {
		if rel > 1 && e.Found[i].Gain < rel {
			continue
		}
		n++
		if n >= need {
			best = max(best, float64(n)/float64(max(e.Found[i].Rank, n)))
		}
	}
	return best
}

// elevenPoint returns the mean of interpolated precision at recall 0, .1, … 1.
func elevenPoint(e *Evidence, rel int) float64 {
	sum := 0.0
	for i := range 11 {
		sum += interpolated(e, rel, float64(i)/10)
	}
	return sum / 11
}
