package chunk

import "github.com/seed792a4543/assay/corpus"

// sentence packs whole sentences up to Size, beginning anew at every heading. Overlap repeats
// whole sentences. A sentence longer than Size is cut between words, then characters.
func (c *cutter) sentence() []corpus.Span {
	d := c.doc
	all := c.content()
	var regions []corpus.Span
	from := all.Start
	for i := 1; i < len(d.Sections); i++ {
		if at := d.Sections[i].Span.Start; at > from {
			regions = append(regions, corpus.Span{Start: from, End: at})
			from = at
		}
	}
	regions = append(regions, corpus.Span{Start: from, End: all.End})
	next := 0
	return c.window(regions, func(region corpus.Span) []corpus.Span {
		var parts []corpus.Span
		from := region.Start
		cut := func(at int) {
			for s := range c.eachSentence(corpus.Span{Start: from, End: at}) {
				parts = c.parts(parts, s, []level{byWord}, true)
			}
			from = at
		}
		for ; next < len(d.Blocks) && d.Blocks[next].Span.Start < region.End; next++ {
			// A block ends a sentence, a heading that ends without a stop included.
			if at := d.Blocks[next].Span.Start; at > from {
				cut(at)
			}
		}
		cut(region.End)
		return parts
	})
}

// eachSentence yields the sentences of span in order; together they are span.
func (c *cutter) eachSentence(span corpus.Span) func(func(corpus.Span) bool) {
	return func(yield func(corpus.Span) bool) {
		from := span.Start
		for _, at := range append(sentenceStarts(nil, c.text, span.Start, span.End), span.End) {
			if at > from && !yield(corpus.Span{Start: from, End: at}) {
				return
			}
			from = at
		}
	}
}
