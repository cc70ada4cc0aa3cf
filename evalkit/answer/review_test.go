package answer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
)

func TestOpinions(t *testing.T) {
	refused := new(true)
	for _, tt := range []struct {
		name       string
		answerable bool
		record     answer.Record
		opinion    answer.Opinion
		want       map[string]bool // line: pass; nil is an error
	}{
		{"right", true, answer.Record{Answer: "7 days [1]"}, answer.Right, map[string]bool{"faithful": true, "facts": true, "wrong_refusal": false}},
		{"incomplete", true, answer.Record{Answer: "7 days [1]"}, answer.Incomplete, map[string]bool{"faithful": true, "facts": false, "wrong_refusal": false}},
		{"right number, wrong subject", true, answer.Record{Answer: "7 days [1]"}, answer.Unfaithful, map[string]bool{"faithful": false, "facts": false, "wrong_refusal": false}},
		{"a refusal in words no list has", true, answer.Record{Answer: "Hm, who knows."}, answer.WrongRefusal, map[string]bool{"facts": false, "wrong_refusal": true}},
		{"refused, rightly", false, answer.Record{Answer: "No.", Refused: refused}, answer.RightRefusal, map[string]bool{"correct_refusal": true}},
		{"refused, wrongly", true, answer.Record{Answer: "No.", Refused: refused}, answer.WrongRefusal, map[string]bool{"facts": false, "wrong_refusal": true}},
		{"should have refused", false, answer.Record{Answer: "9 days [1]"}, answer.Unfaithful, map[string]bool{"faithful": false, "correct_refusal": false}},
		{"a refusal by its field is no answer", true, answer.Record{Answer: "No.", Refused: refused}, answer.Right, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := golden.Question{ID: "q1", Question: "How long?", Answerable: tt.answerable, Split: golden.Dev}
			if tt.answerable {
				q.Facts = []golden.Fact{{Any: []golden.Phrasing{{Text: "7 days"}}}}
			}
			tt.record.Question = "q1"
			tt.record.Passages = []answer.Delivered{{Marker: 1, Text: "Within 7 days."}}
			g, err := answer.Grade(&q, &tt.record, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tt.opinion.Verdicts(&g, tt.record.Answer, "Ada", "read")
			if (err != nil) != (tt.want == nil) {
				t.Fatal(err)
			}
			var lines map[string]bool
			for _, v := range got {
				if lines == nil {
					lines = map[string]bool{}
				}
				lines[v.Line] = v.Pass
				if v.Answer != answer.AnswerDigest(tt.record.Answer) || v.By != "Ada" || v.Reason != "read" {
					t.Errorf("%+v", v)
				}
			}
			if d := cmp.Diff(tt.want, lines); d != "" {
				t.Error(d)
			}
		})
	}
}

// Forty answers, all faithful to the number rule. A person reads them in the order offered and finds
// every fourth of those read unfaithful.
func TestReviewWalk(t *testing.T) {
	set := &golden.Set{Schema: golden.Schema, Name: "walk", Version: 1}
	var records []answer.Record
	for i := range 40 {
		id := fmt.Sprintf("q%02d", i)
		set.Questions = append(set.Questions, golden.Question{ID: id, Question: "How long?", Split: golden.Dev, State: golden.Accepted})
		records = append(records, answer.Record{Question: id, Answer: "7 days [1]", Passages: []answer.Delivered{{Marker: 1, Text: "7 days"}}})
	}
	report := func(r *answer.Reviews) *answer.Table {
		t.Helper()
		table, err := answer.Report(set, records, answer.ReportOptions{Reviews: r})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	path := filepath.Join(t.TempDir(), "r.json")
	reviews, err := answer.LoadReviews(path)
	if err != nil {
		t.Fatal(err)
	}
	first := report(reviews)
	if first.ReviewText() != "" || first.Line(answer.LineFaithful).Estimate != nil {
		t.Errorf("nothing is reviewed: %q", first.ReviewText())
	}
	order := first.Pending(false, 1)
	if len(order) != 40 || order[0].Question == "q00" && order[1].Question == "q01" {
		t.Errorf("%d answers in the order of the set", len(order))
	}
	for i := range 12 {
		o := answer.Right
		if i%4 == 0 {
			o = answer.Unfaithful
		}
		vs, err := o.Verdicts(&order[i], "7 days [1]", "Ada", "read")
		if err == nil {
			err = reviews.Add(vs...)
		}
		if err == nil {
			err = reviews.Add(vs...) // deciding again replaces
		}
		if err == nil {
			err = reviews.Write(nil, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if reviews, err = answer.LoadReviews(path); err != nil {
		t.Fatal(err)
	}
	table := report(reviews)
	rest := table.Pending(false, 1)
	if d := cmp.Diff(order[12].Question, rest[0].Question); len(rest) != 28 || d != "" {
		t.Errorf("%d left, %s", len(rest), d)
	}
	l := table.Line(answer.LineFaithful)
	if l.Before != 40 || l.Count != 37 || l.Reviewed != 12 || l.Overturned != 3 || l.Errors == nil || l.Estimate == nil || l.Estimate.LabelledMean != 0.75 {
		t.Errorf("%+v", l)
	}
	text := table.ReviewText()
	for _, want := range []string{"40/40", "37/40", "0.250 [0.089, 0.532]", "from the 12 reviewed alone 0.750 [0.468, 0.911]", "random sample"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	// Answers that no metric doubts are not flagged; these should have been refusals, so all are.
	if n := len(table.Pending(true, 1)); n != 28 {
		t.Errorf("%d flagged", n)
	}
	if err := reviews.Add(answer.Review{Question: "q1", Line: "facts"}); err == nil {
		t.Error("added a review without answer, name and reason")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := answer.LoadReviews(path); err == nil || !strings.Contains(err.Error(), "r.json") {
		t.Errorf("got %v", err)
	}
}
