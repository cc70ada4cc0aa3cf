package embed

import (
	"github.com/seed792a4543/assay/index/embed/openai"
)

// OpenAI embeds texts on a server with an OpenAI-compatible /embeddings endpoint. See package
// openai.
type OpenAI = openai.Embedder

// OpenAIOptions say where the server is and how to treat it.
type OpenAIOptions = openai.Options

// NewOpenAI returns an embedder for the server at o.URL. It makes no request; Prepare does.
func NewOpenAI(o OpenAIOptions) (*OpenAI, error) { return openai.New(o) }
