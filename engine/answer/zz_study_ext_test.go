package answer_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/seed792a4543/assay/engine/answer"
	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
)

func TestStudy(t *testing.T) {
	set, docs, jobs := homestoreJobs(t, 5)
	e := homestoreAnswerer(t, docs)
	measure := func() (facts, cit, any int) {
		records, err := answer.RunAll(t.Context(), jobs, e, answer.RunOptions{Concurrency: 2})
		if err != nil {
			t.Fatal(err)
		}
		table, err := evalanswer.Report(set, records, evalanswer.ReportOptions{Documents: docs, Split: golden.Dev})
		if err != nil {
			t.Fatal(err)
		}
		return table.Line("facts_retrieved").Count, table.Line("citations").Count, table.Line("citation_answer").Count
	}
	if os.Getenv("GRID") != "" {
		f, c, a := measure()
		t.Logf("base %d %d %d", f, c, a)
		for _, p := range []struct {
			n string
			v []float64
		}{{"similarFrom", []float64{.35, .4, .5, .55, .6}}, {"similar", []float64{.5, .7, 1}}, {"heading", []float64{.6, .7, .9, 1}}, {"title", []float64{.4, .5, .7, .8}}, {"neighbour", []float64{.2, .3, .5, .6}}, {"passage", []float64{.1, .2, .5}}, {"number", []float64{0, .06, .2, .3}}, {"whole", []float64{0, .25, .75, 1}}, {"rank", []float64{0, .1, .15, .4, .6}}, {"relative", []float64{.2, .5, 1, 1.5}}, {"superseded", []float64{0, .15, .5}}, {"sentences", []float64{3, 5, 6}}, {"runes", []float64{500, 700, 800}}, {"unseen", []float64{4, 5, 8}}} {
			for _, v := range p.v {
				old := answer.StudySet(e, p.n, v)
				f, c, a := measure()
				t.Logf("%s %g (was %g): facts %d cit %d any %d", p.n, v, old, f, c, a)
				answer.StudySet(e, p.n, old)
			}
		}
	}
	records, err := answer.RunAll(t.Context(), jobs, e, answer.RunOptions{Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	table, err := evalanswer.Report(set, records, evalanswer.ReportOptions{Documents: docs, Split: golden.Dev})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.Text())
	var out []any
	for i, j := range jobs {
		q := set.Find(j.Question)
		if q.Split != golden.Dev {
			continue
		}
		ps := answer.Deliver(j.Hits, answer.DeliverOptions{})
		g, _ := evalanswer.Grade(q, &records[i], docs)
		out = append(out, map[string]any{"q": q.Question, "id": q.ID, "answerable": q.Answerable, "s": answer.StudyFeatures(e, answer.Request{Question: j.Text, Passages: ps}), "held": g.Held, "facts": g.AllFacts(), "cit": g.Citation, "hits": j.Hits, "ans": records[i].Answer})
	}
	data, _ := json.Marshal(out)
	os.WriteFile("/work/scratch/study.json", data, 0o600)
	os.WriteFile("/work/scratch/study_cases.txt", []byte(table.CaseText()), 0o600)
}
