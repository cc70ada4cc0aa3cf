package sweep_test

import (
	"fmt"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/sweep"
)

// Two variants of any system, scored elsewhere on the same forty questions.
func ExampleAnalyse() {
	values := func(hits int) []evalkit.Value {
		out := make([]evalkit.Value, 40)
		for i := range out {
			out[i] = evalkit.Num(0)
			if i < hits {
				out[i] = evalkit.Num(1)
			}
		}
		return out
	}
	questions := make([]sweep.Question, 40)
	for i := range questions {
		questions[i].ID = fmt.Sprintf("q%02d", i)
	}
	r, err := sweep.Analyse(questions, []sweep.Row{
		{Name: "today", Values: values(24)},
		{Name: "longer chunks", Values: values(28)},
		{Name: "other model", Values: values(36)},
	}, sweep.Options{Primary: "hit@3"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range r.Variants {
		fmt.Printf("%s %s %.2f %+.2f\n", l.Sign, l.Name, l.Mean.V, l.Delta.V)
	}
	fmt.Println("take", r.Recommend.Variant)
	// Output:
	// + other model 0.90 +0.30
	// ~ longer chunks 0.70 +0.10
	// = today 0.60 +0.00
	// take other model
}
