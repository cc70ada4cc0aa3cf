// Package embed turns texts into vectors. Its embedders all implement index.Embedder:
//
//   - Builtin needs no network: a latent-semantic model fitted on the corpus, joined with a
//     small table of English word vectors.
//   - OpenAI speaks to any server with an OpenAI-compatible /embeddings endpoint.
//   - Command runs a program that reads and writes JSON lines.
//   - Precomputed looks vectors up by the SHA-256 of the text.
//   - Cache keeps the vectors of another embedder on disk.
//
// Prepare must be called once before an embedder's Fingerprint is relied on, because some
// learn their dimension from a server. Probe and CompareProbes notice a model that changed
// behind its name.
//
// Not for: training models, or tokenising for language models.
package embed

import (
	"context"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// TextError says which text could not be embedded: its position in the call, its first 60
// runes and its SHA-256. All embedders of this package return it when one text is to blame.
type TextError = unit.TextError

// Preparer is implemented by embedders that learn something before their first use, such as
// the dimension of a server's model.
type Preparer interface {
	// Prepare completes the fingerprint. It may be called more than once; after a success
	// it does nothing.
	Prepare(ctx context.Context) error
}

// Prepare completes e's fingerprint if e needs that.
func Prepare(ctx context.Context, e index.Embedder) error {
	if p, ok := e.(Preparer); ok {
		return p.Prepare(ctx)
	}
	return ctx.Err()
}
