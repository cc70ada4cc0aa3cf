package lexical

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bytesOf returns the digest of every file below dir.
func bytesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSegments: an index that takes over the segments of the one before has the bytes of one that
// does not, whatever was changed and whatever happened to the segments.
func TestSegments(t *testing.T) {
	var docs []Doc
	for i := range 9000 {
		docs = append(docs, Doc{ID: fmt.Sprintf("d%05d#0-9", i*7), Title: fmt.Sprintf("title %d", i%13), Body: fmt.Sprintf("some words of number %d and E-%02d", i, i%50)})
	}
	kept := &Segments{Dir: filepath.Join(t.TempDir(), "segments"), Program: "p", Failed: func(err error) { t.Error(err) }}
	indexed := func(t *testing.T, docs []Doc, s Settings, k *Segments) map[string]string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "index")
		if _, err := BuildWith(t.Context(), nil, dir, slices.Values(docs), s, BuildOptions{Segments: k}); err != nil {
			t.Fatal(err)
		}
		return bytesOf(t, dir)
	}
	indexed(t, docs, Settings{}, kept)
	if n := len(kept.list()); n < 5 {
		t.Fatalf("%d segments are kept of %d chunks", n, len(docs))
	}
	inserted := slices.Insert(slices.Clone(docs), 4500, Doc{ID: "d31499#x", Body: "a new one"})
	changed := slices.Clone(docs)
	changed[10].Body = "other"
	title := 5
	for _, row := range []struct {
		name   string
		docs   []Doc
		s      Settings
		damage func(dir string) error
		most   int // segments made anew; -1: all
	}{
		{name: "nothing changed", docs: docs},
		{name: "one more", docs: inserted, most: 2},
		{name: "the first away", docs: docs[1:], most: 2},
		{name: "another text", docs: changed, most: 1},
		{name: "another weight", docs: docs, s: Settings{Title: &title}, most: -1},
		{name: "another analyzer", docs: docs, s: Settings{Analyzer: "de"}, most: -1},
		{name: "a damaged segment", docs: docs, most: 1, damage: func(dir string) error {
			names, err := filepath.Glob(filepath.Join(dir, "*.zap"))
			if err != nil {
				return err
			}
			return os.WriteFile(names[0], []byte("x"), 0o666)
		}},
		{name: "a damaged list", docs: docs, most: -1, damage: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, segmentsName), []byte("{"), 0o666)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			indexed(t, docs, Settings{}, kept) // as before every row
			if row.damage != nil {
				if err := row.damage(kept.Dir); err != nil {
					t.Fatal(err)
				}
			}
			before := map[string]int64{}
			stat := func(key string) int64 {
				info, err := os.Stat(kept.path(key))
				if err != nil {
					return 0
				}
				return info.ModTime().UnixNano()
			}
			for key := range kept.list() {
				before[key] = stat(key)
			}
			have := indexed(t, row.docs, row.s, kept)
			if diff := cmp.Diff(indexed(t, row.docs, row.s, nil), have); diff != "" {
				t.Errorf("files (-without +with segments):\n%s", diff)
			}
			after := kept.list()
			anew := 0
			for key := range after {
				if before[key] == 0 || before[key] != stat(key) {
					anew++
				}
			}
			if want := row.most; want >= 0 && anew > want || want < 0 && anew != len(after) {
				t.Errorf("%d of %d segments were made anew, want %d (-1: all)", anew, len(after), want)
			}
			files, err := os.ReadDir(kept.Dir)
			if err != nil || len(files) != len(after)+1 {
				t.Errorf("%d files for %d segments, %v", len(files), len(after), err)
			}
		})
	}
}
