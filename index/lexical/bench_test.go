package lexical

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
)

// synthetic returns n chunks of 100 words drawn from a Zipf distribution over 50,000 words, and
// queries of four words: one common, three of middling frequency.
func synthetic(n int) (docs []Doc, queries []string) {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.07, 8, 49_999)
	word := func(i uint64) string { return fmt.Sprintf("t%s", strings.Map(letter, fmt.Sprint(i))) }
	var b strings.Builder
	for i := range n {
		b.Reset()
		for range 100 {
			b.WriteString(word(z.Uint64()))
			b.WriteByte(' ')
		}
		docs = append(docs, Doc{ID: fmt.Sprintf("doc-%08d", i), Body: b.String()})
	}
	for range 100 {
		queries = append(queries, fmt.Sprintf("%s %s %s %s",
			word(r.Uint64N(10)), word(20+r.Uint64N(500)), word(100+r.Uint64N(2000)), word(500+r.Uint64N(5000))))
	}
	return docs, queries
}

// letter keeps synthetic words from looking like product codes.
func letter(r rune) rune { return 'a' + r - '0' }

// BenchmarkSearch compares with bleve's own search over an index of the same words in one run;
// x-bleve is the ratio of the medians.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("docs=%dk", n/1000), func(b *testing.B) {
			docs, queries := synthetic(n)
			x, err := buildAt(filepath.Join(b.TempDir(), "lexical"), Settings{Analyzer: "standard"}, docs)
			if err != nil {
				b.Fatal(err)
			}
			defer x.Close()
			peer := bleveIndex(b, docs)
			defer peer.Close()
			for _, k := range []int{10, 100} {
				b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
					var theirs []time.Duration
					for _, q := range queries {
						req := bleve.NewSearchRequestOptions(bleve.NewMatchQuery(q), k, 0, false)
						start := time.Now()
						if _, err := peer.Search(req); err != nil {
							b.Fatal(err)
						}
						theirs = append(theirs, time.Since(start))
					}
					var ours []time.Duration
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						start := time.Now()
						if _, err := x.SearchText(context.Background(), queries[i%len(queries)], k, nil); err != nil {
							b.Fatal(err)
						}
						ours = append(ours, time.Since(start))
						i++
					}
					slices.Sort(ours)
					slices.Sort(theirs)
					o, p := ours[len(ours)/2], theirs[len(theirs)/2]
					b.ReportMetric(float64(o.Nanoseconds())/1e3, "median-µs")
					b.ReportMetric(float64(p.Nanoseconds())/1e3, "bleve-µs")
					b.ReportMetric(float64(p)/float64(o), "x-bleve")
				})
			}
		})
	}
}

// bleveIndex builds the peer with bleve's own builder, lean mapping and standard analyzer.
func bleveIndex(b *testing.B, docs []Doc) bleve.Index {
	b.Helper()
	text := bleve.NewTextFieldMapping()
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, false, false, false
	text.Analyzer = standard.Name
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", text)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = doc
	m.ScoringModel = "bm25"
	m.DefaultField = "text"
	path := filepath.Join(b.TempDir(), "bleve")
	w, err := bleve.NewBuilder(path, m, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range docs {
		if err := w.Index(d.ID, map[string]any{"text": d.Body}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	x, err := bleve.OpenUsing(path, map[string]any{"read_only": true})
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// BenchmarkOpen is the time to map an index and answer its first query.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("docs=%dk", n/1000), func(b *testing.B) {
			docs, queries := synthetic(n)
			dir := filepath.Join(b.TempDir(), "lexical")
			stats, err := Build(context.Background(), nil, dir, slices.Values(docs), Settings{Analyzer: "standard"})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				x, err := Open(dir, Settings{}, stats)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := x.SearchText(context.Background(), queries[0], 10, nil); err != nil {
					b.Fatal(err)
				}
				if err := x.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBuild compares building with bleve's own builder; x-bleve below 1.3 is the aim.
func BenchmarkBuild(b *testing.B) {
	docs, _ := synthetic(20_000)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, err := Build(context.Background(), nil, filepath.Join(b.TempDir(), "lexical"), slices.Values(docs), Settings{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bleve", func(b *testing.B) {
		for b.Loop() {
			if err := bleveIndex(b, docs).Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
