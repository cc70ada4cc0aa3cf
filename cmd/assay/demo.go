package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/stats"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

type demoCmd struct {
	Dir string `help:"Folder for the demo's store (default: a new temporary one)." placeholder:"DIR" type:"path"`
}

// demoVariant is one configuration that the demo compares.
type demoVariant struct {
	name       string
	settings   engine.Settings
	build      *engine.Build
	evaluation *evalkit.Evaluation
}

// demoMeasures are the columns of the demo's table.
var demoMeasures = []string{"hit@1", "hit@3", "p@3", "recall@3", "rr@5", "ndcg@5"}

func (c *demoCmd) Run(a *app) error {
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "assay-demo-"); err != nil {
			return err
		}
	}
	d, err := newDemo(a, dir)
	if err != nil {
		return err
	}
	return errors.Join(d.run(), d.engine.Close())
}

type demo struct {
	*app
	dir    string
	engine *engine.Engine
	source corpus.Source
	set    *golden.Set
	base   engine.Settings
}

func newDemo(a *app, dir string) (*demo, error) {
	// The project is written out as a user's would be, so that every command works on it.
	if err := os.CopyFS(dir, homestore.Files); err != nil {
		return nil, fmt.Errorf("write the bundled collection to %s: %w", dir, err)
	}
	s, err := engine.LoadSettings(filepath.Join(dir, homestore.ConfigFile))
	if err != nil {
		return nil, err
	}
	set, err := golden.Load(s.Golden)
	if err != nil {
		return nil, err
	}
	a.cli.Store = filepath.Join(dir, ".assay")
	a.cli.Config = filepath.Join(dir, homestore.ConfigFile)
	e, err := a.openWithoutLive(s)
	if err != nil {
		return nil, err
	}
	return &demo{app: a, dir: dir, engine: e, source: s.Source(), set: set, base: s}, nil
}

func (d *demo) run() error {
	d.printf("homestore: the pages of an imaginary home-appliance store, and %d questions its customers ask.\n\n", len(d.set.Questions))
	d.printf("1. Three ways of cutting the same documents, asked the %d dev questions:\n\n", len(d.set.Select(golden.Dev)))
	variants, err := d.compare()
	if err != nil {
		return err
	}
	d.table(variants)
	best := d.best(variants)
	d.printf("\n%s\n", d.distinguishes(variants, best))

	d.printf("\n2. The best of them, %q, must pass the policy to go live:\n", best.name)
	val, err := d.validate(best.build)
	if err != nil {
		return err
	}
	d.verdict(val)
	if err := d.engine.Promote(d.ctx, best.build, val.Verdict); err != nil {
		return err
	}
	d.printf("   build %s is live.\n", best.build.ID)

	d.printf("\n3. A broken build, cut into crumbs of 40 characters and searched by vectors alone:\n")
	if err := d.broken(best.build); err != nil {
		return err
	}
	if err := d.ask(); err != nil {
		return err
	}
	d.next()
	return nil
}

// compare is a sweep over three ways of cutting. The builds stay: the best of them goes live.
func (d *demo) compare() ([]*demoVariant, error) {
	var tried []engine.Variant
	for _, v := range []struct {
		name  string
		chunk chunk.Settings
	}{
		{"fixed 400", chunk.Settings{Kind: chunk.KindFixed, Size: 400}},
		{"section 900", chunk.Settings{Kind: chunk.KindSection, Max: 900, Level: 2}},
		{"section 350", chunk.Settings{Kind: chunk.KindSection, Max: 350, Level: 6}},
	} {
		s := d.base
		s.Chunk = v.chunk
		tried = append(tried, engine.Variant{Name: v.name, Settings: s})
	}
	var variants []*demoVariant
	// One rule for all three, as in every sweep over chunks: a chunk is relevant if it overlaps
	// the evidence, however it was cut.
	for res, err := range d.engine.Sweep(d.ctx, d.source, d.set, tried, engine.SweepOptions{
		EvalOptions: engine.EvalOptions{Rule: evalkit.RuleSpan, Seed: 1, Measures: demoMeasures}, KeepBuilds: true, Fresh: true,
	}) {
		if err != nil {
			return nil, err
		}
		info, err := d.engine.BuildInfo(res.Build)
		if err != nil {
			return nil, err
		}
		variants = append(variants, &demoVariant{
			name: res.Variant.Name, settings: tried[res.Index].Settings, evaluation: res.Evaluation,
			build: &engine.Build{ID: info.ID, Manifest: info.Manifest},
		})
	}
	return variants, nil
}

func (d *demo) table(variants []*demoVariant) {
	w := tabwriter.NewWriter(d.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "configuration\tchunks\t%s\n", strings.Join(demoMeasures, "\t"))
	row := func(name, chunks string, cell func(m string) string) {
		fmt.Fprintf(w, "%s\t%s", name, chunks)
		for _, m := range demoMeasures {
			fmt.Fprintf(w, "\t%s", cell(m))
		}
		fmt.Fprintln(w)
	}
	for _, v := range variants {
		ev := v.evaluation
		row(v.name, fmt.Sprint(v.build.Manifest.Counts.Chunks), func(m string) string { return fmt.Sprintf("%.3f", ev.Measures[m].Mean.V) })
		row("  95 % interval", "", func(m string) string { return compactInterval(ev.Measures[m].CI) })
		row("  random", "", func(m string) string { return fmt.Sprintf("%.3f", ev.Random[m].V) })
	}
	w.Flush()
	ev := variants[0].evaluation
	d.printf("n = %d answerable questions in every cell; rule %s, view %s; intervals: Wilson for hit@k, else percentile bootstrap.\n",
		ev.Measures["hit@3"].NScored, ev.Rule, ev.View)
}

