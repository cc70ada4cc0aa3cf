package stats

import (
	"math"
	"math/rand/v2"
)

// Side is the alternative of a test.
type Side int

// The alternatives of SignFlip.
const (
	Less     Side = iota // the candidate is worse: the mean difference is below 0
	Greater              // the candidate is better
	TwoSided             // they differ
)

// exactLimit is the number of non-zero differences up to which all sign patterns are counted;
// 2^20 sums take a few milliseconds.
const exactLimit = 20

// Randomisation is the result of SignFlip.
type Randomisation struct {
	P       float64 `json:"p"`        // in (0,1]; never 0
	Exact   bool    `json:"exact"`    // all sign patterns were counted
	NonZero int     `json:"non_zero"` // differences that are not 0; the others say nothing
	Draws   int     `json:"draws"`    // random patterns drawn, or 2^NonZero when exact
	Hits    int     `json:"hits"`     // patterns at least as extreme as the observed one
	Seed    uint64  `json:"seed"`     // as given; unused when exact
}

// SignFlip returns Fisher's randomisation test of paired differences (candidate − live, one per
// question): under the hypothesis that the builds are interchangeable each difference could as
// well have the other sign. Up to 20 non-zero differences every pattern is counted; beyond, p is
// (1+hits)/(1+draws) over seeded random patterns, so it is never 0. draws 0 means 10,000.
//
// Smucker, Allan & Carterette, CIKM 2007; Phipson & Smyth, SAGMB 2010, for the added ones.
// No non-zero difference gives p = 1. ok is false for a NaN or infinite difference.
func SignFlip(differences []float64, side Side, draws int, seed uint64) (r Randomisation, ok bool) {
	if !allFinite(differences) {
		return Randomisation{}, false
	}
	var d []float64
	var observed, scale float64
	for _, v := range differences {
		// Differences of equal values computed by other routes are not differences.
		if math.Abs(v) > 1e-12 {
			d = append(d, v)
			observed += v
			scale += math.Abs(v)
		}
	}
	r = Randomisation{P: 1, NonZero: len(d), Seed: seed}
	if len(d) == 0 {
		r.Exact, r.Draws, r.Hits = true, 1, 1
		return r, true
	}
	tolerance := 1e-10 * scale // sums of the same numbers in another order are equal
	extreme := func(sum float64) bool {
		switch side {
		case Less:
			return sum <= observed+tolerance
		case Greater:
			return sum >= observed-tolerance
		}
		return math.Abs(sum) >= math.Abs(observed)-tolerance
	}
	if len(d) <= exactLimit {
		r.Exact, r.Draws = true, 1<<len(d)
		var walk func(i int, sum float64)
		walk = func(i int, sum float64) {
			if i == len(d) {
				if extreme(sum) {
					r.Hits++
				}
				return
			}
			walk(i+1, sum+d[i])
			walk(i+1, sum-d[i])
		}
		walk(0, 0)
		r.P = float64(r.Hits) / float64(r.Draws)
		return r, true
	}
	if draws <= 0 {
		draws = 10000
	}
	r.Draws = draws
	rng := rand.New(rand.NewPCG(seed, 0x666c6970)) // stream "flip"
	for range draws {
		var sum float64
		var bits uint64
		for i, v := range d {
			if i%64 == 0 {
				bits = rng.Uint64()
			}
			if bits&1 == 1 {
				v = -v
			}
			bits >>= 1
			sum += v
		}
		if extreme(sum) {
			r.Hits++
		}
	}
	r.P = float64(1+r.Hits) / float64(1+draws)
	return r, true
}
