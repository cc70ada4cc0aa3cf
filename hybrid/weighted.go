package hybrid

import (
	"math"

	"github.com/seed792a4543/assay/index"
)

// The least value each retriever can give, for NormaliseTMM.
const (
	leastCosine = -1
	leastBM25   = 0
)

// scale maps a list's scores onto a common range: value = (score − shift) / span.
type scale struct {
	shift, span float64
	flat        float64 // value of every score where the list has no spread, span 0
	missing     float64 // value of a chunk the list does not hold
}

func (s scale) value(c index.Component) float64 {
	switch {
	case c.Rank == 0:
		return s.missing
	case s.span == 0:
		return s.flat
	}
	return (c.Score - s.shift) / s.span
}

// Normalisation of a list of scores, best first:
//
//	minmax  (s − min) / (max − min): 1 for the best, 0 for the last of the list and for chunks
//	        missing from it; a list whose scores are all equal gives 1 to each
//	zscore  (s − mean) / population standard deviation; missing: the list's least value; equal
//	        scores give 0, missing as well
//	tmm     (s − least) / (max − least) with the least value the retriever can give, −1 for
//	        cosine, 0 for BM25; missing: 0; a list whose best score is the least gives 0
//
// (Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023.) An
// empty list gives 0 for every chunk.
func newScale(list []index.Candidate, kind string, least float64) scale {
	if len(list) == 0 {
		return scale{}
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range list {
		lo, hi = min(lo, c.Score), max(hi, c.Score)
	}
	switch kind {
	case NormaliseZScore:
		mean, n := 0.0, float64(len(list))
		for _, c := range list {
			mean += c.Score / n
		}
		variance := 0.0
		for _, c := range list {
			variance += float64((c.Score-mean)*(c.Score-mean)) / n
		}
		if lo == hi || variance == 0 {
			return scale{}
		}
		s := scale{shift: mean, span: math.Sqrt(variance)}
		s.missing = (lo - mean) / s.span
		return s
	case NormaliseTMM:
		if hi <= least {
			return scale{}
		}
		return scale{shift: least, span: hi - least}
	default:
		if lo == hi {
			return scale{flat: 1}
		}
		return scale{shift: lo, span: hi - lo}
	}
}

// weighted sets the scores to dense · vector value + (1 − dense) · lexical value.
func weighted(out []Fused, vector, lexical []index.Candidate, s Settings) {
	v := newScale(vector, s.Normalise, leastCosine)
	l := newScale(lexical, s.Normalise, leastBM25)
	dense := *s.Dense
	for i := range out {
		f := &out[i]
		f.Score = float64(dense*v.value(f.Vector)) + float64((1-dense)*l.value(f.Lexical))
	}
}
