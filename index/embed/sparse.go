package embed

import (
	"context"
	"sync"
	"sync/atomic"
)

// sparse is a matrix in compressed rows: the entries of row i are col[ptr[i]:ptr[i+1]], in
// ascending columns, with their values.
type sparse struct {
	rows, cols int
	ptr        []int
	col        []uint32
	val        []float32
}

// transpose returns the transposed matrix, its columns ascending in every row.
func (a *sparse) transpose() *sparse {
	t := &sparse{rows: a.cols, cols: a.rows, ptr: make([]int, a.cols+1),
		col: make([]uint32, len(a.col)), val: make([]float32, len(a.val))}
	for _, c := range a.col {
		t.ptr[c+1]++
	}
	for i := range a.cols {
		t.ptr[i+1] += t.ptr[i]
	}
	next := append([]int(nil), t.ptr[:a.cols]...)
	for i := range a.rows {
		for p := a.ptr[i]; p < a.ptr[i+1]; p++ {
			q := next[a.col[p]]
			next[a.col[p]]++
			t.col[q], t.val[q] = uint32(i), a.val[p]
		}
	}
	return t
}

// dense is a matrix of rows × cols, row after row.
type dense struct {
	rows, cols int
	v          []float64
}

func newDense(rows, cols int) *dense {
	return &dense{rows, cols, make([]float64, rows*cols)}
}

func (d *dense) row(i int) []float64 { return d.v[i*d.cols : (i+1)*d.cols] }

// mul sets dst = a·b. Each row of dst is summed by one worker in column order, so the result
// does not depend on their number.
func (a *sparse) mul(ctx context.Context, dst, b *dense, workers int) error {
	return parallel(ctx, a.rows, 256, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			out := dst.row(i)
			clear(out)
			for p := a.ptr[i]; p < a.ptr[i+1]; p++ {
				axpy(out, float64(a.val[p]), b.row(int(a.col[p])))
			}
		}
	})
}

// axpyGo adds x·src to dst. The conversion keeps the compiler from fusing the operations, which
// some processors would round differently.
func axpyGo(dst []float64, x float64, src []float64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] += float64(x * src[i])
	}
}

// parallel calls f for consecutive blocks of [0,n), each of size at most block, on up to
// workers goroutines. Block boundaries do not depend on workers. It returns ctx.Err() if the
// context ended before all blocks were done.
func parallel(ctx context.Context, n, block, workers int, f func(b, lo, hi int)) error {
	blocks := (n + block - 1) / block
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(max(workers, 1), blocks) {
		wg.Go(func() {
			for ctx.Err() == nil {
				b := int(next.Add(1)) - 1
				if b >= blocks {
					return
				}
				f(b, b*block, min((b+1)*block, n))
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}
