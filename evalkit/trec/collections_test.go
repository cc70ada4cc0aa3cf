package trec

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/seed792a4543/assay/internal/collections"
)

// tfidfRun ranks the documents of a BEIR folder by a plain tf-idf sum: our own run, so that
// scoring is tried on real judgments.
func tfidfRun(t *testing.T, dir string, queries []Query) *Run {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	postings := map[string]map[int]int{}
	var ids []string
	l := newLines("corpus.jsonl", f)
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var d BEIRDocument
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		for _, w := range split(d.Title + " " + d.Text) {
			if postings[w] == nil {
				postings[w] = map[int]int{}
			}
			postings[w][len(ids)]++
		}
		ids = append(ids, d.ID)
	}
	var rankings []Ranking
	for _, q := range queries {
		scores := map[int]float64{}
		terms := split(q.Text)
		slices.Sort(terms)
		for _, w := range slices.Compact(terms) {
			idf := math.Log(float64(len(ids)+1) / float64(len(postings[w])+1))
			for d, tf := range postings[w] {
				scores[d] += idf * (1 + math.Log(float64(tf)))
			}
		}
		r := Ranking{Topic: q.ID}
		for d, s := range scores {
			r.Docs = append(r.Docs, Scored{ids[d], s})
		}
		order(r.Docs)
		r.Docs = r.Docs[:min(100, len(r.Docs))]
		rankings = append(rankings, r)
	}
	run, err := NewRun("tfidf", rankings)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestCollections scores a run of our own on Cranfield, CISI and SciFact and checks every mean
// against values computed here, differently: from the judgments, list by list.
func TestCollections(t *testing.T) {
	for _, name := range []string{"cranfield", "cisi", "scifact"} {
		t.Run(name, func(t *testing.T) {
			dir := collections.Path(t, "data", name)
			b, err := ReadBEIR(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			run := tfidfRun(t, dir, b.Queries)
			ms := parse(t, "ndcg@10", "map", "recip_rank", "P_10", "recall_100", "success_5", "Rprec", "ndcg_exp@10")
			s, err := Score(b.Qrels, run, ms, ScoreOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sums := make([]float64, len(ms))
			topics := b.Qrels.Topics()
			judged := map[string]map[string]int{}
			for _, j := range b.Qrels.Judgments() {
				if judged[j.Topic] == nil {
					judged[j.Topic] = map[string]int{}
				}
				judged[j.Topic][j.Doc] = j.Grade
			}
			for _, topic := range topics {
				for k, v := range plain(judged[topic], run.Docs(topic)) {
					sums[k] += v
				}
			}
			for k, m := range ms {
				want := sums[k] / float64(len(topics))
				if got := s.Means[k].Mean; !got.OK || math.Abs(got.V-want) > 1e-12 {
					t.Errorf("%s = %v, want %v", m, got, want)
				}
				t.Logf("%s %.4f", m, s.Means[k].Mean.V)
			}
			if s.Means[0].Mean.V < .05 {
				t.Errorf("%s = %v: the run finds nothing, so the test proves nothing", ms[0], s.Means[0].Mean)
			}
		})
	}
}

// plain computes the measures of TestCollections in their order.
func plain(judged map[string]int, docs []Scored) []float64 {
	var all []int
	for _, g := range judged {
		if g > 0 {
			all = append(all, g)
		}
	}
	out := make([]float64, 8)
	if len(all) == 0 {
		return out
	}
	grades := make([]int, len(docs))
	for i, d := range docs {
		grades[i] = max(judged[d.Doc], 0)
	}
	slices.Sort(all)
	slices.Reverse(all)
	dcg := func(gs []int, gain func(float64) float64) (sum float64) {
		for i := range min(10, len(gs)) {
			sum += gain(float64(gs[i])) / (math.Log(float64(i+2)) / math.Ln2)
		}
		return sum
	}
	found := func(k int) (n float64) {
		for i := range min(k, len(grades)) {
			if grades[i] > 0 {
				n++
			}
		}
		return n
	}
	linear := func(g float64) float64 { return g }
	exp := func(g float64) float64 { return math.Pow(2, g) - 1 }
	r := float64(len(all))
	out[0] = dcg(grades, linear) / dcg(all, linear)
	for i, g := range grades {
		if g > 0 {
			out[1] += found(i+1) / float64(i+1) / r
			if out[2] == 0 {
				out[2] = 1 / float64(i+1)
			}
		}
	}
	out[3] = found(10) / 10
	out[4] = found(100) / r
	out[5] = min(found(5), 1)
	out[6] = found(len(all)) / r
	out[7] = dcg(grades, exp) / dcg(all, exp)
	return out
}
