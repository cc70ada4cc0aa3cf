package lexical

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed792a4543/assay/index"
)

type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// open builds an index of bodies and opens it.
func open(t *testing.T, s Settings, bodies ...string) *Index {
	t.Helper()
	docs := make([]Doc, len(bodies))
	for i, b := range bodies {
		docs[i] = Doc{ID: fmt.Sprintf("c%06d", i), Body: b}
	}
	return openDocs(t, s, docs)
}

func openDocs(t *testing.T, s Settings, docs []Doc) *Index {
	t.Helper()
	x, err := buildAt(filepath.Join(t.TempDir(), "lexical"), s, docs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func buildAt(dir string, s Settings, docs []Doc) (*Index, error) {
	stats, err := Build(context.Background(), nil, dir, slices.Values(docs), s)
	if err != nil {
		return nil, err
	}
	return Open(dir, s, stats)
}

func find(t tb, x *Index, query string, k int) []index.Candidate {
	t.Helper()
	got, err := x.SearchText(context.Background(), query, k, nil)
	if err != nil {
		t.Fatalf("SearchText(%q): %v", query, err)
	}
	return got
}

func ords(c []index.Candidate) []int {
	out := []int{}
	for _, c := range c {
		out = append(out, int(c.Ord))
	}
	return out
}

// reference is the textbook formula over lists of terms, written from the formula alone.
func reference(docs [][]string, lengths []int, query []string, k1, b float64, admitted func(int) bool) []index.Candidate {
	n, total := float64(len(docs)), 0.0
	for _, l := range lengths {
		total += float64(l)
	}
	average := total / n
	counts := make([]map[string]int, len(docs))
	df := map[string]int{}
	for i, d := range docs {
		counts[i] = map[string]int{}
		for _, t := range d {
			if counts[i][t]++; counts[i][t] == 1 {
				df[t]++
			}
		}
	}
	var out []index.Candidate
	for i := range docs {
		score, match := 0.0, false
		for _, t := range query {
			tf := float64(counts[i][t])
			if tf == 0 {
				continue
			}
			match = true
			idf := math.Log(1 + (n-float64(df[t])+0.5)/(float64(df[t])+0.5))
			score += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(lengths[i])/average))
		}
		if match && admitted(i) {
			out = append(out, index.Candidate{Ord: uint32(i), Score: score})
		}
	}
	slices.SortFunc(out, func(a, b index.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Ord, a.Ord))
	})
	return out
}

// same compares got with the head of want: scores within 1e-6, and ids wherever the reference's
// scores are apart by more than rounding.
func same(got, want []index.Candidate, k int) error {
	if len(got) != min(k, len(want)) {
		return fmt.Errorf("%d hits, want %d", len(got), min(k, len(want)))
	}
	scores := map[uint32]float64{}
	for _, c := range want {
		scores[c.Ord] = c.Score
	}
	for i, c := range got {
		if math.Abs(c.Score-want[i].Score) > 1e-9 {
			return fmt.Errorf("rank %d: %v, want %v", i+1, c, want[i])
		}
		if s, ok := scores[c.Ord]; !ok || math.Abs(s-c.Score) > 1e-9 {
			return fmt.Errorf("rank %d: chunk %d scores %v, want %v", i+1, c.Ord, c.Score, s)
		}
		if i > 0 && cmp.Or(cmp.Compare(c.Score, got[i-1].Score), cmp.Compare(c.Ord, got[i-1].Ord)) >= 0 {
			return fmt.Errorf("rank %d: %v after %v is out of order", i+1, c, got[i-1])
		}
		if c.Ord != want[i].Ord {
			if math.Abs(want[i].Score-scores[c.Ord]) > 1e-12 {
				return fmt.Errorf("rank %d: chunk %d, want %d", i+1, c.Ord, want[i].Ord)
			}
		}
	}
	return nil
}

