package answer

import (
	"unicode/utf8"

	"github.com/seed792a4543/assay/index"
)

// DeliverOptions say what of a ranked list an answerer is shown. The zero value is valid.
type DeliverOptions struct {
	// Budget is the most text delivered over all passages, in the unit of Count; 0 means
	// 6000, negative means no limit.
	Budget int
	// Count measures a text, for instance in tokens; nil counts runes.
	Count func(text string) int
	// Passages is the most passages delivered; 0 means no limit beyond the hits.
	Passages int
	// Merge, if set, may replace the hits before they are numbered: it joins neighbours of one
	// section, or widens a hit by its surroundings. Its hits take the place of the list, with
	// Text as it is to be shown; it must keep the order of what it keeps.
	Merge func(hits []index.Hit) []index.Hit
	// Allowed, if set, reports whether the caller may read a hit; others are dropped before
	// the budget is counted. Search has filtered already: this is the second lock.
	Allowed func(hit index.Hit) bool
}

// Deliver returns the passages an answerer is shown: hits in order, numbered densely from 1.
// When the budget is used up, whole passages are dropped from the end; a passage is never cut.
// The first passage that does not fit ends the list, so that what is shown is always a prefix
// of the ranking. A first passage above the budget leaves nothing.
func Deliver(hits []index.Hit, o DeliverOptions) []Passage {
	if o.Budget == 0 {
		o.Budget = 6000
	}
	if o.Count == nil {
		o.Count = utf8.RuneCountInString
	}
	if o.Allowed != nil {
		kept := make([]index.Hit, 0, len(hits))
		for _, h := range hits {
			if o.Allowed(h) {
				kept = append(kept, h)
			}
		}
		hits = kept
	}
	if o.Merge != nil {
		hits = o.Merge(hits)
	}
	out := make([]Passage, 0, len(hits))
	used := 0
	for _, h := range hits {
		if o.Passages > 0 && len(out) == o.Passages {
			break
		}
		used += o.Count(h.Text)
		if o.Budget > 0 && used > o.Budget {
			break
		}
		out = append(out, Passage{Marker: len(out) + 1, Hit: h, Text: h.Text})
	}
	return out
}

// MergeNeighbours is a Merge that joins hits of one document whose spans touch or overlap, as
// happens where a long section was cut in windows. The joined hit stands at the place of the
// better one, keeps its chunk id and scores, and covers both spans in document order. gap is
// the number of bytes (blank space between chunks) that may lie between; text returns the
// document's text between two offsets, and nil joins only spans that overlap or touch.
func MergeNeighbours(gap int, text func(h index.Hit, start, end int) string) func([]index.Hit) []index.Hit {
	return func(hits []index.Hit) []index.Hit {
		out := make([]index.Hit, 0, len(hits))
	next:
		for _, h := range hits {
			for i := range out {
				o := &out[i]
				if o.Doc != h.Doc || h.Start > o.End+gap || o.Start > h.End+gap || h.End <= h.Start {
					continue
				}
				if text == nil {
					if h.Start > o.End || o.Start > h.End || len(h.Text) != h.End-h.Start || len(o.Text) != o.End-o.Start {
						continue
					}
					first, second := *o, h
					if h.Start < o.Start {
						first, second = h, *o
					}
					if second.End > first.End {
						o.Text = first.Text + second.Text[first.End-second.Start:]
					} else {
						o.Text = first.Text
					}
				}
				o.Start, o.End = min(o.Start, h.Start), max(o.End, h.End)
				if text != nil {
					o.Text = text(*o, o.Start, o.End)
				}
				continue next
			}
			out = append(out, h)
		}
		return out
	}
}
