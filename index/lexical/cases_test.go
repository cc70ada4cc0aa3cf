package lexical

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
)

func TestAnalyzers(t *testing.T) {
	t.Run("LX-01", func(t *testing.T) {
		for _, s := range []Settings{{}, {Analyzer: "en"}, {Analyzer: "standard"}} {
			x := open(t, s, "Who is it for? Everyone over 18.", "No returns on gift cards.")
			for _, c := range []struct {
				query string
				want  []int
			}{{"who is it for", []int{0}}, {"no", []int{1}}, {"to be or not to be", []int{}}} {
				if d := gocmp.Diff(c.want, ords(find(t, x, c.query, 10))); d != "" {
					t.Errorf("%s: %q: %s", x.Stats().Analyzer, c.query, d)
				}
				if x.OnlyStopwords(c.query) {
					t.Errorf("%q: only stop words, but none are removed", c.query)
				}
			}
		}
		x := open(t, Settings{Analyzer: "en", Stopwords: true}, "Who is it for? Everyone over 18.", "No returns on gift cards.")
		if got := find(t, x, "who is it for", 10); len(got) != 0 || !x.OnlyStopwords("who is it for") || x.OnlyStopwords("?!") || x.OnlyStopwords("the returns") {
			t.Errorf("stop words removed: %v, only stop words: %v", got, x.OnlyStopwords("who is it for"))
		}
	})
	t.Run("LX-02", func(t *testing.T) {
		for _, s := range []Settings{{}, {Analyzer: "standard"}, {Analyzer: "en"}, {Analyzer: "vi"}} {
			x := open(t, s, "Toàn bộ đơn hàng", "Quy định an toàn", "So war die Lage")
			if got := ords(find(t, x, "an toàn", 10)); !slices.Equal(got, []int{1, 0}) {
				t.Errorf("%s: an toàn: %v", x.Stats().Analyzer, got)
			}
			if got := ords(find(t, x, "so", 10)); !slices.Equal(got, []int{2}) {
				t.Errorf("%s: so: %v", x.Stats().Analyzer, got)
			}
		}
	})
	t.Run("LX-03", func(t *testing.T) {
		bodies := []string{"Điện thoại đổi trả trong 7 ngày", "Đường Láng", "Dương cầm"}
		x := open(t, Settings{}, bodies...)
		if x.Stats().Analyzer != "vi" {
			t.Errorf("auto took %s", x.Stats().Analyzer)
		}
		if got := ords(find(t, x, "dien thoai doi tra", 10)); !slices.Equal(got, []int{0}) {
			t.Errorf("without marks: %v", got)
		}
		got := find(t, x, "đường", 10)
		if len(got) != 2 || got[0].Ord != 1 || got[0].Score <= got[1].Score {
			t.Errorf("đường: %v, want chunk 1 above 2", got)
		}
		if got := find(t, x, "duong", 10); len(got) != 2 {
			t.Errorf("duong: %v", got)
		}
		off := false
		y := open(t, Settings{Fold: &off}, bodies...)
		if got := find(t, y, "dien thoai doi tra", 10); len(got) != 0 {
			t.Errorf("folding off: %v", got)
		}
	})
	t.Run("LX-04", func(t *testing.T) {
		x := open(t, Settings{}, "返品は七日以内です。", "品質保証は返金なし", "退货政策：七天", "Kettle QX-310")
		if s := x.Stats(); s.Analyzer != "cjk" || s.CJK < .5 || len(s.Warnings) != 0 {
			t.Errorf("%+v", s)
		}
		got := find(t, x, "返品", 10)
		if len(got) != 2 || got[0].Ord != 0 || got[0].Score <= got[1].Score {
			t.Errorf("返品: %v", got)
		}
		for query, want := range map[string][]int{"返": {0, 1}, "です": {0}, "退货": {2}} {
			got := ords(find(t, x, query, 10))
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
		mixed := ords(find(t, x, "QX-310 返品", 10))
		if !slices.Contains(mixed, 3) || !slices.Contains(mixed, 0) {
			t.Errorf("QX-310 返品: %v", mixed)
		}
		y := open(t, Settings{Analyzer: "standard"}, "返品は七日以内です。")
		if w := y.Stats().Warnings; len(w) != 1 || !strings.Contains(w[0], "cjk") {
			t.Errorf("warnings: %q", w)
		}
		if got := find(t, y, "返品", 10); len(got) != 1 {
			t.Errorf("standard: %v", got)
		}
	})
	t.Run("LX-05", func(t *testing.T) {
		for _, s := range []Settings{{Analyzer: "standard"}, {Analyzer: "en"}, {Analyzer: "code"}, {Analyzer: "cjk"}} {
			x := open(t, s, "Kettle QX-310/B, firmware v2.10.3", "Kettle QX-311", "C++ guide", "C# guide", "Rule E-04: see SKU 12/7.", "Error 04 and 12")
			for query, want := range map[string]uint32{
				"QX310": 0, "qx-310": 0, "QX-310/B": 0, "qx310b": 0, "v2.10.3": 0, "C++": 2, "C#": 3, "c++.": 2,
				"E-04": 4, "e04": 4, "SKU 12/7": 4, "12/7": 4,
			} {
				got := find(t, x, query, 10)
				if len(got) == 0 || got[0].Ord != want || len(got) > 1 && got[1].Score == got[0].Score {
					t.Errorf("%s: %s: %v, want %d alone on top", s.Analyzer, query, got, want)
				}
			}
		}
	})
	t.Run("LX-06", func(t *testing.T) {
		x := open(t, Settings{Analyzer: "standard"}, "how much do 20 items cost", "an unbalanced tax price of 2024", "field value a b title x")
		long := strings.Repeat("items \x00\x1b cost ", 700)
		for query, want := range map[string]int{
			"how much: 20+ items?": 0, "\"unbalanced": 1, "price/tax (2024": 1, "a && b": 2, "field:value": 2, "title:\"x": 2, long: 0,
		} {
			if got := find(t, x, query, 10); len(got) == 0 || int(got[0].Ord) != want {
				t.Errorf("%.30q: %v, want %d", query, got, want)
			}
		}
		for _, query := range []string{"-", "", "  \n", "\xff\xfe", "?*~^\"", "+-!(){}[]", "\x00"} {
			if got := find(t, x, query, 10); got == nil || len(got) != 0 {
				t.Errorf("%q: %v, want an empty list", query, got)
			}
		}
		// A code is found through its parts, an operator of another engine excludes nothing.
		if got := ords(find(t, x, "-items NOT cost", 10)); !slices.Equal(got, []int{0}) {
			t.Errorf("-items NOT cost: %v", got)
		}
	})
	t.Run("EN-05", func(t *testing.T) {
		x := open(t, Settings{}, "b\u1ec7nh viện", "be\u0323\u0302nh viện")
		a, b := find(t, x, "b\u1ec7nh viện", 2), find(t, x, "be\u0323\u0302nh viện", 2)
		if d := gocmp.Diff(a, b); d != "" || len(a) != 2 || a[0].Score != a[1].Score {
			t.Errorf("composed %v, decomposed %v", a, b)
		}
	})
}

func TestTerms(t *testing.T) {
	for _, c := range []struct {
		analyzer, text string
		want           []string
	}{
		{"standard", "The Kettle's lid, 20+ items!", []string{"the", "kettle's", "lid", "20", "items"}},
		{"en", "The Kettle's lids are boiling", []string{"the", "kettl", "lid", "ar", "boil"}},
		{"de", "Die Größen groessen", []string{"die", "gross", "groess", "gross"}},
		{"fr", "l’hôtel", []string{"hôtel", "hotel"}},
		{"standard", "QX-310/B", []string{"qx", "310", "b", "qx-310/b", "qx310", "qx310b", "310b"}},
		{"standard", "v2.10.3", []string{"v2.10.3", "2", "10", "3", "v2"}},
		{"standard", "C++, C#; F#.", []string{"c", "c++", "c", "c#", "f", "f#"}},
		{"standard", "node.js max_size e.g. end.Next", []string{"node.js", "node", "js", "nodejs", "max_size", "max", "size", "maxsize", "e.g", "end.next", "end", "next", "endnext"}},
		{"standard", "field:value ::a", []string{"field", "value", "a"}},
		{"standard", "3.5 1,000 10:30", []string{"3.5", "1,000", "10", "30", "10:30"}},
		{"code", "parseHTTPRequest userID", []string{"parsehttprequest", "parse", "httprequest", "userid", "user", "id"}},
		{"standard", "well-known and/or", []string{"well", "known", "and", "or"}},
		{"standard", "đường", []string{"đường", "duong"}},
		{"standard", "が й", []string{"が", "й"}},
		{"cjk", "返品は。七日", []string{"返", "品", "返品", "は", "品は", "七", "日", "七日"}},
		{"cjk", "ｱﾊﾟｰﾄ ＱＸ", []string{"ア", "パ", "アパ", "ー", "パー", "ト", "ート", "qx"}},
		{"standard", "\x00 -- …", nil},
	} {
		a, err := NewAnalyzer(Settings{Analyzer: c.analyzer})
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(c.want, a.Terms(c.text)); d != "" {
			t.Errorf("%s: Terms(%q) (-want +got):\n%s", c.analyzer, c.text, d)
		}
	}
	t.Run("long words", func(t *testing.T) {
		a, err := NewAnalyzer(Settings{Analyzer: "standard"})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{strings.Repeat("a", 5000), strings.Repeat("é", 5000), strings.Repeat("a1", 3000)} {
			for _, term := range a.Terms(w) {
				if len(term) > maxTermBytes || !strings.HasPrefix(w, term[:8]) && !strings.HasPrefix(Fold(w), term[:8]) {
					t.Errorf("%.10s…: term of %d bytes", w, len(term))
				}
			}
		}
	})
}

// TestLongQueries: stop words of verbose questions are not searched, those of short ones are.
func TestLongQueries(t *testing.T) {
	a, err := NewAnalyzer(Settings{Analyzer: "en"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"the return of the kettle", []string{"the", "return", "of", "the", "kettl"}},
		{"what is the refund window for a used rice cooker", []string{"refund", "window", "us", "rice", "cooker"}},
		{"is there no refund for used rice cookers", []string{"no", "refund", "us", "rice", "cooker"}},
	} {
		if d := gocmp.Diff(c.want, a.QueryTerms(c.query)); d != "" {
			t.Errorf("QueryTerms(%q) (-want +got):\n%s", c.query, d)
		}
	}
	a, err = NewAnalyzer(Settings{Analyzer: "en", LongQueries: "keep"})
	if err != nil {
		t.Fatal(err)
	}
	if q := "what is the refund window for a used rice cooker"; !slices.Equal(a.QueryTerms(q), a.Terms(q)) {
		t.Error("keep: stop words are left out")
	}
}

func TestFields(t *testing.T) {
	docs := []Doc{
		{ID: "p", Heading: "Kettle warranty", Body: "24 months."},
		{ID: "q", Heading: "Shipping", Body: "kettle kettle kettle warranty"},
		{ID: "r", Title: "Kettle", Body: "lid lid lid"},
	}
	t.Run("LX-10", func(t *testing.T) {
		// One field: the heading counts as if written above the body.
		x := openDocs(t, Settings{Analyzer: "standard"}, docs)
		var merged []Doc
		for _, d := range docs {
			merged = append(merged, Doc{ID: d.ID, Body: strings.TrimSpace(d.Title + " " + d.Heading + " " + d.Body)})
		}
		y := openDocs(t, Settings{Analyzer: "standard"}, merged)
		if d := gocmp.Diff(find(t, y, "kettle warranty", 5), find(t, x, "kettle warranty", 5)); d != "" {
			t.Error(d)
		}
		// Weight 3 is the heading written three times.
		three := 3
		for i := range merged {
			merged[i].Body = docs[i].Title + " " + strings.Repeat(docs[i].Heading+" ", 3) + docs[i].Body
		}
		x3, y3 := openDocs(t, Settings{Analyzer: "standard", Heading: &three}, docs), openDocs(t, Settings{Analyzer: "standard"}, merged)
		if d := gocmp.Diff(find(t, y3, "kettle warranty", 5), find(t, x3, "kettle warranty", 5)); d != "" {
			t.Error(d)
		}
		if s := x3.Stats(); s.TitleWords != 1 || s.HeadingWords != 3 || s.BodyWords != 9 || s.TotalLength != 1+9+9 {
			t.Errorf("words: %+v", s)
		}
		zero := 0
		x0 := openDocs(t, Settings{Analyzer: "standard", Heading: &zero, Title: &zero}, docs)
		if got := ords(find(t, x0, "kettle warranty", 5)); !slices.Equal(got, []int{1}) {
			t.Errorf("weight 0: %v", got)
		}
		// Another layout is a mismatch.
		_, err := Open(x3.dir, Settings{Analyzer: "standard"}, x3.Stats())
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "lexical.heading 3") {
			t.Errorf("open with another weight: %v", err)
		}
		k1 := 0.9
		if _, err := Open(x3.dir, Settings{Analyzer: "standard", Heading: &three, K1: &k1}, Stats{}); !errors.Is(err, ErrMismatch) {
			t.Errorf("open with another k1: %v", err)
		}
		other := x3.Stats()
		other.Terms++
		if _, err := Open(x3.dir, Settings{Heading: &three}, other); !errors.Is(err, ErrMismatch) {
			t.Errorf("open with other statistics: %v", err)
		}
	})
}

