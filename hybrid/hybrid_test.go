package hybrid

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/seed792a4543/assay/index"
)

// ranked gives the letters descending scores; letters are ordinals in their order.
func ranked(letters string) []index.Candidate {
	var out []index.Candidate
	for i, r := range letters {
		out = append(out, index.Candidate{Ord: uint32(r), Score: 10 - float64(i)})
	}
	return out
}

func letters(list []Fused) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteRune(rune(f.Ord))
	}
	return b.String()
}

func scores(list []Fused) map[string]float64 {
	m := map[string]float64{}
	for _, f := range list {
		m[string(rune(f.Ord))] = f.Score
	}
	return m
}

var approx = cmpopts.EquateApprox(0, 1e-9)

func dense(v float64) *float64 { return &v }

func TestFuse(t *testing.T) {
	rrf := Settings{Fusion: FusionRRF}
	t.Run("HY-01", func(t *testing.T) {
		for range 100 {
			got := Fuse(ranked("abc"), ranked("def"), rrf)
			if letters(got) != "daebfc" {
				t.Fatalf("%s, want daebfc: ties go to the greater id", letters(got))
			}
			want := map[string]float64{"a": 1. / 61, "d": 1. / 61, "b": 1. / 62, "e": 1. / 62, "c": 1. / 63, "f": 1. / 63}
			if d := gocmp.Diff(want, scores(got), approx); d != "" {
				t.Fatal(d)
			}
		}
	})
	t.Run("HY-02", func(t *testing.T) {
		got := Fuse(ranked("XaY"), ranked("bcY"), rrf)
		want := map[string]float64{"Y": 2. / 63, "X": 1. / 61, "b": 1. / 61, "a": 1. / 62, "c": 1. / 62}
		if d := gocmp.Diff(want, scores(got), approx); d != "" || letters(got) != "YbXca" {
			t.Error(letters(got), d)
		}
		y := got[0]
		if y.Vector != (index.Component{Rank: 3, Score: 8}) || y.Lexical != (index.Component{Rank: 3, Score: 8}) || got[1].Vector.Rank != 0 {
			t.Errorf("components: %+v, %+v", y, got[1])
		}
	})
	t.Run("HY-03", func(t *testing.T) {
		// Z is eighth in both lists, all else in one list only.
		v, l := ranked("abcdefgZh"), ranked("ABCDEFGZH")
		for _, s := range []Settings{rrf, {}, {Normalise: NormaliseZScore}, {Normalise: NormaliseTMM}} {
			all := Fuse(v, l, s)
			for _, k := range []int{3, 5, 10} {
				depth := s.DepthFor(k)
				got := Fuse(v[:min(depth, len(v))], l[:min(depth, len(l))], s)[:k]
				if d := gocmp.Diff(all[:k], got); d != "" {
					t.Errorf("%+v, k %d: %s", s, k, d)
				}
			}
		}
		if got := Fuse(v, l, rrf); letters(got[:1]) != "Z" {
			t.Errorf("rrf: %s", letters(got))
		}
		if got := (Settings{Depth: 20}).DepthFor(50); got != 50 {
			t.Errorf("k beyond the depth: %d", got)
		}
		if got := Fuse(v, l, Settings{Fusion: FusionRRF, Depth: 7}); strings.Contains(letters(got), "Z") || len(got) != 14 {
			t.Errorf("depth 7: %s", letters(got))
		}
	})
	t.Run("HY-04", func(t *testing.T) {
		got := Fuse(ranked("ab"), nil, rrf)
		if d := gocmp.Diff(map[string]float64{"a": 1. / 61, "b": 1. / 62}, scores(got), approx); d != "" || letters(got) != "ab" {
			t.Error(letters(got), d)
		}
		for _, s := range []Settings{rrf, {}, {Normalise: NormaliseZScore}, {Normalise: NormaliseTMM}, {Mode: ModeVector}, {Mode: ModeLexical}} {
			if got := Fuse(nil, nil, s); got == nil || len(got) != 0 {
				t.Errorf("%+v: nothing gives %v", s, got)
			}
		}
		for _, n := range []string{NormaliseMinMax, NormaliseZScore, NormaliseTMM} {
			if got := Fuse(ranked("cab"), nil, Settings{Normalise: n}); letters(got) != "cab" {
				t.Errorf("%s: %s", n, letters(got))
			}
			if got := Fuse(nil, ranked("cab"), Settings{Normalise: n}); letters(got) != "cab" {
				t.Errorf("%s: %s", n, letters(got))
			}
		}
	})
	t.Run("HY-05", func(t *testing.T) {
		v := []index.Candidate{{Ord: 'a', Score: .9}, {Ord: 'b', Score: .2}}
		l := []index.Candidate{{Ord: 'a', Score: 5}}
		for _, n := range []string{NormaliseMinMax, NormaliseZScore, NormaliseTMM} {
			if got := Fuse(v, l, Settings{Dense: dense(.7), Normalise: n}); letters(got) != "ab" {
				t.Errorf("%s: %s", n, letters(got))
			}
		}
		// .7·1 + .3·1 and .7·0 + .3·0
		if d := gocmp.Diff(map[string]float64{"a": 1, "b": 0}, scores(Fuse(v, l, Settings{Dense: dense(.7)})), approx); d != "" {
			t.Error(d)
		}
	})
	t.Run("HY-06", func(t *testing.T) {
		v, l := ranked("badc"), ranked("cxb")
		for _, s := range []Settings{{Dense: dense(1)}, {Mode: ModeVector}, {Mode: ModeVector, Fusion: FusionRRF}, {Dense: dense(1), Normalise: NormaliseZScore}} {
			got := Fuse(v, l, s)
			if letters(got) != "badc" || got[0].Score != 10 || got[0].Lexical.Rank != 3 {
				t.Errorf("%+v: %s %+v", s, letters(got), got[0])
			}
			if s.NeedsLexical() || !s.NeedsVector() {
				t.Errorf("%+v: needs the lexical list", s)
			}
		}
		for _, s := range []Settings{{Dense: dense(0)}, {Mode: ModeLexical}} {
			if got := Fuse(v, l, s); letters(got) != "cxb" || s.NeedsVector() || !s.NeedsLexical() {
				t.Errorf("%+v: %s", s, letters(got))
			}
		}
		// b: 1, 0; a: 2/3; d: 1/3; c: 0, 1; x: 1/2. Halves: b .5, c .5, a .3333, x .25, d .1667.
		want := map[string]float64{"b": .5, "c": .5, "a": 1. / 3, "x": .25, "d": 1. / 6}
		got := Fuse(v, l, Settings{Dense: dense(.5)})
		if d := gocmp.Diff(want, scores(got), approx); d != "" || letters(got) != "cbaxd" {
			t.Error(letters(got), d)
		}
		for _, bad := range []float64{-1, 2, math.NaN(), math.Inf(1)} {
			if err := (Settings{Dense: &bad}).Validate(); err == nil {
				t.Errorf("dense %v accepted", bad)
			}
		}
	})
}

