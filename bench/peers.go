package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blugelabs/bluge"
	"github.com/coder/hnsw"
	"github.com/philippgille/chromem-go"
)

// Chromem is chromem-go as its documentation shows it, with vectors given.
type Chromem struct{ c *chromem.Collection }

// NewChromem makes a collection of rows, each in memory of its own as a program would have it
// that embeds chunk by chunk.
func NewChromem(ctx context.Context, rows [][]float32) (*Chromem, error) {
	never := func(context.Context, string) ([]float32, error) { return nil, errors.New("not used") }
	c, err := chromem.NewDB().CreateCollection("bench", nil, never)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if err := c.AddDocument(ctx, chromem.Document{ID: strconv.Itoa(i), Embedding: slices.Clone(r)}); err != nil {
			return nil, err
		}
	}
	return &Chromem{c}, nil
}

// Ranked is one entry of a peer's list.
type Ranked struct {
	Ord   int
	Score float64
}

// Query returns the k best rows in chromem-go's order.
func (c *Chromem) Query(ctx context.Context, q []float32, k int) ([]Ranked, error) {
	res, err := c.c.QueryEmbedding(ctx, q, min(k, c.c.Count()), nil, nil)
	if err != nil {
		return nil, err
	}
	list := make([]Ranked, len(res))
	for i, r := range res {
		n, err := strconv.Atoi(r.ID)
		if err != nil {
			return nil, err
		}
		list[i] = Ranked{n, float64(r.Similarity)}
	}
	return list, nil
}

// Bleve is bleve with its standard analyser and one text field, on disk.
type Bleve struct{ idx bleve.Index }

// NewBleve indexes texts at dir in batches of 1,000. lean leaves out what a ranking does not
// need (stored text, term vectors, doc values, the field of all fields); else bleve's defaults
// hold.
func NewBleve(dir string, texts []string, lean bool) (*Bleve, error) {
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = standard.Name
	if lean {
		f := mapping.NewTextFieldMapping()
		f.Store, f.IncludeTermVectors, f.DocValues, f.IncludeInAll = false, false, false, false
		d := mapping.NewDocumentStaticMapping()
		d.AddFieldMappingsAt("text", f)
		m.DefaultMapping = d
		m.DefaultField = "text"
	}
	idx, err := bleve.New(dir, m)
	if err != nil {
		return nil, err
	}
	b := idx.NewBatch()
	for i, t := range texts {
		if err := b.Index(ID(i), map[string]any{"text": t}); err != nil {
			return nil, err
		}
		if b.Size() == 1000 || i == len(texts)-1 {
			if err := idx.Batch(b); err != nil {
				return nil, err
			}
			b.Reset()
		}
	}
	return &Bleve{idx}, nil
}

// Query returns bleve's k best texts.
func (b *Bleve) Query(ctx context.Context, q string, k int) ([]Ranked, error) {
	mq := bleve.NewMatchQuery(q)
	mq.SetField("text")
	res, err := b.idx.SearchInContext(ctx, bleve.NewSearchRequestOptions(mq, k, 0, false))
	if err != nil {
		return nil, err
	}
	list := make([]Ranked, len(res.Hits))
	for i, h := range res.Hits {
		n, err := strconv.Atoi(h.ID[len("chunk-"):])
		if err != nil {
			return nil, err
		}
		list[i] = Ranked{n, h.Score}
	}
	return list, nil
}

// Close closes the index.
func (b *Bleve) Close() error { return b.idx.Close() }

// Bluge is bluge, a fork of bleve, with its standard analyser and one text field, on disk.
type Bluge struct{ r *bluge.Reader }

