package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/engine"
	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
)

const (
	answerKeys  = "[f]aithful and complete  [i]ncomplete  [w]rong: not from the context"
	refusalKeys = "[r]efusal is right  [x] refusal is wrong"
	otherKeys   = "[s]kip  [q]uit"
)

var opinions = map[string]evalanswer.Opinion{ // read only
	"f": evalanswer.Right, "i": evalanswer.Incomplete, "w": evalanswer.Unfaithful, "r": evalanswer.RightRefusal, "x": evalanswer.WrongRefusal,
}

// answers walks the answers of a build.
func (c *goldenReviewCmd) answers(a *app, s engine.Settings, set *golden.Set) error {
	if c.B != "" {
		return usageError("--answers walks the answers of one build: leave out %s", c.B)
	}
	path := c.File
	if path == "" {
		path = filepath.Join(filepath.Dir(set.Path), "answers-review.json")
	}
	reviews, err := evalanswer.LoadReviews(path)
	if err != nil {
		return usageError("%v", err)
	}
	e, err := a.existing()
	if err != nil {
		return err
	}
	w := &answerWalk{app: a, path: path, reviews: reviews, set: set, who: who(c.Who), in: bufio.NewReader(a.stdin)}
	return errors.Join(w.run(e, c, s), e.Close())
}

// answerWalk asks a person about one answer after the other and saves each decision at once.
type answerWalk struct {
	*app
	path    string
	reviews *evalanswer.Reviews
	set     *golden.Set
	who     string
	in      *bufio.Reader
	res     *engine.AnswersResult
}

func (w *answerWalk) run(e *engine.Engine, c *goldenReviewCmd, s engine.Settings) (err error) {
	build, err := e.Resolve(c.A)
	if err != nil {
		return err
	}
	w.res, err = e.Answers(w.ctx, w.set, engine.AnswersOptions{
		Build: build, Split: c.Split, Reviews: w.reviews, Who: w.who, Questions: !c.List || w.cli.JSON, AllowInCorpus: s.Corpus.AllowGolden,
	})
	if err != nil {
		return err
	}
	pending := w.res.Table.Pending(c.Flagged, c.Seed)
	if !w.cli.JSON {
		w.printf("%d answers of build %s, %d undecided (review file %s)\n", w.res.Table.Answers, build, len(pending), relative(w.path))
	}
	switch {
	case len(c.Decide) > 0:
		err = w.decided(c.Decide, c.Why)
	case !c.List && !w.cli.JSON:
		err = w.all(pending)
	}
	if err != nil {
		return err
	}
	table, err := w.res.Review(w.reviews)
	if err != nil {
		return err
	}
	if w.cli.JSON {
		data, err := table.JSON()
		if err == nil {
			_, err = w.stdout.Write(data)
		}
		return err
	}
	text := table.ReviewText()
	if text == "" {
		text = "nothing is decided yet\n"
	}
	w.printf("\n%s", shown(text))
	return nil
}

// decided takes decisions from the command line.
func (w *answerWalk) decided(list []string, why string) error {
	for _, entry := range list {
		id, key, _ := strings.Cut(entry, "=")
		o, ok := opinions[key]
		if !ok {
			return usageError("--decide %s: write ID=KEY with a key of f, i, w, r, x", entry)
		}
		at := slices.IndexFunc(w.res.Table.Graded, func(g evalanswer.Graded) bool { return g.Question == id && g.Repeat == 0 })
		if at < 0 {
			return usageError("--decide %s: there is no answer to question %q on this side of the set", entry, id)
		}
		if err := w.keep(&w.res.Table.Graded[at], o, why); err != nil {
			return err
		}
	}
	return nil
}

func (w *answerWalk) keep(g *evalanswer.Graded, o evalanswer.Opinion, why string) error {
	if why == "" {
		why = strings.ReplaceAll(string(o), "_", " ")
	}
	verdicts, err := o.Verdicts(g, w.record(g).Answer, w.who, why)
	if err != nil {
		return usageError("%v", err)
	}
	if err := w.reviews.Add(verdicts...); err != nil {
		return err
	}
	return w.reviews.Write(nil, w.path)
}

func (w *answerWalk) record(g *evalanswer.Graded) *evalanswer.Record {
	for i := range w.res.Records {
		if r := &w.res.Records[i]; r.Question == g.Question && r.Repeat == g.Repeat {
			return r
		}
	}
	return &evalanswer.Record{} // unreachable: every graded answer was graded from a record
}

func (w *answerWalk) all(pending []evalanswer.Graded) error {
	for i := range pending {
		w.show(&pending[i], i+1, len(pending))
		if err := w.decide(&pending[i]); errors.Is(err, errQuit) || errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// show prints the question, what the answerer was shown, its answer, and what each metric says.
func (w *answerWalk) show(g *evalanswer.Graded, i, n int) {
	r, q := w.record(g), w.set.Find(g.Question)
	w.printf("\n%s (%d of %d): %s\n", g.Question, i, n, oneLine(q.Question, 500))
	for _, p := range r.Passages {
		w.printf("  [%d] %s\n", p.Marker, oneLine(string(p.Doc)+" > "+p.Section, 100))
		for line := range strings.Lines(strings.TrimSpace(p.Text)) {
			w.printf("      %s\n", strings.TrimRight(line, "\n"))
		}
	}
	w.printf("answer: %s\n", strings.ReplaceAll(strings.TrimSpace(r.Answer), "\n", "\n        "))
	for _, s := range g.Say(q) {
		w.printf("  %s\n", s)
	}
}

func (w *answerWalk) decide(g *evalanswer.Graded) error {
	keys := answerKeys + "  " + refusalKeys + "  " + otherKeys
	switch {
	case g.How != "field": // what it is was read from its words, which a person may read otherwise
	case g.Outcome == evalanswer.Refused:
		keys = refusalKeys + "  " + otherKeys
	default:
		keys = answerKeys + "  " + otherKeys
	}
	for {
		key, err := ask(w.app, w.in, keys+":")
		if err != nil {
			return err
		}
		switch key = strings.ToLower(key); key {
		case "s", "":
			return nil
		case "q":
			return errQuit
		}
		o, ok := opinions[key]
		if !ok || !strings.Contains(keys, "["+key+"]") {
			w.printf("%q is none of them\n", key)
			continue
		}
		why, err := ask(w.app, w.in, fmt.Sprintf("reason (empty: %q):", strings.ReplaceAll(string(o), "_", " ")))
		if err != nil {
			return err
		}
		return w.keep(g, o, why)
	}
}
