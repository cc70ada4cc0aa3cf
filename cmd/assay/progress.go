package main

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/seed792a4543/assay/engine"
)

// progress returns what long work reports to: a bar on a terminal, plain lines elsewhere.
func (a *app) progress() func(engine.Progress) {
	if a.cli.Quiet {
		return nil
	}
	if f, ok := a.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return a.bar()
	}
	return a.lines()
}

func (a *app) bar() func(engine.Progress) {
	var bar *progressbar.ProgressBar
	stage := ""
	return func(p engine.Progress) {
		if p.Total == 0 {
			return
		}
		if p.Stage != stage || bar == nil {
			stage = p.Stage
			bar = progressbar.NewOptions(p.Total,
				progressbar.OptionSetWriter(a.stderr),
				progressbar.OptionSetDescription(fmt.Sprintf("%-10s", p.Stage)),
				progressbar.OptionSetWidth(30),
				progressbar.OptionShowCount(),
				progressbar.OptionThrottle(50*time.Millisecond),
				progressbar.OptionClearOnFinish(),
			)
		}
		// The bar's own error is that of the terminal, where nothing else could be said.
		_ = bar.Set(p.Done)
	}
}

// lines prints the end of each stage only, so that logs stay short.
func (a *app) lines() func(engine.Progress) {
	return func(p engine.Progress) {
		if p.Total > 0 && p.Done == p.Total {
			fmt.Fprintf(a.stderr, "%s: %d\n", p.Stage, p.Total)
		}
	}
}
