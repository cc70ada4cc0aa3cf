package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// Compare asks the golden questions of two builds and puts the answers side by side, with the
// verdict that candidate would get if base were live. Nothing is written and nobody is promoted.
//
// With frozenCorpus, where the documents of the two differ, candidate's settings are replayed
// on base's documents first, so that what remains is the effect of the settings alone.
func (e *Engine) Compare(ctx context.Context, base, candidate string, set *golden.Set, policy *verdict.Policy, o EvalOptions, frozenCorpus bool) (*verdict.Comparison, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if policy == nil {
		policy = DefaultPolicy()
	}
	if err := policy.Validate(); err != nil {
		return nil, badInput("%v", err)
	}
	with := ValidateOptions{EvalOptions: o.withDefaults()}
	if err := with.applyPolicy(policy); err != nil {
		return nil, err
	}
	a, err := e.openOwn(base)
	if err != nil {
		return nil, err
	}
	b, err := e.openOwn(candidate)
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	if frozenCorpus && a.manifest.Corpus.Digest != b.manifest.Corpus.Digest {
		if b, err = e.replay(ctx, a, b); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	c, err := e.compareReaders(ctx, a, b, set, policy, with.EvalOptions)
	return c, errors.Join(err, a.close(), b.close())
}

// replay builds base's documents with candidate's settings and returns that build opened;
// candidate is closed.
func (e *Engine) replay(ctx context.Context, base, candidate *reader) (*reader, error) {
	docs, err := base.collection(base.manifest.Corpus.Name)
	settings := candidate.settings
	if err = errors.Join(err, candidate.close()); err != nil {
		return nil, err
	}
	b, err := e.Build(ctx, fixed{docs}, settings)
	if err != nil {
		return nil, fmt.Errorf("replay on the frozen corpus: %w", err)
	}
	return e.openReader(b.ID, e.o)
}

// fixed is a source of documents that have been read already.
type fixed struct{ docs *corpus.Collection }

func (f fixed) Load(context.Context) (*corpus.Collection, error) { return f.docs, nil }

func (e *Engine) compareReaders(ctx context.Context, a, b *reader, set *golden.Set, policy *verdict.Policy, o EvalOptions) (*verdict.Comparison, error) {
	if o.Rule == "" {
		o.Rule = defaultRule(a, b)
	}
	other := o
	other.otherCorpus = true
	left, err := e.evaluate(ctx, a, a.view(), set, other)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", a.id, err)
	}
	right, err := e.evaluate(ctx, b, b.view(), set, o)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", b.id, err)
	}
	return verdict.Compare(
		verdict.Side{Name: a.id, Evaluation: left.Evaluation, Settings: a.recordedSettings(), Run: left.Run},
		verdict.Side{Name: b.id, Evaluation: right.Evaluation, Settings: b.recordedSettings(), Run: right.Run},
		policy, verdict.CompareOptions{
			Golden: set, CorpusCause: corpusCause(&compared{candidate: b, live: a}), Measures: comparedMeasures(policy.Primary, o),
		},
	), nil
}

// comparedMeasures are the rows of a comparison: those asked for, else the primary and the usual
// families. Every further row costs all others some of their power.
func comparedMeasures(primary string, o EvalOptions) []string {
	if len(o.Measures) > 0 {
		return nil // all that were evaluated
	}
	out := []string{primary}
	for _, family := range []string{"hit", "recall", "rr", "ndcg"} {
		for _, k := range o.Cutoffs {
			if name := fmt.Sprintf("%s@%d", family, k); name != primary {
				out = append(out, name)
			}
		}
	}
	return out
}

// CompareRecords puts two stored runs side by side; see verdict.Compare.
func CompareRecords(base, candidate *evalkit.Record, policy *verdict.Policy, set *golden.Set) *verdict.Comparison {
	if policy == nil {
		policy = DefaultPolicy()
	}
	side := func(r *evalkit.Record) verdict.Side {
		return verdict.Side{Evaluation: r.Evaluation, Settings: r.Settings, Run: RecordRun(r)}
	}
	cause := ""
	if base.Evaluation.Corpus != candidate.Evaluation.Corpus {
		cause = "the two runs searched different documents"
	}
	return verdict.Compare(side(base), side(candidate), policy, verdict.CompareOptions{Golden: set, CorpusCause: cause})
}

// RecordRun rebuilds the ranked lists of a record.
func RecordRun(r *evalkit.Record) *evalkit.Run {
	run := &evalkit.Run{Tag: r.Run, Build: r.Evaluation.Build}
	for _, q := range r.Questions {
		run.Results = append(run.Results, evalkit.Result{Question: q.ID, Hits: q.Ranked, Err: q.Error})
	}
	return run
}
