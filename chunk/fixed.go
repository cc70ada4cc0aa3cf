package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
)

// fixed cuts windows of Size units, each beginning Overlap units before the end of the one
// before. Cuts move back out of a grapheme cluster, and only there windows differ in size.
// Blank windows are left out.
func (c *cutter) fixed() []corpus.Span {
	var spans []corpus.Span
	all := c.content()
	for start := all.Start; start < all.End; {
		end := c.m.fit(c.text, start, all.End, c.s.Size)
		if end < all.End {
			end = boundary(c.text, start, end)
		}
		if strings.TrimSpace(c.text[start:end]) != "" {
			spans = append(spans, corpus.Span{Start: start, End: end})
		}
		if end == all.End {
			break
		}
		next := end
		if c.s.Overlap > 0 {
			next = clusterStart(c.text, start, c.m.back(c.text, start, end, c.s.Overlap))
			_, size := utf8.DecodeRuneInString(c.text[start:])
			if next < start+size {
				next = end // a cluster fills the window
			}
		}
		start = next
	}
	return spans
}