func compactInterval(ci *[2]float64) string {
	if ci == nil {
		return ""
	}
	return fmt.Sprintf("%.2f–%.2f", ci[0], ci[1])
}

// best is the variant with the highest hit@3, then rr@5, then the fewest chunks.
func (d *demo) best(variants []*demoVariant) *demoVariant {
	mean := func(v *demoVariant, m string) float64 { return v.evaluation.Measures[m].Mean.V }
	return slices.MinFunc(variants, func(a, b *demoVariant) int {
		return cmp.Or(
			cmp.Compare(mean(b, "hit@3"), mean(a, "hit@3")),
			cmp.Compare(mean(b, "rr@5"), mean(a, "rr@5")),
			cmp.Compare(a.build.Manifest.Counts.Chunks, b.build.Manifest.Counts.Chunks),
		)
	})
}

// distinguishes says in one sentence which of the differences in the table are real.
func (d *demo) distinguishes(variants []*demoVariant, best *demoVariant) string {
	var apart, alike []string
	n := 0
	for _, v := range variants {
		if v == best {
			continue
		}
		gained, lost := flips(v.evaluation, best.evaluation, "hit@3")
		n = best.evaluation.Measures["hit@3"].NScored
		p := stats.McNemarTwoSided(gained, lost)
		text := fmt.Sprintf("%s (%d questions better, %d worse, p %.2g)", v.name, gained, lost, p)
		if p <= 0.05 {
			apart = append(apart, text)
		} else {
			alike = append(alike, text)
		}
	}
	out := fmt.Sprintf("On hit@3 these %d questions ", n)
	if len(apart) > 0 {
		out += fmt.Sprintf("tell %s apart from %s", best.name, strings.Join(apart, " and "))
		if len(alike) > 0 {
			out += " but "
		}
	}
	if len(alike) > 0 {
		out += fmt.Sprintf("cannot tell %s from %s", best.name, strings.Join(alike, " or from "))
	}
	if effect, ok := stats.MinimumDetectableEffect(n, 0, 0.05, 0.03, 0.8); ok {
		out += fmt.Sprintf("; a loss is found with a chance of 80 %% from about %.0f points on", 100*effect)
	}
	return out + "."
}

// flips counts the questions that hit only under b (gained) and only under a (lost).
func flips(a, b *evalkit.Evaluation, measure string) (gained, lost int) {
	for _, q := range b.Questions {
		was, is := a.Value(q.ID, measure), q.Measures[measure]
		if was.OK && is.OK && is.V > was.V {
			gained++
		}
		if was.OK && is.OK && is.V < was.V {
			lost++
		}
	}
	return gained, lost
}

func (d *demo) validate(b *engine.Build) (*engine.Validation, error) {
	return d.engine.ValidateWith(d.ctx, b.ID, d.set, policyOf(d.base), engine.ValidateOptions{EvalOptions: engine.EvalOptions{Rule: evalkit.RuleSpan, Seed: 1}})
}

func (d *demo) verdict(val *engine.Validation) {
	d.printf("   verdict: %s\n", strings.ToUpper(string(val.Verdict.Verdict)))
	for _, r := range val.Reasons {
		d.printf("   %s\n", shown(r))
	}
	d.printf("   self-test: %s\n", val.SelfTest.Summary())
}

// broken builds, evaluates and must not promote.
func (d *demo) broken(live *engine.Build) error {
	s := d.base
	s.Chunk = chunk.Settings{Kind: chunk.KindFixed, Size: 40, Prefix: chunk.PrefixNone}
	s.Hybrid.Mode = "vector"
	b, err := d.engine.Build(d.ctx, d.source, s)
	if err != nil {
		return err
	}
	val, err := d.validate(b)
	if err != nil {
		return err
	}
	d.verdict(val)
	if val.Verdict.Verdict == verdict.Accept {
		return fmt.Errorf("the broken build %s was accepted: the gate does not hold", b.ID)
	}
	if err := d.engine.Promote(d.ctx, b, val.Verdict); !errors.Is(err, engine.ErrNotAccepted) {
		return fmt.Errorf("promoting the broken build %s was not refused: %w", b.ID, err)
	}
	d.printf("   promoting it is refused; build %s stays live.\n", live.ID)
	return nil
}

func (d *demo) ask() error {
	const query = "how long do I have to bring something back"
	d.printf("\n4. Searching the live build for %q:\n", query)
	hits, err := d.engine.Search(d.ctx, engine.Query{Text: query, K: 3})
	if err != nil {
		return err
	}
	for _, h := range hits {
		d.printHit(h)
	}
	d.printf("\n5. Asking one question that the documents answer, and one that they do not:\n")
	for _, question := range []string{
		"What does the washing machine want when it shows E-04?",
		"Do you repair bicycles?",
	} {
		res, err := d.engine.Ask(d.ctx, engine.AskQuery{Query: engine.Query{Text: question}})
		if err != nil {
			return err
		}
		d.printf("   > %s\n", question)
		d.printAnswer(res, false)
	}
	return nil
}

func (d *demo) next() {
	d.printf("\nThe store is %s, the project around it %s.\n", d.cli.Store, d.dir)
	d.printf("Try on your own folder of Markdown or text:\n")
	d.printf("  assay init your-docs    writes settings and three questions to fill in\n")
	d.printf("  assay up                builds, asks the questions, promotes if accepted\n")
	d.printf("  assay search \"...\"      searches the live build\n")
}
