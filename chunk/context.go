package chunk

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
)

// longestHeader bounds a repeated table header, in bytes; a longer one is not repeated.
const longestHeader = 2000

// context returns what is embedded and indexed in front of a chunk: the title and the headings
// in force that the chunk itself does not show, the sentences around it, and the header of the
// table that it begins in. Each is a line or more.
func (c *cutter) context(k *Chunk) string {
	var b strings.Builder
	if s := c.prefix(k); s != "" {
		b.WriteString(s)
		b.WriteByte('\n')
	}
	if c.s.Neighbours > 0 {
		before, after := c.neighbours(k)
		for _, s := range []string{before, after} {
			if s != "" {
				b.WriteString(s)
				b.WriteByte('\n')
			}
		}
	}
	if s := c.tableHeader(k.Span.Start); s != "" {
		b.WriteString(s)
		b.WriteByte('\n')
	}
	return b.String()
}

func (c *cutter) prefix(k *Chunk) string {
	if c.s.Prefix == PrefixNone {
		return ""
	}
	s := &c.doc.Sections[k.Section]
	path := s.Path
	var parts []string
	if c.s.Prefix != PrefixHeading && c.doc.Title != "" && k.Text != c.doc.Title {
		// A title that is also the outermost heading in force is shown once.
		if len(path) == 0 || path[0] != c.doc.Title || c.s.Prefix == PrefixTitle && len(path) > 1 {
			parts = append(parts, c.doc.Title)
		} else if c.s.Prefix == PrefixTitle && k.Span.Start > s.Span.Start {
			parts = append(parts, c.doc.Title)
		}
	}
	if c.s.Prefix != PrefixTitle {
		if len(path) > 0 && k.Span.Start <= s.Span.Start {
			path = path[:len(path)-1] // the chunk begins with the heading
		}
		parts = append(parts, path...)
	}
	return corpus.FormatPath(parts)
}

// tableHeader returns the header rows of the table whose data rows at lies in.
func (c *cutter) tableHeader(at int) string {
	blocks := c.doc.Blocks
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].Span.Start > at }) - 1
	if i < 0 || blocks[i].Kind != corpus.Table || at < blocks[i].Header || at >= blocks[i].Span.End {
		return ""
	}
	if header := c.text[blocks[i].Span.Start:blocks[i].Header]; len(header) <= longestHeader {
		return strings.TrimRight(header, "\n")
	}
	return ""
}

// neighbours returns the sentences of the same section before and after a chunk.
func (c *cutter) neighbours(k *Chunk) (before, after string) {
	const reach = 2000 // bytes to look at on either side
	s := &c.doc.Sections[k.Section]
	lo := max(s.Body, k.Span.Start-reach)
	for lo < k.Span.Start && !utf8.RuneStart(c.text[lo]) {
		lo++
	}
	if lo < k.Span.Start {
		starts := append([]int{lo}, sentenceStarts(nil, c.text, lo, k.Span.Start)...)
		from := starts[max(len(starts)-c.s.Neighbours, 0)]
		before = strings.TrimSpace(c.text[from:k.Span.Start])
	}
	hi := min(s.Span.End, k.Span.End+reach)
	for hi < len(c.text) && hi > k.Span.End && !utf8.RuneStart(c.text[hi]) {
		hi--
	}
	if hi > k.Span.End {
		// The chunk may end inside a sentence: what follows it counts as the first.
		from := skipSpace(c.text, k.Span.End, hi)
		ends := append(sentenceStarts(nil, c.text, from, hi), hi)
		after = strings.TrimSpace(c.text[from:ends[min(c.s.Neighbours, len(ends))-1]])
	}
	return before, after
}
