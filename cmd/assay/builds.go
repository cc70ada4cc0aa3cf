package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

type buildsCmd struct {
	List     buildsListCmd     `cmd:"" default:"1" help:"List the builds of the store."`
	Show     buildsShowCmd     `cmd:"" help:"Show one build: settings, counts, verdicts."`
	Rollback buildsRollbackCmd `cmd:"" help:"Make the build that was live before live again."`
	GC       buildsGCCmd       `cmd:"" name:"gc" help:"Remove builds that are neither live nor needed."`
}

type buildsListCmd struct{}

type buildJSONItem struct {
	ID        string               `json:"id"`
	Live      bool                 `json:"live"`
	Reference bool                 `json:"reference"`
	Documents int                  `json:"documents"`
	Chunks    int                  `json:"chunks"`
	Verdicts  []engine.VerdictInfo `json:"verdicts"`
	Error     string               `json:"error,omitempty"`
}

// openWithoutLive opens a store whose live build may be damaged or need another embedder, for
// commands that do not search it.
func (a *app) openWithoutLive(s engine.Settings) (*engine.Engine, error) {
	return engine.OpenStore(a.cli.Store, a.options(s))
}

func (c *buildsListCmd) Run(a *app) error {
	e, err := a.existing()
	if err != nil {
		return err
	}
	builds, err := e.Builds()
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if a.cli.JSON {
		items := make([]buildJSONItem, len(builds))
		for i, b := range builds {
			items[i] = buildItem(b)
		}
		return a.printJSON(struct {
			Schema string          `json:"schema"`
			Builds []buildJSONItem `json:"builds"`
		}{"assay.builds/v1", items})
	}
	if len(builds) == 0 {
		a.printf("no builds: make one with `%s`\n", a.command("build"))
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "build\tstate\tdocuments\tchunks\tchunking\tlast verdict")
	for _, b := range builds {
		if b.Err != nil {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t%v\n", b.ID, state(b), b.Err)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", b.ID, state(b), b.Manifest.Counts.Documents, b.Manifest.Counts.Chunks,
			engine.DescribeChunking(b.Manifest), lastVerdict(b))
	}
	return w.Flush()
}

func buildItem(b engine.BuildInfo) buildJSONItem {
	item := buildJSONItem{ID: b.ID, Live: b.Live, Reference: b.Reference, Verdicts: b.Verdicts}
	if item.Verdicts == nil {
		item.Verdicts = []engine.VerdictInfo{}
	}
	if b.Manifest != nil {
		item.Documents, item.Chunks = b.Manifest.Counts.Documents, b.Manifest.Counts.Chunks
	}
	if b.Err != nil {
		item.Error = b.Err.Error()
	}
	return item
}

func state(b engine.BuildInfo) string {
	switch {
	case b.Live && b.Reference:
		return "live, reference"
	case b.Live:
		return "live"
	case b.Reference:
		return "reference"
	}
	return "-"
}

func lastVerdict(b engine.BuildInfo) string {
	if len(b.Verdicts) == 0 {
		return "not evaluated"
	}
	return b.Verdicts[len(b.Verdicts)-1].Verdict
}

type buildsShowCmd struct {
	Build string `arg:"" optional:"" default:"live" help:"Id, its beginning, or live."`
}

