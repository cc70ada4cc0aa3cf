package corpus

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"
)

// HTMLPage returns the reader of web pages. The text of a document is the text that a page shows:
// one line for each block element, blank lines between paragraphs, cells of a table separated
// by " | ", and the white space of pre as it is. Scripts, styles, templates, navigation,
// headers and footers of the page, forms and comments are left out; if the page has a main
// element or exactly one article, only that is read. h1 to h6 make the sections. <title> is
// the title, and <meta name="acl"> and <meta name="supersedes"> hold what front matter holds
// elsewhere, labels separated by commas. Position leads to the place in the file.
func HTMLPage() Reader {
	return Reader{Name: "html", Extensions: []string{".html", ".htm", ".xhtml"}, Read: readHTML}
}

// maxHTMLDepth bounds the nesting of elements that are told apart; what is deeper is read as
// part of the element around it.
const maxHTMLDepth = 256

// htmlReader collects the visible text of one page in a single pass over its tokens, so that
// neither nesting nor size can exhaust the stack.
type htmlReader struct {
	in       *Input
	out      strings.Builder
	anchors  []Anchor
	headings []heading
	blocks   []Block

	// A place in the file that only moves forward, and where the last word ended.
	at, line, column int
	wordEnd          int // -1: nothing to be in step with

	stack   []atom.Atom // open elements
	hidden  int         // depth of the element that hides its content, 0: none
	pre     int         // open pre elements
	tables  int
	cells   int // cells seen in the row
	heading int // level of the open heading, 0: none
	block   int // where the open block begins, -1: none
	kind    BlockKind
	space   bool // white space is due before the next word
	mainAt  int  // depth of the main element that is read, 0: none
	only    atom.Atom
	alias   string // id of the element that was opened last
	id      string // of the open heading
}

func readHTML(ctx context.Context, in *Input) ([]Document, error) {
	d := Document{}
	end, err := readFrontMatter(in, &d)
	if err != nil {
		return nil, err
	}
	r := newHTMLReader(in)
	r.only = mainElement(in.Text[end:])
	err = r.read(ctx, in.Text[end:], end)
	if r.only != 0 && r.out.Len() == 0 && err == nil {
		r = newHTMLReader(in) // what is marked as the main part is empty
		err = r.read(ctx, in.Text[end:], end)
	}
	if err != nil {
		return nil, err
	}
	if err := r.meta(in.Text[end:], end, &d); err != nil {
		return nil, err
	}
	d.Text = r.out.String()
	d.Anchors = r.anchors
	if d.Anchors == nil {
		d.Anchors = []Anchor{{Line: 1, Column: 1}}
	}
	d.Sections = outline(r.headings, 0, len(d.Text))
	d.Blocks = r.blocks
	place(&d)
	return []Document{d}, nil
}

func newHTMLReader(in *Input) *htmlReader {
	return &htmlReader{in: in, block: -1, line: 1, column: 1, wordEnd: -1}
}

// mainElement returns the element that holds the main part of a page, 0 for none.
func mainElement(src string) atom.Atom {
	counts := map[atom.Atom]int{}
	z := html.NewTokenizer(strings.NewReader(src))
	for {
		switch z.Next() {
		case html.ErrorToken:
			switch {
			case counts[atom.Main] > 0:
				return atom.Main
			case counts[atom.Article] == 1:
				return atom.Article
			}
			return 0
		case html.StartTagToken:
			name, _ := z.TagName()
			counts[atom.Lookup(name)]++
		}
	}
}

// meta takes the title and what meta elements say.
func (r *htmlReader) meta(src string, base int, d *Document) error {
	z := html.NewTokenizer(strings.NewReader(src))
	var keys []metaKey
	next := 1 + strings.Count(r.in.Text[:base], "\n")
	inTitle := false
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			break
		}
		line := next
		next += bytes.Count(z.Raw(), []byte("\n"))
		switch tt {
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.DataAtom {
			case atom.Title:
				inTitle = d.Title == ""
			case atom.Body:
				return applyMeta(r.in, d, keys)
			case atom.Meta:
				var name, content string
				for _, a := range t.Attr {
					switch a.Key {
					case "name":
						name = a.Val
					case "content":
						content = a.Val
					}
				}
				meant := misspelt(name)
				if name != "acl" && name != "supersedes" && (meant == "" || meant == "title") {
					continue
				}
				keys = append(keys, commaKey(name, content, line))
			}
		case html.TextToken:
			if inTitle {
				d.Title = foldSpace(Normalize(string(z.Text())))
				inTitle = false
			}
		case html.EndTagToken:
			inTitle = false
		}
	}
	return applyMeta(r.in, d, keys)
}

