package chunk

import "github.com/seed792a4543/assay/corpus"

// recursive cuts at blank lines; parts that are too long at line ends, then sentences, words
// and characters; and merges neighbours up to Size. A chunk begins with as many whole parts of
// the one before as fit Overlap. It does not look at headings.
func (c *cutter) recursive() []corpus.Span {
	return c.window([]corpus.Span{c.content()}, func(s corpus.Span) []corpus.Span {
		return c.parts(nil, s, lineLevels[:], true)
	})
}

// parts appends the pieces of span: cut by the first level, and those that are longer than
// Size by the next. coarse says that a piece that fits is not cut further.
func (c *cutter) parts(out []corpus.Span, span corpus.Span, levels []level, coarse bool) []corpus.Span {
	if coarse && c.m.fit(c.text, span.Start, span.End, c.s.Size) == span.End {
		return append(out, span)
	}
	if len(levels) == 0 || levels[0] == byRune {
		for from := span.Start; from < span.End; {
			at := c.m.fit(c.text, from, span.End, c.s.Size)
			if at < span.End {
				at = boundary(c.text, from, at)
			}
			out = append(out, corpus.Span{Start: from, End: at})
			from = at
		}
		return out
	}
	from := span.Start
	for _, at := range append(c.starts(span, levels[0]), span.End) {
		out = c.parts(out, corpus.Span{Start: from, End: at}, levels[1:], true)
		from = at
	}
	return out
}

// window merges the parts of each region up to Size, with Overlap, never across regions.
func (c *cutter) window(regions []corpus.Span, cut func(corpus.Span) []corpus.Span) []corpus.Span {
	var out []corpus.Span
	for _, region := range regions {
		parts := cut(region)
		sizes := make([]int, len(parts))
		for i, p := range parts {
			sizes[i] = c.m.count(c.text[p.Start:p.End])
		}
		for i := 0; i < len(parts); {
			j, size := i, 0
			for j < len(parts) && (j == i || size+sizes[j] <= c.s.Size) {
				size += sizes[j]
				j++
			}
			span := c.trim(corpus.Span{Start: parts[i].Start, End: parts[j-1].End})
			k := len(out) - 1
			switch {
			case span.Len() == 0 || k >= 0 && span.End <= out[k].End:
			case k >= 0 && span.Start <= out[k].Start:
				out[k] = span // blank lines in front hid that it began no later
			default:
				out = append(out, span)
			}
			if j == len(parts) {
				break
			}
			// Go back over whole parts, but leave room for the part that comes next.
			next, over := j, 0
			for next > i+1 && over+sizes[next-1] <= c.s.Overlap && over+sizes[next-1]+sizes[j] <= c.s.Size {
				next--
				over += sizes[next]
			}
			i = next
		}
	}
	return out
}
