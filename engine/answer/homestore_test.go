package answer_test

import (
	"math"
	"os"
	"testing"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/answer"
	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/judge"
	"github.com/seed792a4543/assay/index/lexical"
)

// homestoreJobs builds the bundled collection with its own settings and searches it for every
// question.
func homestoreJobs(t *testing.T, k int) (*golden.Set, *corpus.Collection, []answer.Job) {
	t.Helper()
	ctx := t.Context()
	set, err := golden.Parse(homestore.GoldenFile, homestore.Golden())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/assay.yaml", homestore.Config(), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := engine.LoadSettings(dir + "/assay.yaml")
	if err != nil {
		t.Fatal(err)
	}
	source := corpus.FS(homestore.Name, homestore.Documents(), corpus.Options{Include: []string{"**/*.md", "**/*.txt"}})
	docs, err := source.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(dir+"/store", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := e.Build(ctx, source, s)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []answer.Job
	for _, q := range set.Select(golden.All) {
		resp, err := e.QueryBuild(ctx, b.ID, engine.Query{Text: q.Question, K: k, As: q.As})
		j := answer.Job{Question: q.ID, Text: q.Question, Err: err}
		if err == nil {
			j.Hits = resp.Hits
		}
		jobs = append(jobs, j)
	}
	return set, docs, jobs
}

// homestoreAnswerer is the extractive answerer as the engine sets it up: the index's analyzer,
// document frequencies of the sections, English word vectors.
func homestoreAnswerer(t *testing.T, docs *corpus.Collection) *answer.Extractive {
	t.Helper()
	an, err := lexical.NewAnalyzer(lexical.Settings{Analyzer: "en"})
	if err != nil {
		t.Fatal(err)
	}
	df, n := map[string]int{}, 0
	for i := range docs.Documents {
		d := &docs.Documents[i]
		for _, s := range d.Sections {
			n++
			seen := map[string]bool{}
			for _, term := range an.Terms(d.Text[s.Span.Start:s.Span.End]) {
				if !seen[term] {
					seen[term] = true
					df[term]++
				}
			}
		}
	}
	return answer.NewExtractive(answer.ExtractiveOptions{
		Terms: an.Terms,
		IDF: func(term string) float64 {
			if df[term] == 0 {
				return math.NaN()
			}
			return math.Log(1 + (float64(n)-float64(df[term])+0.5)/(float64(df[term])+0.5))
		},
		Similarity: answer.WordSimilarity(),
	})
}

func TestHomestore(t *testing.T) {
	set, docs, jobs := homestoreJobs(t, 5)
	records, err := answer.RunAll(t.Context(), jobs, homestoreAnswerer(t, docs), answer.RunOptions{Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range []string{golden.Dev, golden.Holdout} {
		t.Run(split, func(t *testing.T) {
			table, err := evalanswer.Report(set, records, evalanswer.ReportOptions{Documents: docs, Split: split})
			if err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + table.Text())
			rate := func(key string) float64 {
				v, ok := table.Line(key).Rate()
				if !ok {
					t.Fatalf("line %s has no cases", key)
				}
				return v
			}
			// What must hold whatever the retriever does.
			if n := table.Line(evalanswer.LineNumbers).Count + table.Line(evalanswer.LineUnsure).Count; n > 0 {
				t.Errorf("%d numbers are not in the context: sentences are copied, so none may be", n)
			}
			if n := table.Line(evalanswer.LineFabricated).Count; n > 0 {
				t.Errorf("%d citations of passages that were not shown", n)
			}
			if n := table.Line(evalanswer.LineLeaks).Count; n > 0 {
				t.Errorf("%d leaks", n)
			}
			if !table.Complete {
				t.Errorf("incomplete: %v", table.Warnings)
			}
			// Floors below what is measured today, to notice a rule that breaks.
			for _, floor := range []struct {
				key string
				min float64
			}{
				{evalanswer.LineFactsRetrieved, 0.60}, {evalanswer.LineCitationFacts, 0.90}, {evalanswer.LineCitationStrict, 0.55}, {evalanswer.LineCorrectRefusal, 0.55},
			} {
				if v := rate(floor.key); v < floor.min {
					t.Errorf("%s is %.3f, below the floor %.2f", floor.key, v, floor.min)
				}
			}
			if v := rate(evalanswer.LineWrongRefusal); v > 0.20 {
				t.Errorf("wrongly refused: %.3f, above 0.20", v)
			}
		})
	}
}

// The answers that copied the right sentences are faithful by construction, so they calibrate
// the number rule on real text: it must accept them all and catch every changed number and
// unit. What it cannot see is known as well.
func TestHomestoreCalibration(t *testing.T) {
	set, docs, jobs := homestoreJobs(t, 5)
	records, err := answer.RunAll(t.Context(), jobs, homestoreAnswerer(t, docs), answer.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var verified []judge.Item
	for i := range records {
		q := set.Find(records[i].Question)
		g, err := evalanswer.Grade(q, &records[i], docs)
		if err != nil {
			t.Fatal(err)
		}
		if q.Split == golden.Dev && g.Outcome == evalanswer.Answered && g.AllFacts() {
			verified = append(verified, judge.Item{ID: q.ID, Question: q.Question, Context: records[i].Context(), Answer: records[i].Answer})
		}
	}
	r, err := judge.Calibrate(t.Context(), judge.Rule{}, judge.Calibration(verified, 1), judge.Options{Required: []judge.Kind{judge.Number, judge.Unit, judge.Injection}})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.Line())
	for _, k := range r.Kinds {
		t.Logf("%s: %s", k.Kind, k.Rate)
		if k.Kind == judge.Number || k.Kind == judge.Unit {
			if k.Rate.N < 29 || k.Rate.Count < k.Rate.N {
				t.Errorf("%s: caught %s, want all of 29 or more", k.Kind, k.Rate)
			}
		}
		if k.Kind == judge.Added && k.Rate.Count > 0 {
			t.Errorf("%s: caught %s, though the sentences hold no number", k.Kind, k.Rate)
		}
	}
	if r.Accepted.Count != r.Accepted.N || !r.Qualified {
		t.Errorf("accepted %s, qualified for numbers and units: %v %v", r.Accepted, r.Qualified, r.Reasons)
	}
}
