package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
)

// evalFlags say how questions are asked and scored.
type evalFlags struct {
	Golden  string   `help:"Golden set (default: the one the settings name)." placeholder:"FILE"`
	Split   string   `default:"dev" help:"dev, holdout or all. Looks at the holdout are recorded."`
	Rule    string   `help:"section, span or facts (default: section for section chunks, else span)." placeholder:"RULE"`
	View    string   `help:"slots or sections." placeholder:"VIEW"`
	Cutoffs []string `short:"k" name:"cutoffs" help:"Cutoffs, such as 1,3,5." placeholder:"K,..."`
	Measure []string `short:"m" help:"Measures, such as hit@3,ndcg@5 (default: the usual ones)." placeholder:"NAME,..."`
	Mode    string   `help:"hybrid, vector or lexical (default: the build's)." placeholder:"MODE"`
	Seed    uint64   `help:"Seed of bootstrap and simulation." default:"1"`
}

func (f *evalFlags) options(s engine.Settings) (engine.EvalOptions, error) {
	o := engine.EvalOptions{AllowInCorpus: s.Corpus.AllowGolden, Split: f.Split, Rule: f.Rule, View: f.View, Measures: f.Measure, Mode: f.Mode, Seed: f.Seed}
	for _, c := range f.Cutoffs {
		k, err := strconv.Atoi(c)
		if err != nil || k < 1 {
			return o, usageError("cutoff %q: a cutoff is a whole number from 1", c)
		}
		o.Cutoffs = append(o.Cutoffs, k)
	}
	return o, o.Validate()
}

// load reads the settings, and with them the options and the golden set of the flags.
func (f *evalFlags) load(a *app) (s engine.Settings, o engine.EvalOptions, set *golden.Set, err error) {
	if s, _, err = a.settings(); err != nil {
		return s, o, nil, err
	}
	if o, err = f.options(s); err != nil {
		return s, o, nil, err
	}
	set, err = a.goldenSet(f.Golden, s)
	return s, o, set, err
}

// goldenSet loads the golden set of the flag, of the settings, or golden.yaml.
func (a *app) goldenSet(flag string, s engine.Settings) (*golden.Set, error) {
	path := flag
	if path == "" {
		path = s.Golden
	}
	if path == "" {
		path = "golden.yaml"
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, usageError("no golden set: name one with --golden FILE, or set golden in %s; `assay init` writes a first one", engine.ConfigName)
		}
	}
	set, err := golden.Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flag == "" && s.Golden != "":
		return nil, usageError("golden set %s, which the settings name, is not there: correct golden in %s, or write it; `assay init` in a new folder shows a first one", relative(path), a.configName())
	case errors.Is(err, fs.ErrNotExist):
		return nil, usageError("golden set %s is not there: name the file that holds your questions; `assay init` in a new folder shows a first one", relative(path))
	case err != nil:
		return nil, usageError("%v", err)
	}
	return set, nil
}

// configName is the settings file as the user knows it.
func (a *app) configName() string {
	if a.cli.Config != "" {
		return relative(a.cli.Config)
	}
	return engine.ConfigName
}

func policyOf(s engine.Settings) *verdict.Policy {
	if s.Policy != nil {
		return s.Policy
	}
	return engine.DefaultPolicy()
}

type evalCmd struct {
	Build string `arg:"" optional:"" help:"Build to evaluate (default: the newest)."`
	evalFlags
	reportFlags
	NoSelfTest bool `help:"Do not test whether the gate would notice a broken build."`
	Questions  bool `help:"Print every question, not only those that changed or failed."`
}

// evalJSON is an evaluation and the verdict on it.
type evalJSON struct {
	*evalkit.Evaluation
	Run     string           `json:"run"` // id of the stored record
	Verdict *verdict.Verdict `json:"verdict"`
}

