package engine_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed"
	"github.com/seed792a4543/assay/index/lexical"
)

// text makes a folder of documents from names and contents in turn.
func text(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

// served builds fsys in a new store and makes the build live.
func served(t *testing.T, fsys fs.FS, s engine.Settings) (*engine.Engine, *engine.Build) {
	t.Helper()
	e := open(t, t.TempDir())
	b := build(t, e, fsys, s)
	override(t, e, b.ID)
	return e, b
}

func query(t *testing.T, e *engine.Engine, q engine.Query) []index.Hit {
	t.Helper()
	hits, err := e.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	return hits
}

func parse(t *testing.T, questions ...string) *golden.Set {
	t.Helper()
	set, err := golden.Parse("golden.yaml", []byte("schema: assay.golden/v1\nname: g\nversion: 1\nquestions:\n  - "+strings.Join(questions, "\n  - ")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// places are the documents and sections of hits, with scores.
func places(hits []index.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = fmt.Sprintf("%s > %s %.9f", h.Doc, h.Section, h.Score)
	}
	return out
}

func docs(hits []index.Hit) []corpus.DocumentID {
	out := make([]corpus.DocumentID, len(hits))
	for i, h := range hits {
		out[i] = h.Doc
	}
	return out
}

var modes = []string{"vector", "lexical", "hybrid"}

// table is an embedder whose vectors are given, else made from a hash of the text. It fails for
// queries while down is set.
type table struct {
	rows map[string][]float32 // by the last line of the text
	name string
	down bool
}

func (e *table) Fingerprint() index.Fingerprint {
	return index.Fingerprint{Kind: "table", Model: e.name, Dimension: 2}
}

func (e *table) Embed(_ context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	if e.down && kind == index.KindQuery {
		return nil, errors.New("connection refused")
	}
	out := make([][]float32, len(texts))
	for i, s := range texts {
		s = strings.TrimSpace(s)
		row, ok := e.rows[s[strings.LastIndex(s, "\n")+1:]]
		if !ok {
			h := fnv.New32a()
			h.Write([]byte(s))
			a := float64(h.Sum32()) / math.MaxUint32
			row = []float32{float32(math.Cos(a)), float32(math.Sin(a))}
		}
		out[i] = slices.Clone(row)
	}
	return out, nil
}

// with opens a store that uses the given embedder, builds and promotes.
func with(t *testing.T, em index.Embedder, fsys fs.FS, s engine.Settings, o engine.Options) *engine.Engine {
	t.Helper()
	o.Embedder = em
	e, err := engine.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	b := build(t, e, fsys, s)
	override(t, e, b.ID)
	return e
}

func TestHiddenDocumentsChangeNothing(t *testing.T) {
	faq := "# FAQ\nWelcome.\n"
	for i := range 5 {
		faq += fmt.Sprintf("## Question %d\nA kettle boils %d cups of water.\n", i, i)
	}
	board := "---\nacl: board\n---\n# Board\n"
	for i := range 300 {
		board += fmt.Sprintf("## Item %d\nKettle merger, kettle merger, plan %d.\n", i, i)
	}
	own := engine.Settings{Lexical: lexical.Settings{Statistics: "per-label"}}
	alone, _ := served(t, text("faq.md", faq), own)
	both, _ := served(t, text("faq.md", faq, "board.md", board), own)
	for _, mode := range modes {
		t.Run("PM-01/"+mode, func(t *testing.T) {
			for _, k := range []int{1, 3, 5, 100} {
				q := engine.Query{Text: "kettle merger", K: k, As: []string{"public"}, Mode: mode}
				want, got := query(t, alone, q), query(t, both, q)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("k %d: hidden documents change the list:\n%s", k, diff)
				}
				if len(got) != min(k, len(want)) || len(got) == 0 || got[len(got)-1].Rank != len(got) {
					t.Errorf("k %d: %d hits", k, len(got))
				}
			}
		})
	}

	public := fstest.MapFS{}
	for i := range 60 {
		s := fmt.Sprintf("# Page %d\nShipping and house rules, number %d.", i, i)
		if i%10 == 3 {
			s += " The kettle boils before the merger."
		}
		public[fmt.Sprintf("p%02d.md", i)] = &fstest.MapFile{Data: []byte(s)}
	}
	more := maps.Clone(public)
	for i := range 200 {
		more[fmt.Sprintf("s%03d.md", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("---\nacl: [board]\n---\n# Secret %d\nmerger merger merger %d\n", i, i))}
	}
	before, _ := served(t, public, own)
	after, _ := served(t, more, own)
	global, _ := served(t, more, engine.Settings{})
	for _, mode := range modes {
		t.Run("PM-05/"+mode, func(t *testing.T) {
			q := engine.Query{Text: "kettle merger", K: 20, As: []string{"public"}, Mode: mode}
			want := query(t, before, q)
			if diff := cmp.Diff(want, query(t, after, q)); diff != "" {
				t.Errorf("statistics per label, but hidden documents change lists or scores:\n%s", diff)
			}
			// Documented: by default they are global and show in the scores.
			if mode == "lexical" && cmp.Equal(want, query(t, global, q)) {
				t.Error("the statistics are not global by default")
			}
		})
	}

	t.Run("PM-02", func(t *testing.T) {
		fsys := text("open.md", "# Kettle\nThe kettle is descaled monthly.\n", "closed.md", "---\nacl: [board]\n---\n# Kettle\nThe kettle is descaled monthly.\n",
			"words.md", "---\nacl: [board]\n---\n# Qxv\nXqzzt kettle.\n")
		for _, dense := range []float64{1, 0, 0.5} {
			for _, fusion := range []string{"weighted", "rrf"} {
				e, _ := served(t, fsys, engine.Settings{Hybrid: hybrid.Settings{Dense: &dense, Fusion: fusion}})
				for _, mode := range modes {
					for _, as := range [][]string{nil, {}, {"public"}, {"Board"}, {""}} {
						for _, h := range query(t, e, engine.Query{Text: "kettle descaled xqzzt", K: 100, As: as, Mode: mode}) {
							if h.Doc != "open.md" || h.Rank != 1 {
								t.Errorf("dense %v, %s, %s, as %v: %s at rank %d", dense, fusion, mode, as, h.Doc, h.Rank)
							}
							for _, c := range []*index.Component{h.Vector, h.Lexical} {
								if c != nil && c.Rank != 1 {
									t.Errorf("a component's rank %d tells of hidden chunks", c.Rank)
								}
							}
						}
					}
				}
			}
		}
	})

	t.Run("PM-04", func(t *testing.T) {
		for name, front := range map[string]string{
			"upper case": "ACL: [board]", "typo": "acls: [board]", "mixed list": "acl: [board, 7, null]",
			"map": "acl: {read: board}", "broken before": "title: \"x\nacl: [board]",
		} {
			e := open(t, t.TempDir())
			fsys := text("a.md", "---\n"+front+"\n---\n# A\nthe secret\n", "b.md", "# B\nopen\n")
			_, err := e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), engine.Settings{})
			if err == nil || !strings.Contains(err.Error(), "a.md:") {
				t.Errorf("%s: %v, want an error with file and line", name, err)
			}
		}
		e, _ := served(t, text("list.md", "---\nacl: [board]\n---\n# Secret list\n", "word.md", "---\nacl: board\n---\n# Secret word\n",
			"none.md", "---\nacl: []\n---\n# Secret none\n", "without.md", "# Secret without\n"), engine.Settings{})
		for _, as := range [][]string{nil, {}} {
			got := docs(query(t, e, engine.Query{Text: "secret", As: as, Mode: "lexical"}))
			if diff := cmp.Diff([]corpus.DocumentID{"without.md", "none.md"}, got); diff != "" {
				t.Errorf("as %v:\n%s", as, diff)
			}
		}
		if got := query(t, e, engine.Query{Text: "secret", As: []string{"board"}, Mode: "lexical"}); len(got) != 4 {
			t.Errorf("the board sees %d of 4", len(got))
		}
	})
}

