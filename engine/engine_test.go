package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
)

// shop is a small folder of documents that its golden set finds without trouble.
var shop = fstest.MapFS{
	"returns.md":  {Data: []byte("# Returns\n\n## Conditions\nGoods come back within 7 days of receiving them.\n\n## Refunds\nThe money is sent within 5 working days.\n")},
	"delivery.md": {Data: []byte("# Delivery\n\n## Fees\nDelivery is free from 500,000 VND on.\n\n## Speed\nTwo days in the city, four elsewhere.\n")},
	"board.md":    {Data: []byte("---\nacl: [board]\n---\n# Board\nThe refund window will be halved in May.\n")},
	"care.md":     {Data: []byte("# Care\n\n## Kettle\nDescale the kettle monthly.\n\n## Pan\nNever scrub the pan.\n\n## Fan\nDust the fan blades.\n\n## Oven\nWipe the oven while warm.\n\n## Iron\nEmpty the iron after use.\n")},
}

const shopGolden = `schema: assay.golden/v1
name: shop
version: 1
questions:
  - {id: q1, question: Which conditions for goods sent back?, answerable: true, gold: [{doc: returns.md, section: Returns > Conditions}]}
  - {id: q2, question: When is the money of refunds sent?, answerable: true, gold: [{doc: returns.md, section: Returns > Refunds}]}
  - {id: q3, question: From how much VND is delivery free of fees?, answerable: true, gold: [{doc: delivery.md, section: Delivery > Fees}]}
  - {id: q4, question: What speed in the city?, answerable: true, gold: [{doc: delivery.md, section: Delivery > Speed}]}
  - {id: q5, question: How often do I descale a kettle?, answerable: true, gold: [{doc: care.md, section: Care > Kettle}]}
  - {id: q6, question: May I scrub the pan?, answerable: true, gold: [{doc: care.md, section: Care > Pan}]}
  - {id: q7, question: How to dust fan blades?, answerable: true, gold: [{doc: care.md, section: Care > Fan}]}
  - {id: q8, question: When should the oven be wiped?, answerable: true, gold: [{doc: care.md, section: Care > Oven}]}
  - {id: q9, question: Do I empty the iron?, answerable: true, gold: [{doc: care.md, section: Care > Iron}]}
  - {id: q10, question: Do you repair bicycles?, answerable: false}
  - {id: q11, question: Is there parking?, answerable: false}
`

// open opens a store in a new folder.
func open(t *testing.T, dir string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(dir, engine.Options{Refresh: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func build(t *testing.T, e *engine.Engine, fsys fs.FS, s engine.Settings) *engine.Build {
	t.Helper()
	b, err := e.Build(t.Context(), corpus.FS("test", fsys, corpus.Options{}), s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func override(t *testing.T, e *engine.Engine, id string) {
	t.Helper()
	_, err := e.PromoteWith(t.Context(), id, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "test", Why: "set up"}})
	if err != nil {
		t.Fatal(err)
	}
}

func shopSet(t *testing.T) *golden.Set {
	t.Helper()
	set, err := golden.Parse("golden.yaml", []byte(shopGolden))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

var hit1 = &verdict.Policy{Primary: "hit@1"}

func validate(t *testing.T, e *engine.Engine, b *engine.Build, p *verdict.Policy) *verdict.Verdict {
	t.Helper()
	v, err := e.Validate(t.Context(), b, shopSet(t), p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// files returns every file below dir with its bytes, except those with clocks.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "times.json" || d.Name() == ".use" {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSameInputsSameBytes(t *testing.T) {
	var all []map[string]string
	for range 2 {
		dir := t.TempDir()
		e := open(t, dir)
		b := build(t, e, shop, engine.Settings{})
		validate(t, e, b, hit1)
		all = append(all, files(t, filepath.Join(dir, "builds")))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all[0])), slices.Sorted(maps.Keys(all[1]))); diff != "" {
		t.Fatalf("file names differ:\n%s", diff)
	}
	for name := range all[0] {
		if all[0][name] != all[1][name] {
			t.Errorf("%s differs between two builds of the same inputs", name)
		}
	}
}

func TestBuildAgainIsTheSameBuild(t *testing.T) {
	e := open(t, t.TempDir())
	first := build(t, e, shop, engine.Settings{})
	again := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "section"}})
	if again.ID != first.ID || !again.Existed {
		t.Errorf("built again: id %s, existed %v; want %s, true", again.ID, again.Existed, first.ID)
	}
	other := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: 100}})
	if other.ID == first.ID {
		t.Error("other settings gave the same id")
	}
}

