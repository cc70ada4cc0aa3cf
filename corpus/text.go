package corpus

import (
	"context"
	"strings"
	"unicode"
)

// Text returns the reader of plain text. Paragraphs are separated by blank lines. There are no
// headings unless Options.TextHeadings asks for them: then a line between blank lines that is
// in capitals is one of level 2, and a line underlined with = or - is one of level 1 or 2.
// Front matter is read as in Markdown, so that a text may carry permissions.
func Text() Reader {
	return Reader{
		Name:       "text",
		Extensions: []string{".txt", ".text", ".log"},
		Read: func(_ context.Context, in *Input) ([]Document, error) {
			d := Document{Text: in.Text}
			end, err := readFrontMatter(in, &d)
			if err != nil {
				return nil, err
			}
			if !in.Options.IndexFrontMatter {
				d.Body = end
			}
			var headings []heading
			if in.Options.TextHeadings {
				headings = textHeadings(in.Text, end)
			}
			d.Sections = outline(headings, end, len(d.Text))
			d.Blocks = paragraphs(in.Text, end, headings)
			place(&d)
			return []Document{d}, nil
		},
	}
}

// textLine is one line of a text; end excludes the line end, next includes it.
type textLine struct{ start, end, next int }

func (l textLine) of(text string) string { return text[l.start:l.end] }

// eachLine calls f for every line from offset at on.
func eachLine(text string, at int, f func(textLine)) {
	for at < len(text) {
		l := textLine{start: at}
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			l.end, l.next = at+i, at+i+1
		} else {
			l.end, l.next = len(text), len(text)
		}
		f(l)
		at = l.next
	}
}

func lines(text string, at int) []textLine {
	var all []textLine
	eachLine(text, at, func(l textLine) { all = append(all, l) })
	return all
}

// paragraphs returns the runs of non-blank lines from offset at on as blocks, headings as
// blocks of their own.
func paragraphs(text string, at int, headings []heading) []Block {
	var blocks []Block
	var cur *Block
	next := 0
	skip := -1 // lines before this offset belong to a heading
	eachLine(text, at, func(l textLine) {
		if l.start < skip {
			return
		}
		if next < len(headings) && headings[next].start == l.start {
			h := headings[next]
			next++
			skip = h.body
			blocks = append(blocks, Block{Kind: Heading, Span: Span{h.start, trimBlankEndString(text, h.start, h.body)}})
			cur = nil
			return
		}
		if strings.TrimSpace(l.of(text)) == "" {
			cur = nil
			return
		}
		if cur == nil {
			blocks = append(blocks, Block{Span: Span{l.start, l.end}})
			cur = &blocks[len(blocks)-1]
		}
		cur.Span.End = l.end
	})
	return blocks
}

func trimBlankEndString(text string, start, end int) int {
	for end > start && (text[end-1] == '\n' || text[end-1] == ' ' || text[end-1] == '\t') {
		end--
	}
	return end
}

func textHeadings(text string, at int) []heading {
	all := lines(text, at)
	blank := func(i int) bool { return i < 0 || i >= len(all) || strings.TrimSpace(all[i].of(text)) == "" }
	var headings []heading
	for i := 0; i < len(all); i++ {
		line := all[i].of(text)
		if blank(i) || len(line) > 120 || !blank(i-1) {
			continue
		}
		if i+1 < len(all) {
			under := strings.TrimRight(all[i+1].of(text), " \t")
			level := 0
			if len(under) >= 3 && strings.Trim(under, "=") == "" {
				level = 1
			} else if len(under) >= 3 && strings.Trim(under, "-") == "" {
				level = 2
			}
			if level > 0 {
				headings = append(headings, heading{level: level, start: all[i].start, body: all[i+1].next, title: line})
				i++
				continue
			}
		}
		if blank(i+1) && capitals(line) {
			headings = append(headings, heading{level: 2, start: all[i].start, body: all[i].next, title: line})
		}
	}
	return headings
}

// capitals reports whether a line has letters and none of them is lower case.
func capitals(line string) bool {
	letters := 0
	for _, r := range line {
		if unicode.IsLower(r) {
			return false
		}
		if unicode.IsUpper(r) {
			letters++
		}
	}
	return letters >= 2
}
