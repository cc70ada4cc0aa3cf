package golden_test

import (
	"fmt"

	"github.com/seed792a4543/assay/evalkit/golden"
)

func ExampleParse() {
	_, err := golden.Parse("golden.yaml", []byte(`schema: assay.golden/v1
name: shop
version: 1
questions:
  - id: kettle
    question: How long can I return a kettle?
    answerable: true
    gold:
      - {doc: returns.md, secton: Kettles, grade: 1.5}
`))
	fmt.Println(err)
	// Output:
	// golden.yaml:9: unknown key "secton" in question kettle: gold: did you mean "section"?
	// golden.yaml:9: question kettle: gold: grade must be a whole number from 1 to 100, not 1.5
}
