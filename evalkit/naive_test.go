package evalkit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed792a4543/assay/evalkit/golden"
)

// naive is a second implementation of the measures, written from their definitions and not
// from the code: lists of booleans and maps instead of evidence, and a position by position
// assignment of gold groups.
type naive struct {
	slots  []string         // section of each slot
	groups []map[string]int // section → grade
}

func newNaive(q golden.Question, sections []string) *naive {
	n := &naive{slots: sections}
	for _, g := range q.Gold {
		m := map[string]int{}
		for _, member := range g {
			m[*member.Section] = max(m[*member.Section], member.Grade)
		}
		n.groups = append(n.groups, m)
	}
	return n
}

// relevance returns for each slot whether any group wants it.
func (n *naive) relevance() []bool {
	out := make([]bool, len(n.slots))
	for i, s := range n.slots {
		for _, g := range n.groups {
			if g[s] > 0 {
				out[i] = true
			}
		}
	}
	return out
}

// met returns the groups that the first k slots satisfy.
func (n *naive) met(k int) map[int]bool {
	out := map[int]bool{}
	for i, s := range n.slots {
		if i >= k {
			break
		}
		for g, m := range n.groups {
			if m[s] > 0 {
				out[g] = true
			}
		}
	}
	return out
}

// earned returns what each position earns, positions without end filled with 0: every group
// pays once, at the first slot that satisfies it or the next free position after it.
func (n *naive) earned() []int {
	out := make([]int, len(n.slots)+len(n.groups))
	done := map[int]bool{}
	var waiting []int
	for pos := range out {
		if pos < len(n.slots) {
			for g, m := range n.groups {
				if grade := m[n.slots[pos]]; grade > 0 && !done[g] {
					done[g] = true
					waiting = append(waiting, grade)
				}
			}
		}
		if len(waiting) > 0 {
			best := slices.Index(waiting, slices.Max(waiting))
			out[pos] = waiting[best]
			waiting = append(waiting[:best], waiting[best+1:]...)
		}
	}
	return out
}

func (n *naive) value(family string, k int) float64 {
	rel := n.relevance()
	r := float64(len(n.groups))
	switch family {
	case "hit":
		if slices.Contains(rel[:min(k, len(rel))], true) {
			return 1
		}
		return 0
	case "p":
		sum := 0.0
		for pos := 0; pos < k; pos++ {
			if pos < len(rel) && rel[pos] {
				sum++
			}
		}
		return sum / float64(k)
	case "recall":
		return float64(len(n.met(k))) / r
	case "all_hit":
		if len(n.met(k)) == len(n.groups) {
			return 1
		}
		return 0
	case "rr":
		if i := slices.Index(rel[:min(k, len(rel))], true); i >= 0 {
			return 1 / float64(i+1)
		}
		return 0
	case "ap":
		earned := n.earned()
		sum := 0.0
		for pos := 0; pos < min(k, len(earned)); pos++ {
			if earned[pos] == 0 {
				continue
			}
			paid := 0.0
			for _, e := range earned[:pos+1] {
				if e > 0 {
					paid++
				}
			}
			sum += paid / float64(pos+1)
		}
		return sum / r
	case "ndcg", "ndcg_exp":
		gain := func(g int) float64 {
			if family == "ndcg_exp" {
				return math.Pow(2, float64(g)) - 1
			}
			return float64(g)
		}
		var ideal []int
		for _, g := range n.groups {
			best := 0
			for _, grade := range g {
				best = max(best, grade)
			}
			ideal = append(ideal, best)
		}
		slices.Sort(ideal)
		slices.Reverse(ideal)
		dcg := func(grades []int) float64 {
			sum := 0.0
			for pos, g := range grades[:min(k, len(grades))] {
				sum += gain(g) * math.Ln2 / math.Log(float64(pos+2))
			}
			return sum
		}
		return dcg(n.earned()) / dcg(ideal)
	case "dup":
		sum := 0.0
		for pos := range min(k, len(n.slots)) {
			if slices.Contains(n.slots[:pos], n.slots[pos]) {
				sum++
			}
		}
		return sum / float64(k)
	case "judged":
		return n.value("p", k)
	case "r_prec":
		return float64(len(n.met(len(n.groups)))) / r
	case "bpref":
		return float64(len(n.met(len(n.slots)))) / r // no judgment of grade 0 here
	}
	panic(family)
}

var naiveFamilies = []string{"hit", "p", "recall", "all_hit", "rr", "ap", "ndcg", "ndcg_exp", "dup", "judged"}

// drawQuestion draws gold of one to four groups over sections s0 to s7, with alternatives,
// grades and sections that serve several groups.
func drawQuestion(t *rapid.T) golden.Question {
	q := golden.Question{ID: "q", Answerable: true}
	for range rapid.IntRange(1, 4).Draw(t, "groups") {
		var g golden.Group
		for range rapid.IntRange(1, 3).Draw(t, "members") {
			g = append(g, sect(fmt.Sprintf("s%d", rapid.IntRange(0, 7).Draw(t, "section")), rapid.IntRange(1, 4).Draw(t, "grade")))
		}
		q.Gold = append(q.Gold, g)
	}
	return q
}

func drawRanking(t *rapid.T) []string {
	var out []string
	for range rapid.IntRange(0, 10).Draw(t, "slots") {
		out = append(out, fmt.Sprintf("s%d", rapid.IntRange(0, 9).Draw(t, "slot")))
	}
	return out
}

