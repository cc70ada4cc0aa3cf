package hybrid

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed792a4543/assay/internal/rank"
)

// Version is the document of a hit, by any number, and the documents that supersede it directly or
// through one another, nearest first. A document's Newer holds that of each of them.
type Version struct {
	Doc   int
	Newer []int
}

// BelowNewer returns list with the hits of superseded documents below those of their successors
// where both are about equally relevant: such a hit comes directly after the last hit of a newer
// document whose relevance is equal, higher, or lower by at most within times the difference
// between the highest and the lowest relevance of the list. All other hits keep their order. A
// score that would be out of order becomes the next number below that of the hit above.
//
// within runs from 0 (equal relevance alone) to 1 (whatever the relevance). relevance is asked for
// every ordinal of list; it is what the list was ranked by before it was reranked, if it was. list
// must be in the total order; it is not changed.
func BelowNewer(list []Fused, within float64, relevance func(ord uint32) float64, version func(ord uint32) Version) []Fused {
	type entry struct {
		at        int // in list
		key       int // place that it stands at or directly after
		relevance float64
		Version
	}
	entries := make([]entry, len(list))
	lo, hi := math.Inf(1), math.Inf(-1)
	superseded := false
	for i, f := range list {
		e := entry{at: i, key: i, relevance: relevance(f.Ord), Version: version(f.Ord)}
		lo, hi = min(lo, e.relevance), max(hi, e.relevance)
		superseded = superseded || len(e.Newer) > 0
		entries[i] = e
	}
	if !superseded {
		return list
	}
	slack := within * (hi - lo)
	// A document's hits in descending relevance, and the last place that any of them up to there
	// has. The newest documents come first, so that the places of a successor are known.
	byAge := make([]*entry, len(entries))
	for i := range entries {
		byAge[i] = &entries[i]
	}
	slices.SortStableFunc(byAge, func(a, b *entry) int { return cmp.Compare(len(a.Newer), len(b.Newer)) })
	type hit struct {
		relevance float64
		key       int
	}
	docs := map[int][]hit{}
	sorted := map[int]bool{}
	for _, e := range byAge {
		for _, newer := range e.Newer {
			hits := docs[newer]
			if !sorted[newer] {
				slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(b.relevance, a.relevance) })
				for i := 1; i < len(hits); i++ {
					hits[i].key = max(hits[i].key, hits[i-1].key)
				}
				sorted[newer] = true
			}
			n, _ := slices.BinarySearchFunc(hits, e.relevance-slack, func(h hit, least float64) int {
				if h.relevance >= least {
					return -1
				}
				return 1
			})
			if n > 0 {
				e.key = max(e.key, hits[n-1].key)
			}
		}
		docs[e.Doc] = append(docs[e.Doc], hit{e.relevance, e.key})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(len(a.Newer), len(b.Newer)), cmp.Compare(a.at, b.at))
	})
	out := make([]Fused, len(list))
	for i, e := range entries {
		out[i] = list[e.at]
		if i > 0 && rank.CompareOrdinals(out[i-1].Score, out[i-1].Ord, out[i].Score, out[i].Ord) > 0 {
			out[i].Score = math.Nextafter(out[i-1].Score, math.Inf(-1))
		}
	}
	return out
}
