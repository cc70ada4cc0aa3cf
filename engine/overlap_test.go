package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/disk"
)

// gate is an embedder that calls embed before it answers.
type gate struct {
	hashEmbedder
	embed func(context.Context) error
}

func (g gate) Embed(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	if err := g.embed(ctx); err != nil {
		return nil, err
	}
	return g.hashEmbedder.Embed(ctx, texts, kind)
}

func wait(ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-time.After(time.Minute):
		return errors.New("the other never began")
	}
}

// A build asks a server for vectors while it indexes the words: neither waits for the other, and
// the failure of one ends both.
func TestWordsAndVectorsSideBySide(t *testing.T) {
	cut := errors.New("the server is gone")
	full := errors.New("the disk is full")
	for _, tt := range []struct {
		name        string
		words       func(embedding <-chan struct{}) error
		embed       func(ctx context.Context, indexing <-chan struct{}) error
		want        error
		interrupted bool // the embedder must see its context end
	}{
		{"both wait for each other", func(embedding <-chan struct{}) error {
			return wait(embedding)
		}, func(_ context.Context, indexing <-chan struct{}) error {
			return wait(indexing)
		}, nil, false},
		{"vectors fail", func(embedding <-chan struct{}) error {
			return wait(embedding)
		}, func(context.Context, <-chan struct{}) error { return cut }, cut, false},
		{"words fail", func(embedding <-chan struct{}) error {
			return errors.Join(wait(embedding), full)
		}, func(ctx context.Context, _ <-chan struct{}) error {
			<-ctx.Done()
			return ctx.Err()
		}, full, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			embedding, indexing := make(chan struct{}), make(chan struct{})
			var one, two sync.Once
			ended := false
			embedder := gate{hashEmbedder{dim: 8}, func(ctx context.Context) error {
				one.Do(func() { close(embedding) })
				err := tt.embed(ctx, indexing)
				ended = ctx.Err() != nil
				return err
			}}
			fsys := &disk.FS{Before: func(_ disk.Op, path string) error {
				if !strings.Contains(filepath.ToSlash(path), "/lexical/") {
					return nil
				}
				two.Do(func() { close(indexing) })
				return tt.words(embedding)
			}}
			e, err := engine.Open(t.TempDir(), engine.WithDisk(engine.Options{Embedder: embedder}, fsys))
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Build(t.Context(), corpus.FS("words", words(3), corpus.Options{}), engine.Settings{Embed: engine.EmbedSettings{NoCache: true}})
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("Build gives %v, want %v", err, tt.want)
			}
			if ended != tt.interrupted {
				t.Errorf("the embedder's context has ended: %v, want %v", ended, tt.interrupted)
			}
		})
	}
}
