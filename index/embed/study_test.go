package embed

import (
	"context"
	"testing"
)

// TestCollections holds the built-in embedder to the targets that docs/embedders.md reports.
// go test -v -run TestCollections ./index/embed prints the table.
func TestCollections(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, tt := range []struct {
		name   string
		gain   float64 // least nDCG@10 of hybrid over lexical
		latent float64 // least nDCG@10 of latent alone
	}{
		{"cranfield", 0.02, 0.39},
		{"cisi", 0.02, 0},
		{"scifact", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.name)
			lex := c.bm25(t)
			base, recall := c.score(lex)
			t.Logf("%-24s ndcg@10 %.4f recall@100 %.4f", "lexical", base, recall)
			for _, parts := range []string{"words", "latent", "both"} {
				b, err := FitBuiltin(context.Background(), c.texts, BuiltinOptions{Parts: parts, Tokenize: english(t)})
				if err != nil {
					t.Fatal(err)
				}
				lists := c.ranked(t, b)
				alone, recall := c.score(lists)
				t.Logf("%-24s ndcg@10 %.4f recall@100 %.4f", "vector "+parts, alone, recall)
				mixed, recall := c.score(fused(lists, lex))
				t.Logf("%-24s ndcg@10 %.4f recall@100 %.4f (%+.4f)", "hybrid "+parts, mixed, recall, mixed-base)
				if parts == "latent" && alone < tt.latent {
					t.Errorf("latent alone has nDCG@10 %.4f, want at least %.2f", alone, tt.latent)
				}
				if parts == "both" && mixed < base+tt.gain {
					t.Errorf("hybrid has nDCG@10 %.4f, want at least %.4f + %.2f", mixed, base, tt.gain)
				}
			}
		})
	}
}
