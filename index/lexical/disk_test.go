package lexical

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/blevesearch/bleve/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/indextest"
	"github.com/seed792a4543/assay/internal/disk"
)

func TestConformance(t *testing.T) {
	indextest.RunText(t, func(t *testing.T, texts []string) index.TextSearcher {
		return open(t, Settings{}, texts...)
	})
}

// corpus returns n chunks of random words, some of them empty, with a few frequencies above 255.
func corpus(n int) []Doc {
	r := rand.New(rand.NewPCG(7, 7))
	docs := make([]Doc, n)
	for i := range docs {
		docs[i].ID = fmt.Sprintf("%07d", i)
		if i%50 == 0 {
			continue
		}
		var b strings.Builder
		for range 1 + r.IntN(30) {
			fmt.Fprintf(&b, "w%c%c ", 'a'+rune(r.IntN(5)*r.IntN(5)), 'a'+rune(r.IntN(4)))
		}
		if i%977 == 0 {
			b.WriteString(strings.Repeat("waa ", 300))
		}
		docs[i].Body, docs[i].Heading = b.String(), fmt.Sprintf("part %d", i%7)
	}
	return docs
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	m := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		m[filepath.ToSlash(rel)], err = os.ReadFile(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSameBytes builds twice, on one core and on several.
func TestSameBytes(t *testing.T) {
	for _, n := range []int{0, 1, 5000} {
		var before map[string][]byte
		for _, procs := range []int{1, 4} {
			old := runtime.GOMAXPROCS(procs)
			x := openDocs(t, Settings{}, corpus(n))
			runtime.GOMAXPROCS(old)
			got := files(t, x.dir)
			if before != nil {
				for name, data := range got {
					if !bytes.Equal(data, before[name]) {
						t.Errorf("%d chunks: %s differs between builds", n, name)
					}
				}
				if len(got) != len(before) {
					t.Errorf("%d chunks: %d files, then %d", n, len(before), len(got))
				}
			}
			before = got
		}
		for name := range before {
			if strings.Contains(name, "scratch") || strings.HasSuffix(name, ".tmp") {
				t.Errorf("%d chunks: %s was left behind", n, name)
			}
		}
	}
}

// TestManyBatches: the formula holds across the segments that one build merges, and in every
// pruned window.
func TestManyBatches(t *testing.T) {
	docs := corpus(9000)
	x := openDocs(t, Settings{Analyzer: "standard"}, docs)
	if s := x.Stats(); s.Chunks != 9000 || s.Empty != 180 {
		t.Errorf("%+v", s)
	}
	terms, lengths := make([][]string, len(docs)), make([]int, len(docs))
	for i, d := range docs {
		terms[i] = x.Terms(d.Heading + " " + d.Body)
		lengths[i] = len(terms[i])
	}
	t.Run("LX-09", func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 1))
		filter := index.NewFilter(len(docs))
		for i := range docs {
			if i/100%3 == 0 {
				filter.Set(uint32(i))
			}
		}
		own, err := buildAt(filepath.Join(t.TempDir(), "own"), Settings{Analyzer: "standard", Statistics: "per-label"}, docs)
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		var visible [][]string
		var visibleLengths []int
		var visibleOrds []uint32
		for i := range docs {
			if filter.Has(uint32(i)) {
				visible, visibleLengths, visibleOrds = append(visible, terms[i]), append(visibleLengths, lengths[i]), append(visibleOrds, uint32(i))
			}
		}
		for i := range 15 {
			query := []string{fmt.Sprintf("wa%c", 'a'+rune(r.IntN(4))), fmt.Sprintf("w%ca", 'a'+rune(r.IntN(16))), "part"}[:1+i%3]
			all := reference(terms, lengths, query, 1.2, .75, func(int) bool { return true })
			for _, k := range []int{1, 5, 100, 5000} {
				if err := same(find(t, x, join(query), k), all, k); err != nil {
					t.Fatalf("%v, k %d: %v", query, k, err)
				}
			}
			got, err := x.SearchText(context.Background(), join(query), 20, filter)
			if err != nil {
				t.Fatal(err)
			}
			if err := same(got, reference(terms, lengths, query, 1.2, .75, func(i int) bool { return filter.Has(uint32(i)) }), 20); err != nil {
				t.Fatalf("%v, filtered: %v", query, err)
			}
			if got, err = own.SearchText(context.Background(), join(query), 20, filter); err != nil {
				t.Fatal(err)
			}
			want := reference(visible, visibleLengths, query, 1.2, .75, func(int) bool { return true })
			for i := range want {
				want[i].Ord = visibleOrds[want[i].Ord]
			}
			if err := same(got, want, 20); err != nil {
				t.Fatalf("%v, own statistics: %v", query, err)
			}
		}
	})
	t.Run("reopened", func(t *testing.T) {
		y, err := Open(x.dir, Settings{}, x.Stats())
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		for _, q := range []string{"waa wab part", "wba", "wia wqa"} {
			if d := gocmp.Diff(find(t, x, q, 50), find(t, y, q, 50)); d != "" {
				t.Errorf("%s: %s", q, d)
			}
		}
		if err := y.Verify(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Run("concurrent", func(t *testing.T) {
		want := map[string][]index.Candidate{}
		queries := []string{"waa", "waa wab", "wba part 3", "wqa", "none at all"}
		for _, q := range queries {
			want[q] = find(t, x, q, 30)
		}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 40 {
					q := queries[(i+j)%len(queries)]
					got, err := x.SearchText(context.Background(), q, 30, nil)
					if d := gocmp.Diff(want[q], got); d != "" || err != nil {
						t.Errorf("%s: %v %s", q, err, d)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	// bleve opens the folder as its own and finds the same chunks.
	t.Run("bleve", func(t *testing.T) {
		b, err := bleve.OpenUsing(x.dir, map[string]any{"read_only": true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if n, err := b.DocCount(); err != nil || n != 9000 {
			t.Errorf("%d documents, %v", n, err)
		}
		q := bleve.NewTermQuery("wqa")
		q.SetField(field)
		res, err := b.Search(bleve.NewSearchRequestOptions(q, 9000, 0, false))
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, h := range res.Hits {
			got = append(got, h.ID)
		}
		for _, c := range find(t, x, "wqa", 9000) {
			want = append(want, docs[c.Ord].ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := gocmp.Diff(want, got); d != "" || len(want) == 0 {
			t.Error(d)
		}
	})
}

// TestAllocations: the number of allocations of a query does not grow with its candidates.
func TestAllocations(t *testing.T) {
	x := openDocs(t, Settings{Analyzer: "standard"}, corpus(9000))
	for _, q := range []string{"waa wab part", "wqa"} {
		if n := testing.AllocsPerRun(50, func() { find(t, x, q, 100) }); n > 25 {
			t.Errorf("%s: %v allocations", q, n)
		}
	}
}

func TestDamage(t *testing.T) {
	x := openDocs(t, Settings{}, corpus(4000))
	stats := x.Stats()
	intact := files(t, x.dir)
	restore := func(dir string) {
		for name, data := range intact {
			p := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o777), os.WriteFile(p, data, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// try opens, searches and verifies; damage must show at one of them, and nothing may panic.
	try := func(dir string) error {
		y, err := Open(dir, Settings{}, stats)
		if err != nil {
			return err
		}
		defer y.Close()
		for _, q := range []string{"waa wab part", "wqa wia"} {
			if _, err := y.SearchText(context.Background(), q, 20, nil); err != nil {
				return err
			}
		}
		return y.Verify(context.Background())
	}
	dir := t.TempDir()
	restore(dir)
	if err := try(dir); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for _, name := range []string{postingsName, storeDir + "/" + segmentName} {
		data := intact[name]
		path := filepath.Join(dir, filepath.FromSlash(name))
		check := func(what string, damaged []byte) {
			t.Helper()
			if err := os.WriteFile(path, damaged, 0o666); err != nil {
				t.Fatal(err)
			}
			// Bytes between the sections carry no meaning and are not checksummed.
			if err := try(dir); !errors.Is(err, index.ErrCorrupt) && !errors.Is(err, index.ErrFormat) && !(errors.Is(err, ErrMismatch)) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for _, n := range []int{0, 3, 8, 100, len(data) / 2, len(data) - 1} {
			check(fmt.Sprintf("cut to %d", n), data[:n])
		}
		check("one byte more", append(slices.Clone(data), 0))
		for range 40 {
			at := r.IntN(len(data))
			if name == postingsName && gap(data, at) {
				continue
			}
			d := slices.Clone(data)
			d[at] ^= 1 << r.IntN(8)
			check(fmt.Sprintf("byte %d flipped", at), d)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := try(dir); err == nil {
			t.Errorf("%s missing: no error", name)
		}
		restore(dir)
	}
	// A segment of another build, whole in itself, is noticed too.
	other := openDocs(t, Settings{}, corpus(4000)[1:])
	if err := os.WriteFile(filepath.Join(dir, storeDir, segmentName), files(t, other.dir)[storeDir+"/"+segmentName], 0o666); err != nil {
		t.Fatal(err)
	}
	if err := try(dir); !errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), "differ") {
		t.Errorf("segment of another build: %v", err)
	}
}

// gap reports whether the byte lies between two sections: 16 bytes of head, then one entry of 32
// bytes a section with its offset at 16 and its length at 24, then a checksum.
func gap(data []byte, at int) bool {
	n := int(asU32(data[12:16])[0])
	if at < 16+32*n+4 {
		return false
	}
	for i := range n {
		e := asU64(slices.Clone(data[16+32*i+16 : 16+32*i+32]))
		if uint64(at) >= e[0] && uint64(at) < e[0]+e[1] {
			return false
		}
	}
	return true
}

func TestBuildRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		docs []Doc
		want string
	}{
		{"repeated id", []Doc{{ID: "a"}, {ID: "a"}}, `"a" does not follow "a"`},
		{"descending ids", []Doc{{ID: "b"}, {ID: "a"}}, `"a" does not follow "b"`},
		{"no id", []Doc{{Body: "x"}}, `"" does not follow`},
	} {
		if _, err := buildAt(filepath.Join(t.TempDir(), "x"), Settings{}, c.docs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := buildAt(dir, Settings{}, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("folder in use: %v", err)
	}
	// A failure of the disk at any step is the error of the build.
	fault := errors.New("disk full")
	for at := 0; ; at++ {
		n := 0
		fsys := &disk.FS{Before: func(disk.Op, string) error {
			if n++; n == at+1 {
				return fault
			}
			return nil
		}}
		_, err := Build(context.Background(), fsys, filepath.Join(t.TempDir(), "x"), slices.Values(corpus(60)), Settings{})
		if n <= at {
			if err != nil || at < 10 {
				t.Errorf("%d steps: %v", at, err)
			}
			break
		}
		if !errors.Is(err, fault) {
			t.Fatalf("step %d failed: %v", at, err)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "Kettle QX-310/B, v2.10.3", "C++ C# F#.", "返品は七日以内です。QX-310", "l’hôtel đường", "\xff\xfe a\u0323\u0302", "a:b::c", "..--//1", "ｱﾊﾟｰﾄ"} {
		f.Add(s)
	}
	var all []*Analyzer
	for _, name := range Analyzers() {
		a, err := NewAnalyzer(Settings{Analyzer: name})
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range all {
			terms := a.Terms(text)
			for _, term := range terms {
				if term == "" || len(term) > maxTermBytes {
					t.Errorf("%s: term %q", a.Name(), term)
				}
			}
			// The remembered forms of a scanner change nothing.
			var again []string
			s := scanner{a: a, words: map[string]forms{}}
			for range 2 {
				again = nil
				s.scan(text, func(term string, _ bool) { again = append(again, term) })
			}
			if d := gocmp.Diff(terms, again); d != "" {
				t.Errorf("%s: %s", a.Name(), d)
			}
		}
	})
}
