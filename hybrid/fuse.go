package hybrid

import (
	"cmp"
	"slices"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/rank"
)

// Fused is one entry of a fused list.
type Fused struct {
	Ord   uint32
	Score float64
	// What each retriever said; rank 0 says that it did not return the chunk.
	Vector, Lexical index.Component
}

// Fuse returns the union of the two lists, ordered by fused score descending, then ordinal
// descending; it is not cut. Both lists must be in the total order, best first, without repeats,
// with finite scores; each is cut to s.Depth first. The lists are not changed.
//
// Where only one list can matter (mode vector or lexical, weight 0 or 1) the result is that list
// as it is, with its own scores. The other one still fills the components of the hits it shares.
//
// Weighted fusion adds the normalised scores, see Normalise; a chunk missing from a list has the
// worst value of that list. Rank fusion adds 1/(K + rank), see rrf. s must be valid; defaults are
// filled in.
func Fuse(vector, lexical []index.Candidate, s Settings) []Fused {
	s = s.WithDefaults()
	vector = vector[:min(len(vector), s.Depth)]
	lexical = lexical[:min(len(lexical), s.Depth)]
	out := join(vector, lexical)
	useVector, useLexical := s.legs()
	switch {
	case !useLexical:
		out = slices.DeleteFunc(out, func(f Fused) bool { return f.Vector.Rank == 0 })
		slices.SortFunc(out, func(a, b Fused) int { return cmp.Compare(a.Vector.Rank, b.Vector.Rank) })
		for i := range out {
			out[i].Score = out[i].Vector.Score
		}
		return out
	case !useVector:
		out = slices.DeleteFunc(out, func(f Fused) bool { return f.Lexical.Rank == 0 })
		slices.SortFunc(out, func(a, b Fused) int { return cmp.Compare(a.Lexical.Rank, b.Lexical.Rank) })
		for i := range out {
			out[i].Score = out[i].Lexical.Score
		}
		return out
	case s.Fusion == FusionRRF:
		rrf(out, s.K)
	default:
		weighted(out, vector, lexical, s)
	}
	slices.SortFunc(out, func(a, b Fused) int { return rank.CompareOrdinals(a.Score, a.Ord, b.Score, b.Ord) })
	return out
}

// join returns one entry per chunk of either list, ordered by ordinal, without scores.
func join(vector, lexical []index.Candidate) []Fused {
	out := make([]Fused, 0, len(vector)+len(lexical))
	for i, c := range vector {
		out = append(out, Fused{Ord: c.Ord, Vector: index.Component{Rank: i + 1, Score: c.Score}})
	}
	for i, c := range lexical {
		out = append(out, Fused{Ord: c.Ord, Lexical: index.Component{Rank: i + 1, Score: c.Score}})
	}
	slices.SortFunc(out, func(a, b Fused) int { return cmp.Compare(a.Ord, b.Ord) })
	n := 0
	for i := range out {
		if n == 0 || out[n-1].Ord != out[i].Ord {
			out[n] = out[i]
			n++
			continue
		}
		f := &out[n-1]
		f.Vector, f.Lexical = either(f.Vector, out[i].Vector), either(f.Lexical, out[i].Lexical)
	}
	return out[:n]
}

func either(a, b index.Component) index.Component {
	if a.Rank == 0 || b.Rank != 0 && b.Rank < a.Rank {
		return b
	}
	return a
}
