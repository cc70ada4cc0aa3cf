package corpus

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote is where a quotation stands in a document.
type Quote struct {
	Span      Span // of the normalised text
	InSection bool // found inside the section asked for; false: elsewhere in the document
	Count     int  // how often it occurs there (in the section if InSection, else in the document); above 1 it is ambiguous
}

// FindQuote returns the first occurrence of quote inside section (an index of doc.Sections; a
// negative one stands for the whole document), else the first anywhere in the document. Both
// sides are compared in NFC; any run of white space matches any other, so that a quotation may
// wrap differently. An empty quote is never found.
func FindQuote(doc *Document, section int, quote string) (Span, bool) {
	q, ok := LocateQuote(doc, section, quote)
	return q.Span, ok
}

// LocateQuote is FindQuote and tells also whether the place is inside the section and how
// many there are.
func LocateQuote(doc *Document, section int, quote string) (Quote, bool) {
	words := strings.Fields(Normalize(quote))
	if len(words) == 0 {
		return Quote{}, false
	}
	if section >= 0 && section < len(doc.Sections) {
		if q, ok := locate(doc.Text, doc.Sections[section].Span, words); ok {
			q.InSection = true
			return q, true
		}
	}
	q, ok := locate(doc.Text, Span{0, len(doc.Text)}, words)
	q.InSection = ok && section < 0
	return q, ok
}

// locate finds words, separated by any white space, in the part of text that within spans.
func locate(text string, within Span, words []string) (Quote, bool) {
	var q Quote
	for at := within.Start; at < within.End; {
		i := strings.Index(text[at:within.End], words[0])
		if i < 0 {
			break
		}
		start := at + i
		if end, ok := matchWords(text[:within.End], start, words); ok {
			if q.Count == 0 {
				q.Span = Span{start, end}
			}
			q.Count++
			at = end
			continue
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		at = start + size
	}
	return q, q.Count > 0
}

// matchWords reports whether words stand at offset at of text, and where they end.
func matchWords(text string, at int, words []string) (end int, ok bool) {
	for i, w := range words {
		if i > 0 {
			rest := strings.TrimLeftFunc(text[at:], unicode.IsSpace)
			if len(rest) == len(text)-at {
				return 0, false
			}
			at = len(text) - len(rest)
		}
		if !strings.HasPrefix(text[at:], w) {
			return 0, false
		}
		at += len(w)
	}
	return at, true
}