func (c *buildsShowCmd) Run(a *app) error {
	e, err := a.existing()
	if err != nil {
		return err
	}
	b, err := e.BuildInfo(c.Build)
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if b.Err != nil {
		return b.Err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema string `json:"schema"`
			buildJSONItem
			Manifest *index.Manifest `json:"manifest"`
		}{"assay.build/v1", buildItem(*b), b.Manifest})
	}
	m := b.Manifest
	a.printf("build      %s (%s)\n", b.ID, state(*b))
	a.printf("corpus     %s, %d documents, digest %s\n", shown(m.Corpus.Name), m.Counts.Documents, m.Corpus.Digest[:12])
	a.printf("chunks     %d, %s\n", m.Counts.Chunks, engine.DescribeChunking(m))
	if m.Embedder != nil {
		a.printf("embedder   %s %s, dimension %d\n", m.Embedder.Kind, m.Embedder.Model, m.Embedder.Dimension)
	}
	settings, err := engine.ManifestSettings(m)
	if err != nil {
		return err
	}
	flat := settings.Flatten()
	a.printf("settings\n")
	for _, k := range sortedKeys(flat) {
		if flat[k] == "" {
			continue // nothing that a build is made with
		}
		a.printf("  %s: %s\n", k, shown(flat[k]))
	}
	for _, v := range b.Verdicts {
		a.printf("verdict    %s on %s, split %s, rule %s, mode %s, self-test: %s (run %s)\n",
			v.Verdict, v.Time.Format("2006-01-02 15:04"), v.Split, v.Rule, v.Mode, v.SelfTest, v.Run)
	}
	for _, w := range m.Warnings {
		a.printf("warning    %s\n", shown(w))
	}
	return nil
}

type buildsRollbackCmd struct {
	To  string `help:"Build to make live; default: the one that was live before." placeholder:"ID"`
	Who string `help:"Who decides; default: the user name." placeholder:"NAME"`
	Why string `help:"The reason, kept in the ledger." placeholder:"TEXT"`
}

func (c *buildsRollbackCmd) Run(a *app) error {
	e, err := a.existing()
	if err != nil {
		return err
	}
	id, err := e.Rollback(a.ctx, c.To, engine.Reason{Who: who(c.Who), Why: c.Why})
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema string `json:"schema"`
			Live   string `json:"live"`
		}{"assay.rollback/v1", id})
	}
	a.printf("live build is now %s\n", id)
	return nil
}

type buildsGCCmd struct {
	Keep   int  `default:"2" help:"Builds to keep besides the live one, the reference and the one before."`
	DryRun bool `help:"Say what would be removed."`
}

func (c *buildsGCCmd) Run(a *app) error {
	if c.Keep < 0 {
		return usageError("--keep is %d: it must not be negative", c.Keep)
	}
	e, err := a.existing()
	if err != nil {
		return err
	}
	removed, kept, err := e.GC(a.ctx, c.Keep, c.DryRun)
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema  string            `json:"schema"`
			DryRun  bool              `json:"dry_run"`
			Removed []string          `json:"removed"`
			Kept    map[string]string `json:"kept"`
		}{"assay.gc/v1", c.DryRun, append([]string{}, removed...), kept})
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	for _, id := range removed {
		a.printf("%s %s\n", verb, id)
	}
	for _, id := range sortedKeys(kept) {
		a.printf("kept %s: %s\n", id, kept[id])
	}
	return nil
}

type checkCmd struct{}

func (c *checkCmd) Run(a *app) error {
	if err := a.storeExists(); err != nil {
		return err
	}
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	faults, notes, err := engine.Check(a.ctx, a.cli.Store, a.options(s))
	if err != nil {
		return err
	}
	if a.cli.JSON {
		type fault struct {
			Where string `json:"where"`
			Error string `json:"error"`
		}
		out := make([]fault, len(faults))
		for i, f := range faults {
			out[i] = fault{f.Where, f.Err.Error()}
		}
		if err := a.printJSON(struct {
			Schema string   `json:"schema"`
			OK     bool     `json:"ok"`
			Faults []fault  `json:"faults"`
			Notes  []string `json:"notes"`
		}{"assay.check/v1", len(faults) == 0, out, append([]string{}, notes...)}); err != nil {
			return err
		}
	} else {
		for _, f := range faults {
			a.printf("fault: %s\n", shown(f.String()))
		}
		for _, n := range notes {
			a.printf("note: %s\n", shown(n))
		}
		if len(faults) == 0 {
			a.printf("store %s: no faults\n", a.cli.Store)
		}
	}
	if len(faults) > 0 {
		n := fmt.Sprintf("%d faults", len(faults))
		if len(faults) == 1 {
			n = "1 fault"
		}
		return &exitError{Code: exitFailed, Message: fmt.Sprintf("%s in store %s", n, a.cli.Store)}
	}
	return nil
}
