package trec_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/trec"
)

func ExampleScore() {
	qrels, err := trec.ReadQrels("qrels", strings.NewReader("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n"))
	if err != nil {
		log.Fatal(err)
	}
	run, err := trec.ReadRun("run", strings.NewReader("q1 Q0 b 1 0.9 mine\nq1 Q0 x 2 0.8 mine\nq1 Q0 a 3 0.7 mine\n"))
	if err != nil {
		log.Fatal(err)
	}
	measures, err := measure.Expand([]string{"nDCG@10", "map", "rr@10"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	scores, err := trec.Score(qrels, run, measures, trec.ScoreOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := scores.WriteText(os.Stdout, trec.NamesAssay, false); err != nil {
		log.Fatal(err)
	}
	fmt.Println(scores.Warnings())
	// Output:
	// ndcg@10	all	0.3801
	// ap	all	0.4167
	// rr@10	all	0.5000
	// [no results, counted as 0: q2]
}
