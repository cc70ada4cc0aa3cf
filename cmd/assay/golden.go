package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/internal/disk"
)

type goldenCmd struct {
	Lint   goldenLintCmd   `cmd:"" help:"Check the golden set and the policy against the documents."`
	Freeze goldenFreezeCmd `cmd:"" help:"Pin the questions and the text of their gold in a lock file."`
	Stats  goldenStatsCmd  `cmd:"" help:"Count questions by slice and side; word overlap; agreement."`
	Split  goldenSplitCmd  `cmd:"" help:"Divide the questions into dev and holdout."`
	Review goldenReviewCmd `cmd:"" help:"Decide on the questions that changed between two builds, or on answers."`
	Import goldenImportCmd `cmd:"" help:"Make draft questions from ragas JSONL."`
	Export goldenExportCmd `cmd:"" help:"Write the set in another format."`
}

// goldenFlags are what every golden command needs: the set and the documents it is about.
type goldenFlags struct {
	Golden string `arg:"" optional:"" help:"Golden set (default: the one the settings name)."`
	corpusFlags
}

func (f *goldenFlags) load(a *app) (*golden.Set, *corpus.Collection, engine.Settings, error) {
	s, source, err := f.configured(a)
	if err != nil {
		return nil, nil, s, err
	}
	set, err := a.goldenSet(f.Golden, s)
	if err != nil {
		return nil, nil, s, err
	}
	docs, err := source.Load(a.ctx)
	return set, docs, s, err
}

type goldenLintCmd struct {
	goldenFlags
	K     int  `short:"k" default:"5" help:"Cutoff that questions must be winnable at."`
	Write bool `help:"Write the proposed places of gold that moved into the file."`
}

func (c *goldenLintCmd) Run(a *app) error {
	if c.K < 1 {
		return usageError("-k is %d: it must be at least 1", c.K)
	}
	set, docs, s, err := c.load(a)
	if err != nil {
		return err
	}
	lock, err := golden.ReadLock(golden.LockPath(set.Path))
	if errors.Is(err, os.ErrNotExist) {
		lock, err = nil, nil // never frozen
	} else if err != nil {
		return usageError("%v", err)
	}
	report := golden.Preflight(set, docs, golden.PreflightOptions{K: c.K, Lock: lock, AllowInCorpus: s.Corpus.AllowGolden})
	n := 0
	for _, q := range set.Select(golden.Dev) {
		if q.Answerable {
			n++
		}
	}
	chances := policyOf(s).Lint(n, 0)
	labelled := slices.ContainsFunc(docs.Documents, func(d corpus.Document) bool { return len(d.ACL) > 0 })
	if labelled && policyOf(s).Statistics == verdict.StatisticsPerLabel && s.Lexical.Statistics != verdict.StatisticsPerLabel {
		chances.Warnings = append(chances.Warnings, "the policy demands word statistics per label, and documents carry labels: set lexical.statistics to per-label, or every build is rejected")
	}
	moved, err := c.remap(a, set, report, docs, s)
	if err != nil {
		return err
	}
	errs := report.Errors()
	if moved.Written {
		errs = moved.Remaining
	}
	if a.cli.JSON {
		err = a.printJSON(struct {
			Schema string `json:"schema"`
			*golden.Report
			remapped
			Policy *verdict.LintReport `json:"policy"`
		}{"assay.lint/v1", report, moved, chances})
	} else {
		for _, f := range report.Findings {
			a.printf("%s\n", shown(f.String()))
		}
		moved.print(a)
		if report.OverlapOK {
			a.printf("mean word overlap of question and gold: %.2f\n", report.Overlap)
		}
		a.printf("%s\n", chances)
		a.printf("%s: %d errors, %d warnings\n", relative(set.Path), report.Errors(), report.Warnings())
		moved.next(a, relative(set.Path))
	}
	if err == nil && errs > 0 {
		return &exitError{Code: exitUsage}
	}
	return err
}

// remapped is what became of the proposals for gold that moved.
type remapped struct {
	Diff      string         `json:"diff,omitempty"`      // of the golden file
	Left      []golden.Remap `json:"left,omitempty"`      // proposals that must be entered by hand
	Written   bool           `json:"written,omitempty"`   // the diff has been applied
	Remaining int            `json:"remaining,omitempty"` // errors of the set as written, its freeze aside
}

// remap puts the proposals of the report into a diff and, with --write, into the file.
func (c *goldenLintCmd) remap(a *app, set *golden.Set, report *golden.Report, docs *corpus.Collection, s engine.Settings) (remapped, error) {
	var m remapped
	if len(report.Remaps) == 0 {
		return m, nil
	}
	data, err := os.ReadFile(set.Path)
	if err != nil {
		return m, err
	}
	text, diff, left := golden.ApplyRemaps(filepath.ToSlash(relative(set.Path)), data, report.Remaps)
	m.Diff, m.Left = diff, left
	if !c.Write || diff == "" {
		return m, nil
	}
	changed, err := golden.Parse(set.Path, text)
	if err != nil {
		return m, err
	}
	var fsys *disk.FS
	if err := fsys.WriteFile(set.Path, text); err != nil {
		return m, err
	}
	m.Written = true
	m.Remaining = golden.Preflight(changed, docs, golden.PreflightOptions{K: c.K, AllowInCorpus: s.Corpus.AllowGolden}).Errors()
	return m, nil
}

