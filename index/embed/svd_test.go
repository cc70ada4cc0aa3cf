package embed

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// randomSparse returns a matrix with about a third of its cells filled, and the same densely.
func randomSparse(r *rand.Rand, rows, cols int) (*sparse, *dense) {
	a, d := &sparse{rows: rows, cols: cols, ptr: []int{0}}, newDense(rows, cols)
	for i := range rows {
		for j := range cols {
			if r.IntN(3) == 0 {
				v := float32(r.Float64()*2 - 1)
				a.col, a.val = append(a.col, uint32(j)), append(a.val, v)
				d.row(i)[j] = float64(v)
			}
		}
		a.ptr = append(a.ptr, len(a.col))
	}
	return a, d
}

// referenceSVD is one-sided Jacobi (Hestenes 1958) on the dense matrix, which shares no code
// with the one under test: it orthogonalises the columns of a, whose lengths are then the
// singular values. It returns those, descending, and the right singular vectors as rows.
func referenceSVD(a *dense) ([]float64, [][]float64) {
	n := a.cols
	column := make([][]float64, n)
	v := make([][]float64, n)
	for j := range n {
		column[j], v[j] = make([]float64, a.rows), make([]float64, n)
		v[j][j] = 1
		for i := range a.rows {
			column[j][i] = a.row(i)[j]
		}
	}
	inner := func(x, y []float64) (s float64) {
		for i := range x {
			s += x[i] * y[i]
		}
		return s
	}
	for range 60 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				alpha, beta, gamma := inner(column[p], column[p]), inner(column[q], column[q]), inner(column[p], column[q])
				if math.Abs(gamma) < 1e-300 {
					continue
				}
				zeta := (beta - alpha) / (2 * gamma)
				t := 1 / (math.Abs(zeta) + math.Hypot(1, zeta))
				if zeta < 0 {
					t = -t
				}
				c := 1 / math.Hypot(1, t)
				for _, pair := range [][2][]float64{{column[p], column[q]}, {v[p], v[q]}} {
					x, y := pair[0], pair[1]
					for i := range x {
						x[i], y[i] = c*x[i]-c*t*y[i], c*t*x[i]+c*y[i]
					}
				}
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if inner(column[i], column[i]) > inner(column[j], column[j]) {
			return -1
		}
		return 1
	})
	s, vs := make([]float64, n), make([][]float64, n)
	for to, from := range order {
		s[to], vs[to] = math.Sqrt(inner(column[from], column[from])), v[from]
	}
	return s, vs
}

func TestSVDAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct{ rows, cols, k int }{{12, 8, 5}, {8, 12, 5}, {30, 30, 10}, {5, 5, 5}, {1, 4, 3}, {40, 25, 25}} {
		a, d := randomSparse(r, tt.rows, tt.cols)
		want, wantV := referenceSVD(d)
		got, err := truncatedSVD(context.Background(), a, a.transpose(), tt.k, 20, 4, 7, 2)
		if err != nil {
			t.Fatal(err)
		}
		rank := 0
		for rank < min(tt.k, tt.rows, tt.cols) && want[rank] > 1e-9 {
			rank++
		}
		if len(got.s) != rank {
			t.Errorf("%v: %d singular values, want %d", tt, len(got.s), rank)
			continue
		}
		for j := range got.s {
			if math.Abs(got.s[j]-want[j]) > 1e-8*want[0] {
				t.Errorf("%v: singular value %d is %.12f, want %.12f", tt, j, got.s[j], want[j])
			}
			dot := 0.0 // of two unit vectors that may differ in sign
			for i := range tt.cols {
				dot += got.v.row(i)[j] * wantV[j][i]
			}
			if math.Abs(math.Abs(dot)-1) > 1e-6 {
				t.Errorf("%v: right singular vector %d has cosine %.9f with the reference", tt, j, dot)
			}
		}
	}
}

func TestSVDOfDependentRows(t *testing.T) {
	// Six rows, two of them distinct: the rank is 2.
	a := &sparse{rows: 6, cols: 4, ptr: []int{0}}
	for i := range 6 {
		a.col, a.val = append(a.col, uint32(i%2), uint32(2+i%2)), append(a.val, 1, 2)
		a.ptr = append(a.ptr, len(a.col))
	}
	got, err := truncatedSVD(context.Background(), a, a.transpose(), 4, 20, 2, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	// Three equal rows of length √5 each way: singular values √15 twice.
	if len(got.s) != 2 || math.Abs(got.s[0]-math.Sqrt(15)) > 1e-9 || math.Abs(got.s[1]-math.Sqrt(15)) > 1e-9 {
		t.Errorf("singular values %v, want √15 twice", got.s)
	}
}

// sampleTexts returns n made-up texts on a few topics.
func sampleTexts(n int) []string {
	r := rand.New(rand.NewPCG(3, 4))
	topics := [][]string{strings.Fields("boiler water pump heat steam valve pressure pipe"), strings.Fields("refund return goods receipt money days shop"), strings.Fields("wing lift drag flow speed boundary layer")}
	out := make([]string, n)
	for i := range out {
		var w []string
		for range 12 {
			topic := topics[i%len(topics)]
			w = append(w, topic[r.IntN(len(topic))])
		}
		out[i] = strings.Join(append(w, "item"+strconv.Itoa(i/2)), " ")
	}
	return out
}

func TestSameBytesOnAnyCoreCount(t *testing.T) {
	texts := sampleTexts(9000) // more than one block everywhere
	var want []byte
	for _, procs := range []int{1, 8} {
		before := runtime.GOMAXPROCS(procs)
		b, err := FitBuiltin(context.Background(), texts, BuiltinOptions{Dimensions: 16})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = b.encode()
		} else if string(want) != string(b.encode()) {
			t.Error("the model depends on the number of cores")
		}
	}
	other, err := FitBuiltin(context.Background(), texts, BuiltinOptions{Dimensions: 16, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(other.encode()) != len(want) {
		t.Error("another seed changes the size of the model")
	}
}

// The vector instructions round as Go does, so that a model is the same on every machine.
func TestAxpy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for n := range 200 {
		src, got := make([]float64, n+1), make([]float64, n+1)
		for i := range src {
			src[i], got[i] = r.NormFloat64()*math.Pow(10, float64(r.IntN(40)-20)), r.NormFloat64()
		}
		want, x := slices.Clone(got), r.NormFloat64()
		axpyGo(want[:n], x, src[:n])
		axpy(got[:n], x, src)
		for i := range want {
			if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
				t.Fatalf("%d values, value %d: %v, want %v", n, i, got[i], want[i])
			}
		}
	}
}

func TestFitIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if b, err := FitBuiltin(ctx, sampleTexts(200), BuiltinOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", b, err)
	}
}

// BenchmarkFit fits 100,000 chunks of 80 words whose frequencies follow Zipf's law.
func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	z := rand.NewZipf(r, 1.07, 4, 300_000)
	for _, n := range []int{1_000, 10_000, 100_000} {
		texts := make([]string, n)
		for i := range texts {
			var s strings.Builder
			for range 80 {
				s.WriteString("w" + strconv.FormatUint(z.Uint64(), 36) + " ")
			}
			texts[i] = s.String()
		}
		b.Run("chunks="+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				m, err := FitBuiltin(context.Background(), texts, BuiltinOptions{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(m.model.terms)), "terms")
			}
			var ms runtime.MemStats
			runtime.ReadMemStats(&ms)
			b.ReportMetric(float64(ms.Sys)/(1<<20), "sys-MB")
		})
	}
}
