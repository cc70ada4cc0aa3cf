package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
)

// External is an index kept outside the store, such as on a cluster, that answers in place of a
// build's own. Documents, chunks, permissions, fusion, evaluation and verdicts stay where they
// are.
type External struct {
	Vector index.VectorSearcher // nil: the build's own
	Text   index.TextSearcher   // nil: the build's own
	// Complete is asked after each search that used the searchers above; nil always agrees. An
	// error says that parts of the index did not answer, so that lists may lack members: the
	// search fails, or with Options.Degrade its response is marked. An evaluation never
	// degrades.
	Complete func(ctx context.Context) error
	// Verify compares the index with the build, its counts at least; nil always agrees. What it
	// finds is an integrity fault, and a build with one is rejected.
	Verify func(ctx context.Context) error
	// Settings are what else the results depend on; records hold them, so that comparisons list
	// where they differ.
	Settings map[string]string
	// Close releases what the index holds; nil does nothing.
	Close func() error
}

// Indexed is one chunk as both retrievers index it.
type Indexed struct {
	ID     corpus.ChunkID
	Doc    corpus.DocumentID
	Text   lexical.Doc // without words for a bare heading, which is searched with what follows it
	Vector []float32   // nil: the embedder has nothing to say about it; shared, not to be changed
	ACL    []string    // labels of callers that may see it; empty means everyone
}

// Content reads what an index kept elsewhere is filled with. It is safe for concurrent use until
// it is closed.
type Content struct {
	r     *reader
	owned bool
}

// Content opens a build for reading what it indexes; an unambiguous beginning of an id will do.
func (e *Engine) Content(build string) (*Content, error) {
	id, err := e.resolve(build)
	if err != nil {
		return nil, err
	}
	o := e.o
	o.External = nil
	r, err := e.openReader(id, o)
	if err != nil {
		return nil, err
	}
	return &Content{r: r, owned: true}, nil
}

// Build returns the id of the build.
func (c *Content) Build() string { return c.r.id }

// Manifest describes the build.
func (c *Content) Manifest() *index.Manifest { return c.r.manifest }

// Settings are those the build was made with.
func (c *Content) Settings() Settings { return c.r.settings }

// Len returns the number of chunks, which are numbered in ascending order of their ids.
func (c *Content) Len() int { return c.r.nchunks }

// ACL returns the labels of one chunk's document, shared and not to be changed.
func (c *Content) ACL(ord uint32) []string { return c.r.acls[c.r.aclOf[c.r.chunkDoc(ord)]] }

// Chunk returns what is indexed for one chunk.
func (c *Content) Chunk(ord uint32) Indexed {
	out := Indexed{
		ID: c.r.chunkID(ord), Doc: docIDOf(c.r, c.r.chunkDoc(ord)),
		Text: c.r.chunkIndexed(ord), ACL: c.ACL(ord),
	}
	if c.r.vectors != nil {
		out.Vector = c.r.vectors.Row(ord)
	}
	return out
}

// Close ends the reading. A Content that Options.External was given is not the receiver's to
// close.
func (c *Content) Close() error {
	if !c.owned {
		return nil
	}
	return c.r.close()
}

// openExternal lets an index kept elsewhere answer for the build.
func (r *reader) openExternal(o Options) error {
	if o.External == nil {
		return nil
	}
	x, err := o.External(&Content{r: r})
	if err != nil {
		return fmt.Errorf("build %s: external index: %w", r.id, err)
	}
	r.external = x
	return nil
}

// useExternal replaces the retrievers of v by those of an index kept elsewhere.
func (v *view) useExternal() {
	x := v.r.external
	if x == nil {
		return
	}
	if x.Text != nil {
		v.text = x.Text.SearchText
	}
	if x.Vector != nil && v.vector != nil {
		v.vector = x.Vector.SearchVector
	}
}

// complete reports whether all of an index kept elsewhere answered.
func (v *view) complete(ctx context.Context) error {
	if x := v.r.external; x != nil && x.Complete != nil {
		return x.Complete(ctx)
	}
	return nil
}

// checkExternal: an index kept elsewhere holds what the build says.
func (v *view) checkExternal(ctx context.Context, _ []uint32) (string, error) {
	x := v.r.external
	if x == nil || x.Verify == nil {
		return "", nil
	}
	err := x.Verify(ctx)
	if err == nil || !errors.Is(err, index.ErrCorrupt) {
		return "", err
	}
	return err.Error(), nil
}

func (r *reader) closeExternal() error {
	if r.external == nil || r.external.Close == nil {
		return nil
	}
	return r.external.Close()
}

// recordedSettings are the settings a record holds.
func (r *reader) recordedSettings() map[string]string {
	flat := r.settings.Flatten()
	if r.external != nil {
		for k, v := range r.external.Settings {
			flat["external."+k] = v
		}
	}
	return flat
}
