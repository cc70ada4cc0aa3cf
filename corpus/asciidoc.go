package corpus

import (
	"context"
	"strings"
)

// AsciiDoc returns the reader of AsciiDoc. Headings are lines of = (or #) and a title; = is
// level 1. Delimited blocks (----, ...., ====, ****, ____, ++++, ////, |===, ```) hold none
// except example, sidebar and quote blocks, which hold text. Attribute entries of the header
// (:acl: staff) hold what front matter holds elsewhere; front matter itself is read too. [[id]]
// or [#id] in front of a heading is its alias.
func AsciiDoc() Reader {
	return Reader{
		Name:       "asciidoc",
		Extensions: []string{".adoc", ".asciidoc", ".asc"},
		Read: func(_ context.Context, in *Input) ([]Document, error) {
			d := Document{Text: in.Text}
			end, err := readFrontMatter(in, &d)
			if err != nil {
				return nil, err
			}
			if err := asciidocHeader(in, &d, end); err != nil {
				return nil, err
			}
			if !in.Options.IndexFrontMatter {
				d.Body = end
			}
			headings, blocks := asciidocBlocks(in, end)
			d.Sections = outline(headings, end, len(d.Text))
			d.Blocks = blocks
			place(&d)
			return []Document{d}, nil
		},
	}
}

// asciidocHeader reads attribute entries up to the first line that belongs to no header.
func asciidocHeader(in *Input, d *Document, at int) error {
	var keys []metaKey
	n := strings.Count(in.Text[:at], "\n")
	for line := range strings.SplitSeq(in.Text[at:], "\n") {
		n++
		switch {
		case strings.HasPrefix(line, ":"):
			name, value, ok := strings.Cut(line[1:], ":")
			if !ok || name == "" {
				continue
			}
			k := metaKey{name: name, line: n, value: strings.TrimSpace(value), scalar: true}
			for part := range strings.SplitSeq(strings.Trim(k.value, "[]"), ",") {
				if part = strings.TrimSpace(part); part != "" {
					k.strings = append(k.strings, part)
				}
			}
			if len(k.strings) == 0 {
				k.problem = "has no value"
			}
			keys = append(keys, k)
		case strings.TrimSpace(line) == "" && len(keys) > 0:
			return applyMeta(in, d, keys)
		case strings.HasPrefix(line, "== "):
			return applyMeta(in, d, keys)
		}
		if n > 200 {
			break
		}
	}
	return applyMeta(in, d, keys)
}

// asciidocFence returns the delimiter that a line is, and whether what it holds is verbatim.
func asciidocFence(line string) (fence string, verbatim bool) {
	line = strings.TrimRight(line, " \t")
	if strings.HasPrefix(line, "```") {
		return "```", true
	}
	if line == "|===" || line == "!===" || line == ",===" || line == ":===" {
		return line, true
	}
	if line == "--" {
		return line, false
	}
	if len(line) < 4 || strings.Trim(line, line[:1]) != "" {
		return "", false
	}
	switch line[0] {
	case '-', '.', '+', '/':
		return line, true
	case '=', '*', '_':
		return line, false
	}
	return "", false
}

func asciidocBlocks(in *Input, at int) ([]heading, []Block) {
	text := in.Text
	var headings []heading
	var blocks []Block
	var cur *Block
	fence, fenceLine := "", 0
	alias, aliasAt := "", -1
	n := strings.Count(text[:at], "\n")
	eachLine(text, at, func(l textLine) {
		n++
		line := strings.TrimRight(l.of(text), " \t")
		grow := func(kind BlockKind) {
			if cur == nil {
				blocks = append(blocks, Block{Kind: kind, Span: Span{l.start, l.end}})
				cur = &blocks[len(blocks)-1]
			}
			if strings.TrimSpace(line) != "" {
				cur.Span.End = l.start + len(strings.TrimRight(text[l.start:l.end], " \t"))
			}
		}
		if fence != "" {
			grow(Code)
			if line == fence || fence == "```" && line == "```" {
				fence, cur = "", nil
			}
			return
		}
		if f, verbatim := asciidocFence(line); f != "" {
			cur, aliasAt = nil, -1
			grow(Code)
			if verbatim {
				fence, fenceLine = f, n
			} else {
				cur = nil
			}
			return
		}
		if strings.TrimSpace(line) == "" {
			cur, aliasAt = nil, -1
			return
		}
		if level, title := asciidocHeading(line); level > 0 {
			h := heading{level: level, start: l.start, body: l.next, title: title}
			if aliasAt >= 0 {
				h.start, h.alias = aliasAt, alias
				blocks = blocks[:len(blocks)-1] // the line of the alias belongs to the heading
			}
			headings = append(headings, h)
			blocks = append(blocks, Block{Kind: Heading, Span: Span{h.start, l.start + len(line)}})
			cur, aliasAt = nil, -1
			return
		}
		aliasAt = -1
		if id, ok := asciidocAlias(line); ok && cur == nil {
			grow(Paragraph)
			alias, aliasAt, cur = id, l.start, nil
			return
		}
		kind := Paragraph
		if cur == nil {
			switch trimmed := strings.TrimLeft(line, " \t"); {
			case strings.HasPrefix(trimmed, "* ") || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, ". "):
				kind = List
			case line[0] == ' ' || line[0] == '\t':
				kind = Code
			}
		}
		grow(kind)
	})
	if fence != "" {
		in.Warn(fenceLine, "block %s is never closed: everything below it is read as code", fence)
	}
	return headings, blocks
}

// asciidocHeading returns the level and the title of a heading line, 0 for another line.
func asciidocHeading(line string) (level int, title string) {
	for level < len(line) && line[level] == line[0] && level < 6 {
		level++
	}
	if (line[0] != '=' && line[0] != '#') || level == len(line) || line[level] != ' ' {
		return 0, ""
	}
	title = strings.TrimSpace(line[level:])
	return level, strings.TrimSpace(strings.TrimSuffix(title, " "+line[:level]))
}

// asciidocAlias reads [[id]] and [#id].
func asciidocAlias(line string) (string, bool) {
	if rest, ok := strings.CutPrefix(line, "[["); ok {
		if id, ok := strings.CutSuffix(rest, "]]"); ok && id != "" {
			id, _, _ = strings.Cut(id, ",")
			return id, true
		}
	}
	if rest, ok := strings.CutPrefix(line, "[#"); ok {
		if id, ok := strings.CutSuffix(rest, "]"); ok && id != "" {
			id, _, _ = strings.Cut(id, ",")
			return id, true
		}
	}
	return "", false
}
