package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
)

// TestStages asks in each mode and looks at which stages are reported.
func TestStages(t *testing.T) {
	e, err := engine.Open(t.TempDir(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := engine.Settings{}
	s.Rerank.Kind = engine.RerankMMR
	b, err := e.Build(t.Context(), corpus.FS("homestore", homestore.Documents(), corpus.Options{}), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.PromoteWith(t.Context(), b.ID, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "test", Why: "set up"}}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	ctx := engine.WithStages(t.Context(), func(stage string, d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if d < 0 || !slices.Contains(engine.Stages(), stage) {
			t.Errorf("stage %q took %v", stage, d)
		}
		seen = append(seen, stage)
	})
	for _, tc := range []struct {
		name string
		ask  func(ctx context.Context) error
		want []string
	}{
		{"hybrid", search(e, "hybrid"), []string{"embed", "fuse", "lexical", "read", "rerank", "search", "vector"}},
		{"vector", search(e, "vector"), []string{"embed", "fuse", "read", "rerank", "search", "vector"}},
		{"lexical", search(e, "lexical"), []string{"fuse", "lexical", "read", "rerank", "search"}},
		{"answer", func(ctx context.Context) error {
			_, err := e.Ask(ctx, engine.AskQuery{Query: engine.Query{Text: "washing machine shows E-04"}})
			return err
		}, []string{"answer", "embed", "fuse", "lexical", "read", "rerank", "search", "vector"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seen = nil
			if err := tc.ask(ctx); err != nil {
				t.Fatal(err)
			}
			slices.Sort(seen)
			if diff := cmp.Diff(tc.want, seen); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
		})
	}
	use := e.Caches()
	if len(use) != 1 || use[0].Name != "permissions" || use[0].Misses != 1 || use[0].Hits != 3 {
		t.Errorf("caches %+v, want one miss and three hits of the filter of callers without labels", use)
	}
}

func search(e *engine.Engine, mode string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := e.Query(ctx, engine.Query{Text: "washing machine shows E-04", Mode: mode})
		return err
	}
}
