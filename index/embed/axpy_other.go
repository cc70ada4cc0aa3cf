//go:build !amd64

package embed

// axpy adds x·src to dst.
func axpy(dst []float64, x float64, src []float64) { axpyGo(dst, x, src) }