func TestPromote(t *testing.T) {
	t.Run("ST-07", func(t *testing.T) {
		dir := t.TempDir()
		e := open(t, dir)
		a := build(t, e, shop, engine.Settings{})
		b := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: 100}})
		v := validate(t, e, a, hit1)
		if v.Verdict != verdict.Accept {
			t.Fatalf("verdict %s: %v", v.Verdict, v.Reasons)
		}
		refused := func(name string, build string, v *verdict.Verdict, o engine.PromoteOptions, want string) {
			t.Helper()
			_, err := e.PromoteWith(t.Context(), build, v, o)
			if !errors.Is(err, engine.ErrNotAccepted) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want ErrNotAccepted naming %q", name, err, want)
			}
			if live := e.Live(); live != "" {
				t.Errorf("%s: build %s is live", name, live)
			}
		}
		refused("another build's verdict", b.ID, v, engine.PromoteOptions{}, "build")
		refused("edited golden set", a.ID, v, engine.PromoteOptions{GoldenDigest: strings.Repeat("0", 64)}, "golden set")
		refused("changed policy", a.ID, v, engine.PromoteOptions{PolicyDigest: strings.Repeat("0", 64)}, "policy")
		refused("no verdict", b.ID, nil, engine.PromoteOptions{}, "no verdict")
		edited := *v
		edited.Reasons = append([]string{"all is well"}, v.Reasons...)
		refused("edited verdict", a.ID, &edited, engine.PromoteOptions{}, "changed")

		if err := e.Promote(t.Context(), a, v); err != nil {
			t.Fatal(err)
		}
		if got := e.Live(); got != a.ID {
			t.Errorf("live is %s, want %s", got, a.ID)
		}
		changed, err := e.PromoteWith(t.Context(), a.ID, v, engine.PromoteOptions{})
		if err != nil || changed {
			t.Errorf("promoting the live build: changed %v, error %v; want false, nil", changed, err)
		}
		if _, err := e.PromoteWith(t.Context(), b.ID, nil, engine.PromoteOptions{Override: true}); !errors.Is(err, engine.ErrInput) {
			t.Errorf("override without a name: %v, want ErrInput", err)
		}
		override(t, e, b.ID)
		ledger, err := e.Ledger()
		if err != nil {
			t.Fatal(err)
		}
		last := ledger[len(ledger)-1]
		if last.Action != "override" || last.Who != "test" || last.Why != "set up" || last.From != a.ID {
			t.Errorf("ledger entry of the override: %+v", last)
		}
		// The record stored on disk is edited by hand.
		runs, err := filepath.Glob(filepath.Join(dir, "builds", a.ID, "evaluations", "*", "verdict.json"))
		if err != nil || len(runs) != 1 {
			t.Fatalf("stored verdicts: %v, %v", runs, err)
		}
		data, err := os.ReadFile(runs[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(runs[0], []byte(strings.Replace(string(data), `"margin": 0.1`, `"margin": 0.9`, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.Verdict(a.ID, ""); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("reading an edited verdict: %v, want ErrCorrupt", err)
		}
	})

	t.Run("changed files", func(t *testing.T) {
		dir := t.TempDir()
		e := open(t, dir)
		a := build(t, e, shop, engine.Settings{})
		v := validate(t, e, a, hit1)
		flip(t, filepath.Join(dir, "builds", a.ID, "documents.dat"), -3)
		if err := e.Promote(t.Context(), a, v); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("promoting a build whose files changed: %v, want ErrCorrupt", err)
		}
		if live := e.Live(); live != "" {
			t.Errorf("build %s is live", live)
		}
	})

	t.Run("rollback", func(t *testing.T) {
		e := open(t, t.TempDir())
		a := build(t, e, shop, engine.Settings{})
		b := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: 100}})
		override(t, e, a.ID)
		override(t, e, b.ID)
		id, err := e.Rollback(t.Context(), "", engine.Reason{Who: "test"})
		if err != nil || id != a.ID || e.Live() != a.ID {
			t.Errorf("rollback: %s, %v, live %s; want %s", id, err, e.Live(), a.ID)
		}
	})
}

