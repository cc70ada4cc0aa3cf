package chunk

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/seed792a4543/assay/corpus"
)

// Chunk is one passage.
type Chunk struct {
	ID         corpus.ChunkID
	Doc        corpus.DocumentID
	DocVersion string
	Section    int         // index in the document's Sections of the one in force at Span.Start
	Sections   []int       // further sections that begin inside the chunk, ascending
	Span       corpus.Span // of the document's normalised text
	Text       string      // the document's text over Span, unchanged
	Context    string      // goes in front of Text where it is embedded and indexed, ends with a line end; "" for nothing

	// Bare says that the chunk is only the heading of a section whose text lies in sections
	// below it. It is there so that nothing is lost; as an answer it is worth nothing, and
	// it is so short that word statistics like it.
	Bare bool
}

// ID returns the id of the chunk that covers span of a document.
func ID(doc corpus.DocumentID, span corpus.Span) corpus.ChunkID {
	b := make([]byte, 0, len(doc)+16)
	b = append(append(b, doc...), '#')
	b = append(strconv.AppendInt(b, int64(span.Start), 10), '-')
	return corpus.ChunkID(strconv.AppendInt(b, int64(span.End), 10))
}

// Split cuts a document. The chunks are in ascending order of their starts, which are distinct;
// they cover all non-blank text behind the front matter; none is longer than s.Limit() units.
// A document without such text has no chunks. The error is that of s.Validate.
func Split(doc *corpus.Document, s Settings) ([]Chunk, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.WithDefaults()
	c := &cutter{doc: doc, text: doc.Text, s: s, m: measure{tokens: s.Units == UnitTokens}}
	var spans []corpus.Span
	switch s.Kind {
	case KindFixed:
		spans = c.fixed()
	case KindRecursive:
		spans = c.recursive()
	case KindSentence:
		spans = c.sentence()
	default:
		spans = c.sections()
	}
	chunks := make([]Chunk, 0, len(spans))
	for _, span := range spans {
		chunks = append(chunks, c.chunk(span))
	}
	return chunks, nil
}

// cutter cuts one document.
type cutter struct {
	doc  *corpus.Document
	text string
	s    Settings
	m    measure
	next int // first section that may begin behind the chunk made last
}

// content is the span that has to be covered.
func (c *cutter) content() corpus.Span {
	return corpus.Span{Start: min(c.doc.Body, len(c.text)), End: len(c.text)}
}

// chunk describes the passage over span. It is called in ascending order of starts.
func (c *cutter) chunk(span corpus.Span) Chunk {
	d := c.doc
	k := Chunk{
		ID:         ID(d.ID, span),
		Doc:        d.ID,
		DocVersion: d.Version,
		Section:    d.SectionAt(span.Start),
		Span:       span,
		Text:       c.text[span.Start:span.End],
	}
	for c.next < len(d.Sections) && (c.next == 0 || d.Sections[c.next].Span.Start <= span.Start) {
		c.next++
	}
	for i := c.next; i < len(d.Sections) && d.Sections[i].Span.Start < span.End; i++ {
		k.Sections = append(k.Sections, i)
	}
	if i := k.Section; i > 0 && i+1 < len(d.Sections) {
		k.Bare = d.Sections[i+1].Parent == i && span.Start == d.Sections[i].Span.Start && span.End <= d.Sections[i].Body
	}
	k.Context = c.context(&k)
	return k
}

// trim returns span without blank lines at its start and white space at its end. Indentation of
// the first line stays. A blank span gives one of length 0.
func (c *cutter) trim(span corpus.Span) corpus.Span {
	s := c.text[span.Start:span.End]
	rest := strings.TrimLeftFunc(s, unicode.IsSpace)
	if rest == "" {
		return corpus.Span{Start: span.Start, End: span.Start}
	}
	lead := len(s) - len(rest)
	start := span.Start + strings.LastIndexByte(s[:lead], '\n') + 1
	end := span.Start + len(strings.TrimRightFunc(s, unicode.IsSpace))
	return corpus.Span{Start: start, End: end}
}
