package lexical

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/internal/collections"
)

func readLines(t *testing.T, path string, each func(line []byte)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		each(sc.Bytes())
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}

type record struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// ndcg is the mean nDCG@10 with linear gain over the judged queries of a BEIR folder.
func ndcg(t *testing.T, dir string, s Settings) (mean float64, x *Index) {
	var docs []Doc
	readLines(t, filepath.Join(dir, "corpus.jsonl"), func(line []byte) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, Doc{ID: r.ID, Title: r.Title, Body: r.Text})
	})
	slices.SortFunc(docs, func(a, b Doc) int { return cmp.Compare(a.ID, b.ID) })
	x = openDocs(t, s, docs)
	grades := map[string]map[string]int{}
	first := true
	readLines(t, filepath.Join(dir, "qrels", "test.tsv"), func(line []byte) {
		if first {
			first = false
			return
		}
		f := strings.Split(string(line), "\t")
		g, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatal(err)
		}
		if grades[f[0]] == nil {
			grades[f[0]] = map[string]int{}
		}
		grades[f[0]][f[1]] = g
	})
	n := 0
	readLines(t, filepath.Join(dir, "queries.jsonl"), func(line []byte) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		judged := grades[r.ID]
		if len(judged) == 0 {
			return
		}
		n++
		ideal := []int{}
		for _, g := range judged {
			ideal = append(ideal, max(g, 0))
		}
		slices.SortFunc(ideal, func(a, b int) int { return b - a })
		got := []int{}
		for _, c := range find(t, x, r.Text, 10) {
			got = append(got, judged[docs[c.Ord].ID])
		}
		if i := dcg(ideal); i > 0 {
			mean += dcg(got) / i
		}
	})
	return mean / float64(n), x
}

func dcg(grades []int) (sum float64) {
	for i, g := range grades[:min(10, len(grades))] {
		sum += float64(max(g, 0)) / math.Log2(float64(i+2))
	}
	return sum
}

// TestCollections pins the ranking quality on public collections: title and text of each document
// as one chunk. bleve's own scoring with its English analyzer gives .3585, .3989 and .6736.
func TestCollections(t *testing.T) {
	for _, c := range []struct {
		name          string
		byDefault     float64
		withStopwords float64 // removed from the index and from every query
	}{
		{"cranfield", .3718, .3724},
		{"cisi", .3939, .4017},
		{"scifact", .6910, .6897},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := collections.Path(t, "data", c.name)
			got, x := ndcg(t, dir, Settings{})
			if x.Stats().Analyzer != "en" || math.Abs(got-c.byDefault) > 5e-5 {
				t.Errorf("default: analyzer %s, ndcg@10 %.4f, want en, %.4f", x.Stats().Analyzer, got, c.byDefault)
			}
			if got, _ := ndcg(t, dir, Settings{Analyzer: "en", Stopwords: true}); math.Abs(got-c.withStopwords) > 5e-5 {
				t.Errorf("without stop words: ndcg@10 %.4f, want %.4f", got, c.withStopwords)
			}
		})
	}
}
