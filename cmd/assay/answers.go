package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/corpus/workbook"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/answer"
	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/judge"
)

type answersCmd struct {
	Build       string `arg:"" optional:"" help:"Build to answer from (default: the live one)."`
	Golden      string `help:"Golden set (default: the one the settings name)." placeholder:"FILE"`
	Split       string `default:"dev" help:"dev, holdout or all. Looks at the holdout are recorded."`
	Repeat      int    `default:"1" help:"Answers to each question, to see how they vary."`
	Concurrency int    `default:"2" help:"Questions at a time."`
	Fresh       bool   `help:"Ask again what an interrupted run has answered."`
	Cases       bool   `help:"Print the answers that a person should read."`
	Reviews     string `help:"Decisions of people on single answers (JSON, schema assay.reviews/v1)." placeholder:"FILE"`
	Thresholds  string `help:"Print how top scores of answerable and unanswerable questions lie, and draw it to this SVG file." placeholder:"FILE"`
	Records     string `help:"Write every answer with its context to this file (JSON lines)." placeholder:"FILE"`
	Claims      string `help:"Score recorded runs with annotated claims (a workbook file); nothing is asked." placeholder:"FILE"`
	Collection  string `help:"A bundled collection: workbook, or homestore in a temporary store." placeholder:"NAME"`
}

func (c *answersCmd) Run(a *app) error {
	if c.Repeat < 1 || c.Concurrency < 1 {
		return usageError("--repeat and --concurrency must be at least 1")
	}
	switch {
	case c.Claims != "":
		data, err := os.ReadFile(c.Claims)
		if err != nil {
			return err
		}
		return a.claims(data)
	case c.Collection == workbook.Name:
		return a.claims(workbook.Data())
	case c.Collection == homestore.Name:
		return c.homestore(a)
	case c.Collection != "":
		return usageError("there is no bundled collection %q: use workbook or homestore", c.Collection)
	}
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return err
	}
	e, err := a.open(s)
	if err != nil {
		return err
	}
	return errors.Join(c.answer(a, e, s, set), e.Close())
}

// claims scores annotated runs exactly.
func (a *app) claims(data []byte) error {
	w, err := evalanswer.ParseWorkbook(data)
	if err != nil {
		return usageError("%v", err)
	}
	t, err := evalanswer.ScoreWorkbook(w, workbook.Cutoff)
	if err != nil {
		return usageError("%v", err)
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema string `json:"schema"`
			*evalanswer.ClaimTable
		}{"assay.claims/v1", t})
	}
	a.printf("%s\n%s", t.Text(), t.Summary())
	return nil
}

// homestore builds the bundled collection in a temporary store, makes it live, and answers.
func (c *answersCmd) homestore(a *app) error {
	dir, err := os.MkdirTemp("", "assay-answers-")
	if err != nil {
		return err
	}
	return errors.Join(c.inTemporary(a, dir), os.RemoveAll(dir))
}

func (c *answersCmd) inTemporary(a *app, dir string) error {
	s, err := engine.ParseSettings(homestore.ConfigFile, homestore.Config())
	if err != nil {
		return err
	}
	set, err := golden.Parse(homestore.GoldenFile, homestore.Golden())
	if err != nil {
		return err
	}
	set.Path = "" // it stands in the program: a lock file in this folder is not its own
	o := a.options(s)
	e, err := engine.OpenStore(dir, o)
	if err != nil {
		return err
	}
	b, err := e.Build(a.ctx, corpus.FS(homestore.Name, homestore.Documents(), corpus.Options{}), s)
	if err == nil {
		c.Build = b.ID
		err = c.answer(a, e, s, set)
	}
	return errors.Join(err, e.Close())
}

