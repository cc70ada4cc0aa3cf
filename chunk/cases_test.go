package chunk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
)

// path returns the section path of a chunk.
func path(d *corpus.Document, c chunk.Chunk) string {
	return corpus.FormatPath(d.Sections[c.Section].Path)
}

// listing writes path and text of each chunk.
func listing(d *corpus.Document, chunks []chunk.Chunk) []string {
	var got []string
	for _, c := range chunks {
		got = append(got, path(d, c)+": "+c.Text)
	}
	return got
}

func cut(t *testing.T, name, content string, s chunk.Settings) (*corpus.Document, []chunk.Chunk) {
	t.Helper()
	d := load(t, name, content)
	chunks := split(t, d, s)
	if err := checkInvariants(d, s, chunks); err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return d, chunks
}

func TestChunk(t *testing.T) {
	t.Run("CH-01", func(t *testing.T) {
		d, chunks := cut(t, "shop.md", "Orders ship from Hanoi.\n\n# Returns\nWithin 7 days.\n", chunk.Settings{})
		want := []string{": Orders ship from Hanoi.", "Returns: # Returns\nWithin 7 days."}
		if diff := cmp.Diff(want, listing(d, chunks)); diff != "" {
			t.Errorf("chunks (-want +got):\n%s", diff)
		}
		// A heading equal to the title is another section than the document's own.
		d, chunks = cut(t, "shop.md", "preamble\n\n# shop\ntext\n", chunk.Settings{})
		if chunks[0].Section == chunks[1].Section || path(d, chunks[0]) != "" {
			t.Errorf("chunks %q", listing(d, chunks))
		}
	})
	t.Run("CH-02", func(t *testing.T) {
		d, chunks := cut(t, "c.md", "# Catalog\n### Arrays\na\n### Links\nb\n## Index\nc\n", chunk.Settings{Level: 3})
		want := []string{"Catalog: # Catalog", "Catalog > Arrays: ### Arrays\na", "Catalog > Links: ### Links\nb", "Catalog > Index: ## Index\nc"}
		if diff := cmp.Diff(want, listing(d, chunks)); diff != "" {
			t.Errorf("chunks (-want +got):\n%s", diff)
		}
		if !chunks[0].Bare || chunks[1].Bare {
			t.Errorf("bare: %v, %v, want true, false", chunks[0].Bare, chunks[1].Bare)
		}
	})
	t.Run("CH-03", func(t *testing.T) {
		for _, filler := range []string{strings.Repeat("filler words ", 23), strings.Repeat("x", 300), "", strings.Repeat("Short one. ", 27)} {
			d, chunks := cut(t, "std.md", "# Std\n## 5 Classes\n"+filler+"\n#### 5.9.2 Marking\nRed label only.\n", chunk.Settings{Max: 80, Level: 2})
			for _, c := range chunks {
				if strings.Contains(c.Text, "Red label") && filler != "" && path(d, c) != "Std > 5 Classes > 5.9.2 Marking" {
					t.Errorf("%.20q: %q has path %q", filler, c.Text, path(d, c))
				}
			}
			last := chunks[len(chunks)-1]
			if filler == "" && !(path(d, last) == "Std > 5 Classes" && len(last.Sections) == 1) {
				t.Errorf("short section: %q, sections %v", listing(d, chunks), last.Sections)
			}
		}
	})
	t.Run("CH-04", func(t *testing.T) {
		_, chunks := cut(t, "c.md", "# Title\n\n## Care\nWipe dry.\n", chunk.Settings{Prefix: chunk.PrefixHeading})
		care := chunks[len(chunks)-1]
		if care.Text != "## Care\nWipe dry." {
			t.Errorf("text %q", care.Text)
		}
		if n := strings.Count(care.Context+care.Text, "Care"); n != 1 {
			t.Errorf("%q holds Care %d times", care.Context+care.Text, n)
		}
		if care.Context != "Title\n" {
			t.Errorf("context %q", care.Context)
		}
	})
	t.Run("CH-05", func(t *testing.T) {
		d := load(t, "a.txt", strings.Repeat("a", 1000))
		for _, kind := range []string{chunk.KindFixed, chunk.KindRecursive, chunk.KindSentence} {
			for _, tt := range []struct {
				size, overlap int
				want          string
			}{
				{100, 100, "overlap is 100 and size is 100"}, {100, 101, "overlap is 101 and size is 100"}, {100, -1, "overlap is -1 and size is 100"},
				{-5, 0, "size is -5"}, {-5, 7, "size is -5 and overlap is 7"}, {0, 400, "overlap is 400 and size is 400 (the default)"},
			} {
				_, err := chunk.Split(d, chunk.Settings{Kind: kind, Size: tt.size, Overlap: tt.overlap})
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s size %d, overlap %d: %v, want %q", kind, tt.size, tt.overlap, err, tt.want)
				}
			}
			for overlap := 0; overlap < 100; overlap += 33 {
				s := chunk.Settings{Kind: kind, Size: 100, Overlap: overlap}
				if err := checkInvariants(d, s, split(t, d, s)); err != nil {
					t.Errorf("%+v: %v", s, err)
				}
			}
		}
		for _, s := range []chunk.Settings{{Kind: "semantic"}, {Units: "bytes"}, {Prefix: "all"}, {Level: 7}, {Max: -1}, {Max: 10, Min: 11}, {Neighbours: 11}, {Min: -1}} {
			if err := s.Validate(); err == nil {
				t.Errorf("%+v accepted", s)
			}
		}
	})
	t.Run("CH-06", func(t *testing.T) {
		text := "# A\nSee the manual.\n# B\nSee the manual.\n# C\nSee the manual.\n"
		d, chunks := cut(t, "a.md", text, chunk.Settings{})
		want := []string{"A: # A\nSee the manual.", "B: # B\nSee the manual.", "C: # C\nSee the manual."}
		if diff := cmp.Diff(want, listing(d, chunks)); diff != "" {
			t.Errorf("section chunks (-want +got):\n%s", diff)
		}
		_, chunks = cut(t, "a.md", text, chunk.Settings{Kind: chunk.KindFixed, Size: 12, Overlap: 4})
		for i, c := range chunks {
			if want := text[i*8 : min(i*8+12, len(text))]; c.Text != want || c.Span.Start != i*8 {
				t.Errorf("chunk %d is %q at %d, want %q", i, c.Text, c.Span.Start, want)
			}
		}
	})
	t.Run("CH-08", func(t *testing.T) {
		for _, text := range []string{strings.Repeat("a", 5000), strings.Repeat("日本語の段落", 150)} {
			for _, kind := range []string{chunk.KindSection, chunk.KindFixed, chunk.KindRecursive, chunk.KindSentence} {
				for _, overlap := range []int{0, 20} {
					s := chunk.Settings{Kind: kind, Max: 100, Size: 100, Overlap: overlap}
					_, chunks := cut(t, "a.txt", text, s)
					var b strings.Builder
					end := 0
					for _, c := range chunks {
						b.WriteString(c.Text[max(end-c.Span.Start, 0):])
						end = c.Span.End
					}
					if b.String() != text {
						t.Errorf("%s: pieces do not make the input", kind)
					}
				}
			}
		}
	})
	t.Run("CH-09", func(t *testing.T) {
		var table strings.Builder
		table.WriteString("## Rates\n| zone | price |\n|---|---|\n")
		for i := range 60 {
			fmt.Fprintf(&table, "| zone-%02d | %d |\n", i, 30+i)
		}
		d, chunks := cut(t, "a.md", table.String(), chunk.Settings{Max: 400, Prefix: chunk.PrefixNone})
		if len(chunks) < 2 {
			t.Fatalf("%d chunks", len(chunks))
		}
		rows := 0
		for i, c := range chunks {
			for line := range strings.SplitSeq(c.Text, "\n") {
				if strings.HasPrefix(line, "| zone-") && strings.HasSuffix(line, " |") {
					rows++
				} else if i > 0 {
					t.Errorf("chunk %d holds %q", i, line)
				}
			}
			if path(d, c) != "Rates" {
				t.Errorf("chunk %d has path %q", i, path(d, c))
			}
			want := "| zone | price |\n|---|---|\n"
			if i == 0 {
				want = ""
			}
			if c.Context != want {
				t.Errorf("chunk %d has context %q, want %q", i, c.Context, want)
			}
			if i < len(chunks)-1 && len(c.Text) < 300 {
				t.Errorf("chunk %d has %d of 400 bytes", i, len(c.Text))
			}
		}
		if rows != 60 {
			t.Errorf("%d rows, want 60", rows)
		}
	})
	t.Run("CH-10", func(t *testing.T) {
		d, chunks := cut(t, "p.md", "# Policy\n## Returns\n### Electronics\n7 days.\n### Clothes\n30 days.\n", chunk.Settings{})
		last := chunks[len(chunks)-1]
		if path(d, last) != "Policy > Returns" || !slices.Equal(last.Sections, []int{3, 4}) {
			t.Errorf("chunks %q, sections %v", listing(d, chunks), last.Sections)
		}
	})
	t.Run("CH-11", func(t *testing.T) {
		para := func(c string) string { return strings.Repeat(c+" ", 199) + c + "." }
		_, chunks := cut(t, "faq.txt", para("a")+"\n\nDELIVERY\n\n"+para("b")+"\n\n# not a heading\n"+para("c")+"\n", chunk.Settings{Max: 500})
		if len(chunks) != 3 {
			t.Fatalf("%d chunks, want 3", len(chunks))
		}
		for i, first := range []string{"a a", "b b", "# not"} {
			if !strings.HasPrefix(chunks[i].Text, first) {
				t.Errorf("chunk %d begins %.10q", i, chunks[i].Text)
			}
		}
		if !strings.HasSuffix(chunks[0].Text, "DELIVERY") {
			t.Errorf("chunk 0 ends %q", chunks[0].Text[len(chunks[0].Text)-10:])
		}
	})
	t.Run("EN-03", func(t *testing.T) {
		_, chunks := cut(t, "a.txt", strings.Repeat("Bảo hành 12 tháng cho ấm đun.", 40), chunk.Settings{Kind: chunk.KindFixed, Size: 50})
		for _, c := range chunks[:len(chunks)-1] {
			if n := utf8.RuneCountInString(c.Text); n != 50 {
				t.Errorf("%q has %d runes, want 50", c.Text, n)
			}
		}
		_, chunks = cut(t, "a.txt", "你好", chunk.Settings{Kind: chunk.KindFixed, Size: 1})
		if len(chunks) != 2 || chunks[0].Text != "你" || chunks[1].Text != "好" {
			t.Errorf("chunks %+v", chunks)
		}
		family := "👨‍👩‍👧‍👦" // 7 runes
		_, chunks = cut(t, "a.txt", "abcdef"+family+"ghij", chunk.Settings{Kind: chunk.KindFixed, Size: 10})
		if chunks[0].Text != "abcdef" || !strings.HasPrefix(chunks[1].Text, family) {
			t.Errorf("chunks %q, %q: the family is cut", chunks[0].Text, chunks[1].Text)
		}
		_, chunks = cut(t, "a.txt", strings.Repeat(family, 3), chunk.Settings{Kind: chunk.KindFixed, Size: 3})
		if len(chunks) < 7 {
			t.Errorf("%d chunks of a limit below one emoji", len(chunks))
		}
	})
	t.Run("ID-01", func(t *testing.T) {
		d, chunks := cut(t, "a.md", "# Phone\n## Warranty\n12 months\n# Laptop\n## Warranty\n24 months\n", chunk.Settings{})
		want := []string{"Phone: # Phone", "Phone > Warranty: ## Warranty\n12 months", "Laptop: # Laptop", "Laptop > Warranty: ## Warranty\n24 months"}
		if diff := cmp.Diff(want, listing(d, chunks)); diff != "" {
			t.Errorf("chunks (-want +got):\n%s", diff)
		}
	})
	t.Run("ID-04", func(t *testing.T) {
		long := strings.Repeat("same ", 60)
		_, chunks := cut(t, "a.md", "# A\n"+long+"one\n# B\n"+long+"two\n", chunk.Settings{})
		if len(chunks) != 2 || chunks[0].ID == chunks[1].ID || chunks[0].ID != "a.md#0-307" {
			t.Errorf("ids %q, %q", chunks[0].ID, chunks[1].ID)
		}
	})
	t.Run("MD-03", func(t *testing.T) {
		_, chunks := cut(t, "t.md", "# T\nintro\n\n```py\nx = 1\n\n## Important\nkeep me\n", chunk.Settings{})
		if len(chunks) != 1 || !strings.HasSuffix(chunks[0].Text, "## Important\nkeep me") {
			t.Errorf("chunks %+v", chunks)
		}
	})
	t.Run("MD-05", func(t *testing.T) {
		for _, kind := range []string{chunk.KindSection, chunk.KindFixed, chunk.KindRecursive, chunk.KindSentence} {
			_, chunks := cut(t, "a.md", "---\ntitle: Demo\n---\n# Body\nx\n", chunk.Settings{Kind: kind})
			if len(chunks) != 1 || strings.TrimSpace(chunks[0].Text) != "# Body\nx" {
				t.Errorf("%s: chunks %+v", kind, chunks)
			}
		}
	})
	t.Run("MD-07", func(t *testing.T) {
		text := "# Cfg\n```yaml\na:\n  b: 1\n```\n\n- x\n    - y\n\nlast\n"
		_, chunks := cut(t, "a.md", text, chunk.Settings{})
		if len(chunks) != 1 || chunks[0].Text != strings.TrimRight(text, "\n") {
			t.Errorf("chunks %+v", chunks)
		}
		_, chunks = cut(t, "a.md", "# Cfg\n\n    indented\n      more\n", chunk.Settings{Max: 16})
		if last := chunks[len(chunks)-1]; !strings.HasSuffix(last.Text, "      more") {
			t.Errorf("last chunk %q lost its indentation", last.Text)
		}
	})
}