// flip changes one byte of the file; a negative offset counts from the end.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 0xff
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestPermissions(t *testing.T) {
	board := strings.Repeat("The kettle merger is planned for May. Kettle merger talks go on.\n\n", 300)
	docs := fstest.MapFS{
		"board.md": {Data: []byte("---\nacl: [board]\n---\n# Board\n" + board)},
	}
	for i := range 5 {
		docs[fmt.Sprintf("faq%d.md", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("# Question %d\nA kettle needs water.\n", i))}
	}
	e := open(t, t.TempDir())
	b := build(t, e, docs, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: 70}})
	override(t, e, b.ID)
	for _, mode := range []string{"vector", "lexical", "hybrid"} {
		t.Run("PM-01/"+mode, func(t *testing.T) {
			hits, err := e.Search(t.Context(), engine.Query{Text: "kettle merger", K: 3, As: []string{"public"}, Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			if len(hits) != 3 {
				t.Fatalf("%d hits, want 3", len(hits))
			}
			for i, h := range hits {
				if !strings.HasPrefix(string(h.Doc), "faq") || h.Rank != i+1 {
					t.Errorf("hit %d: rank %d of %s, want a public document", i+1, h.Rank, h.Doc)
				}
				for _, c := range []*index.Component{h.Vector, h.Lexical} {
					if c != nil && c.Rank > 5 {
						t.Errorf("hit %d: rank %d in a list of at most 5 visible chunks tells of hidden ones", i+1, c.Rank)
					}
				}
			}
			hits, err = e.Search(t.Context(), engine.Query{Text: "kettle merger", K: 3, As: []string{"board"}, Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			if hits[0].Doc != "board.md" {
				t.Errorf("the board's first hit is %s, want board.md", hits[0].Doc)
			}
		})
	}
	t.Run("PM-03", func(t *testing.T) {
		_, hidden := e.Section(t.Context(), "board.md", "Board", nil)
		_, missing := e.Section(t.Context(), "nothing.md", "Board", nil)
		if !errors.Is(hidden, engine.ErrNoSection) || hidden.Error() != missing.Error() {
			t.Errorf("hidden: %v; missing: %v; want the same refusal", hidden, missing)
		}
		if _, err := e.Section(t.Context(), "board.md", "Board", []string{"board"}); err != nil {
			t.Error(err)
		}
	})
}

func TestQueryLimits(t *testing.T) {
	e := open(t, t.TempDir())
	b := build(t, e, shop, engine.Settings{})
	override(t, e, b.ID)
	for _, tt := range []struct {
		name string
		q    engine.Query
		want string // "" is accepted
	}{
		{"SV-01 k -1", engine.Query{Text: "refund", K: -1}, "k is -1"},
		{"SV-01 k 101", engine.Query{Text: "refund", K: 101}, "1 to 100"},
		{"SV-01 k absent", engine.Query{Text: "refund"}, ""},
		{"SV-01 empty", engine.Query{Text: ""}, "empty"},
		{"SV-01 blank", engine.Query{Text: "  "}, "empty"},
		{"SV-01 long", engine.Query{Text: strings.Repeat("word ", 200_000)}, "limit"},
		{"mode", engine.Query{Text: "refund", Mode: "fuzzy"}, "fuzzy"},
		{"LX-06", engine.Query{Text: `"unbalanced && field:value - (`}, ""},
		{"LX-01", engine.Query{Text: "to be or not to be"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := e.Search(t.Context(), tt.q)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, engine.ErrInput) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want ErrInput with %q", err, tt.want)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"PE-03 half a file":     func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "vectors.dat")) },
		"PE-03 a flipped byte":  func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "documents.dat"), -10) },
		"PE-03 empty manifest":  func(t *testing.T, dir string) { write(t, filepath.Join(dir, "manifest.json"), "") },
		"PE-03 missing lexical": func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "lexical")) },
		"edited manifest": func(t *testing.T, dir string) {
			path := filepath.Join(dir, "manifest.json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, strings.Replace(string(data), `"documents": 4`, `"documents": 5`, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := open(t, dir)
			b := build(t, e, shop, engine.Settings{})
			override(t, e, b.ID)
			damage(t, filepath.Join(dir, "builds", b.ID))
			_, err := engine.Open(dir, engine.Options{})
			if !errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), "rebuild") {
				t.Errorf("Open: %v, want ErrCorrupt and what to do", err)
			}
			faults, _, err := engine.Check(t.Context(), dir, engine.Options{})
			if err != nil || len(faults) == 0 {
				t.Errorf("Check: %v, %v; want faults", faults, err)
			}
			// Building again mends it.
			s, err := engine.OpenStore(dir, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			again := build(t, s, shop, engine.Settings{})
			if again.ID != b.ID || again.Existed {
				t.Errorf("rebuilt %s, existed %v; want %s anew", again.ID, again.Existed, b.ID)
			}
			if faults, _, err := engine.Check(t.Context(), dir, engine.Options{}); err != nil || len(faults) > 0 {
				t.Errorf("after rebuilding: %v, %v", faults, err)
			}
		})
	}
	t.Run("other format", func(t *testing.T) {
		dir := t.TempDir()
		e := open(t, dir)
		b := build(t, e, shop, engine.Settings{})
		override(t, e, b.ID)
		write(t, filepath.Join(dir, "builds", b.ID, "manifest.json"), `{"magic":"assay build","format":99}`)
		if _, err := engine.Open(dir, engine.Options{}); !errors.Is(err, index.ErrFormat) || errors.Is(err, index.ErrCorrupt) {
			t.Errorf("Open: %v, want ErrFormat alone", err)
		}
	})
}

