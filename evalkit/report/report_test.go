package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

var update = flag.Bool("update", false, "rewrite testdata")

// evaluation makes n questions q001… that hit where hit says so.
func evaluation(build string, n int, hit func(i int) bool) *evalkit.Evaluation {
	e := &evalkit.Evaluation{
		Schema: evalkit.EvaluationSchema, Run: build, Build: build, Golden: evalkit.GoldenRef{Name: "shop", Version: 1, Digest: "aa00bb11cc22dd33"},
		Rule: "section", View: "slots", Split: "all", Cutoffs: []int{3},
		Measures: map[string]*evalkit.Summary{}, Random: map[string]evalkit.Value{"hit@3": evalkit.Num(.0588)},
		Slices: map[string]*evalkit.Slice{"paraphrase": {N: 2, Measures: map[string]*evalkit.Summary{"hit@3": {Mean: evalkit.Num(.5), NScored: 2}}}},
	}
	hits := 0
	for i := range n {
		q := evalkit.QuestionResult{
			ID: fmt.Sprintf("q%03d", i+1), Answerable: true, Status: evalkit.StatusOK, FirstRank: 1,
			Measures: map[string]evalkit.Value{"hit@3": evalkit.Num(0)},
			Hits:     []corpus.ChunkID{corpus.ChunkID("returns.md#" + build), "fees.md#0"},
			Sections: []string{"returns.md > Conditions", "fees.md > Fees | a <b>"},
		}
		if hit(i) {
			hits++
			q.Measures["hit@3"] = evalkit.Num(1)
			q.Evidence = measure.Evidence{Relevant: []int{1}}
		}
		e.Questions = append(e.Questions, q)
	}
	e.Measures["hit@3"] = &evalkit.Summary{Mean: evalkit.Num(float64(hits) / float64(n)), NScored: n, CI: &[2]float64{.5, .9}, CIMethod: "wilson"}
	return e
}

// data compares builds of n questions of which g are gained and l lost.
func data(n, g, l int, change func(cand, live *evalkit.Evaluation)) Data {
	cand := evaluation("cand", n, func(i int) bool { return i < g || i >= g+l })
	live := evaluation("live", n, func(i int) bool { return i >= g })
	if change != nil {
		change(cand, live)
	}
	margin := .10
	policy := &verdict.Policy{Primary: "hit@3", Margin: &margin, Floor: map[string]float64{"hit@3": .1}}
	set := &golden.Set{Path: "kb/golden set.yaml"}
	for i := range n {
		set.Questions = append(set.Questions, golden.Question{ID: fmt.Sprintf("q%03d", i+1), Question: "What about <b>|*this*|</b> @team?", Line: 10 * (i + 1)})
	}
	settings := map[string]string{"chunk.max": "900"}
	c := verdict.Compare(verdict.Side{Evaluation: live, Settings: settings}, verdict.Side{Evaluation: cand, Settings: map[string]string{"chunk.max": "400"}},
		policy, verdict.CompareOptions{Golden: set, SelfTest: &verdict.SelfTest{AA: verdict.AA{Ran: true}}})
	return Data{Verdict: c.Verdict, Comparison: c, Evaluation: cand, Golden: set}
}