func TestContext(t *testing.T) {
	text := "---\ntitle: The Manual\n---\n# Care\nFirst sentence. " + strings.Repeat("Word ", 30) + "end. Last sentence.\n\n## Deep\nInner.\n"
	d := load(t, "m.md", text)
	for _, tt := range []struct {
		name string
		s    chunk.Settings
		want []string // contexts
	}{
		{"both", chunk.Settings{Max: 100}, []string{"The Manual\n", "The Manual > Care\n", "The Manual > Care\n", "The Manual > Care\n"}},
		{"heading", chunk.Settings{Max: 100, Prefix: chunk.PrefixHeading}, []string{"", "Care\n", "Care\n", "Care\n"}},
		{"title", chunk.Settings{Max: 100, Prefix: chunk.PrefixTitle}, []string{"The Manual\n", "The Manual\n", "The Manual\n", "The Manual\n"}},
		{"none", chunk.Settings{Max: 100, Prefix: chunk.PrefixNone}, []string{"", "", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got, texts []string
			for _, c := range split(t, d, tt.s) {
				got = append(got, c.Context)
				texts = append(texts, c.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("contexts of %q (-want +got):\n%s", texts, diff)
			}
		})
	}
	t.Run("neighbours", func(t *testing.T) {
		d := load(t, "m.txt", "One is here. Two is here. Three is here. Four is here. Five is here.\n")
		chunks := split(t, d, chunk.Settings{Kind: chunk.KindSentence, Size: 14, Neighbours: 1, Prefix: chunk.PrefixNone})
		if len(chunks) < 5 || chunks[1].Text != "Two is here." {
			t.Fatalf("chunks %+v", chunks)
		}
		if got := chunks[1].Context; got != "One is here.\nThree is here.\n" {
			t.Errorf("context %q", got)
		}
		if got := chunks[0].Context; got != "Two is here.\n" {
			t.Errorf("first context %q", got)
		}
	})
	t.Run("text that is only the title", func(t *testing.T) {
		d := &corpus.Document{ID: "1", Title: "Wings", Text: "Wings", Sections: []corpus.Section{{Span: corpus.Span{Start: 0, End: 5}, Parent: -1}}}
		if chunks := split(t, d, chunk.Settings{}); len(chunks) != 1 || chunks[0].Context != "" {
			t.Errorf("chunks %+v", chunks)
		}
		d.Text = ""
		d.Sections[0].Span.End = 0
		if chunks := split(t, d, chunk.Settings{}); len(chunks) != 0 {
			t.Errorf("chunks %+v of an empty document", chunks)
		}
	})
	t.Run("title equal to the first heading", func(t *testing.T) {
		d := load(t, "m.md", "# Care\n\nx\n\n## Deep\nInner.\n")
		chunks := split(t, d, chunk.Settings{})
		if chunks[0].Context != "" || chunks[1].Context != "Care\n" {
			t.Errorf("contexts %q, %q", chunks[0].Context, chunks[1].Context)
		}
	})
}

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "One two. Three! Four? Five", []string{"One two.", "Three!", "Four?", "Five"}},
		{"abbreviations", "See Dr. Smith, e.g. at 5 p.m. today. Art. 5 says z.B. Folgendes. Am 3. Oktober.", []string{"See Dr. Smith, e.g. at 5 p.m. today.", "Art. 5 says z.B. Folgendes.", "Am 3. Oktober."}},
		{"quotes", "He said \"no.\" She left (at once.) Then.", []string{"He said \"no.\"", "She left (at once.)", "Then."}},
		{"wrapped lines", "It is\nlong. But\nfine.", []string{"It is\nlong.", "But\nfine."}},
		{"numbers", "Costs 3.50 today. Or v1.2.3 now.", []string{"Costs 3.50 today.", "Or v1.2.3 now."}},
		{"CJK", "你好。今天很好！再见", []string{"你好。", "今天很好！", "再见"}},
		{"Vietnamese", "Bảo hành 12 tháng. Đổi trả trong 7 ngày.", []string{"Bảo hành 12 tháng.", "Đổi trả trong 7 ngày."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := load(t, "a.txt", tt.in)
			longest := 1
			for _, w := range tt.want {
				longest = max(longest, utf8.RuneCountInString(w)+1)
			}
			// The limit is that of the longest sentence, so two may share a chunk: compare ends.
			ends := map[int]bool{}
			for _, c := range split(t, d, chunk.Settings{Kind: chunk.KindSentence, Size: longest}) {
				ends[c.Span.End] = true
			}
			at := 0
			wanted := map[int]bool{}
			for _, w := range tt.want {
				at += strings.Index(tt.in[at:], w) + len(w)
				wanted[at] = true
			}
			for end := range ends {
				if !wanted[end] {
					t.Errorf("a chunk ends at %d: %q|%q", end, tt.in[:end], tt.in[end:])
				}
			}
		})
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		in     string
		tokens int
	}{
		{"", 0}, {" \n", 0}, {"word", 1}, {"two words", 2}, {"don't stop.", 5}, {"abcdefgh", 1}, {"abcdefghi", 2}, {strings.Repeat("a", 80), 10},
		{"你好吗", 3}, {"Bảo hành", 2}, {"e\u0301t", 1}, {"a_b1", 1}, {"3.50 €", 4}, {"ไทย", 3},
	} {
		if got := chunk.Count(tt.in, chunk.UnitTokens); got != tt.tokens {
			t.Errorf("Count(%q) = %d tokens, want %d", tt.in, got, tt.tokens)
		}
		if got := chunk.Count(tt.in, chunk.UnitRunes); got != utf8.RuneCountInString(tt.in) {
			t.Errorf("Count(%q) = %d runes", tt.in, got)
		}
	}
}

