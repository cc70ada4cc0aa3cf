package golden

import (
	"cmp"
	"maps"
	"slices"

	"github.com/seed792a4543/assay/corpus"
)

// Stats describes a set.
type Stats struct {
	Name         string       `json:"name"`
	Version      int          `json:"version"`
	Digest       string       `json:"digest"`
	Questions    int          `json:"questions"` // all states
	Accepted     int          `json:"accepted"`
	Draft        int          `json:"draft"`
	Retired      int          `json:"retired"`
	Answerable   int          `json:"answerable"` // of the accepted, as all below
	Unanswerable int          `json:"unanswerable"`
	Critical     int          `json:"critical"`
	WithFacts    int          `json:"with_facts"`
	WithQuote    int          `json:"with_quote"`  // every gold group has a member with a quote
	SeveralAll   int          `json:"several_all"` // more than one gold group
	Splits       []Count      `json:"splits"`      // by name
	Slices       []SliceCount `json:"slices"`      // by name
	// Overlap is the mean share of a question's words that its gold holds; with quotes, that
	// its quotes hold. Counted over the questions that have it; n/a (false) without documents.
	Overlap        float64     `json:"overlap"`
	OverlapOK      bool        `json:"overlap_ok"`
	QuoteOverlap   float64     `json:"quote_overlap"`
	QuoteOverlapOK bool        `json:"quote_overlap_ok"`
	Agreement      []Agreement `json:"agreement,omitempty"`
}

// Count is a number of questions under a name.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// SliceCount is the number of questions with one tag.
type SliceCount struct {
	Name         string `json:"name"`
	N            int    `json:"n"`
	Unanswerable int    `json:"unanswerable"`
	Holdout      int    `json:"holdout"`
}

// Describe counts what the set holds. docs may be nil, which leaves Overlap out; gold that the
// documents lack is passed over.
func Describe(set *Set, docs *corpus.Collection) *Stats {
	s := &Stats{Name: set.Name, Version: set.Version, Digest: set.Digest(), Questions: len(set.Questions), Agreement: Kappa(set)}
	splits, tags := map[string]int{Dev: 0, Holdout: 0}, map[string]*SliceCount{}
	overlap, quoted := mean{}, mean{}
	for i := range set.Questions {
		switch set.Questions[i].State {
		case Draft:
			s.Draft++
		case Retired:
			s.Retired++
		}
	}
	for _, q := range set.Select(All) {
		s.Accepted++
		splits[q.side()]++
		for _, tag := range q.Slice {
			c := tags[tag]
			if c == nil {
				c = &SliceCount{Name: tag}
				tags[tag] = c
			}
			c.N++
			c.Unanswerable += oneIf(!q.Answerable)
			c.Holdout += oneIf(q.side() == Holdout)
		}
		s.Answerable += oneIf(q.Answerable)
		s.Unanswerable += oneIf(!q.Answerable)
		s.Critical += oneIf(q.Critical)
		s.WithFacts += oneIf(len(q.Facts) > 0)
		s.SeveralAll += oneIf(len(q.Gold) > 1)
		quotes := goldQuotes(q)
		s.WithQuote += oneIf(quotes != "")
		if quotes != "" {
			quoted.add(WordOverlap(q.Question, quotes))
		}
		if docs != nil {
			if text := goldText(q, docs); text != "" {
				overlap.add(WordOverlap(q.Question, text))
			}
		}
	}
	s.Overlap, s.OverlapOK = overlap.value()
	s.QuoteOverlap, s.QuoteOverlapOK = quoted.value()
	for _, name := range slices.Sorted(maps.Keys(splits)) {
		s.Splits = append(s.Splits, Count{name, splits[name]})
	}
	for _, c := range tags {
		s.Slices = append(s.Slices, *c)
	}
	slices.SortFunc(s.Slices, func(a, b SliceCount) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum += v; m.n++ }

func (m *mean) value() (float64, bool) {
	if m.n == 0 {
		return 0, false
	}
	return m.sum / float64(m.n), true
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// goldQuotes joins the quotes of a question if every group has one, else returns "".
func goldQuotes(q *Question) string {
	all := ""
	for _, g := range q.Gold {
		found := false
		for _, m := range g {
			if m.Quote != "" {
				found = true
				all += m.Quote + "\n"
			}
		}
		if !found {
			return ""
		}
	}
	return all
}

func goldText(q *Question, docs *corpus.Collection) string {
	all := ""
	for _, g := range q.Gold {
		for _, m := range g {
			if text, ok := memberText(docs, m); ok {
				all += text + "\n"
			}
		}
	}
	return all
}
