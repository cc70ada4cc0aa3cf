package embed

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2 // read-only

// axpy adds x·src to dst, with the rounding of axpyGo.
func axpy(dst []float64, x float64, src []float64) {
	src = src[:len(dst)]
	if len(dst) == 0 {
		return
	}
	if !hasAVX2 {
		axpyGo(dst, x, src)
		return
	}
	axpyAVX2(&dst[0], &src[0], len(dst), x)
}

//go:noescape
func axpyAVX2(dst, src *float64, n int, x float64)
