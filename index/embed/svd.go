package embed

import (
	"context"
	"math"
	"math/rand/v2"
)

// svd is a truncated singular value decomposition A ≈ U·diag(s)·Vᵀ of which only s and V are
// kept: documents and queries alike are rows multiplied by V.
type svd struct {
	s []float64 // descending, > 0
	v *dense    // one row per column of A, one column per value of s
}

// truncatedSVD returns the leading singular values and right singular vectors of a, whose
// transpose is at: at most k of them, fewer if the rank is lower.
//
// It is the randomised range finder with power iteration of Halko, Martinsson & Tropp (SIAM
// Review 53, 2011), algorithms 4.4 and 5.1, with a random sign matrix in place of a Gaussian
// one (no transcendental function is involved, so every machine draws the same) and with
// orthonormalisation after every product. The result depends on seed but on neither the
// number of workers nor the machine. Each vector's component of largest magnitude is positive.
func truncatedSVD(ctx context.Context, a, at *sparse, k, oversample, power int, seed uint64, workers int) (svd, error) {
	l := min(k+oversample, a.rows, a.cols)
	if l <= 0 {
		return svd{v: newDense(a.cols, 0)}, ctx.Err()
	}
	z := newDense(a.cols, l)
	r := rand.New(rand.NewPCG(seed, 0x5bd1e995))
	for i := 0; i < len(z.v); i += 64 {
		bits := r.Uint64()
		for j := i; j < min(i+64, len(z.v)); j++ {
			z.v[j] = float64(int(bits&1)*2 - 1)
			bits >>= 1
		}
	}
	y := newDense(a.rows, l)
	for p := 0; ; p++ {
		if err := a.mul(ctx, y, z, workers); err != nil {
			return svd{}, err
		}
		if err := orthonormalise(ctx, y, workers); err != nil {
			return svd{}, err
		}
		if p == power { // the second pass repairs what the first lost to rounding
			if err := orthonormalise(ctx, y, workers); err != nil {
				return svd{}, err
			}
		}
		if err := at.mul(ctx, z, y, workers); err != nil { // z = Bᵀ, where B = Yᵀ·A
			return svd{}, err
		}
		if p == power {
			break
		}
		if err := orthonormalise(ctx, z, workers); err != nil {
			return svd{}, err
		}
	}
	g, err := gram(ctx, z, workers) // B·Bᵀ, whose eigenvalues are the squared singular values
	if err != nil {
		return svd{}, err
	}
	values, vectors := eigenSymmetric(g)
	rank := 0
	for rank < min(k, l) && values[rank] > values[0]*1e-12 && values[rank] > 0 {
		rank++
	}
	out := svd{s: make([]float64, rank), v: newDense(a.cols, rank)}
	for j := range rank {
		out.s[j] = math.Sqrt(values[j])
	}
	err = parallel(ctx, a.cols, 256, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			dst := out.v.row(i)
			for q, x := range z.row(i) {
				axpy(dst, x, vectors.row(q)[:rank])
			}
			for j := range dst {
				dst[j] /= out.s[j]
			}
		}
	})
	if err != nil {
		return svd{}, err
	}
	fixSigns(out.v)
	return out, nil
}

// fixSigns flips each column whose component of largest magnitude (the first of several) is
// negative.
func fixSigns(v *dense) {
	big := make([]float64, v.cols)
	for i := range v.rows {
		for j, x := range v.row(i) {
			if math.Abs(x) > math.Abs(big[j]) {
				big[j] = x
			}
		}
	}
	for i := range v.rows {
		row := v.row(i)
		for j := range row {
			if big[j] < 0 {
				row[j] = -row[j]
			}
		}
	}
}

// gram returns mᵀ·m. Blocks of rows are summed apart and their sums added in block order, so
// that the rounding does not depend on the number of workers.
func gram(ctx context.Context, m *dense, workers int) (*dense, error) {
	const block = 4096
	parts := make([]*dense, (m.rows+block-1)/block)
	err := parallel(ctx, m.rows, block, workers, func(b, lo, hi int) {
		part := newDense(m.cols, m.cols)
		for i := lo; i < hi; i++ {
			row := m.row(i)
			for p, x := range row {
				if x != 0 {
					axpy(part.row(p)[p:], x, row[p:])
				}
			}
		}
		parts[b] = part
	})
	if err != nil {
		return nil, err
	}
	g := newDense(m.cols, m.cols)
	for _, part := range parts {
		for i, x := range part.v {
			g.v[i] += x
		}
	}
	for p := range g.rows {
		for q := p + 1; q < g.cols; q++ {
			g.v[q*g.cols+p] = g.v[p*g.cols+q]
		}
	}
	return g, nil
}

// orthonormalise makes the columns of m orthonormal in place by Cholesky factorisation of
// mᵀ·m = Rᵀ·R and m ← m·R⁻¹. A column that depends on those before it becomes zero.
func orthonormalise(ctx context.Context, m *dense, workers int) error {
	g, err := gram(ctx, m, workers)
	if err != nil {
		return err
	}
	n := g.rows
	r := newDense(n, n) // upper triangle; a dependent column has a zero row
	for j := range n {
		pivot := g.v[j*n+j]
		for q := range j {
			pivot -= float64(r.v[q*n+j] * r.v[q*n+j])
		}
		if !(pivot > g.v[j*n+j]*1e-11) {
			continue
		}
		d := math.Sqrt(pivot)
		row := r.row(j)
		copy(row[j:], g.row(j)[j:])
		for q := range j {
			if x := r.v[q*n+j]; x != 0 {
				axpy(row[j:], -x, r.row(q)[j:])
			}
		}
		for i := j; i < n; i++ {
			row[i] /= d
		}
		row[j] = d
	}
	return parallel(ctx, m.rows, 256, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			x := m.row(i)
			for j := range x {
				d := r.v[j*n+j]
				if d == 0 {
					x[j] = 0
					continue
				}
				x[j] /= d
				axpy(x[j+1:], -x[j], r.row(j)[j+1:])
			}
		}
	})
}
