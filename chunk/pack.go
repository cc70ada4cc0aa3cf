package chunk

import (
	"strings"
	"unicode"

	"github.com/seed792a4543/assay/corpus"
)

// level is one way of cutting a span, from coarse to fine.
type level uint8

const (
	byParagraph level = iota // blank lines
	byLine
	bySentence
	byWord
	byRune
)

// levels of each kind of block, coarse to fine.
var (
	proseLevels = [...]level{byParagraph, bySentence, byLine, byWord, byRune}
	lineLevels  = [...]level{byParagraph, byLine, bySentence, byWord, byRune}
	rowLevels   = [...]level{byLine, byWord, byRune}
)

// starts returns the offsets inside span where a part begins, span.Start left out.
func (c *cutter) starts(span corpus.Span, l level) []int {
	var at []int
	text := c.text
	switch l {
	case byParagraph:
		for i := span.Start; i < span.End; {
			j := strings.Index(text[i:span.End], "\n\n")
			if j < 0 {
				break
			}
			i += j
			next := skipSpace(text, i, span.End)
			if next == span.End {
				break
			}
			at = append(at, lineStart(text, i, next))
			i = next
		}
	case byLine:
		for i := span.Start; ; {
			j := strings.IndexByte(text[i:span.End], '\n')
			if j < 0 || i+j+1 >= span.End {
				break
			}
			i += j + 1
			at = append(at, i)
		}
	case bySentence:
		at = sentenceStarts(nil, text, span.Start, span.End)
	case byWord:
		space := false
		for i, r := range text[span.Start:span.End] {
			if unicode.IsSpace(r) {
				space = true
				continue
			}
			if space && i > 0 {
				at = append(at, span.Start+i)
			}
			space = false
		}
	}
	return at
}

// packer collects spans of at most limit units, taking parts as long as they fit.
type packer struct {
	c     *cutter
	limit int
	out   []corpus.Span
	cur   corpus.Span // trimmed; empty: nothing open
	size  int         // of cur in units
}

// add takes the next part of the text, cut further by levels if it is too long alone. Parts
// adjoin; what trimming drops between them is blank.
func (p *packer) add(part corpus.Span, levels []level) {
	trimmed := p.c.trim(part)
	if trimmed.Len() == 0 {
		return
	}
	if p.cur.Len() > 0 {
		grown := p.size + p.c.m.count(p.c.text[p.cur.End:trimmed.End])
		if grown <= p.limit {
			p.cur.End, p.size = trimmed.End, grown
			return
		}
	}
	size := p.c.m.count(p.c.text[trimmed.Start:trimmed.End])
	if size <= p.limit {
		p.flush()
		p.cur, p.size = trimmed, size
		return
	}
	p.flush()
	p.cutPart(trimmed, levels)
}

// flush closes the span that is open.
func (p *packer) flush() {
	if t := p.c.trim(p.cur); t.Len() > 0 {
		p.out = append(p.out, t)
	}
	p.cur, p.size = corpus.Span{}, 0
}

// cutPart adds a part that is too long, piece by piece.
func (p *packer) cutPart(part corpus.Span, levels []level) {
	for len(levels) > 0 && levels[0] != byRune {
		if starts := p.c.starts(part, levels[0]); len(starts) > 0 {
			from := part.Start
			for _, at := range append(starts, part.End) {
				p.add(corpus.Span{Start: from, End: at}, levels[1:])
				from = at
			}
			return
		}
		levels = levels[1:]
	}
	for from := part.Start; from < part.End; {
		at := p.c.m.fit(p.c.text, from, part.End, p.limit)
		if at < part.End {
			at = boundary(p.c.text, from, at)
		}
		p.flush()
		// Not trimmed at the start: indentation alone may fill the limit.
		p.cur = corpus.Span{Start: from, End: at}
		p.size = p.c.m.count(p.c.text[from:at])
		from = at
	}
}
