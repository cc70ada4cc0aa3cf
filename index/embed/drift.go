package embed

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Drift says how far a collection has moved from the one a Builtin was fitted on.
type Drift struct {
	Texts   int   // in the collection now
	Tokens  int64 // occurrences of terms in the texts measured
	Unknown int64 // of which the model knows none
}

// The bounds of NeedsRefit; docs/embedders.md has the measurement.
const (
	refitGrowth  = 1.25
	refitUnknown = 0.005
)

// measureMost bounds the texts whose terms Measure counts: the standard error of a share of .005
// over the million terms of so many is .00007.
const measureMost = 10_000

// Measure counts how many of the terms of texts the model knows, of at most 10,000 of them, evenly
// spaced. Texts is len(texts). The error is that of ctx.
func (b *Builtin) Measure(ctx context.Context, texts []string) (Drift, error) {
	d := Drift{Texts: len(texts)}
	if b.model == nil {
		return d, ctx.Err()
	}
	var tokens, unknown atomic.Int64
	n := min(len(texts), measureMost)
	err := parallel(ctx, n, 64, b.o.Workers, func(_, lo, hi int) {
		var all, new int64
		for i := lo; i < hi; i++ {
			for _, t := range b.o.Tokenize(texts[i*len(texts)/n]) {
				if t == "" || len(t) > maxTermBytes { // as at the fit
					continue
				}
				all++
				if _, ok := b.model.index[t]; !ok {
					new++
				}
			}
		}
		tokens.Add(all)
		unknown.Add(new)
	})
	d.Tokens, d.Unknown = tokens.Load(), unknown.Load()
	return d, err
}

// Refit returns the model for texts that comes after b: b itself if the texts have drifted no
// further than NeedsRefit allows, so that they are folded into it, else one fitted on texts with
// the options b has. The drift is that of texts from b.
//
// A model that is kept knows the words of texts that are gone, until the next fit.
func (b *Builtin) Refit(ctx context.Context, texts []string) (*Builtin, Drift, error) {
	d, err := b.Measure(ctx, texts)
	if err != nil {
		return nil, d, fmt.Errorf("measure the drift of the builtin embedder: %w", err)
	}
	if !b.NeedsRefit(d) {
		return b, d, nil
	}
	next, err := FitBuiltin(ctx, texts, b.o)
	return next, d, err
}

// NeedsRefit reports whether the model should be fitted again rather than new texts folded
// into it: the collection is more than 1.25 times as large as at the fit or less than 0.8
// times, or the share of term occurrences unknown to the model exceeds its share at the fit by
// more than half a point, or the collection has crossed MinTexts.
func (b *Builtin) NeedsRefit(d Drift) bool {
	if b.o.Parts == "words" {
		return false
	}
	if b.model == nil {
		return d.Texts >= b.o.MinTexts
	}
	if d.Texts < b.o.MinTexts {
		return true
	}
	n, fitted := float64(d.Texts), float64(b.model.texts)
	if n > fitted*refitGrowth || n*refitGrowth < fitted {
		return true
	}
	return share(d.Unknown, d.Tokens)-share(b.model.unknown, b.model.tokens) > refitUnknown
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
