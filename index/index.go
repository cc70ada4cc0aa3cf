package index

import (
	"context"

	"github.com/seed792a4543/assay/corpus"
)

// Candidate is one entry of a retriever's ranked list. Ord numbers the chunks of a build in
// ascending byte-wise order of their ids, so ordinals compare as the ids do.
type Candidate struct {
	Ord   uint32
	Score float64 // higher is better, finite
}

// Component is what one retriever said of a hit.
type Component struct {
	Rank  int     `json:"rank"` // from 1
	Score float64 `json:"score"`
}

// Hit is one search result.
type Hit struct {
	Rank         int               `json:"rank"` // from 1
	Score        float64           `json:"score"`
	Chunk        corpus.ChunkID    `json:"chunk"`
	Doc          corpus.DocumentID `json:"doc"`
	DocVersion   string            `json:"doc_version"`
	Section      string            `json:"section"`            // path of the section in force at the start of the chunk
	Sections     []string          `json:"sections,omitempty"` // further sections that begin inside the chunk
	Title        string            `json:"title,omitempty"`    // of the document
	Start        int               `json:"start"`              // byte offset into the normalised text
	End          int               `json:"end"`
	Text         string            `json:"text"`
	Vector       *Component        `json:"vector"` // null: not in that list
	Lexical      *Component        `json:"lexical"`
	SupersededBy corpus.DocumentID `json:"superseded_by,omitempty"`
}

// Filter says which chunks a caller may see, one bit per ordinal: bit i%64 of word i/64. A nil
// *Filter admits all. Retrievers apply it before they count or cut.
type Filter struct {
	Bits  []uint64
	Count int // number of bits set
}

// Has reports whether ord is admitted.
func (f *Filter) Has(ord uint32) bool {
	if f == nil {
		return true
	}
	w := int(ord >> 6)
	return w < len(f.Bits) && f.Bits[w]&(1<<(ord&63)) != 0
}

// Set admits ord; Bits must be long enough.
func (f *Filter) Set(ord uint32) {
	if f.Bits[ord>>6]&(1<<(ord&63)) == 0 {
		f.Bits[ord>>6] |= 1 << (ord & 63)
		f.Count++
	}
}

// NewFilter returns a filter over n chunks that admits none.
func NewFilter(n int) *Filter { return &Filter{Bits: make([]uint64, (n+63)/64)} }

// VectorSearcher ranks chunks by cosine similarity to a query vector of length 1.
//
// SearchVector returns the min(k, admitted) best chunks that have a vector, ordered by score
// descending, then ordinal descending, also at the cut: chunks tied with the k-th are ordered
// before the list is cut. k < 1 is an error. A cancelled context returns its error and no
// hits. The slice is the caller's. Safe for concurrent use.
type VectorSearcher interface {
	SearchVector(ctx context.Context, query []float32, k int, filter *Filter) ([]Candidate, error)
}

// TextSearcher ranks chunks by BM25 against the words of a query; chunks without any of its
// terms are not returned. Otherwise as VectorSearcher.
type TextSearcher interface {
	SearchText(ctx context.Context, query string, k int, filter *Filter) ([]Candidate, error)
}
