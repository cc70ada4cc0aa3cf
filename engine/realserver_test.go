package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
)

// wire notes the requests that a client sends.
type wire struct {
	mu     sync.Mutex
	paths  []string
	bodies []map[string]any
	texts  int    // sent to be embedded
	after  func() // is told of every request for vectors that was answered; may be nil
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var body map[string]any
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(data))
		if err := json.Unmarshal(data, &body); err != nil {
			return nil, err
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paths, w.bodies = append(w.paths, req.URL.Path), append(w.bodies, body)
	if inputs, ok := body["input"].([]any); ok && err == nil {
		w.texts += len(inputs)
		if w.after != nil {
			w.after()
		}
	}
	return res, err
}

func (w *wire) client() *http.Client { return &http.Client{Transport: w} }

// last is the body of the last request to the chat endpoint, of those that hold key.
func (w *wire) last(key string) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.bodies) - 1; i >= 0; i-- {
		if _, ok := w.bodies[i][key]; ok && strings.HasSuffix(w.paths[i], "/chat/completions") {
			return w.bodies[i]
		}
	}
	return nil
}

// realServer names a server to test against; without one t is skipped.
func realServer(t *testing.T, model string) (url, name string) {
	t.Helper()
	url, name = os.Getenv("ASSAY_OPENAI_URL"), os.Getenv(model)
	if url == "" || name == "" {
		t.Skipf("no server: set ASSAY_OPENAI_URL and %s, or run index/embed/realserver.sh", model)
	}
	return url, name
}

func openWith(t *testing.T, dir string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestRealServerEmbeds builds with the vectors of a real embedding server.
func TestRealServerEmbeds(t *testing.T) {
	url, model := realServer(t, "ASSAY_OPENAI_MODEL")
	fsys := guides(120)
	fsys["long.md"] = &fstest.MapFile{Data: []byte("# Long\n" + strings.Repeat("The kettle is cold and the oven is not. ", 150) + "The deposit is 40.\n")}
	s := engine.Settings{
		Chunk: chunk.Settings{Kind: "section", Max: 20000},
		Embed: engine.EmbedSettings{Kind: "openai", URL: url, Model: model, Batch: 16},
	}
	dir := t.TempDir()
	w := &wire{}
	e := openWith(t, dir, engine.Options{HTTP: w.client()})
	b := build(t, e, fsys, s)
	first := w.texts
	t.Logf("embedder %+v, %d texts in %d requests, warnings %q", *b.Manifest.Embedder, first, len(w.paths), b.Manifest.Warnings)
	override(t, e, b.ID)

	t.Run("EM-05", func(t *testing.T) {
		if !strings.Contains(b.Manifest.Embedder.Input, "split at") {
			t.Skip("the server reads the long text to its end")
		}
		if !strings.Contains(strings.Join(b.Manifest.Warnings, "\n"), "1 of 121 chunks are longer") {
			t.Errorf("warnings %q", b.Manifest.Warnings)
		}
		for _, how := range []string{"truncate", "refuse"} {
			o := s
			o.Embed.Overlong = how
			before := w.texts
			got, err := e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), o)
			if how == "refuse" {
				if err == nil || !strings.Contains(err.Error(), "long.md") {
					t.Errorf("refuse: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.ID == b.ID || !strings.Contains(strings.Join(got.Manifest.Warnings, "\n"), "were cut") {
				t.Errorf("truncate: build %s, warnings %q", got.ID, got.Manifest.Warnings)
			}
			// The short texts come from the cache; the probes are asked anew.
			if n := w.texts - before; n > 40 {
				t.Errorf("truncate: %d texts were embedded again", n)
			}
		}
	})
	t.Run("EM-07", func(t *testing.T) {
		reopened := &wire{}
		again := openWith(t, dir, engine.Options{HTTP: reopened.client()})
		if reopened.texts > 1 {
			t.Errorf("opening asked for %d vectors", reopened.texts)
		}
		res, err := again.Query(t.Context(), engine.Query{Text: "descale the kettle", Mode: "vector", K: 3})
		if err != nil || len(res.Hits) != 3 {
			t.Errorf("search: %+v, %v", res, err)
		}
		_, err = engine.Open(dir, engine.Options{Embed: &engine.EmbedSettings{Kind: "openai", URL: url, Model: "no-such-model-here", Tries: 1}})
		if err == nil || !strings.Contains(err.Error(), "no-such-model-here") {
			t.Errorf("opened with a model that the server does not have: %v", err)
		}
		o := s
		o.Embed.Model = "no-such-model-here"
		if _, err := e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), o); err == nil || !strings.Contains(err.Error(), "no-such-model-here") {
			t.Errorf("built with a model that the server does not have: %v", err)
		}
	})
	t.Run("EM-10", func(t *testing.T) {
		o := s
		o.Embed.NoCache = true
		other := t.TempDir()
		u := openWith(t, other, engine.Options{})
		plain := build(t, u, fsys, o)
		if plain.ID != b.ID || !maps.Equal(files(t, other+"/builds/"+b.ID), withoutRuns(files(t, dir+"/builds/"+b.ID))) {
			t.Errorf("builds %s and %s with and without the cache have other bytes", b.ID, plain.ID)
		}
		if _, err := os.Stat(filepath.Join(other, "cache", "embeddings")); err == nil {
			t.Error("a cache that was switched off was made")
		}
	})
	t.Run("stop and go on", func(t *testing.T) {
		dir, w := t.TempDir(), &wire{}
		e := openWith(t, dir, engine.Options{HTTP: w.client()})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		probes := 0
		w.after = func() {
			if probes++; w.texts > first/2 {
				stop()
			}
		}
		if _, err := e.Build(ctx, corpus.FS("test", fsys, corpus.Options{}), s); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped: %v", err)
		}
		sent := w.texts
		w.after = nil
		got := build(t, e, fsys, s)
		t.Logf("%d texts before, %d after the interruption, %d without one", sent, w.texts-sent, first)
		// What was under way and the questions about the model are asked twice.
		if got.ID != b.ID || w.texts > first+2*16+40 || w.texts-sent >= first {
			t.Errorf("build %s: %d texts before, %d after the interruption, %d without one", got.ID, sent, w.texts-sent, first)
		}
	})
}

