package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

type compareCmd struct {
	A string `arg:"" help:"Base: a build, a record's folder, or with --qrels a TREC run."`
	B string `arg:"" help:"Candidate, of the same kind."`
	evalFlags
	reportFlags
	Qrels        string   `help:"Judgments; A and B are then TREC run files." placeholder:"FILE"`
	Primary      string   `help:"Measure that decides (default: the policy's)." placeholder:"NAME"`
	Margin       *float64 `help:"Largest acceptable loss." placeholder:"SHARE"`
	MinEffect    *float64 `help:"Smallest loss that rejects." placeholder:"SHARE"`
	Alpha        *float64 `help:"Of the exact test." placeholder:"P"`
	FrozenCorpus bool     `help:"Replay B's settings on A's documents, where the documents differ."`
	Flips        bool     `help:"Show both ranked lists of every question that changed." default:"true" negatable:""`
}

func (c *compareCmd) Run(a *app) error {
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	policy := *policyOf(s)
	if c.Primary != "" {
		policy.Primary = c.Primary
	}
	if c.Margin != nil {
		policy.Margin = c.Margin
	}
	if c.MinEffect != nil {
		policy.MinEffect = c.MinEffect
	}
	if c.Alpha != nil {
		if !(*c.Alpha > 0 && *c.Alpha < 1) { // also not a number
			return usageError("--alpha is %v: it must lie between 0 and 1; 0.05 is usual", *c.Alpha)
		}
		policy.Alpha = *c.Alpha
	}
	var cmp *verdict.Comparison
	switch {
	case c.Qrels != "":
		// Floors and guardrails are about builds; two run files are compared by the primary.
		cmp, err = compareRuns(c.Qrels, c.A, c.B, &verdict.Policy{
			Primary: policy.Primary, Margin: policy.Margin, MinEffect: policy.MinEffect, Alpha: policy.Alpha, Seed: policy.Seed,
		})
	case isRecord(c.A) && isRecord(c.B):
		cmp, err = c.records(a, s, &policy)
	default:
		cmp, err = c.builds(a, s, &policy)
	}
	if err != nil {
		return err
	}
	if err := c.write(cmp.Verdict, cmp, nil, nil); err != nil {
		return err
	}
	if a.cli.JSON {
		if err := a.printJSON(cmp); err != nil {
			return err
		}
		return verdictExit(cmp.Verdict)
	}
	a.printf("%s", shown(cmp.Table()))
	if c.Flips && len(cmp.Flips) > 0 {
		a.printf("\n%s", shown(cmp.FlipText()))
	}
	return verdictExit(cmp.Verdict)
}

func isRecord(path string) bool {
	_, err := os.Stat(filepath.Join(path, evalkit.RecordFile))
	return err == nil
}

func (c *compareCmd) records(a *app, s engine.Settings, policy *verdict.Policy) (*verdict.Comparison, error) {
	left, err := evalkit.ReadRecord(c.A)
	if err != nil {
		return nil, err
	}
	right, err := evalkit.ReadRecord(c.B)
	if err != nil {
		return nil, err
	}
	var set *golden.Set
	if c.Golden != "" || s.Golden != "" {
		if set, err = a.goldenSet(c.Golden, s); err != nil {
			return nil, err
		}
	}
	return engine.CompareRecords(left, right, policy, set), nil
}

func (c *compareCmd) builds(a *app, s engine.Settings, policy *verdict.Policy) (*verdict.Comparison, error) {
	o, err := c.options(s)
	if err != nil {
		return nil, err
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return nil, err
	}
	e, err := a.existing()
	if err != nil {
		return nil, err
	}
	cmp, err := e.Compare(a.ctx, c.A, c.B, set, policy, o, c.FrozenCorpus)
	if err == nil {
		err = e.RecordLook(a.ctx, set, c.Split, cmp.B, who(""), true)
	}
	return cmp, errors.Join(err, e.Close())
}
