package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/term"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/sweep"
)

type sweepCmd struct {
	corpusFlags
	File       string `short:"f" default:"sweep.yaml" help:"What to try; see docs/experiments.md." placeholder:"FILE"`
	Golden     string `help:"Golden set (default: the one the settings name)." placeholder:"FILE"`
	Primary    string `help:"Measure that orders and decides (default: the file's, else the policy's)." placeholder:"MEASURE"`
	Out        string `short:"o" help:"Also write report.html, sweep.json, times.json, matrix.csv and the charts there." placeholder:"DIR"`
	Confirm    bool   `help:"Compare the recommended variant with the baseline on the holdout, once; the look is recorded."`
	Who        string `help:"Who looks at the holdout, for the ledgers." placeholder:"NAME"`
	TuneFusion bool   `help:"Fit hybrid.dense on the dev questions instead, and print the value for the settings file."`
	KeepBuilds bool   `help:"Leave the builds in the store."`
	Fresh      bool   `help:"Measure again what was measured before."`
}

func (c *sweepCmd) Run(a *app) error {
	s, source, err := c.configured(a)
	if err != nil {
		return err
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return err
	}
	plan, err := c.plan(s)
	if err != nil {
		return err
	}
	e, err := engine.OpenStore(a.cli.Store, a.sweepOptions(s))
	if err != nil {
		return err
	}
	if c.TuneFusion {
		err = c.tune(a, e, s, source, set, plan.Options)
	} else {
		err = c.sweep(a, e, source, set, plan)
	}
	if errors.Is(err, context.Canceled) && a.ctx.Err() != nil {
		err = errors.New("stopped; what is measured is kept: the same command goes on from there")
	}
	return errors.Join(err, e.Close())
}

// plan reads the sweep file and fills in from the settings what it leaves open. Tuning needs none.
func (c *sweepCmd) plan(s engine.Settings) (*engine.SweepPlan, error) {
	plan := &engine.SweepPlan{}
	if !c.TuneFusion {
		var err error
		if plan, err = engine.LoadSweepPlan(c.File, s); errors.Is(err, fs.ErrNotExist) {
			return nil, usageError("there is no %s: name one with -f FILE, such as one with the line `vary: {chunk.max: [400, 900]}`", c.File)
		} else if err != nil {
			return nil, err
		}
	}
	o, policy := &plan.Options, policyOf(s)
	for _, v := range []struct {
		to           *string
		flag, policy string
	}{{&o.Primary, c.Primary, policy.Primary}, {&o.Rule, "", policy.Rule}, {&o.View, "", policy.View}} {
		if v.flag != "" {
			*v.to = v.flag
		}
		if *v.to == "" {
			*v.to = v.policy
		}
	}
	if o.Seed == 0 {
		o.Seed = policy.Resolved().Seed
	}
	o.AllowInCorpus = s.Corpus.AllowGolden
	o.KeepBuilds, o.Fresh = c.KeepBuilds, c.Fresh
	return plan, nil
}

func (c *sweepCmd) sweep(a *app, e *engine.Engine, source corpus.Source, set *golden.Set, plan *engine.SweepPlan) error {
	out, err := e.SweepReport(a.ctx, source, set, plan.Variants, plan.Options, sweep.Options{
		Baseline: plan.Baseline, Alpha: plan.Alpha, Margin: plan.Margin,
	})
	if err != nil {
		return err
	}
	r := out.Report
	r.LeftOut = plan.LeftOut
	if c.Confirm {
		if err := c.confirm(a, e, source, set, plan, out); err != nil {
			return err
		}
	}
	id, err := e.SaveSweep(a.ctx, out)
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := writeSweep(c.Out, r, out.Times); err != nil {
			return err
		}
	}
	if a.cli.JSON {
		return a.printJSON(r)
	}
	if err := sweep.Text(a.stdout, r, out.Times); err != nil {
		return err
	}
	a.printf("\nkept as sweep %s: `%s` shows it at /sweeps, `%s` puts it into a report\n", id, a.command("serve"), a.command("report", "--sweep", id))
	if c.Out != "" {
		a.printf("report: %s\n", filepath.Join(c.Out, "report.html"))
	}
	return nil
}