func TestSecondImplementation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := drawQuestion(rt)
		sections := drawRanking(rt)
		view := rapid.SampledFrom([]string{ViewSlots, ViewSections}).Draw(rt, "view")
		cutoffs := []int{1, 2, 3, 5, 10, 12}
		ev := mustEvaluate(t, Options{View: view, Cutoffs: cutoffs, Measures: append([]string{"r_prec", "bpref"}, naiveFamilies...)},
			[]golden.Question{q}, ranking("q", sections...))
		if view == ViewSections {
			sections = foldNaive(q, sections)
		}
		n := newNaive(q, sections)
		check := func(name, family string, k int) {
			got := ev.Questions[0].Measures[name]
			want := n.value(family, k)
			if !got.OK || math.Abs(got.V-want) > 1e-12 {
				rt.Fatalf("%s = %v, the second implementation says %v", name, got, want)
			}
			if got.V < 0 || got.V > 1 {
				rt.Fatalf("%s = %v is outside [0,1]", name, got)
			}
		}
		for _, family := range naiveFamilies {
			for _, k := range cutoffs {
				check(fmt.Sprintf("%s@%d", family, k), family, k)
			}
		}
		check("r_prec", "r_prec", 0)
		check("bpref", "bpref", 0)
		if err := ev.Recompute(); err != nil {
			rt.Fatal(err)
		}
	})
}

// foldNaive keeps the first slot of each section; sections that satisfy the same members of the
// gold count as one.
func foldNaive(q golden.Question, sections []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range sections {
		key := ""
		for g, group := range q.Gold {
			for m, member := range group {
				if *member.Section == s {
					key += fmt.Sprintf("%d.%d ", g, m)
				}
			}
		}
		if key == "" {
			key = s
		}
		if !seen[key] {
			out = append(out, s)
		}
		seen[key] = true
	}
	return out
}

// TestProperties states what must hold of every ranking.
func TestProperties(t *testing.T) {
	cutoffs := []int{1, 3, 5}
	evaluate := func(q golden.Question, sections []string) map[string]Value {
		return mustEvaluate(t, Options{Cutoffs: cutoffs, Measures: append([]string{"map", "ndcg_cut_3"}, naiveFamilies...)},
			[]golden.Question{q}, ranking("q", sections...)).Questions[0].Measures
	}
	t.Run("permutation below the cutoff", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			q, sections := drawQuestion(rt), drawRanking(rt)
			if len(sections) <= 5 {
				return
			}
			before := evaluate(q, sections)
			tail := rapid.Permutation(sections[5:]).Draw(rt, "tail")
			after := evaluate(q, append(slices.Clone(sections[:5]), tail...))
			for name, v := range before {
				if name != "ap" && after[name] != v {
					rt.Fatalf("%s: %v, %v with another tail", name, v, after[name])
				}
			}
		})
	})
	t.Run("moving gold up never lowers", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			// One section to a group and no section twice: with alternatives of unequal grade,
			// moving the poorer one up may well lower the value.
			q := golden.Question{ID: "q", Answerable: true}
			for i := range rapid.IntRange(1, 4).Draw(rt, "groups") {
				q.Gold = append(q.Gold, golden.Group{sect(fmt.Sprintf("s%d", i), rapid.IntRange(1, 4).Draw(rt, "grade"))})
			}
			grade := func(s string) int {
				for _, g := range q.Gold {
					if *g[0].Section == s {
						return g[0].Grade
					}
				}
				return 0
			}
			sections := rapid.Permutation([]string{"s0", "s1", "s2", "s3", "s4", "s5", "s6"}).Draw(rt, "ranking")
			at := rapid.IntRange(1, len(sections)-1).Draw(rt, "at")
			if grade(sections[at]) <= grade(sections[at-1]) {
				return
			}
			before := evaluate(q, sections)
			moved := slices.Clone(sections)
			moved[at-1], moved[at] = moved[at], moved[at-1]
			after := evaluate(q, moved)
			for _, name := range []string{"ndcg@3", "ndcg@5", "ndcg_exp@3", "ndcg_exp@5"} {
				if after[name].V < before[name].V-1e-12 {
					rt.Fatalf("%s falls from %v to %v", name, before[name], after[name])
				}
			}
			if grade(sections[at-1]) > 0 {
				return // binary measures do not see the swap of two relevant sections
			}
			for name, v := range before {
				if name != "dup@3" && after[name].V < v.V-1e-12 {
					rt.Fatalf("%s falls from %v to %v", name, v, after[name])
				}
			}
		})
	})
	t.Run("a longer cutoff finds no less", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			m := evaluate(drawQuestion(rt), drawRanking(rt))
			for _, family := range []string{"hit", "recall", "rr", "all_hit", "ap"} {
				for i := 1; i < len(cutoffs); i++ {
					a, b := fmt.Sprintf("%s@%d", family, cutoffs[i-1]), fmt.Sprintf("%s@%d", family, cutoffs[i])
					if m[b].V < m[a].V {
						rt.Fatalf("%s = %v above %s = %v", a, m[a], b, m[b])
					}
				}
			}
		})
	})
	t.Run("n/a never becomes a number", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			q := golden.Question{ID: "q"}
			ev := mustEvaluate(t, Options{Cutoffs: cutoffs}, []golden.Question{q}, ranking("q", drawRanking(rt)...))
			for name, v := range ev.Questions[0].Measures {
				if v.OK {
					rt.Fatalf("%s = %v", name, v)
				}
			}
			for name, s := range ev.Measures {
				if s.Mean.OK || s.Pooled.OK || s.NNA != 1 {
					rt.Fatalf("%s = %+v", name, s)
				}
			}
			if v := ev.Random["hit@3"]; v.OK {
				rt.Fatalf("random baseline %v without gold", v)
			}
		})
	})
}
