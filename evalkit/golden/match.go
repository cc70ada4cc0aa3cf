package golden

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/seed792a4543/assay/corpus"
)

// In reports whether the text holds the fact in any phrasing, compared without regard to case,
// Unicode form, punctuation between words and thousands separators. It is the plain match that
// rule facts and lint use; package answer judges answers, with units, dates and number words.
func (f Fact) In(text string) bool {
	if len(f.Any) == 0 {
		return false
	}
	folded := ""
	for _, p := range f.Any {
		if p.Regex != "" {
			re, err := regexp.Compile(p.Regex)
			if err == nil && re.MatchString(corpus.Normalize(text)) {
				return true
			}
			continue
		}
		if folded == "" {
			folded = fold(text)
		}
		if want := fold(p.String()); want != "  " && strings.Contains(folded, want) {
			return true
		}
	}
	return false
}

// fold returns the words of s in lower case, each between single spaces, digits of one number
// joined: "3,000,000 VND." becomes " 3000000 vnd ". A fold of a phrase is a substring of the
// fold of any text that holds its words in order.
func fold(s string) string {
	s = cases.Fold().String(norm.NFKC.String(s))
	var b strings.Builder
	b.WriteByte(' ')
	rs := []rune(s)
	blank := true
	for i, r := range rs {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '%':
			b.WriteRune(r)
			blank = false
			continue
		case (r == ',' || r == '.') && thousands(rs, i):
			continue // between three-digit groups
		case (r == '.' || r == ',') && i > 0 && i+1 < len(rs) && unicode.IsDigit(rs[i-1]) && unicode.IsDigit(rs[i+1]):
			b.WriteByte('.') // decimal point or comma
			blank = false
			continue
		}
		if !blank {
			b.WriteByte(' ')
			blank = true
		}
	}
	if !blank {
		b.WriteByte(' ')
	}
	if b.Len() == 1 {
		return "  "
	}
	return b.String()
}

// thousands reports whether position i separates groups of digits: at most three before it and
// exactly three after.
func thousands(rs []rune, i int) bool {
	before := 0
	for j := i - 1; j >= 0 && unicode.IsDigit(rs[j]); j-- {
		before++
	}
	after := 0
	for j := i + 1; j < len(rs) && unicode.IsDigit(rs[j]); j++ {
		after++
	}
	if before < 1 || before > 3 || after != 3 {
		return false
	}
	// A leading zero marks a decimal, unless the zeros are a group themselves.
	first := i - before
	return rs[first] != '0' || before == 3 && first > 1 && rs[first-1] == rs[i] && unicode.IsDigit(rs[first-2])
}
