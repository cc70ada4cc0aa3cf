package review

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
)

func ptr(s string) *string { return &s }

const yamlFile = `# who decided what, and why
schema: assay.review/v1
decisions:
  - question: q1
    decision: label_wrong
    author: Ada
    reason: The FAQ says the same.
    date: "2026-04-01"
    add:
      - {doc: faq.md, section: Sale items}
  - question: q2
    decision: metric_wrong
    author: Ben
    reason: Both lists answer it.
    builds: [live, cand]
    measure: hit@3
    values: {live: 1, cand: 1}
  - question: q3
    decision: regression
    author: Ada
    reason: |-
      The old list was right.
      It still is.
`

func decisions() []Decision {
	return []Decision{
		{Question: "q1", Decision: LabelWrong, Author: "Ada", Reason: "The FAQ says the same.", Date: "2026-04-01",
			Add: []Place{{Doc: "faq.md", Section: ptr("Sale items")}}, Line: 4},
		{Question: "q2", Decision: MetricWrong, Author: "Ben", Reason: "Both lists answer it.", Builds: []string{"live", "cand"},
			Measure: "hit@3", Values: map[string]float64{"live": 1, "cand": 1}, Line: 11},
		{Question: "q3", Decision: Regression, Author: "Ada", Reason: "The old list was right.\nIt still is.", Line: 18},
	}
}

func TestFile(t *testing.T) {
	f, err := Parse("review.yaml", []byte(yamlFile))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(decisions(), f.Decisions); d != "" {
		t.Errorf("Parse (-want +got):\n%s", d)
	}
	if d := cmp.Diff(Counts{Reviewed: 3, Regressions: 1, LabelWrong: 1, MetricWrong: 1}, f.Counts()); d != "" {
		t.Errorf("Counts (-want +got):\n%s", d)
	}
	for _, name := range []string{"r.yaml", "r.jsonl"} {
		t.Run("save and load "+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			empty, err := Load(path)
			if err != nil || len(empty.Decisions) != 0 {
				t.Fatalf("a file that is not there: %+v, %v", empty, err)
			}
			for _, d := range f.Decisions {
				if err := empty.Add(d); err != nil {
					t.Fatal(err)
				}
			}
			if err := empty.Save(path); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if err != nil {
				data, _ := os.ReadFile(path)
				t.Fatalf("%v\n%s", err, data)
			}
			if d := cmp.Diff(decisions(), got.Decisions, cmpopts.IgnoreFields(Decision{}, "Line")); d != "" {
				t.Errorf("Load (-want +got):\n%s", d)
			}
		})
	}
	if err := f.Add(Decision{Question: "q9", Decision: Tie, Reason: "same"}); err == nil || !strings.Contains(err.Error(), "author is missing") {
		t.Errorf("a decision without author: %v", err)
	}
}

func TestFileFaults(t *testing.T) {
	head := "schema: assay.review/v1\ndecisions:\n"
	for _, row := range []struct{ name, file, text, want string }{
		{"unknown key", "r.yaml", head + "  - {question: q1, decision: tie, author: A, reasn: x}\n", "r.yaml:3: "},
		{"unknown key in a place", "r.yaml", head + "  - question: q1\n    decision: label_wrong\n    author: A\n    reason: x\n    add:\n      - {doc: a.md, secton: X}\n", "r.yaml:8: "},
		{"no reason", "r.yaml", head + "  - {question: q1, decision: tie, author: A}\n", "r.yaml:3: reason is missing"},
		{"misspelt decision", "r.yaml", head + "  - {question: q1, decision: regresion, author: A, reason: x}\n", `did you mean "regression"?`},
		{"blank instead of underscore", "r.yaml", head + "  - {question: q1, decision: metric wrong, author: A, reason: x}\n", `did you mean "metric_wrong"?`},
		{"correction for one build only", "r.yaml", head + "  - {question: q1, decision: metric_wrong, author: A, reason: x, measure: hit@3, builds: [a, b], values: {b: 1}}\n", "no value for build a: a correction re-scores both builds"},
		{"correction without builds", "r.yaml", head + "  - {question: q1, decision: metric_wrong, author: A, reason: x, measure: hit@3, values: {b: 1}}\n", "needs builds"},
		{"value out of range", "r.yaml", head + "  - {question: q1, decision: metric_wrong, author: A, reason: x, measure: hit@3, builds: [a, b], values: {a: 1, b: 3}}\n", "value 3 for build b"},
		{"label_wrong that says nothing", "r.yaml", head + "  - {question: q1, decision: label_wrong, author: A, reason: x}\n", "needs add, remove or retire"},
		{"gold under tie", "r.yaml", head + "  - {question: q1, decision: tie, author: A, reason: x, retire: true}\n", "belong to label_wrong"},
		{"null entry", "r.yaml", head + "  - ~\n", "r.yaml:"},
		{"another schema", "r.yaml", "schema: v2\ndecisions: []\n", `schema is "v2"`},
		{"broken", "r.yaml", "decisions: [", "r.yaml:1: "},
		{"date", "r.yaml", head + "  - {question: q1, decision: tie, author: A, reason: x, date: 1.4.26}\n", "not of the form"},
		{"jsonl unknown key", "r.jsonl", "\n{\"question\":\"q1\",\"decision\":\"tie\",\"author\":\"A\",\"why\":\"x\"}\n", "r.jsonl:2: unknown field \"why\""},
		{"jsonl repeated key", "r.jsonl", `{"question":"q1","decision":"tie","author":"A","reason":"x","author":"B"}`, `r.jsonl:1: key "author" is given twice`},
		{"jsonl two on a line", "r.jsonl", `{"question":"q1","decision":"tie","author":"A","reason":"x"} {}`, "something follows"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := Parse(row.file, []byte(row.text))
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Parse = %+v, %v; want %q", f, err, row.want)
			}
		})
	}
}

