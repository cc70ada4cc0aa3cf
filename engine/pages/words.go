package pages

import (
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index/lexical"
)

// words marks the words of a query in passages, as the word index of a build sees them: other
// forms of a word, without its accents for one, match where the index reduces them to one, and in
// scripts without spaces pairs of characters match.
type words struct {
	spans  func(string) []lexical.Span
	wanted map[string]bool
	single map[string]bool // wanted characters that stand in a wanted pair
	Query  string
}

// newWords prepares to mark the words of query; nil marks nothing.
func newWords(r *engine.Reading, query string) *words {
	if r == nil || strings.TrimSpace(query) == "" {
		return nil
	}
	w := &words{spans: r.Spans, wanted: map[string]bool{}, single: map[string]bool{}, Query: query}
	terms := r.Terms(query)
	for _, t := range terms {
		if !r.Common(t) { // marks on every "the" would hide those that matter
			w.wanted[t] = true
		}
	}
	for pair := range w.wanted {
		// Only a script without spaces has terms of one character inside terms of two.
		if first, n := utf8.DecodeRuneInString(pair); first >= 0x1100 && utf8.RuneCountInString(pair) == 2 {
			for _, one := range []string{pair[:n], pair[n:]} {
				if w.wanted[one] {
					w.single[one] = true
				}
			}
		}
	}
	return w
}

// mark escapes s and puts the query's words into mark elements. Single characters that are part of
// a pair are marked only where no pair is found: alone they say little.
func (w *words) mark(s string) template.HTML {
	if w == nil {
		return template.HTML(template.HTMLEscapeString(s))
	}
	var whole, single []lexical.Span
	for _, sp := range w.spans(s) {
		switch {
		case !w.wanted[sp.Term]:
		case w.single[sp.Term]:
			single = append(single, sp)
		default:
			whole = append(whole, sp)
		}
	}
	if whole == nil {
		whole = single
	}
	// Places may overlap, so the bytes to be marked are collected first.
	marked := make([]bool, len(s)+1)
	for _, sp := range whole {
		for i := sp.Start; i < sp.End; i++ {
			marked[i] = true
		}
	}
	var b strings.Builder
	for start := 0; start < len(s); {
		end := start
		for end < len(s) && marked[end] == marked[start] {
			end++
		}
		text := template.HTMLEscapeString(s[start:end])
		if marked[start] {
			text = "<mark>" + text + "</mark>"
		}
		b.WriteString(text)
		start = end
	}
	return template.HTML(b.String())
}
