package engine

import (
	"context"
	"errors"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
)

// Rescore asks the golden questions of both builds and scores the answers before and after the
// corrections of a review file. A correction always counts for both builds.
func (e *Engine) Rescore(ctx context.Context, base, candidate string, set *golden.Set, o EvalOptions, f *review.File) (*review.Rescored, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	a, err := e.openOwn(base)
	if err != nil {
		return nil, err
	}
	b, err := e.openOwn(candidate)
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	out, err := e.rescore(ctx, a, b, set, o, f)
	return out, errors.Join(err, a.close(), b.close())
}

func (e *Engine) rescore(ctx context.Context, a, b *reader, set *golden.Set, o EvalOptions, f *review.File) (*review.Rescored, error) {
	if a.manifest.Corpus.Digest != b.manifest.Corpus.Digest {
		return nil, badInput("builds %s and %s hold different documents: corrections can be scored only on the same ones; compare them with --frozen-corpus first", a.id, b.id)
	}
	docs, err := b.collection(b.manifest.Corpus.Name)
	if err != nil {
		return nil, err
	}
	if o.Rule == "" {
		o.Rule = defaultRule(a, b)
	}
	var runs []*evalkit.Run
	for _, r := range []*reader{a, b} {
		run, _, err := e.ask(ctx, r.view(), set, o)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return review.Rescore(set, docs, runs, evalkit.Options{
		Rule: o.Rule, View: o.View, Cutoffs: o.Cutoffs, Measures: o.Measures, Split: o.Split, Seed: o.Seed, Workers: o.Workers,
	}, f)
}
