package engine

import (
	"context"
	"errors"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/sweep"
	"github.com/seed792a4543/assay/index"
)

// ConfirmSweep compares one variant of a sweep with the baseline on the holdout, which the sweep
// has not seen, and writes the look to the ledgers of the store and of the golden set. Totals alone
// are revealed. The variant's build stays in the store. Confirm the variant that the sweep
// recommends, once: every further look makes the holdout a little more of a dev set.
func (e *Engine) ConfirmSweep(ctx context.Context, source corpus.Source, set *golden.Set, baseline, variant Variant, o SweepOptions, who string) (*sweep.Confirmation, error) {
	o = o.withDefaults()
	both := []Variant{baseline, variant}
	if err := o.validate(both); err != nil {
		return nil, err
	}
	if baseline.Tune || variant.Tune {
		return nil, badInput("a weight that is still to be tuned cannot be confirmed: take the variant as the sweep returns it")
	}
	if len(set.Select(golden.Holdout)) == 0 {
		return nil, badInput("golden set %s has no holdout questions: split some off with `assay golden split` before tuning", set.Name)
	}
	docs, err := source.Load(ctx)
	if err != nil {
		return nil, err
	}
	o.Rule = sweepRule(o, both)
	if o.Measures, err = sweep.MeasuresFor(o.Primary, nil); err != nil {
		return nil, badInput("%v", err)
	}
	if _, err := preflight(set, docs, o.EvalOptions); err != nil {
		return nil, err
	}
	s := &sweeper{
		e: e, report: func(Progress) {}, o: o, variants: both, docs: docs, digest: docs.Digest(),
		set: &golden.Set{Schema: set.Schema, Name: set.Name, Version: set.Version}, chats: map[string]*sweepChat{},
	}
	for _, q := range set.Select(golden.Holdout) {
		s.set.Questions = append(s.set.Questions, *q)
	}
	s.o.Split = golden.Holdout
	var rows [2]sweep.Row
	for i := range s.variants {
		s.variants[i].Settings = s.variants[i].Settings.WithDefaults()
		if rows[i], err = s.confirmed(ctx, s.variants[i]); err != nil {
			return nil, err
		}
	}
	c, err := sweep.Pair(sweep.Questions(s.set, golden.Holdout), rows[0], rows[1], sweep.Options{Primary: o.Primary, Seed: o.Seed})
	if err != nil {
		return nil, badInput("%v", err)
	}
	c.Split = golden.Holdout
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return nil, err
	}
	err = e.recordLook(refOf(set), set.Path, rows[1].Build, "", who, false)
	if err == nil {
		c.Looks, c.Spent, err = e.looks(set)
	}
	if err = errors.Join(err, unlock()); err != nil {
		return nil, err
	}
	return c, nil
}

// confirmed builds one variant for good and asks it the questions of s.
func (s *sweeper) confirmed(ctx context.Context, v Variant) (sweep.Row, error) {
	settings := s.buildable(v)
	e := s.e.with(settings)
	b, err := e.Build(ctx, loaded{s.docs}, settings)
	if err != nil {
		return sweep.Row{}, err
	}
	r, err := e.openReader(b.ID, e.o)
	if err != nil {
		return sweep.Row{}, err
	}
	ev, _, err := s.evaluate(ctx, r, v)
	if err = errors.Join(err, r.close()); err != nil {
		return sweep.Row{}, err
	}
	row, err := sweep.Reduce(ev, s.o.Primary, nil)
	row.Name, row.Build = v.Name, b.ID
	return row, err
}

// looks counts the looks at the set's holdout: by the ledger beside it or, for a set that was not
// read from a file, by the store's.
func (e *Engine) looks(set *golden.Set) (n int, spent bool, err error) {
	if set.Path != "" {
		l, err := golden.ReadLedger(golden.LedgerPath(set.Path))
		if err != nil && !index.IsMissing(err) {
			return 0, false, err
		}
		for _, look := range l.Looks {
			spent = spent || look.Revealed == golden.RevealedQuestions
		}
		return len(l.Looks), spent, nil
	}
	entries, err := e.ledger()
	for _, entry := range entries {
		if entry.Action == "holdout" {
			n++
			spent = spent || entry.Revealed == golden.RevealedQuestions
		}
	}
	return n, spent, err
}

// loaded is a source that was read before.
type loaded struct{ docs *corpus.Collection }

func (l loaded) Load(context.Context) (*corpus.Collection, error) { return l.docs, nil }
