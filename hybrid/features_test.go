package hybrid

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRerankFeatures(t *testing.T) {
	texts := map[uint32]string{
		1: "window far x x x x x x x x x x refund",
		2: "the refund window is short",
		3: "window refund",
		4: "refund",
		5: "nothing",
	}
	terms := func(ord uint32) []string { return strings.Fields(texts[ord]) }
	idf := func(term string) float64 {
		switch term {
		case "refund":
			return 3
		case "window":
			return 2
		}
		return 0
	}
	query := []string{"refund", "the", "window"}
	list := []Fused{{Ord: 1, Score: 9}, {Ord: 2, Score: 8}, {Ord: 3, Score: 7}, {Ord: 4, Score: 6}, {Ord: 5, Score: 5}}
	got, err := RerankFeatures(list, query, idf, terms, FeatureSettings{Weight: dense(.5)})
	if err != nil {
		t.Fatal(err)
	}
	// Fused: 1, .75, .5, .25, 0. Coverage: 1, 1, 1, .6, 0. Together: 0, 1, 1, 0, 0. Phrase: 0, 1, 0,
	// 0, 0. Means of the features: 1/3, 1, 2/3, .2, 0.
	want := []Fused{{Ord: 2, Score: .875}, {Ord: 1, Score: 2. / 3}, {Ord: 3, Score: 7. / 12}, {Ord: 4, Score: .225}, {Ord: 5}}
	if d := gocmp.Diff(want, got, approx); d != "" {
		t.Error(d)
	}
	got, err = RerankFeatures(list, query, idf, terms, FeatureSettings{Weight: dense(1), Depth: 2})
	if err != nil || letterOrds(got) != "2 1 3 4 5" || got[2].Score != -1 || got[4].Score != -3 {
		t.Errorf("depth 2: %+v, %v", got, err)
	}
	same, err := RerankFeatures(list, query, idf, terms, FeatureSettings{Weight: dense(0)})
	if err != nil || !slices.Equal(same, list) {
		t.Errorf("weight 0: %+v, %v", same, err)
	}
	// One term: all three features are coverage.
	one, err := RerankFeatures(list[3:], []string{"refund"}, idf, terms, FeatureSettings{Weight: dense(.3)})
	if err != nil || gocmp.Diff([]Fused{{Ord: 4, Score: 1}, {Ord: 5}}, one, approx) != "" {
		t.Errorf("one term: %+v, %v", one, err)
	}
	for _, s := range []FeatureSettings{{Weight: dense(-1)}, {Weight: dense(math.NaN())}, {Depth: -1}, {Near: -1}} {
		if _, err := RerankFeatures(list, query, idf, terms, s); err == nil {
			t.Errorf("%+v accepted", s)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		fused := Fuse(drawList(r, "vector"), drawList(r, "lexical"), Settings{})
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 8)
		texts := rapid.SliceOfN(words, 61, 61).Draw(r, "texts")
		got, err := RerankFeatures(fused, words.Draw(r, "query"), func(t string) float64 { return float64(t[0] - 'a') },
			func(o uint32) []string { return texts[o] }, FeatureSettings{Depth: rapid.IntRange(1, 70).Draw(r, "depth")})
		if err != nil || len(got) != len(fused) {
			r.Fatal(err, len(got))
		}
		if !slices.IsSortedFunc(got, func(a, b Fused) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord)) }) {
			r.Fatalf("not in the total order: %v", got)
		}
		for _, f := range got {
			if math.IsNaN(f.Score) || f.Score > 1+1e-9 {
				r.Fatalf("score %v", f.Score)
			}
		}
	})
}

func letterOrds(list []Fused) string {
	var out []string
	for _, f := range list {
		out = append(out, string('0'+rune(f.Ord)))
	}
	return strings.Join(out, " ")
}
