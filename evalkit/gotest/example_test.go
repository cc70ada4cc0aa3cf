package gotest_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/gotest"
	"github.com/seed792a4543/assay/evalkit/report"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

const goldenYAML = `schema: assay.golden/v1
name: shop
version: 1
questions:
  - id: q1
    question: When can I return it?
    answerable: true
    gold: [{doc: returns.md, section: Conditions}]
  - id: q2
    question: What does delivery cost?
    answerable: true
    gold: [{doc: fees.md, section: Fees}]
`

// TestRetrieval is the test that docs/ci.md shows, on two questions: enough to see every step,
// too few to decide anything, hence a skip.
func TestRetrieval(t *testing.T) {
	set, err := golden.Parse("golden.yaml", []byte(goldenYAML))
	if err != nil {
		t.Fatal(err)
	}
	evaluate := func(build, second string) *evalkit.Evaluation {
		t.Helper()
		e, err := evalkit.Evaluate(set, nil, &evalkit.Run{Build: build, Results: []evalkit.Result{
			{Question: "q1", Hits: []evalkit.Hit{{Chunk: "returns.md#0", Doc: "returns.md", Section: "Conditions", Score: 2}}},
			{Question: "q2", Hits: []evalkit.Hit{{Chunk: "fees.md#0", Doc: "fees.md", Section: second, Score: 1}}},
		}}, evalkit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	live, candidate := evaluate("live", "Fees"), evaluate("candidate", "History")
	policy := &verdict.Policy{Primary: "hit@3"}
	in := verdict.Input{Policy: policy, Candidate: candidate, Live: live}

	c := verdict.Compare(verdict.Side{Name: "live", Evaluation: live}, verdict.Side{Name: "candidate", Evaluation: candidate},
		policy, verdict.CompareOptions{Golden: set})
	d := report.Data{Verdict: c.Verdict, Comparison: c, Evaluation: candidate, Golden: set, GoldenPath: "golden.yaml"}
	dir := t.TempDir()
	for name, write := range map[string]func(io.Writer, report.Data) error{
		"retrieval.junit.xml": report.JUnit, "retrieval.sarif": report.SARIF, "retrieval.md": report.Markdown,
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write(f, d), f.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(f.Name()); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty: %v", name, err)
		}
	}
	if c.Verdict.Verdict != verdict.Inconclusive || len(c.Flips) != 1 || c.Flips[0].Question != "q2" {
		t.Fatalf("%s, flips %+v", c.Verdict.Verdict, c.Flips)
	}
	gotest.Check(t, in, gotest.Options{Golden: set, AllowInconclusive: true})
	t.Error("a skipped test does not come here")
}