func TestSuperseded(t *testing.T) {
	old := "# Returns\nGoods come back within 14 days.\n"
	newer := func(acl, name string) string {
		return "---\nsupersedes: " + name + acl + "\n---\n# Returns\nGoods come back within 7 days.\n"
	}
	marks := func(e *engine.Engine, mode string, as ...string) map[corpus.DocumentID]corpus.DocumentID {
		out := map[corpus.DocumentID]corpus.DocumentID{}
		for _, h := range query(t, e, engine.Query{Text: "goods come back", As: as, Mode: mode}) {
			out[h.Doc] = h.SupersededBy
		}
		return out
	}
	for name, tt := range map[string]struct {
		fsys fstest.MapFS
		as   []string
		want map[corpus.DocumentID]corpus.DocumentID
	}{
		"PM-07 pair": {text("r-2024.md", old, "r-2026.md", newer("", "r-2024.md")), nil,
			map[corpus.DocumentID]corpus.DocumentID{"r-2024.md": "r-2026.md", "r-2026.md": ""}},
		"PM-07 chain of three": {text("r-2022.md", old, "r-2024.md", newer("", "r-2022.md"), "r-2026.md", newer("", "r-2024.md")), nil,
			map[corpus.DocumentID]corpus.DocumentID{"r-2022.md": "r-2024.md", "r-2024.md": "r-2026.md", "r-2026.md": ""}},
		"PM-07 new one hidden": {text("r-2024.md", old, "r-2026.md", newer("\nacl: [board]", "r-2024.md")), nil,
			map[corpus.DocumentID]corpus.DocumentID{"r-2024.md": ""}},
		"PM-07 new one visible to the board": {text("r-2024.md", old, "r-2026.md", newer("\nacl: [board]", "r-2024.md")), []string{"board"},
			map[corpus.DocumentID]corpus.DocumentID{"r-2024.md": "r-2026.md", "r-2026.md": ""}},
		"PM-07 hidden beside a visible one": {text("r-2024.md", old, "r-2026.md", newer("", "r-2024.md"), "z-draft.md", newer("\nacl: [board]", "r-2024.md")), nil,
			map[corpus.DocumentID]corpus.DocumentID{"r-2024.md": "r-2026.md", "r-2026.md": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := served(t, tt.fsys, engine.Settings{})
			for _, mode := range modes {
				if diff := cmp.Diff(tt.want, marks(e, mode, tt.as...)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", mode, diff)
				}
			}
		})
	}
	for name, fsys := range map[string]fstest.MapFS{
		"PM-07 unknown name":  text("r-2026.md", newer("", "r-2042.md")),
		"PM-07 circle of two": text("a.md", newer("", "b.md"), "b.md", newer("", "a.md")),
		"PM-07 itself":        text("a.md", newer("", "a.md")),
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, t.TempDir())
			_, err := e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), engine.Settings{})
			if err == nil || !strings.Contains(err.Error(), ".md:2") {
				t.Errorf("%v, want an error with file and line", err)
			}
			if ids, _ := filepath.Glob(filepath.Join(e.Dir(), "builds", "*")); len(ids) > 0 {
				t.Errorf("left behind: %v", ids)
			}
		})
	}
}

