package corpus_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/seed792a4543/assay/corpus"
)

func ExampleFS() {
	files := fstest.MapFS{
		"returns.md": {Data: []byte("---\nacl: [staff]\n---\n# Returns\n\n## Conditions\nWithin 7 days.\n")},
		"logo.png":   {Data: []byte{0x89, 'P', 'N', 'G'}},
	}
	c, err := corpus.FS("shop", files, corpus.Options{}).Load(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	d := c.Find("returns.md")
	fmt.Println(d.Title, d.ACL, corpus.Visible(d.ACL, nil))
	for _, s := range d.Sections[1:] {
		fmt.Println(corpus.FormatPath(s.Path), s.Span)
	}
	fmt.Println(c.Skipped)
	// Output:
	// Returns [staff] false
	// Returns {21 61}
	// Returns > Conditions {32 61}
	// [{logo.png no reader for files ending in .png: name one in formats}]
}

func ExampleDocument_Resolve() {
	files := fstest.MapFS{"warranty.md": {Data: []byte("# Phone\n## Warranty\n12 months\n# Laptop\n## Warranty\n24 months\n")}}
	c, err := corpus.FS("shop", files, corpus.Options{}).Load(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	d := &c.Documents[0]
	i, err := d.Resolve("Laptop > Warranty")
	fmt.Println(i, err)
	_, err = d.Resolve("Warranty")
	fmt.Println(err)
	_, err = d.Resolve("Laptop > Waranty")
	fmt.Println(err)
	span, ok := corpus.FindQuote(d, i, "24  months")
	line, column := d.Position(span.Start)
	fmt.Println(ok, line, column)
	// Output:
	// 4 <nil>
	// section "Warranty" of warranty.md is ambiguous: write one of "Phone > Warranty", "Laptop > Warranty"
	// warranty.md has no section "Laptop > Waranty": did you mean "Laptop > Warranty", "Phone > Warranty"?
	// true 6 1
}