func TestNormalise(t *testing.T) {
	v := []index.Candidate{{Ord: 'a', Score: .8}, {Ord: 'b', Score: .5}, {Ord: 'c', Score: .2}}
	l := []index.Candidate{{Ord: 'c', Score: 8}, {Ord: 'd', Score: 4}}
	for _, c := range []struct {
		normalise string
		want      map[string]float64
	}{
		// Vector a 1, b .5, c 0, d missing 0; lexical c 1, d 0, missing 0.
		{NormaliseMinMax, map[string]float64{"a": .5, "b": .25, "c": .5, "d": 0}},
		// Vector: mean .5, deviation √.06 = .244949: a 1.224745, b 0, c −1.224745, d as c; lexical:
		// mean 6, deviation 2: c 1, d −1, missing −1.
		{NormaliseZScore, map[string]float64{"a": .1123724357, "b": -.5, "c": -.1123724357, "d": -1.1123724357}},
		// Vector (s+1)/1.8: a 1, b .833333, c .666667, d 0; lexical s/8: c 1, d .5, missing 0.
		{NormaliseTMM, map[string]float64{"a": .5, "b": .4166666667, "c": .8333333333, "d": .25}},
	} {
		if d := gocmp.Diff(c.want, scores(Fuse(v, l, Settings{Dense: dense(.5), Normalise: c.normalise})), approx); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.normalise, d)
		}
	}
	flat := []index.Candidate{{Ord: 'b', Score: 3}, {Ord: 'a', Score: 3}}
	for n, want := range map[string]float64{NormaliseMinMax: .5, NormaliseZScore: 0, NormaliseTMM: .5} {
		got := Fuse(nil, flat, Settings{Dense: dense(.5), Normalise: n})
		if letters(got) != "ba" || got[0].Score != want || got[1].Score != want {
			t.Errorf("equal scores, %s: %+v", n, got)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, s := range []Settings{{}, {Mode: ModeLexical, Fusion: FusionRRF, K: 10, Depth: 5, Dense: dense(0)}} {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{Mode: "both"}, "hybrid, vector, lexical"},
		{Settings{Fusion: "sum"}, "weighted, rrf"},
		{Settings{Normalise: "l2"}, "minmax, zscore, tmm"},
		{Settings{K: -1}, "1 or more"},
		{Settings{Depth: -1}, "default 100"},
	} {
		if err := c.s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
	s := Settings{Dense: dense(.2)}
	d := s.WithDefaults()
	if *d.Dense != .2 || d.Mode != ModeHybrid || d.Fusion != FusionWeighted || d.Normalise != NormaliseMinMax || d.K != 60 || d.Depth != 100 {
		t.Errorf("%+v", d)
	}
	if *d.Dense = .9; *s.Dense != .2 {
		t.Error("WithDefaults shares the caller's pointer")
	}
}

func drawList(r *rapid.T, name string) []index.Candidate {
	list := rapid.SliceOfNDistinct(rapid.Custom(func(r *rapid.T) index.Candidate {
		return index.Candidate{Ord: rapid.Uint32Range(0, 60).Draw(r, "ord"), Score: float64(rapid.IntRange(-3, 9).Draw(r, "score"))}
	}), 0, 40, func(c index.Candidate) uint32 { return c.Ord }).Draw(r, name)
	slices.SortFunc(list, func(a, b index.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord))
	})
	return list
}

func TestFuseProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v, l := drawList(r, "vector"), drawList(r, "lexical")
		s := Settings{
			Fusion:    rapid.SampledFrom([]string{FusionWeighted, FusionRRF}).Draw(r, "fusion"),
			Normalise: rapid.SampledFrom([]string{NormaliseMinMax, NormaliseZScore, NormaliseTMM}).Draw(r, "normalise"),
			Dense:     dense(rapid.Float64Range(0.01, 0.99).Draw(r, "dense")),
		}
		before := slices.Clone(v)
		got := Fuse(v, l, s)
		if !slices.Equal(before, v) {
			r.Fatal("the caller's list changed")
		}
		if !slices.IsSortedFunc(got, func(a, b Fused) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord)) }) {
			r.Fatal("not in the total order")
		}
		union := map[uint32]bool{}
		for _, c := range slices.Concat(v, l) {
			union[c.Ord] = true
		}
		for _, f := range got {
			if !union[f.Ord] {
				r.Fatalf("%d is in neither list, or twice", f.Ord)
			}
			delete(union, f.Ord)
			if f.Vector.Rank > 0 && v[f.Vector.Rank-1] != (index.Candidate{Ord: f.Ord, Score: f.Vector.Score}) {
				r.Fatalf("vector component %+v", f)
			}
			if f.Lexical.Rank > 0 && l[f.Lexical.Rank-1] != (index.Candidate{Ord: f.Ord, Score: f.Lexical.Score}) {
				r.Fatalf("lexical component %+v", f)
			}
			if math.IsNaN(f.Score) || math.IsInf(f.Score, 0) {
				r.Fatalf("score %v", f.Score)
			}
		}
		if len(union) > 0 {
			r.Fatalf("missing: %v", union)
		}
		// A list fused with itself keeps its order, as far as its scores tell chunks apart.
		self := Fuse(v, v, Settings{Fusion: FusionRRF})
		for i := range self {
			if self[i].Ord != v[i].Ord {
				r.Fatalf("fused with itself: rank %d is %d, not %d", i+1, self[i].Ord, v[i].Ord)
			}
		}
	})
}