func (c *evalCmd) Run(a *app) error {
	s, o, set, err := c.load(a)
	if err != nil {
		return err
	}
	e, err := a.existing()
	if err != nil {
		return err
	}
	var live, build string
	val, err := func() (*engine.Validation, error) {
		if live, err = e.LiveID(); err != nil && !errors.Is(err, index.ErrCorrupt) { // a damaged pointer names no build
			return nil, err
		}
		if build, err = e.DefaultBuild(c.Build); err != nil {
			return nil, err
		}
		return e.ValidateWith(a.ctx, build, set, policyOf(s), engine.ValidateOptions{EvalOptions: o, NoSelfTest: c.NoSelfTest, Who: who(""), Questions: c.Questions || a.cli.JSON || len(c.Report) > 0})
	}()
	if err = errors.Join(err, e.Close()); err != nil {
		if v := invalid(build, err); v != nil && a.cli.JSON {
			err = errors.Join(err, a.printJSON(evalJSON{Verdict: v}))
		}
		return err
	}
	if err := c.validation(val, s, set); err != nil {
		return err
	}
	if a.cli.JSON {
		if err := a.printJSON(evalJSON{val.Candidate.Evaluation, val.Run, val.Verdict}); err != nil {
			return err
		}
	} else {
		a.printEvaluation(val.Candidate.Evaluation, c.Questions, len(c.Measure) > 0)
		a.printWarnings(val)
		a.printVerdict(val.Verdict)
		if val.Verdict.Verdict == verdict.Accept && val.Build != live {
			a.printf("next: %s\n", a.command("promote", val.Build))
		}
	}
	return verdictExit(val.Verdict)
}

// invalid is the verdict on a build that err says could not be asked the questions; nil for any
// other error.
func invalid(build string, err error) *verdict.Verdict {
	if !errors.Is(err, engine.ErrInvalid) {
		return nil
	}
	return &verdict.Verdict{
		Schema: verdict.Schema, Verdict: verdict.Invalid, Build: build,
		Reasons: strings.Split(strings.TrimSpace(err.Error()), "\n"), Gained: []string{}, Lost: []string{},
	}
}

// verdictExit is the exit code of a verdict that has been printed.
func verdictExit(v *verdict.Verdict) error {
	if code := v.ExitCode(); code != exitOK {
		return &exitError{Code: code}
	}
	return nil
}

// Of more than maxWarnings warnings the first shownWarnings are printed.
const (
	maxWarnings   = 12
	shownWarnings = 10
)

func (a *app) printWarnings(val *engine.Validation) {
	all := val.Record.Warnings
	show := all
	if len(all) > maxWarnings {
		show = all[:shownWarnings]
	}
	for _, w := range show {
		// A finding about the set says itself that it is a warning, after its place.
		a.warnf("warning: %s\n", shown(strings.Replace(w, ": warning: ", ": ", 1)))
	}
	if n := len(all) - len(show); n > 0 {
		a.warnf("warning: and %d more: see them with `%s`\n", n, a.command("golden", "lint"))
	}
}

