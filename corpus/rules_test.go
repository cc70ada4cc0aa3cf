package corpus

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRules(t *testing.T) {
	t.Run("PM-04 permissions by path", func(t *testing.T) {
		c := loadFS(t, Options{ACL: map[string][]string{"**/*.txt": {"staff", "board"}, "board/**": {"board"}, "own.md": {"b", "a"}}},
			"a.txt", "x", "board/b.txt", "x", "board/c.md", "x", "own.md", "---\nacl: [b, c]\n---\nx", "open.md", "---\nacl: []\n---\nx")
		got := map[DocumentID][]string{}
		for i := range c.Documents {
			got[c.Documents[i].ID] = c.Documents[i].ACL
		}
		want := map[DocumentID][]string{"a.txt": {"board", "staff"}, "board/b.txt": {"board"}, "board/c.md": {"board"}, "own.md": {"b"}, "open.md": nil}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})

	t.Run("every document of a file", func(t *testing.T) {
		c := loadFS(t, Options{Include: []string{"*"}, ACL: map[string][]string{"a.jsonl": {"staff"}}}, "a.jsonl", "{\"_id\": \"1\", \"text\": \"x\"}\n{\"_id\": \"2\", \"text\": \"y\", \"acl\": \"staff\"}\n")
		for i := range c.Documents {
			if diff := cmp.Diff([]string{"staff"}, c.Documents[i].ACL); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Documents[i].ID, diff)
			}
		}
	})

	t.Run("PM-04 refused", func(t *testing.T) {
		for _, c := range []struct {
			acl  map[string][]string
			want string
		}{
			{map[string][]string{"privat/**": {"staff"}}, `"privat/**" matches no file`},
			{map[string][]string{"private/*.TXT": {"staff"}}, "matches no file"},
			{map[string][]string{"private/**": nil}, "has no labels"},
			{map[string][]string{"private/**": {""}}, "empty label"},
			{map[string][]string{"private/**": {" staff"}}, "white space"},
			{map[string][]string{"[": {"staff"}}, "malformed"},
			{map[string][]string{"private/own.md": {"staff"}}, "private/own.md:2: acl board has no label in common"},
			{map[string][]string{"private/*": {"staff"}, "private/a.*": {"board"}}, "private/a.txt: acl staff has no label in common"},
		} {
			err := loadErr(t, Options{ACL: c.acl}, "private/a.txt", "x", "private/own.md", "---\nacl: board\n---\nx", "open.txt", "x")
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want %q", c.acl, err, c.want)
			}
		}
	})

	t.Run("a skipped file is a file", func(t *testing.T) {
		loadFS(t, Options{ACL: map[string][]string{"*.bin": {"staff"}}}, "a.bin", "x", "a.md", "x")
	})

	t.Run("PM-07 successors by path", func(t *testing.T) {
		c := loadFS(t, Options{Supersedes: map[string][]string{"new.txt": {"old.txt", "older.txt"}, "b.md": {"a.md"}}},
			"new.txt", "x", "old.txt", "x", "older.txt", "x", "a.md", "x", "b.md", "---\nsupersedes: old.txt\n---\nx")
		if diff := cmp.Diff([]DocumentID{"old.txt", "older.txt"}, c.Find("new.txt").Supersedes); diff != "" {
			t.Errorf("new.txt (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]DocumentID{"a.md", "old.txt"}, c.Find("b.md").Supersedes); diff != "" {
			t.Errorf("b.md (-want +got):\n%s", diff)
		}
		for _, bad := range []struct {
			rule map[string][]string
			want string
		}{
			{map[string][]string{"New.txt": {"old.txt"}}, `did you mean "new.txt"`},
			{map[string][]string{"new.txt": {"none.txt"}}, `supersedes "none.txt", which is not in the collection`},
			{map[string][]string{"new.txt": nil}, "names no document"},
			{map[string][]string{"new.txt": {"old.txt"}, "old.txt": {"new.txt"}}, "in a circle"},
		} {
			if err := loadErr(t, Options{Supersedes: bad.rule}, "new.txt", "x", "old.txt", "x"); !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%v: %v, want %q", bad.rule, err, bad.want)
			}
		}
	})

	t.Run("rules never admit more", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			labels := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3, rapid.ID[string])
			own := rapid.OneOf(rapid.Just([]string(nil)), labels).Draw(r, "own")
			rules := map[string][]string{"*.md": labels.Draw(r, "first"), "x.*": labels.Draw(r, "second")}
			text := "---\nacl: [" + strings.Join(own, ", ") + "]\n---\nx"
			c, err := FS("test", files("x.md", text), Options{ACL: rules}).Load(t.Context())
			if err != nil {
				return // nothing in common
			}
			for _, caller := range [][]string{nil, {"a"}, {"b"}, {"c"}, {"d"}} {
				all := Visible(own, caller) && Visible(rules["*.md"], caller) && Visible(rules["x.*"], caller)
				if Visible(c.Documents[0].ACL, caller) && !all {
					r.Fatalf("%v may read what has %v under %v", caller, own, rules)
				}
			}
		})
	})
}
