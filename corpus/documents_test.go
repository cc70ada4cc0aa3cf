package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestIdentity(t *testing.T) {
	t.Run("ID-01", func(t *testing.T) {
		d := loadOne(t, "a.md", "# Phone\n## Warranty\n12 months\n# Laptop\n## Warranty\n24 months\n")
		if i, err := d.Resolve("Phone > Warranty"); i != 2 || err != nil {
			t.Errorf("Resolve = %d, %v, want 2", i, err)
		}
		_, err := d.Resolve("Warranty")
		var le *LabelError
		if !errors.As(err, &le) {
			t.Fatalf("Resolve(Warranty): %v, want a *LabelError", err)
		}
		if diff := cmp.Diff([]string{"Phone > Warranty", "Laptop > Warranty"}, le.Candidates); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
		d = loadOne(t, "a.md", "# A\n## Notes\nx\n## Notes\ny\n")
		for label, want := range map[string]int{"Notes": 2, "A > Notes": 2, "Notes (2)": 3, "A > Notes (2)": 3} {
			if i, err := d.Resolve(label); i != want || err != nil {
				t.Errorf("Resolve(%q) = %d, %v, want %d", label, i, err, want)
			}
		}
	})
	t.Run("ID-02", func(t *testing.T) {
		d := loadOne(t, "a.md", "## C\na\n## C++\nb\n## C#\nc\n## Tasks\nd\n## TASKS\ne\n")
		for i, label := range []string{"C", "C++", "C#", "Tasks", "TASKS"} {
			if got, err := d.Resolve(label); got != i+1 || err != nil {
				t.Errorf("Resolve(%q) = %d, %v, want %d", label, got, err, i+1)
			}
		}
		_, err := d.Resolve("tasks")
		var le *LabelError
		if !errors.As(err, &le) || !slices.Contains(le.Nearest, "Tasks") {
			t.Errorf("Resolve(tasks): %v, want a hint at Tasks", err)
		}
	})
	t.Run("ID-03", func(t *testing.T) {
		nfc := loadFS(t, Options{}, "caf\u00e9.md", "# A\n")
		nfd := loadFS(t, Options{}, "cafe\u0301.md", "# A\n")
		if a, b := nfc.Documents[0].ID, nfd.Documents[0].ID; a != b {
			t.Errorf("ids %q and %q differ", a, b)
		}
		if nfc.Digest() != nfd.Digest() {
			t.Error("digests differ")
		}
		if nfd.Find("cafe\u0301.md") == nil || nfd.Find("caf\u00e9.md") == nil {
			t.Error("not found under both spellings")
		}
		err := loadErr(t, Options{}, "caf\u00e9.md", "# A\n", "cafe\u0301.md", "# B\n")
		if !strings.Contains(err.Error(), "two documents have this id") {
			t.Errorf("both spellings in one folder: %v", err)
		}
		c := loadFS(t, Options{}, "faq.md", "# A\n", "returns.md", "# B\n")
		if c.Find("Faq.md") != nil || c.Nearest("Faq.md") != "faq.md" {
			t.Errorf("Find(Faq.md) = %v, Nearest = %q", c.Find("Faq.md"), c.Nearest("Faq.md"))
		}
		if runtime.GOOS != "windows" {
			dir := t.TempDir()
			write(t, dir, `a\b.md`, "# 1\n")
			write(t, dir, "a/b.md", "# 2\n")
			c, err := Dir(dir, Options{}).Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := ids(c); !slices.Equal(got, []string{"a/b.md", `a\b.md`}) {
				t.Errorf("documents %q", got)
			}
		}
	})
	t.Run("ID-04", func(t *testing.T) {
		c := loadFS(t, Options{}, "vi/returns.md", "Contact the store.\n", "en/returns.md", "Contact the store.\n")
		if got := ids(c); !slices.Equal(got, []string{"en/returns.md", "vi/returns.md"}) {
			t.Errorf("documents %q", got)
		}
	})
	t.Run("ID-05 ignored files", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "returns.md", "# R\n")
		write(t, dir, "golden[1].md", "# questions\n")
		write(t, dir, "x/golden.md", "# questions\n")
		c, err := Dir(dir, Options{Ignore: []string{filepath.Join(dir, "golden[1].md"), "x/golden.md"}}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(c); !slices.Equal(got, []string{"returns.md"}) || len(c.Skipped) != 0 {
			t.Errorf("documents %q, skipped %v", got, c.Skipped)
		}
	})
}

