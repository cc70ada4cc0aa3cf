package lexical

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSpans looks at what the places of a query's terms cover in a text.
func TestSpans(t *testing.T) {
	for _, tc := range []struct {
		name, analyzer, text, query string
		want                        []string // what matching terms cover, in order, each once
	}{
		{"words", "en", "Refunds are sent within days; a refund takes 5.", "refunding", []string{"Refunds", "refund"}},
		{"accents in the text", "standard", "Die Rückgabe läuft.", "ruckgabe", []string{"Rückgabe"}},
		{"accents in the query", "standard", "Die Ruckgabe", "Rückgabe", []string{"Ruckgabe"}},
		{"combining accents", "standard", "ein Cafe\u0301 am Eck", "café", []string{"Cafe\u0301"}},
		{"Vietnamese", "vi", "Đổi trả trong 7 ngày", "doi tra", []string{"Đổi", "trả"}},
		{"pairs of characters", "cjk", "商品退货期限为七天", "退货", []string{"退", "退货", "货"}},
		{"half-width", "cjk", "新しいﾊﾞｯﾃﾘｰです", "バッ", []string{"ﾊﾞ", "ﾊﾞｯ", "ｯ"}},
		{"full-width", "cjk", "型番ＱＸ３１０です", "qx310", []string{"ＱＸ３１０", "番ＱＸ３１０"}},
		{"a code in other spelling", "standard", "The model (QX-310/B), new.", "qx310b", []string{"310", "QX", "QX-310/B"}},
		{"part of a code", "standard", "See QX-310.", "qx", []string{"QX"}},
		{"plus signs", "standard", "Written in C++.", "c++", []string{"C", "C++"}},
		{"an address", "standard", "node.js; nothing", "node.js", []string{"node.js"}},
		{"none", "standard", "nothing here", "kettle", nil},
		{"empty", "standard", "", "kettle", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := NewAnalyzer(Settings{Analyzer: tc.analyzer})
			if err != nil {
				t.Fatal(err)
			}
			wanted := a.Terms(tc.query)
			var got []string
			for _, s := range a.Spans(tc.text) {
				if covered := tc.text[s.Start:s.End]; slices.Contains(wanted, s.Term) && !slices.Contains(got, covered) {
					got = append(got, covered)
				}
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if !slices.Equal(got, tc.want) {
				t.Errorf("covered %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzSpans(f *testing.F) {
	for _, s := range []string{"Refunds are sent", "Cafe\u0301 ﾊﾞｯﾃﾘｰ ＱＸ３１０", "QX-310/B. C++; node.js:", "\u0301\u0301x", "退货\xff期限", "ﾞﾞ각"} {
		f.Add(s)
	}
	var all []*Analyzer
	for _, name := range []string{"standard", "cjk", "vi", "code"} {
		if a, err := NewAnalyzer(Settings{Analyzer: name}); err == nil {
			all = append(all, a)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		for _, a := range all {
			spans := a.Spans(text)
			var terms []string
			for _, s := range spans {
				terms = append(terms, s.Term)
				if s.Start < 0 || s.End > len(text) || s.Start > s.End || !utf8.ValidString(text[s.Start:s.End]) {
					t.Fatalf("%s: %q has the place %d to %d of %q", a.Name(), s.Term, s.Start, s.End, text)
				}
			}
			if !slices.Equal(terms, a.Terms(text)) {
				t.Fatalf("%s: terms %q, want %q", a.Name(), terms, a.Terms(text))
			}
		}
	})
}
