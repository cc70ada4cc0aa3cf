package dense

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
)

// open writes rows to a file and opens it.
func open(t testing.TB, dim int, rows [][]float32, o Options) *Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vectors")
	if err := Write(t.Context(), nil, path, dim, rows); err != nil {
		t.Fatal(err)
	}
	x, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// exhaustive is the definition of a search: every admitted row scored, sorted, cut.
func exhaustive(x *Index, query []float32, k int, f *index.Filter) []index.Candidate {
	q := make([]float32, len(query))
	length, _ := checkVector(query)
	unit(q, query, length)
	all := []index.Candidate{}
	for r := range uint32(x.Len()) {
		row := x.Row(r)
		if row == nil || !f.Has(r) {
			continue
		}
		var s float32
		for i := range q {
			s += float32(q[i] * row[i])
		}
		all = append(all, index.Candidate{Ord: r, Score: float64(s)})
	}
	slices.SortFunc(all, compare)
	return all[:min(k, len(all))]
}

func unitVector(v []float32) []float32 {
	length, _ := checkVector(v)
	u := make([]float32, len(v))
	for i, x := range v {
		u[i] = float32(float64(x) / length)
	}
	return u
}

func gaussian(rng *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// dataset makes n rows of the named kind.
func dataset(kind string, seed uint64, n, dim int) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	rows := make([][]float32, n)
	centres := map[int][]float32{}
	centre := func(c int) []float32 {
		if centres[c] == nil {
			centres[c] = gaussian(rand.New(rand.NewPCG(seed, uint64(1000+c))), dim)
		}
		return slices.Clone(centres[c])
	}
	for i := range rows {
		switch kind {
		case "random":
			rows[i] = gaussian(rng, dim)
		case "clustered":
			c := centre(rng.IntN(20))
			rows[i] = gaussian(rng, dim)
			for j := range c {
				rows[i][j] = c[j] + .3*rows[i][j]
			}
		case "duplicated":
			rows[i] = centre(rng.IntN(n/50 + 1))
		case "identical":
			rows[i] = centre(0)
		case "nearly equal":
			rows[i] = centre(0)
			for j := range rows[i] {
				rows[i][j] += float32(1e-4 * rng.NormFloat64())
			}
		case "last digits":
			rows[i] = unitVector(centre(0))
			j := rng.IntN(dim)
			rows[i][j] = math.Nextafter32(rows[i][j], float32(rng.IntN(2)*2-1))
		case "axes":
			rows[i] = make([]float32, dim)
			rows[i][rng.IntN(dim)] = 1
		case "decaying":
			rows[i] = gaussian(rng, dim)
			for j := range rows[i] {
				rows[i][j] /= float32(1 + j*j)
			}
		case "narrow cone":
			c := centre(0)
			rows[i] = gaussian(rng, dim)
			for j := range c {
				rows[i][j] = 2*c[j] + rows[i][j]
			}
		case "missing":
			if rng.IntN(3) > 0 {
				rows[i] = gaussian(rng, dim)
			}
		default:
			panic(kind)
		}
		if rows[i] != nil {
			rows[i] = unitVector(rows[i])
		}
	}
	return rows
}

var kinds = []string{
	"random", "clustered", "duplicated", "identical", "nearly equal", "last digits", "axes", "decaying", "narrow cone", "missing",
}

func queriesFor(rows [][]float32, seed uint64, dim int) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 2))
	qs := [][]float32{unitVector(gaussian(rng, dim))}
	for range 3 {
		if r := rows[rng.IntN(len(rows))]; r != nil {
			q := slices.Clone(r)
			qs = append(qs, slices.Clone(q))
			for j := range q {
				q[j] += .2 / float32(math.Sqrt(float64(dim))) * float32(rng.NormFloat64())
			}
			qs = append(qs, unitVector(q))
		}
	}
	return qs
}

func filterOf(n, every int, seed uint64) *index.Filter {
	if every == 0 {
		return nil
	}
	f := index.NewFilter(n)
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range n {
		if rng.IntN(every) == 0 {
			f.Set(uint32(i))
		}
	}
	return f
}

func TestExact(t *testing.T) {
	for _, kind := range kinds {
		for _, dim := range []int{7, 64, 100} {
			t.Run(fmt.Sprintf("%s/%d", kind, dim), func(t *testing.T) {
				rows := dataset(kind, 1, 5000, dim)
				x := open(t, dim, rows, Options{})
				for qi, q := range queriesFor(rows, 1, dim) {
					for _, every := range []int{0, 1, 2, 10, 300, 100000} {
						f := filterOf(len(rows), every, 1)
						for _, k := range []int{1, 10, 100, 4000} {
							got, err := x.SearchVector(t.Context(), q, k, f)
							if err != nil {
								t.Fatal(err)
							}
							if diff := cmp.Diff(exhaustive(x, q, k, f), got); diff != "" {
								t.Fatalf("query %d, filter 1/%d, k %d (-exhaustive +got):\n%s", qi, every, k, diff)
							}
						}
					}
				}
			})
		}
	}
}

func TestDamage(t *testing.T) {
	t.Run("PE-03", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "vectors")
		rows := dataset("missing", 1, 70, 9)
		if err := Write(t.Context(), nil, path, 9, rows); err != nil {
			t.Fatal(err)
		}
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, data []byte) {
			t.Helper()
			bad := filepath.Join(dir, "bad")
			if err := os.WriteFile(bad, data, 0o666); err != nil {
				t.Fatal(err)
			}
			x, err := Open(bad, Options{})
			if err == nil {
				// Damage that Open does not look for must not make a search panic.
				if _, err := x.SearchVector(t.Context(), rows[firstPresent(rows)], 3, nil); err != nil {
					t.Errorf("%s: search: %v", what, err)
				}
				err = x.Verify(t.Context())
				if cerr := x.Close(); cerr != nil {
					t.Fatal(cerr)
				}
				if !errors.Is(err, index.ErrCorrupt) {
					t.Fatalf("%s: Verify gave %v, want index.ErrCorrupt", what, err)
				}
				return
			}
			if !errors.Is(err, index.ErrCorrupt) {
				t.Fatalf("%s: Open gave %v, want index.ErrCorrupt", what, err)
			}
		}
		for i := range good {
			for _, bit := range []byte{1, 0x80} {
				b := slices.Clone(good)
				b[i] ^= bit
				check(fmt.Sprintf("byte %d flipped by %#x", i, bit), b)
			}
		}
		for _, n := range []int{0, 1, headerSize - 1, headerSize, len(good) / 2, len(good) - 1} {
			check(fmt.Sprintf("cut to %d", n), good[:n])
		}
		check("one byte more", append(slices.Clone(good), 0))
	})
}

func firstPresent(rows [][]float32) int {
	return slices.IndexFunc(rows, func(r []float32) bool { return r != nil })
}

var _ = context.Canceled