// set is three questions over two documents.
func set() *golden.Set {
	q := func(id, doc, section string) golden.Question {
		return golden.Question{ID: id, Question: id + "?", Answerable: true, Split: golden.Dev, State: golden.Accepted,
			Gold: []golden.Group{{{Doc: corpus.DocumentID(doc), Section: &section, Grade: 1}}}}
	}
	return &golden.Set{Schema: golden.Schema, Name: "test", Version: 3, Questions: []golden.Question{
		q("q1", "returns.md", "Sale"), q("q2", "returns.md", "Conditions"), q("q3", "faq.md", "Hours"),
	}}
}

// run returns one hit per question, at the given places.
func run(build string, places ...[2]string) *evalkit.Run {
	r := &evalkit.Run{Tag: build, Build: build}
	for i, p := range places {
		r.Results = append(r.Results, evalkit.Result{Question: []string{"q1", "q2", "q3"}[i], Hits: []evalkit.Hit{{
			Chunk: corpus.ChunkID(p[0] + "#" + p[1]), Doc: corpus.DocumentID(p[0]), Section: p[1], Score: 1, Rank: 1,
		}}})
	}
	return r
}

func TestRescore(t *testing.T) {
	// q1: the live build finds the labelled section, the candidate the FAQ's. q2: neither.
	live := run("live", [2]string{"returns.md", "Sale"}, [2]string{"faq.md", "Hours"}, [2]string{"faq.md", "Hours"})
	cand := run("cand", [2]string{"faq.md", "Sale items"}, [2]string{"faq.md", "Hours"}, [2]string{"faq.md", "Hours"})
	f := &File{Decisions: decisions()}
	s := set()
	r, err := Rescore(s, nil, []*evalkit.Run{live, cand}, evalkit.Options{Cutoffs: []int{3}, Resamples: -1}, f)
	if err != nil {
		t.Fatal(err)
	}
	mean := func(e *evalkit.Evaluation) string { return e.Measures["hit@3"].Mean.String() }
	got := []string{mean(r.Before[0]), mean(r.After[0]), mean(r.Before[1]), mean(r.After[1])}
	// live: 2/3 → 3/3 (q2 by the metric correction); cand: 1/3 → 3/3 (q1 by the label, q2 by the metric).
	if d := cmp.Diff([]string{"0.6667", "1.0000", "0.3333", "1.0000"}, got); d != "" {
		t.Errorf("before and after (-want +got):\n%s", d)
	}
	if r.Set.Version != 4 || r.Set.Digest() == s.Digest() {
		t.Errorf("the corrected set has version %d and digest %s", r.Set.Version, r.Set.Digest())
	}
	if r.After[0].Golden != r.After[1].Golden || r.After[0].Golden == r.Before[0].Golden {
		t.Errorf("golden: before %v, after %v and %v", r.Before[0].Golden, r.After[0].Golden, r.After[1].Golden)
	}
	if d := cmp.Diff(set(), s); d != "" {
		t.Errorf("the original set changed:\n%s", d)
	}
	want := []string{
		"q1: gold + faq.md > Sale items (Ada: The FAQ says the same.)",
		"q2: hit@3 of build live 0.0000 → 1.0000 (Ben: Both lists answer it.)",
		"q2: hit@3 of build cand 0.0000 → 1.0000 (Ben: Both lists answer it.)",
	}
	if d := cmp.Diff(want, r.Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	table := r.Table("hit@3")
	for _, w := range []string{"live                     0.6667   1.0000", "cand                     0.3333   1.0000", "3 questions reviewed: 1 labels and 1 values overturned"} {
		if !strings.Contains(table, w) {
			t.Errorf("table lacks %q:\n%s", w, table)
		}
	}
	if m := r.After[0].Measures["hit@3"]; m.CI == nil || m.CIMethod != "wilson" || m.Pooled.OK {
		t.Errorf("recomputed summary %+v", m)
	}
}

func TestCorrect(t *testing.T) {
	place := func(doc, section string) Place { return Place{Doc: corpus.DocumentID(doc), Section: &section} }
	label := func(q string, d Decision) []Decision {
		d.Question, d.Decision, d.Author, d.Reason = q, LabelWrong, "A", "x"
		return []Decision{d}
	}
	t.Run("exchange", func(t *testing.T) {
		c, changes, err := Correct(set(), label("q1", Decision{Add: []Place{place("faq.md", "Sale items")}, Remove: []Place{place("returns.md", "Sale")}}))
		if err != nil || len(changes) != 2 || len(c.Questions[0].Gold) != 1 || c.Questions[0].Gold[0][0].Doc != "faq.md" {
			t.Errorf("%v %v %+v", changes, err, c.Questions[0].Gold)
		}
	})
	t.Run("further entry that must be found", func(t *testing.T) {
		p := place("faq.md", "Sale items")
		p.Group = 2
		c, _, err := Correct(set(), label("q1", Decision{Add: []Place{p}}))
		if err != nil || len(c.Questions[0].Gold) != 2 {
			t.Errorf("%v %+v", err, c.Questions[0].Gold)
		}
		p.Group = 3
		if _, _, err := Correct(set(), label("q1", Decision{Add: []Place{p}})); err == nil {
			t.Error("group 3 of 1")
		}
	})
	t.Run("retire", func(t *testing.T) {
		c, _, err := Correct(set(), label("q3", Decision{Retire: true}))
		if err != nil || c.Questions[2].State != golden.Retired || len(c.Select(golden.All)) != 2 {
			t.Errorf("%v %+v", err, c.Questions[2])
		}
	})
	t.Run("applied already", func(t *testing.T) {
		d := label("q1", Decision{Add: []Place{place("returns.md", "Sale")}, Remove: []Place{place("x.md", "Y")}})
		c, changes, err := Correct(set(), d)
		if err != nil || c.Version != 3 || len(changes) != 2 || c.Digest() != set().Digest() {
			t.Errorf("%v %v version %d", changes, err, c.Version)
		}
	})
	t.Run("refused", func(t *testing.T) {
		if _, _, err := Correct(set(), label("q1", Decision{Remove: []Place{place("returns.md", "Sale")}})); err == nil || !strings.Contains(err.Error(), "nothing is left") {
			t.Errorf("removing the last gold: %v", err)
		}
		if _, _, err := Correct(set(), label("q7", Decision{Retire: true})); err == nil || !strings.Contains(err.Error(), "no such question") {
			t.Errorf("unknown question: %v", err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("r.yaml", []byte(yamlFile))
	f.Add("r.jsonl", []byte(`{"question":"q1","decision":"tie","author":"A","reason":"x"}`))
	f.Add("r.yaml", []byte("decisions: [~]"))
	f.Add("r.yaml", []byte("decisions: &a [*a]"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if name != "r.jsonl" {
			name = "r.yaml"
		}
		file, err := Parse(name, data)
		if err != nil {
			return
		}
		out, err := file.Encode(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(name, out)
		if err != nil {
			t.Fatalf("what was accepted does not parse back: %v\n%s", err, out)
		}
		if d := cmp.Diff(file.Decisions, again.Decisions, cmpopts.IgnoreFields(Decision{}, "Line"), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("round trip (-want +got):\n%s\n%s", d, out)
		}
	})
}