func (m remapped) print(a *app) {
	if m.Diff != "" {
		a.printf("%s", shown(m.Diff))
	}
	for _, r := range m.Left {
		a.printf("by hand: %s\n", shown(r.String()))
	}
}

// next says what to do about the proposals.
func (m remapped) next(a *app, path string) {
	switch {
	case m.Written:
		a.printf("wrote the proposals into %s, %d errors remain: read the diff, raise the set's version, then run `%s`\n",
			path, m.Remaining, a.command("golden", "freeze"))
	case m.Diff != "":
		a.printf("next: if the proposals above are right, `%s`\n", a.command("golden", "lint", "--write"))
	}
}

type goldenFreezeCmd struct {
	goldenFlags
}

func (c *goldenFreezeCmd) Run(a *app) error {
	set, docs, s, err := c.load(a)
	if err != nil {
		return err
	}
	report := golden.Preflight(set, docs, golden.PreflightOptions{AllowInCorpus: s.Corpus.AllowGolden})
	if err := report.Err(); err != nil {
		return usageError("the set cannot be frozen: %v", err)
	}
	lock, err := golden.Freeze(set, docs)
	if err != nil {
		return usageError("%v", err)
	}
	path := golden.LockPath(set.Path)
	if old, err := golden.ReadLock(path); err == nil && old.Version == lock.Version && old.Digest != lock.Digest {
		return usageError("%s: version %d is frozen with other questions: raise the set's version, then freeze it", relative(path), old.Version)
	}
	if err := lock.Write(nil, path); err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema  string `json:"schema"`
			Path    string `json:"path"`
			Version int    `json:"version"`
			Digest  string `json:"digest"`
		}{"assay.freeze/v1", path, lock.Version, lock.Digest})
	}
	a.printf("froze %s v%d (%s, %d questions) in %s\n", set.Name, set.Version, lock.Digest[:12], len(lock.Questions), relative(path))
	return nil
}

type goldenStatsCmd struct {
	goldenFlags
}

func (c *goldenStatsCmd) Run(a *app) error {
	set, docs, _, err := c.load(a)
	if err != nil {
		return err
	}
	st := golden.Describe(set, docs)
	ledger, err := golden.ReadLedger(golden.LedgerPath(set.Path))
	if err != nil {
		return usageError("%v", err)
	}
	wear := ledger.Wear(set)
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema string `json:"schema"`
			*golden.Stats
			Wear golden.Wear `json:"wear"`
		}{"assay.golden-stats/v1", st, wear})
	}
	a.printf("%s v%d, digest %s\n", st.Name, st.Version, st.Digest[:12])
	a.printf("%d questions: %d accepted, %d draft, %d retired\n", st.Questions, st.Accepted, st.Draft, st.Retired)
	a.printf("%d answerable, %d unanswerable, %d critical, %d with facts, %d with quotes, %d need several sections\n",
		st.Answerable, st.Unanswerable, st.Critical, st.WithFacts, st.WithQuote, st.SeveralAll)
	for _, s := range st.Splits {
		a.printf("%s: %d\n", s.Name, s.N)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "slice\tn\tunanswerable\tholdout")
	for _, s := range st.Slices {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", s.Name, s.N, s.Unanswerable, s.Holdout)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if st.OverlapOK {
		a.printf("mean word overlap of question and gold section: %.2f\n", st.Overlap)
	}
	if st.QuoteOverlapOK {
		a.printf("mean word overlap of question and gold quote: %.2f\n", st.QuoteOverlap)
	}
	for _, g := range st.Agreement {
		a.printf("agreement: %+v\n", g)
	}
	a.printf("holdout: %d looks", wear.Looks)
	if wear.Spent {
		a.printf(", spent: %s", wear.Reason)
	}
	a.printf("\n")
	return nil
}

type goldenSplitCmd struct {
	Golden  string  `arg:"" optional:"" help:"Golden set (default: the one the settings name)."`
	Holdout float64 `default:"0.3" help:"Share of the questions on the holdout side."`
	Seed    uint64  `default:"1" help:"Seed of the draw."`
	Out     string  `short:"o" help:"File to write (.yaml, .json or .jsonl); it must not be there yet." required:"" placeholder:"FILE"`
}

func (c *goldenSplitCmd) Run(a *app) error {
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return err
	}
	out, err := golden.Split(set, golden.SplitOptions{Holdout: c.Holdout, Seed: c.Seed})
	if err != nil {
		return usageError("%v", err)
	}
	if err := writeGolden(out, c.Out); err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema  string `json:"schema"`
			Path    string `json:"path"`
			Dev     int    `json:"dev"`
			Holdout int    `json:"holdout"`
		}{"assay.golden-split/v1", c.Out, len(out.Select(golden.Dev)), len(out.Select(golden.Holdout))})
	}
	a.printf("wrote %s: %d dev, %d holdout\n", c.Out, len(out.Select(golden.Dev)), len(out.Select(golden.Holdout)))
	return nil
}

// writeGolden writes a set to a new file, in the format of its ending.
func writeGolden(set *golden.Set, path string) error {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	if format == "yml" {
		format = "yaml"
	}
	data, err := set.Encode(format)
	if err != nil {
		return usageError("%s: %v", path, err)
	}
	if err := writeNew(path, data); errors.Is(err, os.ErrExist) {
		return usageError("%s is already there: name another file", path)
	} else {
		return err
	}
}