func TestVectors(t *testing.T) {
	t.Run("VS-01", func(t *testing.T) {
		for n, fsys := range map[int]fstest.MapFS{
			3: text("a.md", "# A\nred kettle\n", "b.md", "# B\nblue kettle\n", "c.md", "# C\nold kettle\n"),
			1: text("a.md", "# A\nred kettle\n"),
		} {
			e, _ := served(t, fsys, engine.Settings{})
			for _, mode := range modes {
				if got := query(t, e, engine.Query{Text: "kettle", K: 5, Mode: mode}); len(got) != n {
					t.Errorf("%s: %d hits of %d chunks", mode, len(got), n)
				}
			}
		}
		hidden, _ := served(t, text("a.md", "---\nacl: x\n---\n# A\nred kettle\n"), engine.Settings{})
		if got := query(t, hidden, engine.Query{Text: "kettle"}); len(got) != 0 {
			t.Errorf("%d hits of none", len(got))
		}
	})

	t.Run("VS-02", func(t *testing.T) {
		fsys := fstest.MapFS{}
		rows := map[string][]float32{"boilerplate": {1, 0}}
		for i := range 30 {
			fsys[fmt.Sprintf("d%02d.md", i)] = &fstest.MapFile{Data: []byte("# Notice\nboilerplate\n")}
		}
		want := []corpus.DocumentID{"d29.md", "d28.md", "d27.md"} // id descending
		for _, s := range []engine.Settings{{}, {Chunk: chunk.Settings{Kind: "fixed", Size: 200}}} {
			e := with(t, &table{rows: rows}, fsys, s, engine.Options{})
			for range 50 {
				for _, mode := range modes {
					if got := docs(query(t, e, engine.Query{Text: "boilerplate", K: 3, Mode: mode})); !slices.Equal(got, want) {
						t.Fatalf("%s: %v, want %v", mode, got, want)
					}
				}
			}
			again, err := engine.Open(e.Dir(), engine.Options{Embedder: &table{rows: rows}})
			if err != nil {
				t.Fatal(err)
			}
			if got := docs(query(t, again, engine.Query{Text: "boilerplate", K: 3})); !slices.Equal(got, want) {
				t.Errorf("reopened: %v", got)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("VS-03", func(t *testing.T) {
		fsys := text("a.md", "# A\ngood words\n", "b.md", "# B\nbad words\n")
		for name, row := range map[string][]float32{
			"zero": {0, 0}, "NaN": {float32(math.NaN()), 1}, "infinite": {float32(math.Inf(1)), 0}, "short": {1}, "long": {1, 0, 0},
		} {
			e, err := engine.Open(t.TempDir(), engine.Options{Embedder: &table{rows: map[string][]float32{"bad words": row}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), engine.Settings{})
			if err == nil {
				t.Errorf("%s: a build with the vector %v was made", name, row)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("VS-04", func(t *testing.T) {
		_, err := open(t, t.TempDir()).Build(t.Context(), twice{}, engine.Settings{})
		if err == nil || !strings.Contains(err.Error(), "s.md") {
			t.Errorf("the same id twice: %v, want an error that names it", err)
		}
		e, b := served(t, shop, engine.Settings{})
		if c := b.Manifest.Counts; c.Chunks != c.Vectors || c.Chunks != c.Lexical {
			t.Errorf("counts %+v differ", c)
		}
		if faults, _, err := engine.Check(t.Context(), e.Dir(), engine.Options{}); err != nil || len(faults) > 0 {
			t.Errorf("check: %v, %v", faults, err)
		}
	})
}

// twice is a source that gives one id to two documents.
type twice struct{}

func (twice) Load(ctx context.Context) (*corpus.Collection, error) {
	c, err := corpus.FS("test", text("s.md", "one\n"), corpus.Options{}).Load(ctx)
	if err == nil {
		c.Documents = append(c.Documents, c.Documents[0])
	}
	return c, err
}

func TestFusionInTheEngine(t *testing.T) {
	fsys := fstest.MapFS{}
	for i := range 60 {
		fsys[fmt.Sprintf("d%02d.md", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("# Page %d\nkettle %s number %d\n", i, strings.Repeat("water ", i%7), i))}
	}
	t.Run("HY-01", func(t *testing.T) {
		e, _ := served(t, fsys, engine.Settings{Hybrid: hybrid.Settings{Fusion: "rrf"}})
		want := places(query(t, e, engine.Query{Text: "kettle water", K: 50}))
		for range 20 {
			if diff := cmp.Diff(want, places(query(t, e, engine.Query{Text: "kettle water", K: 50}))); diff != "" {
				t.Fatal(diff)
			}
		}
	})
	for _, fusion := range []string{"weighted", "rrf"} {
		t.Run("HY-03/"+fusion, func(t *testing.T) {
			e, _ := served(t, fsys, engine.Settings{Hybrid: hybrid.Settings{Fusion: fusion, Depth: 20}})
			long := query(t, e, engine.Query{Text: "kettle water number 8", K: 20})
			for _, k := range []int{1, 3, 5, 10} {
				if diff := cmp.Diff(long[:k], query(t, e, engine.Query{Text: "kettle water number 8", K: k})); diff != "" {
					t.Errorf("k %d is no beginning of k 20:\n%s", k, diff)
				}
			}
			if _, err := e.Search(t.Context(), engine.Query{Text: "kettle", K: 21}); !errors.Is(err, engine.ErrInput) || !strings.Contains(err.Error(), "depth") {
				t.Errorf("k beyond the depth: %v", err)
			}
		})
	}
	t.Run("HY-04", func(t *testing.T) {
		em := &table{}
		strict := with(t, em, fsys, engine.Settings{}, engine.Options{})
		if got := query(t, strict, engine.Query{Text: "unheardof", K: 3}); len(got) != 3 || got[0].Lexical != nil {
			t.Errorf("no lexical hit: %v, want the vector list", places(got))
		}
		lenient := with(t, em, fsys, engine.Settings{}, engine.Options{Degrade: true})
		em.down = true
		if hits, err := strict.Search(t.Context(), engine.Query{Text: "kettle"}); err == nil || len(hits) > 0 {
			t.Errorf("a failed retriever: %v, %v; want an error", hits, err)
		}
		resp, err := lenient.Query(t.Context(), engine.Query{Text: "kettle", K: 3})
		if err != nil || !resp.Degraded || len(resp.Hits) != 3 {
			t.Errorf("degradation allowed: %+v, %v", resp, err)
		}
		if _, err := lenient.Query(t.Context(), engine.Query{Text: "kettle", Mode: "vector"}); err == nil {
			t.Error("mode vector has nothing to fall back to")
		}
		set := parse(t, "{id: q1, question: which kettle, answerable: true, gold: [{doc: d03.md}]}")
		v, err := lenient.ValidateWith(t.Context(), "live", set, hit1, engine.ValidateOptions{NoSelfTest: true})
		if err != nil || v.Verdict.Verdict != verdict.Invalid {
			t.Errorf("a degraded run: %+v, %v; want invalid", v, err)
		}
	})
	t.Run("HY-06", func(t *testing.T) {
		for mode, dense := range map[string]float64{"vector": 1, "lexical": 0} {
			e, b := served(t, fsys, engine.Settings{Hybrid: hybrid.Settings{Dense: &dense}})
			q := engine.Query{Text: "kettle water number 8", K: 40}
			got := docs(query(t, e, q))
			resp, err := e.Query(t.Context(), q)
			if want := (engine.Weights{Vector: dense, Lexical: 1 - dense}); err != nil || resp.Weights != want {
				t.Errorf("weights %+v, %v; want %+v", resp.Weights, err, want)
			}
			q.Mode = mode
			if diff := cmp.Diff(docs(query(t, e, q)), got); diff != "" {
				t.Errorf("dense %v is not the %s list:\n%s", dense, mode, diff)
			}
			if s, err := engine.ManifestSettings(b.Manifest); err != nil || s.Hybrid.Dense == nil || *s.Hybrid.Dense != dense {
				t.Errorf("the manifest holds %+v, %v", s.Hybrid, err)
			}
		}
		for _, dense := range []float64{-1, 1.5, math.NaN(), math.Inf(1)} {
			err := engine.Settings{Hybrid: hybrid.Settings{Dense: &dense}}.Validate()
			if !errors.Is(err, engine.ErrInput) {
				t.Errorf("dense %v: %v", dense, err)
			}
		}
	})
}

func TestLexicalInTheEngine(t *testing.T) {
	first := func(t *testing.T, s engine.Settings, fsys fstest.MapFS, want map[string]corpus.DocumentID) *engine.Build {
		t.Helper()
		e, b := served(t, fsys, s)
		for _, q := range slices.Sorted(maps.Keys(want)) {
			hits := query(t, e, engine.Query{Text: q, Mode: "lexical"})
			got := corpus.DocumentID("")
			if len(hits) > 0 {
				got = hits[0].Doc
			}
			if got != want[q] {
				t.Errorf("%q finds %q first, want %q", q, got, want[q])
			}
		}
		return b
	}
	t.Run("LX-01", func(t *testing.T) {
		first(t, engine.Settings{}, text("who.md", "Who is it for? Everyone over 18.", "gift.md", "No returns on gift cards."),
			map[string]corpus.DocumentID{"who is it for": "who.md", "no": "gift.md", "to be or not to be": ""})
		e := with(t, &table{}, text("who.md", "Who is it for? Everyone over 18.", "gift.md", "No returns on gift cards."),
			engine.Settings{Lexical: lexical.Settings{Analyzer: "en", Stopwords: true}}, engine.Options{})
		resp, err := e.Query(t.Context(), engine.Query{Text: "who is it for"})
		if err != nil || !slices.ContainsFunc(resp.Notes, func(n string) bool { return strings.Contains(n, "stop words") }) || len(resp.Hits) == 0 {
			t.Errorf("stop words removed: %+v, %v; want a note and the vector list", resp, err)
		}
	})
	t.Run("LX-02", func(t *testing.T) {
		first(t, engine.Settings{}, text("rule.md", "Quy định an toàn", "all.md", "Toàn bộ đơn hàng", "lage.md", "So war die Lage"),
			map[string]corpus.DocumentID{"an toàn": "rule.md", "so": "lage.md"})
	})
	t.Run("LX-03", func(t *testing.T) {
		fsys := text("phone.md", "Điện thoại đổi trả trong 7 ngày", "road.md", "Đường Láng", "piano.md", "Dương cầm")
		first(t, engine.Settings{}, fsys, map[string]corpus.DocumentID{"dien thoai doi tra": "phone.md", "đường": "road.md"})
		off := false
		first(t, engine.Settings{Lexical: lexical.Settings{Fold: &off}}, fsys, map[string]corpus.DocumentID{"dien thoai doi tra": ""})
	})
	t.Run("LX-04", func(t *testing.T) {
		fsys := text("r.md", "返品は七日以内です。", "q.md", "品質保証は返金なし", "z.md", "退货政策：七天", "qx.md", "Kettle QX-310")
		first(t, engine.Settings{Lexical: lexical.Settings{Analyzer: "cjk"}}, fsys,
			map[string]corpus.DocumentID{"返品": "r.md", "です": "r.md", "退货": "z.md"})
		b := first(t, engine.Settings{Lexical: lexical.Settings{Analyzer: "standard"}}, fsys, nil)
		if !slices.ContainsFunc(b.Manifest.Warnings, func(w string) bool { return strings.Contains(w, "cjk") }) {
			t.Errorf("no warning about CJK text: %v", b.Manifest.Warnings)
		}
	})
	t.Run("LX-05", func(t *testing.T) {
		first(t, engine.Settings{}, text("b.md", "Kettle QX-310/B, firmware v2.10.3", "k.md", "Kettle QX-311", "cpp.md", "C++ guide", "cs.md", "C# guide"),
			map[string]corpus.DocumentID{"qx-310": "b.md", "QX-310/B": "b.md", "QX310": "b.md", "C++": "cpp.md"})
	})
	t.Run("LX-06", func(t *testing.T) {
		e, _ := served(t, shop, engine.Settings{})
		for _, q := range []string{"how much: 20+ items?", `"unbalanced`, "-", "price/tax (2024", "a && b", "field:value", `title:"x`, "*", "~2", "^3", "\x01kettle\x00"} {
			if _, err := e.Search(t.Context(), engine.Query{Text: q}); err != nil {
				t.Errorf("%q: %v", q, err)
			}
		}
		plain := places(query(t, e, engine.Query{Text: "refunds money", Mode: "lexical"}))
		if diff := cmp.Diff(plain, places(query(t, e, engine.Query{Text: `+refunds -money`, Mode: "lexical"}))); diff != "" {
			t.Errorf("operators have a meaning:\n%s", diff)
		}
	})
	t.Run("LX-10", func(t *testing.T) {
		fsys := text("p.md", "# Kettle warranty\n24 months.\n", "q.md", "# Shipping\nkettle kettle kettle warranty\n")
		var ids []string
		for _, heading := range []int{0, 1, 8} {
			_, b := served(t, fsys, engine.Settings{Lexical: lexical.Settings{Heading: &heading}})
			ids = append(ids, b.ID)
		}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != 3 {
			t.Errorf("another heading weight is not another build: %v", ids)
		}
	})
}

func TestGoldenAndCorpus(t *testing.T) {
	t.Run("ID-05", func(t *testing.T) {
		fsys := maps.Clone(shop)
		fsys["questions.md"] = &fstest.MapFile{Data: []byte("# Q\n- from how MUCH VND is delivery  free of fees?\n")}
		e := open(t, t.TempDir())
		b := build(t, e, fsys, engine.Settings{})
		_, err := e.Validate(t.Context(), b, shopSet(t), hit1)
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "questions.md") || !strings.Contains(err.Error(), "q3") {
			t.Errorf("%v, want ErrInvalid that names document and question", err)
		}
		if _, err := e.ValidateWith(t.Context(), b.ID, shopSet(t), hit1, engine.ValidateOptions{EvalOptions: engine.EvalOptions{AllowInCorpus: true}}); err != nil {
			t.Errorf("allowed explicitly: %v", err)
		}
	})
	t.Run("EN-04", func(t *testing.T) {
		fsys := maps.Clone(shop)
		fsys["care.md"] = &fstest.MapFile{Data: []byte("# Care\n\n## Kettle\nDescale Gr\xf6\xdfe\n")}
		e := open(t, t.TempDir())
		b := build(t, e, fsys, engine.Settings{})
		if sk := b.Manifest.Corpus.Skipped; len(sk) != 1 || sk[0].Path != "care.md" || !strings.Contains(sk[0].Reason, "byte") {
			t.Errorf("skipped %+v", sk)
		}
		_, err := e.Validate(t.Context(), b, shopSet(t), hit1)
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "q5") || !strings.Contains(err.Error(), "skipped") {
			t.Errorf("gold in a skipped file: %v, want ErrInvalid that says so", err)
		}
	})
	t.Run("ID-04", func(t *testing.T) {
		long := strings.Repeat("This page is part of the handbook. ", 12)
		e := open(t, t.TempDir())
		b := build(t, e, text("en/returns.md", "# Returns\nContact the store.\n", "vi/returns.md", "# Other\nContact  the store.\n",
			"a.md", "# A\n"+long+"First.\n", "b.md", "# B\n"+long+"Second.\n"), engine.Settings{})
		override(t, e, b.ID)
		for _, want := range []string{"1 chunks repeat.*en/returns.md.*vi/returns.md", "1 chunks begin.*a.md > A.*b.md > B"} {
			if !slices.ContainsFunc(b.Manifest.Warnings, regexp.MustCompile(want).MatchString) {
				t.Errorf("no warning like %q: %q", want, b.Manifest.Warnings)
			}
		}
		if got := docs(query(t, e, engine.Query{Text: "contact store", Mode: "lexical"})); !slices.Equal(got, []corpus.DocumentID{"vi/returns.md", "en/returns.md"}) {
			t.Errorf("found %v, want both", got)
		}
		set := parse(t, "{id: q1, question: whom to ask, answerable: true, gold: [{doc: en/returns.md}]}")
		out, err := e.Evaluate(t.Context(), b.ID, set, engine.EvalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range out.Run.Results[0].Hits {
			if h.Doc == "en/returns.md" && out.Evaluation.Questions[0].FirstRank != i+1 {
				t.Errorf("first rank %d, want %d: the other file's copy is not gold", out.Evaluation.Questions[0].FirstRank, i+1)
			}
		}
	})
	t.Run("PE-06", func(t *testing.T) {
		e := open(t, t.TempDir())
		build(t, e, text("a.md", "# A\n## One\nstone\n## Two\nriver\n## Three\ncloud\n", "b.md", "# B\nbread\n", "c.md", "# C\nwood\n"), engine.Settings{})
		now := text("a.md", "# A\n## One\nstone\n", "d.md", "# C\nwood\n")
		b := build(t, e, now, engine.Settings{})
		override(t, e, b.ID)
		for _, mode := range modes {
			for _, q := range []string{"river", "cloud", "bread", "wood", "stone"} {
				for _, h := range query(t, e, engine.Query{Text: q, K: 100, Mode: mode}) {
					if h.Doc != "a.md" && h.Doc != "d.md" || strings.Contains(h.Section, "Two") || strings.Contains(h.Section, "Three") {
						t.Errorf("%s, %q: %s > %s is gone", mode, q, h.Doc, h.Section)
					}
				}
			}
		}
		if got := query(t, e, engine.Query{Text: "wood", Mode: "lexical"}); len(got) != 1 || got[0].Doc != "d.md" {
			t.Errorf("the renamed document: %v", places(got))
		}
		full := build(t, open(t, t.TempDir()), now, engine.Settings{})
		if full.ID != b.ID || full.Manifest.Digest != b.Manifest.Digest {
			t.Errorf("incremental %s (%s), full %s (%s)", b.ID, b.Manifest.Digest, full.ID, full.Manifest.Digest)
		}
		for _, gold := range []string{"{doc: b.md}", "{doc: c.md, section: C}", "{doc: a.md, section: Two}"} {
			set := parse(t, "{id: q1, question: where is it, answerable: true, gold: ["+gold+"]}")
			if _, err := e.Validate(t.Context(), b, set, hit1); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "q1") {
				t.Errorf("gold %s: %v, want ErrInvalid", gold, err)
			}
		}
	})
	t.Run("CH-10", func(t *testing.T) {
		e := open(t, t.TempDir())
		b := build(t, e, text("p.md", "# Policy\n## Returns\n### Electronics\nA radio comes back within 7 days.\n### Clothes\nA shirt comes back within 30 days.\n"),
			engine.Settings{Chunk: chunk.Settings{Kind: "section", Level: 3}})
		set := parse(t, "{id: q1, question: How long for a shirt?, answerable: true, gold: [{doc: p.md, section: Policy > Returns}]}")
		out, err := e.Evaluate(t.Context(), b.ID, set, engine.EvalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		q := out.Evaluation.Questions[0]
		if q.Measures["hit@1"] != evalkit.Num(1) || q.Measures["recall@3"] != evalkit.Num(1) || !q.Descendant {
			t.Errorf("hit@1 %v, recall@3 %v, descendant %v", q.Measures["hit@1"], q.Measures["recall@3"], q.Descendant)
		}
	})
	t.Run("GO-05", func(t *testing.T) {
		e := open(t, t.TempDir())
		b := build(t, e, text("returns.md", "# Returns\n## Sale\nSale items come back within 3 days.\n", "faq.md", "# FAQ\n## Sale items\nReduced goods: three days.\n",
			"fees.md", "# Fees\n## Parcel\nA parcel costs 5 coins.\n"), engine.Settings{})
		const sale, faq = "{doc: returns.md, section: Sale}", "{doc: faq.md, section: Sale items}"
		for name, tt := range map[string]struct {
			gold string
			want float64
		}{
			"any of": {"[{any: [" + sale + ", " + faq + "]}]", 1},
			"all of": {"[" + sale + ", {doc: fees.md, section: Parcel}]", 0.5},
			"mixed":  {"[{any: [" + sale + ", " + faq + "]}, {doc: fees.md, section: Parcel}]", 0.5},
		} {
			set := parse(t, "{id: q1, question: When do sale items come back?, answerable: true, gold: "+tt.gold+"}")
			out, err := e.Evaluate(t.Context(), b.ID, set, engine.EvalOptions{Cutoffs: []int{1, 3}, Mode: "lexical"})
			if err != nil {
				t.Fatal(err)
			}
			if got := out.Evaluation.Questions[0].Measures["recall@1"]; got != evalkit.Num(tt.want) {
				t.Errorf("%s: recall@1 %v, want %v", name, got, tt.want)
			}
		}
	})
	t.Run("ID-03", func(t *testing.T) {
		a := build(t, open(t, t.TempDir()), text("caf\u00e9.md", "# Menu\ncoffee\n"), engine.Settings{})
		e := open(t, t.TempDir())
		b := build(t, e, text("cafe\u0301.md", "# Menu\ncoffee\n"), engine.Settings{})
		if a.ID != b.ID {
			t.Errorf("composed name gives build %s, decomposed %s", a.ID, b.ID)
		}
		set := parse(t, "{id: q1, question: what is served, answerable: true, gold: [{doc: Caf\u00e9.md}]}")
		if _, err := e.Validate(t.Context(), b, set, hit1); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "did you mean \"caf\u00e9.md\"") {
			t.Errorf("another case: %v, want a suggestion", err)
		}
	})
	t.Run("CH-07", func(t *testing.T) {
		e := open(t, t.TempDir())
		b := build(t, e, text("f.md", "## Fees\nFree over 500.\n## Speed\nParcels need two days.\n"), engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: 22, Prefix: "none"}})
		set := parse(t, "{id: q1, question: How many days do parcels need?, answerable: true, gold: [{doc: f.md, section: Fees}]}")
		out, err := e.Evaluate(t.Context(), b.ID, set, engine.EvalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out.Evaluation.Rule != evalkit.RuleSpan {
			t.Errorf("rule %s for fixed chunks, want span", out.Evaluation.Rule)
		}
		hits := out.Run.Results[0].Hits
		if v := out.Evaluation.Questions[0].Measures["hit@1"]; v != evalkit.Num(0) {
			t.Errorf("a chunk of Speed (%s) counts for Fees: hit@1 %v", hits[0].Chunk, v)
		}
	})
}

// refusing is an embedder that cannot embed texts with the word "bad".
type refusing struct{ table }

func (e *refusing) Embed(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	for i, s := range texts {
		if strings.Contains(s, "bad") {
			return nil, &embed.TextError{Index: i, Text: s, Err: errors.New("NaN")}
		}
	}
	return e.table.Embed(ctx, texts, kind)
}

func TestEmbedderOfAnotherModel(t *testing.T) {
	t.Run("EM-04", func(t *testing.T) {
		e, err := engine.Open(t.TempDir(), engine.Options{Embedder: &refusing{}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		// The bare heading has no vector, so that the text's place in the request is another one.
		fsys := text("a.md", "# A\n## One\ngood\n", "b.md", "# B\n## Two\ngood\n## Three\nbad words\n")
		_, err = e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), engine.Settings{})
		if err == nil || !strings.Contains(err.Error(), "b.md > B > Three (line 4)") || !strings.Contains(err.Error(), "bad words") {
			t.Errorf("%v, want document, section and the first words", err)
		}
	})
	t.Run("EM-07", func(t *testing.T) {
		dir := t.TempDir()
		a, err := engine.Open(dir, engine.Options{Embedder: &table{name: "model-a"}})
		if err != nil {
			t.Fatal(err)
		}
		first := build(t, a, shop, engine.Settings{})
		override(t, a, first.ID)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = engine.Open(dir, engine.Options{Embedder: &table{name: "model-b"}})
		if !errors.Is(err, index.ErrEmbedder) {
			t.Fatalf("opened with another model: %v", err)
		}
		for _, want := range []string{"model-a", "model-b", "assay build", first.ID} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %s", err, want)
			}
		}
		s, err := engine.OpenStore(dir, engine.Options{Embedder: &table{name: "model-b"}})
		if err != nil {
			t.Fatal(err)
		}
		second := build(t, s, shop, engine.Settings{})
		if second.ID == first.ID || second.Existed {
			t.Error("another model gave the same build")
		}
		if live, err := s.LiveID(); err != nil || live != first.ID {
			t.Errorf("live is %s, %v", live, err)
		}
	})
}

func TestReference(t *testing.T) {
	t.Run("ST-04", func(t *testing.T) {
		e := open(t, t.TempDir())
		a := build(t, e, shop, engine.Settings{})
		b := build(t, e, shop, engine.Settings{Hybrid: hybrid.Settings{Fusion: "rrf"}})
		c := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: 15, Prefix: "none"}})
		override(t, e, a.ID)
		why := engine.Reason{Who: "anna", Why: "first release"}
		if _, err := e.SetReference(t.Context(), a.ID, engine.Reason{Who: "anna"}); !errors.Is(err, engine.ErrInput) {
			t.Errorf("a reference without a reason: %v", err)
		}
		if _, err := e.SetReference(t.Context(), a.ID, why); err != nil {
			t.Fatal(err)
		}
		override(t, e, b.ID)
		reference := func() (out []string) {
			builds, err := e.Builds()
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range builds {
				if b.Reference {
					out = append(out, b.ID)
				}
			}
			return out
		}
		if got := reference(); !slices.Equal(got, []string{a.ID}) {
			t.Errorf("promoting moved the reference to %v", got)
		}
		v, err := e.ValidateWith(t.Context(), c.ID, shopSet(t), hit1, engine.ValidateOptions{NoSelfTest: true})
		if err != nil {
			t.Fatal(err)
		}
		if v.AgainstLive == nil || v.AgainstRef == nil || v.Reference.Evaluation.Build != a.ID || v.LiveBuild != b.ID {
			t.Errorf("compared with live %v and reference %v", v.AgainstLive, v.AgainstRef)
		}
		// Overrides show in every later verdict.
		if !slices.ContainsFunc(v.Verdict.Warnings, func(w string) bool {
			return strings.Contains(w, b.ID) && strings.Contains(w, "override of test: set up")
		}) {
			t.Errorf("ST-07: the override of the live build is not mentioned: %v", v.Verdict.Warnings)
		}
		ledger, err := e.Ledger()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(ledger, func(l engine.LedgerEntry) bool {
			return l.Action == "reference" && l.Build == a.ID && l.Who == "anna" && l.Why == "first release"
		}) {
			t.Errorf("ledger %+v", ledger)
		}
	})
}

func TestRunsThatCannotBeCompared(t *testing.T) {
	e := open(t, t.TempDir())
	a := build(t, e, shop, engine.Settings{})
	override(t, e, a.ID)
	t.Run("ST-05 corpus", func(t *testing.T) {
		fsys := maps.Clone(shop)
		fsys["new.md"] = &fstest.MapFile{Data: []byte("# New\nSomething added.\n")}
		b := build(t, e, fsys, engine.Settings{})
		v := validate(t, e, b, hit1)
		if v.Verdict == verdict.Invalid || !strings.Contains(v.CorpusCause, "1 documents added") {
			t.Errorf("verdict %s, cause %q; want the added document stated", v.Verdict, v.CorpusCause)
		}
	})
	t.Run("ST-05 two settings", func(t *testing.T) {
		b := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: 200}, Hybrid: hybrid.Settings{Fusion: "rrf"}})
		c, err := e.Compare(t.Context(), a.ID, b.ID, shopSet(t), hit1, engine.EvalOptions{}, false)
		if err != nil {
			t.Fatal(err)
		}
		table := c.Table()
		for _, want := range []string{"chunk.kind", "chunk.size", "hybrid.fusion"} {
			if !strings.Contains(table, want) {
				t.Errorf("the table does not list %s:\n%s", want, table)
			}
		}
	})
	t.Run("ST-05 golden set and cutoff", func(t *testing.T) {
		one, err := e.ValidateWith(t.Context(), a.ID, shopSet(t), hit1, engine.ValidateOptions{NoSelfTest: true})
		if err != nil {
			t.Fatal(err)
		}
		edited := parse(t, "{id: q1, question: Other words for the same, answerable: true, gold: [{doc: returns.md, section: Returns > Conditions}]}")
		two, err := e.ValidateWith(t.Context(), a.ID, edited, hit1, engine.ValidateOptions{NoSelfTest: true})
		if err != nil {
			t.Fatal(err)
		}
		if c := engine.CompareRecords(one.Record, two.Record, hit1, nil); c.Verdict.Verdict != verdict.Invalid {
			t.Errorf("another golden set: %s, want invalid", c.Verdict.Verdict)
		}
		three, err := e.ValidateWith(t.Context(), a.ID, shopSet(t), hit1, engine.ValidateOptions{NoSelfTest: true, EvalOptions: engine.EvalOptions{Cutoffs: []int{1, 7}}})
		if err != nil {
			t.Fatal(err)
		}
		if c := engine.CompareRecords(one.Record, three.Record, hit1, nil); c.Verdict.Verdict != verdict.Invalid {
			t.Errorf("other cutoffs: %s, want invalid", c.Verdict.Verdict)
		}
	})
}

