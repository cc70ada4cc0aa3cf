package dense

import (
	"fmt"
	"path/filepath"
	"testing"
)

func BenchmarkSearch(b *testing.B) {
	const dim, n = 384, 100_000
	for _, kind := range []string{"random", "clustered"} {
		rows := dataset(kind, 1, n, dim)
		path := filepath.Join(b.TempDir(), "vectors")
		if err := Write(b.Context(), nil, path, dim, rows); err != nil {
			b.Fatal(err)
		}
		queries := queriesFor(rows, 1, dim)
		for _, kern := range machineKernels() {
			x, err := Open(path, Options{Workers: 1, kernels: kern})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("data=%s/kernels=%s", kind, kern.name), func(b *testing.B) {
				i := 0
				for b.Loop() {
					if _, err := x.SearchVector(b.Context(), queries[i%len(queries)], 10, nil); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
			b.Run(fmt.Sprintf("data=%s/kernels=%s/batch", kind, kern.name), func(b *testing.B) {
				for b.Loop() {
					if _, err := x.SearchVectors(b.Context(), queries, 10, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(queries)), "ns/query")
			})
			x.Close()
		}
	}
}
