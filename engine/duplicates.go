package engine

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
)

// alike is the number of bytes, of text with white space collapsed, from which chunks that begin
// the same are told.
const alike = 300

// duplicates describes chunks that repeat another chunk's text, or its beginning: they crowd each
// other out of results, and only their author can say which is the one to keep. Nothing is
// dropped. chunks are in the order of their ids, which makes the first of each kind the same in
// every build.
func duplicates(docs *corpus.Collection, chunks []chunk.Chunk) []string {
	type kind struct {
		what  string
		n     int
		first [2]int
	}
	same, begin := kind{what: "repeat another chunk's text"}, kind{what: fmt.Sprintf("begin with the same %d characters as another", alike)}
	seed := maphash.MakeSeed()
	texts, heads := map[uint64]int{}, map[uint64]int{}
	note := func(k *kind, seen map[uint64]int, text string, i int) bool {
		h := maphash.String(seed, text)
		j, ok := seen[h]
		if !ok {
			seen[h] = i
			return false
		}
		if k.n == 0 {
			k.first = [2]int{j, i}
		}
		k.n++
		return true
	}
	for i := range chunks {
		if chunks[i].Bare {
			continue
		}
		text := strings.Join(strings.Fields(withoutHeading(chunks[i].Text)), " ")
		if text == "" || note(&same, texts, text, i) || len(text) <= alike {
			continue
		}
		note(&begin, heads, text[:alike], i)
	}
	var out []string
	for _, k := range []kind{same, begin} {
		if k.n > 0 {
			out = append(out, fmt.Sprintf("%d chunks %s, the first: %s and %s; all are kept",
				k.n, k.what, placeOf(docs, &chunks[k.first[0]]), placeOf(docs, &chunks[k.first[1]])))
		}
	}
	return out
}

// withoutHeading cuts the lines of a Markdown heading from the beginning of a chunk: the same text
// under another heading is still the same text.
func withoutHeading(text string) string {
	for strings.HasPrefix(text, "#") {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return ""
		}
		text = strings.TrimLeft(rest, "\n")
	}
	return text
}

// placeOf names a chunk as a person reads it: document, section, line.
func placeOf(docs *corpus.Collection, c *chunk.Chunk) string {
	where := string(c.Doc)
	d := docs.Find(c.Doc)
	if d == nil || c.Section >= len(d.Sections) {
		return where
	}
	if path := corpus.FormatPath(d.Sections[c.Section].Path); path != "" {
		where += " > " + path
	}
	line, _ := d.Position(c.Span.Start)
	return fmt.Sprintf("%s (%s %d)", where, d.LineUnit(), line)
}
