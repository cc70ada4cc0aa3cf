package remote

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weaviate/weaviate-go-client/v5/weaviate"
	"github.com/weaviate/weaviate-go-client/v5/weaviate/filters"
	"github.com/weaviate/weaviate-go-client/v5/weaviate/graphql"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/internal/rank"
)

// Index is a build's collection, opened for searching. It is safe for concurrent use.
type Index struct {
	c        *Cluster
	m        *meta
	source   Source
	name     string
	analyzer *lexical.Analyzer
	of       []uint32 // ordinal to class of permissions
	sizes    []int    // chunks of each class
}

var (
	_ index.VectorSearcher = (*Index)(nil)
	_ index.TextSearcher   = (*Index)(nil)
)

// Open opens the collection of a build. It must have been made from this very build; whether it
// is complete is for Verify to say.
func (c *Cluster) Open(ctx context.Context, s Source) (*Index, error) {
	m, err := c.describe(ctx, s.Build)
	if err != nil {
		return nil, err
	}
	if m.Manifest != s.Manifest || m.Chunks != s.Len || m.Dimension != s.Dimension {
		return nil, fmt.Errorf("%w %s: it was made from manifest %.12s with %d chunks of dimension %d, here is %.12s with %d of %d: drop it and build it again",
			ErrMismatch, s.Build, m.Manifest, m.Chunks, m.Dimension, s.Manifest, s.Len, s.Dimension)
	}
	x := &Index{c: c, m: m, source: s, name: c.Collection(s.Build)}
	if x.analyzer, err = lexical.NewAnalyzer(s.Lexical); err != nil {
		return nil, err
	}
	var sets [][]string
	x.of, sets = classes(s.Len, s.ACL)
	x.sizes = make([]int, len(sets))
	for _, class := range x.of {
		x.sizes[class]++
	}
	return x, nil
}

// Settings are what results depend on beyond the build's own settings.
func (x *Index) Settings() map[string]string {
	shards := "one per node"
	if x.m.Shards > 0 {
		shards = fmt.Sprint(x.m.Shards)
	}
	return map[string]string{
		"engine":      "weaviate",
		"index":       x.m.Index,
		"shards":      shards,
		"replication": fmt.Sprint(x.m.Replication),
		"statistics":  "per shard",
		"analyser":    x.analyzer.Name(),
		"stopwords":   "none",
	}
}

// Verify compares the counts of every node with the build's, and the beginning of long lists of
// the commonest words with short ones, which differ on a node whose last writes are not flushed.
// What is wrong wraps index.ErrCorrupt.
func (x *Index) Verify(ctx context.Context) error {
	if err := x.c.verifyCounts(ctx, x.m); err != nil {
		return err
	}
	return x.c.settled(ctx, x.source)
}

// Complete returns ErrDegraded if so many members are missing that chunks may be out of reach:
// as many as there are copies, by the members' own list or by the addresses that do not answer.
// It relies on a look no older than Options.Health.
func (x *Index) Complete(ctx context.Context) error {
	members, silent, err := x.c.seen(ctx)
	gone, how := silent, "not answering"
	switch {
	case err == nil:
		if list := missingMembers(x.m.Nodes, members); len(list) > len(gone) {
			gone, how = list, "not healthy"
		}
	case len(x.c.clients) < len(x.m.Nodes):
		// The addresses do not cover the members, so they cannot stand in for the list.
		return fmt.Errorf("%w: its members cannot be listed: %w", ErrDegraded, err)
	}
	if len(gone) >= x.m.Replication {
		return fmt.Errorf("%w: %s %s, with replication %d: hits on them are missing: restart them, or build with more copies",
			ErrDegraded, strings.Join(gone, ", "), how, x.m.Replication)
	}
	return nil
}

// SearchVector implements index.VectorSearcher. With index hnsw the list is approximate.
func (x *Index) SearchVector(ctx context.Context, query []float32, k int, f *index.Filter) ([]index.Candidate, error) {
	if k < 1 {
		return nil, fmt.Errorf("k is %d: use 1 or more", k)
	}
	if x.m.Dimension == 0 || len(query) != x.m.Dimension {
		return nil, fmt.Errorf("%w: the query's vector has %d, the build's have %d", index.ErrDimension, len(query), x.m.Dimension)
	}
	zero := true
	for _, v := range query {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("the query's vector holds %v: use finite numbers", v)
		}
		zero = zero && v == 0
	}
	if zero {
		return nil, fmt.Errorf("the query's vector is zero: it has no direction")
	}
	near := (&graphql.NearVectorArgumentBuilder{}).WithVector(query)
	return x.search(ctx, k, f, func(s *graphql.Search) *graphql.Search {
		return s.WithNearVector(near).WithMetadata(&graphql.Metadata{Distance: true})
	}, func(r graphql.SearchResult) float64 {
		return 1 - float64(r.Metadata.Distance) // cosine distance
	})
}

// SearchText implements index.TextSearcher.
func (x *Index) SearchText(ctx context.Context, query string, k int, f *index.Filter) ([]index.Candidate, error) {
	if k < 1 {
		return nil, fmt.Errorf("k is %d: use 1 or more", k)
	}
	text := Terms(x.analyzer.QueryTerms(query))
	if text == "" {
		return nil, ctx.Err()
	}
	bm25 := (&graphql.BM25ArgumentBuilder{}).WithQuery(text).WithProperties(propTerms)
	return x.search(ctx, k, f, func(s *graphql.Search) *graphql.Search {
		return s.WithBM25(bm25).WithMetadata(&graphql.Metadata{Score: true})
	}, func(r graphql.SearchResult) float64 { return float64(r.Metadata.Score) })
}

