package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/evalkit/verdict"
)

func TestPending(t *testing.T) {
	c := &verdict.Comparison{A: "live", B: "cand", Flips: []verdict.Flip{{Question: "q1"}, {Question: "q2"}, {Question: "q3"}, {Question: "q4"}}}
	f := &File{Decisions: []Decision{
		{Question: "q1", Decision: Tie},
		{Question: "q2", Decision: Tie, Builds: []string{"live", "cand"}},
		{Question: "q3", Decision: Tie, Builds: []string{"live", "older"}},
	}}
	var got []string
	for _, flip := range Pending(c, f) {
		got = append(got, flip.Question)
	}
	if d := cmp.Diff([]string{"q3", "q4"}, got); d != "" {
		t.Errorf("Pending (-want +got):\n%s", d)
	}
}
