//go:build !amd64 && !arm64

package dense

func bestKernels() *kernels { return &goKernels }

func machineKernels() []*kernels { return []*kernels{&goKernels} }