func write(t *testing.T, f func(d Data, b *bytes.Buffer) error, d Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(d, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func junit(d Data, b *bytes.Buffer) error    { return JUnit(b, d) }
func sarif(d Data, b *bytes.Buffer) error    { return SARIF(b, d) }
func markdown(d Data, b *bytes.Buffer) error { return Markdown(b, d) }
func text(d Data, b *bytes.Buffer) error     { return Text(b, d) }

func TestJUnit(t *testing.T) {
	parse := func(t *testing.T, s string) junitSuite {
		t.Helper()
		var got junitSuites
		if err := xml.Unmarshal([]byte(s), &got); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
		return got.Suites[0]
	}
	t.Run("inconclusive is not a pass", func(t *testing.T) {
		s := parse(t, write(t, junit, data(27, 1, 2, nil)))
		if s.Tests != 28 || s.Failures != 3 || s.Errors != 0 { // the verdict and two lost questions
			t.Errorf("tests %d, failures %d, errors %d", s.Tests, s.Failures, s.Errors)
		}
		if f := s.Cases[0].Failure; f == nil || f.Type != "inconclusive" {
			t.Errorf("first case %+v", s.Cases[0])
		}
	})
	t.Run("reject", func(t *testing.T) {
		s := parse(t, write(t, junit, data(27, 0, 5, nil)))
		if f := s.Cases[0].Failure; f == nil || f.Type != "reject" || s.Failures != 6 {
			t.Errorf("first case %+v, failures %d", s.Cases[0], s.Failures)
		}
		if c := s.Cases[1]; !strings.HasPrefix(c.Name, "q001: What about") || !strings.Contains(c.Failure.Text, "returns.md > Conditions") {
			t.Errorf("%+v", c)
		}
	})
	t.Run("accept with a loss", func(t *testing.T) {
		s := parse(t, write(t, junit, data(100, 3, 5, nil)))
		if s.Failures+s.Errors != 0 || s.Cases[0].Out == nil {
			t.Errorf("failures %d, errors %d", s.Failures, s.Errors)
		}
		if c := s.Cases[4]; c.Out == nil || !strings.Contains(c.Out.Text, "lost q004") {
			t.Errorf("the loss is not in the output: %+v", c)
		}
	})
	t.Run("invalid, failed, leaked, not defined", func(t *testing.T) {
		d := data(30, 0, 0, func(c, l *evalkit.Evaluation) {
			c.Questions[0].Status, c.Questions[0].Error = evalkit.StatusError, "timeout\x00\x1b[31m after 3 s"
			c.Questions[1].Leaks = []evalkit.Leak{{Rank: 9, Doc: "payroll.md", Reason: "acl"}}
			c.Questions[2].Measures = map[string]evalkit.Value{"hit@3": {}}
			l.Questions[2].Measures = c.Questions[2].Measures
		})
		s := parse(t, write(t, junit, d))
		if s.Errors != 2 || s.Failures != 1 || s.Skipped != 1 || s.Cases[0].Error == nil {
			t.Errorf("errors %d, failures %d, skipped %d", s.Errors, s.Failures, s.Skipped)
		}
		if f := s.Cases[2].Failure; f == nil || f.Type != "leak" || !strings.Contains(f.Text, "payroll.md") {
			t.Errorf("leak: %+v", s.Cases[2])
		}
	})
	t.Run("any text gives well-formed XML", rapid.MakeCheck(func(t *rapid.T) {
		d := data(3, 0, 1, nil)
		d.Golden.Questions[0].Question = rapid.String().Draw(t, "question") + string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		var b bytes.Buffer
		if err := JUnit(&b, d); err != nil {
			t.Fatal(err)
		}
		var got junitSuites
		if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
	}))
}

func TestSARIF(t *testing.T) {
	d := data(27, 0, 5, func(c, l *evalkit.Evaluation) {
		c.Questions[1].Critical = true
		c.Questions[9].Leaks = []evalkit.Leak{{Rank: 9, Doc: "payroll.md", Reason: "acl"}}
	})
	var log sarifLog
	if err := json.Unmarshal([]byte(write(t, sarif, d)), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%+v", log)
	}
	var got []string
	for _, r := range log.Runs[0].Results {
		p := r.Locations[0].Physical
		got = append(got, fmt.Sprintf("%s %s %s:%d", r.Rule, r.Level, p.Artifact.URI, p.Region.StartLine))
		if rule := log.Runs[0].Tool.Driver.Rules[r.Index].ID; rule != r.Rule {
			t.Errorf("rule index %d is %s, rule id %s", r.Index, rule, r.Rule)
		}
	}
	want := []string{
		"verdict error kb/golden%20set.yaml:1",
		"lost error kb/golden%20set.yaml:10",
		"critical error kb/golden%20set.yaml:20",
		"lost error kb/golden%20set.yaml:30",
		"lost error kb/golden%20set.yaml:40",
		"lost error kb/golden%20set.yaml:50",
		"leak error kb/golden%20set.yaml:100",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	t.Run("accepted without losses", func(t *testing.T) {
		if s := write(t, sarif, data(100, 2, 0, nil)); !strings.Contains(s, `"results": []`) {
			t.Errorf("results are not empty:\n%s", s)
		}
	})
	t.Run("inconclusive is a warning, never silent", func(t *testing.T) {
		if s := write(t, sarif, data(27, 1, 1, nil)); !strings.Contains(s, `"level": "warning"`) || !strings.Contains(s, "inconclusive:") {
			t.Errorf("%s", s)
		}
	})
}

func TestMarkdown(t *testing.T) {
	t.Run("at most 60 lines, whatever comes", func(t *testing.T) {
		d := data(300, 100, 150, nil)
		for i := range 100 {
			d.Verdict.Reasons = append(d.Verdict.Reasons, fmt.Sprintf("reason %d\nover\ntwo lines", i))
			d.Verdict.Warnings = append(d.Verdict.Warnings, "warning")
			d.Comparison.Measures = append(d.Comparison.Measures, d.Comparison.Measures[0])
			d.Comparison.Settings = append(d.Comparison.Settings, verdict.SettingDiff{Key: "k", A: "a", B: "b\nc"})
		}
		s := write(t, markdown, d)
		if n := strings.Count(s, "\n"); n > MaxLines {
			t.Errorf("%d lines", n)
		}
		// Of 250 flips 17 are shown, of 101 reasons 5, of 101 settings 4.
		for _, w := range []string{"| 233 more |", "96 more reasons", "97 more settings differ"} {
			if !strings.Contains(s, w) {
				t.Errorf("what is hidden is not counted, %q:\n%s", w, s)
			}
		}
	})
	t.Run("flips first, lost before gained", func(t *testing.T) {
		s := write(t, markdown, data(27, 1, 2, nil))
		order := []string{"inconclusive (not a pass)", "**lost** | `q002`", "gained | `q001`", "not excluded", "| hit@3 |", "chunk.max", "Self-test: A/A without flips", "Build `cand`"}
		at := 0
		for _, w := range order {
			i := strings.Index(s[at:], w)
			if i < 0 {
				t.Fatalf("%q is missing or out of place:\n%s", w, s)
			}
			at += i
		}
		if strings.Contains(s, "✅") {
			t.Error("an inconclusive verdict has a tick")
		}
	})
	t.Run("text of users is harmless", func(t *testing.T) {
		s := write(t, markdown, data(27, 0, 1, nil))
		for _, bad := range []string{"<b>", "|*this*|", "@team"} {
			for _, l := range strings.Split(s, "\n") {
				if strings.Contains(strings.ReplaceAll(l, `\<`, ""), bad) {
					t.Errorf("%q is not escaped: %s", bad, l)
				}
			}
		}
	})
	t.Run("first build", func(t *testing.T) {
		e := evaluation("first", 27, func(i int) bool { return i < 23 })
		v := verdict.Decide(verdict.Input{Policy: &verdict.Policy{Primary: "hit@3"}, Candidate: e})
		if s := write(t, markdown, Data{Verdict: v, Evaluation: e}); !strings.Contains(s, "first build") || !strings.Contains(s, "✅ accept") {
			t.Errorf("%s", s)
		}
	})
}

func TestWrite(t *testing.T) {
	d := data(27, 0, 5, nil)
	for _, format := range Formats() {
		var b bytes.Buffer
		if err := Write(&b, format, d); err != nil || b.Len() == 0 {
			t.Errorf("Write(%s): %d bytes, %v", format, b.Len(), err)
		}
	}
	if err := Write(&bytes.Buffer{}, "html", d); err == nil || !strings.Contains(err.Error(), "use text, markdown, junit, sarif") {
		t.Errorf("Write(html): %v", err)
	}
}

// TestGolden keeps one rejected build in every format, so that a change of wording shows as a diff.
func TestGolden(t *testing.T) {
	d := data(27, 1, 7, func(c, l *evalkit.Evaluation) { c.Questions[3].TieAt = []int{2} })
	d.Verdict.Digest, d.Verdict.PolicyDigest = "0123456789abcdef", "fedcba9876543210" // not what is tested here
	for name, f := range map[string]func(Data, *bytes.Buffer) error{
		"reject.junit.xml": junit, "reject.sarif.json": sarif, "reject.md": markdown, "reject.txt": text,
		"scores.txt": func(d Data, b *bytes.Buffer) error { return Scores(b, d.Evaluation) },
	} {
		t.Run(name, func(t *testing.T) {
			got := write(t, f, d)
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
				t.Errorf("%s (-want +got), rewrite with -update:\n%s", name, diff)
			}
		})
	}
}
