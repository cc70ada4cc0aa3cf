package chunk_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"pgregory.net/rapid"
)

// load reads one file through the readers.
func load(t testing.TB, name, content string) *corpus.Document {
	t.Helper()
	d, err := tryLoad(name, content)
	if err != nil {
		t.Fatalf("load %s: %v", name, err)
	}
	return d
}

func tryLoad(name, content string) (*corpus.Document, error) {
	fsys := fstest.MapFS{name: &fstest.MapFile{Data: []byte(content)}}
	c, err := corpus.FS("test", fsys, corpus.Options{}).Load(context.Background())
	if err != nil {
		return nil, err
	}
	if len(c.Documents) != 1 {
		return nil, fmt.Errorf("%d documents, skipped %v", len(c.Documents), c.Skipped)
	}
	return &c.Documents[0], nil
}

func split(t testing.TB, d *corpus.Document, s chunk.Settings) []chunk.Chunk {
	t.Helper()
	chunks, err := chunk.Split(d, s)
	if err != nil {
		t.Fatalf("Split(%s, %+v): %v", d.ID, s, err)
	}
	return chunks
}

// checkInvariants returns what is wrong with the chunks of a document.
func checkInvariants(d *corpus.Document, s chunk.Settings, chunks []chunk.Chunk) error {
	limit, units := s.Limit(), s.WithDefaults().Units
	covered := d.Body
	last := -1
	for i, c := range chunks {
		switch {
		case c.Span.Start < d.Body || c.Span.End > len(d.Text) || c.Span.Start >= c.Span.End:
			return fmt.Errorf("chunk %d: span %v outside the document's content %d–%d", i, c.Span, d.Body, len(d.Text))
		case d.Text[c.Span.Start:c.Span.End] != c.Text:
			return fmt.Errorf("chunk %d: text is not the document's over %v", i, c.Span)
		case c.Span.Start <= last:
			return fmt.Errorf("chunk %d: start %d after %d", i, c.Span.Start, last)
		case !utf8.ValidString(c.Text):
			return fmt.Errorf("chunk %d: invalid UTF-8 %q", i, c.Text)
		case strings.TrimSpace(c.Text) == "":
			return fmt.Errorf("chunk %d: blank %v", i, c.Span)
		case c.Section != d.SectionAt(c.Span.Start):
			return fmt.Errorf("chunk %d: section %d, want %d", i, c.Section, d.SectionAt(c.Span.Start))
		case c.ID != chunk.ID(d.ID, c.Span) || c.Doc != d.ID || c.DocVersion != d.Version:
			return fmt.Errorf("chunk %d: identity %q %q %q", i, c.ID, c.Doc, c.DocVersion)
		}
		if n := chunk.Count(c.Text, units); n > limit {
			return fmt.Errorf("chunk %d: %d %s, limit %d: %q", i, n, units, limit, c.Text)
		}
		for _, k := range c.Sections {
			if at := d.Sections[k].Span.Start; at <= c.Span.Start || at >= c.Span.End {
				return fmt.Errorf("chunk %d: section %d begins at %d, outside of %v", i, k, at, c.Span)
			}
		}
		if c.Span.Start > covered {
			if lost := strings.TrimFunc(d.Text[covered:c.Span.Start], unicode.IsSpace); lost != "" {
				return fmt.Errorf("chunk %d: %q before it is in no chunk", i, lost)
			}
		}
		covered = max(covered, c.Span.End)
		last = c.Span.Start
	}
	if lost := strings.TrimFunc(d.Text[min(covered, len(d.Text)):], unicode.IsSpace); lost != "" {
		return fmt.Errorf("%q at the end is in no chunk", lost)
	}
	return nil
}

// fragments are put together to documents that hold what the formats know.
var fragments = []string{
	"# ", "## ", "### ", "#### ", "Title", "Notes", "\n", "\n\n", "\n\n\n", " ", "  ", "\t", "word", "Bảo hành 12 tháng.",
	"A sentence. ", "Another one! ", "z.B. ", "e.g. ", "你好世界。", "日本語の文章です。", "👨‍👩‍👧‍👦", "🇩🇪🇫🇷", "e\u0301", "\u0323",
	"```\n", "~~~\n", "    code\n", "- item\n", "1. one\n", "> quote\n", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
	"---\n", "===\n", "<div>\n", "</div>\n", "<!-- x -->\n", "[a]: /b\n", "\u00a0", "\u2028", "\u200b", "\ufeff", "\r\n", "\r", "aaaaaaaaaaaaaaaaaaaaaaaa",
	"= T\n", ".. note::\n", "::\n", "*b*", "`c`", "{#id}", "&amp;", "\\", "$x$", "+++\n", "key: v\n",
}

func genText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(fragments), rapid.StringN(0, 6, -1)), 0, 60).Draw(t, "text"), "")
}

func genSettings(t *rapid.T) chunk.Settings {
	s := chunk.Settings{
		Kind:       rapid.SampledFrom([]string{chunk.KindSection, chunk.KindFixed, chunk.KindRecursive, chunk.KindSentence}).Draw(t, "kind"),
		Units:      rapid.SampledFrom([]string{chunk.UnitRunes, chunk.UnitTokens}).Draw(t, "units"),
		Prefix:     rapid.SampledFrom([]string{chunk.PrefixBoth, chunk.PrefixHeading, chunk.PrefixTitle, chunk.PrefixNone}).Draw(t, "prefix"),
		Neighbours: rapid.IntRange(0, 2).Draw(t, "neighbours"),
	}
	if s.Kind == chunk.KindSection {
		s.Max = rapid.IntRange(1, 120).Draw(t, "max")
		s.Level = rapid.IntRange(1, 6).Draw(t, "level")
		s.Min = rapid.IntRange(0, s.Max).Draw(t, "min")
	} else {
		s.Size = rapid.IntRange(1, 120).Draw(t, "size")
		s.Overlap = rapid.IntRange(0, s.Size-1).Draw(t, "overlap")
	}
	return s
}

func TestInvariants(t *testing.T) {
	for _, ext := range []string{".md", ".txt", ".html", ".rst", ".adoc", ".go"} {
		t.Run(ext, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d, err := tryLoad("a"+ext, genText(t))
				if err != nil {
					t.Skip(err) // front matter at fault, or NUL
				}
				s := genSettings(t)
				chunks, err := chunk.Split(d, s)
				if err != nil {
					t.Fatal(err)
				}
				if err := checkInvariants(d, s, chunks); err != nil {
					t.Fatalf("%+v\n%q\n%v", s, d.Text, err)
				}
			})
		})
	}
}
