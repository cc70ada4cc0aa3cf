package evalkit

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// place is a gold member found in the documents.
type place struct {
	doc      corpus.DocumentID
	docAt    int    // index in the collection, -1 without documents
	section  int    // index in the document's sections, -1 for the whole document
	path     string // section as labelled, for matching without documents
	whole    corpus.Span
	evidence corpus.Span // the quote, else whole
	grade    int
}

// topic is a question ready for scoring.
type topic struct {
	q      *golden.Question
	groups [][]place
	nonrel []place // labelled grade 0
	ideal  []int
	byDoc  bool // all gold is whole documents: sections are folded to documents
}

// library finds documents by id.
type library struct {
	docs []corpus.Document
	at   map[corpus.DocumentID]int
}

func newLibrary(docs *corpus.Collection) *library {
	if docs == nil {
		return nil
	}
	l := &library{docs.Documents, make(map[corpus.DocumentID]int, len(docs.Documents))}
	for i := range docs.Documents {
		l.at[docs.Documents[i].ID] = i
	}
	return l
}

// trimmed returns the span without blank space at its ends; an all-blank one becomes empty.
func trimmed(text string, s corpus.Span) corpus.Span {
	for s.Start < s.End {
		r, n := utf8.DecodeRuneInString(text[s.Start:s.End])
		if !unicode.IsSpace(r) {
			break
		}
		s.Start += n
	}
	for s.Start < s.End {
		r, n := utf8.DecodeLastRuneInString(text[s.Start:s.End])
		if !unicode.IsSpace(r) {
			break
		}
		s.End -= n
	}
	return s
}

// newTopic finds a question's gold. Under rule facts a question without facts has nothing to be
// judged by: it has no groups, so its values are n/a.
func newTopic(lib *library, q *golden.Question, rule string) (*topic, error) {
	t := &topic{q: q, byDoc: len(q.Gold) > 0}
	var errs []error
	gold := q.Gold
	if rule == RuleFacts && len(q.Facts) == 0 {
		gold = nil
	}
	for _, g := range gold {
		group := make([]place, 0, len(g))
		for _, m := range g {
			p, err := newPlace(lib, m)
			if err != nil {
				errs = append(errs, fmt.Errorf("question %s: gold %s: %w", q.ID, m, err))
			}
			group = append(group, p)
			t.byDoc = t.byDoc && m.Section == nil
		}
		t.groups = append(t.groups, group)
		t.ideal = append(t.ideal, max(g.Grade(), 1))
	}
	for _, l := range q.Labels {
		if l.Doc == "" || l.Grade > 0 {
			continue
		}
		m := golden.Member{Doc: l.Doc, Section: l.Section}
		p, err := newPlace(lib, m)
		if err != nil {
			errs = append(errs, fmt.Errorf("question %s: label %s: %w", q.ID, m, err))
		}
		t.nonrel = append(t.nonrel, p)
	}
	return t, errors.Join(errs...)
}

func newPlace(lib *library, m golden.Member) (place, error) {
	p := place{doc: m.Doc, docAt: -1, section: -1, grade: max(m.Grade, 1)}
	if m.Section != nil {
		p.section, p.path = 0, *m.Section
	}
	if lib == nil {
		return p, nil
	}
	at, ok := lib.at[m.Doc]
	if !ok {
		return p, errors.New("the corpus has no such document: run `assay golden lint`")
	}
	d := &lib.docs[at]
	p.docAt, p.whole = at, corpus.Span{Start: d.Body, End: len(d.Text)}
	if m.Section != nil {
		i, err := d.Resolve(*m.Section)
		if err != nil {
			return p, err
		}
		p.section, p.whole = i, d.Sections[i].Span
	}
	p.whole = trimmed(d.Text, p.whole)
	p.evidence = p.whole
	if m.Quote != "" {
		span, ok := corpus.FindQuote(d, p.section, m.Quote)
		if !ok {
			return p, fmt.Errorf("the document does not hold the quote %q: run `assay golden lint`", m.Quote)
		}
		p.evidence = span
	}
	return p, nil
}

// slot is a hit with what the documents say about it.
type slot struct {
	hit     *Hit
	docAt   int
	section int // in force at the start of the chunk
	span    corpus.Span
}

// locate checks a hit against the documents.
func (l *library) locate(h *Hit) (slot, error) {
	s := slot{hit: h, docAt: -1, span: h.Span}
	if l == nil {
		return s, nil
	}
	at, ok := l.at[h.Doc]
	if !ok {
		return s, fmt.Errorf("unknown document %q", h.Doc)
	}
	d := &l.docs[at]
	s.docAt = at
	if h.DocVersion != "" && h.DocVersion != d.Version {
		return s, fmt.Errorf("document %s has version %.12s, the run saw %.12s: score against the documents of the build", h.Doc, d.Version, h.DocVersion)
	}
	if s.span.Len() == 0 {
		// A system without spans answers with sections.
		i, err := d.Resolve(h.Section)
		if err != nil {
			return s, err
		}
		s.section, s.span = i, d.Sections[i].Span
		return s, nil
	}
	if s.span.Start < 0 || s.span.End > len(d.Text) {
		return s, fmt.Errorf("span %d-%d is outside %s, which has %d bytes", s.span.Start, s.span.End, h.Doc, len(d.Text))
	}
	s.section = d.SectionAt(s.span.Start)
	return s, nil
}

// judge decides relevance under one rule.
type judge struct {
	rule string
	lib  *library
}

// relevant reports whether the slot is relevant to the place, and whether it matched by
// standing below the gold section.
func (j judge) relevant(s *slot, p *place, t *topic) (ok, below bool) {
	if s.hit.Doc != p.doc {
		return false, false
	}
	switch j.rule {
	case RuleFacts:
		return j.holdsFacts(s, t.q), false
	case RuleSpan:
		overlap := s.span.Overlap(p.evidence)
		return overlap > 0 && 2*overlap >= min(s.span.Len(), p.evidence.Len()), false
	}
	if p.section < 0 {
		return true, false
	}
	if j.lib == nil {
		return matchPaths(s.hit, p.path)
	}
	sections := j.lib.docs[s.docAt].Sections
	for i := s.section; i >= 0; i = sections[i].Parent {
		if i == p.section {
			return true, i != s.section
		}
	}
	return p.whole.Len() > 0 && s.span.Contains(p.whole), false
}

// matchPaths is rule section without documents: by the paths the run carries.
func matchPaths(h *Hit, path string) (ok, below bool) {
	if h.Section == path {
		return true, false
	}
	if path != "" && strings.HasPrefix(h.Section, path+" > ") {
		return true, true
	}
	for _, s := range h.Sections {
		if s == path {
			return true, false
		}
	}
	return false, false
}

func (j judge) holdsFacts(s *slot, q *golden.Question) bool {
	text := s.hit.Text
	if text == "" && j.lib != nil {
		text = j.lib.docs[s.docAt].Text[s.span.Start:s.span.End]
	}
	for _, f := range q.Facts {
		if !f.In(text) {
			return false
		}
	}
	return len(q.Facts) > 0
}

// finite reports whether v can be ordered and printed.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
