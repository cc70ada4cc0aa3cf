package lexical

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// coder finds product codes, versions and identifiers in a text and gives their variants.
//
// A code is a run of letters, digits and joining signs that holds a digit together with a letter
// or a joining sign ("QX-310/B", "E-04", "12/7", "v2.10.3"), or that ends in plus or hash signs
// after a letter ("C++", "C#"), or whose letters are joined by dots, underscores or at signs
// ("node.js", "max_size").
type coder struct {
	text        string
	identifiers bool
	start, end  int // of the run last looked at; every run before end is done
	seen        []string
	parts       []part
}

type part struct {
	text  string
	digit bool
}

const (
	maxCodeBytes = 64 // longer runs are not codes but addresses and blobs
	maxCodeParts = 6  // more parts than that are joined only as a whole
)

func (c *coder) reset(text string, identifiers bool) {
	c.text, c.identifiers, c.start, c.end = text, identifiers, 0, 0
}

func joins(r rune) bool {
	switch r {
	case '-', '_', '/', '.', '+', '#', ':', '&', '@', '\\', '\u2010', '\u2011':
		return true
	}
	return false
}

// variants calls emit for each variant of the code that ends with the word at [start, end), where
// next is the start of the word after it. whole marks spellings that are used as they are; the
// other variants are words, to be treated like any word.
func (c *coder) variants(start, end, next int, emit func(v string, whole bool)) {
	if start >= c.end {
		c.find(start, end)
	}
	// The word after this one may belong to the same run.
	if next < c.end {
		c.note(start, end)
		return
	}
	run := trimCode(c.text[c.start:c.end])
	if len(run) > maxCodeBytes || !c.split(run) {
		return
	}
	c.note(start, end)
	say := func(v string, whole bool) {
		if !slices.Contains(c.seen, v) {
			c.seen = append(c.seen, v)
			emit(v, whole)
		}
	}
	say(strings.Map(hyphen, strings.ToLower(run)), true)
	if len(c.parts) == 1 || len(c.parts) > 2*maxCodeParts {
		return // the latter is a hash or the like
	}
	for _, p := range c.parts {
		if p.digit || utf8.RuneCountInString(p.text) > 1 {
			say(p.text, false)
		}
	}
	for i := range c.parts {
		if len(c.parts) > maxCodeParts && i > 0 {
			break
		}
		joined := c.parts[i].text
		for j := i + 1; j < len(c.parts); j++ {
			// Two numbers side by side are not one number: 12/7 is not 127.
			if c.parts[j-1].digit && c.parts[j].digit {
				break
			}
			joined += c.parts[j].text
			if len(c.parts) <= maxCodeParts || j == len(c.parts)-1 {
				say(joined, true)
			}
		}
	}
}

// find sets the run that holds the word at [start, end).
func (c *coder) find(start, end int) {
	c.seen = c.seen[:0]
	c.start, c.end = start, end
	for c.end < len(c.text) {
		r, n := utf8.DecodeRuneInString(c.text[c.end:])
		if !joins(r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) || isCJK(r) {
			break
		}
		c.end += n
	}
}

func (c *coder) note(start, end int) {
	c.seen = append(c.seen, strings.ToLower(c.text[start:end]))
}

func hyphen(r rune) rune {
	if r == '\u2010' || r == '\u2011' {
		return '-'
	}
	return r
}

// trimCode drops joining signs around a run, save plus and hash signs after a letter.
func trimCode(run string) string {
	run = strings.TrimLeftFunc(run, joins)
	t := strings.TrimRightFunc(run, joins)
	signs := run[len(t):]
	n := 0
	for n < len(signs) && n < 2 && (signs[n] == '+' || signs[n] == '#') {
		n++
	}
	if r, _ := utf8.DecodeLastRuneInString(t); n > 0 && unicode.IsLetter(r) &&
		strings.TrimRightFunc(signs[n:], func(r rune) bool { return r == '.' || r == ':' || r == '/' }) == "" {
		return run[:len(t)+n]
	}
	return t
}

// split cuts run into c.parts, letters and digits apart, and reports whether it is a code.
func (c *coder) split(run string) bool {
	// Most words end here: plain letters.
	plain := true
	for i := range len(run) {
		b := run[i]
		if b >= utf8.RuneSelf || 'a' <= b && b <= 'z' || !c.identifiers && 'A' <= b && b <= 'Z' {
			continue
		}
		plain = false
		break
	}
	if plain {
		return false
	}
	c.parts = c.parts[:0]
	digits, letters, signs, dots := false, false, false, false
	shortest := len(run)
	at := -1
	var kind, before int // 1 letter, 2 digit
	lower := false       // the rune before was a lower-case letter
	flush := func(end int) {
		if at >= 0 {
			c.parts = append(c.parts, part{strings.ToLower(run[at:end]), before == 2})
			shortest = min(shortest, utf8.RuneCountInString(run[at:end]))
			at = -1
		}
	}
	for i, r := range run {
		switch {
		case unicode.IsDigit(r):
			kind, digits = 2, true
		case unicode.IsLetter(r) || unicode.Is(unicode.Mn, r):
			kind, letters = 1, true
		default:
			kind, signs = 0, true
			dots = dots || r == '.' || r == '_' || r == '@'
		}
		hump := c.identifiers && kind == 1 && lower && unicode.IsUpper(r)
		if kind != before || hump {
			flush(i)
			if kind != 0 {
				at = i
			}
		}
		before, lower = kind, unicode.IsLower(r)
	}
	flush(len(run))
	last := run[len(run)-1]
	switch {
	case len(c.parts) == 0:
		return false
	case last == '+' || last == '#':
		return true
	case digits && letters:
		return true
	case digits:
		// A number with decimal points or commas alone is one word already.
		return signs && len(c.parts) > 1 && strings.Trim(run, "0123456789.,") != ""
	case c.identifiers && len(c.parts) > 1 && shortest > 1:
		return true
	default:
		return dots && len(c.parts) > 1 && shortest > 1
	}
}
