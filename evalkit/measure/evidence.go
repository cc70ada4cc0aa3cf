package measure

import (
	"cmp"
	"slices"
)

// Evidence is all that a measure needs to know about one ranked list: integers only. Ranks
// count from 1. A gold group is one thing to be found: with TREC judgments each relevant
// document is a group of its own.
type Evidence struct {
	Returned int     `json:"returned"`           // slots in the list
	Ideal    []int   `json:"ideal"`              // grade of each gold group, each at least 1, descending; its length is R
	Found    []Found `json:"found,omitempty"`    // groups found, by rank of the first slot that satisfies them
	Relevant []int   `json:"relevant,omitempty"` // ranks of relevant slots, ascending
	Grades   []int   `json:"grades,omitempty"`   // highest grade of each relevant slot, beside Relevant
	Nonrel   []int   `json:"nonrel,omitempty"`   // ranks of slots judged not relevant, ascending
	// NonrelTotal counts the judgments of grade 0, returned or not.
	NonrelTotal int     `json:"nonrel_total,omitempty"`
	Dup         []int   `json:"dup,omitempty"` // ranks of slots that repeat the section of a higher slot
	Chars       []Chars `json:"chars,omitempty"`
}

// Found says that a group was first satisfied at Rank by a member of grade Gain.
type Found struct {
	Group int `json:"group"` // index in the question's gold; with TREC judgments a running number
	Rank  int `json:"rank"`
	Gain  int `json:"gain"`
}

// Chars are the bytes of delivered text and evidence at one cutoff, each byte counted once.
type Chars struct {
	Cutoff    int `json:"cutoff"`
	Inter     int `json:"inter"`     // delivered bytes that are evidence
	Gold      int `json:"gold"`      // bytes of evidence
	Delivered int `json:"delivered"` // bytes delivered
}

// Sort brings the evidence into canonical order: Found by rank, then gain descending, then
// group; Ideal descending.
func (e *Evidence) Sort() {
	slices.SortFunc(e.Found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.Gain, a.Gain), cmp.Compare(a.Group, b.Group))
	})
	slices.SortFunc(e.Ideal, func(a, b int) int { return cmp.Compare(b, a) })
}

// FirstRank returns the rank of the first relevant slot, 0 if there is none.
func (e *Evidence) FirstRank() int {
	if len(e.Relevant) == 0 {
		return 0
	}
	return e.Relevant[0]
}
