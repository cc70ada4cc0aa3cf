package embed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/words"
)

// wordsWeight is the share of the word table beside the fitted model, whose share is 1: the
// halves are scaled by the square roots of their shares, so that cosines add up with them.
const wordsWeight = 0.3

// defaultMinTexts is the size of a corpus below which no model is fitted; docs/embedders.md
// has the measurement.
const defaultMinTexts = 50

// BuiltinOptions say how the built-in embedder is fitted. The zero value works.
type BuiltinOptions struct {
	// Tokenize splits a text into the terms of the fitted model. nil means lower-case runs
	// of letters and digits; the lexical index's analyser, which stems, is better. It must
	// be safe for concurrent use and must be the same at Fit and at Open.
	Tokenize func(string) []string
	// Tokenizer names Tokenize. It is stored with the model, and OpenBuiltin refuses a model
	// made with another.
	Tokenizer string
	// Fold spells a lower-case word without diacritics. It is asked for words that the English
	// table lacks, so that "café" is "cafe"; nil looks words up as they stand. Give it for English
	// texts only: "für" is no fur, and "hàng" hangs nothing. A model made with it opens with it.
	Fold func(word string) string
	Seed uint64 // of the random range finder
	// Dimensions of the fitted model; 0 means 128. A corpus of lower rank gives fewer.
	Dimensions int
	// MinTexts is the number of texts below which nothing is fitted and the word table
	// serves alone; 0 means 50.
	MinTexts int
	// Parts says what the vectors consist of: "both" (default), "latent" or "words".
	Parts string
	// PowerIterations of the range finder; nil means 2.
	PowerIterations *int
	Workers         int // goroutines; 0 means GOMAXPROCS; never changes a result
}

// Validate refuses values out of range.
func (o BuiltinOptions) Validate() error {
	switch {
	case o.Dimensions < 0 || o.Dimensions > 1024:
		return fmt.Errorf("builtin embedder: dimensions %d: must be 1 to 1024, or 0 for %d", o.Dimensions, defaultDimensions)
	case o.MinTexts < 0:
		return fmt.Errorf("builtin embedder: min texts %d: must not be negative", o.MinTexts)
	case o.PowerIterations != nil && (*o.PowerIterations < 0 || *o.PowerIterations > 20):
		return fmt.Errorf("builtin embedder: %d power iterations: must be 0 to 20", *o.PowerIterations)
	case len(o.Tokenizer) > maxTermBytes:
		return fmt.Errorf("builtin embedder: tokenizer name of %d bytes: must be at most %d", len(o.Tokenizer), maxTermBytes)
	}
	switch o.Parts {
	case "", "both", "latent", "words":
		return nil
	}
	return fmt.Errorf("builtin embedder: parts %q: must be both, latent or words", o.Parts)
}

func (o BuiltinOptions) withDefaults() BuiltinOptions {
	if o.Tokenize == nil {
		o.Tokenize = words.Tokens
		o.Tokenizer = cmp.Or(o.Tokenizer, "words/1")
	}
	o.Dimensions = cmp.Or(o.Dimensions, defaultDimensions)
	o.MinTexts = cmp.Or(o.MinTexts, defaultMinTexts)
	o.Parts = cmp.Or(o.Parts, "both")
	o.PowerIterations = cmp.Or(o.PowerIterations, new(defaultPower))
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	return o
}

// Builtin is the embedder that needs no network: a latent-semantic model fitted on the corpus
// beside a table of English word vectors. Each half is scaled to length 1 and weighted with 1
// and √0.3; the whole is scaled to length 1. If a text is known to one half only, the vector
// is that half's alone. A text known to neither has no vector (a nil row). Documents and
// queries are treated alike.
//
// A corpus of fewer than MinTexts texts is not fitted: its vectors are the word table's.
// Results depend on the texts, the options and the tokenizer alone. Safe for concurrent use.
type Builtin struct {
	o        BuiltinOptions
	model    *latent // nil: words alone
	useWords bool
	revision string
}

