package evalkit

import (
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/measure"
)

// builder turns ranked slots into evidence. It keeps its tables between questions; one
// goroutine uses it.
type builder struct {
	judge
	view  string
	chars []int // cutoffs of the span measures, ascending
	seen  map[sectionKey]bool
	keys  map[string]bool // members of the gold that a slot was relevant to
	key   []byte
	first []int // rank at which each group was found
	spans []docSpan
	slots []slot
}

type sectionKey struct {
	doc     corpus.DocumentID
	section string
	at      int
}

func (b *builder) sectionKey(s *slot) sectionKey {
	if b.lib == nil {
		return sectionKey{doc: s.hit.Doc, section: s.hit.Section}
	}
	return sectionKey{doc: s.hit.Doc, at: s.section}
}

func newBuilder(j judge, view string, chars []int) *builder {
	return &builder{judge: j, view: view, chars: chars, seen: map[sectionKey]bool{}, keys: map[string]bool{}}
}

// fold collapses the slots to the first occurrence of each section. A slot that is relevant
// stands for the gold it satisfies, so that two sections below one gold section count once;
// any other stands for its own section, or for its document if all gold of the question is
// whole documents.
func (b *builder) fold(t *topic, slots []slot) []slot {
	clear(b.keys)
	clear(b.seen)
	out := b.slots[:0]
	for i := range slots {
		s := &slots[i]
		b.key = b.key[:0]
		n := 0
		for _, g := range t.groups {
			for k := range g {
				if ok, _ := b.relevant(s, &g[k], t); ok {
					b.key = append(b.key, 'g', byte(n), byte(n>>8), byte(n>>16))
				}
				n++
			}
		}
		if len(b.key) == 0 {
			key := sectionKey{doc: s.hit.Doc}
			if !t.byDoc {
				key = b.sectionKey(s)
			}
			if b.seen[key] {
				continue
			}
			b.seen[key] = true
		} else {
			if b.keys[string(b.key)] {
				continue
			}
			b.keys[string(b.key)] = true
		}
		out = append(out, *s)
	}
	b.slots = out
	return out
}

// build returns the evidence of one ranked list. below tells whether the first relevant slot
// matched by standing below the gold section.
func (b *builder) build(t *topic, slots []slot) (e measure.Evidence, below bool) {
	if b.view == ViewSections {
		slots = b.fold(t, slots)
	}
	e.Returned = len(slots)
	e.Ideal = slices.Clone(t.ideal)
	e.NonrelTotal = len(t.nonrel)
	b.first = slices.Grow(b.first[:0], len(t.groups))[:len(t.groups)]
	clear(b.first)
	clear(b.seen)
	for i := range slots {
		s := &slots[i]
		rank := i + 1
		grade, under := 0, false
		for g := range t.groups {
			gain := 0
			for k := range t.groups[g] {
				p := &t.groups[g][k]
				if ok, down := b.relevant(s, p, t); ok && p.grade > gain {
					gain = p.grade
					under = under || down
				}
			}
			if gain > 0 && b.first[g] == 0 {
				b.first[g] = rank
				e.Found = append(e.Found, measure.Found{Group: g, Rank: rank, Gain: gain})
			}
			grade = max(grade, gain)
		}
		switch {
		case grade > 0:
			if len(e.Relevant) == 0 {
				below = under
			}
			e.Relevant = append(e.Relevant, rank)
			e.Grades = append(e.Grades, grade)
		case b.judgedNonrel(s, t):
			e.Nonrel = append(e.Nonrel, rank)
		}
		key := b.sectionKey(s)
		if b.seen[key] {
			e.Dup = append(e.Dup, rank)
		}
		b.seen[key] = true
	}
	// Several chunks of one place labelled 0 are several slots but one judgment.
	e.NonrelTotal = max(e.NonrelTotal, len(e.Nonrel))
	if b.lib != nil && len(t.groups) > 0 {
		for _, k := range b.chars {
			e.Chars = append(e.Chars, b.countChars(t, slots[:min(k, len(slots))], k))
		}
	}
	e.Sort()
	return e, below
}

func (b *builder) judgedNonrel(s *slot, t *topic) bool {
	for k := range t.nonrel {
		if ok, _ := (judge{ruleFor(b.rule), b.lib}).relevant(s, &t.nonrel[k], t); ok {
			return true
		}
	}
	return false
}

// ruleFor returns the rule that a judgment of grade 0 is matched by: it names a place, never a
// fact.
func ruleFor(rule string) string {
	if rule == RuleFacts {
		return RuleSection
	}
	return rule
}

type docSpan struct {
	doc  int
	span corpus.Span
}

// union sorts the spans and merges those that overlap or touch, in place.
func union(spans []docSpan) []docSpan {
	slices.SortFunc(spans, func(a, b docSpan) int {
		if a.doc != b.doc {
			return a.doc - b.doc
		}
		return a.span.Start - b.span.Start
	})
	out := spans[:0]
	for _, s := range spans {
		if s.span.Len() == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].doc == s.doc && s.span.Start <= out[n-1].span.End {
			out[n-1].span.End = max(out[n-1].span.End, s.span.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

func total(spans []docSpan) int {
	n := 0
	for _, s := range spans {
		n += s.span.Len()
	}
	return n
}

// shared returns the bytes that s has in common with the merged spans.
func shared(spans []docSpan, s docSpan) int {
	n := 0
	for _, o := range spans {
		if o.doc == s.doc {
			n += o.span.Overlap(s.span)
		}
	}
	return n
}

// countChars counts delivered bytes, bytes of evidence and what they share. Of the members of
// an OR group the one whose evidence is covered best counts, the first among equals.
func (b *builder) countChars(t *topic, slots []slot, cutoff int) measure.Chars {
	b.spans = b.spans[:0]
	for i := range slots {
		b.spans = append(b.spans, docSpan{slots[i].docAt, slots[i].span})
	}
	delivered := union(b.spans)
	gold := make([]docSpan, 0, len(t.groups))
	for _, g := range t.groups {
		best, bestNum, bestDen := docSpan{doc: -1}, -1, 1
		for k := range g {
			s := docSpan{g[k].docAt, g[k].evidence}
			num, den := shared(delivered, s), max(s.span.Len(), 1)
			if num*bestDen > bestNum*den {
				best, bestNum, bestDen = s, num, den
			}
		}
		gold = append(gold, best)
	}
	gold = union(gold)
	c := measure.Chars{Cutoff: cutoff, Gold: total(gold), Delivered: total(delivered)}
	for _, s := range gold {
		c.Inter += shared(delivered, s)
	}
	return c
}

// sectionName returns the path shown for a slot.
func (l *library) sectionName(s *slot) string {
	if l == nil || s.hit.Section != "" {
		return s.hit.Section
	}
	return strings.TrimSpace(corpus.FormatPath(l.docs[s.docAt].Sections[s.section].Path))
}
