// Package stats holds the statistics that evaluations and verdicts rest on: intervals for one
// rate, tests and intervals for two builds compared on the same questions, corrections for
// imperfect judges, and the arithmetic of how many questions a claim needs.
//
// Use it when a number decides something. Every function is pure: the same arguments give the
// same bits on any machine with IEEE-754 doubles, random ones take a seed and nothing else.
// Everything is paired by question; there is no unpaired test here, because two builds are
// always asked the same questions and an unpaired test throws that away.
//
// Where no answer exists (no questions, one class only, a constant sample) the second result is
// false or a field says so; no function returns NaN.
//
// It is not a general statistics library: no distributions are exported and no samples are
// larger than memory.
package stats

// Interval is a closed interval, usually of a rate in [0,1] or a difference in [-1,1].
type Interval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

// Contains reports whether v lies in the interval, ends included.
func (i Interval) Contains(v float64) bool { return i.Lo <= v && v <= i.Hi }

// Width is Hi − Lo, ≥ 0 for every interval this package returns.
func (i Interval) Width() float64 { return i.Hi - i.Lo }
