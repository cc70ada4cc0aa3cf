package lexical

import (
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Span is a term with the place of what it was made of.
type Span struct {
	Term       string
	Start, End int // bytes of the text
}

// Spans returns the terms of text, as Terms does, each with its place: that of its word, of its
// character or pair of characters, or, for the variants of a code, of the whole code. Places of
// different terms overlap.
func (a *Analyzer) Spans(text string) []Span {
	var out []Span
	s := scanner{a: a}
	s.scan(text, func(term string, _ bool) {
		out = append(out, Span{term, s.at.start, s.at.end})
	})
	if place := a.places(text, s.buf); place != nil {
		for i := range out {
			out[i].Start, out[i].End = place[out[i].Start], place[out[i].End]
		}
	}
	// A code keeps the signs around it, which are no part of it to a reader.
	for i := range out {
		for out[i].Start < out[i].End && isSign(text[out[i].Start]) {
			out[i].Start++
		}
		for end := out[i].End; end > out[i].Start && (text[end-1] == '.' || text[end-1] == ':' || text[end-1] == '-' || text[end-1] == '/'); end-- {
			out[i].End = end - 1
		}
	}
	return out
}

// isSign reports whether b is a joining sign that may stand before a code.
func isSign(b byte) bool { return b < 0x80 && joins(rune(b)) }

// places maps the bytes of the text as it was scanned, its end included, to those of the text
// itself; nil if the two are the same. A byte in the middle of what changed maps to the beginning of
// that.
func (a *Analyzer) places(text string, scanned []byte) []int {
	if text == string(scanned) {
		return nil
	}
	place := make([]int, 0, len(scanned)+1)
	for at := 0; at < len(text); {
		// What NFKC may join is changed together, also a half-width letter and its sound mark.
		n := norm.NFKC.NextBoundaryInString(text[at:], true)
		if n <= 0 {
			n = len(text) - at
		}
		changed := text[at : at+n]
		if a.lang.cjk {
			changed = width.Fold.String(changed)
		}
		changed = norm.NFC.String(changed)
		for i := range len(changed) {
			if changed != text[at:at+n] {
				i = 0
			}
			place = append(place, at+i)
		}
		at += n
	}
	place = append(place, len(text))
	if len(place) != len(scanned)+1 { // unreachable as far as is known; better no places than wrong ones
		return make([]int, len(scanned)+1)
	}
	return place
}
