package measure

import (
	"cmp"
	"slices"
)

func sortDescending(v []int) { slices.SortFunc(v, func(a, b int) int { return cmp.Compare(b, a) }) }

// paidGroup says that a gold group earned gain at position pos.
type paidGroup struct{ pos, gain int }

// pay assigns the groups found to positions, one group to a position. A group earns at the
// first slot that satisfies it. A slot that satisfies several earns the most valuable at its
// own position and the others at the next positions that earn nothing themselves, best first:
// the reader has them by then, and no position earns more than the best single group, which
// keeps ap and ndcg within [0,1]. Groups of a grade below rel do not count.
func (s *Scorer) pay(e *Evidence, rel int) []paidGroup {
	s.paid, s.pending = s.paid[:0], s.pending[:0]
	pos := 0 // last position paid
	drain := func(before int) {
		for len(s.pending) > 0 && pos+1 < before {
			pos++
			s.paid = append(s.paid, paidGroup{pos, s.pop()})
		}
	}
	for i := 0; i < len(e.Found); {
		rank := e.Found[i].Rank
		drain(rank)
		for ; i < len(e.Found) && e.Found[i].Rank == rank; i++ {
			if g := e.Found[i].Gain; rel <= 1 || g >= rel {
				s.pending = append(s.pending, g)
			}
		}
		if len(s.pending) > 0 {
			pos = rank
			s.paid = append(s.paid, paidGroup{pos, s.pop()})
		}
	}
	drain(int(^uint(0) >> 1))
	return s.paid
}

// pop removes the largest gain pending. Few are: those of one slot that holds several groups.
func (s *Scorer) pop() int {
	best := 0
	for i, g := range s.pending {
		if g > s.pending[best] {
			best = i
		}
	}
	g := s.pending[best]
	s.pending = slices.Delete(s.pending, best, best+1)
	return g
}
