package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
)

// guides are n documents of one chunk each, whose words the built-in model can be fitted on.
func guides(n int) fstest.MapFS {
	things := strings.Fields("kettle oven fan iron toaster fridge boiler mixer grill lamp heater kiln pump freezer hob")
	acts := strings.Fields("clean descale repair move open drain return install test store")
	out := fstest.MapFS{}
	for i := range n {
		thing, act := things[i%len(things)], acts[i*7/3%len(acts)]
		out[fmt.Sprintf("g%03d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"# Guide %d\nTo %s the %s, wait until the %s is cold, then %s it with care. Part %s-%d helps.\n", i, act, thing, thing, act, thing, i%9)}
	}
	return out
}

func TestRefit(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir)
	drift := engine.Settings{Embed: engine.EmbedSettings{Refit: "drift"}}
	model := func(b *engine.Build) string {
		t.Helper()
		return files(t, dir+"/builds/"+b.ID)["embedder.dat"]
	}
	again := func(fsys fstest.MapFS, s engine.Settings, want *engine.Build) {
		t.Helper()
		if b := build(t, e, fsys, s); b.ID != want.ID || !b.Existed {
			t.Errorf("built again: %s, want %s", b.ID, want.ID)
		}
	}
	// Without a live build there is no model to keep. Its settings do not say drift: the model is
	// made of the same things all the same.
	first := build(t, e, guides(100), engine.Settings{})
	if m := first.Manifest.Embedder.Model; !strings.HasPrefix(m, "latent-") {
		t.Fatalf("the model is %s: not fitted", m)
	}
	override(t, e, first.ID)

	one := guides(101)
	kept := build(t, e, one, drift)
	if model(kept) != model(first) || kept.Manifest.Embedder.Revision != first.Manifest.Embedder.Revision {
		t.Error("one document more: the model is another")
	}
	if kept.ID == first.ID || kept.Manifest.Counts.Vectors != 101 {
		t.Errorf("one document more: build %s with %d vectors", kept.ID, kept.Manifest.Counts.Vectors)
	}
	always := build(t, e, one, engine.Settings{Embed: engine.EmbedSettings{Refit: "always"}})
	if model(always) == model(first) {
		t.Error("refit always kept the model")
	}
	again(one, engine.Settings{}, always) // always is the default
	again(one, drift, kept)
	override(t, e, kept.ID)
	again(one, drift, kept) // from itself

	double := guides(200)
	next := build(t, e, double, drift)
	if model(next) == model(kept) {
		t.Error("twice as many documents: the model was kept")
	}
	again(double, drift, next)
	override(t, e, next.ID)
	again(double, drift, next)

	// The same bytes in another store with the same history.
	other := t.TempDir()
	o := open(t, other)
	override(t, o, build(t, o, guides(100), engine.Settings{}).ID)
	b := build(t, o, one, drift)
	if b.ID != kept.ID || !maps.Equal(files(t, other+"/builds/"+b.ID), withoutRuns(files(t, dir+"/builds/"+kept.ID))) {
		t.Error("the same history gives other bytes")
	}

	// A model made with other settings is not kept.
	fine := drift
	fine.Embed.Seed = 7
	if b := build(t, e, double, fine); model(b) == model(next) {
		t.Error("another seed: the model was kept")
	}
	// A damaged one neither.
	flip(t, dir+"/builds/"+next.ID+"/embedder.dat", 5000)
	if b := build(t, e, guides(201), drift); model(b) == model(next) || b.Manifest.Embedder.Revision == next.Manifest.Embedder.Revision {
		t.Error("damaged: the model was kept")
	}
}

// withoutRuns leaves out the evaluations of a build.
func withoutRuns(m map[string]string) map[string]string {
	maps.DeleteFunc(m, func(name, _ string) bool { return strings.HasPrefix(name, "evaluations") })
	return m
}

func TestRefitSetting(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		s          engine.Settings
	}{
		{"unknown", "always or drift", engine.Settings{Embed: engine.EmbedSettings{Refit: "never"}}},
		{"other embedder", "kind none", engine.Settings{Embed: engine.EmbedSettings{Kind: "none", Refit: "drift"}}},
		{"per label", "per-label", engine.Settings{Embed: engine.EmbedSettings{Refit: "drift"}, Lexical: lexical.Settings{Statistics: "per-label"}}},
	} {
		if err := tt.s.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	s, err := engine.ParseSettings("assay.yaml", []byte("embed: {refit: drift}\n"))
	if err != nil || s.Embed.Refit != "drift" {
		t.Errorf("parsed %+v, %v", s.Embed, err)
	}
}

// TestHomestoreHybrid: on the bundled collection the built-in embedder does no harm on the dev
// questions. docs/embedders.md has the figures of all questions.
func TestHomestoreHybrid(t *testing.T) {
	set, err := golden.Parse(homestore.GoldenFile, homestore.Golden())
	if err != nil {
		t.Fatal(err)
	}
	s, err := engine.ParseSettings(homestore.ConfigFile, homestore.Config())
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, t.TempDir())
	b, err := e.Build(t.Context(), corpus.FS(homestore.Name, homestore.Documents(), corpus.Options{Include: s.Corpus.Include}), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range []string{golden.Dev, golden.All} {
		got := map[string]float64{}
		for _, mode := range []string{"lexical", "hybrid"} {
			out, err := e.Evaluate(t.Context(), b.ID, set, engine.EvalOptions{
				Split: split, Mode: mode, Cutoffs: []int{10}, Measures: []string{"ndcg@10"}, Resamples: -1})
			if err != nil {
				t.Fatal(err)
			}
			v := out.Evaluation.Measures["ndcg@10"]
			got[mode] = v.Mean.V
			t.Logf("%s, %s: nDCG@10 %.4f over %d questions", split, mode, got[mode], v.NScored)
		}
		if split == golden.Dev && got["hybrid"] < got["lexical"]-0.005 {
			t.Errorf("%s: hybrid has nDCG@10 %.4f, lexical %.4f: more than .005 worse", split, got["hybrid"], got["lexical"])
		}
	}
}

// cutting is an Ollama-like server that reads the first window words of a text.
type cutting struct {
	mu       sync.Mutex
	window   int
	digest   string
	turned   bool // another model
	requests [][]string
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/api/tags" {
		fmt.Fprintf(w, `{"models":[{"name":"m:latest","digest":%q}]}`, c.digest)
		return
	}
	var q struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.requests = append(c.requests, q.Input)
	tokens, data := 0, make([]map[string]any, len(q.Input))
	for i, text := range q.Input {
		v := []float64{1, 0, 0, 0}
		words := strings.Fields(text)
		words = words[:min(c.window, len(words))]
		for _, word := range words {
			v[1+(len(word)+int(word[0]))%3]++
		}
		tokens += len(words)
		if c.turned {
			slices.Reverse(v)
		}
		data[i] = map[string]any{"index": i, "embedding": v}
	}
	reply := map[string]any{"data": data, "model": "m", "usage": map[string]int{"prompt_tokens": tokens}}
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		panic(err)
	}
}

