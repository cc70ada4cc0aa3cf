package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

// mixed is a corpus of every kind of thing a document can hold.
func mixed(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{
		"win.md":       {Data: []byte("\ufeff# Caf\u0065\u0301\r\n\r\nline\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n")},
		"acl.md":       {Data: []byte("---\nacl: [staff, board]\nowner: x\n---\n# Pay {#pay}\n\nhidden words\n\n## Bonus\n\n## Bonus\n\nmore\n")},
		"new.md":       {Data: []byte("---\nsupersedes: [acl.md]\ntitle: New pay\n---\nreplaced words\n")},
		"page.html":    {Data: []byte("<h1>One</h1><p>text <b>bold</b></p><h2>Two</h2><table><tr><th>h</th></tr><tr><td>d</td></tr></table>")},
		"notes.txt":    {Data: []byte("plain notes\n\nabout nothing\n")},
		"manual.rst":   {Data: []byte("Manual\n======\n\nwords\n\nPart\n----\n\nmore words\n")},
		"many.jsonl":   {Data: []byte("{\"_id\":\"r1\",\"title\":\"T\",\"text\":\"first record\"}\n{\"_id\":\"r2\",\"text\":\"second record\"}\n")},
		"empty.md":     {Data: []byte("")},
		"a#1.md":       {Data: []byte("# odd name\n\nx\n")},
		"a.md":         {Data: []byte("# plain name\n\ny\n\n# second\n\nz\n")},
		"replaced.txt": {Data: []byte("bad byte \xff here\n")}, // a warning each time
	}
	home := homestore.Documents()
	err := fs.WalkDir(home, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(home, path)
		files["home/"+path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReuseGivesTheSameBytes: a build that takes over what has not changed equals one that is
// made anew, whatever changed between.
func TestReuseGivesTheSameBytes(t *testing.T) {
	base := mixed(t)
	plain := engine.Settings{Corpus: engine.CorpusSettings{Invalid: "replace"}}
	count := func(fsys fstest.MapFS) int { return len(fsys) + 1 } // many.jsonl holds two
	with := func(change func(fstest.MapFS)) fstest.MapFS {
		fsys := maps.Clone(base)
		change(fsys)
		return fsys
	}
	all := count(base) - 3 // but the warned one, and the two of the JSON Lines file
	for _, row := range []struct {
		name   string
		fsys   fstest.MapFS
		change func(*engine.Settings)
		reused int

		headings bool // read otherwise
	}{
		{"nothing", base, nil, all, false},
		{"a document more", with(func(f fstest.MapFS) { f["extra.md"] = &fstest.MapFile{Data: []byte("# Extra\n\nnew words\n")} }), nil, all, false},
		{"a document less", with(func(f fstest.MapFS) { delete(f, "a.md") }), nil, all - 1, false},
		{"another text", with(func(f fstest.MapFS) { f["a.md"] = &fstest.MapFile{Data: []byte("# plain name\n\nother\n")} }), nil, all - 1, false},
		{"another name", with(func(f fstest.MapFS) { f["b.md"] = f["a.md"]; delete(f, "a.md") }), nil, all - 1, false},
		{"superseded by another", with(func(f fstest.MapFS) {
			f["new.md"] = &fstest.MapFile{Data: []byte("---\nsupersedes: [a.md]\n---\nreplaced words\n")}
		}), nil, all - 1, false},
		{"other chunks", base, func(s *engine.Settings) { s.Chunk = chunk.Settings{Kind: chunk.KindFixed, Size: 120, Overlap: 20} }, all, false},
		{"another seed", base, func(s *engine.Settings) { s.Embed.Seed = 7 }, all, false},
		{"no vectors", base, func(s *engine.Settings) { s.Embed.Kind = "none" }, all, false},
		{"words of another language", base, func(s *engine.Settings) { s.Lexical.Analyzer = "de" }, all, false},
		{name: "other reading", fsys: base, headings: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			load := func(e *engine.Engine, fsys fstest.MapFS, headings bool, s engine.Settings) *engine.Build {
				t.Helper()
				o := corpus.Options{
					Invalid: s.Corpus.Invalid, TextHeadings: headings,
					ACL:        map[string][]string{"*.rst": {"crew", "staff"}, "acl.md": {"staff"}},
					Supersedes: map[string][]string{"notes.txt": {"manual.rst"}, "new.md": {"acl.md"}},
				}
				b, err := e.Build(t.Context(), corpus.FS("mixed", fsys, o), s)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			dir := t.TempDir()
			e := open(t, dir)
			if b := load(e, base, false, plain); b.Reused != 0 {
				t.Fatalf("%d documents taken over from nothing", b.Reused)
			}
			s := plain
			if row.change != nil {
				row.change(&s)
			}
			b := load(e, row.fsys, row.headings, s)
			if b.Reused != row.reused {
				t.Errorf("%d documents taken over, want %d", b.Reused, row.reused)
			}
			anew := t.TempDir()
			load(open(t, anew), row.fsys, row.headings, s)
			want := files(t, filepath.Join(anew, "builds", b.ID))
			have := files(t, filepath.Join(dir, "builds", b.ID))
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have))); diff != "" {
				t.Fatalf("files (-anew +taken over):\n%s", diff)
			}
			for name := range want {
				if want[name] != have[name] {
					t.Errorf("%s differs from that of a build made anew", name)
				}
			}

			if row.name != "nothing" {
				return
			}
			fresh, err := engine.Open(dir, engine.Options{Fresh: true})
			if err != nil {
				t.Fatal(err)
			}
			defer fresh.Close()
			if again := load(fresh, row.fsys, row.headings, s); again.Reused != 0 || !again.Existed || again.ID != b.ID {
				t.Errorf("made fresh, build %s took over %d documents, existed: %v", again.ID, again.Reused, again.Existed)
			}
		})
	}
}

