package chunk_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
)

func ExampleSplit() {
	files := fstest.MapFS{"rates.md": {Data: []byte("# Rates\n\nPer parcel.\n\n| zone | price |\n|---|---|\n| north | 30 |\n| south | 40 |\n")}}
	c, err := corpus.FS("shop", files, corpus.Options{}).Load(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	chunks, err := chunk.Split(&c.Documents[0], chunk.Settings{Max: 50})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, k := range chunks {
		fmt.Printf("%s %q %q\n", k.ID, k.Context, k.Text)
	}
	// Output:
	// rates.md#0-20 "" "# Rates\n\nPer parcel."
	// rates.md#22-63 "Rates\n" "| zone | price |\n|---|---|\n| north | 30 |"
	// rates.md#64-78 "Rates\n| zone | price |\n|---|---|\n" "| south | 40 |"
}
