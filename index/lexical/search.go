package lexical

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/rank"
)

// window is how many consecutive chunks are scored at a time; a multiple of 64.
const window = 4096

// slack widens the threshold, because partial sums are added in another order than final scores.
// Float64 addition of n terms errs by less than n·2⁻⁵³ of the sum; queries are shorter than 10⁶
// terms.
const slack = 1 - 1e-9

// list is one query term with its postings.
type list struct {
	term, df   int // number in the dictionary, chunks that hold it
	idf, times float64
	weight     float64 // idf · times · (k1 + 1): times a posting's impact, its part of the score
	most       float64 // weight, raised where the blocks' bounds were made for other lengths

	first   uint64 // number of the first posting, for large frequencies
	docs    []uint32
	freqs   []byte
	blkDocs []uint32
	blkMax  []float32
	bits    []uint64 // of a common term, else nil
	ranks   []uint32

	// blk is the first block that may hold chunks not yet passed.
	blk int
	// Within the current window: the block after the last one that overlaps it, and the most that
	// any posting of it can add.
	blkEnd int
	bound  float64
}

// scored is a candidate; the score is a sum in any order until rescored.
type scored struct {
	ord   uint32
	score float64
}

// search is the reusable state of one query.
type search struct {
	x      *Index
	filter *index.Filter
	k      int
	m      model
	norms  []float64 // m.norm of each chunk

	own   []float64 // norms of the filter's own model, kept for reuse
	raise float64   // list.most / list.weight

	lists []list
	order []int // of lists, by bound in the current window, ascending

	acc   [window]float64
	dirty [window / 64]uint64
	live  [window + 1]scored // chunks of the window that can still get in

	top       []scored // candidates, not ordered
	threshold float64  // no chunk below it can be among the first k
	full      int      // size of top at which it is thinned out
}