// confirm asks the holdout about the recommended variant, if it is another than the baseline.
func (c *sweepCmd) confirm(a *app, e *engine.Engine, source corpus.Source, set *golden.Set, plan *engine.SweepPlan, out *engine.SweepOutcome) error {
	r := out.Report
	if r.Recommend.Variant == r.Baseline {
		a.warnf("nothing to confirm: the baseline is recommended, and the holdout was not looked at\n")
		return nil
	}
	find := func(name string) engine.Variant {
		return out.Variants[slices.IndexFunc(out.Variants, func(v engine.Variant) bool { return v.Name == name })]
	}
	o := plan.Options
	if o.Rule == "" {
		o.Rule = r.Rule // that of the sweep, also where these two alone would allow another
	}
	var err error
	r.Confirmed, err = e.ConfirmSweep(a.ctx, source, set, find(r.Baseline), find(r.Recommend.Variant), o, who(c.Who))
	return err
}

func (c *sweepCmd) tune(a *app, e *engine.Engine, s engine.Settings, source corpus.Source, set *golden.Set, o engine.SweepOptions) error {
	t, err := e.TuneFusion(a.ctx, source, set, s, o)
	if err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema  string        `json:"schema"`
			Dense   float64       `json:"dense"`
			Default float64       `json:"default"`
			Report  *sweep.Report `json:"report"`
		}{"assay.tuning/v1", t.Dense, t.Default, t.Report})
	}
	if err := sweep.Text(a.stdout, t.Report, nil); err != nil {
		return err
	}
	weight := strconv.FormatFloat(t.Dense, 'g', -1, 64)
	if t.Dense == t.Default {
		a.printf("\nhybrid.dense stays %s: no weight is better beyond chance.\n", weight)
		return nil
	}
	a.printf("\nput into the settings: hybrid: {dense: %s}\n", weight)
	return nil
}

// writeSweep writes the report as files, each replaced whole.
func writeSweep(dir string, r *sweep.Report, times []sweep.Times) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	indented := func(v any) ([]byte, error) {
		data, err := json.MarshalIndent(v, "", "  ")
		return append(data, '\n'), err
	}
	var page, matrix bytes.Buffer
	report, err := indented(r)
	clocks, err2 := indented(sweep.TimesReport{Schema: sweep.TimesSchema, Variants: times})
	if err := errors.Join(err, err2, sweep.HTML(&page, r, times), sweep.MatrixCSV(&matrix, r)); err != nil {
		return err
	}
	files := map[string][]byte{"report.html": page.Bytes(), "sweep.json": report, "times.json": clocks, "matrix.csv": matrix.Bytes()}
	for _, chart := range sweep.Charts(r) {
		files[chart.Name+".svg"] = []byte(chart.SVG)
	}
	for _, name := range sortedKeys(files) {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o666); err != nil {
			return err
		}
	}
	return nil
}

// sweepOptions are the options with a progress that, where there is no terminal for the bar, says
// after each variant how long the rest will take.
func (a *app) sweepOptions(s engine.Settings) engine.Options {
	o := a.options(s)
	if f, ok := a.stderr.(*os.File); a.cli.Quiet || ok && term.IsTerminal(int(f.Fd())) {
		return o
	}
	start := time.Now()
	o.Progress = func(p engine.Progress) {
		if p.Stage != "sweep" || p.Done == 0 {
			return
		}
		rest := ""
		if left := p.Total - p.Done; left > 0 {
			rest = fmt.Sprintf(", about %s left", (time.Since(start) / time.Duration(p.Done) * time.Duration(left)).Round(time.Second))
		}
		fmt.Fprintf(a.stderr, "sweep: %d of %d%s\n", p.Done, p.Total, rest)
	}
	return o
}
