package verdict

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocs holds docs/verdict.md to what the code does.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/verdict.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(string(data), "\r\n", "\n")
	t.Run("the policy parses and holds every key", func(t *testing.T) {
		_, rest, _ := strings.Cut(doc, "```yaml\n")
		text, _, found := strings.Cut(rest, "```")
		if !found {
			t.Fatal("no policy in the page")
		}
		p, err := Parse("docs/verdict.md", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if p.Margin == nil || p.MinEffect == nil || p.Alpha == 0 || p.Floor == nil || p.Tolerance == 0 || p.MinQuestions == 0 || p.Guardrails == nil ||
			p.Reference == "" || p.SelfTest == "" || p.Inconclusive == "" || p.Seed == 0 || p.Rule == "" || p.View == "" || p.Cutoffs == nil {
			t.Errorf("a key is missing: %+v", p)
		}
	})
	t.Run("what the linter predicts", func(t *testing.T) {
		p := &Policy{Primary: "hit@3", Floor: map[string]float64{"hit@3": .5}}
		for _, n := range []int{27, 50, 100, 150, 200, 300, 500} {
			r := p.Lint(n, 0)
			row := fmt.Sprintf("| %d | %.2f | %.3f | %.3f | %.3f | %.4f | %d | %.3f | %d |\n", n, r.Margin, r.AcceptUnchanged,
				r.RejectUnchanged, r.AcceptAtMargin, r.ProvableMargin, r.LeastLosses, r.DetectableLoss, r.NeededQuestions)
			if !strings.Contains(doc, row) {
				t.Errorf("the page lacks the row\n%s", row)
			}
		}
	})
}
