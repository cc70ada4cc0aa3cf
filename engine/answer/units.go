package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
)

// unit is a piece of a passage that can be answered with: a sentence, a list item or a row of
// a table.
type unit struct {
	text    string // as it is put into an answer
	heading string // headings in force inside the passage, and the lead of a list
	block   int    // units of one paragraph, list or table share it
	row     bool
}

// cut splits a passage's text into units. Headings, rules and code fences are no units;
// headings count for what stands below them. The rows of a table carry their column titles, as
// "title: cell", so that a row can be read alone; no digit is added or changed.
func cut(text string) []unit {
	var out []unit
	var header []string
	var paragraph []string
	var headings [7]string
	heading, lead := "", ""
	block := 0
	code := false
	flush := func() {
		if len(paragraph) == 0 {
			return
		}
		block++
		for _, s := range sentences(strings.Join(paragraph, " ")) {
			out = append(out, unit{text: s, heading: heading, block: block})
		}
		last := paragraph[len(paragraph)-1]
		lead = ""
		if strings.HasSuffix(strings.TrimSpace(last), ":") {
			lead = out[len(out)-1].text
		}
		paragraph = paragraph[:0]
	}
	item := -1 // index in out of the list item that a continuation line belongs to
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			flush()
			code, item = !code, -1
			continue
		}
		if code {
			if trimmed != "" {
				out = append(out, unit{text: trimmed, heading: heading, block: block})
			}
			continue
		}
		switch {
		case trimmed == "":
			flush()
			header, item = nil, -1
		case strings.HasPrefix(trimmed, "#") && headingLevel(trimmed) > 0:
			flush()
			n := headingLevel(trimmed)
			headings[n] = strings.TrimSpace(strings.Trim(trimmed, "#"))
			clear(headings[n+1:])
			heading = strings.TrimSpace(strings.Join(headings[1:], " "))
			header, lead, item = nil, "", -1
			block++
		case strings.HasPrefix(trimmed, "|"):
			flush()
			item = -1
			cells := tableCells(trimmed)
			switch {
			case delimiterRow(cells):
			case header == nil:
				header = cells
				block++
			default:
				out = append(out, unit{text: row(header, cells), heading: strings.TrimSpace(heading + " " + strings.Join(header, " ")), block: block, row: true})
			}
		default:
			if body, ok := listItem(trimmed); ok {
				flush()
				if item < 0 {
					block++
				}
				first := true
				for _, s := range sentences(body) {
					h := heading
					if lead != "" {
						h = strings.TrimSpace(h + " " + lead)
					}
					out = append(out, unit{text: s, heading: h, block: block})
					first = false
				}
				if !first {
					item = len(out) - 1
				}
				continue
			}
			if item >= 0 && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
				out[item].text += " " + plain(trimmed)
				continue
			}
			item = -1
			paragraph = append(paragraph, trimmed)
		}
	}
	flush()
	return out
}

func headingLevel(s string) int {
	n := 0
	for n < len(s) && s[n] == '#' {
		n++
	}
	if n > 6 || n == 0 || n < len(s) && s[n] != ' ' {
		return 0
	}
	return n
}

func listItem(s string) (body string, ok bool) {
	for _, p := range []string{"- ", "* ", "+ ", "• "} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i > 0 && i <= 3 && i+1 < len(s) && (s[i] == '.' || s[i] == ')') && s[i+1] == ' ' {
		return s[i+2:], true
	}
	return "", false
}

func tableCells(s string) []string {
	s = strings.Trim(s, "| \t")
	cells := strings.Split(s, "|")
	for i := range cells {
		cells[i] = plain(strings.TrimSpace(cells[i]))
	}
	return cells
}

func delimiterRow(cells []string) bool {
	for _, c := range cells {
		if strings.Trim(c, "-: ") != "" {
			return false
		}
	}
	return true
}

// row renders a table row with its column titles; the first cell names the row.
func row(header, cells []string) string {
	var b strings.Builder
	for i, c := range cells {
		if c == "" {
			continue
		}
		switch {
		case b.Len() == 0:
		case i == 1:
			b.WriteString(": ")
		default:
			b.WriteString("; ")
		}
		if i > 0 && i < len(header) && header[i] != "" {
			b.WriteString(header[i] + " ")
		}
		b.WriteString(c)
	}
	return b.String()
}

// plain removes Markdown's marks of emphasis and code, and keeps the words of links.
func plain(s string) string {
	s = strings.NewReplacer("**", "", "__", "", "`", "").Replace(s)
	for {
		i := strings.Index(s, "](")
		if i < 0 {
			return s
		}
		open := strings.LastIndexByte(s[:i], '[')
		end := strings.IndexByte(s[i:], ')')
		if open < 0 || end < 0 {
			return s
		}
		s = s[:open] + s[open+1:i] + s[i+end+1:]
	}
}

// sentences splits a paragraph. A full stop ends a sentence if white space and no lower-case
// letter follows, and the word before it is no abbreviation or single letter.
func sentences(s string) []string {
	s = plain(s)
	var out []string
	start := 0
	for i, r := range s {
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		for end < len(s) {
			q, n := utf8.DecodeRuneInString(s[end:])
			if !strings.ContainsRune("\"'”’)»", q) {
				break
			}
			end += n
		}
		wide := r > 0x3000
		rest := strings.TrimLeft(s[end:], " \t\u00a0")
		if rest != "" && !wide {
			if len(rest) == len(s[end:]) {
				continue
			}
			if q, _ := utf8.DecodeRuneInString(rest); unicode.IsLower(q) {
				continue
			}
			if r == '.' && shortened(s[start:i]) {
				continue
			}
		}
		if t := strings.TrimSpace(s[start:end]); t != "" {
			out = append(out, t)
		}
		start = end
	}
	if t := strings.TrimSpace(s[start:]); t != "" {
		out = append(out, t)
	}
	return out
}

// shortened reports whether the text before a full stop ends in an abbreviation or a number
// that names an item.
func shortened(s string) bool {
	i := strings.LastIndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '(' })
	w := strings.ToLower(s[i+1:])
	switch w {
	case "e.g", "i.e", "z.b", "d.h", "etc", "no", "nr", "approx", "ca", "mr", "mrs", "dr", "st", "vs", "bzw", "usw", "tp":
		return true
	}
	return utf8.RuneCountInString(w) == 1 && !unicode.IsDigit([]rune(w)[0])
}

// path returns the words of a hit's heading path and title.
func path(section, title string) string {
	return strings.Join(corpus.ParsePath(section), " ") + " " + title
}
