package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/report"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// reportFlags write the outcome for other programs, besides what is printed.
type reportFlags struct {
	Report map[string]string `help:"Write a report too: junit, sarif, markdown or text, and the file." placeholder:"FORMAT=FILE"`
}

func (f *reportFlags) write(v *verdict.Verdict, c *verdict.Comparison, ev *evalkit.Evaluation, set *golden.Set) error {
	for _, format := range sortedKeys(f.Report) {
		path := f.Report[format]
		d := report.Data{Verdict: v, Comparison: c, Evaluation: ev, Golden: set, Version: engine.Version()}
		if set != nil && set.Path != "" {
			d.GoldenPath = filepath.ToSlash(relative(set.Path))
		}
		out, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := errors.Join(report.Write(out, format, d), out.Close()); err != nil {
			return usageError("report %s: %v", path, err)
		}
	}
	return nil
}

// validationReport writes the reports of a validation, with the flips against the live build
// of that time.
func (f *reportFlags) validation(val *engine.Validation, s engine.Settings, set *golden.Set) error {
	if len(f.Report) == 0 {
		return nil
	}
	var c *verdict.Comparison
	if val.LiveRecord != nil {
		c = engine.CompareRecords(val.LiveRecord, val.Record, policyOf(s), set)
		c.Verdict = val.Verdict
	}
	return f.write(val.Verdict, c, val.Candidate.Evaluation, set)
}
