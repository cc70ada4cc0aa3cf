package embed

import (
	"context"
	"math/rand/v2"
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

// TestFoldingIn prints what docs/embedders.md says about NeedsRefit, as TestSmallCorpora: a model
// fitted before a share of the documents came, against one fitted on all of them. Which documents
// are new is drawn at random, five times.
func TestFoldingIn(t *testing.T) {
	if os.Getenv("ASSAY_STUDY") != "embed" {
		t.Skip("set ASSAY_STUDY=embed to run the study")
	}
	ctx := context.Background()
	const draws = 5
	for _, name := range []string{"cranfield", "cisi", "scifact"} {
		all := load(t, name)
		lex := all.bm25(t)
		var full, fullHybrid float64
		for _, percent := range []int{0, 5, 10, 15, 20, 25, 40, 60} {
			var latent, hybrid, worst, unknown float64
			var refit int
			for draw := range draws {
				r := rand.New(rand.NewPCG(uint64(draw), uint64(percent)))
				isNew := make([]bool, len(all.ids))
				for _, i := range r.Perm(len(isNew))[:len(isNew)*percent/100] {
					isNew[i] = true
				}
				part := all.subset(func(i int) bool { return !isNew[i] })
				b, err := FitBuiltin(ctx, part.texts, BuiltinOptions{Tokenize: english(t)})
				if err != nil {
					t.Fatal(err)
				}
				h, _ := all.score(fused(all.ranked(t, b), lex))
				alone := *b
				alone.useWords = false
				v, _ := all.score(all.ranked(t, &alone))
				if percent == 0 {
					full, fullHybrid = v, h
				}
				latent += v / draws
				hybrid += h / draws
				worst = min(worst, h-fullHybrid)
				d, err := b.Measure(ctx, all.texts)
				if err != nil {
					t.Fatal(err)
				}
				unknown += 100 * (share(d.Unknown, d.Tokens) - share(b.model.unknown, b.model.tokens)) / draws
				if b.NeedsRefit(d) {
					refit++
				}
				if percent == 0 {
					latent, hybrid = v, h
					break
				}
			}
			t.Logf("%-10s %2d %% new: latent nDCG@10 %.4f (%+.4f), hybrid %.4f (%+.4f, worst %+.4f), unknown %+.2f points, refit in %d of %d", name, percent,
				latent, latent-full, hybrid, hybrid-fullHybrid, worst, unknown, refit, draws)
		}
	}
}
