package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns a lower-case word without diacritics. Only Latin and Greek letters lose their
// marks: in other scripts a mark makes another letter (か and が, и and й). The letters that
// Unicode does not decompose are written as readers type them (đ as d, ß as ss).
func Fold(word string) string {
	ascii := true
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return word
	}
	var b strings.Builder
	b.Grow(len(word))
	drop := false
	for _, r := range norm.NFD.String(word) {
		if unicode.Is(unicode.Mn, r) {
			if !drop {
				b.WriteRune(r)
			}
			continue
		}
		drop = unicode.In(r, unicode.Latin, unicode.Greek)
		switch r {
		case 'đ', 'ð':
			b.WriteByte('d')
		case 'ß':
			b.WriteString("ss")
		case 'ø':
			b.WriteByte('o')
		case 'ł':
			b.WriteByte('l')
		case 'æ':
			b.WriteString("ae")
		case 'œ':
			b.WriteString("oe")
		case 'ı':
			b.WriteByte('i')
		case 'þ':
			b.WriteString("th")
		case 'ħ':
			b.WriteByte('h')
		case 'ŧ':
			b.WriteByte('t')
		default:
			b.WriteRune(r)
		}
	}
	// A Cyrillic ё is written as е; й stays, because и is another letter.
	return strings.ReplaceAll(norm.NFC.String(b.String()), "ё", "е")
}