func truncate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// PE-05 and PE-07: searches go on while builds are swapped in, each answered by one build.
func TestSwapWhileSearching(t *testing.T) {
	e := open(t, t.TempDir())
	var order []string
	for _, size := range []int{60, 80, 120} {
		b := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: size}})
		order = append(order, b.ID)
	}
	override(t, e, order[0])
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	want := map[string]string{}
	for _, id := range order {
		resp, err := e.QueryBuild(ctx, id, engine.Query{Text: "refund window", K: 3})
		if err != nil {
			t.Fatal(err)
		}
		want[id] = fmt.Sprint(chunkIDs(resp.Hits))
	}
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				resp, err := e.Query(t.Context(), engine.Query{Text: "refund window", K: 3})
				if err != nil {
					t.Error(err)
					return
				}
				if got := fmt.Sprint(chunkIDs(resp.Hits)); got != want[resp.Build] {
					t.Errorf("build %s answered %s, want %s", resp.Build, got, want[resp.Build])
					return
				}
			}
		})
	}
	for i := range 20 {
		override(t, e, order[(i+1)%len(order)])
	}
	cancel()
	wg.Wait()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: "x"}); !errors.Is(err, index.ErrClosed) {
		t.Errorf("search after close: %v, want ErrClosed", err)
	}
}

func chunkIDs(hits []index.Hit) []corpus.ChunkID {
	out := make([]corpus.ChunkID, len(hits))
	for i, h := range hits {
		out[i] = h.Chunk
	}
	return out
}

// PE-04: a second writer is refused with the holder's process id; readers share.
func TestSecondWriter(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir)
	b := build(t, e, shop, engine.Settings{})
	override(t, e, b.ID)
	held, err := engine.LockForTest(e)
	if err != nil {
		t.Fatal(err)
	}
	other, err := engine.Open(dir, engine.Options{LockWait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, err = other.Build(t.Context(), corpus.FS("test", shop, corpus.Options{}), engine.Settings{})
	if !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) || !strings.Contains(err.Error(), "LOCK") {
		t.Errorf("second writer: %v, want ErrLocked with path and process id", err)
	}
	if _, err := other.Search(t.Context(), engine.Query{Text: "refund"}); err != nil {
		t.Errorf("a reader beside the writer: %v", err)
	}
	if err := held(); err != nil {
		t.Fatal(err)
	}
}

func TestNoLiveBuild(t *testing.T) {
	e := open(t, filepath.Join(t.TempDir(), "new"))
	if _, err := e.Search(t.Context(), engine.Query{Text: "x"}); !errors.Is(err, engine.ErrNoLive) {
		t.Errorf("search: %v, want ErrNoLive", err)
	}
	if _, err := os.Stat(e.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening for reading made the folder: %v", err)
	}
	if _, err := e.Build(t.Context(), corpus.FS("empty", fstest.MapFS{}, corpus.Options{}), engine.Settings{}); !errors.Is(err, engine.ErrInput) {
		t.Errorf("empty corpus: %v, want ErrInput", err)
	}
}

