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
	if cpu.ARM64.HasASIMDDP {
		all = append(all, &dotKernels)
	}
	return all
}

// dotKernels scan the high plane with NEON's dot product instruction; the rest, which touches
// few rows, is in Go. Read-only.
var dotKernels = kernels{
	name: "neon-dot",
	high: func(dst []int32, codes []byte, q *quantisedQuery) {
		n := len(dst) / blockRows
		_, _ = codes[:n*64*q.groups], q.plain[:8*q.groups] // the assembly checks no bounds
		if n > 0 {
			highDot(&dst[0], &codes[0], &q.plain[0], q.groups, n)
		}
	},
	above: aboveGo,
	low:   lowGo,
	signs: signsGo,
}

//go:noescape
func highDot(dst *int32, codes *byte, plain *int8, groups, blocks int)
