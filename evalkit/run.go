package evalkit

import (
	"github.com/seed792a4543/assay/corpus"
)

// Component is what one retriever said of a hit.
type Component struct {
	Rank  int     `json:"rank"` // from 1
	Score float64 `json:"score"`
}

// Hit is one slot of a ranked list.
type Hit struct {
	Chunk      corpus.ChunkID    `json:"chunk"`
	Doc        corpus.DocumentID `json:"doc"`
	DocVersion string            `json:"doc_version,omitempty"`
	Section    string            `json:"section"`            // path of the section in force at the start of the chunk
	Sections   []string          `json:"sections,omitempty"` // further sections that begin inside the chunk
	Span       corpus.Span       `json:"span"`
	Score      float64           `json:"score"`
	Vector     *Component        `json:"vector,omitempty"`
	Lexical    *Component        `json:"lexical,omitempty"`
	Rank       int               `json:"rank"`           // from 1; 0 if the list is not numbered
	Text       string            `json:"text,omitempty"` // only rule facts needs it; "" is read from the documents
}

// Result is what one question got. Err is the failure of the query, "" if it succeeded; an
// empty list of hits is a success.
type Result struct {
	Question string `json:"question"`
	Hits     []Hit  `json:"hits"`
	Err      string `json:"error,omitempty"`
}

// Run is what one build returned for all questions.
type Run struct {
	Tag     string   `json:"tag"`
	Build   string   `json:"build,omitempty"` // id of the build, "" for another system's run
	Results []Result `json:"results"`
	// Chunks are all chunks of the build (chunk, document, section and span suffice). They
	// make the random baseline exact; without them it is taken over the corpus's sections.
	Chunks []Hit `json:"-"`
}
