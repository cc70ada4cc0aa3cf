package embed

import (
	"context"
	"os"
	"testing"
)

// TestSmallCorpora prints what docs/embedders.md says about MinTexts. It judges nothing and
// runs only where ASSAY_STUDY is embed.
func TestSmallCorpora(t *testing.T) {
	if os.Getenv("ASSAY_STUDY") != "embed" {
		t.Skip("set ASSAY_STUDY=embed to run the study")
	}
	ctx := context.Background()
	for _, name := range []string{"cranfield", "cisi"} {
		all := load(t, name)
		for _, n := range []int{10, 20, 35, 50, 100, 200, 400} {
			stride := len(all.ids) / n
			var lex, words, both, latent, queries float64
			for offset := range min(stride, 6) {
				c := all.subset(func(i int) bool { return i%stride == offset })
				base := c.bm25(t)
				q := float64(len(c.queries))
				queries += q
				add := func(sum *float64, parts string) {
					b, err := FitBuiltin(ctx, c.texts, BuiltinOptions{Parts: parts, MinTexts: 1, Tokenize: english(t)})
					if err != nil {
						t.Fatal(err)
					}
					v, _ := c.score(fused(c.ranked(t, b), base))
					*sum += v * q
				}
				v, _ := c.score(base)
				lex += v * q
				add(&words, "words")
				add(&latent, "latent")
				add(&both, "both")
			}
			t.Logf("%-10s texts %3d queries %4.0f: lexical %.4f, hybrid words %+.4f, latent %+.4f, both %+.4f", name, n, queries,
				lex/queries, (words-lex)/queries, (latent-lex)/queries, (both-lex)/queries)
		}
	}
}

// TestFoldingIn prints what docs/embedders.md says about NeedsRefit, as TestSmallCorpora.
func TestFoldingIn(t *testing.T) {
	if os.Getenv("ASSAY_STUDY") != "embed" {
		t.Skip("set ASSAY_STUDY=embed to run the study")
	}
	ctx := context.Background()
	for _, name := range []string{"cranfield", "cisi"} {
		all := load(t, name)
		for _, percent := range []int{25, 40, 50, 67, 80, 90, 100} {
			part := all.subset(func(i int) bool { return i*37%100 < percent })
			b, err := FitBuiltin(ctx, part.texts, BuiltinOptions{Parts: "latent", Tokenize: english(t)})
			if err != nil {
				t.Fatal(err)
			}
			d := b.Measure(all.texts)
			v, _ := all.score(all.ranked(t, b))
			t.Logf("%-10s fitted on %3d %%: latent nDCG@10 %.4f, unknown %+.1f points, NeedsRefit %v", name, percent, v,
				100*(share(d.Unknown, d.Tokens)-share(b.model.unknown, b.model.tokens)), b.NeedsRefit(d))
		}
	}
}