// printEvaluation prints the table; asked shows every measure of it, because the user named them.
func (a *app) printEvaluation(ev *evalkit.Evaluation, questions, asked bool) {
	a.printf("build %s, golden set %s v%d (%s), split %s, rule %s, view %s\n",
		ev.Build, ev.Golden.Name, ev.Golden.Version, ev.Golden.Digest[:12], ev.Split, ev.Rule, ev.View)
	a.printf("%d questions: %d answerable (%d without facts), %d unanswerable, %d without result, %d failed, %d leaks\n",
		ev.Counts.Questions, ev.Counts.Answerable, ev.Counts.NoFacts, ev.Counts.Unanswerable, ev.Counts.NoResult, ev.Counts.Error, ev.Counts.Leaks)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\tmean\t95 % interval\tn\trandom")
	names := tableMeasures(ev)
	if asked {
		names = sortedKeys(ev.Measures)
	}
	for _, name := range names {
		m := ev.Measures[name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", name, m.Mean, interval(m.CI), m.NScored, ev.Random[name])
	}
	w.Flush()
	if len(names) > 4 && !asked {
		names = pick(names, "hit@3", "recall@3", "rr@5", "ndcg@5")
	}
	if len(ev.Slices) > 0 && len(names) > 0 {
		fmt.Fprintf(w, "\nslice\tn\t%s\n", strings.Join(names, "\t"))
		for _, tag := range sortedKeys(ev.Slices) {
			sl := ev.Slices[tag]
			fmt.Fprintf(w, "%s\t%d", tag, sl.N)
			for _, name := range names {
				v := "n/a"
				if m := sl.Measures[name]; m != nil {
					v = m.Mean.String()
				}
				fmt.Fprintf(w, "\t%s", v)
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
	if questions {
		fmt.Fprintf(w, "\nquestion\tstatus\tfirst rank\t%s\n", strings.Join(names, "\t"))
		for _, q := range ev.Questions {
			status := string(q.Status)
			if q.Descendant {
				status += ", matched via descendant"
			}
			fmt.Fprintf(w, "%s\t%s\t%d", q.ID, status, q.FirstRank)
			for _, name := range names {
				fmt.Fprintf(w, "\t%s", q.Measures[name])
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
}

// tableMeasures are the measures shown in text, in the order of their families and cutoffs; the
// JSON output has all of them.
func tableMeasures(ev *evalkit.Evaluation) []string {
	var out []string
	for _, family := range []string{"hit", "p", "recall", "rr", "ndcg"} {
		for _, k := range ev.Cutoffs {
			name := fmt.Sprintf("%s@%d", family, k)
			if ev.Measures[name] != nil {
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 {
		return sortedKeys(ev.Measures)
	}
	return out
}

// pick returns those of want that names holds, or names if none is there.
func pick(names []string, want ...string) []string {
	var out []string
	for _, w := range want {
		for _, n := range names {
			if n == w {
				out = append(out, n)
			}
		}
	}
	if len(out) == 0 {
		return names
	}
	return out
}

func interval(ci *[2]float64) string {
	if ci == nil {
		return "-"
	}
	return fmt.Sprintf("[%.3f, %.3f]", ci[0], ci[1])
}

func (a *app) printVerdict(v *verdict.Verdict) {
	a.printf("\nverdict on build %s: %s\n", v.Build, strings.ToUpper(string(v.Verdict)))
	for _, r := range v.Reasons {
		a.printf("  %s\n", shown(r))
	}
	if len(v.Gained)+len(v.Lost) > 0 {
		a.printf("  gained: %s; lost: %s\n", orDash(v.Gained), orDash(v.Lost))
	}
	a.printf("  self-test: %s\n", v.SelfTest.Summary())
	for _, w := range v.Warnings {
		a.printf("  note: %s\n", shown(w))
	}
}

func orDash(ids []string) string {
	if len(ids) == 0 {
		return "-"
	}
	return strings.Join(ids, ", ")
}

type promoteCmd struct {
	Build    string `arg:"" optional:"" help:"Build to make live (default: the newest)."`
	Golden   string `help:"Golden set that the verdict must be about (default: the one the settings name)." placeholder:"FILE"`
	Override bool   `help:"Make it live without an acceptance; needs --why."`
	Who      string `help:"Who decides (default: the user name)." placeholder:"NAME"`
	Why      string `help:"The reason, kept in the ledger." placeholder:"TEXT"`
	Ref      bool   `name:"reference" help:"Freeze the build as the reference in place of making it live; needs --why."`
}

type promoteJSON struct {
	Schema  string           `json:"schema"`
	Live    string           `json:"live"`
	Changed bool             `json:"changed"`
	Verdict *verdict.Verdict `json:"verdict"` // null for an override of a build without one
}

func (c *promoteCmd) Run(a *app) error {
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	e, err := a.existing()
	if err != nil {
		return err
	}
	err = c.run(a, e, s)
	return errors.Join(err, e.Close())
}

func (c *promoteCmd) run(a *app, e *engine.Engine, s engine.Settings) error {
	build, err := e.DefaultBuild(c.Build)
	if err != nil {
		return err
	}
	reason := engine.Reason{Who: who(c.Who), Why: c.Why}
	if c.Ref {
		id, err := e.SetReference(a.ctx, build, reason)
		if err != nil {
			return err
		}
		if a.cli.JSON {
			return a.printJSON(struct {
				Schema    string `json:"schema"`
				Reference string `json:"reference"`
			}{"assay.reference/v1", id})
		}
		a.printf("reference is now build %s\n", id)
		return nil
	}
	o := engine.PromoteOptions{Override: c.Override, Reason: reason}
	v, rec, err := e.Verdict(build, "")
	if err != nil && !(c.Override && errors.Is(err, engine.ErrNotAccepted)) {
		return err
	}
	if !c.Override {
		o.PolicyDigest = policyOf(s).Digest()
		if set, err := a.goldenSet(c.Golden, s); err == nil {
			o.GoldenDigest = set.Digest()
		} else if c.Golden != "" || s.Golden != "" {
			return err
		}
	}
	changed, err := e.PromoteWith(a.ctx, build, v, o)
	if err != nil {
		if !errors.Is(err, engine.ErrNotAccepted) || v == nil || v.Verdict == verdict.Accept {
			return err
		}
		live, lerr := e.LiveID()
		if lerr != nil {
			return lerr
		}
		if a.cli.JSON {
			if err := a.printJSON(promoteJSON{"assay.promote/v1", live, false, v}); err != nil {
				return err
			}
		} else {
			a.printVerdict(v)
			if live == "" {
				a.printf("not promoted: no build is live\n")
			} else {
				a.printf("not promoted: build %s stays live\n", live)
			}
		}
		return verdictExit(v)
	}
	id, err := e.Resolve(build)
	if err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(promoteJSON{"assay.promote/v1", id, changed, v})
	}
	switch {
	case !changed:
		a.printf("build %s is already live: nothing to do\n", id)
	case c.Override:
		a.printf("build %s is live by override of %s: %s\n", id, reason.Who, oneLine(reason.Why, 500))
	default:
		a.printf("build %s is live (run %s)\n", id, rec.Run)
	}
	a.printf("next: %s\n", a.command("search", "your question"))
	return nil
}

type upCmd struct {
	corpusFlags
	evalFlags
	reportFlags
}

type upJSON struct {
	Schema   string           `json:"schema"`
	Build    string           `json:"build"`
	Existed  bool             `json:"existed"`
	Live     string           `json:"live"`
	Promoted bool             `json:"promoted"`
	Verdict  *verdict.Verdict `json:"verdict"`
}

func (c *upCmd) Run(a *app) error {
	s, source, err := c.configured(a)
	if err != nil {
		return err
	}
	o, err := c.options(s)
	if err != nil {
		return err
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return err
	}
	e, err := a.openWithoutLive(s)
	if err != nil {
		return err
	}
	return errors.Join(c.run(a, e, s, source, set, o), e.Close())
}

func (c *upCmd) run(a *app, e *engine.Engine, s engine.Settings, source corpus.Source, set *golden.Set, o engine.EvalOptions) error {
	b, err := e.Build(a.ctx, source, s)
	if err != nil {
		return err
	}
	if !a.cli.JSON {
		a.printBuild(b)
	}
	val, err := e.ValidateWith(a.ctx, b.ID, set, policyOf(s), engine.ValidateOptions{EvalOptions: o, Who: who(""), Questions: len(c.Report) > 0})
	if err != nil {
		if v := invalid(b.ID, err); v != nil && a.cli.JSON {
			live, lerr := e.LiveID()
			err = errors.Join(err, lerr, a.printJSON(upJSON{"assay.up/v1", b.ID, b.Existed, live, false, v}))
		}
		return err
	}
	if err := c.validation(val, s, set); err != nil {
		return err
	}
	if !a.cli.JSON {
		a.printEvaluation(val.Candidate.Evaluation, false, len(c.Measure) > 0)
		a.printWarnings(val)
		a.printVerdict(val.Verdict)
	}
	promoted := false
	if val.Verdict.Verdict == verdict.Accept {
		promoted, err = e.PromoteWith(a.ctx, b.ID, val.Verdict, engine.PromoteOptions{Reason: engine.Reason{Who: who("")}})
		if err != nil {
			return err
		}
	}
	live, err := e.LiveID()
	if err != nil {
		return err
	}
	if a.cli.JSON {
		if err := a.printJSON(upJSON{"assay.up/v1", b.ID, b.Existed, live, promoted, val.Verdict}); err != nil {
			return err
		}
		return verdictExit(val.Verdict)
	}
	switch {
	case promoted:
		a.printf("build %s is live\n", b.ID)
	case live == b.ID:
		a.printf("build %s was live already\n", b.ID)
	case live == "":
		a.printf("no build is live\n")
	default:
		a.printf("build %s stays live\n", live)
	}
	if val.Verdict.Verdict == verdict.Accept { // otherwise the reasons say what to do next
		a.printf("next: %s\n", a.command("search", "your question"))
	}
	return verdictExit(val.Verdict)
}
