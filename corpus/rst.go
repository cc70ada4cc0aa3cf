package corpus

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ReStructuredText returns the reader of reStructuredText. A title is a line with a line of
// punctuation below it, or above and below, at least as long as the title; each style of
// adornment is a level, in the order in which the styles first appear. Literal blocks,
// directives and comments, told by their indentation, hold no titles. A field list at the top or
// below the first title (:acl: staff) holds what front matter holds elsewhere; front matter
// itself is read too.
func ReStructuredText() Reader {
	return Reader{
		Name:       "rst",
		Extensions: []string{".rst", ".rest"},
		Read: func(_ context.Context, in *Input) ([]Document, error) {
			d := Document{Text: in.Text}
			end, err := readFrontMatter(in, &d)
			if err != nil {
				return nil, err
			}
			headings := rstHeadings(in.Text, end)
			fields := end
			if len(headings) > 0 && strings.TrimSpace(in.Text[end:headings[0].start]) == "" {
				fields = headings[0].body // the list may follow the title
			}
			if err := rstFields(in, &d, fields); err != nil {
				return nil, err
			}
			if !in.Options.IndexFrontMatter {
				d.Body = end
			}
			d.Sections = outline(headings, end, len(d.Text))
			d.Blocks = paragraphs(in.Text, end, headings)
			for i := range d.Blocks {
				if b := &d.Blocks[i]; b.Kind == Paragraph {
					b.Kind = rstKind(in.Text[b.Span.Start:b.Span.End])
				}
			}
			place(&d)
			return []Document{d}, nil
		},
	}
}

// rstFields reads the permissions of a field list that the document begins with.
func rstFields(in *Input, d *Document, at int) error {
	var keys []metaKey
	n := strings.Count(in.Text[:at], "\n")
	for line := range strings.SplitSeq(in.Text[at:], "\n") {
		n++
		name, value, ok := strings.Cut(strings.TrimPrefix(line, ":"), ":")
		if !strings.HasPrefix(line, ":") || !ok {
			if strings.TrimSpace(line) == "" && keys == nil {
				continue
			}
			break
		}
		value = strings.TrimSpace(value)
		k := metaKey{name: name, line: n, value: value, scalar: true}
		for part := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
			if part = strings.TrimSpace(part); part != "" {
				k.strings = append(k.strings, part)
			}
		}
		if len(k.strings) == 0 {
			k.problem = "has no value"
		}
		keys = append(keys, k)
	}
	return applyMeta(in, d, keys)
}

// adornment returns the character that a line repeats, 0 if it is no line of punctuation.
func adornment(line string) byte {
	line = strings.TrimRight(line, " \t")
	if line == "" || line[0] >= utf8.RuneSelf || !(unicode.IsPunct(rune(line[0])) || unicode.IsSymbol(rune(line[0]))) {
		return 0
	}
	if strings.Trim(line, line[:1]) != "" {
		return 0
	}
	return line[0]
}

func rstHeadings(text string, at int) []heading {
	all := lines(text, at)
	line := func(i int) string {
		if i < 0 || i >= len(all) {
			return ""
		}
		return strings.TrimRight(all[i].of(text), " \t")
	}
	type style struct {
		char byte
		over bool
	}
	var styles []style
	levelOf := func(s style) int {
		for i, have := range styles {
			if have == s {
				return i + 1
			}
		}
		styles = append(styles, s)
		return len(styles)
	}
	long := func(title, under string) bool {
		return utf8.RuneCountInString(under) >= utf8.RuneCountInString(strings.TrimSpace(title))
	}
	var headings []heading
	for i := 0; i < len(all); i++ {
		if line(i) == "" {
			continue
		}
		// Overline, title, underline.
		if c := adornment(line(i)); c != 0 && len(line(i)) >= 2 && line(i+1) != "" && adornment(line(i+1)) == 0 &&
			line(i+2) == line(i) && long(line(i+1), line(i)) {
			headings = append(headings, heading{level: levelOf(style{c, true}), start: all[i].start, body: all[i+2].next, title: line(i + 1)})
			i += 2
			continue
		}
		// Title, underline; at least as long, and below a blank line.
		title, under := line(i), line(i+1)
		if c := adornment(under); c != 0 && line(i-1) == "" && title[0] != ' ' && title[0] != '\t' &&
			adornment(title) == 0 && long(title, under) && !strings.HasPrefix(title, ".. ") {
			headings = append(headings, heading{level: levelOf(style{c, false}), start: all[i].start, body: all[i+1].next, title: title})
			i++
		}
	}
	return headings
}

// rstKind guesses the kind of a run of lines.
func rstKind(s string) BlockKind {
	switch {
	case s[0] == ' ' || s[0] == '\t':
		return Code
	case strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "* ") || strings.HasPrefix(s, "#. "):
		return List
	case strings.HasPrefix(s, "+-") || strings.HasPrefix(s, "==") || strings.HasPrefix(s, "|"):
		return Code // tables and line blocks are cut between lines
	}
	return Paragraph
}
