package openai

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// TestRealServer runs against a real server where one is named: ASSAY_OPENAI_URL is its base URL,
// ASSAY_OPENAI_MODEL its embedding model. index/embed/realserver.sh starts one.
func TestRealServer(t *testing.T) {
	url, model := os.Getenv("ASSAY_OPENAI_URL"), os.Getenv("ASSAY_OPENAI_MODEL")
	if url == "" || model == "" {
		t.Skip("no server: set ASSAY_OPENAI_URL and ASSAY_OPENAI_MODEL, or run index/embed/realserver.sh")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	real := func(t *testing.T, o Options) *Embedder {
		t.Helper()
		o.URL, o.Model = url, model
		e, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		return e
	}
	embed := func(t *testing.T, e *Embedder, texts ...string) [][]float32 {
		t.Helper()
		rows, err := e.Embed(ctx, texts, index.KindDocument)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if err := unit.Check(r, e.Fingerprint().Dimension); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
		}
		return rows
	}
	texts := make([]string, 150)
	for i := range texts {
		texts[i] = fmt.Sprintf("guide %d: descale kettle %d every %d weeks", i, i%7, i%5+1) + strings.Repeat(" with care", i%9)
	}
	one := real(t, Options{Batch: 1})
	want := embed(t, one, texts...)
	t.Logf("model %+v, echoed as %q", one.Fingerprint(), one.Stats().Models)

	t.Run("EM-01", func(t *testing.T) {
		e := real(t, Options{Batch: 16, Concurrency: 4})
		worst := 1.0
		for i, row := range embed(t, e, texts...) {
			c := unit.Cosine(row, want[i])
			worst = min(worst, c)
			if c < 0.999 {
				t.Errorf("text %d has another vector in a batch: cosine %.6f", i, c)
			}
		}
		t.Logf("least cosine between batches of 16 and of 1: %.9f; %d requests, %d tokens, warnings %q", worst, e.Stats().Requests, e.Stats().Tokens, e.Stats().Warnings)
		if s := e.Stats(); s.Requests < 10 || s.Tokens == 0 || len(s.Warnings) > 0 || len(s.Models) != 1 || !sameModel(s.Models[0], model) {
			t.Errorf("stats %+v", s)
		}
		if i := slices.IndexFunc(want[1:], func(r []float32) bool { return unit.Cosine(r, want[0]) > 0.9999999 }); i >= 0 {
			t.Errorf("texts 0 and %d have one vector: the order cannot be checked", i+1)
		}
	})
	t.Run("EM-03", func(t *testing.T) {
		e, err := New(Options{URL: url, Model: "no-such-model-here", Tries: 2})
		if err != nil {
			t.Fatal(err)
		}
		err = e.Prepare(ctx)
		var server *ServerError
		if !errors.As(err, &server) || !strings.Contains(err.Error(), "no-such-model-here") || server.Tries > 1 {
			t.Errorf("a model that the server does not have: %v", err)
		}
		t.Log(err)
	})
	t.Run("EM-05", func(t *testing.T) {
		e := real(t, Options{ProbeWindow: true, ProbeTokens: 4096})
		w, err := e.MeasureWindow(ctx)
		if err != nil {
			t.Fatal(err)
		}
		limit := InputLimit(e.Fingerprint())
		t.Logf("window %+v, input %q, %d requests", w, e.Fingerprint().Input, e.Stats().Requests)
		if limit == 0 {
			t.Skip("the server reads texts of 4096 words to their end")
		}
		long := strings.Repeat("the kettle is cold ", limit)
		ends := []string{long + "and the deposit is 40.", long + "and descale it every seventh week."}
		if e.TooLong(texts[0], index.KindDocument) || !e.TooLong(ends[0], index.KindDocument) {
			t.Errorf("limit %d: which texts are too long?", limit)
		}
		sent := real(t, Options{Tries: 1})
		whole, err := sent.Embed(ctx, ends, index.KindDocument)
		switch {
		case w.Truncates && err != nil:
			t.Errorf("the probe saw texts cut without a word, but: %v", err)
		case w.Truncates && unit.Cosine(whole[0], whole[1]) < 0.99999:
			t.Errorf("the probe saw texts cut, but the end counts: cosine %v", unit.Cosine(whole[0], whole[1]))
		case w.Refuses && err == nil:
			t.Error("the probe saw texts refused, but they are embedded")
		}
		t.Logf("sent whole: %v, warnings %q", err, sent.Stats().Warnings)
		rows := embed(t, e, ends...)
		if c := unit.Cosine(rows[0], rows[1]); c > 0.9999999 || e.Stats().Split != 2 || len(e.Stats().Warnings) > 1 {
			t.Errorf("split: cosine %v of texts with different ends, stats %+v", c, e.Stats())
		}
		e = real(t, Options{MaxTokens: limit, OverLong: "truncate"})
		rows = embed(t, e, ends...)
		if c := unit.Cosine(rows[0], rows[1]); c < 0.9999999 || e.Stats().Truncated != 2 || len(e.Stats().Warnings) > 0 {
			t.Errorf("truncate: cosine %v, stats %+v", c, e.Stats())
		}
		_, err = real(t, Options{MaxTokens: limit, OverLong: "refuse"}).Embed(ctx, []string{"short", ends[0]}, index.KindDocument)
		if text := new(unit.TextError); !errors.As(err, &text) || text.Index != 1 || !strings.Contains(err.Error(), fmt.Sprint(limit)) {
			t.Errorf("refuse: %v", err)
		}
	})
	t.Run("EM-06", func(t *testing.T) {
		e, err := New(Options{URL: url, Model: model, Dimension: one.Fingerprint().Dimension, Timeout: time.Microsecond, Tries: 2, MaxWait: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Embed(ctx, texts, index.KindDocument)
		if err == nil || !strings.Contains(err.Error(), "no reply within 1µs") || !strings.Contains(err.Error(), "2 tries") {
			t.Errorf("time limit: %v", err)
		}
		stopped, stop := context.WithCancel(ctx)
		var seen int
		e = real(t, Options{Batch: 1, Concurrency: 1, Progress: func(p Progress) {
			if seen = p.Done; p.Done == 20 {
				stop()
			}
		}})
		rows, err := e.Embed(stopped, texts, index.KindDocument)
		if !errors.Is(err, context.Canceled) || len(rows) < 20 || len(rows) > 22 {
			t.Errorf("stopped after %d of %d texts: %d rows, %v", seen, len(texts), len(rows), err)
		}
	})
	t.Run("EM-07", func(t *testing.T) {
		if f := one.Fingerprint(); f.Dimension == 0 || f.Model != model {
			t.Errorf("fingerprint %+v", f)
		}
		half := one.Fingerprint().Dimension / 2
		e, err := New(Options{URL: url, Model: model, Dimensions: half})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := e.Embed(ctx, texts[:3], index.KindDocument)
		t.Logf("dimensions %d: %v", half, err)
		if err != nil && !errors.Is(err, index.ErrDimension) {
			var server *ServerError
			if !errors.As(err, &server) || server.Status/100 != 4 {
				t.Errorf("dimensions %d: %v", half, err)
			}
		}
		for i := range rows {
			if err := unit.Check(rows[i], half); err != nil {
				t.Errorf("dimensions %d, row %d: %v", half, i, err)
			}
		}
	})
	t.Run("EM-08", func(t *testing.T) {
		e := real(t, Options{DocumentPrefix: "search_document: ", QueryPrefix: "search_query: "})
		doc, err := e.Embed(ctx, texts[:1], index.KindDocument)
		if err != nil {
			t.Fatal(err)
		}
		query, err := e.Embed(ctx, texts[:1], index.KindQuery)
		if err != nil {
			t.Fatal(err)
		}
		same := embed(t, one, "search_document: "+texts[0])
		if unit.Cosine(doc[0], same[0]) < 0.99999 || unit.Cosine(doc[0], query[0]) > 0.9999999 {
			t.Error("the prefixes are not sent")
		}
	})
}
