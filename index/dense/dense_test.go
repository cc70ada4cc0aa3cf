package dense

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/indextest"
	"github.com/seed792a4543/assay/internal/disk"
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
		for _, dim := range []int{7, 100} {
			t.Run(fmt.Sprintf("%s/%d", kind, dim), func(t *testing.T) {
				rows := dataset(kind, 1, 4500, dim)
				x := open(t, dim, rows, Options{})
				for qi, q := range queriesFor(rows, 1, dim) {
					all := exhaustive(x, q, len(rows), nil)
					for _, every := range []int{0, 1, 2, 10, 300, 100000} {
						f := filterOf(len(rows), every, 1)
						admitted := slices.DeleteFunc(slices.Clone(all), func(c index.Candidate) bool { return !f.Has(c.Ord) })
						for _, k := range []int{1, 10, 100, 4000} {
							got, err := x.SearchVector(t.Context(), q, k, f)
							if err != nil {
								t.Fatal(err)
							}
							if diff := cmp.Diff(admitted[:min(k, len(admitted))], got); diff != "" {
								t.Fatalf("query %d, filter 1/%d, k %d (-exhaustive +got):\n%s", qi, every, k, diff)
							}
						}
					}
				}
			})
		}
	}
}

func TestConformance(t *testing.T) {
	for _, kern := range machineKernels() {
		t.Run(kern.name, func(t *testing.T) {
			indextest.RunVectors(t, func(t *testing.T, dim int, rows [][]float32) index.VectorSearcher {
				return open(t, dim, rows, Options{kernels: kern})
			})
		})
	}
	t.Run("reference", func(t *testing.T) {
		indextest.RunVectors(t, func(t *testing.T, dim int, rows [][]float32) index.VectorSearcher {
			x := open(t, dim, rows, Options{})
			all, err := x.Reference(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return referenceSearcher{x, all}
		})
	})
}

// referenceSearcher shows that the reference keeps the same contract.
type referenceSearcher struct {
	x   *Index
	all *Reference
}

func (r referenceSearcher) SearchVector(ctx context.Context, q []float32, k int, f *index.Filter) ([]index.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f == nil {
		return r.all.Query(ctx, q, k, nil, nil)
	}
	docs := make([]Document, r.x.Len())
	for i := range docs {
		docs[i].Metadata = map[string]string{"seen": strconv.FormatBool(f.Has(uint32(i)))}
	}
	ref, err := r.x.Reference(ctx, docs)
	if err != nil {
		return nil, err
	}
	return ref.Query(ctx, q, k, map[string]string{"seen": "true"}, nil)
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
			b := slices.Clone(good)
			b[i] ^= 1 << (i % 8)
			check(fmt.Sprintf("bit %d of byte %d flipped", i%8, i), b)
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

func TestWrite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, tt := range []struct {
		name string
		rows [][]float32
		row  int
		want error
	}{
		{"short", [][]float32{{1, 0}, nil, {1}}, 2, index.ErrDimension},
		{"empty", [][]float32{{}}, 0, index.ErrDimension},
		{"zero", [][]float32{{1, 0}, {0, 0}}, 1, nil},
		{"NaN", [][]float32{nil, {1, nan}}, 1, nil},
		{"infinite", [][]float32{{1, 0}, {1, inf}}, 1, nil},
	} {
		t.Run("VS-03/"+tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "vectors")
			err := Write(t.Context(), nil, path, 2, tt.rows)
			var re *RowError
			if !errors.As(err, &re) || re.Row != tt.row || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Write gave %v, want a RowError of row %d (%v)", err, tt.row, tt.want)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a refused file exists: %v", err)
			}
		})
	}
	t.Run("first bad row on any number of cores", func(t *testing.T) {
		rows := dataset("random", 1, 30000, 3)
		for i := 4999; i < len(rows); i += 5000 {
			rows[i] = []float32{0, 0, 0}
		}
		for range 20 {
			var re *RowError
			if err := Write(t.Context(), nil, filepath.Join(t.TempDir(), "v"), 3, rows); !errors.As(err, &re) || re.Row != 4999 {
				t.Fatalf("%v, want row 4999", err)
			}
		}
	})
	t.Run("dimension", func(t *testing.T) {
		for _, dim := range []int{-1, 0, maxDim + 1} {
			if err := Write(t.Context(), nil, filepath.Join(t.TempDir(), "v"), dim, nil); err == nil {
				t.Errorf("dimension %d accepted", dim)
			}
		}
	})
	t.Run("scaled", func(t *testing.T) {
		x := open(t, 2, [][]float32{{3, 4}, {1e-30, 0}, {0, -3e38}}, Options{})
		for r, want := range [][]float32{{.6, .8}, {1, 0}, {0, -1}} {
			if diff := cmp.Diff(want, x.Row(uint32(r))); diff != "" {
				t.Errorf("row %d (-want +got):\n%s", r, diff)
			}
		}
		got, err := x.SearchVector(t.Context(), []float32{30, 40}, 1, nil)
		if err != nil || len(got) != 1 || got[0].Ord != 0 || math.Abs(got[0].Score-1) > 1e-6 {
			t.Errorf("%v, %v, want row 0 with score 1", got, err)
		}
		if err := x.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Write(ctx, nil, filepath.Join(t.TempDir(), "v"), 2, [][]float32{{1, 0}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want context.Canceled", err)
		}
	})
	t.Run("failing disk", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "v")
		if err := Write(t.Context(), nil, path, 2, [][]float32{{1, 0}}); err != nil {
			t.Fatal(err)
		}
		full := errors.New("disk full")
		for _, op := range []disk.Op{disk.OpCreate, disk.OpWrite, disk.OpSync, disk.OpRename} {
			fsys := &disk.FS{Before: func(o disk.Op, _ string) error {
				if o == op {
					return full
				}
				return nil
			}}
			if err := Write(t.Context(), fsys, path, 2, [][]float32{{0, 1}}); !errors.Is(err, full) {
				t.Errorf("%s failed: %v, want %v", op, err, full)
			}
			x, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]float32{1, 0}, x.Row(0)); diff != "" {
				t.Errorf("%s failed: row 0 (-want +got):\n%s", op, diff)
			}
			if err := errors.Join(x.Verify(t.Context()), x.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// Rows that come in parts give the file that they give together.
func TestWriter(t *testing.T) {
	const dim, n = 9, 5*ctxRows + 77
	rows := dataset("random", 3, n, dim)
	for i := range n / 100 {
		rows[i*97] = nil
	}
	for j := range rows[5] {
		rows[5][j] *= 3
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if err := Write(t.Context(), nil, whole, dim, rows); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(whole, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(x.Verify(t.Context()), x.Close()); err != nil {
		t.Error(err)
	}
	for _, size := range []int{1000, ctxRows, 3*ctxRows + 5} {
		path := filepath.Join(t.TempDir(), "parts")
		w, err := Create(nil, path, dim, n)
		if err != nil {
			t.Fatal(err)
		}
		for part := range slices.Chunk(rows, size) {
			if err := w.Append(t.Context(), part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("parts of %d rows give another file (%v)", size, err)
		}
	}

	for name, give := range map[string]func(w *Writer) error{
		"too few": func(w *Writer) error {
			return errors.Join(w.Append(t.Context(), rows[:9]), w.Commit(t.Context()))
		},
		"too many": func(w *Writer) error {
			err := w.Append(t.Context(), rows[:11])
			return errors.Join(err, w.Discard())
		},
		"bad in a later part": func(w *Writer) error {
			err := errors.Join(w.Append(t.Context(), rows[:5]), w.Append(t.Context(), [][]float32{make([]float32, dim), rows[6], rows[7], rows[8], rows[9]}))
			return errors.Join(err, w.Commit(t.Context()))
		},
	} {
		dir := t.TempDir()
		w, err := Create(nil, filepath.Join(dir, "v"), dim, 10)
		if err != nil {
			t.Fatal(err)
		}
		err = give(w)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		var re *RowError
		if name == "bad in a later part" && (!errors.As(err, &re) || re.Row != 5) {
			t.Errorf("%s: %v, want a RowError of row 5", name, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

func TestDeterministic(t *testing.T) {
	const dim, n = 128, 70000 // large enough for several workers
	rows := dataset("random", 3, n, dim)
	for i := range 100 {
		rows[i*613] = rows[0]
	}
	queries := append(queriesFor(rows, 3, dim), rows[0])
	var file []byte
	var lists [][]index.Candidate
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		path := filepath.Join(t.TempDir(), "v")
		if err := Write(t.Context(), nil, path, dim, rows); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if file == nil {
			file = b
		}
		if !slices.Equal(file, b) {
			t.Errorf("%d cores write another file", procs)
		}
		x, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.SearchVectors(t.Context(), queries, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		if lists == nil {
			lists = got
			for i, q := range queries {
				if diff := cmp.Diff(exhaustive(x, q, 10, nil), got[i]); diff != "" {
					t.Errorf("query %d (-exhaustive +got):\n%s", i, diff)
				}
			}
		}
		if diff := cmp.Diff(lists, got); diff != "" {
			t.Errorf("%d cores (-want +got):\n%s", procs, diff)
		}
		for i, q := range queries {
			one, err := x.SearchVector(t.Context(), q, 10, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(lists[i], one); diff != "" {
				t.Errorf("query %d alone (-batch +alone):\n%s", i, diff)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// after is a context that ends when Err has been called often enough.
type after struct {
	context.Context
	left atomic.Int64
}

func (a *after) Err() error {
	if a.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancel(t *testing.T) {
	t.Run("PE-07", func(t *testing.T) {
		const dim, n = 16, 50000
		rows := dataset("random", 4, n, dim)
		x := open(t, dim, rows, Options{})
		finished := false
		for looks := range int64(1000) {
			ctx := &after{Context: t.Context()}
			ctx.left.Store(looks)
			got, err := x.SearchVector(ctx, rows[0], 10, nil)
			if err == nil {
				if looks < 2*n/ctxRows {
					t.Errorf("finished after %d looks at the context: it is looked at too rarely", looks)
				}
				if len(got) != 10 {
					t.Errorf("%d looks: %d hits and no error", looks, len(got))
				}
				finished = true
				break
			}
			if !errors.Is(err, context.Canceled) || got != nil {
				t.Fatalf("%d looks: %v, %v, want no hits and context.Canceled", looks, got, err)
			}
		}
		if !finished {
			t.Error("never finished")
		}
		ctx := &after{Context: t.Context()}
		if err := x.Verify(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Verify gave %v, want context.Canceled", err)
		}
	})
}

func TestClose(t *testing.T) {
	t.Run("PE-07", func(t *testing.T) {
		const dim, n = 32, 20000
		rows := dataset("random", 5, n, dim)
		x := open(t, dim, rows, Options{})
		want := exhaustive(x, rows[0], 10, nil)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for {
					got, err := x.SearchVector(t.Context(), rows[0], 10, nil)
					if errors.Is(err, index.ErrClosed) && got == nil {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
						return
					}
				}
			})
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if x.Row(0) != nil {
			t.Error("a closed index has rows")
		}
		if err := x.Verify(t.Context()); !errors.Is(err, index.ErrClosed) {
			t.Errorf("Verify gave %v, want index.ErrClosed", err)
		}
		if err := x.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v")
	if err := Write(t.Context(), nil, path, 2, [][]float32{{1, 0}, nil, {0, 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{Dim: 3}); !errors.Is(err, index.ErrDimension) {
		t.Errorf("other dimension: %v, want index.ErrDimension", err)
	}
	if _, err := Open(path+"x", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v, want os.ErrNotExist", err)
	}
	for _, o := range []Options{{Dim: -1}, {Workers: -1}, {Candidates: -1}} {
		if _, err := Open(path, o); err == nil {
			t.Errorf("%+v accepted", o)
		}
	}
	x, err := Open(path, Options{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if x.Len() != 3 || x.Present() != 2 || x.Dim() != 2 || x.Row(1) != nil || x.Row(3) != nil || x.Row(math.MaxUint32) != nil {
		t.Errorf("Len %d, Present %d, Dim %d, rows %v %v", x.Len(), x.Present(), x.Dim(), x.Row(1), x.Row(3))
	}
	if _, err := x.SearchVectors(t.Context(), [][]float32{{1, 0}}, 1, make([]*index.Filter, 2)); err == nil {
		t.Error("two filters for one query accepted")
	}
	if got, err := x.SearchVectors(t.Context(), nil, 1, nil); err != nil || len(got) != 0 {
		t.Errorf("no queries: %v, %v", got, err)
	}
	t.Run("PE-03/other version", func(t *testing.T) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[8]++
		binary.LittleEndian.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
		if err := os.WriteFile(path+"2", b, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path+"2", Options{}); !errors.Is(err, index.ErrFormat) || errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%v, want index.ErrFormat", err)
		}
	})
}

// FuzzHeader feeds headers with a right checksum: whatever they say is refused, or agrees with
// the file's size.
func FuzzHeader(f *testing.F) {
	l, err := newLayout(9, 70)
	if err != nil {
		f.Fatal(err)
	}
	good := (&header{dim: 9, rows: 70, present: 70}).encode(l.total)
	f.Add(good, int64(l.total))
	f.Add(good[:40], int64(40))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		if len(b) >= headerSize {
			b = slices.Clone(b)
			binary.LittleEndian.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
		}
		h, l, err := parseHeader("f", b, size)
		if err != nil {
			if !errors.Is(err, index.ErrCorrupt) && !errors.Is(err, index.ErrFormat) {
				t.Errorf("%v is neither damage nor another format", err)
			}
			return
		}
		if int64(l.total) != size || h.present > h.rows || h.rows > maxRows || h.dim < 1 || h.dim > maxDim {
			t.Errorf("accepted %+v of %d bytes", h, size)
		}
		if again, _, err := parseHeader("f", h.encode(l.total), size); err != nil || again != h {
			t.Errorf("%+v reads back as %+v, %v", h, again, err)
		}
	})
}

// TestSharedVectors repeats the comparison on vectors of words from a real text collection.
func TestSharedVectors(t *testing.T) {
	rows := wordVectors(t)
	x := open(t, len(rows[0]), rows, Options{})
	ref, err := x.Reference(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(rows); i += len(rows) / 20 {
		if rows[i] == nil {
			continue
		}
		for _, k := range []int{1, 10, 100} {
			want, err := ref.Query(t.Context(), x.Row(uint32(i)), k, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.SearchVector(t.Context(), x.Row(uint32(i)), k, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" && runtime.GOARCH == "amd64" {
				t.Fatalf("word %d, k %d (-chromem +got):\n%s", i, k, diff)
			}
		}
	}
}

func TestApproximate(t *testing.T) {
	const dim, n, k = 128, 20000, 10
	for _, kind := range []string{"random", "clustered", "decaying", "narrow cone", "identical"} {
		rows := dataset(kind, 6, n, dim)
		path := filepath.Join(t.TempDir(), "v")
		if err := Write(t.Context(), nil, path, dim, rows); err != nil {
			t.Fatal(err)
		}
		exact, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer exact.Close()
		queries := append(queriesFor(rows, 6, dim), queriesFor(rows, 7, dim)...)
		want, err := exact.SearchVectors(t.Context(), queries, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		var first [][]index.Candidate
		for _, kern := range machineKernels() {
			x, err := Open(path, Options{Approximate: true, kernels: kern})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			got, err := x.SearchVectors(t.Context(), queries, k, nil)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for i := range queries {
				if len(got[i]) != k {
					t.Fatalf("%s: %d hits, want %d", kind, len(got[i]), k)
				}
				for _, c := range got[i] {
					if slices.Contains(want[i], c) {
						found++
					}
				}
			}
			if recall := float64(found) / float64(k*len(queries)); recall < .98 {
				t.Errorf("%s, %s: recall %.3f, want at least .98", kind, kern.name, recall)
			}
			if first == nil {
				first = got
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("%s: %s differs (-go +it):\n%s", kind, kern.name, diff)
			}
			x.parallel = 1 // let workers share even this little
			x.opts.Workers = 3
			got, err = x.SearchVectors(t.Context(), queries, k, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("%s: %s with 3 workers differs (-1 +3):\n%s", kind, kern.name, diff)
			}
		}
		x, err := Open(path, Options{Approximate: true, Candidates: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if got, err := x.SearchVector(t.Context(), queries[0], k, nil); err != nil || len(got) != k {
			t.Errorf("%s: one candidate: %v, %v, want %d hits", kind, got, err, k)
		}
	}
}

// TestGolden pins the bytes of a file, which must not depend on the machine.
func TestGolden(t *testing.T) {
	const want = "377e5ac50ab3215648b44ea495f3219e16a47b40c65b9eff64cd58a745b2ef29"
	rng := rand.New(rand.NewPCG(8, 0))
	rows := make([][]float32, 300)
	for i := range rows {
		if i%11 == 5 {
			continue
		}
		rows[i] = make([]float32, 21)
		for j := range rows[i] {
			rows[i][j] = float32(rng.IntN(2001)-1000) / 1000
		}
	}
	path := filepath.Join(t.TempDir(), "v")
	if err := Write(t.Context(), nil, path, 21, rows); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != want {
		t.Errorf("digest %s, want %s: a change of the bytes needs a new format version", got, want)
	}
}

func TestAllocations(t *testing.T) {
	const dim, n = 32, 20000
	rows := dataset("random", 9, n, dim)
	x := open(t, dim, rows, Options{Workers: 1})
	allocs := testing.AllocsPerRun(20, func() {
		if _, err := x.SearchVector(t.Context(), rows[0], 10, nil); err != nil {
			t.Error(err)
		}
	})
	if allocs > 16 {
		t.Errorf("%v allocations per search, want at most 16", allocs)
	}
}

// FuzzSearch compares searches over few different values, so that ties abound, with the
// definition, on every kernel.
func FuzzSearch(f *testing.F) {
	f.Add(uint64(1), uint16(300), uint8(3), uint8(10), uint8(3), uint8(0))
	f.Add(uint64(2), uint16(2000), uint8(17), uint8(100), uint8(200), uint8(2))
	f.Add(uint64(3), uint16(5000), uint8(64), uint8(1), uint8(1), uint8(5))
	f.Add(uint64(4), uint16(4097), uint8(9), uint8(30), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, d, k, values, every uint8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		dim := int(d)%80 + 1
		rows := make([][]float32, int(n)%6000)
		vector := func() []float32 {
			v := make([]float32, dim)
			for j := range v {
				v[j] = float32(rng.IntN(int(values)+1)) - float32(values)/2
			}
			if _, reason := checkVector(v); reason != "" {
				v[rng.IntN(dim)] = 1
			}
			return v
		}
		for i := range rows {
			switch rng.IntN(10) {
			case 0:
			case 1:
				rows[i] = rows[rng.IntN(i+1)]
			default:
				rows[i] = vector()
			}
		}
		filter := filterOf(len(rows), int(every), seed)
		query := vector()
		path := filepath.Join(t.TempDir(), "v")
		if err := Write(t.Context(), nil, path, dim, rows); err != nil {
			t.Fatal(err)
		}
		for _, kern := range machineKernels() {
			x, err := Open(path, Options{kernels: kern})
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.SearchVector(t.Context(), query, int(k)+1, filter)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(exhaustive(x, query, int(k)+1, filter), got); diff != "" {
				t.Errorf("%s (-exhaustive +got):\n%s", kern.name, diff)
			}
			if err := errors.Join(x.Verify(t.Context()), x.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}
