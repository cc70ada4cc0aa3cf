package openai

import (
	"unicode"
	"unicode/utf8"
)

// perText is what most models add to a text: a token at the start and one at the end.
const perText = 2

// EstimateTokens returns a cautious estimate of the number of tokens of text, the two that
// models add included: one for every 4 letters of an ASCII word (begun), every 2 digits, every
// other ASCII sign and every rune beyond ASCII; white space is free. It is meant to
// be too high for prose; rare scripts and emoji, of several tokens a rune, may be underestimated.
func EstimateTokens(text string) int {
	n := perText
	for len(text) > 0 {
		size, cost := nextToken(text)
		text = text[size:]
		n += cost
	}
	return n
}

// nextToken returns the length in bytes of the next estimated token of text, which must not
// be empty, and its cost, 0 for white space and 1 for anything else.
func nextToken(text string) (size, cost int) {
	c := text[0]
	switch {
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRuneInString(text)
		if unicode.IsSpace(r) {
			return n, 0
		}
		return n, 1
	case c == ' ' || '\t' <= c && c <= '\r':
		return 1, 0
	case letter(c):
		return run(text, 4, letter), 1
	case digit(c):
		return run(text, 2, digit), 1
	}
	return 1, 1
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

func run(text string, most int, is func(byte) bool) int {
	n := 1
	for n < most && n < len(text) && is(text[n]) {
		n++
	}
	return n
}

// cut returns the longest head of text of at most budget estimated tokens (budget ≥ 1, those
// at the ends not counted) and the rest. It cuts at white space if there is any in the second
// half of the head. The head is not empty unless text is.
func cut(text string, budget int) (head, rest string) {
	pos, space, used := 0, 0, 0
	for pos < len(text) {
		size, cost := nextToken(text[pos:])
		if used+cost > budget {
			break
		}
		if cost == 0 {
			space = pos + size
		}
		used += cost
		pos += size
	}
	if pos < len(text) && space > pos/2 {
		pos = space
	}
	return text[:pos], text[pos:]
}
