package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/pages"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/evalkit/golden"
)

type reportCmd struct {
	Build     string   `arg:"" optional:"" help:"Build to report (default: the newest)."`
	RunID     string   `name:"run" help:"Run to report; default: the build's newest." placeholder:"ID"`
	Out       string   `short:"o" help:"File to write; - is standard output." default:"assay-report.html" placeholder:"FILE"`
	Golden    string   `help:"Golden set, for the text of questions (default: the settings')." placeholder:"FILE"`
	As        []string `help:"Permission labels of the report's readers: documents they may not see stay out of it." placeholder:"LABEL,..."`
	AllLabels bool     `help:"Its readers may see every document."`
	Sweep     string   `help:"Kept sweep to show with it (default: the newest that measured the build), or none." placeholder:"ID"`
}

func (c *reportCmd) Run(a *app) error {
	if c.Out != "-" {
		if err := writable(c.Out); err != nil {
			return usageError("-o %s: %v", c.Out, err)
		}
	}
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	set, err := optionalGolden(a, c.Golden, s)
	if err != nil {
		return err
	}
	e, err := a.existing()
	if err != nil {
		return err
	}
	id, err := e.DefaultBuild(c.Build)
	var b bytes.Buffer
	o := pages.ReportOptions{
		Run: c.RunID, Golden: set, Policy: policyOf(s), Sweep: c.Sweep,
		Caller: serve.Caller{As: c.As, All: c.AllLabels},
	}
	if err == nil {
		err = pages.Report(&b, e, id, o)
	}
	if err == nil {
		err = c.looks(a, e, id, set, o)
	}
	if errors.Is(err, engine.ErrNoSweep) {
		err = usageError("%v", err)
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if c.Out == "-" {
		_, err = a.stdout.Write(b.Bytes())
		return err
	}
	if err := os.WriteFile(c.Out, b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	a.warnf("wrote %s\n", relative(c.Out))
	return nil
}

// looks records what of the holdout the report shows.
func (c *reportCmd) looks(a *app, e *engine.Engine, build string, set *golden.Set, o pages.ReportOptions) error {
	_, rec, err := e.Verdict(build, c.RunID)
	if err != nil {
		return err
	}
	if err := e.LookAtRecord(a.ctx, set, rec, who("")); err != nil {
		return err
	}
	saved, err := pages.ReportedSweep(e, build, o)
	if err != nil || saved == nil {
		return err
	}
	return e.LookAtSweep(a.ctx, set, saved, who(""))
}