// SearchText returns the min(k, matching) best chunks by BM25 that the filter admits, ordered by
// score descending, then ordinal descending, also at the cut. Each word of the query is searched
// as it is: nothing in it is syntax. A query without terms, or with none that the index holds,
// returns an empty list and no error; OnlyStopwords says why. k < 1 is an error. A cancelled
// context returns its error. The slice is the caller's.
func (x *Index) SearchText(ctx context.Context, query string, k int, filter *index.Filter) ([]index.Candidate, error) {
	if k < 1 {
		return nil, fmt.Errorf("lexical search: k is %d: ask for 1 or more hits", k)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, index.ErrClosed
	}
	s := x.scratch.Get().(*search)
	defer s.release()
	s.begin(x, query, k, filter)
	if len(s.lists) == 0 {
		return []index.Candidate{}, nil
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// begin sets the state up for one query.
func (s *search) begin(x *Index, query string, k int, filter *index.Filter) {
	s.x, s.filter, s.k = x, filter, min(k, max(x.stats.Chunks, 1))
	s.m, s.norms, s.raise = x.m, x.norms, 1
	perLabel := filter != nil && x.stats.Settings.Statistics == statisticsPerLabel
	if perLabel {
		s.admittedModel()
	}
	s.parse(query, perLabel)
}

// release gives the state back, without what it refers to. acc and dirty are zero again.
func (s *search) release() {
	x := s.x
	clear(s.lists)
	s.norms = nil
	s.x, s.filter, s.lists, s.order, s.top = nil, nil, s.lists[:0], s.order[:0], s.top[:0]
	x.scratch.Put(s)
}

// parse sets the lists: the distinct terms of the query that the index holds, in the order of
// their first occurrence.
func (s *search) parse(query string, perLabel bool) {
	x := s.x
	terms := x.analyzer.QueryTerms(query)
	// Equal terms are found through the order by number, not in pairs: queries can be long.
	type known struct{ term, first, times int }
	found := make([]known, 0, len(terms))
	for i, t := range terms {
		if n := x.p.find(t); n >= 0 {
			found = append(found, known{n, i, 1})
		}
	}
	slices.SortFunc(found, func(a, b known) int {
		if a.term != b.term {
			return a.term - b.term
		}
		return a.first - b.first
	})
	n := 0
	for i := range found {
		if n > 0 && found[n-1].term == found[i].term {
			found[n-1].times++
			continue
		}
		found[n] = found[i]
		n++
	}
	found = found[:n]
	slices.SortFunc(found, func(a, b known) int { return a.first - b.first })
	for _, f := range found {
		var from uint64
		var blk uint32
		if f.term > 0 {
			from, blk = x.p.postEnds[f.term-1], x.p.blkEnds[f.term-1]
		}
		to, blkTo := x.p.postEnds[f.term], x.p.blkEnds[f.term]
		df := int(to - from)
		if perLabel {
			df = 0
			for _, ord := range x.p.docs[from:to] {
				if s.filter.Has(ord) {
					df++
				}
			}
			if df == 0 {
				continue
			}
		}
		idf := s.m.idf(df)
		weight := idf * float64(f.times) * (s.m.k1 + 1)
		has, ranks := x.p.commonBits(f.term)
		s.lists = append(s.lists, list{
			term: f.term, df: df, bits: has, ranks: ranks,
			idf: idf, times: float64(f.times), weight: weight, most: weight * s.raise,
			first: from, docs: x.p.docs[from:to], freqs: x.p.freqs[from:to],
			blkDocs: x.p.blkDocs[blk:blkTo], blkMax: x.p.blkMax[blk:blkTo],
		})
		s.order = append(s.order, len(s.order))
	}
	s.threshold = 0
	s.full = max(2*s.k, 64)
}

// admittedModel sets the model to the statistics of the chunks that the filter admits.
//
// The bounds of the blocks hold for the build's average A. With another average A' a chunk's norm
// is at least c times the old one, c = min(1, A/A'), and tf/(tf + c·norm) ≤ 1/c · tf/(tf + norm),
// so that the bounds hold again when raised by 1/c.
func (s *search) admittedModel() {
	x := s.x
	n, total := 0, int64(0)
	for i, length := range x.p.lengths {
		if s.filter.Has(uint32(i)) {
			n++
			total += int64(length)
		}
	}
	s.m.chunks, s.m.average = float64(n), 0
	if n > 0 {
		s.m.average = float64(total) / float64(n)
	}
	if x.m.average > 0 {
		s.raise = max(1, s.m.average/x.m.average) * (1 + 1e-12)
	}
	s.own = slices.Grow(s.own[:0], len(x.p.lengths))[:len(x.p.lengths)]
	for i, length := range x.p.lengths {
		s.own[i] = s.m.norm(length)
	}
	s.norms = s.own
}

// run walks the chunks window by window. In a window it splits the terms in two: the ones with
// the smallest bounds, which together cannot lift a chunk over the threshold, are only looked up
// for chunks that the other ones found (MaxScore: Turtle & Flood 1995; block bounds: Ding & Suel,
// SIGIR 2011). A window or block whose bound stays below the threshold is skipped.
func (s *search) run(ctx context.Context) error {
	chunks := len(s.norms)
	for base, n := 0, 0; base < chunks; base, n = base+window, n+1 {
		if n%16 == 15 && ctx.Err() != nil {
			return ctx.Err()
		}
		size := min(window, chunks-base)
		if s.filter != nil && !s.admitsAny(base) {
			continue
		}
		total := 0.0
		for i := range s.lists {
			total += s.lists[i].enter(uint32(base), uint32(base+size))
		}
		if total <= 0 || total < s.threshold {
			continue
		}
		s.sortOrder()
		rest, optional := 0.0, 0
		for optional < len(s.order) {
			b := s.lists[s.order[optional]].bound
			if rest+b >= s.threshold {
				break
			}
			rest += b
			optional++
		}
		for _, i := range s.order[optional:] {
			l := &s.lists[i]
			s.accumulate(l, base, size, total-l.bound)
		}
		s.collect(base, s.order[:optional], rest)
	}
	return nil
}

// admitsAny reports whether the filter admits a chunk of the window.
func (s *search) admitsAny(base int) bool {
	w := s.filter.Bits
	lo := min(base/64, len(w))
	for _, bits := range w[lo:min(lo+window/64, len(w))] {
		if bits != 0 {
			return true
		}
	}
	return false
}

// enter sets the list's range and bound for the window [base, end) and returns the bound.
func (l *list) enter(base, end uint32) float64 {
	for l.blk < len(l.blkDocs) && l.blkDocs[l.blk] < base {
		l.blk++
	}
	most := float32(0)
	e := l.blk
	for e < len(l.blkDocs) && l.blkDocs[e] < end {
		most = max(most, l.blkMax[e])
		e++
	}
	// The next block reaches beyond the window; it may begin inside.
	if e < len(l.blkDocs) && l.docs[e*blockSize] < end {
		most = max(most, l.blkMax[e])
		e++
	}
	l.blkEnd, l.bound = e, l.most*float64(most)
	return l.bound
}

func (s *search) sortOrder() {
	if len(s.order) > 32 {
		slices.SortFunc(s.order, func(a, b int) int {
			switch x, y := s.lists[a].bound, s.lists[b].bound; {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return a - b
		})
		return
	}
	for i := 1; i < len(s.order); i++ {
		o := s.order[i]
		j := i
		for j > 0 && s.lists[s.order[j-1]].bound > s.lists[o].bound {
			s.order[j] = s.order[j-1]
			j--
		}
		s.order[j] = o
	}
}

// accumulate adds the list's part of the scores of the window's chunks. others is the most that
// all other lists can add to any of them.
func (s *search) accumulate(l *list, base, size int, others float64) {
	norms := s.norms[base : base+size]
	for b := l.blk; b < l.blkEnd; b++ {
		if l.most*float64(l.blkMax[b])+others < s.threshold {
			continue // none of its chunks can get in, whatever they have been given
		}
		lo, hi := b*blockSize, min((b+1)*blockSize, len(l.docs))
		docs, freqs := l.docs[lo:hi], l.freqs[lo:hi]
		i := 0
		if docs[0] < uint32(base) {
			i = sort.Search(len(docs), func(i int) bool { return docs[i] >= uint32(base) })
		}
		freqs = freqs[:len(docs)]
		for ; i < len(docs); i++ {
			o := int(docs[i]) - base
			if uint(o) >= uint(len(norms)) {
				break
			}
			f := uint32(freqs[i])
			if f == 0 {
				f = s.x.p.largeFreq(l.first + uint64(lo+i))
			}
			tf := float64(f)
			s.acc[o] += l.weight * tf / (tf + norms[o])
			s.dirty[o>>6] |= 1 << (o & 63)
		}
	}
}

// collect takes the chunks that were given a score, looks up what the optional lists add, and
// keeps those that reach the threshold. It goes list by list, not chunk by chunk: the look-ups of
// one list do not wait for each other.
func (s *search) collect(base int, optional []int, rest float64) {
	n := 0
	for w := range s.dirty {
		m := s.dirty[w]
		if m == 0 {
			continue
		}
		s.dirty[w] = 0
		if s.filter != nil {
			admitted := uint64(0)
			if i := base/64 + w; i < len(s.filter.Bits) {
				admitted = s.filter.Bits[i]
			}
			for hidden := m &^ admitted; hidden != 0; hidden &= hidden - 1 {
				s.acc[w<<6+bits.TrailingZeros64(hidden)] = 0
			}
			m &= admitted
		}
		for ; m != 0; m &= m - 1 {
			o := w<<6 + bits.TrailingZeros64(m)
			score := s.acc[o]
			s.acc[o] = 0
			s.live[n] = scored{uint32(base + o), score}
			if score+rest >= s.threshold {
				n++
			}
		}
	}
	for j := len(optional) - 1; j >= 0 && n > 0; j-- {
		l := &s.lists[optional[j]]
		rest -= l.bound
		live := s.live[:n]
		n = 0
		for _, c := range live {
			if f := l.seek(s.x, c.ord); f > 0 {
				tf := float64(f)
				c.score += l.weight * tf / (tf + s.norms[c.ord])
			}
			s.live[n] = c
			if c.score+rest >= s.threshold {
				n++
			}
		}
	}
	for _, c := range s.live[:n] {
		if c.score >= s.threshold {
			s.keep(c.ord, c.score)
		}
	}
}

// seek returns the frequency of the list's term in chunk ord, 0 if it is not there. Successive
// calls must ask for ascending chunks.
func (l *list) seek(x *Index, ord uint32) uint32 {
	var at int
	if l.bits != nil {
		word, bit := l.bits[ord>>6], uint64(1)<<(ord&63)
		if word&bit == 0 {
			return 0
		}
		at = int(l.ranks[ord>>6]) + bits.OnesCount64(word&(bit-1))
		if at >= len(l.freqs) { // only in a damaged file
			return 0
		}
	} else {
		for l.blk < len(l.blkDocs) && l.blkDocs[l.blk] < ord {
			l.blk++
		}
		if l.blk == len(l.blkDocs) {
			return 0
		}
		lo := l.blk * blockSize
		docs := l.docs[lo:min(lo+blockSize, len(l.docs))]
		// The block's last chunk is ord or after it. No branch depends on what is compared.
		first := 0
		for n := len(docs); n > 1; {
			half := n >> 1
			if docs[first+half-1] < ord {
				first += half
			}
			n -= half
		}
		if docs[first] != ord {
			return 0
		}
		at = lo + first
	}
	if f := l.freqs[at]; f != 0 {
		return uint32(f)
	}
	return x.p.largeFreq(l.first + uint64(at))
}

// keep adds a candidate and, every so often, raises the threshold to what the k-th has.
func (s *search) keep(ord uint32, score float64) {
	s.top = append(s.top, scored{ord, score})
	if len(s.top) < s.full {
		return
	}
	s.thin()
	// Chunks tied with the k-th stay; where they are many, thin out less often.
	if len(s.top) > s.full/2 {
		s.full = 2 * len(s.top)
	}
}

// thin raises the threshold to the k-th candidate's score, less the slack, and drops the
// candidates below it.
func (s *search) thin() {
	if len(s.top) <= s.k {
		return
	}
	partition(s.top, s.k)
	least := s.top[0].score
	for _, c := range s.top[1:s.k] {
		least = min(least, c.score)
	}
	s.threshold = max(s.threshold, least*slack)
	s.top = slices.DeleteFunc(s.top, func(c scored) bool { return c.score < s.threshold })
}

// partition moves the k best scores to the front, in any order.
func partition(c []scored, k int) {
	lo, hi := 0, len(c)
	for hi-lo > 1 && k > lo && k < hi {
		// Median of three; the input is chunk order, which no caller can bend much.
		a, b, d := c[lo].score, c[(lo+hi)/2].score, c[hi-1].score
		pivot := max(min(a, b), min(max(a, b), d))
		// [lo, i) above, [i, j) equal, [j, hi) below.
		i, j, e := lo, lo, hi
		for j < e {
			switch v := c[j].score; {
			case v > pivot:
				c[i], c[j] = c[j], c[i]
				i++
				j++
			case v < pivot:
				e--
				c[j], c[e] = c[e], c[j]
			default:
				j++
			}
		}
		switch {
		case k <= i:
			hi = i
		case k >= j:
			lo = j
		default:
			return
		}
	}
}

// result rescores the candidates in the order of the query's terms, so that equal chunks get
// equal scores to the last bit, and returns the first k.
func (s *search) result() []index.Candidate {
	s.thin()
	slices.SortFunc(s.top, func(a, b scored) int { return int(a.ord) - int(b.ord) })
	for i := range s.lists {
		s.lists[i].blk = 0
	}
	for i := range s.top {
		c := &s.top[i]
		c.score = 0
		norm := s.norms[c.ord]
		for j := range s.lists {
			l := &s.lists[j]
			if f := l.seek(s.x, c.ord); f > 0 {
				c.score += s.m.score(l.idf, l.times, f, norm)
			}
		}
	}
	slices.SortFunc(s.top, func(a, b scored) int { return rank.CompareOrdinals(a.score, a.ord, b.score, b.ord) })
	out := make([]index.Candidate, min(s.k, len(s.top)))
	for i := range out {
		out[i] = index.Candidate{Ord: s.top[i].ord, Score: s.top[i].score}
	}
	return out
}
