package dense

import (
	"slices"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/rank"
)

func compare(a, b index.Candidate) int {
	return rank.CompareOrdinals(a.Score, a.Ord, b.Score, b.Ord)
}

// topK keeps the k first of the candidates added to it, in the total order.
type topK struct {
	k int
	h []index.Candidate // a heap with the last of them at its root
}

func (t *topK) reset(k int) { t.k, t.h = k, t.h[:0] }

// full reports whether k candidates are held; floor is meaningful then.
func (t *topK) full() bool { return len(t.h) >= t.k }

// floor returns the score of the last candidate held: one with less cannot enter.
func (t *topK) floor() float64 { return t.h[0].Score }

func (t *topK) add(c index.Candidate) {
	if !t.full() {
		t.h = append(t.h, c)
		for i := len(t.h) - 1; i > 0; {
			p := (i - 1) / 2
			if compare(t.h[i], t.h[p]) <= 0 {
				return
			}
			t.h[i], t.h[p] = t.h[p], t.h[i]
			i = p
		}
		return
	}
	if compare(c, t.h[0]) >= 0 {
		return
	}
	t.h[0] = c
	for i := 0; ; {
		m := 2*i + 1
		if m >= len(t.h) {
			return
		}
		if m+1 < len(t.h) && compare(t.h[m+1], t.h[m]) > 0 {
			m++
		}
		if compare(t.h[m], t.h[i]) <= 0 {
			return
		}
		t.h[i], t.h[m] = t.h[m], t.h[i]
		i = m
	}
}

// list returns what is held in order, in a slice of its own that is not nil.
func (t *topK) list() []index.Candidate {
	l := append(make([]index.Candidate, 0, len(t.h)), t.h...)
	slices.SortFunc(l, compare)
	return l
}
