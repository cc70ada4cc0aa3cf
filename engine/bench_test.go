package engine_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

// hashEmbedder stands in for a model: a text's vector is drawn from its digest.
type hashEmbedder struct{ dim int }

func (h hashEmbedder) Fingerprint() index.Fingerprint {
	return index.Fingerprint{Kind: "test", Model: "hash", Dimension: h.dim}
}

func (h hashEmbedder) Embed(_ context.Context, texts []string, _ index.Kind) ([][]float32, error) {
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
		e, err := engine.Open(b.TempDir(), engine.Options{Embedder: hashEmbedder{384}, Verify: engine.VerifyNever})
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
