package answer_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// set returns n answerable questions a0… with gold in a.md > Fees and the fact "7 days", and m
// unanswerable ones u0….
func questions(n, m int) *golden.Set {
	s := &golden.Set{Schema: golden.Schema, Name: "t", Version: 1}
	for i := range n {
		s.Questions = append(s.Questions, golden.Question{ID: fmt.Sprintf("a%d", i), Question: "How long?", Answerable: true, Split: golden.Dev, State: golden.Accepted,
			Gold: []golden.Group{{{Doc: "a.md", Section: new("Fees"), Grade: 1}}}, Facts: []golden.Fact{texts("7 days")}})
	}
	for i := range m {
		s.Questions = append(s.Questions, golden.Question{ID: fmt.Sprintf("u%d", i), Question: "Parrots?", Split: golden.Dev, State: golden.Accepted})
	}
	return s
}

var shown = []answer.Delivered{{Marker: 1, Doc: "a.md", Section: "Fees", Text: "It takes 7 days."}, {Marker: 2, Doc: "a.md", Section: "Times", Text: "In 3 hours."},
	{Marker: 3, Doc: "a.md", Section: "Fees > More", Text: "More."}}

func report(t *testing.T, s *golden.Set, recs []answer.Record, reviews *answer.Reviews) *answer.Table {
	t.Helper()
	table, err := answer.Report(s, recs, answer.ReportOptions{Reviews: reviews})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func want(t *testing.T, table *answer.Table, key string, count, n int) {
	t.Helper()
	if l := table.Line(key); l.Count != count || l.N != n {
		t.Errorf("line %s: %d/%d, want %d/%d", key, l.Count, l.N, count, n)
	}
}

func TestReport(t *testing.T) {
	t.Run("RF-04", func(t *testing.T) {
		s := questions(27, 5)
		var silent, talker []answer.Record
		for _, q := range s.Questions {
			ps := shown
			if q.ID == "a0" {
				ps = shown[1:2] // gold was not retrieved
			}
			silent = append(silent, answer.Record{Question: q.ID, Passages: ps, Answer: "No information."})
			talker = append(talker, answer.Record{Question: q.ID, Passages: ps, Answer: "It takes 7 days [1]."})
		}
		table := report(t, s, silent, nil)
		want(t, table, answer.LineCorrectRefusal, 5, 5)
		want(t, table, answer.LineWrongRefusal, 27, 27)
		want(t, table, answer.LineWrongHad, 26, 26)
		want(t, table, answer.LineWrongHadNot, 1, 1)
		limits := answer.Limits{CorrectRefusal: new(0.8), WrongRefusal: new(0.1)}
		if b := table.Check(limits); len(b) != 1 || !strings.HasPrefix(b[0], "wrong_refusal: 27/27") {
			t.Errorf("always refusing breaks %q, want the limit of wrong refusals", b)
		}
		table = report(t, s, talker, nil)
		want(t, table, answer.LineCorrectRefusal, 0, 5)
		want(t, table, answer.LineWrongRefusal, 0, 27)
		if b := table.Check(limits); len(b) != 1 || !strings.HasPrefix(b[0], "correct_refusal: 0/5") {
			t.Errorf("never refusing breaks %q, want the limit of correct refusals", b)
		}
		want(t, table, answer.LineFactsRetrieved, 26, 26)
		want(t, table, answer.LineFacts, 27, 27)
	})
	t.Run("RF-03", func(t *testing.T) {
		s := questions(0, 4)
		table := report(t, s, []answer.Record{{Question: "u0"}, {Question: "u1", Answer: "{}"}, {Question: "u2", Error: "time-out"}, {Question: "u3", Answer: "I don't know."}}, nil)
		want(t, table, answer.LineCorrectRefusal, 1, 4)
		if table.EmptyAnswers != 2 || table.SystemErrors != 1 || len(table.Warnings) != 2 {
			t.Errorf("empty %d, errors %d, warnings %q; want 2, 1, two", table.EmptyAnswers, table.SystemErrors, table.Warnings)
		}
	})
	t.Run("ME-07", func(t *testing.T) {
		table := report(t, questions(3, 0), []answer.Record{{Question: "a0", Passages: shown, Answer: "7 days [1]"}, {Question: "a1", Passages: shown, Error: "500"}, {Question: "a2", Passages: shown, Harness: "search failed"}}, nil)
		want(t, table, answer.LineFacts, 1, 2)
		if table.Complete || table.SystemErrors != 1 || table.HarnessErrors != 1 {
			t.Errorf("complete %v, errors %d and %d", table.Complete, table.SystemErrors, table.HarnessErrors)
		}
		if b := table.Check(answer.Limits{}); len(b) != 1 || !strings.Contains(b[0], "incomplete") {
			t.Errorf("an incomplete run passes: %q", b)
		}
		if !strings.Contains(table.Text(), "incomplete") {
			t.Errorf("the table does not say that it is incomplete:\n%s", table.Text())
		}
		if report(t, questions(2, 0), []answer.Record{{Question: "a0"}}, nil).Complete {
			t.Error("a run without a record of a question is complete")
		}
	})
	t.Run("CI-03", func(t *testing.T) {
		s := questions(6, 0)
		var recs []answer.Record
		for i, a := range []string{"7 days [2]", "7 days [1][2]", "7 days", "7 days [1]", "7 days [3]", "7 days [1][9]"} {
			recs = append(recs, answer.Record{Question: fmt.Sprintf("a%d", i), Passages: shown, Answer: a})
		}
		table := report(t, s, recs, nil)
		var got []answer.CitationVerdict
		for _, g := range table.Graded {
			got = append(got, g.Citation)
		}
		if w := "[wrong partial missing right right partial]"; fmt.Sprint(got) != w {
			t.Errorf("verdicts %v, want %s", got, w)
		}
		want(t, table, answer.LineCitationStrict, 2, 6)
		want(t, table, answer.LineCitationAnswer, 4, 6)
		want(t, table, answer.LineCitations, 4, 7)
		want(t, table, answer.LineFabricated, 1, 7)
	})
	t.Run("CI-04", func(t *testing.T) {
		table := report(t, questions(3, 0), []answer.Record{{Question: "a0", Passages: shown, Answer: "7 days [1][1][1]"}, {Question: "a1", Passages: shown, Answer: "7 days", Citations: []int{}},
			{Question: "a2", Passages: shown, Answer: "I don't know.", Citations: []int{}}}, nil)
		if g := table.Graded; g[0].Citation != answer.CitationRight || g[1].Citation != answer.CitationMissing || g[2].Citation != answer.CitationNA {
			t.Errorf("got %s, %s, %s", g[0].Citation, g[1].Citation, g[2].Citation)
		}
		if data, err := table.JSON(); err != nil || strings.Contains(string(data), "NaN") {
			t.Errorf("JSON: %v", err)
		}
	})
	t.Run("GN-07", func(t *testing.T) {
		recs := []answer.Record{{Question: "a0", Answer: "The deposit is 40.", Settings: map[string]string{"prompt": "Use at most 40 words"},
			Passages: []answer.Delivered{{Marker: 1, Doc: "fees-40.md", Section: "Fees 40", Text: "The deposit is due."}}}}
		want(t, report(t, questions(1, 0), recs, nil), answer.LineNumbers, 1, 1)
	})
	t.Run("JU-06/list", func(t *testing.T) {
		table := report(t, questions(1, 0), []answer.Record{{Question: "a0", Passages: shown, Answer: "within 17 days [1]"}}, nil)
		if len(table.Cases) == 0 || table.Cases[0].Line != answer.LineFacts || !strings.Contains(table.CaseText(), `fact "7 days": missing`) {
			t.Errorf("a failed fact is not listed:\n%s", table.CaseText())
		}
	})
	t.Run("review", func(t *testing.T) {
		recs := []answer.Record{{Question: "a0", Passages: shown, Answer: "a week [1]"}, {Question: "a1", Passages: shown, Answer: "7 days [1]"}}
		reviews := &answer.Reviews{Schema: answer.ReviewSchema, Reviews: []answer.Review{
			{Question: "a0", Line: answer.LineFacts, Answer: answer.AnswerDigest("a week [1]"), Pass: true, By: "an", Reason: "a week is 7 days"},
			{Question: "a1", Line: answer.LineFacts, Answer: answer.AnswerDigest("7 days [1]"), Pass: true, By: "an", Reason: "right"},
			{Question: "a1", Line: answer.LineFacts, Answer: answer.AnswerDigest("another text"), Pass: true, By: "an", Reason: "old"}}}
		data, err := reviews.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if reviews, err = answer.ParseReviews(data); err != nil {
			t.Fatal(err)
		}
		table := report(t, questions(2, 0), recs, reviews)
		want(t, table, answer.LineFacts, 2, 2)
		want(t, table, answer.LineFactsRetrieved, 2, 2)
		if l := table.Line(answer.LineFacts); l.Before != 1 || l.Reviewed != 2 || l.Overturned != 1 {
			t.Errorf("got %+v, want 1 before, 2 reviewed, 1 overturned", l)
		}
		if table.Reviewed != 2 || table.Overturned != 1 || len(table.Stale) != 1 {
			t.Errorf("reviewed %d, overturned %d, stale %d; want 2, 1, 1", table.Reviewed, table.Overturned, len(table.Stale))
		}
		for _, bad := range []string{`{}`, `{"schema":"assay.reviews/v1","reviews":[{"question":"a"}]}`, `{"schema":"assay.reviews/v1","x":1}`} {
			if _, err := answer.ParseReviews([]byte(bad)); err == nil {
				t.Errorf("ParseReviews(%s) succeeded", bad)
			}
		}
	})
	t.Run("repeats", func(t *testing.T) {
		recs := []answer.Record{{Question: "a0", Repeat: 1, Passages: shown, Answer: "17 days"}, {Question: "a0", Passages: shown, Answer: "7 days"}}
		table := report(t, questions(1, 0), recs, nil)
		want(t, table, answer.LineFacts, 1, 1)
		if s := table.Line(answer.LineFacts).Spread; s == nil || s.Repeats != 2 || s.Min != 0 || s.Max != 1 || s.Mean != 0.5 || s.Different != 1 {
			t.Errorf("spread %+v", s)
		}
	})
	for name, recs := range map[string][]answer.Record{"unknown": {{Question: "x"}}, "twice": {{Question: "a0"}, {Question: "a0"}}} {
		if _, err := answer.Report(questions(1, 0), recs, answer.ReportOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestThresholds(t *testing.T) {
	s, err := answer.Thresholds([]answer.TopScore{{"a", true, 3}, {"b", true, 2}, {"c", true, 1}, {"d", false, 2}, {"e", false, 0}})
	if err != nil {
		t.Fatal(err)
	}
	// Pairs: 3>2, 3>0, 2=2 (one half), 2>0, 1<2, 1>0: 4.5 of 6.
	if math.Abs(s.AUC-0.75) > 1e-12 || s.OverlapLo != 1 || s.OverlapHi != 2 || s.OverlapShare != 0.6 || s.Separable {
		t.Errorf("got %+v", s)
	}
	if p := s.Points[len(s.Points)-1]; p.Threshold != 3 || p.CorrectRefused != 2 || p.WrongRefused != 2 {
		t.Errorf("last point %+v", p)
	}
	d := xml.NewDecoder(strings.NewReader(s.SVG()))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("SVG: %v", err)
		}
	}
	if !strings.Contains(s.Text(), "AUC 0.750") {
		t.Errorf("text:\n%s", s.Text())
	}
	if _, err := answer.Thresholds([]answer.TopScore{{"a", true, 1}}); err == nil {
		t.Error("one class only, but no error")
	}
	if _, err := answer.Thresholds([]answer.TopScore{{"a", true, math.NaN()}, {"b", false, 1}}); err == nil {
		t.Error("NaN passed")
	}
	same, err := answer.Thresholds([]answer.TopScore{{"a", true, 1}, {"b", false, 1}})
	if err != nil || same.AUC != 0.5 || strings.Contains(same.SVG(), "NaN") || strings.Contains(same.Text(), "NaN") {
		t.Errorf("equal scores: %+v, %v", same, err)
	}
}

// A text's own numbers are always grounded in it, and no invented one is.
func TestGroundedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.IntRange(0, 1_000_000_000).Draw(t, "a")
		b := rapid.IntRange(0, 1_000_000_000).Draw(t, "b")
		spelled := fmt.Sprintf("costs %d VND.", a)
		for _, f := range answer.Grounded(spelled, "It "+spelled, "") {
			if f.Source != answer.FromContext {
				t.Fatalf("%q is not grounded in itself: %+v", spelled, f)
			}
		}
		if a != b {
			for _, f := range answer.Grounded(fmt.Sprintf("costs %d VND.", b), "It "+spelled, "") {
				if f.OK() {
					t.Fatalf("%d is grounded in %d: %+v", b, a, f)
				}
			}
		}
	})
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"3.000.000 đ", "1,5 kg; 1.250", "A5 v2.10.3", "5tr 30k $1.2bn", "3–5 days; −18 °C; 2026-04-01", "1 April 2026", "5 p.m.", "½", "٣٤", "10,1,1", "5\xff.3", "ngày 1 tháng 4 năm 2026", "1 tháng ", "April 5", "99999999999999999999999999999 million", "7:5 pm", "12 p"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, n := range answer.Numbers(s, "en", "vi", "de") {
			if n.Start < last || n.End <= n.Start || n.End > len(s) || s[n.Start:n.End] != n.Text || len(n.Readings) == 0 {
				t.Fatalf("Numbers(%q): bad number %+v", s, n)
			}
			last = n.End
		}
		if len(s) < 2000 {
			answer.Grounded(s, s, s)
			answer.MatchFact(texts(s), s)
		}
	})
}