func ids(c *Collection) []string {
	var list []string
	for i := range c.Documents {
		list = append(list, string(c.Documents[i].ID))
	}
	return list
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	full := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPermissions(t *testing.T) {
	for _, tt := range []struct {
		name, front string
		want        []string
	}{
		{"PM-04 list", "acl: [board]", []string{"board"}},
		{"PM-04 string", "acl: board", []string{"board"}},
		{"PM-04 empty list", "acl: []", nil},
		{"PM-04 no key", "title: x", nil},
		{"PM-04 block list, quoted, twice", "acl:\n  - b\n  - \"a\"\n  - 'b'", []string{"a", "b"}},
		{"PM-04 words near acl", "all: x\nact: 2\nblack: y\nclass: z", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := loadOne(t, "a.md", "---\n"+tt.front+"\n---\n# A\n")
			if diff := cmp.Diff(tt.want, d.ACL); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
	for _, tt := range []struct{ name, front, place string }{
		{"PM-04 capitals", "ACL: [board]", "a.md:2"},
		{"PM-04 plural", "title: x\nacls: [board]", "a.md:3"},
		{"PM-04 mixed list", "acl: [board, 7, null]", "a.md:2"},
		{"PM-04 mapping", "acl: {read: board}", "a.md:2"},
		{"PM-04 block mapping", "x: 1\nacl:\n  read: board", "a.md:3"},
		{"PM-04 YAML error before", "title: [x\nacl: [board]", "a.md:"},
		{"PM-04 YAML error, colon", "title: a: b\nacl: [board]", "a.md:2"},
		{"PM-04 null", "acl:", "a.md:2"},
		{"PM-04 number", "acl: 7", "a.md:2"},
		{"PM-04 boolean", "acl: true", "a.md:2"},
		{"PM-04 empty label", "acl: ['']", "a.md:2"},
		{"PM-04 blank label", "acl: ' a'", "a.md:2"},
		{"PM-04 transposed", "alc: [board]", "a.md:2"},
		{"PM-04 one letter lost", "ac: [board]", "a.md:2"},
		{"PM-04 no colon", "acl board", "a.md:2"},
		{"PM-04 twice", "acl: [board]\nacl: []", "a.md:3"},
		{"PM-04 quoted capitals", "\"ACL\": [board]", "a.md:2"},
		{"PM-04 alias", "x: &a [board]\nacl: *a", "a.md:2"},
		{"PM-04 tag", "acl: !!str board", "a.md:2"},
		{"PM-04 two labels in one", "title: x\nacl: board, staff", "a.md:3"},
		{"PM-04 comma in a list", "acl: ['board,staff']", "a.md:2"},
		{"PM-04 nested", "meta: {acl: [board]}", "a.md:2"},
		{"PM-04 nested block", "title: x\nmeta:\n  other: 1\n  ACL:\n    - board", "a.md:3"},
		{"PM-07 misspelt", "supercedes: b.md", "a.md:2"},
		{"title mapping", "title: {a: b}", "a.md:2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := loadErr(t, Options{}, "a.md", "---\n"+tt.front+"\n---\n# A\n")
			if got := fileErrors(err); len(got) != 1 || !strings.HasPrefix(got[0], tt.place) {
				t.Errorf("error at %v, want %s: %v", got, tt.place, err)
			}
		})
	}
	t.Run("PM-04 JSON", func(t *testing.T) {
		for text, place := range map[string]string{
			"{\"title\":\"x\",\"acl\": [\"board\"]}\n\nmerger\n":    "a.md:1",
			"{\n  \"title\": \"x\",\n  \"ACL\" : \"board\"\n}\nx\n": "a.md:3",
		} {
			if got := fileErrors(loadErr(t, Options{}, "a.md", text)); len(got) != 1 || got[0] != place {
				t.Errorf("%q: error at %v, want %s", text, got, place)
			}
		}
		loadOne(t, "a.md", "{curly} words that speak of an acl: fine\n")
	})
	t.Run("PM-04 nested TOML", func(t *testing.T) {
		if got := fileErrors(loadErr(t, Options{}, "a.md", "+++\nx = 1\n[meta]\nacl = ['b']\n+++\n")); len(got) != 1 {
			t.Errorf("error at %v, want one", got)
		}
	})
	t.Run("PM-04 TOML", func(t *testing.T) {
		d := loadOne(t, "a.md", "+++\ntitle = 'T'\nacl = ['b', 'a']\ndate = 2026-01-02\n+++\n# A\n")
		if diff := cmp.Diff([]string{"a", "b"}, d.ACL); diff != "" || d.Title != "T" {
			t.Errorf("title %q, labels (-want +got):\n%s", d.Title, diff)
		}
		for front, place := range map[string]string{
			"x = 1\nacl = [1]": "a.md:3", "ACL = ['b']": "a.md:2", "[acl]\nread = 'b'": "a.md:2", "x = 1\nacl = ": "a.md:3",
		} {
			if got := fileErrors(loadErr(t, Options{}, "a.md", "+++\n"+front+"\n+++\n")); len(got) != 1 || got[0] != place {
				t.Errorf("%q: error at %v, want %s", front, got, place)
			}
		}
	})
	t.Run("PM-04 all at once", func(t *testing.T) {
		err := loadErr(t, Options{}, "a.md", "---\nACL: [x]\n---\n", "b.md", "---\nacl: 7\n---\n", "c.md", "fine\n")
		if diff := cmp.Diff([]string{"a.md:2", "b.md:2"}, fileErrors(err)); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})
	t.Run("PM-04 text file", func(t *testing.T) {
		if d := loadOne(t, "a.txt", "---\nacl: [board]\n---\nsecret\n"); !slices.Equal(d.ACL, []string{"board"}) {
			t.Errorf("labels %q", d.ACL)
		}
		loadErr(t, Options{}, "a.txt", "---\nacls: [board]\n---\nsecret\n")
	})
	t.Run("PM-04 front matter that is none", func(t *testing.T) {
		for in, line := range map[string]string{
			"---\nacl: [board]\n# A\n": "a.md:2", "\n---\ntitle: x\nacl: [board]\n---\n# A\n": "a.md:4", " ---\nacl: [board]\n---\n": "a.md:2",
			"acl: [board]\n\n# A\n": "a.md:1", "----\nACL: board\n----\n": "a.md:2", "+++\nacl = ['x']\n": "a.md:2",
		} {
			if got := fileErrors(loadErr(t, Options{}, "a.md", in)); len(got) != 1 || got[0] != line {
				t.Errorf("%q: errors at %v, want %s", in, got, line)
			}
		}
		for _, in := range []string{"---\n\nacl: text after a rule\n", "# A\nacl: x\n", "text\n---\nacl: x\n---\n", "Acl rules\n", "---\n---\nacl: x\n"} {
			loadOne(t, "a.md", in)
		}
	})
	t.Run("PM-04 callers", func(t *testing.T) {
		for _, tt := range []struct {
			acl, as []string
			want    bool
		}{
			{nil, nil, true}, {nil, []string{"x"}, true}, {[]string{"board"}, nil, false}, {[]string{"board"}, []string{}, false},
			{[]string{"board"}, []string{"Board"}, false}, {[]string{"a", "board"}, []string{"x", "board"}, true},
		} {
			if got := Visible(tt.acl, tt.as); got != tt.want {
				t.Errorf("Visible(%q, %q) = %v", tt.acl, tt.as, got)
			}
		}
	})
}

func TestMisspelt(t *testing.T) {
	for name, want := range map[string]string{
		"ACL": "acl", "Acl": "acl", "acls": "acl", "alc": "acl", "cal": "acl", "ac": "acl", "cl": "acl", "al": "acl", "a-c-l": "acl", "ac_l": "acl",
		"axl": "acl", "ack": "acl", "scl": "acl", "aacl": "acl", "acl.": "acl", "ACLs": "acl",
		"act": "", "acm": "", "all": "", "ace": "", "a": "", "": "", "class": "", "author": "", "local": "", "tags": "",
		"supersede": "supersedes", "Supersedes": "supersedes", "supercedes": "supersedes", "superseeds": "supersedes", "superseded-by": "",
		"Title": "title", "TITLE": "title", "titles": "",
	} {
		if got := misspelt(name); got != want {
			t.Errorf("misspelt(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSupersedes(t *testing.T) {
	front := func(s string) string { return "---\nsupersedes: " + s + "\n---\n# A\n" }
	t.Run("PM-07", func(t *testing.T) {
		c := loadFS(t, Options{}, "returns-2024.md", "# R\n14 days\n", "returns-2026.md", front("returns-2024.md"), "x/new.md", front("[old.md, ../returns-2026.md]"), "x/old.md", "# O\n")
		for id, want := range map[DocumentID][]DocumentID{
			"returns-2024.md": nil, "returns-2026.md": {"returns-2024.md"}, "x/new.md": {"returns-2026.md", "x/old.md"},
		} {
			if diff := cmp.Diff(want, c.Find(id).Supersedes); diff != "" {
				t.Errorf("%s supersedes (-want +got):\n%s", id, diff)
			}
		}
	})
	for _, tt := range []struct {
		name  string
		files []string
		want  string
	}{
		{"PM-07 unknown", []string{"a.md", front("nowhere.md")}, `a.md:2: supersedes "nowhere.md", which is not in the collection`},
		{"PM-07 unknown, near", []string{"a.md", front("Old.md"), "old.md", "x"}, `did you mean "old.md"?`},
		{"PM-07 itself", []string{"a.md", front("a.md")}, "a.md → a.md"},
		{"PM-07 circle", []string{"a.md", front("b.md"), "b.md", front("c.md"), "c.md", front("a.md"), "d.md", front("a.md")}, "a.md → b.md → c.md → a.md"},
		{"PM-07 skipped", []string{"a.md", front("b.bin"), "b.bin", "x"}, "that file was skipped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := loadErr(t, Options{}, tt.files...)
			if !strings.Contains(err.Error(), tt.want) || len(fileErrors(err)) != 1 {
				t.Errorf("error %q, want one that says %q", err, tt.want)
			}
		})
	}
	t.Run("PM-07 long chain", func(t *testing.T) {
		pairs := []string{"d00000.md", "x"}
		for i := 1; i < 3000; i++ {
			pairs = append(pairs, fmt.Sprintf("d%05d.md", i), front(fmt.Sprintf("d%05d.md", i-1)))
		}
		if c := loadFS(t, Options{}, pairs...); len(c.Documents) != 3000 {
			t.Errorf("%d documents", len(c.Documents))
		}
	})
}

func TestText(t *testing.T) {
	t.Run("CH-11", func(t *testing.T) {
		in := strings.Repeat("a ", 200) + "\n\nDELIVERY\n\n" + strings.Repeat("b ", 200) + "\n\n# not a heading\n" + strings.Repeat("c ", 190) + "\n"
		d := loadOne(t, "faq.txt", in)
		if len(d.Sections) != 1 || len(d.Blocks) != 4 || d.Title != "faq" {
			t.Errorf("%d sections, %d blocks, title %q, want 1, 4, faq", len(d.Sections), len(d.Blocks), d.Title)
		}
		c := loadFS(t, Options{TextHeadings: true}, "faq.txt", "Big\n===\nx\n\nDELIVERY\n\ny\n\nSmall\n-----\nz\n")
		if got := outlineOf(&c.Documents[0]); got != "Big\nBig > DELIVERY\nBig > Small\n" {
			t.Errorf("with TextHeadings: %q", got)
		}
	})
	t.Run("empty files", func(t *testing.T) {
		for _, in := range []string{"", "\n", " \n\t\n", "\ufeff"} {
			for _, name := range []string{"a.txt", "a.md"} {
				if d := loadOne(t, name, in); len(d.Blocks) != 0 || len(d.Sections) != 1 {
					t.Errorf("%s %q: %d blocks, %d sections", name, in, len(d.Blocks), len(d.Sections))
				}
			}
		}
	})
}

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a/page.md", "text\n", "page"},
		{"page.md", "## Two\n# One\n# Three\n", "One"},
		{"page.md", "---\ntitle: '  Front  matter '\n---\n# One\n", "Front matter"},
		{"page.md", "---\ntitle: 2024\n---\n# One\n", "2024"},
		{"page.md", "---\ntitle: ''\n---\n# One\n", "One"},
		{"README", "", ""},
	} {
		c := loadFS(t, Options{Formats: map[string]string{"README": "text"}}, tt.name, tt.in)
		want := tt.want
		if want == "" {
			want = tt.name
		}
		if got := c.Documents[0].Title; got != want {
			t.Errorf("%s %q: title %q, want %q", tt.name, tt.in, got, want)
		}
	}
}

func TestSelection(t *testing.T) {
	pairs := []string{"a.md", "x", "b.txt", "x", "s/c.md", "x", "s/t/d.md", "x", ".git/e.md", "x", ".hidden.md", "x", "pic.png", "x", "Makefile", "x", "q.jsonl", `{"_id":"1","text":"x"}`}
	for _, tt := range []struct {
		name    string
		o       Options
		want    []string
		skipped []string
	}{
		{"all", Options{}, []string{"a.md", "b.txt", "s/c.md", "s/t/d.md"}, []string{"Makefile", "pic.png", "q.jsonl"}},
		{"include", Options{Include: []string{"**/*.md"}}, []string{"a.md", "s/c.md", "s/t/d.md"}, nil},
		{"base name", Options{Include: []string{"*.md"}}, []string{"a.md", "s/c.md", "s/t/d.md"}, nil},
		{"folder", Options{Include: []string{"s/*.md"}}, []string{"s/c.md"}, nil},
		{"exclude folder", Options{Include: []string{"**/*.md"}, Exclude: []string{"s/**"}}, []string{"a.md"}, nil},
		{"exclude", Options{Include: []string{"**"}, Exclude: []string{"*.png", "Makefile"}}, []string{"1", "a.md", "b.txt", "s/c.md", "s/t/d.md"}, nil},
		{"hidden", Options{Include: []string{".hidden.md", "b.*"}}, []string{".hidden.md", "b.txt"}, nil},
		{"format", Options{Include: []string{"Makefile"}, Formats: map[string]string{"Makefile": "text"}}, []string{"Makefile"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := loadFS(t, tt.o, pairs...)
			if diff := cmp.Diff(tt.want, ids(c)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			var skipped []string
			for _, s := range c.Skipped {
				skipped = append(skipped, s.Path)
			}
			if diff := cmp.Diff(tt.skipped, skipped); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
	for name, o := range map[string]Options{
		"pattern": {Include: []string{"["}}, "empty pattern": {Exclude: []string{""}}, "invalid": {Invalid: "ignore"},
		"format": {Formats: map[string]string{"*": "pdf"}}, "size": {MaxFileBytes: -1},
	} {
		if _, err := FS("x", files(), o).Load(t.Context()); err == nil {
			t.Errorf("bad %s accepted", name)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"**/*.md", "a.md", true}, {"**/*.md", "a/b/c.md", true}, {"**", "a/b", true}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true},
		{"a/**/b", "a/x", false}, {"*.md", "x/y.md", true}, {"x/*.md", "x/y/z.md", false}, {"./a.md", "a.md", true}, {"a?[bc].md", "axb.md", true},
		{"**/a/**/a/**/a", "a/a/b", false}, {"docs/**", "docs", true}, {"docs/**", "docs/a", true}, {"docs/**", "doc/a", false},
	} {
		if got := matchGlob(tt.pattern, tt.name); got != tt.want {
			t.Errorf("matchGlob(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

func TestPath(t *testing.T) {
	for _, tt := range []struct {
		path []string
		want string
	}{
		{nil, ""}, {[]string{"A", "B"}, "A > B"}, {[]string{"a > b", "c"}, `a \> b > c`}, {[]string{">", `\>`}, `\> > \\>`}, {[]string{"24/7", "x>y"}, "24/7 > x>y"},
	} {
		if got := FormatPath(tt.path); got != tt.want {
			t.Errorf("FormatPath(%q) = %q, want %q", tt.path, got, tt.want)
		}
		if got := ParsePath(tt.want); !slices.Equal(got, tt.path) {
			t.Errorf("ParsePath(%q) = %q, want %q", tt.want, got, tt.path)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringOfN(rapid.SampledFrom([]rune{'a', ' ', '>', '\\', 'é', '/', '\t'}), 0, 8, -1)
		path := rapid.SliceOfN(title, 1, 4).Draw(t, "path")
		if len(path) == 1 && path[0] == "" {
			return
		}
		if got := ParsePath(FormatPath(path)); !slices.Equal(got, path) {
			t.Fatalf("%q is written %q and reads back as %q", path, FormatPath(path), got)
		}
	})
}

func TestQuote(t *testing.T) {
	d := loadOne(t, "a.md", "# A\nwithin 7 days\nof receipt. See the manual.\n# B\nSee  the\n\nmanual. See the manual.\n")
	for _, tt := range []struct {
		section int
		quote   string
		want    string
		in      bool
		count   int
	}{
		{1, "7 days of receipt", "7 days\nof receipt", true, 1},
		{2, " See the manual ", "See  the\n\nmanual", true, 2},
		{-1, "See the manual.", "See the manual.", true, 3},
		{2, "within 7", "within 7", false, 1},
		{99, "within 7", "within 7", false, 1},
		{1, "withn", "", false, 0},
		{1, "", "", false, 0},
		{1, "days of days", "", false, 0},
	} {
		q, ok := LocateQuote(d, tt.section, tt.quote)
		got := d.Text[q.Span.Start:q.Span.End]
		if got != tt.want || q.InSection != tt.in || q.Count != tt.count || ok != (tt.count > 0) {
			t.Errorf("LocateQuote(%d, %q) = %+v (%q), %v", tt.section, tt.quote, q, got, ok)
		}
		if span, found := FindQuote(d, tt.section, tt.quote); span != q.Span || found != ok {
			t.Errorf("FindQuote(%d, %q) = %v, %v", tt.section, tt.quote, span, found)
		}
	}
}

func TestHostile(t *testing.T) {
	t.Run("SV symbolic links", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege on Windows")
		}
		outside, dir := t.TempDir(), t.TempDir()
		write(t, outside, "secret.md", "# secret\n")
		write(t, dir, "a.md", "# a\n")
		write(t, dir, "sub/b.md", "# b\n")
		for name, target := range map[string]string{
			"out.md": filepath.Join(outside, "secret.md"), "up.md": "../" + filepath.Base(outside) + "/secret.md", "in.md": "a.md",
			"dangling.md": "none.md", "loop.md": "loop.md", "folder": outside, "dir.md": "sub", "passwd.txt": "/etc/passwd", "sub/up.md": "../a.md",
		} {
			if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Dir(dir, Options{}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a.md", "in.md", "sub/b.md", "sub/up.md"}, ids(c)); diff != "" {
			t.Errorf("documents (-want +got):\n%s", diff)
		}
		var skipped []string
		for _, s := range c.Skipped {
			skipped = append(skipped, s.Path)
		}
		if diff := cmp.Diff([]string{"dangling.md", "dir.md", "folder", "loop.md", "out.md", "passwd.txt", "up.md"}, skipped); diff != "" {
			t.Errorf("skipped (-want +got):\n%s", diff)
		}
	})
	t.Run("SV file longer than the limit", func(t *testing.T) {
		c := loadFS(t, Options{MaxFileBytes: 10}, "a.md", "0123456789", "b.md", "0123456789x")
		if len(c.Documents) != 1 || len(c.Skipped) != 1 || !strings.Contains(c.Skipped[0].Reason, "limit of 10 bytes") {
			t.Errorf("documents %q, skipped %v", ids(c), c.Skipped)
		}
	})
	t.Run("SV control characters in names", func(t *testing.T) {
		c := loadFS(t, Options{}, "a\x1b[31m.md", "x", "b\n.md", "x", "ok.md", "x")
		if got := ids(c); !slices.Equal(got, []string{"ok.md"}) || len(c.Skipped) != 2 {
			t.Errorf("documents %q, skipped %v", got, c.Skipped)
		}
	})
	t.Run("SV YAML bombs", func(t *testing.T) {
		bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
		for c := 'b'; c <= 'i'; c++ {
			bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
		}
		for name, front := range map[string]string{
			"aliases": bomb, "brackets": "x: " + strings.Repeat("[", 20000), "dashes": "x:\n" + strings.Repeat("- ", 10000) + "a",
			"braces": "x: " + strings.Repeat("{a: ", 10000), "length": "x: " + strings.Repeat("y", 1<<20), "merge": "a: &a {b: c}\n<<: *a",
			"indent": indented(3000), "TOML": "\x00",
		} {
			fence := "---\n"
			if name == "TOML" {
				fence, front = "+++\n", "x = "+strings.Repeat("[", 20000)
			}
			err := loadErr(t, Options{}, "a.md", fence+front+"\n"+fence+"# A\n")
			if got := fileErrors(err); len(got) != 1 || strings.HasSuffix(got[0], ":0") {
				t.Errorf("%s: errors at %v, want one with a line", name, got)
			}
		}
	})
	t.Run("SV nesting, long lines, many headings", func(t *testing.T) {
		for name, in := range map[string]string{
			"quotes":        strings.Repeat(">", 1000) + " deep\n\nafter\n",
			"quotes below":  strings.Repeat(strings.Repeat("> ", 1000)+"x\n", 20),
			"items":         strings.Repeat("- ", 1000) + "deep\n",
			"items below":   nestedItems(1000),
			"brackets":      "# " + strings.Repeat("[", 50000) + "\n",
			"emphasis":      "# " + strings.Repeat("*a _b ", 20000) + "\n",
			"short links":   "# " + strings.Repeat("[a](", 1000) + "\n",
			"backticks":     "# " + strings.Repeat("`a``b", 800) + "\n",
			"long line":     strings.Repeat("word ", 2<<20),
			"blob":          strings.Repeat("a", 10<<20),
			"headings":      strings.Repeat("# same\n", 100_000),
			"levels":        strings.Repeat("# a\n## b\n### c\n#### d\n##### e\n###### f\n", 10_000),
			"references":    strings.Repeat("[a]: /b\n", 50_000) + "# [a]\n",
			"table":         "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 50_000),
			"wide table":    strings.Repeat("|a", 20_000) + "|\n" + strings.Repeat("|-", 20_000) + "|\n" + strings.Repeat("|b", 20_000) + "|\n",
			"delimiters":    strings.Repeat("|-|-|\n", 20_000),
			"fences":        strings.Repeat("```\nx\n```\n", 20_000),
			"open comments": strings.Repeat("<!-- ", 50_000) + "\n",
			"rules":         strings.Repeat("---\n", 100_000),
			"setext":        strings.Repeat("a\n---\n", 50_000),
			"tabs":          strings.Repeat("\t", 100_000) + "x\n",
			"paragraph":     strings.Repeat("line of text\n", 200_000),
		} {
			t.Run(name, func(t *testing.T) {
				c, err := FS("h", files("a.md", in), Options{}).Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				d := &c.Documents[0]
				if len(d.Sections) > 10_000 {
					return // checkDocument resolves every label, which is quadratic
				}
				if err := checkDocument(d); err != nil {
					t.Fatalf("%.200s", err)
				}
			})
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if c, err := FS("x", files("a.md", "x"), Options{}).Load(ctx); !errors.Is(err, context.Canceled) || c != nil {
			t.Errorf("Load = %v, %v", c, err)
		}
	})
}

func indented(n int) string {
	var b strings.Builder
	for i := range min(n, 300) {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func nestedItems(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}

func TestDigest(t *testing.T) {
	base := loadFS(t, Options{}, "a.md", "---\nacl: [x]\n---\n1", "b.md", "2").Digest()
	for name, pairs := range map[string][]string{
		"content": {"a.md", "---\nacl: [x]\n---\n1", "b.md", "3"}, "name": {"a.md", "---\nacl: [x]\n---\n1", "c.md", "2"},
		"label": {"a.md", "---\nacl: [y]\n---\n1", "b.md", "2"}, "fewer": {"a.md", "---\nacl: [x]\n---\n1"},
	} {
		if got := loadFS(t, Options{}, pairs...).Digest(); got == base {
			t.Errorf("other %s, same digest", name)
		}
	}
	if got := loadFS(t, Options{}, "b.md", "2", "a.md", "---\nacl: [x]\n---\n1").Digest(); got != base || len(got) != 64 {
		t.Errorf("same documents, digest %s, want %s", got, base)
	}
}

func TestReuse(t *testing.T) {
	first := loadFS(t, Options{}, "a.md", "# A\n", "b.md", "# B\n")
	files := fstest.MapFS{"a.md": {Data: []byte("# A\n")}, "b.md": {Data: []byte("# B2\n")}, "c.md": {Data: []byte("# C\n")}}
	source := FS("test", files, Options{}).(Reusable)
	asked := make(chan DocumentID, 10)
	second, err := source.Reusing(func(id DocumentID, version string) (Document, bool) {
		asked <- id
		d := first.Find(id)
		if d == nil || d.Version != version {
			return Document{}, false
		}
		kept := *d
		kept.Title = "kept"
		return kept, true
	}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 3 {
		t.Errorf("asked %d times, want 3", len(asked))
	}
	var titles []string
	for _, d := range second.Documents {
		titles = append(titles, d.Title)
	}
	if diff := cmp.Diff([]string{"kept", "B2", "C"}, titles); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
}

// TestReuseKey: every exported option but the readers' functions shows in the key.
func TestReuseKey(t *testing.T) {
	key := func(o Options) string { return Dir("x", o).(Reusable).Key() }
	base := key(Options{})
	options := reflect.TypeFor[Options]()
	for i := range options.NumField() {
		f := options.Field(i)
		if !f.IsExported() {
			continue
		}
		var o Options
		v := reflect.ValueOf(&o).Elem().Field(i)
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("x")
		case reflect.Int64:
			v.SetInt(7)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("a"), reflect.New(v.Type().Elem()).Elem())
		default:
			t.Fatalf("option %s is of a kind this test does not know", f.Name)
		}
		if key(o) == base {
			t.Errorf("option %s does not show in the key", f.Name)
		}
	}
	if key(Options{Readers: DefaultReaders()}) != base {
		t.Error("the default readers, named, give another key")
	}
}

// ID-05: what assay writes about the documents is none of them.
func TestReportsAreNoDocuments(t *testing.T) {
	c, err := FS("docs", files("a.md", "# A\ntext\n", "summary.md", "### pass\n\nq1\n\n<!-- "+ReportMark+" -->\n",
		"v.txt", "accept\n\n["+ReportMark+"]\n", "r.html", "<!doctype html><meta name=\"generator\" content=\""+ReportMark+"\"><p>q1"), Options{}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Documents) != 1 || c.Documents[0].ID != "a.md" || len(c.Skipped) != 3 {
		t.Errorf("%d documents, skipped %v", len(c.Documents), c.Skipped)
	}
	for _, s := range c.Skipped {
		if s.Reason != "a report that assay wrote" {
			t.Errorf("%s: %s", s.Path, s.Reason)
		}
	}
}