// search asks for more than k hits until the last one scores below the k-th, so that ties at the
// cut are ordered here, where the order is the project's.
func (x *Index) search(ctx context.Context, k int, f *index.Filter, with func(*graphql.Search) *graphql.Search, score func(graphql.SearchResult) float64) ([]index.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	where, admitted, err := x.where(f)
	if err != nil || admitted == 0 {
		return nil, err
	}
	k = min(k, admitted)
	if k > x.c.o.MaxResults {
		return nil, fmt.Errorf("k is %d, the cluster returns at most %d: raise QUERY_MAXIMUM_RESULTS there and max_results here", k, x.c.o.MaxResults)
	}
	for limit := min(k+8, admitted, x.c.o.MaxResults); ; limit = min(2*limit, admitted, x.c.o.MaxResults) {
		list, err := x.ask(ctx, limit, where, with, score)
		if err != nil {
			return nil, err
		}
		all := len(list) < limit || limit == admitted
		if all || len(list) > k && list[len(list)-1].Score < list[k-1].Score {
			return list[:min(k, len(list))], nil
		}
		if limit == x.c.o.MaxResults {
			return nil, fmt.Errorf("more than %d chunks tie at rank %d: raise QUERY_MAXIMUM_RESULTS on the cluster and max_results here", limit, k)
		}
	}
}

// ask runs one search and returns its hits in the total order.
func (x *Index) ask(ctx context.Context, limit int, where *filters.WhereBuilder, with func(*graphql.Search) *graphql.Search, score func(graphql.SearchResult) float64) ([]index.Candidate, error) {
	var list []index.Candidate
	err := x.c.do(ctx, "search "+x.name, func(ctx context.Context, client *weaviate.Client) error {
		s := with(client.Experimental().Search().WithCollection(x.name).WithProperties(propOrd).WithLimit(limit))
		if where != nil {
			s = s.WithWhere(where)
		}
		results, err := s.Do(ctx)
		if err != nil {
			return err
		}
		list = make([]index.Candidate, len(results))
		for i, r := range results {
			ord, err := ordinal(r.Properties[propOrd])
			if err != nil || ord >= len(x.of) {
				return fmt.Errorf("object %s of %s has ordinal %v of %d: %w: %w", r.ID, x.name, r.Properties[propOrd], len(x.of), errAnswer, index.ErrCorrupt)
			}
			list[i] = index.Candidate{Ord: uint32(ord), Score: score(r)}
			if v := list[i].Score; math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("object %s of %s scores %v: %w: %w", r.ID, x.name, v, errAnswer, index.ErrCorrupt)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b index.Candidate) int { return rank.CompareOrdinals(a.Score, a.Ord, b.Score, b.Ord) })
	for i := 1; i < len(list); i++ {
		if list[i].Ord == list[i-1].Ord {
			return nil, fmt.Errorf("%s: %w: ordinal %d is returned twice", x.name, index.ErrCorrupt, list[i].Ord)
		}
	}
	return list, nil
}

func ordinal(v any) (int, error) {
	switch n := v.(type) {
	case int64:
		return int(n), negative(n)
	case float64:
		return int(n), negative(int64(n))
	case int:
		return n, negative(int64(n))
	}
	return 0, fmt.Errorf("%T is no ordinal", v)
}

func negative(n int64) error {
	if n < 0 {
		return fmt.Errorf("%d is no ordinal", n)
	}
	return nil
}

// maxListed bounds the ordinals that one filter names.
const maxListed = 100_000

// where turns the chunks that a caller may see into a filter of both searches. A filter made of
// permissions admits whole classes, which are listed; any other one names the ordinals besides.
// nil admits all.
func (x *Index) where(f *index.Filter) (*filters.WhereBuilder, int, error) {
	if f == nil {
		return nil, len(x.of), nil
	}
	admitted := make([]int, len(x.sizes))
	total := 0
	for ord, class := range x.of {
		if f.Has(uint32(ord)) {
			admitted[class]++
			total++
		}
	}
	if total == 0 || total == len(x.of) {
		return nil, total, nil
	}
	var some []int64
	superset, allClasses := 0, true
	for class, n := range admitted {
		if n > 0 {
			some = append(some, int64(class))
			superset += x.sizes[class]
		} else {
			allClasses = false
		}
	}
	byClass := filters.Where().WithPath([]string{propClass}).WithOperator(filters.ContainsAny).WithValueInt(some...)
	if superset == total {
		return byClass, total, nil
	}
	// The shorter list of the two: who is in, or who of the admitted classes is out.
	in, op := true, filters.ContainsAny
	if superset-total < total {
		in, op = false, filters.ContainsNone
	}
	var ords []int64
	for ord, class := range x.of {
		if admitted[class] > 0 && f.Has(uint32(ord)) == in {
			ords = append(ords, int64(ord))
		}
	}
	if len(ords) > maxListed {
		return nil, 0, fmt.Errorf("a filter that is not made of permissions names %d chunks, the limit is %d", len(ords), maxListed)
	}
	byOrd := filters.Where().WithPath([]string{propOrd}).WithOperator(op).WithValueInt(ords...)
	if in || allClasses {
		return byOrd, total, nil
	}
	return filters.Where().WithOperator(filters.And).WithOperands([]*filters.WhereBuilder{byClass, byOrd}), total, nil
}
