package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
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

// AfterApply refuses what could not be written before any work is done.
func (f *reportFlags) AfterApply() error {
	at := map[string]string{}
	for _, format := range sortedKeys(f.Report) {
		path := f.Report[format]
		if !slices.Contains(report.Formats(), format) {
			return fmt.Errorf("--report %s=%s: no such format: use %s", format, path, strings.Join(report.Formats(), ", "))
		}
		if other, twice := at[filepath.Clean(path)]; twice {
			return fmt.Errorf("--report: %s and %s would both be written to %s", other, format, path)
		}
		at[filepath.Clean(path)] = format
		if err := writable(path); err != nil {
			return fmt.Errorf("--report %s=%s: %w", format, path, err)
		}
	}
	return nil
}

// writable returns an error if a report cannot be written to path, or if what stands there is no
// report: a document or a golden set is not overwritten by a slip.
func writable(path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no folder: make it first", filepath.Dir(path))
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(bytes.TrimSpace(data)) == 0, bytes.Contains(data, []byte(corpus.ReportMark)), bytes.Contains(data, []byte("<testsuites>")), bytes.Contains(data, []byte("sarif")):
		return nil
	}
	return errors.New("that file is there and is no report: name another, or remove it")
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
