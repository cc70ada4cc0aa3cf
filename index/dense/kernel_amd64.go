package dense

import "golang.org/x/sys/cpu"

// bestKernels returns the fastest kernels this machine can run.
func bestKernels() *kernels {
	all := machineKernels()
	return all[len(all)-1]
}

// machineKernels returns every set of kernels this machine can run, slowest first.
func machineKernels() []*kernels {
	all := []*kernels{&goKernels}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, &avx2Kernels)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI {
		all = append(all, &vnniKernels)
	}
	return all
}

// Read-only.
var (
	avx2Kernels = kernels{
		name: "avx2",
		high: func(dst []int32, codes []byte, q *quantisedQuery) {
			if n := highBlocks(dst, codes, q); n > 0 {
				highAVX2(&dst[0], &codes[0], &q.plain[0], q.groups, n)
			}
		},
		above: func(bits []uint64, d []int32, scale, err []float32, c, e, t float32) {
			if n := aboveWords(bits, d, scale, err); n > 0 {
				aboveAVX2(&bits[0], &d[0], &scale[0], &err[0], n, c, e, t)
			}
		},
		low: func(dst []int32, codes []byte, list []uint32, q *quantisedQuery) {
			if n := lowRows(dst, codes, list, q); n > 0 {
				var tail [8]int32
				for i := range q.groups % 8 {
					tail[i] = -1
				}
				lowAVX2(&dst[0], &codes[0], &list[0], n, &q.even[0], &q.odd[0], 4*q.groups, &tail[0])
			}
		},
		near: func(dst, matrix []float32, list []uint32, query []float32) {
			if n := nearRows(dst, matrix, list, query); n > 0 {
				nearAVX2(&dst[0], &matrix[0], &list[0], n, &query[0], len(query))
			}
		},
		signs: func(dst []int32, codes []uint64, q *coarseQuery) {
			n := signBlocks(dst, codes, q)
			switch {
			case q.words > 31: // the sums of a byte would overflow
				signsGo(dst, codes, q)
			case n > 0:
				signsAVX2(&dst[0], &codes[0], &q.planes[0], q.words, n)
			}
		},
	}
	vnniKernels = kernels{
		name: "avx512-vnni",
		high: func(dst []int32, codes []byte, q *quantisedQuery) {
			if n := highBlocks(dst, codes, q); n > 0 {
				highVNNI(&dst[0], &codes[0], &q.plain[0], q.groups, n)
			}
		},
		above: func(bits []uint64, d []int32, scale, err []float32, c, e, t float32) {
			if n := aboveWords(bits, d, scale, err); n > 0 {
				aboveAVX512(&bits[0], &d[0], &scale[0], &err[0], n, c, e, t)
			}
		},
		low: func(dst []int32, codes []byte, list []uint32, q *quantisedQuery) {
			if n := lowRows(dst, codes, list, q); n > 0 {
				lowVNNI(&dst[0], &codes[0], &list[0], n, &q.even[0], &q.odd[0], 4*q.groups)
			}
		},
		near: func(dst, matrix []float32, list []uint32, query []float32) {
			if n := nearRows(dst, matrix, list, query); n > 0 {
				nearAVX512(&dst[0], &matrix[0], &list[0], n, &query[0], len(query))
			}
		},
		signs: func(dst []int32, codes []uint64, q *coarseQuery) {
			if n := signBlocks(dst, codes, q); n > 0 {
				signsAVX512(&dst[0], &codes[0], &q.planes[0], q.words, n)
			}
		},
	}
)

// The assembly does not check bounds: these do, and panic as Go code would.

func highBlocks(dst []int32, codes []byte, q *quantisedQuery) int {
	n := len(dst) / blockRows
	_ = codes[:n*64*q.groups]
	_ = q.plain[:8*q.groups]
	return n
}

func aboveWords(bits []uint64, d []int32, scale, err []float32) int {
	n := len(bits)
	_, _, _ = d[:64*n], scale[:64*n], err[:64*n]
	return n
}

func lowRows(dst []int32, codes []byte, list []uint32, q *quantisedQuery) int {
	_ = dst[:len(list)]
	size := 4 * q.groups
	_, _ = q.even[:(size+63)/64*64], q.odd[:(size+63)/64*64]
	for _, r := range list {
		_ = codes[int(r)*size : int(r)*size+size]
	}
	return len(list)
}

func signBlocks(dst []int32, codes []uint64, q *coarseQuery) int {
	n := len(dst) / signRows
	_, _ = codes[:n*signRows*q.words], q.planes[:4*q.words]
	return n
}

func nearRows(dst, matrix []float32, list []uint32, query []float32) int {
	_ = dst[:len(list)]
	for _, r := range list {
		_ = matrix[int(r)*len(query) : (int(r)+1)*len(query)]
	}
	return len(list)
}

//go:noescape
func highVNNI(dst *int32, codes *byte, plain *int8, groups, blocks int)

//go:noescape
func aboveAVX512(bits *uint64, d *int32, scale, err *float32, words int, c, e, t float32)

//go:noescape
func lowVNNI(dst *int32, codes *byte, list *uint32, n int, even, odd *int8, size int)

//go:noescape
func highAVX2(dst *int32, codes *byte, plain *int8, groups, blocks int)

//go:noescape
func aboveAVX2(bits *uint64, d *int32, scale, err *float32, words int, c, e, t float32)

//go:noescape
func lowAVX2(dst *int32, codes *byte, list *uint32, n int, even, odd *int8, size int, tail *int32)

//go:noescape
func nearAVX512(dst, matrix *float32, list *uint32, n int, query *float32, dim int)

//go:noescape
func nearAVX2(dst, matrix *float32, list *uint32, n int, query *float32, dim int)

//go:noescape
func signsAVX512(dst *int32, codes, planes *uint64, words, blocks int)

//go:noescape
func signsAVX2(dst *int32, codes, planes *uint64, words, blocks int)
