package answer

import (
	"slices"
	"strings"
)

// Source tells where a number of an answer comes from.
type Source string

// The classes of the number rule. Context and question are kept apart: a number that only the
// question holds may stand as a fact in the answer, so such cases are for review.
const (
	FromContext  Source = "context"
	FromQuestion Source = "question"
	Ambiguous    Source = "ambiguous" // equal only in the less likely reading: "1.25" for "1.250"
	Unsure       Source = "unsure"    // in the context, but only with another unit or noun
	Invented     Source = "invented"  // nowhere
)

// NumberFinding is what the number rule says of one number of an answer.
type NumberFinding struct {
	Number Number `json:"number"`
	Source Source `json:"source"`
	// Match is the number it was found as, nil if it was not; Note says more, such as
	// "end of a range" or the unit that differs.
	Match *Number `json:"match,omitempty"`
	Note  string  `json:"note,omitempty"`
}

// OK reports whether the number is accounted for; Unsure is not.
func (f NumberFinding) OK() bool { return f.Source != Unsure && f.Source != Invented }

// Grounded returns one finding for each number of the answer, in order, citation markers left
// out. Every number must occur in the context or in the question: both sides pass through
// Numbers, and a number is grounded where the sets of readings meet. context is the text of the
// passages delivered and nothing else: no file names, no prompt, no headings that were not
// shown, no passages below the cut. Weak numbers ("one", "first", "1." of a list) are reported
// only where they are grounded.
//
// The rule cannot see a right number beside a wrong subject unless the unit or noun differs.
func Grounded(answer, context, question string, lang ...string) []NumberFinding {
	inContext := Numbers(context, lang...)
	inQuestion := Numbers(question, lang...)
	var out []NumberFinding
	for _, n := range Numbers(BlankCitations(answer), lang...) {
		f := find(n, inContext, FromContext)
		if f.Source == Invented || f.Source == Unsure {
			if q := find(n, inQuestion, FromQuestion); q.OK() {
				f = q
			}
		}
		if n.Weak && !f.OK() {
			continue
		}
		out = append(out, f)
	}
	return out
}

func find(n Number, in []Number, source Source) NumberFinding {
	best := NumberFinding{Number: n, Source: Invented}
	rank := 0
	for i := range in {
		c := &in[i]
		meets, likely, note := meet(n, *c)
		if !meets {
			continue
		}
		r, s := 3, source
		switch {
		case !compatible(n, *c):
			r, s = 1, Unsure
			note = "there it is " + strings.TrimSpace(c.Text+" "+cmpUnit(*c))
		case !likely:
			r, s = 2, Ambiguous
		}
		if r > rank {
			if c.Range && !n.Range && note == "" {
				note = "end of a range"
			}
			rank, best = r, NumberFinding{n, s, c, note}
		}
	}
	return best
}

func cmpUnit(n Number) string {
	if n.Unit != "" {
		return n.Unit
	}
	return n.Noun
}

// meet reports whether two numbers share a reading, and whether it is the first of both.
func meet(n, c Number) (ok, likely bool, note string) {
	if n.Kind == Identifier || c.Kind == Identifier {
		return n.Kind == c.Kind && n.Readings[0] == c.Readings[0], true, ""
	}
	if n.Kind == c.Kind {
		for i, a := range n.Readings {
			for j, b := range c.Readings {
				if a == b {
					if !ok || i == 0 && j == 0 {
						ok, likely = true, likely || i == 0 && j == 0
					}
				}
			}
		}
		if !ok && n.Kind == Date {
			for _, b := range c.Readings {
				if slices.Contains(n.Readings, datePart(b, n.Readings[0])) {
					return true, true, "part of a date"
				}
			}
		}
		return ok, likely, ""
	}
	if n.Kind == Quantity && c.Kind == Date && len(n.Readings[0]) == 4 && n.Unit == "" {
		for _, b := range c.Readings { // the year of a date
			if strings.HasPrefix(b, n.Readings[0]+"-") {
				return true, true, "part of a date"
			}
		}
	}
	return false, false, ""
}

// datePart cuts a full date to the form of want: --04-01 or 2026-04.
func datePart(full, want string) string {
	if len(full) != len("2026-04-01") {
		return ""
	}
	if strings.HasPrefix(want, "--") {
		return "-" + full[4:]
	}
	if len(want) == len("2026-04") {
		return full[:7]
	}
	return ""
}

// compatible reports whether units do not contradict each other. An unknown unit agrees with
// all, except that a noun of its own stands against a known unit of another kind.
func compatible(n, c Number) bool {
	if n.Kind != Quantity || c.Kind != Quantity {
		return true
	}
	switch {
	case n.Unit != "" && c.Unit != "":
		return n.Unit == c.Unit
	case n.Unit != "" && c.Unit == "":
		return true // the unit stands in a table's header, or before a list
	case n.Unit == "" && c.Unit != "" && n.Noun != "":
		return currency(c.Unit) || c.Unit == "piece" || c.Unit == "%" && n.Noun == "of"
	}
	return true
}