// NewBluge indexes texts at dir with bluge's offline writer.
func NewBluge(dir string, texts []string) (*Bluge, error) {
	w, err := bluge.OpenOfflineWriter(bluge.DefaultConfig(dir), 1000, 10)
	if err != nil {
		return nil, err
	}
	for i, t := range texts {
		d := bluge.NewDocument(strconv.Itoa(i)).AddField(bluge.NewTextField("text", t))
		if err := w.Insert(d); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	r, err := bluge.OpenReader(bluge.DefaultConfig(dir))
	return &Bluge{r}, err
}

// Query returns bluge's k best texts.
func (b *Bluge) Query(ctx context.Context, q string, k int) ([]Ranked, error) {
	matches, err := b.r.Search(ctx, bluge.NewTopNSearch(k, bluge.NewMatchQuery(q).SetField("text")))
	if err != nil {
		return nil, err
	}
	var list []Ranked
	for {
		m, err := matches.Next()
		if err != nil || m == nil {
			return list, err
		}
		r := Ranked{Ord: -1, Score: m.Score}
		err = m.VisitStoredFields(func(field string, value []byte) bool {
			if field == "_id" {
				r.Ord, _ = strconv.Atoi(string(value))
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		if r.Ord < 0 {
			return nil, errors.New("bluge returned a text without its id")
		}
		list = append(list, r)
	}
}

// Close closes the index.
func (b *Bluge) Close() error { return b.r.Close() }

// Pair is chromem-go and bleve asked at the same time, their lists joined by reciprocal rank
// fusion, as a program does that combines the two libraries.
type Pair struct {
	C *Chromem
	B *Bleve
}

// Query returns the k best chunks of the two lists of length depth.
func (p Pair) Query(ctx context.Context, v []float32, text string, k, depth int) ([]Ranked, error) {
	type answer struct {
		list []Ranked
		err  error
	}
	words := make(chan answer, 1)
	go func() {
		list, err := p.B.Query(ctx, text, depth)
		words <- answer{list, err}
	}()
	vectors, err := p.C.Query(ctx, v, depth)
	a := <-words
	if err := errors.Join(err, a.err); err != nil {
		return nil, err
	}
	scores := map[int]float64{}
	for _, list := range [][]Ranked{vectors, a.list} {
		for i, r := range list {
			scores[r.Ord] += 1 / float64(60+i+1)
		}
	}
	fused := make([]Ranked, 0, len(scores))
	for ord, s := range scores {
		fused = append(fused, Ranked{ord, s})
	}
	slices.SortFunc(fused, byScore)
	return fused[:min(k, len(fused))], nil
}

func byScore(a, b Ranked) int {
	switch {
	case a.Score != b.Score:
		if a.Score > b.Score {
			return -1
		}
		return 1
	case a.Ord > b.Ord:
		return -1
	case a.Ord < b.Ord:
		return 1
	}
	return 0
}

// HNSW is coder/hnsw with its defaults and cosine distance.
type HNSW struct{ g *hnsw.Graph[int] }

// NewHNSW builds the graph, which takes a while.
func NewHNSW(rows [][]float32) *HNSW {
	g := hnsw.NewGraph[int]()
	g.EfSearch = 100
	for i, r := range rows {
		g.Add(hnsw.MakeNode(i, r))
	}
	return &HNSW{g}
}

// Query returns about the k nearest rows.
func (h *HNSW) Query(q []float32, k int) []int {
	nodes := h.g.Search(q, k)
	ords := make([]int, len(nodes))
	for i, n := range nodes {
		ords[i] = n.Key
	}
	return ords
}

// BM25 is the formula computed over every text, for comparison.
type BM25 struct {
	terms   [][]string
	df      map[string]int
	average float64
	K1, B   float64
}

// NewBM25 holds texts already cut into terms.
func NewBM25(terms [][]string, k1, b float64) *BM25 {
	m := &BM25{terms: terms, df: map[string]int{}, K1: k1, B: b}
	total := 0
	for _, ts := range terms {
		total += len(ts)
		seen := map[string]bool{}
		for _, t := range ts {
			if !seen[t] {
				seen[t] = true
				m.df[t]++
			}
		}
	}
	m.average = float64(total) / float64(max(len(terms), 1))
	return m
}

// Query scores every text and returns the k best; a term that the query holds twice counts
// twice.
func (m *BM25) Query(query []string, k int) []Ranked {
	n := float64(len(m.terms))
	var all []Ranked
	for i, ts := range m.terms {
		tf := map[string]int{}
		for _, t := range ts {
			if slices.Contains(query, t) {
				tf[t]++
			}
		}
		if len(tf) == 0 {
			continue
		}
		var s float64
		for _, t := range query {
			if f := float64(tf[t]); f > 0 {
				df := float64(m.df[t])
				s += math.Log(1+(n-df+.5)/(df+.5)) * f * (m.K1 + 1) / (f + m.K1*(1-m.B+m.B*float64(len(ts))/m.average))
			}
		}
		all = append(all, Ranked{i, s})
	}
	slices.SortFunc(all, byScore)
	return all[:min(k, len(all))]
}

// SameList returns an error unless got ranks as want, up to exchanges between scores within
// tolerance of each other.
func SameList(got, want []Ranked, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, want %d", len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i].Score-want[i].Score) > tolerance {
			return fmt.Errorf("rank %d: %v, want %v", i+1, got[i], want[i])
		}
		if got[i].Ord != want[i].Ord && (tolerance == 0 || !near(want, i, tolerance)) {
			return fmt.Errorf("rank %d: %v, want %v", i+1, got[i], want[i])
		}
	}
	return nil
}

// near reports whether the entry at i has a neighbour within tolerance, or is the last, whose
// neighbour was cut off.
func near(list []Ranked, i int, tolerance float64) bool {
	return i == len(list)-1 ||
		math.Abs(list[i].Score-list[i+1].Score) <= tolerance ||
		i > 0 && math.Abs(list[i].Score-list[i-1].Score) <= tolerance
}
