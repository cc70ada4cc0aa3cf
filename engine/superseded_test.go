package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
)

func TestSupersededBelow(t *testing.T) {
	below := engine.Settings{Search: engine.SearchSettings{Superseded: engine.SupersededBelow}}
	// The oldest says the words most often.
	fsys := func(acl string) fstest.MapFS {
		return text(
			"a.md", "# Returns\nKettle returns within fourteen days. Kettle returns.\n",
			"b.md", "---\nsupersedes: a.md\n---\n# Returns\nKettle returns within ten days.\n",
			"c.md", "---\nsupersedes: b.md\n"+acl+"---\n# Returns\nKettle returns within seven days.\n",
			"x.md", "# Fans\nDust the blades of a fan. A kettle is none.\n")
	}
	order := func(t *testing.T, e *engine.Engine, id, mode string, as ...string) string {
		t.Helper()
		resp, err := e.QueryBuild(t.Context(), id, engine.Query{Text: "kettle returns", As: as, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i, h := range resp.Hits {
			if i > 0 && h.Score > resp.Hits[i-1].Score {
				t.Errorf("hit %d scores more than the one above", i+1)
			}
			got += strings.TrimSuffix(string(h.Doc), ".md")
			if h.SupersededBy != "" {
				got += "<" + strings.TrimSuffix(string(h.SupersededBy), ".md")
			}
			got += " "
		}
		return strings.TrimSpace(got)
	}
	e := open(t, t.TempDir())
	t.Run("PM-07 below", func(t *testing.T) {
		keep := build(t, e, fsys(""), engine.Settings{})
		same := build(t, e, fsys(""), engine.Settings{Search: engine.SearchSettings{Superseded: engine.SupersededKeep}})
		if same.ID != keep.ID {
			t.Error("keep is the default, and gave another build")
		}
		changed := build(t, e, fsys(""), below)
		if changed.ID == keep.ID {
			t.Error("another ranking is no other build")
		}
		everywhere := 1.0
		always := build(t, e, fsys(""), engine.Settings{Search: engine.SearchSettings{Superseded: engine.SupersededBelow, SupersededWithin: &everywhere}})
		for _, mode := range []string{"hybrid", "lexical", "vector"} {
			if got := order(t, e, keep.ID, mode); !strings.HasPrefix(got, "a<b ") {
				t.Errorf("%s, keep: %s", mode, got)
			}
			if got := order(t, e, always.ID, mode); got != "c b<c a<b x" {
				t.Errorf("%s, always below: %s", mode, got)
			}
		}
		var recorded engine.Settings
		if err := json.Unmarshal(always.Manifest.Settings, &recorded); err != nil {
			t.Fatal(err)
		}
		if flat := recorded.Flatten(); flat["search.superseded"] != "below" || flat["search.superseded_within"] != "1" {
			t.Errorf("recorded settings %v", flat)
		}
	})
	t.Run("PM-07 a successor that may not be read", func(t *testing.T) {
		// What c hides from the public must not show in the order of the others.
		everywhere := 1.0
		s := engine.Settings{Search: engine.SearchSettings{Superseded: engine.SupersededBelow, SupersededWithin: &everywhere}}
		hidden := build(t, e, fsys("acl: [board]\n"), s)
		without := fsys("")
		delete(without, "c.md")
		alone := build(t, e, without, s)
		for _, mode := range []string{"hybrid", "lexical", "vector"} {
			public, board := order(t, e, hidden.ID, mode), order(t, e, hidden.ID, mode, "board")
			if want := order(t, e, alone.ID, mode); public != want || public != "b a<b x" {
				t.Errorf("%s: the public sees %s, without the hidden document %s", mode, public, want)
			}
			if board != "c b<c a<b x" {
				t.Errorf("%s: the board sees %s", mode, board)
			}
		}
		// The middle is hidden: nothing tells the public that a is old.
		middle := fsys("")
		middle["b.md"].Data = []byte("---\nsupersedes: a.md\nacl: [board]\n---\n# Returns\nKettle returns within ten days.\n")
		b := build(t, e, middle, s)
		if got := order(t, e, b.ID, "lexical"); got != "a c x" {
			t.Errorf("the public sees %s", got)
		}
		if got := order(t, e, b.ID, "lexical", "board"); got != "c b<c a<b x" {
			t.Errorf("the board sees %s", got)
		}
	})
	t.Run("settings", func(t *testing.T) {
		for _, bad := range []string{"search: {superseded: last}", "search: {superseded_within: 2}", "search: {superceded: below}",
			"corpus: {acl: {a: [b, 7]}}", "corpus: {acl: {a: {read: b}}}", "corpus: {acl: {a: [null]}}", "corpus: {acls: {a: [b]}}", "corpus: {supersedes: {a: 7}}"} {
			if _, err := engine.ParseSettings("assay.yaml", []byte(bad)); err == nil || !strings.Contains(err.Error(), "assay.yaml") {
				t.Errorf("%s: %v", bad, err)
			}
		}
		s, err := engine.ParseSettings("assay.yaml", []byte("corpus: {path: docs, acl: {'private/**': staff, b: [x, y]}, supersedes: {new.pdf: [old.pdf]}}"))
		if err != nil || len(s.Corpus.ACL) != 2 || s.Corpus.ACL["private/**"][0] != "staff" || s.Corpus.Supersedes["new.pdf"][0] != "old.pdf" {
			t.Errorf("%v, %+v", err, s.Corpus)
		}
	})
	t.Run("PM-04 permissions by path", func(t *testing.T) {
		c := corpus.FS("test", text("private/a.txt", "Kettle returns.", "b.txt", "Kettle."), corpus.Options{ACL: map[string][]string{"private/**": {"board"}}})
		b, err := e.Build(t.Context(), c, engine.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if got := order(t, e, b.ID, "lexical"); got != "b.txt" {
			t.Errorf("the public sees %s", got)
		}
		if got := order(t, e, b.ID, "lexical", "board"); got != "private/a.txt b.txt" {
			t.Errorf("the board sees %s", got)
		}
	})
}