func (r *htmlReader) read(ctx context.Context, src string, base int) error {
	z := html.NewTokenizer(strings.NewReader(src))
	at := base
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		tt := z.Next()
		if tt == html.ErrorToken {
			r.endBlock()
			if r.hidden > 0 {
				r.in.Warn(0, "element %s is never closed: the text behind it is left out", r.stack[r.hidden-1])
			}
			return nil
		}
		raw := z.Raw()
		start := at
		at += len(raw)
		switch tt {
		case html.TextToken:
			if r.visible() {
				r.text(raw, start)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttr := z.TagName()
			a := atom.Lookup(name)
			hidden := false
			r.alias = ""
			for hasAttr {
				var k, v []byte
				k, v, hasAttr = z.TagAttr()
				switch string(k) {
				case "hidden":
					hidden = true
				case "aria-hidden":
					hidden = string(v) == "true"
				case "id":
					r.alias = string(v)
				case "alt":
					if a == atom.Img && len(v) > 0 && r.visible() {
						r.text([]byte(html.EscapeString(string(v))), start)
					}
				}
			}
			r.open(a, start, tt == html.SelfClosingTagToken, hidden)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.closeElement(atom.Lookup(name))
		}
	}
}

// visible reports whether text here is part of what is read.
func (r *htmlReader) visible() bool {
	return r.hidden == 0 && (r.only == 0 || r.mainAt > 0)
}

func void(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// skipped reports elements whose content is not text of the page.
func skipped(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Svg, atom.Math, atom.Object, atom.Canvas,
		atom.Head, atom.Title, atom.Nav, atom.Footer, atom.Button, atom.Select, atom.Textarea, atom.Audio, atom.Video, atom.Dialog:
		return true
	}
	return false
}

