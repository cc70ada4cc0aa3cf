package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/endpoint"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// endpointCmd stands the gate in front of a search service that assay does not run.
type endpointCmd struct {
	Template string `arg:"" help:"Request template: URL, body and where in the answer the hits are."`
	Corpus   string `help:"Folder of the documents the golden set is about (default: the settings')." placeholder:"DIR"`
	evalFlags
	Live      string `help:"Run file of the system that serves now, to compare with." placeholder:"FILE"`
	Out       string `help:"Keep the run in this file, for a later --live." placeholder:"FILE"`
	Questions bool   `help:"Print every question."`
}

func (c *endpointCmd) Run(a *app) error {
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	if c.Corpus != "" {
		s.Corpus.Path = c.Corpus
	}
	o, err := c.options(s)
	if err != nil {
		return err
	}
	spec, err := endpoint.Load(c.Template)
	if err != nil {
		return fileError(err)
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return err
	}
	docs, err := s.Source().Load(a.ctx)
	if err != nil {
		return err
	}
	if report := golden.Preflight(set, docs, golden.PreflightOptions{AllowInCorpus: o.AllowInCorpus}); report.Err() != nil {
		return &exitError{Code: exitInvalid, Message: "the golden set does not fit the documents: " + report.Err().Error()}
	}
	var live *evalkit.Run
	if c.Live != "" {
		f, err := os.Open(c.Live)
		if err != nil {
			return err
		}
		live, err = evalkit.ReadRun(c.Live, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return fileError(err)
		}
	}
	var progress func(done, total int)
	if p := a.progress(); p != nil {
		progress = func(done, total int) { p(engine.Progress{Stage: "evaluate", Done: done, Total: total}) }
	}
	res, err := endpoint.Ask(a.ctx, spec, set, endpoint.Options{
		Split: o.Split, Documents: docs, Getenv: os.Getenv,
		Progress: progress,
	})
	if err != nil {
		return usageError("%s: %v", c.Template, err)
	}
	if c.Out != "" {
		if err := writeRun(c.Out, res.Run); err != nil {
			return err
		}
	}
	evaluate := func(run *evalkit.Run) (*evalkit.Evaluation, error) {
		rule := o.Rule
		if rule == "" {
			rule = evalkit.RuleSection
		}
		return evalkit.Evaluate(set, docs, run, evalkit.Options{
			Rule: rule, View: o.View, Cutoffs: o.Cutoffs, Measures: o.Measures, Split: o.Split, Seed: o.Seed,
		})
	}
	ev, err := evaluate(res.Run)
	if err != nil {
		return usageError("%v", err)
	}
	in := verdict.Input{Policy: policyOf(s), Candidate: ev}
	if live != nil {
		if in.Live, err = evaluate(live); err != nil {
			return usageError("%s: %v", c.Live, err)
		}
	}
	v := verdict.Decide(in)
	for _, r := range res.Run.Results {
		if r.Err != "" {
			a.warnf("warning: question %s: %s\n", r.Question, shown(r.Err))
		}
	}
	if a.cli.JSON {
		err = a.printJSON(evalJSON{ev, res.Run.Tag, v})
	} else {
		a.printf("asked %s, median answer %v, slowest twentieth %v\n", res.Run.Tag, res.Times.P50, res.Times.P95)
		a.printEvaluation(ev, c.Questions, len(c.Measure) > 0)
		a.printVerdict(v)
	}
	return errors.Join(err, verdictExit(v))
}

// writeRun keeps a run; a file that is there is replaced at once or not at all.
func writeRun(path string, run *evalkit.Run) error {
	return replaceFile(path, func(f *os.File) error { return evalkit.WriteRun(f, run) })
}

// replaceFile puts a file in the place of another at once or not at all. It is for its owner's eyes.
func replaceFile(path string, write func(f *os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".assay-*.tmp")
	if err != nil {
		return err
	}
	err = write(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if rerr := os.Remove(f.Name()); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
