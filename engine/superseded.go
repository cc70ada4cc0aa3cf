package engine

import (
	"context"

	"github.com/seed792a4543/assay/hybrid"
)

// The treatments of superseded documents in SearchSettings.Superseded.
const (
	SupersededKeep  = "keep"  // ranked as any other, with a mark
	SupersededBelow = "below" // below their successors where both are about equally relevant; hybrid.BelowNewer
)

// SearchSettings say what ranking does besides relevance. They are part of a build.
type SearchSettings struct {
	Superseded string `yaml:"superseded" json:"superseded,omitempty"` // keep (default) or below
	// SupersededWithin is how much less relevant a successor may be for below, as a share of the
	// difference between the highest and the lowest score of the fused list: 0 (equal scores alone)
	// to 1 (whatever the scores); nil means 0.1.
	SupersededWithin *float64 `yaml:"superseded_within" json:"superseded_within,omitempty"`
}

// Validate refuses values out of range.
func (s SearchSettings) Validate() error {
	switch s.Superseded {
	case "", SupersededKeep, SupersededBelow:
	default:
		return badInput("search.superseded is %q: use keep or below", s.Superseded)
	}
	// Written so that NaN is refused too.
	if s.SupersededWithin != nil && !(*s.SupersededWithin >= 0 && *s.SupersededWithin <= 1) {
		return badInput("search.superseded_within is %v: use 0 (equal scores alone) to 1 (whatever the scores)", *s.SupersededWithin)
	}
	return nil
}

// WithDefaults returns s with what it uses filled in and all else zero, so that builds that keep the
// order are the same whether they say so or not.
func (s SearchSettings) WithDefaults() SearchSettings {
	if s.Superseded != SupersededBelow {
		return SearchSettings{}
	}
	within := 0.1
	if s.SupersededWithin != nil {
		within = *s.SupersededWithin
	}
	s.SupersededWithin = &within
	return s
}

// order reranks a fused list and then, if the settings ask for it, ranks superseded documents below
// their successors.
func (v *view) order(ctx context.Context, q Query, fused []hybrid.Fused) ([]hybrid.Fused, error) {
	s := v.r.settings.Search
	if s.Superseded != SupersededBelow {
		return v.rerank(ctx, q, fused)
	}
	relevance := make(map[uint32]float64, len(fused))
	for _, f := range fused {
		relevance[f.Ord] = f.Score
	}
	list, err := v.rerank(ctx, q, fused)
	if err != nil {
		return nil, err
	}
	defer clock(ctx)(StageRerank)()
	visible := func(doc int) bool { return v.r.docVisible(doc, q.As) }
	known := map[int]hybrid.Version{}
	return hybrid.BelowNewer(list, *s.SupersededWithin, func(ord uint32) float64 { return relevance[ord] }, func(ord uint32) hybrid.Version {
		doc := v.r.chunkDoc(ord)
		version, ok := known[doc]
		if !ok {
			version.Doc = doc
			// By what the caller may read, as the mark in a hit; circles are no build.
			for next := v.r.supersededBy(doc, visible); next >= 0 && len(version.Newer) < v.r.ndocs; next = v.r.supersededBy(next, visible) {
				version.Newer = append(version.Newer, next)
			}
			known[doc] = version
		}
		return version
	}), nil
}
