package main

import (
	"errors"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

type searchCmd struct {
	Query string   `arg:"" help:"What to search for, in plain words."`
	K     int      `short:"k" default:"10" help:"Hits wanted, 1 to the build's depth."`
	As    []string `help:"Permission labels of the caller." placeholder:"LABEL,..."`
	Mode  string   `help:"hybrid, vector or lexical; default: the build's." placeholder:"MODE"`
	Build string   `help:"Search this build in place of the live one." placeholder:"ID"`
}

type searchJSON struct {
	Schema   string         `json:"schema"`
	Build    string         `json:"build"`
	Query    string         `json:"query"`
	Mode     string         `json:"mode"`
	Weights  engine.Weights `json:"weights"`
	Degraded bool           `json:"degraded,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
	Hits     []index.Hit    `json:"hits"`
}

func (c *searchCmd) Run(a *app) error {
	if c.K < 1 {
		return usageError("-k is %d: it must be at least 1", c.K)
	}
	e, err := a.openFor(c.Build)
	if err != nil {
		return err
	}
	q := engine.Query{Text: c.Query, K: c.K, As: c.As, Mode: c.Mode}
	var resp *engine.Response
	if c.Build != "" {
		resp, err = e.QueryBuild(a.ctx, c.Build, q)
	} else {
		resp, err = e.Query(a.ctx, q)
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if a.cli.JSON {
		hits := resp.Hits
		if hits == nil {
			hits = []index.Hit{}
		}
		return a.printJSON(searchJSON{"assay.search/v1", resp.Build, resp.Query, resp.Mode, resp.Weights, resp.Degraded, resp.Notes, hits})
	}
	for _, n := range resp.Notes {
		a.warnf("note: %s\n", shown(n))
	}
	if len(resp.Hits) == 0 {
		a.printf("no hits\n")
		return nil
	}
	for _, h := range resp.Hits {
		a.printHit(h)
	}
	if last := resp.Hits[len(resp.Hits)-1]; resp.Mode == "hybrid" && last.Score < 0.00005 && last.Score > -0.00005 {
		a.warnf("note: a score of 0.0000 is the lowest of its lists, not a sign that nothing matches: fused scores are scaled within each list\n")
	}
	return nil
}

func (a *app) printHit(h index.Hit) {
	a.printf("%2d. %s", h.Rank, oneLine(place(h), 100))
	a.printf("  [%.4f", h.Score)
	if h.Vector != nil {
		a.printf(", vector #%d %.3f", h.Vector.Rank, h.Vector.Score)
	}
	if h.Lexical != nil {
		a.printf(", words #%d %.2f", h.Lexical.Rank, h.Lexical.Score)
	}
	a.printf("]\n")
	if h.SupersededBy != "" {
		a.printf("    superseded by %s\n", oneLine(string(h.SupersededBy), 100))
	}
	a.printf("    %s\n", oneLine(h.Text, 200))
}

// place is document and section as a person reads them.
func place(h index.Hit) string {
	if h.Section == "" {
		return string(h.Doc)
	}
	return string(h.Doc) + " > " + h.Section
}
