package embed

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/internal/collections"
)

// collection is a public test collection in BEIR's layout.
type collection struct {
	ids, texts []string
	queries    []topic
}

type topic struct {
	id, text string
	grades   map[string]int
}

func eachLine(tb testing.TB, path string, f func(line []byte)) {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		f(s.Bytes())
	}
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
}

// load reads a collection; its documents are in ascending order of id, each its title and its
// text (without the title if the text repeats it).
func load(tb testing.TB, name string) *collection {
	tb.Helper()
	dir := collections.Path(tb, "data", name)
	c := &collection{}
	text := map[string]string{}
	eachLine(tb, filepath.Join(dir, "corpus.jsonl"), func(line []byte) {
		var d struct {
			ID    string `json:"_id"`
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal(line, &d); err != nil {
			tb.Fatal(err)
		}
		c.ids = append(c.ids, d.ID)
		if strings.HasPrefix(d.Text, d.Title) {
			d.Title = ""
		}
		text[d.ID] = strings.TrimSpace(d.Title + "\n" + d.Text)
	})
	slices.Sort(c.ids)
	for _, id := range c.ids {
		c.texts = append(c.texts, text[id])
	}
	grades := map[string]map[string]int{}
	eachLine(tb, filepath.Join(dir, "qrels", "test.tsv"), func(line []byte) {
		f := strings.Split(string(line), "\t")
		g, err := strconv.Atoi(f[2])
		if err != nil {
			return // the header
		}
		if grades[f[0]] == nil {
			grades[f[0]] = map[string]int{}
		}
		grades[f[0]][f[1]] = g
	})
	eachLine(tb, filepath.Join(dir, "queries.jsonl"), func(line []byte) {
		var q struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			tb.Fatal(err)
		}
		if g := grades[q.ID]; g != nil {
			c.queries = append(c.queries, topic{q.ID, q.Text, g})
		}
	})
	return c
}

// subset keeps the documents for which keep holds and the queries with a relevant one left.
func (c *collection) subset(keep func(i int) bool) *collection {
	s := &collection{}
	has := map[string]bool{}
	for i, id := range c.ids {
		if keep(i) {
			s.ids, s.texts = append(s.ids, id), append(s.texts, c.texts[i])
			has[id] = true
		}
	}
	for _, q := range c.queries {
		g := map[string]int{}
		for id, n := range q.grades {
			if has[id] && n > 0 {
				g[id] = n
			}
		}
		if len(g) > 0 {
			s.queries = append(s.queries, topic{q.id, q.text, g})
		}
	}
	return s
}

const depth = 100

// bm25 returns a ranked list per query by the lexical index.
func (c *collection) bm25(tb testing.TB) [][]index.Candidate {
	tb.Helper()
	ctx, dir := context.Background(), tb.TempDir()
	st, err := lexical.Build(ctx, nil, dir, func(yield func(lexical.Doc) bool) {
		for i, t := range c.texts {
			if !yield(lexical.Doc{ID: c.ids[i], Body: t}) {
				return
			}
		}
	}, lexical.Settings{})
	if err != nil {
		tb.Fatal(err)
	}
	x, err := lexical.Open(dir, lexical.Settings{}, st)
	if err != nil {
		tb.Fatal(err)
	}
	defer x.Close()
	lists := make([][]index.Candidate, len(c.queries))
	for i, q := range c.queries {
		if lists[i], err = x.SearchText(ctx, q.text, depth, nil); err != nil {
			tb.Fatal(err)
		}
	}
	return lists
}

// english returns the terms that the lexical index would cut English texts into.
func english(tb testing.TB) func(string) []string {
	tb.Helper()
	a, err := lexical.NewAnalyzer(lexical.Settings{Analyzer: "en"})
	if err != nil {
		tb.Fatal(err)
	}
	return a.Terms
}

// ranked returns a ranked list per query by cosine.
func (c *collection) ranked(tb testing.TB, e index.Embedder) [][]index.Candidate {
	tb.Helper()
	ctx := context.Background()
	docs, err := e.Embed(ctx, c.texts, index.KindDocument)
	if err != nil {
		tb.Fatal(err)
	}
	texts := make([]string, len(c.queries))
	for i, q := range c.queries {
		texts[i] = q.text
	}
	queries, err := e.Embed(ctx, texts, index.KindQuery)
	if err != nil {
		tb.Fatal(err)
	}
	lists := make([][]index.Candidate, len(queries))
	for i, q := range queries {
		lists[i] = nearest(q, docs)
	}
	return lists
}

func nearest(q []float32, docs [][]float32) []index.Candidate {
	if q == nil {
		return nil
	}
	var list []index.Candidate
	for i, d := range docs {
		if d == nil {
			continue
		}
		s := 0.0
		for j, x := range q {
			s += float64(x) * float64(d[j])
		}
		list = append(list, index.Candidate{Ord: uint32(i), Score: s})
	}
	slices.SortFunc(list, func(a, b index.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord))
	})
	return list[:min(len(list), depth)]
}

// fused joins two sets of lists by the default fusion.
func fused(vector, lex [][]index.Candidate) [][]index.Candidate {
	out := make([][]index.Candidate, len(lex))
	for i := range lex {
		for _, f := range hybrid.Fuse(vector[i], lex[i], hybrid.Settings{}) {
			out[i] = append(out[i], index.Candidate{Ord: f.Ord, Score: f.Score})
		}
	}
	return out
}

// score returns the means over the queries of nDCG@10 (linear gain) and recall@100.
func (c *collection) score(lists [][]index.Candidate) (ndcg, recall float64) {
	for i, q := range c.queries {
		var ideal []int
		for _, g := range q.grades {
			if g > 0 {
				ideal = append(ideal, g)
			}
		}
		slices.SortFunc(ideal, func(a, b int) int { return b - a })
		best, got, found := 0.0, 0.0, 0
		for r, g := range ideal[:min(10, len(ideal))] {
			best += float64(g) / math.Log2(float64(r+2))
		}
		for r, h := range lists[i][:min(depth, len(lists[i]))] {
			g := q.grades[c.ids[h.Ord]]
			if g > 0 {
				found++
				if r < 10 {
					got += float64(g) / math.Log2(float64(r+2))
				}
			}
		}
		if best > 0 {
			ndcg += got / best
			recall += float64(found) / float64(len(ideal))
		}
	}
	n := float64(len(c.queries))
	return ndcg / n, recall / n
}
