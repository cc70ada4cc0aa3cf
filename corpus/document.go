package corpus

// DocumentID names a document: its slash path relative to the corpus root, NFC.
type DocumentID string

// ChunkID names a chunk: document id, '#', start, '-', end (byte offsets into the normalised
// text). It is stable while its document is unchanged.
type ChunkID string

// Span is a half-open range of byte offsets, Start inclusive, End exclusive, into a document's
// normalised text.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Len returns the number of bytes in s; 0 for an empty or inverted span.
func (s Span) Len() int { return max(s.End-s.Start, 0) }

// Overlap returns the number of bytes that s and o share.
func (s Span) Overlap(o Span) int { return max(min(s.End, o.End)-max(s.Start, o.Start), 0) }

// Contains reports whether o lies wholly inside s.
func (s Span) Contains(o Span) bool { return s.Start <= o.Start && o.End <= s.End }

// Document is one document after reading: normalised text, its tree of sections, who may read
// it, and what it replaces.
type Document struct {
	ID         DocumentID
	Title      string            // front matter title, else first level-1 heading, else file name without its ending
	Text       string            // UTF-8, LF line ends, NFC, no leading BOM; front matter included, so that offsets are those of the file
	Body       int               // offset in Text where the content begins: the end of the front matter, 0 without one
	Version    string            // lower-case hex SHA-256 of the original bytes
	Format     string            // markdown, text, html, ...
	ACL        []string          // labels that may read it, sorted and unique; empty: everyone
	Supersedes []DocumentID      // older documents this one replaces
	Metadata   map[string]string // front matter, values in their spelling
	Sections   []Section         // Sections[0] is the document's own section; the rest in document order
	Blocks     []Block           // leaf blocks in document order
	Anchors    []Anchor          // where positions in the original file depart from those in Text; nil: nowhere
}

// Anchor ties an offset of the normalised text to a place of the original file. Up to the next
// anchor both advance in step, a rune of the text for a character of the file.
type Anchor struct {
	Offset int `json:"offset"`
	Line   int `json:"line"`   // from 1
	Column int `json:"column"` // from 1, in code points
}

// Section is one heading with everything below it. Sections[0] of a document is its own
// section: the text before the first heading, or all of a document without headings.
type Section struct {
	Path   []string // titles from the outermost heading to this one, nil for the own section; the second of equal siblings ends in " (2)"
	Level  int      // heading level from 1; 0 for the own section
	Span   Span     // from the start of the heading line to the end of the last descendant
	Body   int      // offset where the heading ends and the section's text begins
	Parent int      // index of the enclosing section, -1 at top level and for the own section
	Alias  string   // explicit id such as {#help}, "" without one
}

// BlockKind tells how a block may be cut.
type BlockKind uint8

// The kinds of block.
const (
	Paragraph BlockKind = iota
	Heading
	Code
	Table
	List
	HTML
	Rule
)

// Block is a leaf block of a document.
type Block struct {
	Kind    BlockKind
	Span    Span
	Header  int // Table only: offset where the header and delimiter rows end and the data rows begin
	Section int // index of the section it stands in
}