func blockElement(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Aside, atom.Header, atom.Address, atom.Blockquote, atom.Figure,
		atom.Figcaption, atom.Details, atom.Summary, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd, atom.Pre, atom.Table,
		atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Hr, atom.Body, atom.Html, atom.Center, atom.Fieldset,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

func headingLevel(a atom.Atom) int {
	switch a {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	}
	return 0
}

func (r *htmlReader) open(a atom.Atom, at int, selfClosing, hidden bool) {
	if void(a) {
		if r.visible() {
			switch a {
			case atom.Br:
				r.lineBreak()
			case atom.Hr:
				r.endBlock()
			}
		}
		return
	}
	if selfClosing && !blockElement(a) {
		return // <x/> of XHTML and of SVG
	}
	if a == atom.P || blockElement(a) {
		r.closeImplied(a)
	}
	if len(r.stack) < maxHTMLDepth {
		r.stack = append(r.stack, a)
		if r.hidden == 0 && (skipped(a) || hidden || a == atom.Header && r.only == 0 && len(r.stack) <= 3) {
			r.endBlock()
			r.hidden = len(r.stack)
		}
		if a == r.only && r.mainAt == 0 && r.hidden == 0 {
			r.mainAt = len(r.stack)
		}
	}
	if !r.visible() {
		return
	}
	switch {
	case headingLevel(a) > 0:
		r.endBlock()
		r.heading, r.id = headingLevel(a), r.alias
	case r.heading > 0:
		r.space = true
	case a == atom.Table:
		r.endBlock()
		r.tables++
		r.kind = Table
	case a == atom.Tr:
		r.cells = 0
		r.lineBreak()
	case a == atom.Td || a == atom.Th:
		if r.cells++; r.cells > 1 && r.block >= 0 {
			r.out.WriteString(" | ")
			r.wordEnd = -1
		}
		r.space = false
	case a == atom.Pre:
		r.endBlock()
		r.pre++
		r.kind = Code
	case r.tables > 0:
		r.space = true
	case blockElement(a):
		r.endBlock()
		if a == atom.Li {
			r.kind = List
		}
	}
}

// closeImplied closes a p that the start of another block ends without an end tag, and a list
// item or cell that the next one ends.
func (r *htmlReader) closeImplied(a atom.Atom) {
	if len(r.stack) == 0 {
		return
	}
	top := r.stack[len(r.stack)-1]
	if top == atom.P || top == a && (a == atom.Li || a == atom.Dt || a == atom.Dd || a == atom.Tr) || headingLevel(top) > 0 && headingLevel(a) > 0 {
		r.closeElement(top)
	}
}

func (r *htmlReader) closeElement(a atom.Atom) {
	i := len(r.stack) - 1
	for i >= 0 && r.stack[i] != a {
		i--
	}
	if i < 0 {
		return // nothing of that name is open
	}
	if r.visible() {
		for _, open := range r.stack[i:] {
			switch {
			case headingLevel(open) > 0:
				r.endBlock()
			case r.heading > 0:
				r.space = true
			case open == atom.Pre:
				r.endBlock()
				r.pre = max(r.pre-1, 0)
			case open == atom.Table:
				if r.tables = max(r.tables-1, 0); r.tables == 0 {
					r.endBlock()
				}
			case r.tables == 0 && blockElement(open):
				r.endBlock()
			}
		}
	}
	r.stack = r.stack[:i]
	if r.hidden > i {
		r.hidden = 0
	}
	if r.mainAt > i {
		r.endBlock()
		r.mainAt = 0
	}
}

// text adds a piece of the page. raw is as in the file, at its offset.
func (r *htmlReader) text(raw []byte, at int) {
	if r.pre > 0 && r.tables == 0 && r.heading == 0 {
		s := html.UnescapeString(string(raw))
		if r.block < 0 {
			s = strings.TrimLeft(s, "\n")
			if strings.TrimSpace(s) == "" {
				return
			}
		}
		r.begin()
		r.wordEnd = -1
		r.write(clean(s), at)
		r.wordEnd = -1
		return
	}
	for len(raw) > 0 {
		lead := len(raw) - len(bytes.TrimLeft(raw, " \t\n\f"))
		if lead > 0 {
			r.space = true
			raw, at = raw[lead:], at+lead
			continue
		}
		end := bytes.IndexAny(raw, " \t\n\f")
		if end < 0 {
			end = len(raw)
		}
		word := string(raw[:end])
		if strings.IndexByte(word, '&') >= 0 {
			word = html.UnescapeString(word)
		}
		word = clean(word)
		if strings.TrimSpace(word) == "" {
			r.space = true
		} else {
			fresh := r.begin()
			spaced := !fresh && r.space && !r.atLineStart()
			if spaced {
				r.out.WriteByte(' ')
			}
			r.space = false
			gap := at - r.wordEnd
			if r.wordEnd < 0 || fresh || spaced != (gap == 1) || gap > 1 || gap == 1 && r.in.Text[at-1] == '\n' {
				r.wordEnd = -1
			}
			r.write(word, at)
			r.wordEnd = -1
			if word == string(raw[:end]) {
				r.wordEnd = at + end
			}
		}
		raw, at = raw[end:], at+end
	}
}

// clean normalises what character references may bring in: they stand for code points that
// decoding has not seen.
func clean(s string) string {
	s = Normalize(s)
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// begin opens a block if none is open, and reports whether it did.
func (r *htmlReader) begin() bool {
	if r.block >= 0 {
		return false
	}
	if r.out.Len() > 0 {
		r.out.WriteString("\n\n")
	}
	r.block = r.out.Len()
	r.space = false
	return true
}

// atLineStart reports whether nothing was written on the current line.
func (r *htmlReader) atLineStart() bool {
	s := r.out.String()
	return s == "" || s[len(s)-1] == '\n'
}

// write adds a word that stands at an offset of the file, with an anchor unless it follows the
// word before as it does there.
func (r *htmlReader) write(word string, at int) {
	if p := norm.NFC.PropertiesString(word); !p.BoundaryBefore() && !r.atLineStart() {
		r.out.WriteByte(' ') // a mark in an element of its own; joining it would move what is written
	}
	if r.wordEnd < 0 {
		skipped := r.in.Text[r.at:at]
		if n := strings.Count(skipped, "\n"); n > 0 {
			r.line += n
			r.column = 1
			skipped = skipped[strings.LastIndexByte(skipped, '\n')+1:]
		}
		r.column += utf8.RuneCountInString(skipped)
		r.at = at
		r.anchors = append(r.anchors, Anchor{Offset: r.out.Len(), Line: r.line, Column: r.column})
	}
	r.out.WriteString(word)
}

// lineBreak ends the line, not the block.
func (r *htmlReader) lineBreak() {
	if r.block >= 0 && r.out.Len() > r.block && r.heading == 0 {
		r.out.WriteByte('\n')
		r.wordEnd = -1
	}
	r.space = r.heading > 0
}

// endBlock closes the open block and, if it is one, the heading.
func (r *htmlReader) endBlock() {
	end := r.out.Len()
	if r.block >= 0 && end > r.block {
		b := Block{Kind: r.kind, Span: Span{r.block, end}}
		text := r.out.String()
		b.Span.End = trimBlankEndString(text, r.block, end)
		if r.heading > 0 {
			b.Kind = Heading
			r.headings = append(r.headings, heading{level: r.heading, start: r.block, body: end, title: text[r.block:b.Span.End], alias: r.id})
		}
		if b.Kind == Table {
			// The first row is the header.
			b.Header = b.Span.End
			if i := strings.IndexByte(text[b.Span.Start:b.Span.End], '\n'); i >= 0 {
				b.Header = b.Span.Start + i + 1
			}
		}
		if b.Span.Len() > 0 {
			r.blocks = append(r.blocks, b)
		}
	}
	r.block, r.heading, r.space, r.kind = -1, 0, false, Paragraph
	if r.pre > 0 {
		r.kind = Code
	}
	if r.tables > 0 {
		r.kind = Table
	}
}
