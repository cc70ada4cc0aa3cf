package engine_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

func ptr(v float64) *float64 { return &v }

func TestRerank(t *testing.T) {
	e := store(t)
	search := func(s engine.RerankSettings) (string, []index.Hit) {
		t.Helper()
		b, err := e.Build(t.Context(), shopSource(), engine.Settings{Rerank: s})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := e.QueryBuild(t.Context(), b.ID, engine.Query{Text: "how often to descale the kettle", K: 50})
		if err != nil {
			t.Fatal(err)
		}
		return b.ID, resp.Hits
	}
	chunks := func(hits []index.Hit) (out []string) {
		for _, h := range hits {
			out = append(out, string(h.Chunk))
		}
		return out
	}
	plainID, plain := search(engine.RerankSettings{})
	if len(plain) < 5 {
		t.Fatalf("%d hits, want some to reorder", len(plain))
	}
	if id, _ := search(engine.RerankSettings{Kind: "none", Depth: 7}); id != plainID {
		t.Errorf("a build with rerank none is %s, without rerank %s; want the same", id, plainID)
	}
	// What changes nothing by its definition changes nothing.
	for _, s := range []engine.RerankSettings{
		{Kind: "mmr", Lambda: ptr(1)}, {Kind: "features", Weight: ptr(0)}, {Kind: "mmr", Depth: 1}, {Kind: "features", Depth: 1},
	} {
		if id, hits := search(s); !cmp.Equal(chunks(hits), chunks(plain)) || id == plainID {
			t.Errorf("%+v: build %s gives %v, want another build than %s with %v", s, id, chunks(hits), plainID, chunks(plain))
		}
	}
	// The hits stay the same ones, scores descend, and what lies below the depth keeps its order.
	for _, s := range []engine.RerankSettings{{Kind: "mmr", Lambda: ptr(0.1), Depth: 3}, {Kind: "mmr", Lambda: ptr(0.1)}, {Kind: "features", Weight: ptr(1)}} {
		_, hits := search(s)
		seen := map[string]bool{}
		last := math.Inf(1)
		for _, h := range hits {
			seen[string(h.Chunk)] = true
			if h.Score > last {
				t.Errorf("%+v: scores rise to %v after %v", s, h.Score, last)
			}
			last = h.Score
		}
		if len(seen) != len(plain) || len(hits) != len(plain) {
			t.Errorf("%+v: %d hits, %d distinct, want the same %d", s, len(hits), len(seen), len(plain))
		}
		if s.Depth > 0 && !cmp.Equal(chunks(hits)[s.Depth:], chunks(plain)[s.Depth:]) {
			t.Errorf("%+v: the hits below the depth moved", s)
		}
	}
	if _, hits := search(engine.RerankSettings{Kind: "mmr", Lambda: ptr(0.1)}); cmp.Equal(chunks(hits), chunks(plain)) {
		t.Error("mmr with lambda 0.1 leaves the order as it is")
	}
}

func TestRerankSettings(t *testing.T) {
	for _, c := range []struct {
		s    engine.RerankSettings
		want bool
	}{
		{engine.RerankSettings{}, true},
		{engine.RerankSettings{Kind: "mmr", Lambda: ptr(0.5), Depth: 20}, true},
		{engine.RerankSettings{Kind: "features", Weight: ptr(1)}, true},
		{engine.RerankSettings{Kind: "chat"}, false},
		{engine.RerankSettings{Kind: "cross"}, false},
		{engine.RerankSettings{Kind: "mmr", Lambda: ptr(0)}, false},
		{engine.RerankSettings{Kind: "mmr", Lambda: ptr(math.NaN())}, false},
		{engine.RerankSettings{Kind: "features", Weight: ptr(1.1)}, false},
		{engine.RerankSettings{Kind: "mmr", Depth: -1}, false},
	} {
		t.Run(fmt.Sprintf("%+v", c.s.Kind), func(t *testing.T) {
			err := engine.Settings{Rerank: c.s}.Validate()
			if (err == nil) != c.want || err != nil && !errors.Is(err, engine.ErrInput) {
				t.Errorf("Validate = %v, valid is %v", err, c.want)
			}
		})
	}
}
