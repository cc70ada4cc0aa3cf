package measure

import "math"

// persistence is trec_eval's default for rbp.
const persistence = 0.9

// rankBiased returns rank-biased precision (Moffat & Zobel, TOIS 2008) with persistence .9:
// the chance that a reader who goes on to the next slot with that probability ends on a
// relevant one. Unjudged slots count as not relevant; relevance is binary, where trec_eval
// weighs grades above 1.
func rankBiased(e *Evidence, m Measure) float64 {
	sum := 0.0
	for i, r := range e.Relevant {
		if e.relevant(i, m.Rel) {
			sum += math.Pow(persistence, float64(r-1))
		}
	}
	return sum * (1 - persistence)
}
