package remote_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/dense"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/index/remote"
	"github.com/seed792a4543/assay/index/remote/internal/remotetest"
	"github.com/seed792a4543/assay/internal/disk"
)

// made is a collection drawn from a seed: words by Zipf's law, 60 to a chunk, and vectors in 200
// clusters.
func made(n, dim int) (rows [][]float32, texts []string) {
	rng := rand.New(rand.NewPCG(11, 0))
	zipf := rand.NewZipf(rng, 1.1, 4, 30_000)
	centres := make([][]float64, 200)
	for i := range centres {
		centres[i] = make([]float64, dim)
		for j := range centres[i] {
			centres[i][j] = rng.NormFloat64()
		}
	}
	for range n {
		v, sum := make([]float64, dim), 0.
		c := centres[rng.IntN(len(centres))]
		for j := range v {
			v[j] = c[j] + rng.NormFloat64()
			sum += v[j] * v[j]
		}
		row := make([]float32, dim)
		for j := range v {
			row[j] = float32(v[j] / math.Sqrt(sum))
		}
		text := ""
		for range 60 {
			text += fmt.Sprintf("w%s ", unique(int(zipf.Uint64())))
		}
		rows, texts = append(rows, row), append(texts, text)
	}
	return rows, texts
}

// BenchmarkLive measures writing and both searches, top 100, on one real node and on the embedded
// index over the same chunks. It reports medians and 95th percentiles of single searches.
func BenchmarkLive(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		if n > 10_000 && !testing.Verbose() {
			continue // only with -v: it takes minutes
		}
		b.Run(fmt.Sprintf("chunks=%d", n), func(b *testing.B) { benchmarkLive(b, n) })
	}
}

func benchmarkLive(b *testing.B, n int) {
	const dim = 256
	rows, texts := made(n, dim)
	a, err := lexical.NewAnalyzer(lexical.Settings{Analyzer: "standard"})
	if err != nil {
		b.Fatal(err)
	}
	queries := make([]string, 200)
	for i := range queries {
		terms := a.Terms(texts[i*37])
		queries[i] = fmt.Sprint(terms[3], " ", terms[17], " ", terms[31], " ", terms[45])
	}
	search := func(name string, v index.VectorSearcher, t index.TextSearcher) {
		for leg, ask := range map[string]func(i int) ([]index.Candidate, error){
			"vector":  func(i int) ([]index.Candidate, error) { return v.SearchVector(b.Context(), rows[i*37], 100, nil) },
			"lexical": func(i int) ([]index.Candidate, error) { return t.SearchText(b.Context(), queries[i], 100, nil) },
		} {
			b.Run(fmt.Sprintf("leg=%s/index=%s", leg, name), func(b *testing.B) {
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					begin := time.Now()
					if _, err := ask(i % len(queries)); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begin))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
			})
		}
	}

	dir := b.TempDir()
	fsys := &disk.FS{}
	begin := time.Now()
	path := filepath.Join(dir, "vectors")
	if err := dense.Write(b.Context(), fsys, path, dim, rows); err != nil {
		b.Fatal(err)
	}
	vec, err := dense.Open(path, dense.Options{})
	if err != nil {
		b.Fatal(err)
	}
	docs := func(yield func(lexical.Doc) bool) {
		for i, text := range texts {
			if !yield(lexical.Doc{ID: chunkID(uint32(i)), Body: text}) {
				return
			}
		}
	}
	set := lexical.Settings{Analyzer: "standard"}
	stats, err := lexical.Build(b.Context(), fsys, filepath.Join(dir, "lexical"), docs, set)
	if err != nil {
		b.Fatal(err)
	}
	lex, err := lexical.Open(filepath.Join(dir, "lexical"), set, stats)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("embedded: %d chunks written in %v", n, time.Since(begin).Round(time.Millisecond))
	search("embedded", vec, lex)

	s := remotetest.Start(b, 1, 21960)
	for _, kind := range []string{remote.IndexFlat, remote.IndexHNSW} {
		c := connect(b, remote.Options{Nodes: s.Nodes(), Index: kind, Prefix: "Bench" + kind, Timeout: time.Minute, MaxResults: 100_000, Batch: 500})
		src := source("00000000bbbb", dim, rows, texts, nil)
		begin = time.Now()
		if _, err := c.Build(b.Context(), src); err != nil {
			b.Fatal(err)
		}
		took := time.Since(begin)
		b.Logf("%s: %d chunks written and verified in %v, %.0f a second", kind, n, took.Round(time.Millisecond), float64(n)/took.Seconds())
		x, err := c.Open(b.Context(), src)
		if err != nil {
			b.Fatal(err)
		}
		search(kind, x, x)
		var vector, words, fused float64
		const asked = 100
		for i := range asked {
			ev, lv := list(b, vec.SearchVector, rows[i*37]), list(b, x.SearchVector, rows[i*37])
			el, ll := list(b, lex.SearchText, queries[i]), list(b, x.SearchText, queries[i])
			vector += common(ev, lv) / asked
			words += common(el, ll) / asked
			fused += common(fuse(ev, el), fuse(lv, ll)) / asked
		}
		b.Logf("%s: of the ten best in the folder %.3f by vectors, %.3f by words, %.3f fused", kind, vector, words, fused)
	}
	if err := vec.Close(); err != nil {
		b.Error(err)
	}
	if err := lex.Close(); err != nil {
		b.Error(err)
	}
}

// list asks for a hundred hits.
func list[Q any](b *testing.B, search func(context.Context, Q, int, *index.Filter) ([]index.Candidate, error), q Q) []index.Candidate {
	b.Helper()
	out, err := search(b.Context(), q, 100, nil)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// fuse is the project's fusion with its default weights.
func fuse(vector, words []index.Candidate) (out []index.Candidate) {
	for _, f := range hybrid.Fuse(vector, words, hybrid.Settings{}.WithDefaults()) {
		out = append(out, index.Candidate{Ord: f.Ord, Score: f.Score})
	}
	return out
}

// common is the share of the ten best of want that are among the ten best of have.
func common(want, have []index.Candidate) float64 {
	want, have = want[:min(10, len(want))], have[:min(10, len(have))]
	n := 0
	for _, w := range want {
		if slices.ContainsFunc(have, func(h index.Candidate) bool { return h.Ord == w.Ord }) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(want)))
}
