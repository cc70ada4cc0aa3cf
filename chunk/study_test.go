package chunk_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/internal/collections"
)

// excerpt is gold evidence of a question.
type excerpt struct {
	Query string `json:"query_id"`
	Doc   string `json:"doc"`
	Start int    `json:"start_byte"`
	End   int    `json:"end_byte"`
	Text  string `json:"text"`
}

type question struct {
	ID     string `json:"_id"`
	Text   string `json:"text"`
	Corpus string `json:"corpus_id"`
}

func jsonLines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
	return all
}

// study is the collection with its gold.
type study struct {
	docs      *corpus.Collection
	questions []question
	gold      map[string][]corpus.Span // question → spans of its document, disjoint and sorted
	runes     map[corpus.DocumentID][]int32
}

func loadStudy(t testing.TB) *study {
	t.Helper()
	dir := collections.Path(t, "data", "chunking_evaluation")
	c, err := corpus.BEIR(dir).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &study{docs: c, questions: jsonLines[question](t, filepath.Join(dir, "queries.jsonl")), gold: map[string][]corpus.Span{}, runes: map[corpus.DocumentID][]int32{}}
	for i := range c.Documents {
		d := &c.Documents[i]
		counts := make([]int32, len(d.Text)+1)
		n := int32(0)
		for at := range d.Text {
			for k := at; k < len(d.Text) && (k == at || !utf8.RuneStart(d.Text[k])); k++ {
				counts[k] = n
			}
			n++
		}
		counts[len(d.Text)] = n
		s.runes[d.ID] = counts
	}
	for _, e := range jsonLines[excerpt](t, filepath.Join(dir, "spans.jsonl")) {
		d := c.Find(corpus.DocumentID(e.Doc))
		span := corpus.Span{Start: e.Start, End: e.End}
		if e.End > len(d.Text) || d.Text[e.Start:e.End] != e.Text { // normalisation moved it
			var ok bool
			if span, ok = corpus.FindQuote(d, -1, e.Text); !ok {
				t.Fatalf("excerpt of %s not found: %q", e.Query, e.Text)
			}
		}
		s.gold[e.Query] = append(s.gold[e.Query], span)
	}
	for q, spans := range s.gold {
		s.gold[q] = union(spans)
	}
	return s
}