func TestMerge(t *testing.T) {
	d, chunks := cut(t, "a.md", "# A\n## B\nb\n## C\nc\n## D\n"+strings.Repeat("d ", 30)+"\n## E\ne\n", chunk.Settings{Max: 70, Min: 20})
	got := listing(d, chunks)
	if len(got) != 3 || got[0] != "A: # A\n## B\nb\n## C\nc" || got[2] != "A > E: ## E\ne" {
		t.Errorf("chunks %q", got)
	}
}

func TestDefaults(t *testing.T) {
	want := chunk.Settings{Kind: "section", Max: 900, Level: 2, Units: "runes", Prefix: "both"}
	if diff := cmp.Diff(want, chunk.Settings{Size: 100, Overlap: 20}.WithDefaults()); diff != "" {
		t.Errorf("section (-want +got):\n%s", diff)
	}
	want = chunk.Settings{Kind: "fixed", Size: 400, Units: "runes", Prefix: "both"}
	if diff := cmp.Diff(want, chunk.Settings{Kind: "fixed", Max: 100, Level: 3, Min: 2}.WithDefaults()); diff != "" {
		t.Errorf("fixed (-want +got):\n%s", diff)
	}
}

// TestHostile cuts what is long, deep or without a place to cut.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"long line":  strings.Repeat("word ", 1<<17),
		"blob":       strings.Repeat("a", 1<<20),
		"marks":      strings.Repeat("a"+strings.Repeat("\u0323\u0308", 20), 5_000),
		"flags":      strings.Repeat("🇩🇪", 20_000),
		"joiners":    strings.Repeat("👨\u200d", 20_000),
		"blank":      "x" + strings.Repeat(" \n", 200_000) + "y",
		"headings":   strings.Repeat("# same\n", 20_000),
		"levels":     strings.Repeat("# a\n## b\n### c\n#### d\n##### e\n###### f\n", 5_000),
		"table":      "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 50_000),
		"stops":      strings.Repeat(". ", 100_000),
		"quotes":     strings.Repeat(".\"", 200_000),
		"paragraphs": strings.Repeat("p\n\n", 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			d := load(t, "a.md", text)
			for _, s := range []chunk.Settings{
				{}, {Min: 300}, {Max: 7, Units: chunk.UnitTokens}, {Kind: chunk.KindFixed, Overlap: 100}, {Kind: chunk.KindFixed, Units: chunk.UnitTokens, Overlap: 100},
				{Kind: chunk.KindRecursive, Overlap: 100}, {Kind: chunk.KindSentence, Overlap: 100, Neighbours: 1},
			} {
				chunks := split(t, d, s)
				if err := checkInvariants(d, s, chunks); err != nil {
					t.Errorf("%+v: %.300s", s, err)
				}
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	for i, s := range fragments {
		f.Add("# t\n"+s+" tail. More text here.\n", uint8(i), uint8(20), uint8(5))
	}
	kinds := []string{chunk.KindSection, chunk.KindFixed, chunk.KindRecursive, chunk.KindSentence}
	exts := []string{".md", ".txt", ".html", ".rst", ".adoc", ".py", ".go"}
	f.Fuzz(func(t *testing.T, text string, mode, size, overlap uint8) {
		d, err := tryLoad("a"+exts[int(mode)%len(exts)], text)
		if err != nil {
			return
		}
		s := chunk.Settings{Kind: kinds[int(mode>>3)%len(kinds)], Max: int(size) + 1, Size: int(size) + 1, Min: min(int(overlap), int(size)), Overlap: min(int(overlap), int(size)), Neighbours: int(mode>>5) % 3}
		if mode&1 == 1 {
			s.Units = chunk.UnitTokens
		}
		if s.Kind != chunk.KindSection {
			s.Min = 0
		}
		if err := checkInvariants(d, s, split(t, d, s)); err != nil {
			t.Fatalf("%+v: %q: %v", s, d.Text, err)
		}
	})
}
