package lexical

import "math"

// model holds what the score of one build depends on beside a posting. See the package comment
// for the formula.
type model struct {
	chunks  float64
	average float64
	k1, b   float64
}

func newModel(s *Stats) model {
	return model{chunks: float64(s.Chunks), average: s.AverageLength, k1: *s.Settings.K1, b: *s.Settings.B}
}

// norm returns k1·(1 − b + b·length/average), 0 in an index without words. The conversions keep
// the compiler from fusing operations, which would make the last digit depend on the CPU.
func (m model) norm(length uint32) float64 {
	if m.average == 0 {
		return 0
	}
	return m.k1 * (float64(1-m.b) + float64(m.b*(float64(length)/m.average)))
}

// idf returns ln(1 + (N − df + 0.5) / (df + 0.5)), which is positive for every df ≤ N.
func (m model) idf(df int) float64 {
	n := float64(df)
	return math.Log(1 + (m.chunks-n+0.5)/(n+0.5))
}

// score returns the part of one term, times how often the query holds it.
func (m model) score(idf, times float64, freq uint32, norm float64) float64 {
	tf := float64(freq)
	return float64(times * float64(float64(idf*float64(tf*(m.k1+1)))/(tf+norm)))
}

// impact is the part of the score that differs between the postings of a term: tf / (tf + norm),
// 0 to 1.
func impact(freq uint32, norm float64) float64 { return float64(freq) / (float64(freq) + norm) }