// union returns sorted disjoint spans that cover the same text.
func union(spans []corpus.Span) []corpus.Span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b corpus.Span) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	var out []corpus.Span
	for _, s := range spans {
		if k := len(out) - 1; k >= 0 && s.Start <= out[k].End {
			out[k].End = max(out[k].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// scores returns recall, precision and intersection over union in characters of what the hits
// of one question cover, as Chroma's report defines them: text that two hits share counts once
// above the line and twice below it; hits of another document count below only.
func (s *study) scores(q question, hits []chunk.Chunk) (recall, precision, iou float64) {
	chars := func(doc corpus.DocumentID, sp corpus.Span) float64 {
		return float64(s.runes[doc][sp.End] - s.runes[doc][sp.Start])
	}
	doc := corpus.DocumentID(q.Corpus)
	var found []corpus.Span
	retrieved := 0.0
	for _, h := range hits {
		retrieved += chars(h.Doc, h.Span)
		if h.Doc != doc {
			continue
		}
		for _, g := range s.gold[q.ID] {
			if h.Span.Overlap(g) > 0 {
				found = append(found, corpus.Span{Start: max(h.Span.Start, g.Start), End: min(h.Span.End, g.End)})
			}
		}
	}
	var gold, hit float64
	for _, g := range s.gold[q.ID] {
		gold += chars(doc, g)
	}
	for _, f := range union(found) {
		hit += chars(doc, f)
	}
	if retrieved == 0 {
		return 0, 0, 0
	}
	return hit / gold, hit / retrieved, hit / (retrieved + gold - hit)
}

func TestScores(t *testing.T) {
	s := &study{gold: map[string][]corpus.Span{"q": {{Start: 10, End: 20}}}, runes: map[corpus.DocumentID][]int32{"d": make([]int32, 101), "e": make([]int32, 101)}}
	for i := range 101 {
		s.runes["d"][i], s.runes["e"][i] = int32(i), int32(i)
	}
	q := question{ID: "q", Corpus: "d"}
	hit := func(doc corpus.DocumentID, a, b int) chunk.Chunk {
		return chunk.Chunk{Doc: doc, Span: corpus.Span{Start: a, End: b}}
	}
	for _, tt := range []struct {
		name string
		hits []chunk.Chunk
		want [3]float64
	}{
		{"half of it", []chunk.Chunk{hit("d", 0, 15)}, [3]float64{0.5, 5.0 / 15, 5.0 / 20}},
		{"the same twice", []chunk.Chunk{hit("d", 10, 20), hit("d", 10, 20)}, [3]float64{1, 0.5, 0.5}},
		{"other document", []chunk.Chunk{hit("e", 10, 20)}, [3]float64{0, 0, 0}},
		{"nothing", nil, [3]float64{}},
	} {
		r, p, i := s.scores(q, tt.hits)
		if got := [3]float64{r, p, i}; math.Abs(got[0]-tt.want[0])+math.Abs(got[1]-tt.want[1])+math.Abs(got[2]-tt.want[2]) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTokens compares the unit with the counts that Chroma's report gives for cl100k_base, the
// tokenizer of GPT-4, on the same texts.
func TestTokens(t *testing.T) {
	s := loadStudy(t)
	total := 0
	for doc, theirs := range map[corpus.DocumentID]int{"state_of_the_union": 10_444, "wikitexts": 26_649, "chatlogs": 7_727, "finance": 166_177, "pubmed": 117_211} {
		ours := chunk.Count(s.docs.Find(doc).Text, chunk.UnitTokens)
		total += ours
		if ratio := float64(ours) / float64(theirs); ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%s: %d tokens, cl100k_base %d, ratio %.3f", doc, ours, theirs, ratio)
		}
	}
	if ratio := float64(total) / 328_208; ratio < 0.94 || ratio > 0.98 {
		t.Errorf("%d tokens in all, cl100k_base 328208, ratio %.3f, documented as 0.958", total, ratio)
	}
}

// TestStudyChunking prints the table of docs/chunking.md. It takes minutes, so it runs on
// request only:
//
//	ASSAY_STUDY=chunking go test ./chunk -run TestStudyChunking -v -timeout 30m
func TestStudyChunking(t *testing.T) {
	if os.Getenv("ASSAY_STUDY") != "chunking" {
		t.Skip("set ASSAY_STUDY=chunking to run the study")
	}
	s := loadStudy(t)
	tokens := func(kind string, size, overlap int) chunk.Settings {
		return chunk.Settings{Kind: kind, Size: size, Overlap: overlap, Max: size, Units: chunk.UnitTokens}
	}
	fmt.Println("| chunker | size | overlap | chunks | mean tokens | lexical recall | precision | IoU | hybrid recall | precision | IoU |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
	for _, set := range []chunk.Settings{
		tokens(chunk.KindFixed, 800, 400), tokens(chunk.KindFixed, 400, 200), tokens(chunk.KindFixed, 400, 0), tokens(chunk.KindFixed, 200, 0),
		tokens(chunk.KindRecursive, 800, 400), tokens(chunk.KindRecursive, 400, 200), tokens(chunk.KindRecursive, 400, 0), tokens(chunk.KindRecursive, 200, 0),
		tokens(chunk.KindSentence, 400, 0), tokens(chunk.KindSentence, 200, 0), tokens(chunk.KindSentence, 100, 0),
		tokens(chunk.KindSection, 400, 0), tokens(chunk.KindSection, 200, 0),
		{Kind: chunk.KindSection, Max: 900}, {Kind: chunk.KindFixed, Size: 400},
	} {
		s.row(t, set)
	}
}

// row cuts, indexes and searches, and prints one line of the table.
func (s *study) row(t *testing.T, set chunk.Settings) {
	ctx := t.Context()
	set.Prefix = chunk.PrefixNone // the documents have no headings
	var chunks []chunk.Chunk
	for i := range s.docs.Documents {
		chunks = append(chunks, split(t, &s.docs.Documents[i], set)...)
	}
	slices.SortFunc(chunks, func(a, b chunk.Chunk) int { return strings.Compare(string(a.ID), string(b.ID)) })
	texts := make([]string, len(chunks))
	mean := 0.0
	for i, c := range chunks {
		texts[i] = c.Context + c.Text
		mean += float64(chunk.Count(c.Text, chunk.UnitTokens)) / float64(len(chunks))
	}

	dir := filepath.Join(t.TempDir(), "lexical")
	stats, err := lexical.Build(ctx, nil, dir, func(yield func(lexical.Doc) bool) {
		for i, c := range chunks {
			if !yield(lexical.Doc{ID: string(c.ID), Body: texts[i]}) {
				return
			}
		}
	}, lexical.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	words, err := lexical.Open(dir, lexical.Settings{}, stats)
	if err != nil {
		t.Fatal(err)
	}
	defer words.Close()
	model, err := embed.FitBuiltin(ctx, texts, embed.BuiltinOptions{Tokenize: words.Terms, Tokenizer: "study", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := model.Embed(ctx, texts, index.KindDocument)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, q := range s.questions {
		asked = append(asked, q.Text)
	}
	vectors, err := model.Embed(ctx, asked, index.KindQuery)
	if err != nil {
		t.Fatal(err)
	}

	var sums [2][3]float64
	for i, q := range s.questions {
		lex, err := words.SearchText(ctx, q.Text, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		for m, fused := range [][]hybrid.Fused{
			hybrid.Fuse(nil, lex, hybrid.Settings{Mode: hybrid.ModeLexical}), hybrid.Fuse(nearest(rows, vectors[i], 100), lex, hybrid.Settings{}),
		} {
			var hits []chunk.Chunk
			for _, f := range fused[:min(5, len(fused))] {
				hits = append(hits, chunks[f.Ord])
			}
			r, p, iou := s.scores(q, hits)
			sums[m][0] += r
			sums[m][1] += p
			sums[m][2] += iou
		}
	}
	size, unit := set.Limit(), set.WithDefaults().Units
	fmt.Printf("| %s | %d %s | %d | %d | %.0f", set.Kind, size, unit, set.WithDefaults().Overlap, len(chunks), mean)
	for _, sum := range sums {
		for _, v := range sum {
			fmt.Printf(" | %.1f", 100*v/float64(len(s.questions)))
		}
	}
	fmt.Println(" |")
}

// nearest ranks all rows by their product with query.
func nearest(rows [][]float32, query []float32, k int) []index.Candidate {
	if query == nil {
		return nil
	}
	var all []index.Candidate
	for i, row := range rows {
		if row == nil {
			continue
		}
		sum := 0.0
		for j, v := range row {
			sum += float64(float64(v) * float64(query[j]))
		}
		all = append(all, index.Candidate{Ord: uint32(i), Score: sum})
	}
	slices.SortFunc(all, func(a, b index.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord))
	})
	return all[:min(k, len(all))]
}
