package index

import "context"

// Kind says what a text is embedded as; models with prefixes treat the two differently.
type Kind uint8

// The kinds of text.
const (
	KindDocument Kind = iota
	KindQuery
)

// String returns "document" or "query".
func (k Kind) String() string {
	if k == KindQuery {
		return "query"
	}
	return "document"
}

// Embedder turns texts into vectors of length 1.
//
// Embed accepts any number of texts and splits them to the provider's limits inside. It
// returns one row per text in the order given, each either of the fingerprint's dimension,
// finite and of length 1, or nil where the model has nothing to say about the text (no known
// term): such a text has no vector, which is not an error. On failure it returns the rows of
// a prefix of the texts together with the error. Rows are the caller's. Safe for concurrent
// use.
type Embedder interface {
	Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error)
	Fingerprint() Fingerprint
}

// Fingerprint identifies a model as far as its vectors depend on it. Two embedders with equal
// fingerprints give equal vectors.
type Fingerprint struct {
	Kind           string `json:"kind"` // builtin, openai, command, precomputed
	Model          string `json:"model"`
	Revision       string `json:"revision,omitempty"`
	Dimension      int    `json:"dimension"`
	DocumentPrefix string `json:"document_prefix,omitempty"`
	QueryPrefix    string `json:"query_prefix,omitempty"`
	// Input says how over-long texts are treated (truncate, split, refuse) and at what limit,
	// "" if the model has no limit.
	Input string `json:"input,omitempty"`
}
