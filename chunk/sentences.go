package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentenceStarts appends the offsets in text[start:end] where a sentence begins, start left
// out. A sentence ends with . ! ? … and closing quotes or brackets, followed by white space and
// no lower-case letter; with 。！？ also without a space; or before a blank line. An initial,
// a number of up to two digits and common abbreviations of English, German and Vietnamese do
// not end one. Doubtful places are no end, since cutting elsewhere costs nothing.
func sentenceStarts(starts []int, text string, start, end int) []int {
	for at := start; at < end; {
		at = nextStop(text, at, end)
		if at == end {
			break
		}
		r, size := utf8.DecodeRuneInString(text[at:end])
		stop := at
		at += size
		if r == '\n' {
			j := at
			for j < end && (text[j] == ' ' || text[j] == '\t') {
				j++
			}
			if j < end && text[j] == '\n' {
				if at = skipSpace(text, j, end); at < end {
					starts = append(starts, lineStart(text, j, at))
				}
			}
			continue
		}
		wide := r == '。' || r == '！' || r == '？'
		for at < end {
			r, size := utf8.DecodeRuneInString(text[at:end])
			if !strings.ContainsRune(".!?…。！？\"'”’»)]}】」』*_", r) {
				break
			}
			at += size
		}
		next := skipSpace(text, at, end)
		if next == end || next == at && !wide {
			continue
		}
		if strings.Contains(text[at:next], "\n") && strings.Count(text[at:next], "\n") > 1 {
			starts = append(starts, lineStart(text, at, next))
			at = next
			continue
		}
		after, _ := utf8.DecodeRuneInString(text[next:end])
		if !wide && unicode.IsLower(after) || r == '.' && abbreviation(text[start:stop], unicode.IsDigit(after)) {
			continue
		}
		starts = append(starts, next)
		at = next
	}
	return starts
}

// nextStop returns the offset of the next character that may end a sentence, or end.
func nextStop(text string, at, end int) int {
	for ; at < end; at++ {
		switch c := text[at]; c {
		case '.', '!', '?', '\n':
			return at
		case 0xE2, 0xE3, 0xEF: // first bytes of …, of 。 and of ！？
			if s := text[at:end]; len(s) >= 3 && (s[:3] == "…" || s[:3] == "。" || s[:3] == "！" || s[:3] == "？") {
				return at
			}
		}
	}
	return end
}

func skipSpace(text string, at, end int) int {
	return end - len(strings.TrimLeftFunc(text[at:end], unicode.IsSpace))
}

// lineStart moves at back to the beginning of its line, not before from.
func lineStart(text string, from, at int) int {
	return from + strings.LastIndexByte(text[from:at], '\n') + 1
}

// abbreviation reports whether a full stop behind s belongs to its last word. number says that
// a digit follows.
func abbreviation(s string, number bool) bool {
	const longest = 16 // of an abbreviation, in bytes
	if len(s) > longest {
		s = s[len(s)-longest:]
	}
	i := strings.LastIndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == '"' || r == '“' })
	word := s[i+1:]
	if i >= 0 {
		_, size := utf8.DecodeRuneInString(s[i:])
		word = s[i+size:]
	}
	switch n := utf8.RuneCountInString(word); {
	case n == 0:
		return false
	case n == 1:
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r) || unicode.IsDigit(r)
	case n == 2 && strings.Trim(word, "0123456789") == "":
		return true
	}
	switch strings.ToLower(word) {
	case "dr", "mr", "mrs", "ms", "prof", "st", "vs", "eds", "approx", "e.g", "i.e", "cf", "inc", "ltd", "corp", "u.s", "u.k", "jr", "sr",
		"bzw", "z.b", "d.h", "u.a", "ca", "vgl", "ggf", "evtl", "inkl", "zzgl", "str", "tel", "tp", "ths", "gs", "pgs":
		return true
	case "no", "nos", "nr", "fig", "figs", "eq", "sec", "vol", "ed", "abs", "art", "pp", "ch": // with a number behind
		return number
	}
	return false
}