func TestFormula(t *testing.T) {
	t.Run("LX-07", func(t *testing.T) {
		b := "kettle kettle kettle kettle kettle kettle kettle kettle"
		for range 192 {
			b += " filler"
		}
		bodies := []string{"kettle one two three four", b}
		for i := range 20 {
			bodies = append(bodies, fmt.Sprintf("filler words number%d here there", i))
		}
		x := open(t, Settings{Analyzer: "standard"}, bodies...)
		// N 22; lengths 5, 200 and 20 × 5, but the number in number7 is a code with two variants
		// that add no length: average (5+200+100)/22 = 13.863636…
		n, avg := 22.0, 305.0/22
		idf := math.Log(1 + (n-2+0.5)/(2+0.5))
		wantA := idf * 1 * 2.2 / (1 + 1.2*(0.25+0.75*5/avg))
		wantB := idf * 8 * 2.2 / (8 + 1.2*(0.25+0.75*200/avg))
		want := []index.Candidate{{Ord: 0, Score: wantA}, {Ord: 1, Score: wantB}}
		if wantB > wantA {
			slices.Reverse(want)
		}
		if err := same(find(t, x, "kettle", 10), want, 10); err != nil {
			t.Error(err)
		}
		idfFiller := math.Log(1 + (n-21+0.5)/(21+0.5))
		two := find(t, x, "kettle filler", 1)
		if want := wantB + idfFiller*192*2.2/(192+1.2*(0.25+0.75*200/avg)); len(two) != 1 || math.Abs(two[0].Score-max(want, wantA)) > 1e-6 {
			t.Errorf("kettle filler: %v, want %v", two, want)
		}
		// A word asked for twice counts twice.
		once, twice := find(t, x, "kettle", 5), find(t, x, "kettle Kettle", 5)
		for i := range once {
			if twice[i].Ord != once[i].Ord || math.Abs(twice[i].Score-2*once[i].Score) > 1e-9 {
				t.Errorf("twice: %v, once: %v", twice[i], once[i])
			}
		}
	})
	t.Run("own k1 and b", func(t *testing.T) {
		docs := []Doc{{ID: "a", Body: "kettle kettle lid"}, {ID: "b", Body: "kettle"}, {ID: "c", Body: "pan"}}
		k1, b := 0.0, 0.0
		x, y := openDocs(t, Settings{Analyzer: "standard"}, docs), openDocs(t, Settings{Analyzer: "standard", K1: &k1, B: &b}, docs)
		before := find(t, x, "kettle", 3)
		flat := find(t, y, "kettle", 3)
		if want := math.Log(1 + 1.5/2.5); len(flat) != 2 || flat[0].Ord != 1 || flat[0].Score != flat[1].Score || math.Abs(flat[0].Score-want) > 1e-12 {
			t.Errorf("k1 0: %v, want twice %v, greater id first", flat, want)
		}
		if d := gocmp.Diff(before, find(t, x, "kettle", 3)); d != "" || before[0].Score == flat[0].Score {
			t.Errorf("another open index changed the scores: %s", d)
		}
	})
}

// TestReference compares pruned search with the formula over random corpora.
func TestReference(t *testing.T) {
	top := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			r.Fatal(err)
		}
		vocabulary := rapid.IntRange(1, 26).Draw(r, "vocabulary")
		word := rapid.Custom(func(r *rapid.T) string {
			// Skewed, so that some terms are in nearly every chunk.
			a, b := rapid.IntRange(0, vocabulary-1).Draw(r, "a"), rapid.IntRange(0, vocabulary-1).Draw(r, "b")
			return fmt.Sprintf("w%c", 'a'+rune(min(a, b)))
		})
		docs := rapid.SliceOfN(rapid.SliceOfN(word, 0, 12), 1, 400).Draw(r, "docs")
		checkReference(r, dir, docs, rapid.SliceOfN(word, 1, 6).Draw(r, "query"),
			rapid.IntRange(1, 40).Draw(r, "k"), rapid.Float64Range(0, 3).Draw(r, "k1"), rapid.Float64Range(0, 1).Draw(r, "b"),
			rapid.Bool().Draw(r, "filter"))
	})
}

func checkReference(t tb, dir string, docs [][]string, query []string, k int, k1, b float64, filtered bool) {
	t.Helper()
	in, lengths := make([]Doc, len(docs)), make([]int, len(docs))
	for i, d := range docs {
		in[i] = Doc{ID: fmt.Sprintf("%06d", i), Body: join(d)}
		lengths[i] = len(d)
	}
	x, err := buildAt(dir, Settings{Analyzer: "standard", K1: &k1, B: &b}, in)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var filter *index.Filter
	admitted := func(int) bool { return true }
	if filtered {
		filter = index.NewFilter(len(docs))
		for i := range docs {
			if i%3 != 1 {
				filter.Set(uint32(i))
			}
		}
		admitted = func(i int) bool { return i%3 != 1 }
	}
	got, err := x.SearchText(context.Background(), join(query), k, filter)
	if err != nil {
		t.Fatal(err)
	}
	if err := same(got, reference(docs, lengths, query, k1, b, admitted), k); err != nil {
		t.Fatal(err)
	}
}

func join(words []string) string {
	s := ""
	for i, w := range words {
		if i > 0 {
			s += " "
		}
		s += w
	}
	return s
}