func TestEvaluatedIsServed(t *testing.T) {
	t.Run("SV-05", func(t *testing.T) {
		e, b := served(t, shop, engine.Settings{})
		out, err := e.Evaluate(t.Context(), b.ID, shopSet(t), engine.EvalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range shopSet(t).Select(golden.Dev) {
			hits := query(t, e, engine.Query{Text: q.Question, K: 100, As: q.As})
			var want, got []string
			for _, h := range hits {
				want = append(want, fmt.Sprint(h.Rank, h.Chunk, h.Score))
			}
			for _, h := range out.Run.Results[i].Hits {
				got = append(got, fmt.Sprint(h.Rank, h.Chunk, h.Score))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: search and evaluation differ:\n%s", q.ID, diff)
			}
		}
	})
	t.Run("HY-05", func(t *testing.T) {
		rows := map[string][]float32{"near": {1, 0}, "far": {0.2, float32(math.Sqrt(1 - 0.04))}, "query": {0.9, float32(math.Sqrt(1 - 0.81))}}
		e := with(t, &table{rows: rows}, text("a.md", "near", "b.md", "far"), engine.Settings{}, engine.Options{})
		hits := query(t, e, engine.Query{Text: "query", Mode: "vector"})
		if len(hits) != 2 || hits[0].Doc != "a.md" || hits[0].Score <= hits[1].Score {
			t.Errorf("%v, want the more similar one first, with the higher score", places(hits))
		}
	})
}
