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
	an, err := lexical.NewAnalyzer(lexical.Settings{})
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
	table, err := evalanswer.Report(set, records, evalanswer.ReportOptions{Documents: docs, Split: golden.Dev})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.Text())
}
