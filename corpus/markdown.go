package corpus

import (
	"bytes"
	"context"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Markdown returns the reader of CommonMark with the tables of GitHub and front matter in YAML
// (---) or TOML (+++). Headings are those of goldmark that stand outside quotes and lists; one
// inside a quote or a list item is part of it. What is no Markdown (MDX, wiki links,
// directives) is text.
func Markdown() Reader {
	blocks, titles := blockParser(), titleParser()
	return Reader{
		Name:       "markdown",
		Extensions: []string{".md", ".markdown", ".mdown", ".mkd", ".mdx"},
		Read: func(_ context.Context, in *Input) ([]Document, error) {
			d := Document{Text: in.Text}
			end, err := readFrontMatter(in, &d)
			if err != nil {
				return nil, err
			}
			if !in.Options.IndexFrontMatter {
				d.Body = end
			}
			m := markdown{blocks: blocks, titles: titles, in: in, doc: &d, src: []byte(in.Text[end:]), base: end}
			m.parse()
			return []Document{d}, nil
		},
	}
}

// markdown walks the tree of one document.
type markdown struct {
	blocks   parser.Parser
	titles   parser.Parser
	in       *Input
	doc      *Document
	src      []byte
	base     int // offset of src in the text
	context  parser.Context
	headings []heading
	starts   []blockStart
}

type blockStart struct {
	kind   BlockKind
	at     int // offset in src of the beginning of its first line
	header int // tables: offset in src behind the delimiter row
}

// blockParser finds blocks without looking into them: most of the time of a full parse goes
// into emphasis and links, which only headings need.
func blockParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(boundedBlockParsers()...),
		parser.WithParagraphTransformers(
			util.Prioritized(boundedReferences{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(boundedTables{extension.NewTableParagraphTransformer()}, 200),
		),
	)
}

// Bounds that keep the time for hostile input linear; goldmark's grows with the product of
// lines and depth, and with the square of a paragraph's link definitions.
const (
	maxContainers     = 100 // quotes and lists inside each other; what is deeper is text
	maxReferenceLines = 500 // longer paragraphs are not searched for link definitions
)

// boundedBlockParsers are the default ones, with quotes and lists up to a depth. Bounding
// lists bounds their items.
func boundedBlockParsers() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(boundedParser{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(boundedParser{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	}
}

type boundedParser struct{ parser.BlockParser }

func (b boundedParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if depth++; depth > maxContainers {
			return nil, parser.NoChildren
		}
	}
	return b.BlockParser.Open(parent, reader, pc)
}

type boundedReferences struct{ parser.ParagraphTransformer }

func (b boundedReferences) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= maxReferenceLines {
		b.ParagraphTransformer.Transform(node, reader, pc)
	}
}

type boundedTables struct{ parser.ParagraphTransformer }

// Transform leaves a paragraph alone if the table in it would have more cells than two per byte:
// goldmark fills each row up to the number of columns, so that a few kilobytes could become
// millions of cells. No table that is written out comes near.
func (b boundedTables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	size, columns := 0, 0
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(reader.Source())
		size += len(line)
		if len(bytes.Trim(line, " \t\n|:-")) == 0 { // what goldmark may take as the delimiter row
			columns = max(columns, bytes.Count(line, []byte{'|'})+1)
		}
	}
	if columns*lines.Len() <= 2*size+1024 {
		b.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// titleParser reads one paragraph with everything that may stand inside.
func titleParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500))...),
	)
}

func (m *markdown) parse() {
	m.context = parser.NewContext()
	root := m.blocks.Parse(text.NewReader(m.src), parser.WithContext(m.context))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if lead := beforeTable(n); lead != nil {
			m.start(lead, Paragraph)
			m.walk(n, Paragraph, 0)
			n = lead
			continue
		}
		m.walk(n, Paragraph, 0)
	}
	d := m.doc
	d.Sections = outline(m.headings, m.base, len(d.Text))
	d.Blocks = make([]Block, 0, len(m.starts))
	for i, s := range m.starts {
		end := len(m.src)
		if i+1 < len(m.starts) {
			end = m.starts[i+1].at
		}
		end = trimBlankEnd(m.src, s.at, end)
		if end <= s.at {
			continue
		}
		b := Block{Kind: s.kind, Span: Span{m.base + s.at, m.base + end}}
		if s.kind == Table {
			b.Header = m.base + min(s.header, end)
		}
		d.Blocks = append(d.Blocks, b)
	}
	place(d)
}

