package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seed792a4543/assay/index/embed"
)

// Stages of a search and of an answer, as WithStages names them.
const (
	StageSearch  = "search"  // a search as a whole: the six below
	StageEmbed   = "embed"   // the query's vector
	StageVector  = "vector"  // search by vector
	StageLexical = "lexical" // search by words; beside embed and vector in a large build
	StageFuse    = "fuse"    // the two lists become one
	StageRerank  = "rerank"  // if the build has a reranker
	StageRead    = "read"    // texts and places of the hits
	StageRewrite = "rewrite" // the chat model's wordings of a question
	StageAnswer  = "answer"  // the answerer alone
)

// Stages lists the stages that WithStages may report.
func Stages() []string {
	return []string{StageSearch, StageEmbed, StageVector, StageLexical, StageFuse, StageRerank, StageRead, StageRewrite, StageAnswer}
}

type stagesKey struct{}

// WithStages returns a context whose searches and answers tell observe how long each of their
// stages took, failed ones included. A stage that a query does not need is not reported. observe
// may be called from two goroutines at once.
func WithStages(ctx context.Context, observe func(stage string, d time.Duration)) context.Context {
	return context.WithValue(ctx, stagesKey{}, observe)
}

// clock returns what reports the stages of ctx: the function it returns is called at the start of a
// stage and returns the one to be called at its end.
func clock(ctx context.Context) func(stage string) (stop func()) {
	observe, ok := ctx.Value(stagesKey{}).(func(string, time.Duration))
	if !ok {
		return noClock
	}
	return func(stage string) func() {
		start := time.Now()
		return func() { observe(stage, time.Since(start)) }
	}
}

func noClock(string) func() { return noStop }

func noStop() {}

// CacheUse counts how often a cache had what was asked of it.
type CacheUse struct {
	Name   string // permissions or embeddings
	Hits   uint64
	Misses uint64
}

// Caches reports the use of the caches that searches go through, since the engine was opened: the
// sets of chunks that callers may see, by their labels, and the vectors of queries, if the embedder
// of Options is one that keeps vectors (embed.Cache).
func (e *Engine) Caches() []CacheUse {
	out := []CacheUse{{"permissions", e.filterUse.hits.Load(), e.filterUse.misses.Load()}}
	if c, ok := e.o.Embedder.(interface{ Stats() embed.CacheStats }); ok {
		s := c.Stats()
		out = append(out, CacheUse{"embeddings", uint64(s.Hits), uint64(s.Misses)})
	}
	return out
}

// hitCounter counts the use of a cache; nil counts nothing.
type hitCounter struct{ hits, misses atomic.Uint64 }

func (c *hitCounter) count(hit bool) {
	switch {
	case c == nil:
	case hit:
		c.hits.Add(1)
	default:
		c.misses.Add(1)
	}
}
