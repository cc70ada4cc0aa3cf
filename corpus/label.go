package corpus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/internal/suggest"
)

// LabelError tells why a section label names no section or more than one.
type LabelError struct {
	Doc        DocumentID
	Label      string
	Candidates []string // ambiguous: the paths that fit, in document order
	Nearest    []string // missing: paths that may be meant, best first, at most three
}

func (e *LabelError) Error() string {
	if len(e.Candidates) > 0 {
		return fmt.Sprintf("section %q of %s is ambiguous: write one of %s", e.Label, e.Doc, quoteList(e.Candidates))
	}
	if len(e.Nearest) > 0 {
		return fmt.Sprintf("%s has no section %q: did you mean %s?", e.Doc, e.Label, quoteList(e.Nearest))
	}
	return fmt.Sprintf("%s has no section %q: write a heading path as the document shows it, or leave section out for the whole document", e.Doc, e.Label)
}

func quoteList(list []string) string {
	const most = 8
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == most {
			fmt.Fprintf(&b, "… (%d in all)", len(list))
			break
		}
		fmt.Fprintf(&b, "%q", s)
	}
	return b.String()
}

// SectionAt returns the index of the deepest section whose span holds offset, 0 (the own
// section) where no heading is in force. Offsets outside the text take the nearest section.
func (d *Document) SectionAt(offset int) int {
	// Sections[1:] are sorted by start, and a section ends where the next of its level or
	// above begins: the last one that starts at or before offset is the deepest that can
	// hold it, and one of its ancestors does if it has ended.
	lo, hi := 1, len(d.Sections)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if d.Sections[mid].Span.Start <= offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	s := lo - 1
	for s > 0 && offset >= d.Sections[s].Span.End && d.Sections[s].Span.End < len(d.Text) {
		s = d.Sections[s].Parent
	}
	return max(s, 0)
}

// Resolve returns the index of the section that a label names: "" is the document's own
// section; else a full path, else the end of exactly one path ("Warranty" for
// "Phone > Warranty"), else an explicit id ({#help}, written help or #help). Label and titles
// are compared in NFC with white space folded, and case counts. The error is a *LabelError.
func (d *Document) Resolve(label string) (int, error) {
	want := foldSpace(Normalize(label))
	if want == "" {
		return 0, nil
	}
	path := ParsePath(want)
	var fits []int
	for i := 1; i < len(d.Sections); i++ {
		p := d.Sections[i].Path
		if slices.Equal(p, path) {
			return i, nil
		}
		if len(p) > len(path) && slices.Equal(p[len(p)-len(path):], path) {
			fits = append(fits, i)
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	e := &LabelError{Doc: d.ID, Label: label}
	for _, i := range fits {
		e.Candidates = append(e.Candidates, FormatPath(d.Sections[i].Path))
	}
	if len(fits) == 0 {
		alias := strings.TrimPrefix(want, "#")
		for i := 1; i < len(d.Sections); i++ {
			if a := d.Sections[i].Alias; a != "" && a == alias {
				return i, nil
			}
		}
		e.Nearest = d.nearest(want)
	}
	return 0, e
}

// nearest returns up to three paths that resemble label, by the whole path or its last title.
func (d *Document) nearest(label string) []string {
	const most = 3
	type near struct {
		path           string
		distance, full int // the smaller of both, and that of the whole path
	}
	if len(label) > 300 {
		return nil // not a slip of the keyboard, and edit distance is quadratic
	}
	var list []near
	fold := strings.ToLower(label)
	path := ParsePath(label)
	last := strings.ToLower(path[len(path)-1])
	for i := 1; i < len(d.Sections) && i < 10_000; i++ {
		p := d.Sections[i].Path
		full, tail := FormatPath(p), p[len(p)-1]
		best, whole := -1, len(label)+len(full)
		for k, pair := range [][2]string{{fold, full}, {last, tail}} {
			limit := max(1, max(len(pair[0]), len(pair[1]))/3)
			if abs(len(pair[0])-len(pair[1])) > limit {
				continue
			}
			n := suggest.Distance(pair[0], strings.ToLower(pair[1]))
			if k == 0 {
				whole = n
			}
			if n <= limit && (best < 0 || n < best) {
				best = n
			}
		}
		if best >= 0 {
			list = append(list, near{full, best, whole})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Or(a.distance-b.distance, a.full-b.full) })
	var paths []string
	for _, n := range list[:min(most, len(list))] {
		paths = append(paths, n.path)
	}
	return paths
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