func (c *answersCmd) answer(a *app, e *engine.Engine, s engine.Settings, set *golden.Set) error {
	o := engine.AnswersOptions{
		Build: c.Build, Split: c.Split, Repeat: c.Repeat, Concurrency: c.Concurrency, Fresh: c.Fresh,
		Who: who(""), Questions: c.Cases || c.Records != "" || a.cli.JSON, AllowInCorpus: s.Corpus.AllowGolden,
	}
	if c.Reviews != "" {
		data, err := os.ReadFile(c.Reviews)
		if err != nil {
			return err
		}
		if o.Reviews, err = evalanswer.ParseReviews(data); err != nil {
			return usageError("%s: %v", c.Reviews, err)
		}
	}
	res, err := e.Answers(a.ctx, set, o)
	if err != nil {
		return err
	}
	if c.Records != "" {
		if err := writeLines(c.Records, res.Records); err != nil {
			return err
		}
	}
	var study string
	if c.Thresholds != "" {
		if study, err = thresholds(c.Thresholds, set, res.Records); err != nil {
			return err
		}
	}
	if a.cli.JSON {
		data, err := res.Table.JSON()
		if err == nil {
			_, err = a.stdout.Write(data)
		}
		return err
	}
	a.printf("build %s\n%s", res.Build, shown(res.Table.Text()))
	switch {
	case c.Cases:
		a.printf("\n%s", shown(res.Table.CaseText()))
	case len(res.Table.Cases) > 0 && c.Collection == "":
		a.printf("%d cases to read: --cases prints them, `%s` asks about each answer\n", len(res.Table.Cases), a.command("golden", "review", "--answers"))
	case len(res.Table.Cases) > 0:
		a.printf("%d cases to read: --cases prints them\n", len(res.Table.Cases))
	}
	noted, first := 0, ""
	for i := range res.Records {
		if n := res.Records[i].Notes; len(n) > 0 {
			if noted++; first == "" {
				first = n[0]
			}
		}
	}
	if noted > 0 {
		a.warnf("note: %d of %d answers: %s\n", noted, len(res.Records), shown(first))
	}
	if study != "" {
		a.printf("\n%s", shown(study))
	}
	return nil
}

// thresholds studies the retrieval score of the first passage and, where the answerer gives
// one, its confidence. The picture shows the confidence, else the score.
func thresholds(path string, set *golden.Set, records []evalanswer.Record) (string, error) {
	var scores, confidences []evalanswer.TopScore
	for i := range records {
		rec := &records[i]
		q := set.Find(rec.Question)
		if q == nil || rec.Repeat > 0 || rec.Harness != "" {
			continue
		}
		s := evalanswer.TopScore{Question: q.ID, Answerable: q.Answerable}
		if len(rec.Passages) > 0 {
			s.Score = rec.Passages[0].Score
		}
		scores = append(scores, s)
		if rec.Confidence != nil {
			s.Score = *rec.Confidence
			confidences = append(confidences, s)
		}
	}
	study, err := evalanswer.Thresholds(scores)
	if err != nil {
		return "", usageError("--thresholds: %v", err)
	}
	text := "score of the first passage\n" + study.Text()
	if len(confidences) == len(scores) {
		if study, err = evalanswer.Thresholds(confidences); err != nil {
			return "", usageError("--thresholds: %v", err)
		}
		text += "\nconfidence of the answerer\n" + study.Text()
	}
	return text, os.WriteFile(path, []byte(study.SVG()), 0o644)
}

type judgeCmd struct {
	Calibrate judgeCalibrateCmd `cmd:"" help:"Test a judge on faithful answers and on altered ones."`
}

type judgeCalibrateCmd struct {
	Judge      string  `default:"rule" enum:"rule,chat,both" help:"rule (numbers), chat (a model) or both."`
	URL        string  `help:"Server of the chat judge, such as http://localhost:11434/v1." placeholder:"URL"`
	Model      string  `help:"Model of the chat judge." placeholder:"NAME"`
	KeyEnv     string  `help:"Environment variable with the server's key." placeholder:"NAME"`
	Generator  string  `help:"Model whose answers are judged; the judge must be another." placeholder:"NAME"`
	Detection  float64 `default:"0.9" help:"Rate of altered answers a judge must be shown to detect."`
	Limit      int     `default:"60" help:"Faithful answers to use."`
	Seed       uint64  `default:"1" help:"Seed of the choice of sentences that are added to answers."`
	Collection string  `help:"homestore uses the bundled collection; else the project's." placeholder:"NAME"`
	goldenFlags
}

