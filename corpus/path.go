package corpus

import "strings"

// FormatPath writes a section path as one line, titles joined by " > ". A `>` that stands alone
// inside a title, which would read as a border, gets a backslash: `\>`. The empty path, that of
// a document's own section, is "". ParsePath reads the result back; only a path that consists
// of one empty title has no spelling of its own, and no reader produces one.
func FormatPath(path []string) string {
	if len(path) == 1 && !strings.Contains(path[0], ">") {
		return path[0]
	}
	var b strings.Builder
	for i, title := range path {
		if i > 0 {
			b.WriteString(" > ")
		}
		if !strings.Contains(title, ">") {
			b.WriteString(title)
			continue
		}
		for j, word := range strings.Split(title, " ") {
			if j > 0 {
				b.WriteByte(' ')
			}
			if isBorder(word) {
				b.WriteByte('\\')
			}
			b.WriteString(word)
		}
	}
	return b.String()
}

// ParsePath reads what FormatPath wrote; "" gives nil.
func ParsePath(s string) []string {
	if s == "" {
		return nil
	}
	if !strings.Contains(s, ">") {
		return []string{s}
	}
	var path, title []string
	for _, word := range strings.Split(s, " ") {
		switch {
		case word == ">":
			path = append(path, strings.Join(title, " "))
			title = title[:0]
		case isBorder(word):
			title = append(title, word[1:])
		default:
			title = append(title, word)
		}
	}
	return append(path, strings.Join(title, " "))
}

// isBorder reports whether word is a `>` behind any number of backslashes.
func isBorder(word string) bool {
	return strings.HasSuffix(word, ">") && strings.Trim(word[:len(word)-1], `\`) == ""
}