// counted counts the texts of documents that it is asked to embed.
type counted struct{ n atomic.Int64 }

func (c *counted) Fingerprint() index.Fingerprint {
	return index.Fingerprint{Kind: "openai", Model: "counted", Dimension: 3}
}

func (c *counted) Embed(_ context.Context, texts []string, _ index.Kind) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		if strings.Contains(text, "Document") { // no probe of the model
			c.n.Add(1)
		}
		// Not of length 1, so that what is stored is scaled.
		rows[i] = []float32{float32(len(text)), float32(strings.Count(text, "e")), 1}
	}
	return rows, nil
}

// TestReuseEmbedsOnlyWhatIsNew: even without the cache's files.
func TestReuseEmbedsOnlyWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	model := &counted{}
	s := engine.Settings{Embed: engine.EmbedSettings{Kind: "openai", Model: "counted", URL: "http://127.0.0.1:1/v1"}}
	e, err := engine.Open(dir, engine.Options{Embedder: model})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	fsys := fstest.MapFS{}
	for i := range 30 {
		fsys[fmt.Sprintf("d%02d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# Document %d\n\nwords of it\n", i)}
	}
	build(t, e, fsys, s)
	first := model.n.Swap(0)
	if err := os.RemoveAll(filepath.Join(dir, "cache", "embeddings")); err != nil {
		t.Fatal(err)
	}
	fsys["d07.md"] = &fstest.MapFile{Data: []byte("# Document 7\n\nother words\n")}
	build(t, e, fsys, s)
	if again := model.n.Swap(0); first != 30 || again != 1 {
		t.Errorf("%d texts embedded at first, then %d; want 30, then 1", first, again)
	}
	s.Embed.NoCache = true
	fsys["d08.md"] = &fstest.MapFile{Data: []byte("# Document 8\n\nother words\n")}
	build(t, e, fsys, s)
	if again := model.n.Load(); again != first {
		t.Errorf("without a cache %d texts were embedded, want %d", again, first)
	}
}

// TestReuseOfWhatCannotBeTrusted: a build made by another program, a damaged one and a removed one
// give nothing.
func TestReuseOfWhatCannotBeTrusted(t *testing.T) {
	fsys := fstest.MapFS{"a.md": {Data: []byte("# A\n\nwords\n")}, "b.md": {Data: []byte("# B\n\nmore\n")}}
	for name, spoil := range map[string]func(t *testing.T, dir, id string){
		"another program": func(t *testing.T, dir, _ string) {
			path := filepath.Join(dir, "cache", "made.json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			m["program"] = strings.Repeat("0", 64)
			data, _ = json.Marshal(m)
			write(t, path, string(data))
		},
		"damaged text":   func(t *testing.T, dir, id string) { flip(t, filepath.Join(dir, "builds", id, "documents.dat"), 400) },
		"damaged record": func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, "cache", "made.json"), "{") },
		"removed build":  func(t *testing.T, dir, id string) { remove(t, filepath.Join(dir, "builds", id)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := open(t, dir)
			b := build(t, e, fsys, engine.Settings{})
			spoil(t, dir, b.ID)
			more := maps.Clone(fsys)
			more["c.md"] = &fstest.MapFile{Data: []byte("# C\n\nagain\n")}
			if b = build(t, e, more, engine.Settings{}); b.Reused != 0 {
				t.Errorf("%d documents were taken over", b.Reused)
			}
			faults, _, err := e.Check(t.Context())
			for _, f := range faults {
				if strings.Contains(f.Where, b.ID) {
					t.Error(f)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
