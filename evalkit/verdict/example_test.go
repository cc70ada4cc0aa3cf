package verdict_test

import (
	"fmt"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// scored stands for evalkit.Evaluate: 27 questions, of which the first misses are not answered
// within the top three.
func scored(build string, misses int) *evalkit.Evaluation {
	e := &evalkit.Evaluation{
		Build: build, Golden: evalkit.GoldenRef{Name: "homestore", Version: 1, Digest: "5f3e0a77"},
		Measures: map[string]*evalkit.Summary{"hit@3": {Mean: evalkit.Num(float64(27-misses) / 27), NScored: 27}},
	}
	for i := range 27 {
		hit := 1.0
		if i < misses {
			hit = 0
		}
		e.Questions = append(e.Questions, evalkit.QuestionResult{
			ID: fmt.Sprintf("q%02d", i+1), Status: evalkit.StatusOK, Hits: []corpus.ChunkID{corpus.ChunkID(build)},
			Measures: map[string]evalkit.Value{"hit@3": evalkit.Num(hit)},
		})
	}
	return e
}

func ExampleDecide() {
	policy, err := verdict.Parse("policy.yaml", []byte("primary: hit@3\nmargin: 0.10\nfloor: {hit@3: 0.60}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	live := scored("build-a", 2)
	for _, misses := range []int{2, 3, 8} {
		v := verdict.Decide(verdict.Input{Policy: policy, Candidate: scored("build-b", misses), Live: live})
		fmt.Printf("%d more lost: %s, exit code %d\n", misses-2, v.Verdict, v.ExitCode())
	}
	// Output:
	// 0 more lost: accept, exit code 0
	// 1 more lost: inconclusive, exit code 4
	// 6 more lost: reject, exit code 3
}

func ExampleCompare() {
	a := verdict.Side{Name: "live", Evaluation: scored("build-a", 2), Settings: map[string]string{"chunk.max": "900"}}
	b := verdict.Side{Name: "candidate", Evaluation: scored("build-b", 3), Settings: map[string]string{"chunk.max": "400"}}
	c := verdict.Compare(a, b, &verdict.Policy{Primary: "hit@3"}, verdict.CompareOptions{})
	for _, m := range c.Measures {
		fmt.Printf("%s %s → %s, detectable: %t\n", m.Name, m.A, m.B, m.Detectable)
	}
	for _, f := range c.Flips {
		fmt.Println(f.Headline())
	}
	// Output:
	// hit@3 0.9259 → 0.8889, detectable: false
	// lost q03 1 → 0
}
