package dense

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/philippgille/chromem-go"

	"github.com/seed792a4543/assay/index"
)

// Document is what a Reference knows of a row beside its vector.
type Document struct {
	Metadata map[string]string
	Content  string
}

// Reference holds the rows of an index as documents of a chromem-go collection in memory. It
// answers by comparing the query with every document, and can select documents by metadata
// and content: the reference that the fast search is tested against. It copies no vector, and
// fails with index.ErrClosed once the index is closed. Safe for concurrent use.
type Reference struct {
	x *Index
	c *chromem.Collection
}

// Reference makes a Reference to x. docs is nil or holds one Document per row; those of missing
// rows are ignored.
func (x *Index) Reference(ctx context.Context, docs []Document) (*Reference, error) {
	if docs != nil && len(docs) != x.header.rows {
		return nil, fmt.Errorf("reference to %s: %d documents for %d rows", x.name, len(docs), x.header.rows)
	}
	if err := x.acquire(); err != nil {
		return nil, err
	}
	defer x.release()
	// Without a function of its own, the collection would ask a service for vectors.
	never := func(context.Context, string) ([]float32, error) {
		return nil, errors.New("a reference embeds nothing")
	}
	c, err := chromem.NewDB().CreateCollection("rows", nil, never)
	if err != nil {
		return nil, fmt.Errorf("reference to %s: %w", x.name, err)
	}
	for r := range uint32(x.header.rows) {
		if !x.has(r) {
			continue
		}
		if r%ctxRows == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		d := chromem.Document{ID: strconv.FormatUint(uint64(r), 10), Embedding: x.row(r)}
		if docs != nil {
			d.Metadata, d.Content = docs[r].Metadata, docs[r].Content
		}
		if err := c.AddDocument(ctx, d); err != nil {
			return nil, fmt.Errorf("reference to %s: row %d: %w", x.name, r, err)
		}
	}
	if c.Count() != x.header.present {
		return nil, fmt.Errorf("reference to %s: %d documents for %d rows", x.name, c.Count(), x.header.present)
	}
	return &Reference{x, c}, nil
}

// Query returns the k documents most similar to query among those whose metadata has every
// pair of where and whose content satisfies whereDocument ("$contains", "$not_contains"), in
// the total order, fewer only where fewer are there. Scores are chromem-go's.
//
// The collection leaves open which of several documents tied at the cut it returns, so Query
// asks for more until the last of them scores below the k-th.
func (r *Reference) Query(ctx context.Context, query []float32, k int, where, whereDocument map[string]string) ([]index.Candidate, error) {
	if k < 1 {
		return nil, fmt.Errorf("reference to %s: k is %d: ask for at least 1", r.x.name, k)
	}
	if len(query) != r.x.header.dim {
		return nil, fmt.Errorf("reference to %s: query vector of dimension %d, the index has %d: %w",
			r.x.name, len(query), r.x.header.dim, index.ErrDimension)
	}
	if _, reason := checkVector(query); reason != "" {
		return nil, fmt.Errorf("reference to %s: query vector: %s", r.x.name, reason)
	}
	if err := r.x.acquire(); err != nil {
		return nil, err
	}
	defer r.x.release()
	all := r.c.Count()
	if all == 0 {
		return []index.Candidate{}, ctx.Err()
	}
	for n := min(k+1, all); ; n = min(2*n, all) {
		results, err := r.c.QueryEmbedding(ctx, query, n, where, whereDocument)
		// A cancelled query may return a short list and no error.
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("reference to %s: %w", r.x.name, err)
		}
		list := make([]index.Candidate, len(results))
		for i, res := range results {
			ord, err := strconv.ParseUint(res.ID, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("reference to %s: %w", r.x.name, err)
			}
			list[i] = index.Candidate{Ord: uint32(ord), Score: float64(res.Similarity)}
		}
		slices.SortFunc(list, compare)
		if len(list) < n || n == all || list[len(list)-1].Score < list[k-1].Score {
			return list[:min(k, len(list))], nil
		}
	}
}