func (c *judgeCalibrateCmd) Run(a *app) error {
	items, generator, err := c.items(a)
	if err != nil {
		return err
	}
	if c.Limit > 0 && len(items) > c.Limit {
		items = items[:c.Limit]
	}
	j, err := c.judge()
	if err != nil {
		return err
	}
	if c.Generator != "" {
		generator = c.Generator
	}
	report, err := judge.CalibrateBeside(a.ctx, j, judge.Calibration(items, c.Seed), judge.Options{Detection: c.Detection, Generator: generator})
	if err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema string `json:"schema"`
			*judge.Report
		}{"assay.calibration/v1", report})
	}
	a.printf("%s", shown(report.Text()))
	return nil
}

func (c *judgeCalibrateCmd) judge() (judge.Judge, error) {
	if c.Judge == "rule" {
		return judge.Rule{}, nil
	}
	o := answer.ChatOptions{URL: c.URL, Model: c.Model}
	if c.KeyEnv != "" {
		if o.Key = os.Getenv(c.KeyEnv); o.Key == "" {
			return nil, usageError("the environment variable %s is empty: set it, or leave out --key-env", c.KeyEnv)
		}
	}
	chat, err := answer.NewChat(o)
	if err != nil {
		return nil, usageError("--judge %s needs --url and --model: %v", c.Judge, err)
	}
	model, err := judge.NewChat(c.Model, "", func(ctx context.Context, system, user string) (string, error) {
		r, err := chat.Complete(ctx, answer.Completion{System: system, User: user})
		return r.Text, err
	})
	if err != nil {
		return nil, usageError("%v", err)
	}
	if c.Judge == "both" {
		return judge.Both{A: judge.Rule{}, B: model}, nil
	}
	return model, nil
}

// items are answers that are faithful by construction: the evidence that people quoted for a
// question, with the section it stands in as the context.
func (c *judgeCalibrateCmd) items(a *app) (items []judge.Item, generator string, err error) {
	var set *golden.Set
	var docs *corpus.Collection
	if c.Collection == homestore.Name {
		if set, err = golden.Parse(homestore.GoldenFile, homestore.Golden()); err != nil {
			return nil, "", err
		}
		docs, err = corpus.FS(homestore.Name, homestore.Documents(), corpus.Options{}).Load(a.ctx)
	} else {
		var s engine.Settings
		set, docs, s, err = c.load(a)
		generator = s.Answer.Model
	}
	if err != nil {
		return nil, "", err
	}
	for _, q := range set.Select(golden.Dev) {
		if it, ok := faithful(q, docs); ok {
			items = append(items, it)
		}
	}
	if len(items) == 0 {
		return nil, "", usageError("no dev question has gold with a quote: calibration needs verified answers")
	}
	return items, generator, nil
}

func faithful(q *golden.Question, docs *corpus.Collection) (judge.Item, bool) {
	var contexts, quotes []string
	for _, g := range q.Gold {
		if len(g) == 0 || g[0].Quote == "" || g[0].Section == nil {
			return judge.Item{}, false
		}
		d := docs.Find(g[0].Doc)
		if d == nil {
			return judge.Item{}, false
		}
		i, err := d.Resolve(*g[0].Section)
		if err != nil {
			return judge.Item{}, false
		}
		span := d.Sections[i].Span
		contexts = append(contexts, d.Text[span.Start:span.End])
		quotes = append(quotes, g[0].Quote)
	}
	if len(quotes) == 0 {
		return judge.Item{}, false
	}
	return judge.Item{
		ID: q.ID, Question: q.Question,
		Context: strings.Join(contexts, "\n\n"), Answer: strings.Join(quotes, " "),
	}, true
}
