package chunk_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/seed792a4543/assay/chunk"
	"pgregory.net/rapid"
)

// TestGraphemes checks that windows end at the borders of grapheme clusters wherever clusters
// fit the window.
func TestGraphemes(t *testing.T) {
	pieces := []string{"a", " ", "é", "👨‍👩‍👧‍👦", "🇩🇪", "🇫🇷", "각", "ก็", "x\u0323\u0302", "日", "\n", "👍🏽"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 60).Draw(t, "text"), "")
		d, err := tryLoad("a.txt", text)
		if err != nil {
			t.Fatal(err)
		}
		borders := map[int]bool{0: true}
		longest, at := 0, 0
		for g := uniseg.NewGraphemes(d.Text); g.Next(); {
			longest = max(longest, utf8.RuneCountInString(g.Str()))
			at += len(g.Str())
			borders[at] = true
		}
		size := rapid.IntRange(longest+1, 40).Draw(t, "size")
		s := chunk.Settings{Kind: chunk.KindFixed, Size: size, Overlap: rapid.IntRange(0, size-1).Draw(t, "overlap")}
		chunks, err := chunk.Split(d, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			if !borders[c.Span.Start] || !borders[c.Span.End] {
				t.Fatalf("%+v: chunk %q at %v cuts a cluster of %q", s, c.Text, c.Span, d.Text)
			}
		}
	})
}
