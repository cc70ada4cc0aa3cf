package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine/answer"
	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/index"
)

// AnswersOptions say how all questions of a golden set are answered. The zero value answers
// the dev questions of the live build once.
type AnswersOptions struct {
	Build       string // "" is the live build
	Split       string // dev (default), holdout or all
	Repeat      int    // answers to each question; 0 means 1
	Concurrency int    // questions at a time; 0 means 1
	// Fresh leaves out what an interrupted run has answered already.
	Fresh   bool
	Reviews *evalanswer.Reviews // decisions of people on single answers
	Who     string              // for the ledgers when the holdout is looked at
	// Questions says that single answers will be shown, which spends a holdout.
	Questions bool
	// AllowInCorpus permits documents that hold golden questions word for word.
	AllowInCorpus bool
}

// AnswersResult are the recorded answers and their grades.
type AnswersResult struct {
	Build   string
	Records []evalanswer.Record
	Table   *evalanswer.Table

	set  *golden.Set
	docs *corpus.Collection
}

// Review grades the same answers once more with the decisions of people; nothing is asked again.
func (r *AnswersResult) Review(reviews *evalanswer.Reviews) (*evalanswer.Table, error) {
	return evalanswer.Report(r.set, r.Records, evalanswer.ReportOptions{Documents: r.docs, Split: r.Table.Split, Reviews: reviews})
}

// Answers answers the questions of a golden set with the answerer of the options, each with
// the permissions of its caller, and grades the answers layer by layer. Answers of a chat model
// are kept in the store as they come, so that an interrupted run goes on where it stopped
// without asking twice.
func (e *Engine) Answers(ctx context.Context, set *golden.Set, o AnswersOptions) (*AnswersResult, error) {
	if o.Split == "" {
		o.Split = golden.Dev
	}
	if err := (EvalOptions{Split: o.Split}).Validate(); err != nil {
		return nil, err
	}
	r, done, err := e.readerFor(o.Build)
	if err != nil {
		return nil, err
	}
	res, err := e.answers(ctx, r, set, o)
	return res, errors.Join(err, done())
}

func (e *Engine) answers(ctx context.Context, r *reader, set *golden.Set, o AnswersOptions) (*AnswersResult, error) {
	docs, err := r.collection(r.manifest.Corpus.Name)
	if err != nil {
		return nil, err
	}
	s := AnswerSettings{}
	if e.o.Answer != nil {
		s = *e.o.Answer
	}
	if _, err := preflight(set, docs, EvalOptions{Cutoffs: []int{s.passages()}, AllowInCorpus: o.AllowInCorpus}); err != nil {
		return nil, err
	}
	answerer, err := e.answerer(r, s)
	if err != nil {
		return nil, err
	}
	questions := set.Select(o.Split)
	jobs, err := e.jobs(ctx, r, questions, s, answerer, o.Fresh)
	if err != nil {
		return nil, err
	}
	run := answer.RunOptions{
		Concurrency: o.Concurrency, Repeat: o.Repeat, FS: e.fsys,
		Deliver:  answer.DeliverOptions{Budget: s.Budget, Passages: s.passages(), Merge: s.merge(r)},
		Progress: func(p answer.Progress) { e.o.Progress(Progress{Stage: "answer", Done: p.Done, Total: p.Total}) },
	}
	if s.Kind == "chat" {
		if run.Resume, err = e.resumeFile(r.id+".jsonl", o.Fresh); err != nil {
			return nil, err
		}
	}
	records, err := answer.RunAll(ctx, jobs, answerer, run)
	if err != nil {
		return nil, err
	}
	table, err := evalanswer.Report(set, records, evalanswer.ReportOptions{Documents: docs, Split: o.Split, Reviews: o.Reviews})
	if err != nil {
		return nil, err
	}
	if err := e.RecordLook(ctx, set, o.Split, r.id, o.Who, o.Questions); err != nil {
		return nil, err
	}
	return &AnswersResult{Build: r.id, Records: records, Table: table, set: set, docs: docs}, nil
}

// jobs searches for all questions, each as its caller. A search that fails is its job's error. What a
// chat model made of the questions is kept in the store, like its answers, but not by build: it
// does not depend on one.
func (e *Engine) jobs(ctx context.Context, r *reader, questions []*golden.Question, s AnswerSettings, a answer.Answerer, fresh bool) (jobs []answer.Job, err error) {
	var kept *answer.Journal[wording]
	if s.Rewrite || s.Queries > 0 {
		path, err := e.resumeFile("wordings.jsonl", fresh)
		if err != nil {
			return nil, err
		}
		if kept, err = answer.OpenJournal[wording](e.fsys, path); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, kept.Close()) }()
	}
	jobs = make([]answer.Job, len(questions))
	for i, q := range questions {
		jobs[i] = answer.Job{Question: q.ID, Text: q.Question}
		jobs[i].Hits, jobs[i].Usage, jobs[i].Err = e.delivered(ctx, r, q, s, a, kept)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if kept != nil {
			e.o.Progress(Progress{Stage: "word", Done: i + 1, Total: len(questions)})
		}
	}
	return jobs, nil
}

// delivered searches for one golden question as its caller; usage is what a model took for that.
func (e *Engine) delivered(ctx context.Context, r *reader, q *golden.Question, s AnswerSettings, a answer.Answerer, kept *answer.Journal[wording]) (hits []index.Hit, usage answer.Usage, err error) {
	prepared, err := r.prepare(Query{Text: q.Question, K: s.passages(), As: q.As})
	if err != nil {
		return nil, usage, err
	}
	resp, usage, err := e.searched(ctx, r, prepared, s, a, kept, false)
	if err != nil {
		return nil, usage, err
	}
	return resp.Hits, usage, nil
}

// resumeFile returns the path of a file of what was paid for.
func (e *Engine) resumeFile(name string, fresh bool) (string, error) {
	dir := e.path("cache", "answers")
	if err := e.fsys.MkdirAll(dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if fresh {
		if err := os.Remove(path); err != nil && !index.IsMissing(err) {
			return "", fmt.Errorf("answers: %w", err)
		}
	}
	return path, nil
}