func FuzzCitations(f *testing.F) {
	for _, s := range []string{"[1]", "【2†source】", "[1-3]", "[^1]", "[Source 2, 3]", "[1-9999]", "<think>[1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := answer.Citations(s, 5)
		if len(c.Markers) > 1000 {
			t.Fatalf("%d markers", len(c.Markers))
		}
		for _, v := range c.Valid {
			if v < 1 || v > 5 {
				t.Fatalf("valid marker %d", v)
			}
		}
		if len(answer.BlankCitations(s)) != len(s) {
			t.Fatalf("BlankCitations(%q) changed the length", s)
		}
		answer.StripThinking(s)
		answer.ClassifyRefusal(nil, s)
		answer.ParseSources([]byte(s), 3)
	})
}

// Every rule takes time linear in the answer, or nearly: a quadratic one would not finish here
// within go test's own limit.
func TestLongAnswer(t *testing.T) {
	long := strings.Repeat("within 7 days [1] and 3.000.000 đ, ", 20000)
	if n := len(answer.Numbers(long)); n != 60000 {
		t.Errorf("%d numbers, want 60000", n)
	}
	if c := answer.Citations(long, 3); len(c.Markers) > 1000 {
		t.Errorf("%d markers are kept", len(c.Markers))
	}
	answer.ClassifyRefusal(nil, long)
	if r := answer.MatchFact(golden.Fact{Any: []golden.Phrasing{{Regex: `(a+)+$`}, {Text: "8 days"}}}, long); r.Found() {
		t.Errorf("found %+v", r)
	}
}
