package hybrid

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scored makes a list whose ordinals are 100 minus the place, with the given scores.
func scored(scores ...float64) []Fused {
	var list []Fused
	for i, s := range scores {
		list = append(list, Fused{Ord: uint32(100 - i), Score: s})
	}
	return list
}

func TestBelowNewer(t *testing.T) {
	// Documents: a is superseded by b, that by c; x stands alone.
	chain := map[string]Version{"a": {0, []int{1, 2}}, "b": {1, []int{2}}, "c": {2, nil}, "x": {3, nil}}
	for _, tt := range []struct {
		name   string
		docs   string // of the hits, best first
		scores []float64
		within float64
		want   string
	}{
		{"PM-07 equal", "bc", []float64{1, 1}, 0, "cb"},
		{"nearly equal", "bcx", []float64{1, .95, 0}, .1, "cbx"},
		{"not equal", "bcx", []float64{1, .85, 0}, .1, "bcx"},
		{"not equal, asked for", "bcx", []float64{1, .85, 0}, 1, "cbx"},
		{"below already", "cbx", []float64{1, .9, 0}, .1, "cbx"},
		{"others keep their order", "xbxcxb", []float64{1, .99, .98, .97, .96, 0}, .1, "xxcbxb"},
		{"below the last of several", "bccxc", []float64{1, .99, .98, .97, 0}, .1, "ccbxc"},
		{"chain", "abcx", []float64{1, .99, .98, 0}, .1, "cbax"},
		{"chain without its middle", "acx", []float64{1, .99, 0}, .1, "cax"},
		{"chain, one step at a time", "abcx", []float64{1, .92, .85, 0}, .1, "cbax"},
		{"two of the old", "bbcx", []float64{1, .99, .98, 0}, .1, "cbbx"},
		{"one document", "b", []float64{1}, .1, "b"},
		{"no successor among the hits", "abx", []float64{.5, .5, 0}, .1, "bax"},
		{"nothing", "", nil, .1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := scored(tt.scores...)
			before := slices.Clone(list)
			doc := func(ord uint32) string { return tt.docs[100-ord:][:1] }
			got := BelowNewer(list, tt.within, func(ord uint32) float64 { return tt.scores[100-ord] }, func(ord uint32) Version { return chain[doc(ord)] })
			have := ""
			for _, f := range got {
				have += doc(f.Ord)
			}
			if have != tt.want {
				t.Errorf("%s, want %s", have, tt.want)
			}
			if d := gocmp.Diff(before, list); d != "" {
				t.Error("the caller's list changed", d)
			}
			if !slices.IsSortedFunc(got, func(a, b Fused) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord)) }) {
				t.Errorf("not in the total order: %v", got)
			}
		})
	}
}

func TestBelowNewerProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		list := Fuse(drawList(r, "vector"), drawList(r, "lexical"), Settings{})
		// Document n is superseded by n+1 and so on, six in each of ten chains.
		version := func(ord uint32) Version {
			v := Version{Doc: int(ord % 60)}
			for n := v.Doc + 1; n%6 != 0; n++ {
				v.Newer = append(v.Newer, n)
			}
			return v
		}
		scores := map[uint32]float64{}
		lo, hi := 1.0, 0.0
		for _, f := range list {
			scores[f.Ord] = f.Score
			lo, hi = min(lo, f.Score), max(hi, f.Score)
		}
		within := rapid.Float64Range(0, 1).Draw(r, "within")
		got := BelowNewer(list, within, func(ord uint32) float64 { return scores[ord] }, version)
		if len(got) != len(list) || !slices.IsSortedFunc(got, func(a, b Fused) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord)) }) {
			r.Fatalf("%d of %d hits, or not in the total order", len(got), len(list))
		}
		place := map[uint32]int{}
		for i, f := range got {
			place[f.Ord] = i
		}
		if len(place) != len(list) {
			r.Fatal("a hit is given twice")
		}
		for _, old := range list {
			for _, newer := range list {
				if slices.Contains(version(old.Ord).Newer, int(newer.Ord%60)) && scores[newer.Ord] >= scores[old.Ord]-within*(hi-lo) && place[newer.Ord] > place[old.Ord] {
					r.Fatalf("%d stands above %d, which supersedes it", old.Ord, newer.Ord)
				}
			}
		}
		// Hits of documents that nothing supersedes keep their order.
		free := slices.DeleteFunc(slices.Clone(list), func(f Fused) bool { return len(version(f.Ord).Newer) > 0 })
		for i := 1; i < len(free); i++ {
			if place[free[i].Ord] < place[free[i-1].Ord] {
				r.Fatalf("%d and %d changed places", free[i-1].Ord, free[i].Ord)
			}
		}
	})
}
