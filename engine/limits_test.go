package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// limitsFull asks for the sizes that take minutes: a 100 MB document, and as many chunks as
// limitsChunks says.
const (
	limitsFull   = "ASSAY_LIMITS_FULL"
	limitsChunks = "ASSAY_LIMITS_CHUNKS"
)

// heapPeak runs f and returns the largest heap seen meanwhile, in bytes. It is sampled, so it may
// miss a short peak.
func heapPeak(f func()) uint64 {
	runtime.GC()
	var peak atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapAlloc))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	f()
	close(stop)
	<-done
	return peak.Load()
}

// TestLargeDocuments builds from documents that are large or strange in one way each. The memory
// is bounded by a multiple of the text.
func TestLargeDocuments(t *testing.T) {
	paragraph := "The kettle is descaled monthly, and the pan is never scrubbed with anything rough at all.\n\n"
	repeated := func(n int, f func(b *strings.Builder, i int)) func() string {
		return func() string {
			var b strings.Builder
			for i := range n {
				f(&b, i)
			}
			return b.String()
		}
	}
	for _, tt := range []struct {
		name    string
		full    bool
		times   uint64 // heap allowed per byte of text
		text    func() string
		query   string
		section string // of the first hit
	}{
		{"a 10 MB line", false, 60, func() string {
			return "# Line\n\n" + strings.Repeat("word ", 2<<20) + "needle\n"
		}, "needle", "Line"},
		{"a 10 MB word", false, 60, func() string {
			return "# Word\n\n" + strings.Repeat("x", 10<<20) + "\n\nneedle\n"
		}, "needle", "Word"},
		{"100,000 headings", false, 200, repeated(100_000, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "%s Heading %d\ntext number%d\n\n", strings.Repeat("#", i%6+1), i, i)
		}), "number77777", ""},
		{"1,000 levels of lists", false, 200, func() string {
			return "# Deep\n\n" + repeated(1000, func(b *strings.Builder, i int) {
				b.WriteString(strings.Repeat("  ", i) + "- item" + strconv.Itoa(i) + "\n")
			})()
		}, "item999", "Deep"},
		{"1,000 levels of quotes", false, 1 << 20, func() string {
			return "# Deep\n\n" + strings.Repeat("> ", 1000) + "needle\n"
		}, "needle", "Deep"},
		{"a 100 MB document", true, 40, func() string {
			part := "# Part\n\n" + strings.Repeat(paragraph, 10)
			return strings.Repeat(part, 100<<20/len(part)) + "# Last\n\nneedle\n"
		}, "needle", "Last"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.full && os.Getenv(limitsFull) != "1" {
				t.Skipf("takes a minute and gigabytes; set %s=1", limitsFull)
			}
			if testing.Short() || raced {
				t.Skip("large")
			}
			text := tt.text()
			docs := fstest.MapFS{"a.md": {Data: []byte(text)}}
			e := open(t, t.TempDir())
			var b *engine.Build
			start := time.Now()
			peak := heapPeak(func() { b = build(t, e, docs, engine.Settings{Embed: engine.EmbedSettings{Kind: "none"}}) })
			took := time.Since(start)
			if limit := 64<<20 + tt.times*uint64(len(text)); peak > limit {
				t.Errorf("heap of %d MiB for %d MiB of text", peak>>20, len(text)>>20)
			}
			resp, err := e.QueryBuild(t.Context(), b.ID, engine.Query{Text: tt.query, K: 1})
			if err != nil || len(resp.Hits) != 1 || !strings.Contains(resp.Hits[0].Text, tt.query) || tt.section != "" && resp.Hits[0].Section != tt.section {
				t.Errorf("%q finds %+v, %v", tt.query, resp, err)
			}
			t.Logf("%.1f MiB of text, %d chunks: %v, heap %d MiB", float64(len(text))/(1<<20), b.Manifest.Counts.Chunks, took.Round(10*time.Millisecond), peak>>20)
		})
	}
	t.Run("longer than MaxFileBytes", func(t *testing.T) {
		docs, err := corpus.FS("test", fstest.MapFS{
			"big.md": {Data: []byte(strings.Repeat("x ", 600))}, "small.md": {Data: []byte("# Small\n")},
		}, corpus.Options{MaxFileBytes: 1000}).Load(t.Context())
		if err != nil || len(docs.Documents) != 1 || len(docs.Skipped) != 1 || !strings.Contains(docs.Skipped[0].Reason, "1000") {
			t.Errorf("%+v, %v; want big.md skipped with the limit", docs, err)
		}
	})
}

