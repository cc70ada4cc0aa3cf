package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weaviate/weaviate-go-client/v5/weaviate"
	"github.com/weaviate/weaviate-go-client/v5/weaviate/graphql"

	"github.com/seed792a4543/assay/index"
)

// verifyCounts asks every node for the number of objects. Nodes that do not answer are left out
// as long as fewer of them are down than there are copies.
func (c *Cluster) verifyCounts(ctx context.Context, m *meta) error {
	var wrong []string
	var silent []error
	for _, n := range c.counts(ctx, c.Collection(m.Build)) {
		switch {
		case n.err != nil:
			silent = append(silent, fmt.Errorf("node %s: %w", n.node, n.err))
		case n.n != m.Chunks:
			wrong = append(wrong, fmt.Sprintf("%d at node %s", n.n, n.node))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return &index.CorruptError{
			File:   c.Collection(m.Build),
			Reason: fmt.Sprintf("the cluster counts %s, the build has %d chunks", strings.Join(wrong, ", "), m.Chunks),
			Repair: "wait for its copies to agree, or run `assay-remote build` again",
		}
	}
	if len(silent) > 0 && (len(silent) >= m.Replication || len(silent) == len(c.clients)) {
		return fmt.Errorf("count %s: %w: %w", c.Collection(m.Build), ErrUnavailable, errors.Join(silent...))
	}
	return nil
}

// rightWait bounds how long a cluster may take, after the last write, until its copies agree and
// its words are flushed: the server's default flushes a minute after.
const rightWait = 4 * time.Minute

// awaitRight waits until counts and word search are right.
func (c *Cluster) awaitRight(ctx context.Context, m *meta, s Source) error {
	until := time.Now().Add(rightWait)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := c.verifyCounts(ctx, m)
		if err == nil {
			err = c.settled(ctx, s)
		}
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		if perr := pause(ctx, wait); perr != nil {
			return errors.Join(err, perr)
		}
	}
}

const (
	probedChunks = 256
	probedWords  = 8
	probedHead   = 10
	// probedShare is the share of the best hits' scores that a short list must reach: the server
	// prunes by bounds that are not always sound, so a few of the best may be missing for good.
	probedShare = .9
)

// probes returns the commonest words of chunks sampled evenly, at most probedWords.
func probes(s Source) ([]string, error) {
	df := map[string]int{}
	step := max(1, s.Len/probedChunks)
	for ord := 0; ord < s.Len; ord += step {
		ch, err := s.Chunk(uint32(ord))
		if err != nil {
			return nil, err
		}
		for _, t := range slices.Compact(slices.Sorted(slices.Values(ch.Terms))) {
			df[term(t)]++
		}
	}
	words := slices.Sorted(maps.Keys(df))
	slices.SortStableFunc(words, func(a, b string) int { return df[b] - df[a] })
	return words[:min(len(words), probedWords)], nil
}

// settled finds out whether every node ranks words as its own formula says. A server that has not
// flushed what was written last returns the first written hits in place of the best ones, as long
// as a search asks for fewer hits than there are (seen in 1.35.2); so a short list must score
// about as high as the beginning of a long one. Nodes that do not answer are left to the counts.
func (c *Cluster) settled(ctx context.Context, s Source) error {
	words, err := probes(s)
	if err != nil {
		return err
	}
	name, long := c.Collection(s.Build), min(s.Len, c.o.MaxResults)
	if long <= probedHead {
		return nil
	}
	scores := func(client *weaviate.Client, word string, limit int) ([]float32, error) {
		ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
		list, err := client.Experimental().Search().WithCollection(name).WithProperties(propOrd).WithLimit(limit).
			WithBM25((&graphql.BM25ArgumentBuilder{}).WithQuery(word).WithProperties(propTerms)).
			WithMetadata(&graphql.Metadata{Score: true}).Do(ctx)
		out := make([]float32, len(list))
		for i, r := range list {
			out[i] = r.Metadata.Score
		}
		slices.SortFunc(out, func(a, b float32) int { return cmp.Compare(b, a) })
		return out[:min(len(out), probedHead)], err
	}
	for i, client := range c.clients {
		for _, word := range words {
			short, err := scores(client, word, probedHead)
			if err != nil {
				break
			}
			all, err := scores(client, word, long)
			if err != nil {
				break
			}
			if sum(short) < probedShare*sum(all) {
				return &index.CorruptError{
					File:   name,
					Reason: fmt.Sprintf("node %s does not rank the hits for %q by their scores: its last writes are not flushed", c.o.Nodes[i].HTTP, word),
					Repair: "wait a minute and try again; PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS on the servers shortens it",
				}
			}
		}
	}
	return ctx.Err()
}

func sum(scores []float32) (s float64) {
	for _, x := range scores {
		s += float64(x)
	}
	return s
}
