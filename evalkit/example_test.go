package evalkit_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// Any system can be scored: a run holds what it returned, with sections or byte spans.
func ExampleEvaluate() {
	files := fstest.MapFS{"returns.md": {Data: []byte("# Returns\n## Kettles\nWithin 7 days.\n## Clothes\nWithin 30 days.\n")}}
	docs, err := corpus.FS("shop", files, corpus.Options{}).Load(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	set, err := golden.Parse("golden.yaml", []byte(`
schema: assay.golden/v1
name: shop
version: 1
questions:
  - id: kettle
    question: How long can I return a kettle?
    answerable: true
    gold: [{doc: returns.md, section: Returns > Kettles}]
  - id: moon
    question: Do you ship to the moon?
    answerable: false
`))
	if err != nil {
		log.Fatal(err)
	}
	run := &evalkit.Run{Tag: "mine", Results: []evalkit.Result{{Question: "kettle", Hits: []evalkit.Hit{
		{Chunk: "1", Doc: "returns.md", Section: "Returns > Clothes", Score: 0.9},
		{Chunk: "2", Doc: "returns.md", Section: "Returns > Kettles", Score: 0.8},
	}}}}
	e, err := evalkit.Evaluate(set, docs, run, evalkit.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"hit@1", "hit@3", "rr@5", "ndcg@3"} {
		s := e.Measures[name]
		fmt.Printf("%-6s %v (n=%d, n/a %d, random %v)\n", name, s.Mean, s.NScored, s.NNA, e.Random[name])
	}
	// Output:
	// hit@1  0.0000 (n=1, n/a 1, random 0.5000)
	// hit@3  1.0000 (n=1, n/a 1, random 1.0000)
	// rr@5   0.5000 (n=1, n/a 1, random 0.7500)
	// ndcg@3 0.6309 (n=1, n/a 1, random 0.8155)
}