// FitBuiltin fits the built-in embedder on texts. 100,000 chunks take a fraction of a minute
// and of a gigabyte. A cancelled context returns its error.
func FitBuiltin(ctx context.Context, texts []string, o BuiltinOptions) (*Builtin, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	b := &Builtin{o: o, useWords: o.Parts != "latent"}
	if o.Parts != "words" && len(texts) >= o.MinTexts {
		var err error
		b.model, err = fitLatent(ctx, texts, latentOptions{
			dims: o.Dimensions, oversample: defaultOversample, power: *o.PowerIterations,
			minDF: 1, seed: o.Seed, workers: o.Workers, tokenize: o.Tokenize})
		if err != nil {
			return nil, fmt.Errorf("fit the builtin embedder on %d texts: %w", len(texts), err)
		}
	}
	if b.model == nil {
		b.useWords = true
	}
	b.setRevision()
	return b, ctx.Err()
}

func (b *Builtin) setRevision() {
	sum := sha256.Sum256(b.encode())
	b.revision = hex.EncodeToString(sum[:8])
}

// Fitted reports whether a model was fitted; otherwise the word table serves alone.
func (b *Builtin) Fitted() bool { return b.model != nil }

// Texts returns the number of texts that the model was fitted on, 0 if none was fitted.
func (b *Builtin) Texts() int {
	if b.model == nil {
		return 0
	}
	return b.model.texts
}

// Fingerprint implements index.Embedder. The revision is a digest of the fitted model and the
// word table, so builds on different corpora have different fingerprints.
func (b *Builtin) Fingerprint() index.Fingerprint {
	f := index.Fingerprint{Kind: "builtin", Revision: b.revision}
	if b.model != nil {
		f.Model, f.Dimension = fmt.Sprintf("latent-%d", b.model.dims), b.model.dims
	}
	if b.useWords {
		if f.Model != "" {
			f.Model += "+"
		}
		f.Model += "glove-40k-64"
		f.Dimension += words.Dim
	}
	return f
}

// Embed implements index.Embedder. Rows are nil for texts without a known term.
func (b *Builtin) Embed(ctx context.Context, texts []string, _ index.Kind) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	err := parallel(ctx, len(texts), 64, b.o.Workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			rows[i] = b.vector(texts[i])
		}
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// EmbedAmong embeds one text as Embed does, but knows only those terms of the fitted model that
// known accepts: what a caller may not read then tells it nothing of which words stand there. The
// word table, which does not depend on the corpus, is used in full.
func (b *Builtin) EmbedAmong(text string, known func(term string) bool) []float32 {
	return b.vectorOf(text, func(terms []string) []string {
		return slices.DeleteFunc(terms, func(t string) bool { return !known(t) })
	})
}

func (b *Builtin) vector(text string) []float32 {
	return b.vectorOf(text, func(terms []string) []string { return terms })
}

func (b *Builtin) vectorOf(text string, choose func(terms []string) []string) []float32 {
	var l, w []float64
	var haveL, haveW bool
	if b.model != nil {
		l, haveL = b.model.vector(choose(b.o.Tokenize(text)))
		haveL = haveL && scaleTo(l, 1)
	}
	if b.useWords {
		w, haveW = words.SumFolded(text, b.o.Fold)
		haveW = haveW && scaleTo(w, 1)
	}
	switch {
	case haveL && haveW:
		scaleTo(l, math.Sqrt(1/(1+wordsWeight)))
		scaleTo(w, math.Sqrt(wordsWeight/(1+wordsWeight)))
	case haveL:
		clear(w)
	case haveW:
		clear(l)
	default:
		return nil
	}
	row := make([]float32, 0, len(l)+len(w))
	for _, x := range l {
		row = append(row, float32(x))
	}
	for _, x := range w {
		row = append(row, float32(x))
	}
	return row
}

// scaleTo scales v to the given length and reports false, leaving v, if its length is 0 (the
// words cancel out).
func scaleTo(v []float64, length float64) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x * x)
	}
	if sum < 1e-24 {
		return false
	}
	f := length / math.Sqrt(sum)
	for i := range v {
		v[i] *= f
	}
	return true
}
