package chunk

import (
	"sort"

	"github.com/seed792a4543/assay/corpus"
)

// sections cuts along the headings. A heading of level Level or above always begins a chunk. A
// section whose headings are all deeper stays whole if it fits Max; else its own text and its
// parts are cut apart, and so on downwards, so that a chunk's path is never that of a section
// that ended before most of it. A section's own text that is too long is cut between blocks,
// then between table rows, lines, sentences, words and, last, characters.
func (c *cutter) sections() []corpus.Span {
	d := c.doc
	first := make([]int, len(d.Sections)) // first child, 0: none
	next := make([]int, len(d.Sections))  // next sibling
	last := make([]int, len(d.Sections))
	root, prev := 0, 0
	for i := 1; i < len(d.Sections); i++ {
		switch parent := d.Sections[i].Parent; {
		case parent > 0 && first[parent] == 0:
			first[parent], last[parent] = i, i
		case parent > 0:
			next[last[parent]], last[parent] = i, i
		case prev == 0:
			root, prev = i, i
		default:
			next[prev], prev = i, i
		}
	}
	p := &packer{c: c, limit: c.s.Max}
	var walk func(i int)
	walk = func(i int) {
		s := &d.Sections[i]
		whole := true
		for k := first[i]; k != 0; k = next[k] {
			whole = whole && d.Sections[k].Level > c.s.Level
		}
		if whole {
			t := c.trim(s.Span)
			if c.m.fit(c.text, t.Start, t.End, p.limit) == t.End {
				p.flush()
				p.add(s.Span, nil)
				p.flush()
				return
			}
		}
		end := s.Span.End
		if first[i] != 0 {
			end = d.Sections[first[i]].Span.Start
		}
		c.body(p, corpus.Span{Start: s.Span.Start, End: end})
		for k := first[i]; k != 0; k = next[k] {
			walk(k)
		}
	}
	own := c.content()
	if root != 0 {
		own.End = max(own.Start, d.Sections[root].Span.Start)
	}
	c.body(p, own)
	for k := root; k != 0; k = next[k] {
		walk(k)
	}
	if c.s.Min > 0 {
		return c.merge(p.out)
	}
	return p.out
}

// body cuts the text of one section without its parts.
func (c *cutter) body(p *packer, span corpus.Span) {
	p.flush()
	d := c.doc
	lo := sort.Search(len(d.Blocks), func(i int) bool { return d.Blocks[i].Span.Start > span.Start })
	if lo > 0 && d.Blocks[lo-1].Span.Start == span.Start {
		lo--
	}
	from, kind := span.Start, corpus.Paragraph
	if lo > 0 && lo <= len(d.Blocks) && d.Blocks[lo-1].Span.End > span.Start {
		kind = d.Blocks[lo-1].Kind // unreachable unless a reader makes a block span sections
	}
	for i := lo; i < len(d.Blocks) && d.Blocks[i].Span.Start < span.End; i++ {
		b := &d.Blocks[i]
		if b.Span.Start > from && kind != corpus.Heading {
			c.block(p, corpus.Span{Start: from, End: b.Span.Start}, kind)
			from = b.Span.Start
		}
		kind = b.Kind // a heading goes with the block that follows it
	}
	c.block(p, corpus.Span{Start: from, End: span.End}, kind)
	p.flush()
}

// block adds one block, or a heading with the block below it.
func (c *cutter) block(p *packer, span corpus.Span, kind corpus.BlockKind) {
	switch kind {
	case corpus.Table:
		p.add(span, rowLevels[:])
	case corpus.Code, corpus.HTML, corpus.List:
		p.add(span, lineLevels[:])
	default:
		p.add(span, proseLevels[:])
	}
}

// merge joins chunks shorter than Min with the one that follows, the last with the one before
// it, where both together fit Max.
func (c *cutter) merge(spans []corpus.Span) []corpus.Span {
	size := func(s corpus.Span) int { return c.m.count(c.text[s.Start:s.End]) }
	var out []corpus.Span
	for i, s := range spans {
		if k := len(out) - 1; k >= 0 {
			both := corpus.Span{Start: out[k].Start, End: s.End}
			small := size(out[k]) < c.s.Min || i == len(spans)-1 && size(s) < c.s.Min
			if small && c.m.fit(c.text, both.Start, both.End, c.s.Max) == both.End {
				out[k] = both
				continue
			}
		}
		out = append(out, s)
	}
	return out
}
