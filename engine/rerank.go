package engine

import (
	"context"
	"fmt"

	"github.com/seed792a4543/assay/hybrid"
)

// The rerankers of RerankSettings.Kind.
const (
	RerankNone     = "none"
	RerankMMR      = "mmr"      // hits that repeat those above them fall; hybrid.MMR
	RerankFeatures = "features" // hits that hold the query's words together rise; hybrid.RerankFeatures
	RerankChat     = "chat"     // a chat model orders the first hits; in sweeps alone
)

// RerankSettings choose a step after fusion. They are part of a build.
type RerankSettings struct {
	Kind string `yaml:"kind" json:"kind,omitempty"` // none (default), mmr, features
	// Depth is how many hits are reordered; 0 means 50, or 10 for chat. The others stay below them.
	Depth int `yaml:"depth" json:"depth,omitempty"`
	// Lambda of mmr, above 0 (different hits) to 1 (order unchanged); nil means 0.7.
	Lambda *float64 `yaml:"lambda" json:"lambda,omitempty"`
	// Weight of the features against the fused score, 0 to 1; nil means 0.2.
	Weight *float64 `yaml:"weight" json:"weight,omitempty"`
}

// Validate refuses values out of range.
func (s RerankSettings) Validate() error {
	switch s.Kind {
	case "", RerankNone, RerankMMR, RerankFeatures:
	case RerankChat:
		return badInput("rerank.kind chat can be measured by `assay sweep` but not be built in: use mmr or features")
	default:
		return badInput("rerank.kind is %q: use none, mmr or features", s.Kind)
	}
	if s.Depth < 0 || s.Depth > hybrid.MaxDepth {
		return badInput("rerank.depth is %d, the range is 1 to %d", s.Depth, hybrid.MaxDepth)
	}
	// Written so that NaN is refused too.
	if s.Lambda != nil && !(*s.Lambda > 0 && *s.Lambda <= 1) {
		return badInput("rerank.lambda is %v: use a value above 0 (different hits) up to 1 (order unchanged)", *s.Lambda)
	}
	if s.Weight != nil && !(*s.Weight >= 0 && *s.Weight <= 1) {
		return badInput("rerank.weight is %v: use 0 (order unchanged) to 1 (features alone)", *s.Weight)
	}
	return nil
}

// WithDefaults returns s with what its kind uses filled in and all else zero, so that builds
// without a reranker are the same whether they say so or not.
func (s RerankSettings) WithDefaults() RerankSettings {
	value := func(p *float64, v float64) *float64 {
		if p != nil {
			v = *p
		}
		return &v
	}
	depth := func(v int) int {
		if s.Depth > 0 {
			return s.Depth
		}
		return v
	}
	switch s.Kind {
	case RerankMMR:
		return RerankSettings{Kind: s.Kind, Depth: depth(50), Lambda: value(s.Lambda, 0.7)}
	case RerankFeatures:
		return RerankSettings{Kind: s.Kind, Depth: depth(50), Weight: value(s.Weight, 0.2)}
	case RerankChat:
		return RerankSettings{Kind: s.Kind, Depth: depth(10)}
	case RerankNone:
		return RerankSettings{}
	}
	return s
}

// reorderer puts the head of a fused list into another order.
type reorderer func(ctx context.Context, query string, head []hybrid.Fused) ([]hybrid.Fused, error)

// rerank applies the build's reranker to a fused list.
func (v *view) rerank(ctx context.Context, q Query, fused []hybrid.Fused) ([]hybrid.Fused, error) {
	s := v.r.settings.Rerank
	if len(fused) == 0 || s.Kind == "" {
		return fused, nil
	}
	defer clock(ctx)(StageRerank)()
	switch s.Kind {
	case RerankMMR:
		head, err := hybrid.MMR(fused[:min(s.Depth, len(fused))], 0, *s.Lambda, v.similarity())
		return below(head, fused), err
	case RerankFeatures:
		lex := v.r.lexical
		idf := lex.IDF
		if v.r.settings.Lexical.Statistics == "per-label" {
			// Global frequencies would tell of documents that the caller may not read.
			idf = func(string) float64 { return 1 }
		}
		return hybrid.RerankFeatures(fused, lex.Terms(q.Text), idf, func(ord uint32) []string {
			return lex.Terms(embeddedText(v.r.chunkIndexed(ord)))
		}, hybrid.FeatureSettings{Weight: s.Weight, Depth: s.Depth})
	case RerankChat:
		if v.reorder == nil {
			return nil, fmt.Errorf("rerank.kind chat works in sweeps alone")
		}
		head, err := v.reorder(ctx, q.Text, fused[:min(s.Depth, len(fused))])
		return below(head, fused), err
	}
	return fused, nil
}

// below appends what fused holds after the head, with scores below those of the head.
func below(head, fused []hybrid.Fused) []hybrid.Fused {
	if len(head) == 0 {
		return fused
	}
	out := append([]hybrid.Fused(nil), head...)
	lowest := min(0, head[len(head)-1].Score)
	for i, f := range fused[len(head):] {
		f.Score = lowest - float64(i+1)
		out = append(out, f)
	}
	return out
}

// similarity is the cosine of two chunks' vectors or, without vectors, the share of distinct terms
// in common (Jaccard).
func (v *view) similarity() func(a, b uint32) float64 {
	if v.row != nil {
		rows := map[uint32][]float32{}
		row := func(ord uint32) []float32 {
			r, ok := rows[ord]
			if !ok {
				r = v.row(ord)
				rows[ord] = r
			}
			return r
		}
		return func(a, b uint32) float64 {
			x, y := row(a), row(b)
			if x == nil || y == nil {
				return 0
			}
			return cosine(x, y)
		}
	}
	sets := map[uint32]map[string]bool{}
	set := func(ord uint32) map[string]bool {
		s, ok := sets[ord]
		if !ok {
			s = map[string]bool{}
			for _, t := range v.r.lexical.Terms(v.r.chunkText(ord)) {
				s[t] = true
			}
			sets[ord] = s
		}
		return s
	}
	return func(a, b uint32) float64 {
		x, y := set(a), set(b)
		both := 0
		for t := range x {
			if y[t] {
				both++
			}
		}
		if both == 0 {
			return 0
		}
		return float64(both) / float64(len(x)+len(y)-both)
	}
}
