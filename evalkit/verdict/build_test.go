package verdict

import (
	"fmt"
	"testing"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/measure"
)

// evaluation makes an evaluation of n answerable questions q001… whose hit@3 is 1 where hit says
// so. Each question's ranking depends on build and value, so builds are not identical by accident.
func evaluation(build string, n int, hit func(i int) bool) *evalkit.Evaluation {
	return graded(build, "hit@3", n, func(i int) float64 {
		if hit(i) {
			return 1
		}
		return 0
	})
}

// graded is evaluation for any measure.
func graded(build, name string, n int, value func(i int) float64) *evalkit.Evaluation {
	e := &evalkit.Evaluation{
		Schema: evalkit.EvaluationSchema, Run: build, Build: build,
		Golden: evalkit.GoldenRef{Name: "test", Version: 1, Digest: "aa00"}, Corpus: "c0",
		Rule: "section", View: "slots", Split: "all", Cutoffs: []int{1, 3, 5},
		Counts:   evalkit.Counts{Questions: n, Answerable: n},
		Measures: map[string]*evalkit.Summary{},
		Random:   map[string]evalkit.Value{name: evalkit.Num(.06)},
	}
	var sum float64
	for i := range n {
		v := value(i)
		sum += v
		q := evalkit.QuestionResult{
			ID: fmt.Sprintf("q%03d", i+1), Answerable: true, Split: "dev", Status: evalkit.StatusOK,
			Measures: map[string]evalkit.Value{name: evalkit.Num(v)},
			Hits: []corpus.ChunkID{
				corpus.ChunkID("a.md#" + build), corpus.ChunkID("b.md#0"), corpus.ChunkID("c.md#0"), corpus.ChunkID("d.md#0"),
			},
			Sections: []string{"a.md > A", "b.md > B", "c.md > C", "d.md > D"},
		}
		if v > 0 {
			q.FirstRank = 2
			q.Evidence = measure.Evidence{Returned: 4, Ideal: []int{1}, Relevant: []int{2}, Found: []measure.Found{{Rank: 2, Gain: 1}}}
		} else {
			q.FirstRank = 4
			q.Evidence = measure.Evidence{Returned: 4, Ideal: []int{1}, Relevant: []int{4}, Found: []measure.Found{{Rank: 4, Gain: 1}}}
		}
		e.Questions = append(e.Questions, q)
	}
	e.Measures[name] = &evalkit.Summary{Mean: evalkit.Num(sum / float64(n)), NScored: n}
	return e
}

// flips makes two builds of n questions: the candidate gains the first g and loses the next l;
// of the rest both hit all but one in ten.
func flips(n, g, l int) (cand, live *evalkit.Evaluation) {
	rest := func(i int) bool { return i%10 != 0 }
	cand = evaluation("cand", n, func(i int) bool { return i < g || (i >= g+l && rest(i)) })
	live = evaluation("live", n, func(i int) bool { return (i >= g && i < g+l) || (i >= g+l && rest(i)) })
	return cand, live
}

func ptr(v float64) *float64 { return &v }

// sure is a self-test that found nothing.
func sure() *SelfTest {
	return &SelfTest{AA: AA{Ran: true}, Faults: []FaultTest{{Name: "chunks dropped", Caught: true}}}
}

// decide applies a policy of hit@3 and the margin to two evaluations.
func decide(cand, live *evalkit.Evaluation, margin float64) *Verdict {
	return Decide(Input{Policy: &Policy{Primary: "hit@3", Margin: ptr(margin), Floor: map[string]float64{"hit@3": .1}},
		Candidate: cand, Live: live, SelfTest: sure()})
}

// wantOutcome fails unless the verdict is want and one of its reasons holds every fragment.
func wantOutcome(t *testing.T, v *Verdict, want Outcome, fragments ...string) {
	t.Helper()
	if v.Verdict != want {
		t.Fatalf("verdict %s, want %s\nreasons: %q", v.Verdict, want, v.Reasons)
	}
	if len(v.Reasons) == 0 {
		t.Fatal("a verdict without reasons")
	}
	for _, f := range fragments {
		if !anyContains(v.Reasons, f) {
			t.Errorf("no reason says %q:\n%q", f, v.Reasons)
		}
	}
	if err := v.Intact(); err != nil {
		t.Errorf("not sealed: %v", err)
	}
}
