package lexical

import (
	"context"
	"fmt"

	"github.com/seed792a4543/assay/index"
)

// Part is what one term of a query adds to the score of a chunk.
type Part struct {
	Term   string  `json:"term"`
	Times  int     `json:"times"`  // in the query
	Chunks int     `json:"chunks"` // that hold the term, by the statistics in force
	Freq   int     `json:"freq"`   // in the chunk, weighted by field; 0: not there
	IDF    float64 `json:"idf"`
	Score  float64 `json:"score"`
}

// Explain returns the parts of a chunk's score, one for each distinct term of the query that the
// index holds, in the order of the query. Added in that order they are the score that SearchText
// gives with the same filter. A chunk the filter does not admit, or that is not in the index, is
// an error that does not tell the two apart.
func (x *Index) Explain(ctx context.Context, query string, ord uint32, filter *index.Filter) ([]Part, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, index.ErrClosed
	}
	if int(ord) >= x.stats.Chunks || !filter.Has(ord) {
		return nil, fmt.Errorf("lexical explain: chunk %d is not in the index", ord)
	}
	s := x.scratch.Get().(*search)
	defer s.release()
	s.begin(x, query, 1, filter)
	parts := make([]Part, len(s.lists))
	for i := range s.lists {
		l := &s.lists[i]
		freq := l.seek(x, ord)
		parts[i] = Part{
			Term: string(x.p.term(l.term)), Times: int(l.times), Chunks: l.df, Freq: int(freq), IDF: l.idf,
		}
		if freq > 0 {
			parts[i].Score = s.m.score(l.idf, l.times, freq, s.norms[ord])
		}
	}
	return parts, nil
}

// Holds reports whether a chunk that the filter admits holds the term, given as Terms returns
// it. It reads postings up to the first such chunk.
func (x *Index) Holds(term string, filter *index.Filter) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return false
	}
	i := x.p.find(term)
	if i < 0 {
		return false
	}
	from := uint64(0)
	if i > 0 {
		from = x.p.postEnds[i-1]
	}
	for _, ord := range x.p.docs[from:x.p.postEnds[i]] {
		if filter.Has(ord) {
			return true
		}
	}
	return false
}

// IDF returns the inverse document frequency of a term as Terms gives it, by the formula and the
// global statistics of the score: ln(1 + (N − df + 0.5) / (df + 0.5)), greater than 0. A term that
// no chunk holds has the highest value. A closed index returns 0.
func (x *Index) IDF(term string) float64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return 0
	}
	df := 0
	if i := x.p.find(term); i >= 0 {
		df = int(x.p.postEnds[i])
		if i > 0 {
			df -= int(x.p.postEnds[i-1])
		}
	}
	return x.m.idf(df)
}
