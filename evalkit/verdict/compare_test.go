package verdict

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
)

func TestCompare(t *testing.T) {
	policy := &Policy{Primary: "hit@3", Margin: ptr(.10), Floor: map[string]float64{"hit@3": .1}}
	t.Run("ST-01", func(t *testing.T) {
		a := evaluation("live", 27, func(i int) bool { return i < 19 })
		b := evaluation("cand", 27, func(i int) bool { return i < 20 })
		c := Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{})
		m := c.Measures[0]
		if m.P.V != 1 || m.Detectable || !(m.Lower.V < 0 && m.Upper.V > 0) || m.Wins != 1 || m.Losses != 0 || m.Ties != 26 {
			t.Errorf("%+v", m)
		}
		table := c.Table()
		if !strings.Contains(table, "~") || !strings.Contains(table, "no detectable difference") || strings.Contains(table, "better") || strings.Contains(table, "improve") {
			t.Errorf("table:\n%s", table)
		}
		if len(c.Flips) != 1 || c.Flips[0].Question != "q020" || len(c.Flips[0].ListA) == 0 || len(c.Flips[0].ListB) == 0 {
			t.Errorf("flips %+v", c.Flips)
		}
		text := c.FlipText()
		want := `gained q020 0 → 1
   live        cand
1    a.md > A    a.md > A
2    b.md > B  * b.md > B
3    c.md > C    c.md > C
4  * d.md > D    d.md > D
`
		if d := cmp.Diff(want, text); d != "" {
			t.Errorf("FlipText (-want +got):\n%s", d)
		}
	})
	t.Run("ST-02", func(t *testing.T) {
		a := graded("live", "rr@5", 4, func(i int) float64 { return .2 * float64(i+1) })
		b := graded("cand", "rr@5", 4, func(i int) float64 { return .2*float64(i+1) + .05 })
		b.Questions[0], b.Questions[3] = b.Questions[3], b.Questions[0]
		c := Compare(Side{Evaluation: a}, Side{Evaluation: b}, &Policy{Primary: "rr@5"}, CompareOptions{})
		m := c.Measures[0]
		if m.Delta.String() != "0.0500" || m.Lower.String() != "0.0500" || m.Upper.String() != "0.0500" || m.Wins != 4 {
			t.Errorf("%+v", m)
		}
		if m.P.V != .125 || !m.Descriptive { // both all-plus and all-minus of 2^4
			t.Errorf("p %v, descriptive %v", m.P, m.Descriptive)
		}
		b.Questions = b.Questions[1:]
		c = Compare(Side{Evaluation: a}, Side{Evaluation: b}, &Policy{Primary: "rr@5"}, CompareOptions{})
		if c.Verdict.Verdict != Invalid || len(c.Measures) != 0 {
			t.Errorf("a missing question: %s, measures %v", c.Verdict.Verdict, c.Measures)
		}
	})
	t.Run("ST-05", func(t *testing.T) {
		b, a := flips(100, 5, 3)
		settings := map[string]string{"chunk.max": "900", "embed.model": "m1", "lexical.k1": "1.2"}
		changed := map[string]string{"chunk.max": "400", "embed.model": "m2", "lexical.k1": "1.2", "chunk.overlap": "50"}
		c := Compare(Side{Evaluation: a, Settings: settings}, Side{Evaluation: b, Settings: changed}, policy, CompareOptions{})
		if c.Verdict.Verdict != Accept {
			t.Errorf("changed settings are allowed: %s %q", c.Verdict.Verdict, c.Verdict.Reasons)
		}
		want := []SettingDiff{{"chunk.max", "900", "400"}, {"chunk.overlap", "", "50"}, {"embed.model", "m1", "m2"}}
		if d := cmp.Diff(want, c.Settings); d != "" {
			t.Errorf("settings (-want +got):\n%s", d)
		}
		table := c.Table()
		for _, w := range []string{"chunk.max      900     400", "chunk.overlap  (none)  50", "embed.model    m1      m2", "difference ¹", "¹ 3 settings differ (chunk.max, chunk.overlap, embed.model)"} {
			if !strings.Contains(table, w) {
				t.Errorf("table lacks %q:\n%s", w, table)
			}
		}
		one := map[string]string{"chunk.max": "400", "embed.model": "m1", "lexical.k1": "1.2"}
		if c := Compare(Side{Evaluation: a, Settings: settings}, Side{Evaluation: b, Settings: one}, policy, CompareOptions{}); len(c.Settings) != 1 || len(c.Warnings) != 0 {
			t.Errorf("one setting: %v, %q", c.Settings, c.Warnings)
		}
		// Declaring what is under test makes any other difference suspicious.
		if c := Compare(Side{Evaluation: a, Settings: settings}, Side{Evaluation: b, Settings: one}, policy, CompareOptions{UnderTest: []string{"lexical.k1"}}); len(c.Warnings) != 1 {
			t.Errorf("another setting than the declared one: %q", c.Warnings)
		}
		for name, spoil := range map[string]func(e *evalkit.Evaluation){
			"golden digest": func(e *evalkit.Evaluation) { e.Golden.Digest = "bb" },
			"cutoff":        func(e *evalkit.Evaluation) { e.Cutoffs = []int{5} },
			"rule":          func(e *evalkit.Evaluation) { e.Rule = "facts" },
			"corpus":        func(e *evalkit.Evaluation) { e.Corpus = "22" },
		} {
			x := clone(b)
			spoil(x)
			c := Compare(Side{Evaluation: a}, Side{Evaluation: x}, policy, CompareOptions{})
			if c.Verdict.Verdict != Invalid || c.Verdict.ExitCode() != ExitInvalid || len(c.Measures)+len(c.Flips) != 0 {
				t.Errorf("other %s: %s with %d measures", name, c.Verdict.Verdict, len(c.Measures))
			}
			if !strings.Contains(c.Table(), "INVALID") {
				t.Errorf("other %s: table:\n%s", name, c.Table())
			}
		}
		x := clone(b)
		x.Corpus = "22"
		c = Compare(Side{Evaluation: a}, Side{Evaluation: x}, policy, CompareOptions{CorpusCause: "2 documents edited"})
		if c.Verdict.Verdict != Accept || !anyContains(c.Warnings, "2 documents edited") {
			t.Errorf("stated corpus change: %s %q", c.Verdict.Verdict, c.Warnings)
		}
	})
	t.Run("Holm over the measures of the table", func(t *testing.T) {
		b, a := flips(100, 0, 6) // two-sided p 1/32
		// The same six flips under three more names, and one measure on which nothing changed.
		for _, e := range []*evalkit.Evaluation{a, b} {
			for _, name := range []string{"hit@1", "hit@10", "hit@5", "all_hit@3"} {
				s := *e.Measures["hit@3"]
				e.Measures[name] = &s
				for i := range e.Questions {
					e.Questions[i].Measures[name] = e.Questions[i].Measures["hit@3"]
					if name == "all_hit@3" {
						e.Questions[i].Measures[name] = evalkit.Num(0)
					}
				}
			}
		}
		c := Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{})
		var names []string
		for _, m := range c.Measures {
			names = append(names, m.Name)
		}
		if d := cmp.Diff([]string{"hit@3", "all_hit@3", "hit@1", "hit@5", "hit@10"}, names); d != "" {
			t.Errorf("order (-want +got):\n%s", d)
		}
		if m := c.Measures[0]; m.P.V != .03125 || m.PHolm.V != .03125 || !m.Detectable {
			t.Errorf("the primary, declared beforehand: %+v", m)
		}
		if m := c.Measures[2]; m.P.V != .03125 || m.PHolm.V != .125 || m.Detectable {
			t.Errorf("one of four others: %+v, want p .03125·4", m)
		}
		if !strings.Contains(c.Table(), "below the primary adjusted over 4 measures (Holm)") {
			t.Errorf("table:\n%s", c.Table())
		}
	})
	t.Run("a loss that the verdict shows one-sided is not ~", func(t *testing.T) {
		b, a := flips(27, 1, 7) // one-sided .0352, two-sided .0703
		c := Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{})
		if m := c.Measures[0]; c.Verdict.Verdict != Reject || !m.LossShown || !m.Detectable {
			t.Errorf("%s %+v", c.Verdict.Verdict, m)
		}
		if table := c.Table(); !strings.Contains(table, "-0.2222 ¹") || !strings.Contains(table, "one-sided test, p 0.0352") {
			t.Errorf("table:\n%s", table)
		}
	})
	t.Run("a flip within a tie of scores is flagged", func(t *testing.T) {
		b, a := flips(100, 1, 1)
		find := func(c *Comparison, id string) *Flip {
			for i := range c.Flips {
				if c.Flips[i].Question == id {
					return &c.Flips[i]
				}
			}
			t.Fatalf("no flip %s", id)
			return nil
		}
		// q002 is lost with the gold at rank 4; ranks 3 and 4 tie, the cutoff is 3.
		q := &b.Questions[1]
		q.TieAt = []int{4}
		c := Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{})
		if f := find(c, "q002"); !f.Tie || !f.ListB[3].Tied || !strings.Contains(f.Headline(), "within a tie") {
			t.Errorf("%+v", f)
		}
		if f := find(c, "q001"); f.Tie {
			t.Errorf("%+v is not within a tie", f)
		}
		// A tie below the gold's own run does not matter.
		q.TieAt = []int{4}
		q.Evidence = measure.Evidence{Relevant: []int{5}}
		if f := find(Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{}), "q002"); f.Tie {
			t.Errorf("gold at rank 5, tie of ranks 3 and 4: %+v", f)
		}
		q.TieAt = []int{4, 5} // now the run reaches rank 5
		if f := find(Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{}), "q002"); !f.Tie {
			t.Errorf("gold at rank 5, tie of ranks 3 to 5: %+v", f)
		}
	})
	t.Run("lost first, critical before, with text and scores", func(t *testing.T) {
		b, a := flips(100, 2, 3)
		a.Questions[4].Critical = true // q005
		set := &golden.Set{Questions: []golden.Question{{ID: "q005", Question: "Where is the key?"}}}
		run := &evalkit.Run{Results: []evalkit.Result{{Question: "q005", Hits: []evalkit.Hit{{Score: .75}, {Score: .5}}}}}
		c := Compare(Side{Evaluation: a}, Side{Evaluation: b, Run: run}, policy, CompareOptions{Golden: set, Depth: 2})
		var ids []string
		for _, f := range c.Flips {
			ids = append(ids, f.Question)
		}
		if d := cmp.Diff([]string{"q005", "q003", "q004", "q001", "q002"}, ids); d != "" {
			t.Errorf("order (-want +got):\n%s", d)
		}
		if got, want := c.Flips[0].Headline(), "lost q005 (critical) 1 → 0: Where is the key?"; got != want {
			t.Errorf("Headline() = %q, want %q", got, want)
		}
		if !strings.Contains(c.FlipText(), "a.md > A (0.7500)") {
			t.Errorf("scores are not shown:\n%s", c.FlipText())
		}
		if c.Unchanged != 95 {
			t.Errorf("unchanged %d", c.Unchanged)
		}
	})
	t.Run("graded", func(t *testing.T) {
		a := graded("live", "rr@5", 40, func(i int) float64 { return .5 })
		b := graded("cand", "rr@5", 40, func(i int) float64 { return []float64{.5, .4, .2, 1}[i%4] })
		c := Compare(Side{Evaluation: a}, Side{Evaluation: b}, &Policy{Primary: "rr@5"}, CompareOptions{})
		if c.Flips[0].Kind != Worsened || c.Flips[0].B.V != .2 || c.Flips[29].Kind != Improved {
			t.Errorf("first %+v, last %+v", c.Flips[0], c.Flips[29])
		}
		// What is drawn at random is printed with its seed.
		if table := c.Table(); !strings.Contains(table, "graded measures: bca, 2000 resamples, seed 1; sign-flip, 10000 draws, seed 1") {
			t.Errorf("table:\n%s", table)
		}
	})
	t.Run("JSON has no null lists and the same bytes twice", func(t *testing.T) {
		b, a := flips(30, 0, 0)
		x, err := json.Marshal(Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{`"flips":null`, `"settings":null`, `"measures":null`, `"warnings":null`, `"lost":null`} {
			if strings.Contains(string(x), bad) {
				t.Errorf("JSON has %s", bad)
			}
		}
		y, _ := json.Marshal(Compare(Side{Evaluation: a}, Side{Evaluation: b}, policy, CompareOptions{}))
		if string(x) != string(y) {
			t.Error("two comparisons of one input differ")
		}
	})
}
