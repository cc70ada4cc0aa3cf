package corpus

import (
	"fmt"
	"slices"
)

// untitled stands for the title of a heading that has none.
const untitled = "(untitled)"

// heading is what the reader of a format finds; outline makes sections of them.
type heading struct {
	level int
	start int // of the heading line
	body  int // behind the heading
	title string
	alias string
}

// HeadingLine is a heading as a reader of another package found it.
type HeadingLine struct {
	Level int    // from 1
	Span  Span   // of the heading in the text; empty where the text does not show it
	Title string // as in Section.Path, without a number for equal siblings
}

// SetSections makes the sections of d from its headings, which come in the order of the text and
// do not overlap, and sets the section of every block. Levels may jump, and equal siblings are
// numbered. Readers of this package and of others make sections by the same rules.
func (d *Document) SetSections(headings []HeadingLine) {
	hs := make([]heading, len(headings))
	for i, h := range headings {
		hs[i] = heading{level: h.Level, start: h.Span.Start, body: h.Span.End, title: h.Title}
	}
	d.Sections = outline(hs, d.Body, len(d.Text))
	place(d)
}

// outline returns the sections of a text of the given length whose content begins at body. A
// heading of level n closes all open headings of level n and above (that is, ≥ n), so levels
// may jump. Of equal siblings, all but the first get the smallest number from 2 that makes
// them unlike any other sibling: "Notes (2)".
func outline(headings []heading, body, length int) []Section {
	sections := make([]Section, 1, len(headings)+1)
	first := length
	if len(headings) > 0 {
		first = headings[0].start
	}
	body = min(body, first)
	sections[0] = Section{Span: Span{body, first}, Body: body, Parent: -1} // without the front matter
	var open []int                                                         // indexes of open sections
	for _, h := range headings {
		for len(open) > 0 && sections[open[len(open)-1]].Level >= h.level {
			sections[open[len(open)-1]].Span.End = h.start
			open = open[:len(open)-1]
		}
		s := Section{Level: h.level, Span: Span{h.start, length}, Body: h.body, Parent: -1, Alias: foldSpace(Normalize(h.alias))}
		if len(open) > 0 {
			s.Parent = open[len(open)-1]
		}
		open = append(open, len(sections))
		sections = append(sections, s)
	}

	type sibling struct {
		parent int
		title  string
	}
	// Marks between two pieces of a normalised text may have kept apart what composes once they are
	// gone: ~~A~~ and a combining mark behind it.
	title := func(i int) string {
		if t := foldSpace(Normalize(headings[i].title)); t != "" {
			return t
		}
		return untitled
	}
	taken := make(map[sibling]bool, len(headings)) // written titles and numbered ones
	for i := range headings {
		taken[sibling{sections[i+1].Parent, title(i)}] = true
	}
	numbers := make(map[sibling]int) // last number given
	for i := range headings {
		s := &sections[i+1]
		t := title(i)
		key := sibling{s.Parent, t}
		if n, again := numbers[key]; again {
			for {
				n++
				t = fmt.Sprintf("%s (%d)", title(i), n)
				if !taken[sibling{s.Parent, t}] {
					break
				}
			}
			taken[sibling{s.Parent, t}] = true
			numbers[key] = n
		} else {
			numbers[key] = 1
		}
		if s.Parent >= 0 {
			s.Path = append(slices.Clip(sections[s.Parent].Path), t)
		} else {
			s.Path = []string{t}
		}
	}
	return sections
}

// place sets the section of every block; both are in document order.
func place(d *Document) {
	for i := range d.Blocks {
		d.Blocks[i].Section = d.SectionAt(d.Blocks[i].Span.Start)
	}
}
