package engine_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

// hashEmbedder stands in for a model: a text's vector is drawn from its digest.
type hashEmbedder struct {
	dim  int
	each time.Duration // that a text takes, as a server would
}

func (h hashEmbedder) Fingerprint() index.Fingerprint {
	return index.Fingerprint{Kind: "test", Model: "hash", Dimension: h.dim}
}

func (h hashEmbedder) Embed(_ context.Context, texts []string, _ index.Kind) ([][]float32, error) {
	time.Sleep(time.Duration(len(texts)) * h.each)
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		f := fnv.New64a()
		f.Write([]byte(text))
		rng := rand.New(rand.NewPCG(f.Sum64(), 1))
		row, norm := make([]float32, h.dim), 0.0
		for j := range row {
			row[j] = float32(rng.NormFloat64())
			norm += float64(row[j]) * float64(row[j])
		}
		for j := range row {
			row[j] /= float32(math.Sqrt(norm))
		}
		rows[i] = row
	}
	return rows, nil
}

// words is a corpus of documents of ten sections with words from a Zipf law.
func words(docs int) fstest.MapFS {
	rng := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(rng, 1.1, 4, 20_000)
	out := fstest.MapFS{}
	for d := range docs {
		var b strings.Builder
		fmt.Fprintf(&b, "# Document %d\n", d)
		for s := range 10 {
			fmt.Fprintf(&b, "\n## Section %d\n", s)
			for range 100 {
				fmt.Fprintf(&b, "w%d ", zipf.Uint64())
			}
			b.WriteByte('\n')
		}
		out[fmt.Sprintf("d%06d.md", d)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	return out
}

// BenchmarkSearch times whole queries, text of the hits included. docs counts documents of
// eleven chunks each.
func BenchmarkSearch(b *testing.B) {
	for _, docs := range []int{100, 1_000} {
		e, err := engine.Open(b.TempDir(), engine.Options{Embedder: hashEmbedder{dim: 384}, Verify: engine.VerifyNever})
		if err != nil {
			b.Fatal(err)
		}
		s := engine.Settings{Chunk: chunk.Settings{Kind: "section", Max: 2000}, Embed: engine.EmbedSettings{NoCache: true}}
		built, err := e.Build(b.Context(), corpus.FS("words", words(docs), corpus.Options{}), s)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.PromoteWith(b.Context(), built.ID, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "bench", Why: "bench"}}); err != nil {
			b.Fatal(err)
		}
		for _, mode := range []string{"vector", "lexical", "hybrid"} {
			b.Run(fmt.Sprintf("chunks=%d/mode=%s", built.Manifest.Counts.Chunks, mode), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					hits, err := e.Search(b.Context(), engine.Query{Text: "w17 w230 w1999 w4", K: 10, Mode: mode})
					if err != nil || len(hits) != 10 {
						b.Fatal(len(hits), err)
					}
				}
			})
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRebuild times builds after a change, beside one that is made anew: words alone, with the
// built-in model, and with a model behind a server that takes a millisecond a text. The number of
// documents, of eleven chunks each, is 1,000 or that of ASSAY_BENCH_DOCS. Every build's bytes are
// those of one made anew (TestReuseGivesTheSameBytes).
func BenchmarkRebuild(b *testing.B) {
	docs := 1_000
	if n, err := strconv.Atoi(os.Getenv("ASSAY_BENCH_DOCS")); err == nil {
		docs = n
	}
	for _, model := range []struct {
		name     string
		embedder index.Embedder
		embed    engine.EmbedSettings
	}{
		{name: "none", embed: engine.EmbedSettings{Kind: "none"}},
		{name: "builtin"},
		{name: "builtin-drift", embed: engine.EmbedSettings{Refit: "drift"}},
		{name: "1ms", embedder: hashEmbedder{dim: 384, each: time.Millisecond}},
	} {
		for _, row := range []struct {
			name    string
			changed int
			fresh   bool
		}{{"anew", 0, true}, {"1%", docs / 100, false}, {"one", 1, false}, {"none", 0, false}} {
			b.Run(fmt.Sprintf("model=%s/docs=%d/changed=%s", model.name, docs, row.name), func(b *testing.B) {
				s := engine.Settings{Chunk: chunk.Settings{Kind: "section", Max: 2000}, Embed: model.embed}
				files := words(docs)
				names := slices.Sorted(maps.Keys(files))
				for round := 0; b.Loop(); round++ {
					b.StopTimer()
					dir := b.TempDir()
					open := func(fresh bool) *engine.Engine {
						e, err := engine.Open(dir, engine.Options{Embedder: model.embedder, Verify: engine.VerifyNever, Fresh: fresh})
						if err != nil {
							b.Fatal(err)
						}
						return e
					}
					if !row.fresh {
						e := open(false)
						built, err := e.Build(b.Context(), corpus.FS("words", files, corpus.Options{}), s)
						if err != nil {
							b.Fatal(err)
						}
						if _, err := e.PromoteWith(b.Context(), built.ID, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "bench", Why: "bench"}}); err != nil {
							b.Fatal(err)
						}
						if err := e.Close(); err != nil {
							b.Fatal(err)
						}
					}
					for i := range row.changed {
						name := names[i*len(names)/row.changed]
						files[name] = &fstest.MapFile{Data: fmt.Appendf(files[name].Data, "\nchanged in round %d\n", round)}
					}
					e := open(row.fresh)
					b.StartTimer()
					built, err := e.Build(b.Context(), corpus.FS("words", files, corpus.Options{}), s)
					if err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					if want := docs - row.changed; !row.fresh && built.Reused != want {
						b.Fatalf("%d documents taken over, want %d", built.Reused, want)
					}
					if err := e.Close(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		}
	}
}
