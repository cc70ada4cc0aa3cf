package answer

import (
	"fmt"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// goldPlace is a gold member found in the documents.
type goldPlace struct {
	doc      corpus.DocumentID
	path     *string // nil: the whole document
	section  int     // index in the document's sections, -1 for the whole document or without documents
	found    bool    // in the documents
	whole    corpus.Span
	evidence corpus.Span // the quote, else whole
}

// goldOf resolves a question's gold; docs may be nil, then sections are compared by path.
func goldOf(q *golden.Question, docs *corpus.Collection) ([][]goldPlace, error) {
	out := make([][]goldPlace, 0, len(q.Gold))
	for _, g := range q.Gold {
		group := make([]goldPlace, 0, len(g))
		for _, m := range g {
			p := goldPlace{doc: m.Doc, path: m.Section, section: -1}
			if docs != nil {
				d := docs.Find(m.Doc)
				if d == nil {
					return nil, fmt.Errorf("question %s: the corpus has no document %q: run `assay golden lint`", q.ID, m.Doc)
				}
				p.found, p.whole = true, corpus.Span{Start: d.Body, End: len(d.Text)}
				if m.Section != nil {
					i, err := d.Resolve(*m.Section)
					if err != nil {
						return nil, fmt.Errorf("question %s: %w", q.ID, err)
					}
					p.section, p.whole = i, d.Sections[i].Span
				}
				p.whole = trimSpan(d.Text, p.whole)
				p.evidence = p.whole
				if m.Quote != "" {
					if s, ok := corpus.FindQuote(d, p.section, m.Quote); ok {
						p.evidence = s
					}
				}
			}
			group = append(group, p)
		}
		out = append(out, group)
	}
	return out, nil
}

func trimSpan(text string, s corpus.Span) corpus.Span {
	t := text[s.Start:s.End]
	s.Start += len(t) - len(strings.TrimLeft(t, " \n\t"))
	s.End -= len(t) - len(strings.TrimRight(t, " \n\t"))
	if s.End < s.Start {
		s.End = s.Start
	}
	return s
}

// holds reports whether a passage is relevant to the place: its section is the gold section or
// below it, or it holds at least half of the evidence (the quote, else the section) or lies by
// half in it. Without documents the paths decide.
func (p goldPlace) holds(d *Delivered, docs *corpus.Collection) bool {
	if d.Doc != p.doc {
		return false
	}
	if p.path == nil {
		return true
	}
	if !p.found || d.Span.Len() == 0 {
		return d.Section == *p.path || *p.path != "" && strings.HasPrefix(d.Section, *p.path+" > ") || contains(d.Sections, *p.path)
	}
	doc := docs.Find(d.Doc)
	if d.Span.Start >= 0 && d.Span.End <= len(doc.Text) {
		for i := doc.SectionAt(d.Span.Start); i >= 0; i = doc.Sections[i].Parent {
			if i == p.section {
				return true
			}
		}
	}
	overlap := d.Span.Overlap(p.evidence)
	return overlap > 0 && 2*overlap >= min(d.Span.Len(), p.evidence.Len())
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// groupsHeld returns for each gold group whether any of the passages holds it.
func groupsHeld(gold [][]goldPlace, passages []Delivered, docs *corpus.Collection) (held int) {
	for _, g := range gold {
		if anyHolds(g, passages, docs) {
			held++
		}
	}
	return held
}

func anyHolds(g []goldPlace, passages []Delivered, docs *corpus.Collection) bool {
	for i := range passages {
		for _, p := range g {
			if p.holds(&passages[i], docs) {
				return true
			}
		}
	}
	return false
}

// right reports whether a passage is relevant to any gold group.
func right(gold [][]goldPlace, d *Delivered, docs *corpus.Collection) bool {
	for _, g := range gold {
		for _, p := range g {
			if p.holds(d, docs) {
				return true
			}
		}
	}
	return false
}