// beforeTable returns the heading behind table n that goldmark makes of the lines before it, nil if
// there is none. It does so where a row of nothing but dashes or equals signs follows the delimiter
// row of a table that ends a paragraph: the row is the table's, and the lines are a paragraph.
func beforeTable(n ast.Node) *ast.Heading {
	if n.Kind() != extast.KindTable || n.FirstChild() == nil {
		return nil
	}
	h, ok := n.NextSibling().(*ast.Heading)
	if !ok || h.Lines().Len() == 0 || h.Lines().At(0).Start >= n.FirstChild().Pos() {
		return nil
	}
	return h
}

// trimBlankEnd returns end without the white space before it, not below start.
func trimBlankEnd(src []byte, start, end int) int {
	for end > start && (src[end-1] == '\n' || src[end-1] == ' ' || src[end-1] == '\t') {
		end--
	}
	return end
}

// maxMarkdownDepth bounds the recursion into quotes and lists; what is deeper belongs to the
// block around it.
const maxMarkdownDepth = 200

// walk records the leaf blocks below n. within is List inside of a list.
func (m *markdown) walk(n ast.Node, within BlockKind, depth int) {
	if n.Type() != ast.TypeBlock {
		return
	}
	switch n := n.(type) {
	case *ast.Heading:
		if _, top := n.Parent().(*ast.Document); top {
			m.heading(n)
			m.start(n, Heading)
		} else {
			m.start(n, within)
		}
	case *ast.FencedCodeBlock:
		m.start(n, Code)
		m.checkFence(n)
	case *ast.CodeBlock:
		m.start(n, Code)
	case *ast.HTMLBlock:
		m.start(n, HTML)
	case *ast.ThematicBreak:
		m.start(n, Rule)
	case *extast.Table:
		m.table(n)
	case *ast.List, *ast.ListItem, *ast.Blockquote:
		if n.Kind() == ast.KindList {
			within = List
		}
		switch n.Kind() {
		case ast.KindListItem:
			m.start(n, List)
		case ast.KindBlockquote:
			m.start(n, within) // its first line may be empty
		}
		if depth < maxMarkdownDepth {
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				m.walk(c, within, depth+1)
			}
		} else {
			m.start(n, within)
		}
	default:
		m.start(n, within)
	}
}

// start records a block at the beginning of the line that n starts on.
func (m *markdown) start(n ast.Node, kind BlockKind) {
	pos := n.Pos()
	if pos < 0 && n.Lines() != nil && n.Lines().Len() > 0 {
		pos = n.Lines().At(0).Start
	}
	if pos < 0 || pos > len(m.src) {
		return
	}
	m.startAt(blockStart{kind: kind, at: m.lineStart(pos)})
}

func (m *markdown) startAt(s blockStart) {
	if k := len(m.starts) - 1; k >= 0 && m.starts[k].at >= s.at {
		// Two blocks begin on a line: "- x", "> - a". The first is the item or quote, which
		// what stands inside overrides.
		if m.starts[k].at == s.at && (s.kind == Table || s.kind == Code || s.kind == List) {
			m.starts[k] = s
		}
		return
	}
	m.starts = append(m.starts, s)
}

func (m *markdown) lineStart(pos int) int {
	for pos > 0 && m.src[pos-1] != '\n' {
		pos--
	}
	return pos
}

// lineEnd returns the offset behind the line that pos is on.
func (m *markdown) lineEnd(pos int) int {
	for pos < len(m.src) && m.src[pos] != '\n' {
		pos++
	}
	return min(pos+1, len(m.src))
}

func (m *markdown) table(n *extast.Table) {
	head := n.FirstChild()
	if head == nil || head.Pos() < 0 {
		m.start(n, Table)
		return
	}
	at := m.lineStart(head.Pos())
	m.startAt(blockStart{kind: Table, at: at, header: m.lineEnd(m.lineEnd(at))})
}