func TestSearch(t *testing.T) {
	t.Run("VS-01", func(t *testing.T) {
		for _, c := range []struct{ chunks, k, want int }{{3, 5, 3}, {0, 5, 0}, {1, 1, 1}} {
			bodies := []string{}
			for range c.chunks {
				bodies = append(bodies, "kettle")
			}
			x := open(t, Settings{}, bodies...)
			if got := find(t, x, "kettle", c.k); len(got) != c.want || got == nil {
				t.Errorf("%d chunks, k %d: %v", c.chunks, c.k, got)
			}
			if err := x.Verify(context.Background()); err != nil {
				t.Errorf("%d chunks: %v", c.chunks, err)
			}
		}
		x := open(t, Settings{}, "kettle")
		if got := find(t, x, "kettle", math.MaxInt); len(got) != 1 {
			t.Errorf("largest k: %v", got)
		}
		for _, k := range []int{0, -1} {
			if _, err := x.SearchText(context.Background(), "kettle", k, nil); err == nil {
				t.Errorf("k %d: no error", k)
			}
		}
	})
	t.Run("LX-08", func(t *testing.T) {
		bodies := slices.Repeat([]string{"kettle with a lid"}, 15)
		x := open(t, Settings{}, bodies...)
		want := []int{14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3}
		if d := gocmp.Diff(want, ords(find(t, x, "kettle lid", 12))); d != "" {
			t.Error(d)
		}
		// Ties far beyond any buffer, cut in the middle.
		y := open(t, Settings{}, slices.Repeat([]string{"kettle with a lid"}, 9000)...)
		got := ords(find(t, y, "the kettle lid", 2500))
		for i, o := range got {
			if o != 8999-i {
				t.Fatalf("rank %d is chunk %d", i+1, o)
			}
		}
		if len(got) != 2500 {
			t.Errorf("%d hits", len(got))
		}
	})
	t.Run("PM-05", func(t *testing.T) {
		// Declared: statistics are global. The order within what a caller sees may change when
		// hidden chunks are added; that they are never returned is what the filter promises.
		public := []string{"kettle kettle", "merger kettle", "merger merger"}
		for i := range 7 {
			public = append(public, fmt.Sprintf("filler %d", i))
		}
		x := open(t, Settings{Analyzer: "standard"}, append(slices.Clone(public), slices.Repeat([]string{"merger merger board"}, 200)...)...)
		filter := index.NewFilter(x.Len())
		for i := range public {
			filter.Set(uint32(i))
		}
		got, err := x.SearchText(context.Background(), "kettle merger", 50, filter)
		if err != nil || len(got) != 3 {
			t.Fatalf("%v, %v", got, err)
		}
		alone := find(t, open(t, Settings{Analyzer: "standard"}, public...), "kettle merger", 50)
		if len(alone) != 3 || alone[0].Score == got[0].Score {
			t.Errorf("scores do not show the global statistics that are documented: %v, %v", alone, got)
		}
		// Per label: both lists are equal, scores included, whatever is hidden.
		own := Settings{Analyzer: "standard", Statistics: "per-label"}
		long := strings.Repeat("board merger kettle ", 40)
		for _, hidden := range []string{"merger merger board", "x", long} {
			y := open(t, own, append(slices.Clone(public), slices.Repeat([]string{hidden}, 5000)...)...)
			f := index.NewFilter(y.Len())
			for i := range public {
				f.Set(uint32(i))
			}
			for _, k := range []int{1, 2, 50} {
				got, err := y.SearchText(context.Background(), "kettle merger board", k, f)
				if err != nil {
					t.Fatal(err)
				}
				if d := gocmp.Diff(alone[:min(k, len(alone))], got); d != "" {
					t.Errorf("hidden %.10s: %s", hidden, d)
				}
			}
			if all := find(t, y, "kettle", 3); all[0].Score == alone[0].Score {
				t.Error("without a filter the statistics are not global")
			}
		}
		// A filter shorter than the index admits nothing beyond its end.
		short := &index.Filter{Bits: []uint64{1 << 2}, Count: 1}
		if got, err := x.SearchText(context.Background(), "merger", 50, short); err != nil || len(got) != 1 || got[0].Ord != 2 {
			t.Errorf("short filter: %v, %v", got, err)
		}
		if got, err := x.SearchText(context.Background(), "merger", 50, index.NewFilter(x.Len())); err != nil || len(got) != 0 {
			t.Errorf("empty filter: %v, %v", got, err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		x := open(t, Settings{}, "kettle")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if got, err := x.SearchText(ctx, "kettle", 1, nil); !errors.Is(err, context.Canceled) || got != nil {
			t.Errorf("search: %v, %v", got, err)
		}
		if err := x.Verify(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("verify: %v", err)
		}
		_, err := Build(ctx, nil, t.TempDir(), slices.Values([]Doc{{ID: "a", Body: "b"}}), Settings{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("build: %v", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		x := open(t, Settings{}, "kettle")
		if err := errors.Join(x.Close(), x.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := x.SearchText(context.Background(), "kettle", 1, nil); !errors.Is(err, index.ErrClosed) {
			t.Errorf("search: %v", err)
		}
		if err := x.Verify(context.Background()); !errors.Is(err, index.ErrClosed) {
			t.Errorf("verify: %v", err)
		}
	})
}

func TestValidate(t *testing.T) {
	num := func(v float64) *float64 { return &v }
	weight := func(v int) *int { return &v }
	for _, c := range []struct {
		s    Settings
		want string // "" accepts
	}{
		{Settings{}, ""},
		{Settings{K1: num(0), B: num(0), Title: weight(0), Heading: weight(16)}, ""},
		{Settings{Analyzer: "klingon"}, "klingon"},
		{Settings{K1: num(-.1)}, "0 to 10"},
		{Settings{K1: num(math.NaN())}, "NaN"},
		{Settings{K1: num(math.Inf(1))}, "Inf"},
		{Settings{B: num(1.01)}, "0 to 1"},
		{Settings{B: num(math.NaN())}, "NaN"},
		{Settings{Title: weight(17)}, "0 to 16"},
		{Settings{Heading: weight(-1)}, "0 to 16"},
		{Settings{LongQueries: "drop"}, "trim or keep"},
		{Settings{Statistics: "none"}, "global or per-label"},
	} {
		err := c.s.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, s := range []Settings{{Analyzer: "standard"}, {Analyzer: "standard", Statistics: "per-label"}} {
		x := open(t, s, "kettle kettle lid", "kettle", "pan lid", "pan")
		f := index.NewFilter(4)
		f.Set(0)
		f.Set(2)
		for _, filter := range []*index.Filter{nil, f} {
			got, err := x.SearchText(context.Background(), "lid kettle lid nothing", 4, filter)
			if err != nil || len(got) < 2 {
				t.Fatal(got, err)
			}
			for _, c := range got {
				parts, err := x.Explain(context.Background(), "lid kettle lid nothing", c.Ord, filter)
				if err != nil || len(parts) != 2 || parts[0].Term != "lid" || parts[0].Times != 2 {
					t.Fatalf("%+v, %v", parts, err)
				}
				if sum := parts[0].Score + parts[1].Score; sum != c.Score {
					t.Errorf("%+v: parts add up to %v, score is %v", parts, sum, c.Score)
				}
			}
		}
		if got, want := x.IDF("lid"), math.Log(2); /* 1 + 2.5/2.5 */ got != want || x.IDF("nothing") != math.Log(1+4.5/.5) {
			t.Errorf("IDF: %v, want %v; unknown: %v", got, want, x.IDF("nothing"))
		}
		for _, ord := range []uint32{1, 4, math.MaxUint32} {
			if parts, err := x.Explain(context.Background(), "kettle", ord, f); err == nil {
				t.Errorf("chunk %d: %+v", ord, parts)
			}
		}
	}
}