// TestManyChunks builds ASSAY_LIMITS_CHUNKS chunks, for example a million, with the built-in
// embedder. The heap stays below a budget for each chunk, the documents themselves included.
func TestManyChunks(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(limitsChunks))
	if err != nil || n < 1 {
		t.Skipf("set %s to the number of chunks", limitsChunks)
	}
	const perDocument = 100
	// Bytes: of every chunk, and of those that the model is fitted on.
	const perChunk, perFitted, mostFitted = 2 << 10, 10 << 10, 250_000
	docs := make([]corpus.Document, 0, n/perDocument)
	seed := uint64(1)
	word := func() string {
		seed = seed*6364136223846793005 + 1442695040888963407
		return "w" + strconv.FormatUint((seed>>33)%(1+(seed>>20)%50_000), 36)
	}
	files := fstest.MapFS{}
	for i := range n / perDocument {
		var b strings.Builder
		for j := range perDocument {
			fmt.Fprintf(&b, "# Section %d of %d\n\n", j, i)
			for range 40 {
				b.WriteString(word() + " ")
			}
			b.WriteString("\n\n")
		}
		files[fmt.Sprintf("d%06d.md", i)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	loaded, err := corpus.FS("many", files, corpus.Options{}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clear(files)
	docs = append(docs, loaded.Documents...)
	kind := os.Getenv("ASSAY_LIMITS_EMBED")
	e := open(t, t.TempDir())
	var b *engine.Build
	stages := map[string]time.Duration{}
	start := time.Now()
	peak := heapPeak(func() {
		b, err = e.Build(t.Context(), loadedSource{&corpus.Collection{Name: "many", Documents: docs}}, engine.Settings{Embed: engine.EmbedSettings{Kind: kind}})
	})
	if err != nil {
		t.Fatal(err)
	}
	stages["build"] = time.Since(start)
	chunks := uint64(b.Manifest.Counts.Chunks)
	if limit := uint64(256<<20) + perChunk*chunks + perFitted*min(chunks, mostFitted); peak > limit {
		t.Errorf("heap of %d MiB for %d chunks, the budget is %d MiB", peak>>20, b.Manifest.Counts.Chunks, limit>>20)
	}
	override(t, e, b.ID)
	start = time.Now()
	hits, err := e.Search(t.Context(), engine.Query{Text: "w1 w2 w3 section", K: 10})
	if err != nil || len(hits) != 10 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	t.Logf("%d chunks, %d MiB of text, %d with vectors: built in %v, heap %d MiB; opened, verified and searched in %v",
		b.Manifest.Counts.Chunks, b.Manifest.Counts.TextBytes>>20, b.Manifest.Counts.Vectors, stages["build"].Round(time.Second), peak>>20, time.Since(start).Round(time.Millisecond))
}

type loadedSource struct{ docs *corpus.Collection }

// Load implements corpus.Source.
func (s loadedSource) Load(context.Context) (*corpus.Collection, error) { return s.docs, nil }

// TestLargeQueries: what a caller may ask for is bounded, and a refusal says by what.
func TestLargeQueries(t *testing.T) {
	labels := make([]string, 10_001)
	for i := range labels {
		labels[i] = fmt.Sprintf("label%05d", i)
	}
	docs := fstest.MapFS{}
	for i := range 40 {
		docs[fmt.Sprintf("d%02d.md", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("---\nacl: [%s]\n---\n# D\nkettle number%d\n", strings.Join(labels[i*250:(i+1)*250], ", "), i))}
	}
	e := open(t, t.TempDir())
	override(t, e, build(t, e, docs, engine.Settings{}).ID)
	for _, tt := range []struct {
		name string
		q    engine.Query
		want string // "" is accepted
		hits int
	}{
		{"a query of 1 MB", engine.Query{Text: strings.Repeat("kettle ", 150_000)}, "10000", 0},
		{"a query of one word of 1 MB", engine.Query{Text: strings.Repeat("k", 1<<20)}, "10000", 0},
		{"the longest query", engine.Query{Text: strings.Repeat("kettle ", 1428), As: labels[:1], Mode: "lexical"}, "", 1},
		{"k of a million", engine.Query{Text: "kettle", K: 1_000_000}, "k is 1000000, the range is 1 to 100", 0},
		{"10,000 labels", engine.Query{Text: "kettle", K: 100, As: labels[:10_000], Mode: "lexical"}, "", 40},
		{"one label more", engine.Query{Text: "kettle", As: labels}, "10001 permission labels, the limit is 10000", 0},
		{"the same label 10,000 times", engine.Query{Text: "kettle", As: slices.Repeat(labels[:1], 10_000), Mode: "lexical"}, "", 1},
		{"a label of 1 MB", engine.Query{Text: "kettle", As: []string{strings.Repeat("x", 1<<20)}, Mode: "lexical"}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hits, err := e.Search(t.Context(), tt.q)
			if tt.want == "" && (err != nil || len(hits) != tt.hits) {
				t.Errorf("%d hits, %v; want %d", len(hits), err, tt.hits)
			}
			if tt.want != "" && (!errors.Is(err, engine.ErrInput) || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1000) {
				t.Errorf("%.200v, want ErrInput with %q", err, tt.want)
			}
		})
	}
	t.Run("as many callers as there are labels", func(t *testing.T) {
		for i := range 2000 {
			hits, err := e.Search(t.Context(), engine.Query{Text: "kettle", As: labels[i : i+1], Mode: "lexical"})
			if err != nil || len(hits) != 1 {
				t.Fatalf("label %d: %d hits, %v", i, len(hits), err)
			}
		}
	})
	t.Run("a golden question of 1 MB", func(t *testing.T) {
		set, err := golden.Parse("golden.yaml", []byte("schema: assay.golden/v1\nname: long\nversion: 1\nquestions:\n  - {id: q1, question: "+strings.Repeat("kettle ", 150_000)+"?, answerable: false}\n"))
		if err != nil {
			return // refused when it is read
		}
		id, err := e.LiveID()
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.ValidateWith(t.Context(), id, set, hit1, engine.ValidateOptions{})
		if err == nil && v.Verdict.Verdict == "accept" {
			t.Errorf("verdict %s on a question that cannot be asked", v.Verdict.Verdict)
		}
	})
}

func TestManyDocumentsOfOneLabel(t *testing.T) {
	docs := fstest.MapFS{}
	for i := range 3000 {
		docs[fmt.Sprintf("d%04d.md", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("---\nacl: [user%d]\n---\nkettle\n", i))}
	}
	e := open(t, t.TempDir())
	override(t, e, build(t, e, docs, engine.Settings{Embed: engine.EmbedSettings{Kind: "none"}, Chunk: chunk.Settings{Kind: "fixed", Size: 100}}).ID)
	for i := 0; i < 3000; i += 100 {
		hits, err := e.Search(t.Context(), engine.Query{Text: "kettle", As: []string{fmt.Sprintf("user%d", i)}})
		if err != nil || len(hits) != 1 || string(hits[0].Doc) != fmt.Sprintf("d%04d.md", i) {
			t.Fatalf("user%d sees %v, %v", i, chunkIDs(hits), err)
		}
	}
}
