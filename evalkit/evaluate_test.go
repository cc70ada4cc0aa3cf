package evalkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
)

func documents(t testing.TB, pairs ...string) *corpus.Collection {
	t.Helper()
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	c, err := corpus.FS("test", fsys, corpus.Options{}).Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// chunk returns a hit on the text between two marks of a document, marks included.
func chunk(t testing.TB, docs *corpus.Collection, doc, from, to string) Hit {
	t.Helper()
	d := docs.Find(corpus.DocumentID(doc))
	start := strings.Index(d.Text, from)
	end := strings.LastIndex(d.Text, to)
	if start < 0 || end < 0 {
		t.Fatalf("%s lacks %q or %q", doc, from, to)
	}
	span := corpus.Span{Start: start, End: end + len(to)}
	return Hit{
		Chunk: corpus.ChunkID(fmt.Sprintf("%s#%d-%d", doc, span.Start, span.End)), Doc: d.ID, Span: span,
		Section: corpus.FormatPath(d.Sections[d.SectionAt(start)].Path),
	}
}

// ranked numbers and scores hits in the order given.
func ranked(id string, hits ...Hit) Result {
	for i := range hits {
		hits[i].Rank, hits[i].Score = i+1, float64(len(hits)-i)
	}
	return Result{Question: id, Hits: hits}
}

func member(doc, section, quote string) golden.Member {
	return golden.Member{Doc: corpus.DocumentID(doc), Section: &section, Quote: quote, Grade: 1}
}

// TestRelevance holds what makes a chunk relevant under each rule, on real documents.
func TestRelevance(t *testing.T) {
	policy := documents(t, "p.md", "intro\n\n# Policy\n## Returns\n### Electronics\n7 days.\n### Clothes\n30 days.\n## Fees\nFree over 500.\n## Speed\nTwo days.\n", "q.md", "# Policy\n## Returns\n### Electronics\n7 days.\n")
	whole := golden.Member{Doc: "p.md", Grade: 1}
	for _, tt := range []struct {
		name     string
		rule     string
		gold     golden.Member
		doc      string
		from, to string
		want     bool
	}{
		{"same section", RuleSection, member("p.md", "Policy > Fees", ""), "p.md", "## Fees", "500.", true},
		{"tail of the section", RuleSection, member("p.md", "Policy > Fees", ""), "p.md", "over", "500.", true},
		{"CH-10 child of the gold section", RuleSection, member("p.md", "Policy > Returns", ""), "p.md", "### Clothes", "30 days.", true},
		{"parent holds the gold section whole", RuleSection, member("p.md", "Policy > Returns > Clothes", ""), "p.md", "## Returns", "30 days.", true},
		{"parent ends inside the gold section", RuleSection, member("p.md", "Policy > Returns > Clothes", ""), "p.md", "## Returns", "30", false},
		{"sibling", RuleSection, member("p.md", "Policy > Returns > Clothes", ""), "p.md", "### Electronics", "7 days.", false},
		{"ID-04 same section of another file", RuleSection, member("p.md", "Policy > Returns > Electronics", ""), "q.md", "### Electronics", "7 days.", false},
		{"CH-01 own section", RuleSection, member("p.md", "", ""), "p.md", "intro", "intro", true},
		{"CH-01 heading is not the own section", RuleSection, member("p.md", "", ""), "p.md", "# Policy", "# Policy", false},
		{"chunk from the start holds the own section", RuleSection, member("p.md", "", ""), "p.md", "intro", "7 days.", true},
		{"whole document", RuleSection, whole, "p.md", "Two", "days.", true},
		{"whole other document", RuleSection, whole, "q.md", "# Policy", "7 days.", false},

		{"CH-07 grazes the section", RuleSpan, member("p.md", "Policy > Fees", ""), "p.md", "0.\n## Speed", "Two days.", false},
		{"half of the evidence", RuleSpan, member("p.md", "Policy > Fees", ""), "p.md", "Free", "Two", true},
		{"quote inside the chunk", RuleSpan, member("p.md", "Policy > Fees", "over 500"), "p.md", "## Fees", "500.", true},
		{"quote outside the chunk", RuleSpan, member("p.md", "Policy > Fees", "over 500"), "p.md", "## Fees", "Free", false},
		{"less than half of the quote", RuleSpan, member("p.md", "Policy > Fees", "Free over 500"), "p.md", "## Fees", "Free", false},
		{"small chunk inside the evidence", RuleSpan, member("p.md", "Policy > Fees", ""), "p.md", "over", "over", true},
		{"another document", RuleSpan, member("q.md", "Policy > Returns", ""), "p.md", "## Returns", "7 days.", false},

		{"all facts", RuleFacts, member("p.md", "Policy > Fees", ""), "p.md", "Free", "Two days.", true},
		{"a fact is missing", RuleFacts, member("p.md", "Policy > Fees", ""), "p.md", "Free", "500.", false},
		{"facts of another document", RuleFacts, member("q.md", "Policy > Returns", ""), "p.md", "Free", "Two days.", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := golden.Question{ID: "q", Question: "?", Answerable: true, Gold: []golden.Group{{tt.gold}}, Facts: []golden.Fact{
				{Any: []golden.Phrasing{{Text: "free"}, {Text: "gratis"}}}, {Any: []golden.Phrasing{{Text: "two days"}}},
			}}
			set := &golden.Set{Name: "s", Version: 1, Questions: []golden.Question{q}}
			hit := chunk(t, policy, tt.doc, tt.from, tt.to)
			ev, err := Evaluate(set, policy, &Run{Results: []Result{ranked("q", hit)}}, Options{Rule: tt.rule, Measures: []string{"hit@1"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := ev.Questions[0].Measures["hit@1"] == Num(1); got != tt.want {
				t.Errorf("chunk %q of %s relevant to %v: %v, want %v", policy.Find(hit.Doc).Text[hit.Span.Start:hit.Span.End], hit.Section, tt.gold, got, tt.want)
			}
			if tt.name == "CH-10 child of the gold section" && !ev.Questions[0].Descendant {
				t.Error("not reported as matched below the gold section")
			}
		})
	}
}

// V8: a section cut into four chunks is one thing to find.
func TestOneSectionInFourChunks(t *testing.T) {
	docs := documents(t, "a.md", "# S\none two three four five six seven eight\n")
	set := &golden.Set{Questions: []golden.Question{{ID: "q", Answerable: true, Gold: []golden.Group{{member("a.md", "S", "")}}}}}
	for _, rule := range []string{RuleSection, RuleSpan} {
		ev, err := Evaluate(set, docs, &Run{Results: []Result{ranked("q", chunk(t, docs, "a.md", "three", "four"))}}, Options{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		if got := ev.Questions[0].Measures["recall@3"]; got != Num(1) {
			t.Errorf("V8, rule %s: recall@3 = %v, want 1", rule, got)
		}
	}
}

func TestSpanMeasures(t *testing.T) {
	//                                01234567890123456789
	docs := documents(t, "a.txt", "abcdefghijklmnopqrst", "b.txt", "0123456789")
	quote := func(doc, text string) golden.Member {
		return golden.Member{Doc: corpus.DocumentID(doc), Quote: text, Grade: 1}
	}
	set := &golden.Set{Questions: []golden.Question{{ID: "q", Answerable: true, Gold: []golden.Group{
		{quote("a.txt", "efghij")}, {quote("a.txt", "mnop"), quote("b.txt", "23456")},
	}}}}
	run := &Run{Results: []Result{ranked("q",
		chunk(t, docs, "a.txt", "c", "g"), // 2–7: 3 of efghij
		chunk(t, docs, "a.txt", "f", "h"), // 5–8: one byte more
		chunk(t, docs, "b.txt", "2", "5"), // 4 of 23456, which now covers better than mnop
	)}}
	ev, err := Evaluate(set, docs, run, Options{Rule: RuleSpan, Measures: spanFamilies, Cutoffs: []int{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	// @1: delivered 5, gold 6+4 (mnop, first of two uncovered), shared 3.
	// @2: delivered 2–8 = 6, shared 4. @3: delivered 10, gold 6+5, shared 8.
	want := map[string]Value{
		"char_recall@1": Num(3.0 / 10), "char_precision@1": Num(3.0 / 5), "char_iou@1": Num(3.0 / 12),
		"char_recall@2": Num(4.0 / 10), "char_precision@2": Num(4.0 / 6), "char_iou@2": Num(4.0 / 12),
		"char_recall@3": Num(8.0 / 11), "char_precision@3": Num(8.0 / 10), "char_iou@3": Num(8.0 / 13),
	}
	if diff := cmp.Diff(want, ev.Questions[0].Measures); diff != "" {
		t.Errorf("measures (-want +got):\n%s", diff)
	}
	if got := ev.Measures["char_recall@3"]; got.Pooled != Num(8.0/11) || got.Num != 8 || got.Den != 11 {
		t.Errorf("pooled = %+v", got)
	}
	empty, err := Evaluate(set, docs, &Run{}, Options{Rule: RuleSpan, Measures: []string{"char_recall@1", "char_precision@1", "char_iou@1"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range empty.Questions[0].Measures {
		if v != Num(0) {
			t.Errorf("empty result: %s = %v, want 0", name, v)
		}
	}
}

// TestCounting holds the cases about which questions enter a mean.
func TestCounting(t *testing.T) {
	three := []golden.Question{question("q1", "a"), question("q2", "a"), question("q3", "a")}
	o := Options{Measures: []string{"rr@5", "hit@3"}}
	t.Run("ME-05 missing topic", func(t *testing.T) {
		ev := mustEvaluate(t, o, three, ranking("q1", "a"), ranking("q2", "x", "a"))
		got := ev.Measures["rr@5"]
		if got.Mean != Num(.5) || got.NScored != 3 || got.NNoResult != 1 || !strings.Contains(fmt.Sprint(ev.Warnings), "q3") {
			t.Errorf("rr@5 = %+v, warnings %v", got, ev.Warnings)
		}
	})
	t.Run("ME-05 unknown topic", func(t *testing.T) {
		_, err := Evaluate(&golden.Set{Questions: three}, nil, &Run{Results: []Result{ranking("q9", "a")}}, o)
		if !errors.Is(err, ErrUnknownQuestion) || !strings.Contains(err.Error(), "q9") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("ME-06 unanswerable", func(t *testing.T) {
		qs := []golden.Question{question("q1", "a"), question("q2", "a"), question("q3", "")}
		ev := mustEvaluate(t, Options{}, qs, ranking("q1", "a"), ranking("q2", "x", "a"), ranking("q3", "a"))
		if got := ev.Measures["rr@5"]; got.Mean != Num(.75) || got.NScored != 2 || got.NNA != 1 {
			t.Errorf("rr@5 = %+v", got)
		}
		for name, v := range ev.Questions[2].Measures {
			if v.OK {
				t.Errorf("unanswerable: %s = %v, want n/a", name, v)
			}
		}
		for name, m := range ev.Measures {
			if m.NScored != 2 || m.NNA != 1 {
				t.Errorf("%s: n_scored %d, n_na %d", name, m.NScored, m.NNA)
			}
		}
		data, err := ev.Encode()
		if err != nil || bytes.Contains(data, []byte("NaN")) {
			t.Errorf("Encode: %v", err)
		}
		if ev.Questions[2].Status != StatusNA || ev.Counts.Unanswerable != 1 || ev.Counts.NoResult != 0 {
			t.Errorf("status %q, counts %+v", ev.Questions[2].Status, ev.Counts)
		}
	})
	t.Run("ME-07 failed query", func(t *testing.T) {
		ev := mustEvaluate(t, o, three, ranking("q1", "a"), ranking("q2", "a"), Result{Question: "q3", Err: "timeout"})
		if got := ev.Measures["hit@3"]; got.Mean != Num(2.0/3) || got.NScored != 3 || got.NError != 1 {
			t.Errorf("hit@3 = %+v", got)
		}
		if ev.Counts.Error != 1 || ev.Counts.Errors[0] != "q3" || ev.Questions[2].Status != StatusError {
			t.Errorf("counts %+v", ev.Counts)
		}
	})
	t.Run("nothing to score", func(t *testing.T) {
		ev := mustEvaluate(t, o, []golden.Question{question("q", "")}, ranking("q", "a"))
		got := ev.Measures["hit@3"]
		if got.Mean.OK || got.CI != nil || got.NScored != 0 {
			t.Errorf("hit@3 = %+v", got)
		}
	})
	t.Run("drafts and retired", func(t *testing.T) {
		qs := slices.Clone(three)
		qs[1].State, qs[2].State = golden.Draft, golden.Retired
		ev := mustEvaluate(t, o, qs, ranking("q1", "a"), ranking("q2", "x"))
		if len(ev.Questions) != 1 || !strings.Contains(fmt.Sprint(ev.Warnings), "2 questions are drafts or retired") {
			t.Errorf("%d questions, warnings %v", len(ev.Questions), ev.Warnings)
		}
	})
	t.Run("split", func(t *testing.T) {
		qs := slices.Clone(three)
		qs[2].Split = golden.Holdout
		ev := mustEvaluate(t, Options{Split: golden.Dev}, qs, ranking("q1", "a"), ranking("q3", "a"))
		if len(ev.Questions) != 2 {
			t.Errorf("%d questions", len(ev.Questions))
		}
	})
}

// ST-06: the numbers on dev do not depend on the holdout.
func TestHoldoutDoesNotShow(t *testing.T) {
	qs := []golden.Question{question("q1", "a"), question("q2", "b"), question("q3", "a")}
	qs[2].Split = golden.Holdout
	o := Options{Split: golden.Dev, Seed: 3, Resamples: 100}
	rs := []Result{ranking("q1", "x", "a"), ranking("q2", "b"), ranking("q3", "a")}
	with := mustEvaluate(t, o, qs, rs...)
	without := mustEvaluate(t, o, qs[:2], rs[:2]...)
	with.Golden, without.Golden = GoldenRef{}, GoldenRef{}
	a, errA := with.Encode()
	b, errB := without.Encode()
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%v %v\n%s", errA, errB, cmp.Diff(string(b), string(a)))
	}
}

func TestMacroAndPooled(t *testing.T) {
	// recall: 1/1, 1/1, 0/1 against 1/2, 2/2, 1/1 (ME-10's fractions).
	a := mustEvaluate(t, Options{}, []golden.Question{question("q1", "a"), question("q2", "a"), question("q3", "a")},
		ranking("q1", "a"), ranking("q2", "a"), ranking("q3", "x")).Measures["recall@3"]
	b := mustEvaluate(t, Options{}, []golden.Question{question("q1", "a b"), question("q2", "a b"), question("q3", "a")},
		ranking("q1", "a"), ranking("q2", "a", "b"), ranking("q3", "a")).Measures["recall@3"]
	if math.Abs(a.Mean.V-.6667) > 5e-5 || a.Num != 2 || a.Den != 3 || math.Abs(a.Pooled.V-2.0/3) > 1e-12 {
		t.Errorf("ME-10 A: %+v", a)
	}
	if math.Abs(b.Mean.V-.8333) > 5e-5 || b.Num != 4 || b.Den != 5 || b.Pooled != Num(.8) {
		t.Errorf("ME-10 B: %+v", b)
	}
}

func TestOptions(t *testing.T) {
	set := &golden.Set{Questions: []golden.Question{question("q", "a")}}
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"ME-08 zero", Options{Cutoffs: []int{0}}, "cutoff 0"},
		{"ME-08 negative", Options{Cutoffs: []int{3, -1}}, "cutoff -1"},
		{"ME-08 name zero", Options{Measures: []string{"hit@0"}}, `cutoff "0"`},
		{"ME-08 fraction", Options{Measures: []string{"hit@1.5"}}, `cutoff "1.5"`},
		{"ME-08 word", Options{Measures: []string{"hit@three"}}, `cutoff "three"`},
		{"rule", Options{Rule: "sect"}, `rule "sect" is not known`},
		{"view", Options{View: "x"}, `view "x" is not known`},
		{"split", Options{Split: "x"}, `split "x" is not known`},
		{"measure", Options{Measures: []string{"mrr"}}, `measure "mrr": not known`},
		{"span without documents", Options{Rule: RuleSpan}, "needs the documents"},
		{"char without documents", Options{Measures: []string{"char_iou@3"}}, "needs the documents"},
		{"count", Options{Measures: []string{"num_ret"}}, "use score on TREC files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Evaluate(set, nil, &Run{}, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Evaluate(nil, nil, nil, Options{}); err == nil {
		t.Error("nil set and run are accepted")
	}
}

func TestBadRuns(t *testing.T) {
	docs := documents(t, "a.md", "# A\nx\n")
	set := &golden.Set{Questions: []golden.Question{{ID: "q", Answerable: true, Gold: []golden.Group{{member("a.md", "A", "")}}}}}
	good := chunk(t, docs, "a.md", "# A", "x")
	with := func(change func(*Hit)) Result {
		h := good
		change(&h)
		return Result{Question: "q", Hits: []Hit{h}}
	}
	for _, tt := range []struct {
		name string
		run  []Result
		want string
	}{
		{"NaN", []Result{with(func(h *Hit) { h.Score = math.NaN() })}, "score NaN is no finite number"},
		{"infinite", []Result{with(func(h *Hit) { h.Score = math.Inf(1) })}, "no finite number"},
		{"unknown document", []Result{with(func(h *Hit) { h.Doc = "b.md" })}, `unknown document "b.md"`},
		{"span outside", []Result{with(func(h *Hit) { h.Span.End = 99 })}, "span 0-99 is outside a.md"},
		{"other version", []Result{with(func(h *Hit) { h.DocVersion = "abc" })}, "the run saw abc"},
		{"no id", []Result{with(func(h *Hit) { h.Chunk = "" })}, "has no chunk id"},
		{"repeated chunk", []Result{{Question: "q", Hits: []Hit{good, good}}}, "is returned twice"},
		{"repeated question", []Result{with(func(*Hit) {}), with(func(*Hit) {})}, `question "q" has two results`},
		{"unknown section", []Result{with(func(h *Hit) { h.Span, h.Section = corpus.Span{}, "B" })}, `no section "B"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Evaluate(set, docs, &Run{Results: tt.run}, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
	missing := &golden.Set{Questions: []golden.Question{{ID: "q", Answerable: true, Gold: []golden.Group{{member("a.md", "Ab", "")}}}}}
	if _, err := Evaluate(missing, docs, &Run{}, Options{}); err == nil || !strings.Contains(err.Error(), `did you mean "A"?`) {
		t.Errorf("GO-01: %v", err)
	}
	quote := &golden.Set{Questions: []golden.Question{{ID: "q", Answerable: true, Gold: []golden.Group{{member("a.md", "A", "y")}}}}}
	if _, err := Evaluate(quote, docs, &Run{}, Options{}); err == nil || !strings.Contains(err.Error(), "does not hold the quote") {
		t.Errorf("missing quote: %v", err)
	}
}

// Order is score descending, then id descending byte-wise, whatever order the run has.
func TestOrder(t *testing.T) {
	hits := []Hit{
		{Chunk: "a", Doc: "d", Section: "a", Score: 1, Rank: 1},
		{Chunk: "b", Doc: "d", Section: "b", Score: 2, Rank: 2},
		{Chunk: "é", Doc: "d", Section: "e", Score: 1, Rank: 3},
		{Chunk: "z", Doc: "d", Section: "z", Score: 1, Rank: 4},
	}
	ev := mustEvaluate(t, Options{}, []golden.Question{question("q", "a")}, Result{Question: "q", Hits: hits})
	q := ev.Questions[0]
	if diff := cmp.Diff([]corpus.ChunkID{"b", "é", "z", "a"}, q.Hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 4}, q.TieAt); diff != "" {
		t.Errorf("ties (-want +got):\n%s", diff)
	}
	if q.FirstRank != 4 || len(ev.Warnings) != 1 || !strings.Contains(ev.Warnings[0], "the order is score descending") {
		t.Errorf("first rank %d, warnings %v", q.FirstRank, ev.Warnings)
	}
}

func TestLeaks(t *testing.T) {
	docs := documents(t, "a.md", "# A\nx\n", "staff.md", "---\nacl: [staff]\n---\n# S\ny\n", "old.md", "# O\nz\n")
	q := golden.Question{ID: "q", Answerable: true, Gold: []golden.Group{{member("a.md", "A", "")}}, Forbidden: []corpus.DocumentID{"old.md"}}
	none := golden.Question{ID: "n", Forbidden: []corpus.DocumentID{"old.md"}}
	staff := golden.Question{ID: "s", As: []string{"staff"}}
	hits := func() []Hit {
		return []Hit{chunk(t, docs, "a.md", "x", "x"), chunk(t, docs, "staff.md", "y", "y"), chunk(t, docs, "old.md", "z", "z")}
	}
	ev, err := Evaluate(&golden.Set{Questions: []golden.Question{q, none, staff}}, docs,
		&Run{Results: []Result{ranked("q", hits()...), ranked("n", hits()...), ranked("s", hits()...)}}, Options{Cutoffs: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Leak{{2, "staff.md", "acl"}, {3, "old.md", "forbidden"}}
	if diff := cmp.Diff(want, ev.Questions[0].Leaks); diff != "" {
		t.Errorf("leaks beyond the cutoff (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, ev.Questions[1].Leaks); diff != "" {
		t.Errorf("leaks of an unanswerable question (-want +got):\n%s", diff)
	}
	if ev.Questions[2].Leaks != nil || ev.Counts.Leaks != 4 {
		t.Errorf("staff: %v, all: %d", ev.Questions[2].Leaks, ev.Counts.Leaks)
	}
}

// The sections view folds to what the gold names: sections below one gold section count once,
// and with gold on whole documents everything folds to documents.
func TestSectionsView(t *testing.T) {
	docs := documents(t, "a.md", "# P\n## R\n### E\n7\n### C\n30\n", "b.md", "# X\nx\n## Y\ny\n")
	evaluate := func(gold golden.Member, hits ...Hit) QuestionResult {
		set := &golden.Set{Questions: []golden.Question{{ID: "q", Answerable: true, Gold: []golden.Group{{gold}}}}}
		ev, err := Evaluate(set, docs, &Run{Results: []Result{ranked("q", hits...)}}, Options{View: ViewSections})
		if err != nil {
			t.Fatal(err)
		}
		return ev.Questions[0]
	}
	e, c := chunk(t, docs, "a.md", "### E", "7"), chunk(t, docs, "a.md", "### C", "30")
	x, y := chunk(t, docs, "b.md", "# X", "x"), chunk(t, docs, "b.md", "## Y", "y")
	if q := evaluate(member("a.md", "P > R", ""), e, c, x, y); q.Evidence.Returned != 3 || q.Measures["p@3"] != Num(1.0/3) {
		t.Errorf("two sections below one gold section: %+v", q.Evidence)
	}
	if q := evaluate(golden.Member{Doc: "a.md", Grade: 1}, x, y, e, c); q.Evidence.Returned != 2 || q.Measures["rr@5"] != Num(.5) {
		t.Errorf("whole documents: %+v", q.Evidence)
	}
}

func TestJSONKeys(t *testing.T) {
	docs := documents(t, "a.md", "# A\nx\n")
	set := &golden.Set{Name: "g", Version: 2, Questions: []golden.Question{
		{ID: "q", Answerable: true, Slice: []string{"s"}, Gold: []golden.Group{{member("a.md", "A", "")}}}, {ID: "n"},
	}}
	ev, err := Evaluate(set, docs, &Run{Tag: "r", Build: "b", Results: []Result{ranked("q", chunk(t, docs, "a.md", "# A", "x"))}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := ev.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatal(err)
	}
	need := func(where string, m any, keys ...string) {
		t.Helper()
		for _, k := range keys {
			if _, ok := m.(map[string]any)[k]; !ok {
				t.Errorf("%s lacks %q: has %v", where, k, slices.Sorted(maps.Keys(m.(map[string]any))))
			}
		}
	}
	need("eval", top, "schema", "run", "build", "golden", "rule", "view", "cutoffs", "measures", "random", "slices", "questions")
	need("golden", top["golden"], "name", "version", "digest")
	hit := top["measures"].(map[string]any)["hit@3"]
	need("hit@3", hit, "mean", "n_scored", "n_na", "n_no_result", "n_error", "ci", "ci_method")
	if ci := hit.(map[string]any)["ci"].([]any); len(ci) != 2 {
		t.Errorf("ci = %v", ci)
	}
	need("random", top["random"], "hit@3")
	need("slices", top["slices"], "s")
	q := top["questions"].([]any)
	need("question", q[0], "id", "answerable", "slice", "measures", "first_rank", "hits", "sections")
	if v := q[1].(map[string]any)["measures"].(map[string]any)["hit@3"]; v != nil {
		t.Errorf("n/a is %v in JSON, want null", v)
	}
	if !bytes.HasPrefix(data, []byte("{\n  \"schema\"")) {
		t.Errorf("schema does not lead: %.40s", data)
	}
	var again Evaluation
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ev, &again); diff != "" {
		t.Errorf("JSON does not round-trip (-want +got):\n%s", diff)
	}
	if got := again.Value("q", "hit@3"); got != Num(1) {
		t.Errorf("Value = %v", got)
	}
}

// ME-09: 31 topics, 50 evaluations, 1 and 8 workers: the same bytes.
func TestRepeatable(t *testing.T) {
	var qs []golden.Question
	var rs []Result
	for i := range 31 {
		id := fmt.Sprintf("q%02d", i)
		q := question(id, "a b|c")
		q.Slice = []string{"all", fmt.Sprint(i % 3)}
		qs = append(qs, q)
		rs = append(rs, ranking(id, append(x(2+i*2), "a", "c")...))
	}
	var want []byte
	for i := range 50 {
		ev := mustEvaluate(t, Options{Workers: 1 + i%2*7, Resamples: 200, Seed: 5, Cutoffs: []int{3, 100}}, qs, rs...)
		got, err := ev.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(want, got) {
			t.Fatalf("evaluation %d differs", i)
		}
	}
}

func TestRecord(t *testing.T) {
	docs := documents(t, "a.md", "# A\nx\n# B\ny\n")
	set := &golden.Set{Name: "g", Version: 1, Questions: []golden.Question{
		{ID: "q", Answerable: true, Slice: []string{"s"}, Gold: []golden.Group{{member("a.md", "A", "")}}},
		{ID: "r", Answerable: true, Gold: []golden.Group{{member("a.md", "B", "")}, {member("a.md", "A", "")}}}, {ID: "n"},
	}}
	hits := func() []Hit {
		a, b := chunk(t, docs, "a.md", "# A", "x"), chunk(t, docs, "a.md", "# B", "y")
		a.Vector, a.Text = &Component{Rank: 1, Score: .5}, "# A\nx"
		return []Hit{a, b}
	}
	run := &Run{Tag: "r", Build: "b", Results: []Result{ranked("q", hits()...), ranked("r", hits()...)}}
	make := func() *Record {
		ev, err := Evaluate(set, docs, run, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		r := NewRecord(ev, run)
		r.Settings = map[string]string{"chunk.kind": "section", "seed": "1"}
		r.Questions[0].Answer = json.RawMessage(`{"answer":"x"}`)
		return r
	}
	dir := t.TempDir()
	r := make()
	times := NewTimes(time.Time{}, time.Time{}, map[string]time.Duration{"q": 3, "r": 1, "n": 2})
	if times.P50 != 2 || times.P95 != 3 {
		t.Errorf("p50 %d, p95 %d", times.P50, times.P95)
	}
	if err := r.Write(nil, dir, times); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Run) != 12 {
		t.Errorf("run id %q", r.Run)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got.Questions[0].Ranked[0].Text != "" || got.Questions[0].Ranked[0].Vector == nil {
		t.Error("hits are stored with text or without components")
	}
	if err := got.Recompute(); err != nil {
		t.Errorf("Recompute: %v", err)
	}
	if tm, err := ReadTimes(dir); err != nil || tm.Run != r.Run || tm.P95 != 3 {
		t.Errorf("times %+v, %v", tm, err)
	}
	again := make()
	a, b, err := again.Encode()
	if err != nil {
		t.Fatal(err)
	}
	a2, b2, err := make().Encode()
	if err != nil || !bytes.Equal(a, a2) || !bytes.Equal(b, b2) {
		t.Errorf("two records of one run differ (%v)", err)
	}

	for _, edit := range []struct{ name, from, to string }{
		{"mean", `"mean": 1`, `"mean": 0`},
		{"policy", `"seed": "1"`, `"seed": "2"`},
	} {
		if _, err := DecodeRecord(bytes.Replace(a, []byte(edit.from), []byte(edit.to), 1), b); !errors.Is(err, ErrRecord) {
			t.Errorf("edited %s: %v", edit.name, err)
		}
	}
	if _, err := DecodeRecord(a, bytes.Replace(b, []byte(`"first_rank":1`), []byte(`"first_rank":2`), 1)); !errors.Is(err, ErrRecord) {
		t.Errorf("edited question: %v", err)
	}

	// Values that do not follow from the evidence are found even where the digest fits.
	for name, change := range map[string]func(*Evaluation){
		"mean":     func(e *Evaluation) { e.Measures["hit@3"].Mean = Num(.5) },
		"count":    func(e *Evaluation) { e.Measures["hit@3"].NNA++ },
		"pooled":   func(e *Evaluation) { e.Measures["recall@3"].Num++ },
		"slice":    func(e *Evaluation) { e.Slices["s"].Measures["rr@5"].Mean = Num(0) },
		"question": func(e *Evaluation) { e.Questions[0].Measures["ndcg@5"] = Num(.25) },
		"rank":     func(e *Evaluation) { e.Questions[0].FirstRank = 7 },
		"evidence": func(e *Evaluation) { e.Questions[0].Evidence.Relevant = []int{9} },
	} {
		ev, err := Evaluate(set, docs, run, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		change(ev)
		if ev.Recompute() == nil {
			t.Errorf("changed %s is not noticed", name)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"schema":"assay.record/v1","evaluation":{"questions":[]}}`), []byte("{}\n"))
	f.Fuzz(func(t *testing.T, record, questions []byte) {
		r, err := DecodeRecord(record, questions)
		if err != nil {
			return
		}
		if _, _, err := r.Encode(); err != nil {
			t.Fatal(err)
		}
		_ = r.Recompute()
	})
}
