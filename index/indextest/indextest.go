// Package indextest holds the contracts of index.VectorSearcher and index.TextSearcher as
// tests that every implementation runs. It is a package of its own, so that no program links
// package testing through it.
package indextest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/rank"
)

func compare(a, b index.Candidate) int {
	return rank.CompareOrdinals(a.Score, a.Ord, b.Score, b.Ord)
}

// random returns n vectors of length 1; every seventh is missing where gaps is set.
func random(seed uint64, n, dim int, gaps bool) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	rows := make([][]float32, n)
	for i := range rows {
		if gaps && i%7 == 3 {
			continue
		}
		rows[i] = direction(rng, dim)
	}
	return rows
}

func direction(rng *rand.Rand, dim int) []float32 {
	v := make([]float64, dim)
	var sum float64
	for i := range v {
		v[i] = rng.NormFloat64()
		sum += v[i] * v[i]
	}
	row := make([]float32, dim)
	for i := range v {
		row[i] = float32(v[i] / math.Sqrt(sum))
	}
	return row
}

func cosine(a, b []float32) float64 {
	var s float64
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// scoreTolerance is how far a score may be from the cosine computed in float64.
const scoreTolerance = 1e-5

// RunVectors tests a searcher. open returns one over rows, where a nil row is a chunk without
// a vector, all others have length 1 and one dimension; it is called with no rows as well,
// and releases what it holds through t.Cleanup.
func RunVectors(t *testing.T, open func(t *testing.T, dim int, rows [][]float32) index.VectorSearcher) {
	t.Run("VS-01", func(t *testing.T) {
		for _, n := range []int{0, 1, 3} {
			rows := random(1, n, 4, false)
			s := open(t, 4, rows)
			got, err := s.SearchVector(t.Context(), []float32{1, 0, 0, 0}, 5, nil)
			if err != nil || len(got) != n {
				t.Errorf("%d rows, k 5: %d hits, %v, want %d", n, len(got), err, n)
			}
		}
	})
	t.Run("VS-02", func(t *testing.T) {
		row := []float32{.6, .8}
		rows := slices.Repeat([][]float32{row}, 30)
		var want []index.Candidate
		for reopened := range 2 {
			s := open(t, 2, rows)
			for range 50 {
				got, err := s.SearchVector(t.Context(), row, 3, nil)
				if err != nil {
					t.Fatal(err)
				}
				if ords := ordinals(got); !slices.Equal(ords, []uint32{29, 28, 27}) {
					t.Fatalf("opened %d times: %v, want the last three ordinals, last first", reopened+1, ords)
				}
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("same query, other answer (-first +now):\n%s", diff)
				}
			}
		}
	})
	t.Run("VS-03", func(t *testing.T) {
		// One chunk has no vector, where a zero vector would stand in a library that takes it.
		rows := make([][]float32, 21)
		for i := range 20 {
			sin, cos := math.Sincos(float64(i) / 20)
			rows[i] = []float32{float32(cos), float32(sin)}
		}
		s := open(t, 2, rows)
		for range 200 {
			got, err := s.SearchVector(t.Context(), []float32{1, 0}, 3, nil)
			if err != nil || !slices.Equal(ordinals(got), []uint32{0, 1, 2}) {
				t.Fatalf("%v, %v, want ordinals 0, 1, 2", got, err)
			}
		}
	})
	t.Run("order", func(t *testing.T) {
		const n, dim = 1500, 24
		rows := random(2, n, dim, true)
		for i := range 40 { // ties, some of them across any cut
			rows[10*i] = rows[0]
		}
		s := open(t, dim, rows)
		filters := []*index.Filter{nil, index.NewFilter(n), index.NewFilter(n), {}}
		for i := range n {
			if i%3 > 0 {
				filters[1].Set(uint32(i))
			}
		}
		for _, ord := range []uint32{0, 3, 700, 1499} {
			filters[2].Set(ord)
		}
		rng := rand.New(rand.NewPCG(3, 0))
		queries := [][]float32{rows[0], direction(rng, dim), direction(rng, dim)}
		for qi, q := range queries {
			for fi, f := range filters {
				var all []index.Candidate
				for i, row := range rows {
					if row != nil && f.Has(uint32(i)) {
						all = append(all, index.Candidate{Ord: uint32(i), Score: cosine(q, row)})
					}
				}
				for _, k := range []int{1, 7, 100, n + 1} {
					got, err := s.SearchVector(t.Context(), q, k, f)
					if err != nil {
						t.Fatal(err)
					}
					where := fmt.Sprintf("query %d, filter %d, k %d", qi, fi, k)
					checkList(t, where, got, all, k, scoreTolerance)
				}
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		s := open(t, 3, random(4, 10, 3, false))
		for name, tt := range map[string]struct {
			query []float32
			k     int
			want  error
		}{
			"k 0":       {[]float32{1, 0, 0}, 0, nil},
			"k -1":      {[]float32{1, 0, 0}, -1, nil},
			"dimension": {[]float32{1, 0}, 1, index.ErrDimension},
			"empty":     {nil, 1, index.ErrDimension},
			"zero":      {[]float32{0, 0, 0}, 1, nil},
			"NaN":       {[]float32{float32(math.NaN()), 0, 0}, 1, nil},
			"infinite":  {[]float32{float32(math.Inf(1)), 0, 0}, 1, nil},
		} {
			got, err := s.SearchVector(t.Context(), tt.query, tt.k, nil)
			if err == nil || got != nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, %v, want no hits and an error (%v)", name, got, err, tt.want)
			}
		}
	})
	t.Run("PE-07", func(t *testing.T) {
		const n, dim = 20000, 16
		rows := random(5, n, dim, false)
		s := open(t, dim, rows)
		concurrent(t, func(ctx context.Context, i int) ([]index.Candidate, error) {
			return s.SearchVector(ctx, rows[i], 10, nil)
		})
	})
}

// RunText tests a searcher by its contract, not by its formula. open returns one over texts,
// whose analyser must at least split at spaces and know the words used here, all of them
// lower-case English nouns; it is called with no texts as well, and releases what it holds
// through t.Cleanup.
func RunText(t *testing.T, open func(t *testing.T, texts []string) index.TextSearcher) {
	t.Run("VS-01", func(t *testing.T) {
		for _, n := range []int{0, 1, 3} {
			s := open(t, slices.Repeat([]string{"copper kettle"}, n))
			got, err := s.SearchText(t.Context(), "copper", 5, nil)
			if err != nil || len(got) != n {
				t.Errorf("%d texts, k 5: %d hits, %v, want %d", n, len(got), err, n)
			}
		}
	})
	t.Run("VS-02", func(t *testing.T) {
		texts := slices.Repeat([]string{"copper kettle"}, 30)
		for range 2 {
			s := open(t, texts)
			for range 50 {
				got, err := s.SearchText(t.Context(), "kettle", 3, nil)
				if err != nil || !slices.Equal(ordinals(got), []uint32{29, 28, 27}) {
					t.Fatalf("%v, %v, want the last three ordinals, last first", got, err)
				}
			}
		}
	})
	words := []string{"copper", "kettle", "lantern", "harbour", "violin", "walnut", "saddle", "pepper"}
	rng := rand.New(rand.NewPCG(6, 0))
	texts := make([]string, 2000)
	holds := map[string][]bool{}
	for _, w := range words {
		holds[w] = make([]bool, len(texts))
	}
	for i := range texts {
		for range 1 + rng.IntN(6) {
			w := words[min(rng.IntN(len(words)), rng.IntN(len(words)))]
			texts[i] += " " + w
			holds[w][i] = true
		}
	}
	t.Run("order", func(t *testing.T) {
		s := open(t, texts)
		filters := []*index.Filter{nil, index.NewFilter(len(texts)), index.NewFilter(len(texts)), {}}
		for i := range texts {
			if i%3 > 0 {
				filters[1].Set(uint32(i))
			}
		}
		filters[2].Set(5)
		filters[2].Set(1999)
		for _, query := range [][]string{{"pepper"}, {"copper"}, {"violin", "walnut"}, {"copper", "zeppelin"}, {"zeppelin"}} {
			text := query[0]
			for _, w := range query[1:] {
				text += " " + w
			}
			for fi, f := range filters {
				full, err := s.SearchText(t.Context(), text, len(texts)+1, f)
				if err != nil {
					t.Fatal(err)
				}
				var want, have []uint32
				for i := range texts {
					hit := slices.ContainsFunc(query, func(w string) bool { return holds[w] != nil && holds[w][i] })
					if hit && f.Has(uint32(i)) {
						want = append(want, uint32(i))
					}
				}
				have = slices.Sorted(slices.Values(ordinals(full)))
				if !slices.Equal(want, have) {
					t.Errorf("%q, filter %d: %d hits, want the %d admitted texts with one of the words", text, fi, len(have), len(want))
				}
				for _, k := range []int{1, 7, 100} {
					got, err := s.SearchText(t.Context(), text, k, f)
					if err != nil {
						t.Fatal(err)
					}
					checkList(t, fmt.Sprintf("%q, filter %d, k %d", text, fi, k), got, full, k, 0)
				}
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		s := open(t, texts[:10])
		for _, k := range []int{0, -1} {
			if got, err := s.SearchText(t.Context(), "copper", k, nil); err == nil || got != nil {
				t.Errorf("k %d: %v, %v, want no hits and an error", k, got, err)
			}
		}
	})
	t.Run("PE-07", func(t *testing.T) {
		s := open(t, texts)
		concurrent(t, func(ctx context.Context, i int) ([]index.Candidate, error) {
			return s.SearchText(ctx, words[i%len(words)], 10, nil)
		})
	})
}

func ordinals(list []index.Candidate) []uint32 {
	ords := make([]uint32, len(list))
	for i, c := range list {
		ords[i] = c.Ord
	}
	return ords
}

// checkList checks that got holds the k first of all, in order. Scores may differ from all's
// by tolerance, and so may the order of candidates that are that close.
func checkList(t *testing.T, where string, got, all []index.Candidate, k int, tolerance float64) {
	t.Helper()
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, compare)
	want := sorted[:min(k, len(sorted))]
	if len(got) != len(want) {
		t.Errorf("%s: %d hits, want %d", where, len(got), len(want))
		return
	}
	if !slices.IsSortedFunc(got, compare) {
		t.Errorf("%s: not in the total order: %v", where, got)
	}
	scores := map[uint32]float64{}
	for _, c := range all {
		scores[c.Ord] = c.Score
	}
	seen := map[uint32]bool{}
	for i, c := range got {
		score, ok := scores[c.Ord]
		switch {
		case !ok:
			t.Errorf("%s: ordinal %d is not admitted", where, c.Ord)
		case seen[c.Ord]:
			t.Errorf("%s: ordinal %d twice", where, c.Ord)
		case math.Abs(score-c.Score) > tolerance:
			t.Errorf("%s: ordinal %d scores %v, want %v", where, c.Ord, c.Score, score)
		case math.Abs(want[i].Score-c.Score) > tolerance:
			t.Errorf("%s: rank %d scores %v, want %v", where, i+1, c.Score, want[i].Score)
		case tolerance == 0 && want[i].Ord != c.Ord:
			t.Errorf("%s: rank %d is ordinal %d, want %d", where, i+1, c.Ord, want[i].Ord)
		}
		seen[c.Ord] = true
	}
	// A group of equal scores is ordered and cut by ordinal, which IsSortedFunc alone does not
	// see at the cut: the tied candidates left out must have lower ordinals.
	if n := len(got); n > 0 && n < len(all) {
		for _, c := range all {
			if !seen[c.Ord] && c.Score == scores[got[n-1].Ord] && c.Ord > got[n-1].Ord {
				t.Errorf("%s: ordinal %d ties with the last hit %d and comes before it", where, c.Ord, got[n-1].Ord)
			}
		}
	}
}

// concurrent runs searches at the same time, which must give what they give alone, and some
// with a context that ends meanwhile, which must give its error and no hits.
func concurrent(t *testing.T, search func(ctx context.Context, i int) ([]index.Candidate, error)) {
	t.Helper()
	const n = 16
	var want [n][]index.Candidate
	for i := range want {
		var err error
		if want[i], err = search(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := search(cancelled, 0); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("cancelled: %v, %v, want no hits and context.Canceled", got, err)
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for range 10 {
				got, err := search(t.Context(), i)
				if err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(want[i], got); diff != "" {
					t.Errorf("query %d among others (-alone +now):\n%s", i, diff)
				}
			}
		})
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			got, err := search(ctx, i)
			switch {
			case err != nil && (!errors.Is(err, context.Canceled) || got != nil):
				t.Errorf("cancelled: %v, %v, want no hits and context.Canceled", got, err)
			case err == nil:
				if diff := cmp.Diff(want[i], got); diff != "" {
					t.Errorf("query %d finished before it was cancelled (-alone +now):\n%s", i, diff)
				}
			}
		})
	}
	wg.Wait()
}
