package trec

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
)

// TestMalformed: every fault is named with file and line.
func TestMalformed(t *testing.T) {
	qrels := func(file, s string) error { _, err := ReadQrels(file, strings.NewReader(s)); return err }
	run := func(file, s string) error { _, err := ReadRun(file, strings.NewReader(s)); return err }
	stream := func(file, s string) error {
		for _, err := range Rankings(file, strings.NewReader(s)) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	beir := func(file, s string) error { _, err := ReadBEIRQrels(file, strings.NewReader(s)); return err }
	queries := func(file, s string) error { _, err := ReadBEIRQueries(file, strings.NewReader(s)); return err }
	ranxRun := func(file, s string) error { _, err := ReadRanxRun(file, "t", []byte(s)); return err }
	ranxQrels := func(file, s string) error { _, err := ReadRanxQrels(file, []byte(s)); return err }
	ragas := func(file, s string) error { _, err := ReadRagas(file, strings.NewReader(s)); return err }
	for _, tt := range []struct {
		name string
		read func(file, s string) error
		in   string
		want string
	}{
		{"qrels: three fields", qrels, "q1 0 d1 1\nq1 0 d2\n", "f:2: 3 fields"},
		{"qrels: five fields", qrels, "q1 0 d1 1 x\n", "f:1: 5 fields"},
		{"qrels: grade is no integer", qrels, "# c\n\nq1 0 d1 1.5\n", `f:3: grade "1.5" is no whole number`},
		{"qrels: huge grade", qrels, "q1 0 d1 99999\n", "f:1: grade 99999 is outside"},
		{"qrels: repeated", qrels, "q1 0 d1 1\nq1 1 d1 0\n", "f:2: topic q1: document d1 is judged twice"},
		{"qrels: empty", qrels, "# nothing\n", "f: no judgments"},
		{"qrels: not UTF-8", qrels, "q1 0 d\xff 1\n", "f:1: not valid UTF-8"},
		{"run: five fields", run, "q1 Q0 d1 1 2.0\n", "f:1: 5 fields"},
		{"run: NaN", run, "q1 Q0 d1 1 nan t\n", `f:1: score "nan" is no finite number`},
		{"run: infinite", run, "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 -Inf t\n", `f:2: score "-Inf"`},
		{"run: overflow", run, "q1 Q0 d1 1 1e999 t\n", `f:1: score "1e999"`},
		{"run: rank", run, "q1 Q0 d1 first 2 t\n", `f:1: rank "first" is no whole number`},
		{"run: repeated", run, "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\n# c\nq1 Q0 d1 3 0 t\n", "f:4: topic q1: document d1 again (first in line 1)"},
		{"run: repeated in a later block", run, "q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n", "f:3: topic q1: document d1 again"},
		{"run: second tag", run, "q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 u\n", `f:2: a second tag "u" after "t"`},
		{"run: empty", run, "\n", "f: no results"},
		{"stream: topic in two places", stream, "q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\n", "f:3: topic q1: the lines of the topic do not stand together"},
		{"BEIR: no heading", beir, "q1\td1\t1\n", "f:1: the heading line is missing"},
		{"BEIR: two fields", beir, "query-id\tcorpus-id\tscore\nq1\td1\n", "f:2: 2 fields"},
		{"BEIR: float grade", beir, "query-id\tcorpus-id\tscore\nq1\td1\t1.0\n", `f:2: grade "1.0"`},
		{"BEIR queries: no id", queries, `{"text":"x"}`, "f:1: a query needs _id and text"},
		{"BEIR queries: repeated", queries, "{\"_id\":\"1\",\"text\":\"x\"}\n{\"_id\":\"1\",\"text\":\"y\"}\n", "f:2: query 1 again (first in line 1)"},
		{"BEIR queries: number", queries, `{"_id":1,"text":"x"}`, "f:1: not a query"},
		{"ranx: repeated document", ranxRun, "{\"q\":{\"d\":1,\n\"d\":2}}", `f:2: topic q: document "d" again`},
		{"ranx: repeated topic", ranxRun, `{"q":{"d":1},"q":{"e":1}}`, `f:1: topic "q" again`},
		{"ranx: null", ranxRun, `{"q":{"d":null}}`, "is no number"},
		{"ranx: text", ranxRun, `{"q":{"d":"1"}}`, "is no number"},
		{"ranx: list", ranxRun, `{"q":["d"]}`, "the shape is"},
		{"ranx: cut short", ranxRun, "{\"q\":\n{\"d\":1", "f:2: not valid JSON"},
		{"ranx: goes on", ranxRun, `{"q":{"d":1}} x`, "more text after"},
		{"ranx: float grade", ranxQrels, `{"q":{"d":1.5}}`, `grade "1.5"`},
		{"ranx: overflow", ranxRun, `{"q":{"d":1e999}}`, "no finite number"},
		{"ragas: no question", ragas, "{\"user_input\":\"a\"}\n{\"response\":\"b\"}\n", "f:2: user_input is missing"},
		{"ragas: null context", ragas, `{"user_input":"a","retrieved_contexts":["x",null]}`, "retrieved_contexts: entry 2 is null"},
		{"ragas: wrong type", ragas, `{"user_input":["a"]}`, "f:1: not a ragas row"},
		{"ragas: goes on", ragas, `{"user_input":"a"} {}`, "more text after"},
		{"ragas: bad id", ragas, `{"user_input":"a","reference_context_ids":[{}]}`, "neither text nor a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.read("f", tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

const (
	someQrels = "# judgments\nq1 0 d1 2\nq1 0 d2 0\nq1 0 d3 -1\nq1\t0\td4\t1\r\nq2 0 d1 1\nq3 0 d9 0\n"
	someRun   = "\xef\xbb\xbfq1 Q0 d3 1 3.5 tag\nq1 Q0 d2 9 3.5 tag extra words\nq1 Q0 d1 2 1e-3 tag\n\nq9 Q0 d1 1 1 tag\n"
)

func read(t testing.TB) (*Qrels, *Run) {
	t.Helper()
	q, err := ReadQrels("qrels", strings.NewReader(someQrels))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadRun("run", strings.NewReader(someRun))
	if err != nil {
		t.Fatal(err)
	}
	return q, r
}

func parse(t testing.TB, names ...string) []measure.Measure {
	t.Helper()
	ms, err := measure.Expand(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// TestScoreRules holds what the documentation says of missing topics, of topics without
// relevant documents and of negative grades.
func TestScoreRules(t *testing.T) {
	q, r := read(t)
	ms := parse(t, "recip_rank", "P_2", "bpref", "judged@3", "unj_3", "num_rel", "num_q", "num_ret", "gm_map")
	s, err := Score(q, r, ms, ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := s.WriteText(&b, NamesTREC, true); err != nil {
		t.Fatal(err)
	}
	// gm_map: (1/6 · .00001 · .00001)^(1/3) = .000255.
	// q1 in order: d3 (tied with d2, greater id; unjudged by its grade −1), d2 (0), d1 (2).
	want := `recip_rank	q1	0.3333
P_2	q1	0.0000
bpref	q1	0.0000
judged@3	q1	0.6667
unj_3	q1	0.3333
num_rel	q1	2
num_ret	q1	3
recip_rank	q2	0.0000
P_2	q2	0.0000
bpref	q2	0.0000
judged@3	q2	0.0000
unj_3	q2	0.0000
num_rel	q2	1
num_ret	q2	0
recip_rank	q3	0.0000
P_2	q3	0.0000
bpref	q3	0.0000
judged@3	q3	0.0000
unj_3	q3	0.0000
num_rel	q3	0
num_ret	q3	0
recip_rank	all	0.1111
P_2	all	0.0000
bpref	all	0.0000
judged@3	all	0.2222
unj_3	all	0.1111
num_rel	all	3
num_q	all	3
num_ret	all	3
gm_map	all	0.0003
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	warnings := strings.Join(s.Warnings(), "\n")
	for _, w := range []string{"no results, counted as 0: q2, q3", "no relevant document, counted as 0: q3", "1 topics of the run are not judged and were ignored: q9"} {
		if !strings.Contains(warnings, w) {
			t.Errorf("warnings lack %q: %s", w, warnings)
		}
	}

	na, err := Score(q, r, parse(t, "recip_rank"), ScoreOptions{NA: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := na.Means[0]; got.NScored != 2 || got.NNA != 1 || got.Mean.String() != "0.1667" || na.Topics[2].Values[0].OK {
		t.Errorf("with NA: %+v", got)
	}
	if !strings.Contains(strings.Join(na.Warnings(), "\n"), "no relevant document, left out as n/a: q3") {
		t.Errorf("warnings %v", na.Warnings())
	}
	if _, err := Score(q, r, parse(t, "dup@3"), ScoreOptions{}); err == nil {
		t.Error("dup is scored without sections")
	}
	if _, err := Score(q, r, nil, ScoreOptions{}); err == nil {
		t.Error("no measures is no error")
	}
	values, ok := s.ByTopic(ms[0])
	if !ok || len(values) != 3 || values["q1"].V != 1.0/3 {
		t.Errorf("ByTopic = %v, %v", values, ok)
	}
}

// Streaming, reading whole, and any number of workers give the same values.
func TestScoreWays(t *testing.T) {
	var run, qrels strings.Builder
	for topic := range 40 {
		for d := range 30 {
			fmt.Fprintf(&run, "t%02d Q0 d%d %d %d tag\n", topic, d, d+1, (d*7+topic)%11)
			if (d+topic)%4 == 0 {
				fmt.Fprintf(&qrels, "t%02d 0 d%d %d\n", topic, d, d%3)
			}
		}
	}
	q, err := ReadQrels("q", strings.NewReader(qrels.String()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadRun("r", strings.NewReader(run.String()))
	if err != nil {
		t.Fatal(err)
	}
	ms := DefaultMeasures()
	want, err := Score(q, r, ms, ScoreOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	eight, err := Score(q, r, ms, ScoreOptions{Workers: 8})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, eight); diff != "" {
		t.Errorf("8 workers (-1 +8):\n%s", diff)
	}
	stream, err := ScoreStream(q, "r", strings.NewReader(run.String()), ms, ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stream); diff != "" {
		t.Errorf("streamed (-whole +streamed):\n%s", diff)
	}

	// Shuffled lines: the stream refuses, the files are read whole.
	lines := strings.SplitAfter(strings.TrimSuffix(run.String(), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	slices.Sort(lines)
	slices.Reverse(lines)
	lines[0], lines[len(lines)-1] = lines[len(lines)-1], lines[0]
	shuffled := strings.Join(lines, "")
	if _, err := ScoreStream(q, "r", strings.NewReader(shuffled), ms, ScoreOptions{}); !errors.Is(err, ErrSplitTopic) {
		t.Errorf("shuffled stream: %v", err)
	}
	dir := t.TempDir()
	for name, data := range map[string]string{"q": qrels.String(), "r": shuffled} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files, err := ScoreFiles(filepath.Join(dir, "q"), filepath.Join(dir, "r"), ms, ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("shuffled file (-whole +file):\n%s", diff)
	}
}

// What is written reads back.
func TestWriteAndRead(t *testing.T) {
	q, r := read(t)
	var b bytes.Buffer
	if err := q.Write(&b); err != nil {
		t.Fatal(err)
	}
	q2, err := ReadQrels("q", &b)
	if err != nil || !cmp.Equal(q.Judgments(), q2.Judgments()) {
		t.Errorf("qrels: %v", err)
	}
	b.Reset()
	if err := q.WriteBEIR(&b); err != nil {
		t.Fatal(err)
	}
	q2, err = ReadBEIRQrels("q", &b)
	if err != nil || !cmp.Equal(q.Judgments(), q2.Judgments()) {
		t.Errorf("BEIR: %v", err)
	}
	b.Reset()
	if err := q.WriteRanx(&b); err != nil {
		t.Fatal(err)
	}
	q2, err = ReadRanxQrels("q", b.Bytes())
	if err != nil || !cmp.Equal(q.Judgments(), q2.Judgments()) {
		t.Errorf("ranx: %v", err)
	}
	same := func(name string, got *Run, err error) {
		t.Helper()
		if err != nil || !cmp.Equal(got.Topics(), r.Topics()) || got.Tag != r.Tag {
			t.Fatalf("%s: %v", name, err)
		}
		for _, topic := range r.Topics() {
			if diff := cmp.Diff(r.Docs(topic), got.Docs(topic)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, topic, diff)
			}
		}
	}
	b.Reset()
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	r2, err := ReadRun("r", &b)
	same("run", r2, err)
	b.Reset()
	if err := r.WriteRanx(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"d1": 1.0`) {
		t.Errorf("ranx needs floats: %s", b.String())
	}
	r2, err = ReadRanxRun("r", "tag", b.Bytes())
	same("ranx", r2, err)

	rows := []RagasRow{{UserInput: "a", RetrievedContexts: []string{"x"}, ReferenceContextIDs: []string{"1"}, Reference: "r", Line: 1}}
	b.Reset()
	if err := WriteRagas(&b, rows); err != nil {
		t.Fatal(err)
	}
	rows2, err := ReadRagas("r", &b)
	if err != nil || !cmp.Equal(rows, rows2) {
		t.Errorf("ragas: %v, %s", err, cmp.Diff(rows, rows2))
	}
	old, err := ReadRagas("r", strings.NewReader(`{"question":"a","contexts":["x"],"answer":"b","ground_truth":"c","extra":1}`))
	if err != nil || old[0].UserInput != "a" || old[0].RetrievedContexts[0] != "x" || old[0].Response != "b" || old[0].Reference != "c" {
		t.Errorf("old ragas names: %+v, %v", old, err)
	}
}

func TestEncodeID(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"a/b.md", "a/b.md"}, {"a b", "a%20b"}, {"#a", "%23a"}, {"a#b", "a#b"}, {"50%", "50%25"}, {"a\u00a0b", "a%C2%A0b"}, {"é\n", "é%0A"},
	} {
		got := EncodeID(tt.id)
		if got != tt.want || DecodeID(got) != tt.id {
			t.Errorf("EncodeID(%q) = %q, which decodes to %q", tt.id, got, DecodeID(got))
		}
	}
	q, err := NewQrels([]Judgment{{"q 1", "d", 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Write(&bytes.Buffer{}); err == nil {
		t.Error("an id with a blank is written")
	}
	for _, js := range [][]Judgment{{{"", "d", 1}}, {{"q", "", 1}}, {{"q", "d", 1}, {"q", "d", 1}}, {{"q", "d", 5000}}} {
		if _, err := NewQrels(js); err == nil {
			t.Errorf("NewQrels accepts %v", js)
		}
	}
	for _, rs := range [][]Ranking{{{Topic: ""}}, {{Topic: "q"}, {Topic: "q"}}, {{Topic: "q", Docs: []Scored{{"d", 1}, {"d", 2}}}}, {{Topic: "q", Docs: []Scored{{"", 1}}}}} {
		if _, err := NewRun("t", rs); err == nil {
			t.Errorf("NewRun accepts %v", rs)
		}
	}
}

func goldenSet(t testing.TB) *golden.Set {
	t.Helper()
	s, err := golden.Parse("g.yaml", []byte(`schema: assay.golden/v1
name: g
version: 1
questions:
  - id: q 1
    question: First?
    answerable: true
    as: [staff]
    critical: true
    gold:
      - {doc: a.md, section: A, quote: alpha, grade: 2}
      - any: [{doc: a.md, section: B}, {doc: b.md}]
    facts: [[7 days, seven days], {number: 3, unit: VND}]
    labels: [{by: x, doc: c.md, grade: 0}, {by: x, answerable: true}]
  - {id: q2, question: Second?, answerable: false, split: holdout}
  - {id: q3, question: Third?, answerable: false, state: draft}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func collection() *corpus.Collection {
	doc := func(id, text string, sections ...corpus.Section) corpus.Document {
		return corpus.Document{ID: corpus.DocumentID(id), Title: id, Text: text, Sections: sections}
	}
	own := corpus.Section{Parent: -1}
	return &corpus.Collection{Documents: []corpus.Document{
		doc("a.md", "# A\nalpha\n# B\nbeta\n", own,
			corpus.Section{Path: []string{"A"}, Level: 1, Span: corpus.Span{Start: 0, End: 10}, Body: 4, Parent: -1},
			corpus.Section{Path: []string{"B"}, Level: 1, Span: corpus.Span{Start: 10, End: 19}, Body: 14, Parent: -1}),
		doc("b.md", "gamma\n", corpus.Section{Span: corpus.Span{Start: 0, End: 6}, Parent: -1}),
		doc("c.md", "delta\n", corpus.Section{Span: corpus.Span{Start: 0, End: 6}, Parent: -1}),
	}}
}

// TestExport: what comes out, and that each loss is named.
func TestExport(t *testing.T) {
	set := goldenSet(t)
	lists := func(lost []string, want ...string) {
		t.Helper()
		all := strings.Join(lost, "\n")
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("losses lack %q:\n%s", w, all)
			}
		}
		if !slices.IsSorted(lost) {
			t.Errorf("losses in no order: %q", lost)
		}
	}
	q, lost := ExportQrels(set, ByDocument)
	want := []Judgment{{"q%201", "a.md", 2}, {"q%201", "b.md", 1}, {"q%201", "c.md", 0}}
	if diff := cmp.Diff(want, q.Judgments()); diff != "" {
		t.Errorf("by document (-want +got):\n%s", diff)
	}
	lists(lost, "quotes (1)", "facts (2)", "permissions (as) (1)", "critical marks (1)", "alternatives (any)", "unanswerable", "holdout marks (1)",
		"gold sections (only the document is kept) (2)", "gold that falls on one id (1)", "drafts or retired (1)", "question texts (2)", "labels by person (1)", "spelling of question ids")
	q, lost = ExportQrels(set, BySection)
	want = []Judgment{{"q%201", "a.md#A", 2}, {"q%201", "a.md#B", 1}, {"q%201", "b.md#", 1}, {"q%201", "c.md#", 0}}
	if diff := cmp.Diff(want, q.Judgments()); diff != "" {
		t.Errorf("by section (-want +got):\n%s", diff)
	}
	lists(lost, "gold on whole documents")

	run := &evalkit.Run{Tag: "my run", Results: []evalkit.Result{
		{Question: "q 1", Hits: []evalkit.Hit{
			{Chunk: "a.md#0-4", Doc: "a.md", Section: "A", Score: 3, Span: corpus.Span{Start: 0, End: 9}},
			{Chunk: "a.md#4-9", Doc: "a.md", Section: "A", Score: 2, Span: corpus.Span{Start: 4, End: 9}},
			{Chunk: "b.md#0-5", Doc: "b.md", Score: 2, Span: corpus.Span{Start: 0, End: 5}},
		}},
		{Question: "q2", Err: "timeout"},
	}}
	r, lost, err := ExportRun(run, ByDocument)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Scored{{"a.md", 3}, {"b.md", 2}}, r.Docs("q%201")); diff != "" || r.Tag != "my%20run" {
		t.Errorf("run %q (-want +got):\n%s", r.Tag, diff)
	}
	lists(lost, "chunks below the best of their document (1)", "failed queries", "spans and scores by retriever (3)")
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Error(err)
	}

	docs, queries, qrels, lost := ExportBEIR(set, collection())
	if len(docs) != 3 || docs[1] != (BEIRDocument{"b.md", "b.md", "gamma\n"}) || len(queries) != 2 || len(qrels.Judgments()) != 3 {
		t.Errorf("BEIR: %d documents, %v, %v", len(docs), queries, qrels.Judgments())
	}
	lists(lost, "quotes (1)")
	dir := t.TempDir()
	if err := WriteBEIR(nil, dir, "test", docs, queries, qrels); err != nil {
		t.Fatal(err)
	}
	back, err := ReadBEIR(dir, "")
	if err != nil || back.Split != "test" || !cmp.Equal(back.Queries, queries) || !cmp.Equal(back.Qrels.Judgments(), qrels.Judgments()) {
		t.Errorf("BEIR does not read back: %v", err)
	}

	rows, lost := ExportRagas(set, collection(), run, 2)
	wantRow := RagasRow{
		UserInput: "First?", RetrievedContexts: []string{"# A\nalpha", "alpha"}, RetrievedContextIDs: []string{"a.md#0-4", "a.md#4-9"},
		ReferenceContexts: []string{"alpha", "# B\nbeta"}, ReferenceContextIDs: []string{"a.md > A", "a.md > B"}, Reference: "7 days; 3 VND",
	}
	if diff := cmp.Diff(wantRow, rows[0]); diff != "" || len(rows) != 2 {
		t.Errorf("ragas (-want +got):\n%s", diff)
	}
	lists(lost, "question ids (2)", "unanswerable marks (1)", "alternatives (any)", "grades (1)")
}

func TestImport(t *testing.T) {
	q, _ := read(t)
	set, lost, err := ImportQrels("n", []Query{{"q1", "one"}, {"q3", "three"}, {"q8", "eight"}}, q)
	if err != nil {
		t.Fatal(err)
	}
	want := []golden.Question{{
		ID: "q1", Question: "one", Answerable: true, Split: golden.Dev, State: golden.Accepted,
		Gold: []golden.Group{{{Doc: "d1", Grade: 2}}, {{Doc: "d4", Grade: 1}}}, Labels: []golden.Label{{By: "qrels", Doc: "d2"}},
	}}
	if diff := cmp.Diff(want, set.Questions); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	all := strings.Join(lost, "\n")
	for _, w := range []string{"queries without a relevant document (2)", "judged topics without a query text (1)", "negative grade (unjudged) (1)"} {
		if !strings.Contains(all, w) {
			t.Errorf("losses lack %q: %s", w, all)
		}
	}
	data, err := set.Encode("yaml")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := golden.Parse("g.yaml", data); err != nil || again.Digest() != set.Digest() {
		t.Errorf("the imported set does not load: %v", err)
	}
	if _, _, err := ImportQrels("n", nil, q); err == nil {
		t.Error("nothing to import is no error")
	}

	rows := []RagasRow{
		{UserInput: "a?", ReferenceContexts: []string{"alpha\n"}, Reference: "r"}, {UserInput: "b?", ReferenceContexts: []string{"nowhere"}}, {UserInput: "c?"},
	}
	drafts, lost := ImportRagas("n", rows, collection())
	section := "A"
	wantDrafts := []golden.Question{
		{ID: "r001", Question: "a?", Answerable: true, Split: golden.Dev, State: golden.Draft, Notes: "r", Gold: []golden.Group{{{Doc: "a.md", Section: &section, Quote: "alpha", Grade: 1}}}},
		{ID: "r003", Question: "c?", Split: golden.Dev, State: golden.Draft},
	}
	if diff := cmp.Diff(wantDrafts, drafts.Questions); diff != "" {
		t.Errorf("drafts (-want +got):\n%s", diff)
	}
	if !strings.Contains(strings.Join(lost, "\n"), "rows none of whose reference contexts was found (1)") {
		t.Errorf("losses %v", lost)
	}
}

// Score on exported files says what Evaluate says on gold of whole documents.
func TestScoreAgreesWithEvaluate(t *testing.T) {
	q, r := read(t)
	set, _, err := ImportQrels("n", []Query{{"q1", "one"}, {"q2", "two"}}, q)
	if err != nil {
		t.Fatal(err)
	}
	run := &evalkit.Run{}
	for _, topic := range []string{"q1"} {
		res := evalkit.Result{Question: topic}
		for _, d := range r.Docs(topic) {
			res.Hits = append(res.Hits, evalkit.Hit{Chunk: corpus.ChunkID(d.Doc), Doc: corpus.DocumentID(d.Doc), Score: d.Score})
		}
		run.Results = append(run.Results, res)
	}
	names := []string{"hit@1", "hit@3", "p@2", "recall@3", "recip_rank", "map", "ndcg@1000", "ndcg@2", "bpref", "Rprec", "judged@3"}
	ev, err := evalkit.Evaluate(set, nil, run, evalkit.Options{View: evalkit.ViewSections, Measures: names, Resamples: -1})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := NewQrels(slices.DeleteFunc(q.Judgments(), func(j Judgment) bool { return j.Topic == "q3" }))
	if err != nil {
		t.Fatal(err)
	}
	// "map" and the like in Evaluate stand for the whole list, as here.
	s, err := Score(kept, r, parse(t, names...), ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for k, m := range s.Measures {
		if got := ev.Measures[m.String()].Mean; got != s.Means[k].Mean {
			t.Errorf("%s: Evaluate %v, Score %v", m, got, s.Means[k].Mean)
		}
	}
}

func FuzzReadQrels(f *testing.F) {
	f.Add(someQrels)
	f.Fuzz(func(t *testing.T, in string) {
		q, err := ReadQrels("f", strings.NewReader(in))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := q.Write(&b); err != nil {
			return // an id the format cannot say, such as one of exotic white space
		}
		again, err := ReadQrels("f", &b)
		if err != nil || !cmp.Equal(q.Judgments(), again.Judgments()) {
			t.Fatalf("does not read back: %v\n%s", err, b.String())
		}
	})
}

func FuzzReadRun(f *testing.F) {
	f.Add(someRun)
	f.Add("a Q0 b 1 1 t\nb Q0 b 1 1 t\na Q0 c 1 2 t\n")
	q, err := ReadQrels("q", strings.NewReader(someQrels))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, err := ReadRun("f", strings.NewReader(in))
		s, streamErr := ScoreStream(q, "f", strings.NewReader(in), DefaultMeasures(), ScoreOptions{})
		if errors.Is(streamErr, ErrSplitTopic) {
			return
		}
		if (err == nil) != (streamErr == nil) {
			t.Fatalf("whole: %v, streamed: %v", err, streamErr)
		}
		if err != nil {
			return
		}
		whole, err := Score(q, r, DefaultMeasures(), ScoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, s); diff != "" {
			t.Fatalf("whole and streamed differ:\n%s", diff)
		}
		var b bytes.Buffer
		if r.Write(&b) != nil {
			return
		}
		again, err := ReadRun("f", &b)
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range r.Topics() {
			if !cmp.Equal(r.Docs(topic), again.Docs(topic)) {
				t.Fatalf("topic %s does not read back", topic)
			}
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	f.Add(`{"q":{"d":1,"e":0.5}}`, `{"user_input":"a","retrieved_contexts":["x"]}`, `{"_id":"1","text":"x"}`, "query-id\tcorpus-id\tscore\nq\td\t1\n")
	f.Fuzz(func(t *testing.T, ranx, ragas, queries, table string) {
		if r, err := ReadRanxRun("f", "t", []byte(ranx)); err == nil {
			var b bytes.Buffer
			if err := r.WriteRanx(&b); err != nil {
				t.Fatal(err)
			}
			again, err := ReadRanxRun("f", "t", b.Bytes())
			if err != nil {
				t.Fatalf("%v\n%s", err, b.String())
			}
			for _, topic := range r.Topics() {
				if !cmp.Equal(r.Docs(topic), again.Docs(topic)) {
					t.Fatalf("topic %q does not read back:\n%s", topic, b.String())
				}
			}
		}
		if q, err := ReadRanxQrels("f", []byte(ranx)); err == nil {
			var b bytes.Buffer
			if err := q.WriteRanx(&b); err != nil {
				t.Fatal(err)
			}
			if again, err := ReadRanxQrels("f", b.Bytes()); err != nil || !cmp.Equal(q.Judgments(), again.Judgments()) {
				t.Fatalf("qrels do not read back: %v\n%s", err, b.String())
			}
		}
		if rows, err := ReadRagas("f", strings.NewReader(ragas)); err == nil {
			var b bytes.Buffer
			if err := WriteRagas(&b, rows); err != nil {
				t.Fatal(err)
			}
			if again, err := ReadRagas("f", &b); err != nil || len(again) != len(rows) {
				t.Fatalf("ragas rows do not read back: %v", err)
			}
		}
		_, _ = ReadBEIRQueries("f", strings.NewReader(queries))
		if q, err := ReadBEIRQrels("f", strings.NewReader(table)); err == nil {
			var b bytes.Buffer
			if q.WriteBEIR(&b) == nil {
				if again, err := ReadBEIRQrels("f", &b); err != nil || !cmp.Equal(q.Judgments(), again.Judgments()) {
					t.Fatalf("BEIR table does not read back: %v", err)
				}
			}
		}
	})
}

// A run exported and imported again scores the same.
func TestImportRun(t *testing.T) {
	set, docs := goldenSet(t), collection()
	run := &evalkit.Run{Tag: "r", Results: []evalkit.Result{{Question: "q 1", Hits: []evalkit.Hit{
		{Chunk: "c#0-5", Doc: "c.md", Score: 3, Span: corpus.Span{Start: 0, End: 5}},
		{Chunk: "a#10-19", Doc: "a.md", Section: "B", Score: 2, Span: corpus.Span{Start: 10, End: 19}},
		{Chunk: "a#0-9", Doc: "a.md", Section: "A", Score: 1, Span: corpus.Span{Start: 0, End: 9}},
	}}}}
	o := evalkit.Options{Resamples: -1, Measures: []string{"hit", "recall", "rr", "ndcg", "all_hit"}}
	want, err := evalkit.Evaluate(set, docs, run, o)
	if err != nil {
		t.Fatal(err)
	}
	exported, _, err := ExportRun(run, BySection)
	if err != nil {
		t.Fatal(err)
	}
	got, err := evalkit.Evaluate(set, docs, ImportRun(exported, BySection), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Questions[0].Measures, got.Questions[0].Measures); diff != "" {
		t.Errorf("measures (-want +got):\n%s", diff)
	}
	if want.Questions[0].FirstRank != 2 {
		t.Errorf("first rank %d", want.Questions[0].FirstRank)
	}
}
