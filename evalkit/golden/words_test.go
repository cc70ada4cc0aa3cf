package golden

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// NearDuplicates finds what comparing every pair finds.
func TestNearDuplicates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &Set{}
		for i := range rapid.IntRange(0, 12).Draw(rt, "questions") {
			w := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 6).Draw(rt, "words")
			s.Questions = append(s.Questions, Question{ID: fmt.Sprint(i), Question: strings.Join(w, " ")})
		}
		similarity := rapid.SampledFrom([]float64{.2, .5, .75, .8, 1}).Draw(rt, "similarity")
		var want []Pair
		for b := range s.Questions {
			for a := range b {
				x, y := words(s.Questions[a].Question), words(s.Questions[b].Question)
				both := 0
				for _, w := range x {
					if slices.Contains(y, w) {
						both++
					}
				}
				if n := len(x) + len(y) - both; both > 0 && float64(both)/float64(n) >= similarity {
					want = append(want, Pair{a, b, float64(both) / float64(n)})
				}
			}
		}
		if diff := cmp.Diff(want, NearDuplicates(s, similarity)); diff != "" {
			rt.Fatalf("similarity %v (-want +got):\n%s", similarity, diff)
		}
	})
}

func BenchmarkNearDuplicates(b *testing.B) {
	s := &Set{}
	for i := range 10_000 {
		s.Questions = append(s.Questions, Question{ID: fmt.Sprint(i), Question: fmt.Sprintf("what is the price of item%d in the shop of town%d", i, i%977)})
	}
	b.Run("questions=10k", func(b *testing.B) {
		for b.Loop() {
			NearDuplicates(s, .8)
		}
	})
}