func TestFuseAllocations(t *testing.T) {
	v, l := make([]index.Candidate, 100), make([]index.Candidate, 100)
	for i := range v {
		v[i], l[i] = index.Candidate{Ord: uint32(i * 2), Score: 1 - float64(i)}, index.Candidate{Ord: uint32(i * 3), Score: 1 - float64(i)}
	}
	for _, s := range []Settings{{}, {Fusion: FusionRRF}, {Mode: ModeVector}} {
		if n := testing.AllocsPerRun(100, func() { Fuse(v, l, s) }); n > 5 {
			t.Errorf("%+v: %v allocations", s, n)
		}
	}
}

func TestMMR(t *testing.T) {
	list := []Fused{{Ord: 1, Score: 1}, {Ord: 2, Score: .9}, {Ord: 3, Score: .5}, {Ord: 4, Score: 0}}
	// 1 and 2 say nearly the same.
	similarity := func(a, b uint32) float64 {
		switch {
		case a+b == 3:
			return .95
		case a == 4 || b == 4:
			return -1
		}
		return .1
	}
	got, err := MMR(list, 3, .5, similarity)
	if err != nil {
		t.Fatal(err)
	}
	// First 1: .5. Then 2: .45 − .475 = −.025; 3: .25 − .05 = .2; 4: 0. Then 4: 0 before 2.
	want := []Fused{{Ord: 1, Score: .5}, {Ord: 3, Score: .2}, {Ord: 4, Score: 0}}
	if d := gocmp.Diff(want, got, approx); d != "" {
		t.Error(d)
	}
	same, err := MMR(list, 0, 1, similarity)
	if err != nil || !slices.Equal(same, list) {
		t.Errorf("lambda 1: %v, %v", same, err)
	}
	for _, bad := range []float64{-.1, 0, 1.1, math.NaN()} {
		if _, err := MMR(list, 1, bad, similarity); err == nil {
			t.Errorf("lambda %v accepted", bad)
		}
	}
	if got, err := MMR(nil, 5, .5, similarity); err != nil || len(got) != 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
	rapid.Check(t, func(r *rapid.T) {
		fused := Fuse(drawList(r, "vector"), drawList(r, "lexical"), Settings{})
		got, err := MMR(fused, 0, rapid.Float64Range(.01, .99).Draw(r, "lambda"), func(a, b uint32) float64 { return float64((a+b)%7) / 7 })
		if err != nil || len(got) != len(fused) {
			r.Fatal(err, len(got))
		}
		if !slices.IsSortedFunc(got, func(a, b Fused) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord)) }) {
			r.Fatalf("not in the total order: %v", got)
		}
		if len(got) > 0 && got[0].Ord != fused[0].Ord {
			r.Fatal("the first hit changed")
		}
	})
}

func BenchmarkFuse(b *testing.B) {
	v, l := make([]index.Candidate, 100), make([]index.Candidate, 100)
	for i := range v {
		v[i], l[i] = index.Candidate{Ord: uint32(i * 7919 % 1000), Score: 1 - float64(i)/100}, index.Candidate{Ord: uint32(i * 104729 % 1000), Score: 20 - float64(i)/9}
	}
	for _, s := range []Settings{{}, {Fusion: FusionRRF}} {
		b.Run("fusion="+s.WithDefaults().Fusion, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fuse(v, l, s)
			}
		})
	}
}
