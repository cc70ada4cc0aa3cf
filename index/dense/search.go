package dense

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seed792a4543/assay/index"
)

const (
	// Rows whose bytes fit in this many are scanned on one goroutine: starting another takes
	// about as long as half of them.
	parallelBytes = 4 << 20
	// One pass over the rows serves as many queries as have their integers fit in this.
	batchBytes = 64 << 20
	// Rows whose full scores are estimated at a time.
	nearPart = 256
)

var _ index.VectorSearcher = (*Index)(nil)

// SearchVector returns the min(k, admitted) rows most similar to query, in the total order;
// see index.VectorSearcher. Scores are cosines in [-1, 1] up to rounding. A query of another
// length than 1 is scaled to it; one with a value that is not finite, or with zeros only, is
// an error, as is k < 1; one of another dimension is index.ErrDimension. Approximate indexes
// may miss rows, see Options.
func (x *Index) SearchVector(ctx context.Context, query []float32, k int, filter *index.Filter) ([]index.Candidate, error) {
	lists, err := x.SearchVectors(ctx, [][]float32{query}, k, []*index.Filter{filter})
	if err != nil {
		return nil, err
	}
	return lists[0], nil
}

// SearchVectors returns one list per query, each as SearchVector gives it, in less time than
// as many calls: the queries share the passes over the rows. filters is nil, or holds one
// filter per query, each of which may be nil. On error no list is returned.
func (x *Index) SearchVectors(ctx context.Context, queries [][]float32, k int, filters []*index.Filter) ([][]index.Candidate, error) {
	if k < 1 {
		return nil, fmt.Errorf("search %s: k is %d: ask for at least 1", x.name, k)
	}
	if filters != nil && len(filters) != len(queries) {
		return nil, fmt.Errorf("search %s: %d filters for %d queries", x.name, len(filters), len(queries))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := x.acquire(); err != nil {
		return nil, err
	}
	defer x.release()

	s, _ := x.pool.Get().(*scratch)
	if s == nil {
		s = new(scratch)
	}
	defer x.pool.Put(s)
	batch := max(1, batchBytes/max(1, 4*x.layout.padded))
	lists := make([][]index.Candidate, 0, len(queries))
	for lo := 0; lo < len(queries); lo += batch {
		hi := min(lo+batch, len(queries))
		s.jobs = s.jobs[:0]
		for i, q := range queries[lo:hi] {
			var f *index.Filter
			if filters != nil {
				f = filters[lo+i]
			}
			if err := x.prepare(s.next(), q, k, f); err != nil {
				if len(queries) > 1 {
					err = fmt.Errorf("query %d: %w", lo+i, err)
				}
				return nil, fmt.Errorf("search %s: %w", x.name, err)
			}
		}
		if err := x.run(ctx, s); err != nil {
			return nil, err
		}
		for _, j := range s.jobs {
			lists = append(lists, j.best.list())
		}
	}
	return lists, nil
}

// roundoff is the largest relative error of one operation in float32.
const roundoff = 1.0 / (1 << 24)

// job is one query of a search.
type job struct {
	query    []float32
	k        int
	admitted int      // rows present and let through by the filter
	open     []uint64 // of these, the rows not yet scored
	left     []uint64 // of these, the ones that the signs leave
	best     topK

	// slack is the most by which a score may differ from the dot product it stands for.
	slack  float64
	direct bool // score all admitted rows, without the codes
	rough  bool // scan the sign plane
	bounds bounds
	coded  quantisedQuery
	coarse coarseQuery
	dots   []int32 // of every row with the plane that is scanned
	limit  float64 // a score that k admitted rows reach
	lanes  []lane  // one per worker

	guessed []uint32 // the rows with the best estimates

	z      []float64
	values []int8
	unit   []float32
}

// lane is what one worker has found for one query.
type lane struct {
	guess topK // the rows with the best estimates
	best  topK
	_     [64]byte // workers write to neighbours
}

// scratch is reused between calls.
type scratch struct {
	all     []*job
	jobs    []*job // of this pass, the first of all
	scan    []*job // of these, the ones that scan a plane
	workers []worker
}

func (s *scratch) next() *job {
	if len(s.jobs) == len(s.all) {
		s.all = append(s.all, new(job))
	}
	s.jobs = s.all[:len(s.jobs)+1]
	return s.jobs[len(s.jobs)-1]
}

type worker struct {
	mask []uint64 // of one chunk
	list []uint32
	dots []int32
	near []float32
}

// bounds holds what turns the integers of a scan into bounds on scores: see the package
// comment.
type bounds struct {
	base     float64 // q·m
	step     float64 // what 1 stands for in the coded query
	length   float64 // ‖q‖
	lost     float64 // ‖z-ẑ‖, rounded up
	sum      float64 // of the coded query's values
	slack    float64 // job.slack
	slack32  float64 // rounding errors of kernels.above
	err32    float32 // ‖q‖/step, rounded up
	centre32 float32 // what a dot product is compared with: 7.5·sum, of signs sum/2
	margin32 float32 // by how much an estimate from signs may fall short
}

// prepare readies j for the query.
func (x *Index) prepare(j *job, query []float32, k int, filter *index.Filter) error {
	if len(query) != x.header.dim {
		return fmt.Errorf("query vector of dimension %d, the index has %d: embed it with the build's embedder: %w",
			len(query), x.header.dim, index.ErrDimension)
	}
	length, reason := checkVector(query)
	if reason != "" {
		return fmt.Errorf("query vector: %s", reason)
	}
	j.unit = grow(j.unit, len(query))
	unit(j.unit, query, length)
	j.query, j.k = j.unit, k

	j.open = grow(j.open, len(x.presence))
	copy(j.open, x.presence)
	j.admitted = x.header.present
	if filter != nil {
		j.admitted = 0
		for i := range j.open {
			if i < len(filter.Bits) {
				j.open[i] &= filter.Bits[i]
			} else {
				j.open[i] = 0
			}
			j.admitted += bits.OnesCount64(j.open[i])
		}
	}
	j.best.reset(min(k, j.admitted))
	// A full score costs about as much as 128 rows of a scan; with few rows to choose from,
	// or most of them asked for, the scan cannot pay.
	j.direct = j.admitted <= 256 || j.admitted <= x.header.rows/128 || k > j.admitted/8
	// Rounding error of a sum of n products in float32, in any order: at most
	// n·u/(1-n·u)·Σ|q_i x_i| with u = roundoff (Higham, Accuracy and Stability of Numerical
	// Algorithms, 3.1), and the sum is at most ‖q‖ ‖x‖, which is 1 within unitTolerance. n·u is
	// below .001. The last term is for the float64 arithmetic here.
	j.slack = float64(x.header.dim)*roundoff*1.002 + 1e-9
	if j.direct {
		return nil
	}

	b := &j.bounds
	j.z = grow(j.z, x.header.dim)
	b.base, b.length = 0, 0
	for i, v := range j.query {
		j.z[i] = float64(v)
		b.base += float64(float64(v) * float64(x.mean[i]))
		b.length += float64(float64(v) * float64(v))
	}
	b.length = math.Sqrt(b.length) * (1 + 1e-12)
	x.rot.apply(j.z)
	top := largest(j.z)
	j.dots = grow(j.dots, x.layout.padded)
	if j.rough = x.opts.Approximate; j.rough {
		x.prepareCoarse(j, top)
	} else {
		x.prepareFine(j, top)
	}
	return nil
}

// largest returns the largest absolute value of z.
func largest(z []float64) (top float64) {
	for _, v := range z {
		top = max(top, math.Abs(v))
	}
	return top
}

// prepareFine readies j for the planes of 4 bits. top is the largest value of j.z.
func (x *Index) prepareFine(j *job, top float64) {
	b := &j.bounds
	b.step = top / 127
	var lost, sum, abs float64
	j.values = grow(j.values, x.header.dim)
	for i, v := range j.z {
		n := math.RoundToEven(v / b.step)
		j.values[i] = int8(min(max(n, -127), 127))
		e := v - float64(b.step*float64(j.values[i]))
		lost += float64(e * e)
		sum += float64(j.values[i])
		abs += math.Abs(float64(j.values[i]))
	}
	b.lost = math.Sqrt(lost)*(1+1e-12) + 2*rotationError
	b.sum = sum
	b.slack = j.slack
	// The operations of kernels.above, each off by at most u times its result: with
	// S = Σ|ẑ_i|/step and scale ≤ 1/4 the results are at most 15S, 7.5S, 7.5S, and scale times
	// 7.5S twice; with err ≤ 2 the second product is at most 2‖q‖/step, as is its share of the sum.
	b.slack32 = 1.01 * roundoff * (b.step*abs*0.2501*52.5 + 8*b.length)
	b.err32 = roundUp(b.length / b.step)
	b.centre32 = float32(7.5 * sum)
	j.coded.set(j.values, x.layout.groups)
}

// prepareCoarse readies j for the sign plane. The signs of y alone give the estimate
//
//	z·y ≈ ‖y‖²/‖y‖₁ · Σ z_i sign(y_i)
//
// which is right on average over rotations, with a standard deviation of
// ‖y‖²/‖y‖₁ · √(1-ρ²) for a query of length 1 and ρ = ‖y‖₁/(√d ‖y‖), about √(2/π): RaBitQ, Gao and
// Long, SIGMOD 2024. With the query at 4 bits, the sum is 2·step·(S - sum/2), where S is the
// integer of the scan.
func (x *Index) prepareCoarse(j *job, top float64) {
	b := &j.bounds
	b.step = top / 7
	b.sum = 0
	j.values = grow(j.values, x.header.dim)
	for i, v := range j.z {
		j.values[i] = int8(math.RoundToEven(v / b.step))
		b.sum += float64(j.values[i])
	}
	j.coarse.set(j.values, x.layout.words)
	b.centre32 = float32(b.sum / 2)
	b.margin32 = float32(coarseDeviations * 0.603 * b.length / (2 * b.step))
}

// coarseDeviations is how many standard deviations an estimate from signs may fall short by:
// 2.5 loses about 6 of 1,000 rows whose score is the lowest that counts, fewer of the others.
const coarseDeviations = 2.5

// coarseThreshold is threshold for the sign plane.
func (b *bounds) coarseThreshold(limit float64) float32 {
	return float32((limit - b.base) / (2 * b.step))
}

// threshold returns the t for kernels.above that no row with a score of limit or more fails.
func (x *Index) threshold(b *bounds, limit float64) float32 {
	t := (limit - b.base - float64(b.lost*float64(x.header.highNorm)) - b.slack - b.slack32) / b.step
	f := float32(t)
	if float64(f) > t {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// lowBound returns the largest score row r may have by both planes.
func (x *Index) lowBound(b *bounds, r uint32, high, low int32) float64 {
	dot := float64(16*int64(high)+int64(low)) - float64(127.5*b.sum)
	return b.base + float64(b.step*float64(float64(x.codes.scale[r])/16*dot)) +
		float64(b.length*float64(x.codes.lowErr[r])) + float64(b.lost*float64(x.header.lowNorm)) + b.slack
}

// guesses is how many rows are scored in full to find a score that k rows reach. The estimates
// are good enough for a few more than k to hold most of the k best.
func (x *Index) guesses(k int, rough bool) int {
	switch {
	case !rough:
		return k + k/2 + 8
	case x.opts.Candidates > 0:
		return max(k, x.opts.Candidates)
	}
	return 4*k + 32 // estimates from signs are worse
}

// run answers all jobs.
func (x *Index) run(ctx context.Context, s *scratch) error {
	chunks := chunksOf(x.header.rows)
	workers := 1
	if bytes := x.layout.size[sectionHigh]; bytes >= x.parallel {
		workers = x.opts.Workers
		if workers == 0 {
			workers = runtime.GOMAXPROCS(0)
		}
		workers = max(1, min(workers, chunks))
	}
	for len(s.workers) < workers {
		s.workers = append(s.workers, worker{
			mask: make([]uint64, ctxRows/64),
			list: make([]uint32, 0, ctxRows),
			dots: make([]int32, ctxRows),
			near: make([]float32, nearPart),
		})
	}
	for _, j := range s.jobs {
		j.lanes = growKeep(j.lanes, workers)
		for i := range j.lanes {
			j.lanes[i].best.reset(j.best.k)
		}
		j.limit = math.Inf(-1)
	}
	fixed := x.opts.Approximate && x.opts.Candidates > 0
	s.scan = s.scan[:0]
	for _, j := range s.jobs {
		if !j.direct {
			s.scan = append(s.scan, j)
		}
	}
	if err := x.guess(ctx, s, workers); err != nil {
		return err
	}
	if x.opts.Approximate && !fixed {
		// Where the signs leave too many rows, the exact scan is faster than scoring them.
		again := s.scan[:0]
		for _, j := range s.scan {
			if x.coarseCount(j) > x.header.rows/128 {
				j.rough = false
				x.prepareFine(j, largest(j.z))
				again = append(again, j)
			}
		}
		s.scan = again
		if err := x.guess(ctx, s, workers); err != nil {
			return err
		}
	}
	err := x.each(ctx, workers, func(w, chunk int) {
		for _, j := range s.jobs {
			if fixed && j.rough && !j.direct {
				continue // the guesses were all there is to score
			}
			x.settle(&s.workers[w], j, &j.lanes[w], chunk)
		}
	})
	if err != nil {
		return err
	}
	for _, j := range s.jobs {
		for i := range j.lanes {
			for _, c := range j.lanes[i].best.h {
				j.best.add(c)
			}
		}
	}
	return nil
}

// guess estimates the scores of all rows for the jobs in s.scan and finds their limits.
func (x *Index) guess(ctx context.Context, s *scratch, workers int) error {
	if len(s.scan) == 0 {
		return nil
	}
	for _, j := range s.scan {
		for i := range j.lanes {
			j.lanes[i].guess.reset(x.guesses(j.k, j.rough))
		}
	}
	err := x.each(ctx, workers, func(w, chunk int) {
		for _, j := range s.scan {
			x.estimate(&s.workers[w], j, &j.lanes[w], chunk)
		}
	})
	if err != nil {
		return err
	}
	for _, j := range s.scan {
		x.scoreGuesses(j)
	}
	return nil
}

// coarseCount sets j.left to the open rows that the signs leave to be scored and counts them.
// Which they are depends on j.limit alone, not on what a worker has seen.
func (x *Index) coarseCount(j *job) int {
	j.left = grow(j.left, len(j.open))
	b, fac := &j.bounds, x.codes.signFac
	x.kern.above(j.left, j.dots, fac, fac, b.centre32-b.margin32, 0, b.coarseThreshold(j.limit))
	count := 0
	for i, word := range j.open {
		j.left[i] &= word
		count += bits.OnesCount64(j.left[i])
	}
	return count
}

// each calls f for every chunk, on workers goroutines.
func (x *Index) each(ctx context.Context, workers int, f func(worker, chunk int)) error {
	chunks := chunksOf(x.header.rows)
	if workers == 1 {
		for c := range chunks {
			if err := ctx.Err(); err != nil {
				return err
			}
			f(0, c)
		}
		return nil
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				c := int(next.Add(1)) - 1
				if c >= chunks {
					return
				}
				f(w, c)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// span returns the padded rows of a chunk.
func (x *Index) span(chunk int) (lo, hi int) {
	return chunk * ctxRows, min((chunk+1)*ctxRows, x.layout.padded)
}

// estimate computes the dot products of a chunk with the high plane and remembers the rows with
// the best estimates.
func (x *Index) estimate(w *worker, j *job, l *lane, chunk int) {
	lo, hi := x.span(chunk)
	open := j.open[lo/64 : hi/64]
	size := 4 * x.layout.groups
	scale := x.codes.scale
	if j.rough {
		scale = x.codes.signFac
	}
	for i := 0; i < len(open); { // runs of words with open rows
		if open[i] == 0 {
			i++
			continue
		}
		first := i
		for i < len(open) && open[i] != 0 {
			i++
		}
		a, b := lo+64*first, lo+64*i
		if j.rough {
			x.kern.signs(j.dots[a:b], x.codes.sign[a*x.layout.words:b*x.layout.words], &j.coarse)
		} else {
			x.kern.high(j.dots[a:b], x.codes.high[a*size:b*size], &j.coded)
		}
		// In steps, so that few rows enter the list only to leave it again.
		for n := 0; a < b; a += n {
			t := float32(math.Inf(-1))
			n = min(64, b-a)
			if l.guess.full() {
				t = float32(l.guess.floor())
				n = min(512, b-a)
			}
			mask := w.mask[:n/64]
			x.kern.above(mask, j.dots[a:a+n], scale[a:a+n], scale[a:a+n], j.bounds.centre32, 0, t)
			for m, word := range mask {
				for word &= j.open[a/64+m]; word != 0; word &= word - 1 {
					r := uint32(a + 64*m + bits.TrailingZeros64(word))
					estimate := float32(scale[r] * (float32(j.dots[r]) - j.bounds.centre32))
					l.guess.add(index.Candidate{Ord: r, Score: float64(estimate)})
				}
			}
		}
	}
}

// scoreGuesses scores the rows with the best estimates of all, which gives the limit. It does
// not depend on how the rows were spread over workers.
func (x *Index) scoreGuesses(j *job) {
	all := &j.lanes[0].guess
	for i := range j.lanes[1:] {
		for _, c := range j.lanes[1+i].guess.h {
			all.add(c)
		}
	}
	list := j.guessed[:0]
	for _, c := range all.h {
		list = append(list, c.Ord)
		j.open[c.Ord/64] &^= 1 << (c.Ord % 64)
	}
	j.guessed = list
	x.scoreAll(list, j.query, &j.best)
	if j.best.full() {
		j.limit = j.best.floor()
	}
}

// settle scores every open row of a chunk that the bounds do not rule out.
func (x *Index) settle(w *worker, j *job, l *lane, chunk int) {
	lo, hi := x.span(chunk)
	open := j.open[lo/64 : hi/64]
	w.list = w.list[:0]
	if j.direct {
		for n, word := range open {
			for ; word != 0; word &= word - 1 {
				w.list = append(w.list, uint32(lo+64*n+bits.TrailingZeros64(word)))
			}
		}
		x.score(w, w.list, j, l)
		return
	}
	if j.rough {
		for n, word := range j.left[lo/64 : hi/64] {
			for ; word != 0; word &= word - 1 {
				w.list = append(w.list, uint32(lo+64*n+bits.TrailingZeros64(word)))
			}
		}
		x.score(w, w.list, j, l)
		return
	}
	limit, b := x.limit(j, l), &j.bounds
	mask := w.mask[:len(open)]
	x.kern.above(mask, j.dots[lo:hi], x.codes.scale[lo:hi], x.codes.highErr[lo:hi], b.centre32, b.err32, x.threshold(b, limit))
	for n, word := range mask {
		for word &= open[n]; word != 0; word &= word - 1 {
			w.list = append(w.list, uint32(lo+64*n+bits.TrailingZeros64(word)))
		}
	}
	if len(w.list) == 0 {
		return
	}
	x.kern.low(w.dots, x.codes.low, w.list, &j.coded)
	kept := w.list[:0]
	for i, r := range w.list {
		if x.lowBound(&j.bounds, r, j.dots[r], w.dots[i]) >= limit {
			kept = append(kept, r)
		}
	}
	x.score(w, kept, j, l)
}

// limit returns a score that k admitted rows reach.
func (x *Index) limit(j *job, l *lane) float64 {
	if l.best.full() {
		return max(j.limit, l.best.floor())
	}
	return j.limit
}

// score adds the listed rows to l.best, except those that cannot enter it. list is used up.
func (x *Index) score(w *worker, list []uint32, j *job, l *lane) {
	// Where there are many, their dot products in any order come first: within twice the
	// rounding error of a sum of products from the score, of which one half is in slack.
	for x.kern.near != nil && len(list) >= 16 {
		n := min(nearPart, len(list))
		limit := x.limit(j, l)
		if math.IsInf(limit, -1) {
			// Nothing to go by yet: these become it.
			x.scoreAll(list[:n], j.query, &l.best)
			list = list[n:]
			continue
		}
		x.kern.near(w.near[:n], x.matrix, list[:n], j.query)
		kept := list[:0]
		for i, v := range w.near[:n] {
			if float64(v)+2*j.slack >= limit {
				kept = append(kept, list[i])
			}
		}
		x.scoreAll(kept, j.query, &l.best)
		list = list[n:]
	}
	x.scoreAll(list, j.query, &l.best)
}

// scoreAll adds the listed rows to best.
func (x *Index) scoreAll(list []uint32, query []float32, best *topK) {
	for len(list) >= 4 {
		a, b, c, d := dot4(query, x.row(list[0]), x.row(list[1]), x.row(list[2]), x.row(list[3]))
		best.add(index.Candidate{Ord: list[0], Score: float64(a)})
		best.add(index.Candidate{Ord: list[1], Score: float64(b)})
		best.add(index.Candidate{Ord: list[2], Score: float64(c)})
		best.add(index.Candidate{Ord: list[3], Score: float64(d)})
		list = list[4:]
	}
	for _, r := range list {
		best.add(index.Candidate{Ord: r, Score: float64(dot(query, x.row(r)))})
	}
}

// grow returns s with length n, contents undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// growKeep returns s with length n and as many of its elements as fit.
func growKeep[T any](s []T, n int) []T {
	for cap(s) < n {
		s = append(s[:cap(s)], *new(T))
	}
	return s[:n]
}