// PM-05: with a model that is fitted on all documents, a word that stands only in hidden ones is
// to a caller as a word that stands nowhere.
func TestHiddenWordsAreUnknown(t *testing.T) {
	docs := fstest.MapFS{}
	for i := range 80 {
		text := fmt.Sprintf("# Note %d\n\nThe kettle number %d boils water for tea and coffee every morning.\n", i, i)
		if i%8 == 0 {
			text = "---\nacl: [board]\n---\n" + text + "The flounderbarometer is secret.\n"
		}
		docs[fmt.Sprintf("n%02d.md", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	for _, statistics := range []string{"global", "per-label"} {
		t.Run("PM-05/"+statistics, func(t *testing.T) {
			e := open(t, t.TempDir())
			s := engine.Settings{}
			s.Lexical.Statistics = statistics
			b := build(t, e, docs, s)
			override(t, e, b.ID)
			ask := func(text, mode string, as ...string) string {
				t.Helper()
				resp, err := e.Query(t.Context(), engine.Query{Text: text, K: 5, Mode: mode, As: as})
				if err != nil {
					t.Fatal(err)
				}
				out := fmt.Sprint(resp.Notes)
				for _, h := range resp.Hits {
					out += fmt.Sprintf(" %s %.9f", h.Chunk, h.Score)
				}
				return out
			}
			for _, mode := range []string{"vector", "hybrid"} {
				for _, rest := range []string{"", " kettle"} {
					hidden, nowhere := ask("flounderbarometer"+rest, mode), ask("flounderbarometre"+rest, mode)
					if hidden != nowhere {
						t.Errorf("%s: a hidden word and one that stands nowhere are told apart:\n%s\n%s", mode, hidden, nowhere)
					}
				}
			}
			// With statistics per label the model is fitted on what everybody may read.
			if got := ask("flounderbarometer", "vector", "board"); statistics == "global" && !strings.Contains(got, "#") {
				t.Errorf("the board does not find its own word: %s", got)
			}
		})
	}
}

// A second rollback goes further back, never to what was just rolled back from.
func TestRollbackGoesFurtherBack(t *testing.T) {
	e := open(t, t.TempDir())
	var ids []string
	for _, size := range []int{60, 80, 120} {
		b := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: size}})
		override(t, e, b.ID)
		ids = append(ids, b.ID)
	}
	for _, want := range []string{ids[1], ids[0]} {
		got, err := e.Rollback(t.Context(), "", engine.Reason{Who: "test"})
		if err != nil || got != want {
			t.Errorf("rollback: %s, %v; want %s", got, err, want)
		}
	}
	if got, err := e.Rollback(t.Context(), "", engine.Reason{Who: "test"}); !errors.Is(err, engine.ErrInput) {
		t.Errorf("nothing was live before, but rollback gave %s, %v", got, err)
	}
	override(t, e, ids[2])
	if got, err := e.Rollback(t.Context(), "", engine.Reason{Who: "test"}); err != nil || got != ids[0] {
		t.Errorf("rollback after a new promotion: %s, %v; want %s", got, err, ids[0])
	}
}

// A hit's place in the original file is found again, whatever the normal form changed.
func TestPosition(t *testing.T) {
	docs := fstest.MapFS{
		"crlf.md":   {Data: []byte("\ufeff# Care\r\n\r\n## Kettle\r\nDescale the kettle monthly.\r\n")},
		"hidden.md": {Data: []byte("---\nacl: [board]\n---\n# Board\nA secret.\n")},
	}
	e := open(t, t.TempDir())
	b := build(t, e, docs, engine.Settings{Chunk: chunk.Settings{Kind: "section", Max: 40}})
	override(t, e, b.ID)
	hits, err := e.Search(t.Context(), engine.Query{Text: "descale kettle", K: 1})
	if err != nil || len(hits) != 1 {
		t.Fatal(hits, err)
	}
	line, column, err := e.Position(t.Context(), hits[0].Doc, hits[0].Start, nil)
	if err != nil || line != 3 || column != 1 {
		t.Errorf("position of %q: line %d, column %d, %v; want 3, 1", hits[0].Text, line, column, err)
	}
	_, _, hidden := e.Position(t.Context(), "hidden.md", 0, nil)
	_, _, missing := e.Position(t.Context(), "nothing.md", 0, nil)
	if !errors.Is(hidden, engine.ErrNoSection) || hidden.Error() != missing.Error() {
		t.Errorf("PM-03: hidden: %v; missing: %v; want the same refusal", hidden, missing)
	}
}

// Whoever may read one file of a build may read all of them.
func TestModesOfFiles(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir)
	b, err := e.Build(t.Context(), shopSource(), engine.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "builds", b.ID)
	want, err := os.Stat(filepath.Join(root, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode() != want.Mode() {
			t.Errorf("%s has mode %v, the manifest %v", path, info.Mode(), want.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