// TestRealServerAnswers asks a real chat server. Its model may be nonsense: what counts is what is
// sent, and that whatever comes back becomes an answer or an error.
func TestRealServerAnswers(t *testing.T) {
	url, model := realServer(t, "ASSAY_OPENAI_CHAT_MODEL")
	w := &wire{}
	chat := engine.AnswerSettings{Kind: "chat", URL: url, Model: model, Seed: 7, MaxTokens: 60, K: 2}
	ask := func(t *testing.T, s engine.AnswerSettings, q engine.AskQuery) (*engine.AskResult, error) {
		t.Helper()
		dir := t.TempDir()
		b := build(t, openWith(t, dir, engine.Options{}), shop, engine.Settings{})
		e := openWith(t, dir, engine.Options{HTTP: w.client(), Answer: &s})
		q.Build, q.Text = b.ID, "How often do I descale a kettle?"
		return e.Ask(t.Context(), q)
	}
	t.Run("EM-09", func(t *testing.T) {
		res, err := ask(t, chat, engine.AskQuery{})
		if err != nil {
			t.Fatal(err)
		}
		sent := w.last("response_format")
		if v, ok := sent["temperature"]; !ok || v != 0.0 || sent["seed"] != 7.0 || sent["max_tokens"] != 60.0 || sent["model"] != model {
			t.Errorf("sent %v", sent)
		}
		a := res.Answer
		t.Logf("raw %q, structured %v, refused %v, citations %v, usage %+v, model %s", a.Raw, a.Structured, a.Refused, a.Citations, a.Usage, a.Model)
		if a.Raw == "" || a.Usage.PromptTokens == 0 || a.Usage.CompletionTokens == 0 || a.Usage.CompletionTokens > 60 || a.Settings["seed"] != "7" {
			t.Errorf("answer %+v", a)
		}
		again, err := ask(t, chat, engine.AskQuery{})
		if err != nil || again.Answer.Raw != a.Raw {
			t.Errorf("the same seed and temperature 0 give %q, %v", again.Answer.Raw, err)
		}
	})
	t.Run("stream", func(t *testing.T) {
		s := chat
		s.Stream = true
		var pieces strings.Builder
		res, err := ask(t, s, engine.AskQuery{Stream: func(p string) { pieces.WriteString(p) }})
		if err != nil {
			t.Fatal(err)
		}
		if w.last("response_format")["stream"] != true || res.Answer.Usage.CompletionTokens == 0 || res.Answer.Raw == "" {
			t.Errorf("sent %v, answer %+v", w.last("response_format"), res.Answer)
		}
		t.Logf("pieces %q, raw %q", pieces.String(), res.Answer.Raw)
		if !strings.Contains(res.Answer.Text, pieces.String()) {
			t.Errorf("streamed %q, the answer is %q", pieces.String(), res.Answer.Text)
		}
	})
	t.Run("rewrite and queries", func(t *testing.T) {
		s := chat
		s.Rewrite, s.Queries = true, 2
		res, err := ask(t, s, engine.AskQuery{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("notes %q", res.Notes)
		if res.Answer.Usage.Requests != 3 || len(res.Passages) == 0 {
			t.Errorf("%d requests, %d passages", res.Answer.Usage.Requests, len(res.Passages))
		}
	})
	t.Run("EM-06", func(t *testing.T) {
		s := chat
		s.Timeout = time.Microsecond
		start := time.Now()
		if _, err := ask(t, s, engine.AskQuery{}); err == nil || !strings.Contains(err.Error(), "no complete reply") {
			t.Errorf("time limit: %v", err)
		}
		t.Logf("gave up after %s", time.Since(start))
	})
	t.Run("EM-03", func(t *testing.T) {
		s := chat
		s.Model = "no-such-model-here"
		_, err := ask(t, s, engine.AskQuery{})
		if err == nil || !strings.Contains(err.Error(), "no-such-model-here") || !strings.Contains(err.Error(), "404") {
			t.Errorf("unknown model: %v", err)
		}
		t.Log(err)
	})
	t.Run("answers", func(t *testing.T) {
		dir := t.TempDir()
		b := build(t, openWith(t, dir, engine.Options{}), shop, engine.Settings{})
		e := openWith(t, dir, engine.Options{HTTP: w.client(), Answer: &chat})
		for range 2 {
			before := len(w.paths)
			res, err := e.Answers(t.Context(), shopSet(t), engine.AnswersOptions{Build: b.ID, Repeat: 2, Concurrency: 2})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Records) != 22 || res.Table == nil {
				t.Fatalf("%d records", len(res.Records))
			}
			for _, r := range res.Records {
				if r.Error != "" {
					t.Errorf("%s: %s", r.Question, r.Error)
				}
			}
			t.Logf("%d requests", len(w.paths)-before)
		}
	})
}
