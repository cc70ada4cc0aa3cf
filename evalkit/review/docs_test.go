package review

import (
	"os"
	"strings"
	"testing"
)

// TestDocs reads the review file shown in docs/verdict.md.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/verdict.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), "schema: assay.review/v1")
	text, _, found := strings.Cut("schema: assay.review/v1"+rest, "```")
	f, err := Parse("docs/verdict.md", []byte(text))
	if !found || err != nil || len(f.Decisions) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}
