package main

import (
	"errors"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/index"
)

type askCmd struct {
	Question string   `arg:"" help:"The question."`
	K        int      `short:"k" help:"Passages shown to the answerer (default: the settings', else 5)." placeholder:"N"`
	As       []string `help:"Permission labels of the caller." placeholder:"LABEL,..."`
	Build    string   `help:"Answer from this build in place of the live one." placeholder:"ID"`
	Context  bool     `help:"Print the passages too."`
}

func (c *askCmd) Run(a *app) error {
	if c.K < 0 {
		return usageError("-k is %d: it must be at least 1", c.K)
	}
	e, err := a.openFor(c.Build)
	if err != nil {
		return err
	}
	res, err := e.Ask(a.ctx, engine.AskQuery{Query: engine.Query{Text: c.Question, K: c.K, As: c.As}, Build: c.Build})
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if a.cli.JSON {
		out := serve.NewAnswerBody(res)
		out.Notes = res.Notes // whoever runs the command may know all of them
		return a.printJSON(out)
	}
	a.printAnswer(res, c.Context)
	return nil
}

func (a *app) printAnswer(res *engine.AskResult, context bool) {
	for _, n := range res.Notes {
		a.warnf("note: %s\n", shown(n))
	}
	a.printf("%s\n", shown(res.Answer.Text))
	for _, src := range res.Sources {
		a.printf("  [%d] %s\n", src.Marker, oneLine(place(index.Hit{Doc: src.Doc, Section: src.Section}), 100))
	}
	if context {
		for _, p := range res.Passages {
			a.printf("\n[%d] %s\n%s\n", p.Marker, oneLine(place(p.Hit), 100), shown(p.Text))
		}
	}
}