// asked returns the probes and the other texts of the requests since the last call.
func (c *cutting) asked() (probes, texts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.requests {
		for _, text := range r {
			if strings.HasPrefix(text, "one one") {
				probes++
			} else {
				texts++
			}
		}
	}
	c.requests = nil
	return probes, texts
}

// TestServerWindow: EM-05, a server that cuts long texts without a word, from the settings' side.
func TestServerWindow(t *testing.T) {
	server := &cutting{window: 100, digest: "abc"}
	h := httptest.NewServer(server)
	defer h.Close()
	fsys := guides(20)
	fsys["long.md"] = &fstest.MapFile{Data: []byte("# Long\n" + strings.Repeat("red hot kettle ", 100) + "\n")}
	s := engine.Settings{
		Chunk: chunk.Settings{Kind: "section", Max: 20000},
		Embed: engine.EmbedSettings{Kind: "openai", URL: h.URL + "/v1", Model: "m"},
	}
	dir := t.TempDir()
	e := open(t, dir)
	warned := func(b *engine.Build, want string) {
		t.Helper()
		if got := strings.Join(b.Manifest.Warnings, "\n"); !strings.Contains(got, want) {
			t.Errorf("build %s: warnings %q lack %q", b.ID, got, want)
		}
	}
	first := build(t, e, fsys, s)
	if probes, texts := server.asked(); probes == 0 || texts < 21 {
		t.Errorf("the first build asked for %d probes and %d texts", probes, texts)
	}
	if in := first.Manifest.Embedder.Input; in != "split at 100 estimated tokens" {
		t.Errorf("input %q", in)
	}
	warned(first, "1 of 21 chunks are longer than the 100 estimated tokens")
	override(t, e, first.ID)

	// What was learnt is in the build: nothing is probed to search it.
	opened := open(t, dir)
	if _, err := opened.Query(t.Context(), engine.Query{Text: "kettle"}); err != nil {
		t.Error(err)
	}
	if probes, texts := server.asked(); probes > 0 || texts > 3 {
		t.Errorf("opening and one query asked for %d probes and %d texts", probes, texts)
	}
	// Nor is it to build again, as long as the model is the same.
	if b := build(t, e, fsys, s); b.ID != first.ID {
		t.Errorf("built again: %s, want %s", b.ID, first.ID)
	}
	if probes, _ := server.asked(); probes > 0 {
		t.Errorf("the second build asked for %d probes", probes)
	}
	// Another way with the long text embeds that text alone.
	cut := s
	cut.Embed.Overlong = "truncate"
	second := build(t, e, fsys, cut)
	warned(second, "were cut")
	if probes, texts := server.asked(); probes > 0 || texts > 10 || second.ID == first.ID { // it, dimension and drift probes
		t.Errorf("truncate: build %s asked for %d probes and %d texts", second.ID, probes, texts)
	}
	cut.Embed.Overlong = "refuse"
	if _, err := e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), cut); err == nil || !strings.Contains(err.Error(), "long.md > Long (line 1)") {
		t.Errorf("refuse: %v", err)
	}
	// A limit that is set is not probed.
	set := s
	set.Embed.MaxTokens = 50
	server.asked()
	if b := build(t, e, fsys, set); b.Manifest.Embedder.Input != "split at 50 estimated tokens" {
		t.Errorf("input %q", b.Manifest.Embedder.Input)
	}
	if probes, _ := server.asked(); probes > 0 {
		t.Errorf("max_tokens is set, but there were %d probes", probes)
	}
	// Another model, or another store without the cache, is asked anew, with the same result.
	o := s
	o.Embed.NoCache = true
	other := open(t, t.TempDir())
	if b := build(t, other, fsys, o); b.ID != first.ID {
		t.Errorf("without the cache: build %s, want %s", b.ID, first.ID)
	}
	if probes, _ := server.asked(); probes == 0 {
		t.Error("a new store did not probe")
	}
	server.digest, server.window = "def", 80
	if b := build(t, e, fsys, s); b.Manifest.Embedder.Input != "split at 80 estimated tokens" || b.ID == first.ID {
		t.Errorf("another model: build %s, %+v", b.ID, b.Manifest.Embedder)
	}
	if _, err := engine.Open(dir, engine.Options{}); !errors.Is(err, index.ErrEmbedder) {
		t.Errorf("opened with another model behind the name: %v", err)
	}
	// A server that tells no revision: its vectors of today are not mixed with those of the cache.
	s.Embed.Revision = "mine"
	fsys["more.md"] = &fstest.MapFile{Data: []byte("# More\nIs it new?\n")}
	build(t, e, fsys, s)
	server.turned = true
	fsys["yet.md"] = &fstest.MapFile{Data: []byte("# Yet\nAnd this?\n")}
	if _, err := e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), s); !errors.Is(err, index.ErrEmbedder) || !strings.Contains(err.Error(), "embed.revision") {
		t.Errorf("another model behind a revision that was set: %v", err)
	}
	s.Embed.Revision = "mine, second"
	build(t, e, fsys, s)
}
