package engine_test

import (
	"context"
	"fmt"
	"os"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// A store is built, validated and promoted; then it is searched.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "kb")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	e, err := engine.Open(dir, engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	b, err := e.Build(ctx, corpus.FS("homestore", homestore.Documents(), corpus.Options{}), engine.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := golden.Parse(homestore.GoldenFile, homestore.Golden())
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := e.Validate(ctx, b, set, &verdict.Policy{Primary: "hit@3"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Verdict)
	if err := e.Promote(ctx, b, v); err != nil {
		fmt.Println(err)
		return
	}
	hits, err := e.Search(ctx, engine.Query{Text: "washing machine shows E-04", K: 1, As: []string{"public"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range hits {
		fmt.Println(h.Rank, h.Doc)
	}
	// Output:
	// accept
	// 1 manual-washing-machine.md
}