// checkFence warns of a code fence that nothing closes, when it hides the rest of the file.
func (m *markdown) checkFence(n *ast.FencedCodeBlock) {
	if n.Pos() < 0 || n.NextSibling() != nil {
		return
	}
	for p := n.Parent(); p != nil && p.Kind() != ast.KindDocument; p = p.Parent() {
		return // the end of the quote or list item closes it
	}
	open := m.src[n.Pos():m.lineEnd(n.Pos())]
	fence := strings.TrimLeft(string(open), " ")
	marker := fence[0]
	size := len(fence) - len(strings.TrimLeft(fence, string(marker)))
	last := strings.TrimRight(string(m.src), "\n")
	last = last[strings.LastIndexByte(last, '\n')+1:]
	lead := len(last) - len(strings.TrimLeft(last, " "))
	mark := strings.TrimRight(last[lead:], " \t")
	closed := lead <= 3 && len(mark) >= size && strings.Trim(mark, string(marker)) == "" &&
		len(m.src)-len(last) > n.Pos()
	if !closed {
		line, _ := m.doc.Position(m.base + n.Pos())
		m.in.Warn(line, "code fence is never closed: everything below it is read as code")
	}
}

func (m *markdown) heading(n *ast.Heading) {
	pos := n.Pos()
	h := heading{level: n.Level}
	lines := n.Lines()
	end := pos
	if lines.Len() > 0 {
		if pos < 0 {
			pos = lines.At(0).Start
		}
		end = max(pos, lines.At(lines.Len()-1).Stop)
		if end > pos && m.src[end-1] == '\n' {
			end--
		}
	}
	h.start = m.lineStart(pos)
	bodyAt := m.lineEnd(end)
	if m.src[pos] != '#' { // setext: the underline follows
		bodyAt = m.lineEnd(bodyAt)
	}
	var raw strings.Builder
	for i := range lines.Len() {
		s := lines.At(i)
		raw.Write(m.src[s.Start:s.Stop])
		if i < lines.Len()-1 && s.Stop > s.Start && m.src[s.Stop-1] != '\n' {
			raw.WriteByte('\n')
		}
	}
	h.title, h.alias = m.title(raw.String())
	h.start += m.base
	h.body = m.base + bodyAt
	m.headings = append(m.headings, h)
}

// title returns the text of a heading as it is rendered, and its explicit id.
func (m *markdown) title(raw string) (title, alias string) {
	raw = strings.TrimSpace(raw)
	raw, alias = cutAlias(raw)
	if !strings.ContainsAny(raw, "\\`*_[]<>&!~\n") {
		return raw, alias
	}
	const maxTitle = 4096 // inline parsing may be quadratic; what is longer is no title
	if len(raw) > maxTitle {
		return raw, alias
	}
	src := []byte(raw)
	// The context of the block parse knows the link references.
	root := m.titles.Parse(text.NewReader(src), parser.WithContext(m.context))
	var b strings.Builder
	inlineText(&b, root, src)
	return b.String(), alias
}

// cutAlias takes a trailing {#id} off a heading.
func cutAlias(raw string) (rest, alias string) {
	if !strings.HasSuffix(raw, "}") {
		return raw, ""
	}
	i := strings.LastIndex(raw, "{#")
	if i < 0 || i > 0 && raw[i-1] != ' ' && raw[i-1] != '\t' {
		return raw, ""
	}
	id, _, _ := strings.Cut(raw[i+2:len(raw)-1], " ") // {#id .class}
	if id == "" || strings.ContainsAny(id, "{}#") {
		return raw, ""
	}
	return strings.TrimSpace(raw[:i]), id
}

// inlineText writes the visible text below n: link texts, code, image descriptions; no tags.
func inlineText(b *strings.Builder, n ast.Node, src []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			v := c.Segment.Value(src)
			if _, code := n.(*ast.CodeSpan); !code && !c.IsRaw() {
				v = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(v)))
			}
			b.Write(v)
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.Label(src))
		case *ast.RawHTML:
		default:
			inlineText(b, c, src)
		}
	}
}
