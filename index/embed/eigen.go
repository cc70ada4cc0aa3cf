package embed

import (
	"cmp"
	"math"
	"slices"
)

// eigenSymmetric returns the eigenvalues of the symmetric matrix a in descending order and the
// eigenvectors as the columns of the second result, by cyclic Jacobi rotations (Golub & Van
// Loan, Matrix Computations, 8.5). a is destroyed. It is meant for a few hundred rows.
func eigenSymmetric(a *dense) ([]float64, *dense) {
	n := a.rows
	// v holds eigenvectors as rows while rotating, which keeps memory access sequential.
	v := newDense(n, n)
	for i := range n {
		v.v[i*n+i] = 1
	}
	var total float64
	for _, x := range a.v {
		total += float64(x * x)
	}
	for range 60 { // some 8 sweeps are usual; the bound only ends what NaN would keep going
		off := 0.0
		for p := range n {
			for _, x := range a.row(p)[p+1:] {
				off += float64(x * x)
			}
		}
		if !(off > total*1e-26) {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, v, p, q)
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.v[j*n+j], a.v[i*n+i]) })
	values, vectors := make([]float64, n), newDense(n, n)
	for j, from := range order {
		values[j] = a.v[from*n+from]
		for i, x := range v.row(from) {
			vectors.v[i*n+j] = x
		}
	}
	return values, vectors
}

// rotate makes a[p][q] zero by a rotation in the plane of p and q. It works on rows only, as
// the matrix is symmetric, and mirrors them to the columns afterwards.
func rotate(a, v *dense, p, q int) {
	n := a.rows
	apq := a.v[p*n+q]
	app, aqq := a.v[p*n+p], a.v[q*n+q]
	if apq == 0 || math.Abs(apq) < 1e-18*math.Sqrt(math.Abs(app)*math.Abs(aqq)) {
		return
	}
	theta := (aqq - app) / (2 * apq)
	t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(float64(t*t)+1)
	s := float64(t * c)
	turn(a.row(p), a.row(q), c, s)
	turn(v.row(p), v.row(q), c, s)
	tapq := float64(t * apq)
	a.v[p*n+p], a.v[q*n+q] = app-tapq, aqq+tapq
	a.v[p*n+q], a.v[q*n+p] = 0, 0
	for i := range n {
		if i != p && i != q {
			a.v[i*n+p], a.v[i*n+q] = a.v[p*n+i], a.v[q*n+i]
		}
	}
}

// turn replaces x and y by c·x − s·y and s·x + c·y.
func turn(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		x[i] = float64(c*a) - float64(s*b)
		y[i] = float64(s*a) + float64(c*b)
	}
}
