package hybrid

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/seed792a4543/assay/index"
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
	return order(out)
}

// order sorts by score descending, then ordinal descending. It sorts short keys, because moving
// whole entries costs more than comparing them.
func order(in []Fused) []Fused {
	type key struct {
		score float64
		ord   uint32
		at    uint32
	}
	keys := make([]key, len(in))
	for i := range in {
		keys[i] = key{in[i].Score, in[i].Ord, uint32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		case a.ord > b.ord:
			return -1
		}
		return 1
	})
	out := make([]Fused, len(in))
	for i, k := range keys {
		out[i] = in[k.at]
	}
	return out
}

// join returns one entry per chunk of either list, in the order of the vector list, then of the
// lexical one, without scores. Chunks are matched through a table of open addresses: lists are
// short, and a Go map would allocate for each of its groups.
func join(vector, lexical []index.Candidate) []Fused {
	out := make([]Fused, 0, len(vector)+len(lexical))
	shift := 32 - bits.Len(uint(2*cap(out)))
	table := make([]uint32, 1<<(32-shift)) // position in out, plus 1
	slot := func(ord uint32) *uint32 {
		for i := ord * 0x9E3779B1 >> shift; ; i = (i + 1) & uint32(len(table)-1) {
			if p := table[i]; p == 0 || out[p-1].Ord == ord {
				return &table[i]
			}
		}
	}
	at := func(ord uint32) *Fused {
		p := slot(ord)
		if *p == 0 {
			out = append(out, Fused{Ord: ord})
			*p = uint32(len(out))
		}
		return &out[*p-1]
	}
	for i, c := range vector {
		f := at(c.Ord)
		f.Vector = either(f.Vector, index.Component{Rank: i + 1, Score: c.Score})
	}
	for i, c := range lexical {
		f := at(c.Ord)
		f.Lexical = either(f.Lexical, index.Component{Rank: i + 1, Score: c.Score})
	}
	return out
}

func either(a, b index.Component) index.Component {
	if a.Rank == 0 || b.Rank != 0 && b.Rank < a.Rank {
		return b
	}
	return a
}
