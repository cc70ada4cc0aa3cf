package evalkit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/internal/collections"
)

// TestSpansOfCollection scores overlapping fixed-size chunks against 790 quotes of real
// documents and checks the span measures against one boolean for each byte.
func TestSpansOfCollection(t *testing.T) {
	dir := collections.Path(t, "data", "chunking_evaluation")
	docs, err := corpus.Dir(filepath.Join(dir, "docs"), corpus.Options{}).Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Query string `json:"query_id"`
		Doc   string `json:"doc"`
		Start int    `json:"start_byte"`
		Text  string `json:"text"`
	}
	set := &golden.Set{Name: "spans", Version: 1}
	spans, same := 0, 0
	f, err := os.Open(filepath.Join(dir, "spans.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		doc := docs.Find(corpus.DocumentID(r.Doc + ".md"))
		at, ok := corpus.FindQuote(doc, -1, r.Text)
		if !ok {
			t.Fatalf("%s: quote %q is not found", r.Query, r.Text)
		}
		spans++
		if at.Start == r.Start {
			same++
		}
		if n := len(set.Questions); n == 0 || set.Questions[n-1].ID != r.Query {
			set.Questions = append(set.Questions, golden.Question{ID: r.Query, Question: r.Query, Answerable: true})
		}
		q := &set.Questions[len(set.Questions)-1]
		q.Gold = append(q.Gold, golden.Group{{Doc: doc.ID, Quote: r.Text, Grade: 1}})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	if spans != 790 || same < 700 {
		t.Errorf("%d quotes, %d of them where the collection says", spans, same)
	}

	run := &Run{}
	for i, q := range set.Questions {
		doc := docs.Find(q.Gold[0][0].Doc)
		at, _ := corpus.FindQuote(doc, -1, q.Gold[0][0].Quote)
		var hits []Hit
		for k := range 8 {
			// Windows around the first quote, overlapping, some beside it.
			start := min(max(at.Start-300+(k*i*37)%900, 0), len(doc.Text)-1)
			end := min(start+150+10*k, len(doc.Text))
			for !utf8.RuneStart(doc.Text[start]) {
				start--
			}
			for end < len(doc.Text) && !utf8.RuneStart(doc.Text[end]) {
				end++
			}
			id := corpus.ChunkID(fmt.Sprintf("%s#%d-%d", doc.ID, start, end))
			if slices.ContainsFunc(hits, func(h Hit) bool { return h.Chunk == id }) {
				continue
			}
			hits = append(hits, Hit{Chunk: id, Doc: doc.ID, Span: corpus.Span{Start: start, End: end}})
		}
		run.Results = append(run.Results, ranked(q.ID, hits...))
	}
	ev, err := Evaluate(set, docs, run, Options{Rule: RuleSpan, Cutoffs: []int{1, 5}, Measures: spanFamilies, Resamples: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range set.Questions {
		for _, k := range []int{1, 5} {
			delivered, gold := map[string]bool{}, map[string]bool{}
			mark := func(m map[string]bool, doc corpus.DocumentID, s corpus.Span) {
				for b := s.Start; b < s.End; b++ {
					m[fmt.Sprint(doc, b)] = true
				}
			}
			for _, h := range run.Results[i].Hits[:min(k, len(run.Results[i].Hits))] {
				mark(delivered, h.Doc, h.Span)
			}
			for _, g := range q.Gold {
				at, _ := corpus.FindQuote(docs.Find(g[0].Doc), -1, g[0].Quote)
				mark(gold, g[0].Doc, at)
			}
			both := 0
			for b := range gold {
				if delivered[b] {
					both++
				}
			}
			for name, want := range map[string]float64{
				"char_recall":    float64(both) / float64(len(gold)),
				"char_precision": float64(both) / float64(len(delivered)),
				"char_iou":       float64(both) / float64(len(gold)+len(delivered)-both),
			} {
				name = fmt.Sprintf("%s@%d", name, k)
				if got := ev.Questions[i].Measures[name]; !got.OK || math.Abs(got.V-want) > 1e-12 {
					t.Errorf("%s: %s = %v, want %v", q.ID, name, got, want)
				}
			}
		}
	}
	if m := ev.Measures["char_recall@5"].Mean; m.V < .1 || strings.Contains(m.String(), "NaN") {
		t.Errorf("char_recall@5 = %v: the run finds nothing, so the test proves nothing", m)
	}
}
