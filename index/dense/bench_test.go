package dense

import (
	"bytes"
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
			x, err = Open(path, Options{Workers: 1, kernels: kern, Approximate: true})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("data=%s/kernels=%s/approximate", kind, kern.name), func(b *testing.B) {
				i := 0
				for b.Loop() {
					if _, err := x.SearchVector(b.Context(), queries[i%len(queries)], 10, nil); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
			x.Close()
		}
	}
}

// BenchmarkHigh compares the scan of the high plane alone, in cache and from memory, with
// reading the same bytes once.
func BenchmarkHigh(b *testing.B) {
	const groups = 384 / 8
	for _, rows := range []int{1024, 131072} {
		codes := make([]byte, rows*4*groups)
		for i := range codes {
			codes[i] = byte(i * 31)
		}
		dst := make([]int32, rows)
		var q quantisedQuery
		q.set(make([]int8, 384), groups)
		for _, k := range machineKernels() {
			b.Run(fmt.Sprintf("rows=%d/kernels=%s", rows, k.name), func(b *testing.B) {
				b.SetBytes(int64(len(codes)))
				for b.Loop() {
					k.high(dst, codes, &q)
				}
			})
		}
		b.Run(fmt.Sprintf("rows=%d/read", rows), func(b *testing.B) {
			b.SetBytes(int64(len(codes)))
			for b.Loop() {
				bytes.Count(codes, []byte{0})
			}
		})
	}
}

// BenchmarkReference is the time of chromem-go for what BenchmarkSearch does.
func BenchmarkReference(b *testing.B) {
	const dim, n = 384, 100_000
	rows := dataset("random", 1, n, dim)
	x := open(b, dim, rows, Options{})
	ref, err := x.Reference(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	q := queriesFor(rows, 1, dim)[0]
	for b.Loop() {
		if _, err := ref.Query(b.Context(), q, 10, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}
