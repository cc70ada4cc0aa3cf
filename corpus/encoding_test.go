package corpus

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func utf16Bytes(s string, big bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

func TestEncoding(t *testing.T) {
	alike := cmpopts.IgnoreFields(Document{}, "Version", "Anchors")
	t.Run("EN-01", func(t *testing.T) {
		for _, text := range []string{"# Returns\n7 days\n", "---\ntitle: X\nacl: [a]\n---\n# A\n", "a\ufeffb\n"} {
			plain, bom := loadOne(t, "a.md", text), loadOne(t, "a.md", "\ufeff"+text)
			if diff := cmp.Diff(plain, bom, alike); diff != "" {
				t.Errorf("%q (-plain +with BOM):\n%s", text, diff)
			}
			if plain.Version == bom.Version {
				t.Errorf("%q: equal versions of unequal bytes", text)
			}
		}
		if d := loadOne(t, "a.md", "\ufeff\ufeff# A\n"); !strings.HasPrefix(d.Text, "\ufeff#") {
			t.Errorf("text %q, want only one BOM dropped", d.Text)
		}
	})
	t.Run("EN-02", func(t *testing.T) {
		lf := loadOne(t, "a.md", "# A\nx\n\n## B\ny\n")
		for _, text := range []string{"# A\r\nx\r\n\r\n## B\r\ny\r\n", "# A\rx\r\r## B\ry\r", "# A\r\nx\n\r\n## B\ry\n"} {
			d := loadOne(t, "a.md", text)
			if diff := cmp.Diff(lf, d, alike); diff != "" {
				t.Errorf("%q (-lf +got):\n%s", text, diff)
			}
			if d.Version == lf.Version {
				t.Errorf("%q: equal versions of unequal bytes", text)
			}
			if line, column := d.Position(strings.Index(d.Text, "## B")); line != 4 || column != 1 {
				t.Errorf("%q: ## B at %d:%d, want 4:1", text, line, column)
			}
		}
	})
	t.Run("EN-04", func(t *testing.T) {
		u16 := "\xff\xfe" + utf16Bytes("größe\n", false)
		pairs := []string{
			"ok.txt", "fine\n", "old.txt", "Gr\xf6\xdfe 5 \x80", "u16.txt", u16, "logo.md", "\x89PNG\r\n\x1a\n\x00\x00", "nul.txt", "a\x00b",
		}
		c := loadFS(t, Options{}, pairs...)
		if len(c.Documents) != 1 || c.Documents[0].ID != "ok.txt" {
			t.Errorf("%d documents, want ok.txt alone", len(c.Documents))
		}
		want := []Skipped{
			{"logo.md", "not valid UTF-8 at byte 0"},
			{"nul.txt", "contains NUL at byte 1"},
			{"old.txt", "not valid UTF-8 at byte 2"},
			{"u16.txt", "starts with a UTF-16 byte order mark: declare charset utf-16 for it"},
		}
		if diff := cmp.Diff(want, c.Skipped); diff != "" {
			t.Errorf("skipped (-want +got):\n%s", diff)
		}

		c = loadFS(t, Options{Charset: map[string]string{"old*": "windows-1252", "u16.txt": "utf-16"}}, pairs...)
		got := map[DocumentID]string{}
		for _, d := range c.Documents {
			got[d.ID] = d.Text
		}
		if diff := cmp.Diff(map[DocumentID]string{"ok.txt": "fine\n", "old.txt": "Größe 5 €", "u16.txt": "größe\n"}, got); diff != "" {
			t.Errorf("with charsets (-want +got):\n%s", diff)
		}

		err := loadErr(t, Options{Invalid: InvalidError}, pairs...)
		if diff := cmp.Diff([]string{"logo.md:0", "nul.txt:0", "old.txt:0", "u16.txt:0"}, fileErrors(err)); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}

		c = loadFS(t, Options{Invalid: InvalidReplace}, "old.txt", "Gr\xf6\xdfe 5 \x80")
		if got := c.Documents[0].Text; got != "Gr\ufffd\ufffde 5 \ufffd" {
			t.Errorf("replaced text %q", got)
		}
		if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Error(), "3 invalid bytes") {
			t.Errorf("warnings %v, want one that counts 3", c.Warnings)
		}
	})
	t.Run("EN-04 charsets", func(t *testing.T) {
		for _, tt := range []struct{ charset, in, want string }{
			{"latin1", "\xe4 \x80", "ä \u0080"},
			{"windows-1252", "\xe4 \x80", "ä €"},
			{"utf-16le", utf16Bytes("aä😀", false), "aä😀"},
			{"utf-16be", utf16Bytes("aä😀", true), "aä😀"},
			{"utf-16", "\xfe\xff" + utf16Bytes("x", true), "x"},
			{"shift_jis", "\x93\xfa\x96\x7b", "日本"},
		} {
			c := loadFS(t, Options{Charset: map[string]string{"*.txt": tt.charset}}, "a.txt", tt.in)
			if len(c.Documents) != 1 || c.Documents[0].Text != tt.want {
				t.Errorf("%s: %+v, want %q; skipped %v", tt.charset, c.Documents, tt.want, c.Skipped)
			}
		}
		c := loadFS(t, Options{Charset: map[string]string{"*": "utf-16"}}, "a.txt", "no mark")
		if len(c.Skipped) != 1 {
			t.Errorf("utf-16 without a mark: skipped %v, want one", c.Skipped)
		}
		if err := loadErr(t, Options{Charset: map[string]string{"*": "klingon"}}, "a.txt", "x"); !strings.Contains(err.Error(), "klingon") {
			t.Errorf("unknown charset: %v", err)
		}
	})
	t.Run("EN-05", func(t *testing.T) {
		const nfc, nfd = "b\u1ec7nh viện", "be\u0323\u0302nh viện"
		a, b := loadOne(t, "a.md", "# "+nfc+"\nx\n"), loadOne(t, "a.md", "# "+nfd+"\nx\n")
		if a.Text != b.Text {
			t.Errorf("texts %q and %q differ", a.Text, b.Text)
		}
		for _, label := range []string{nfc, nfd} {
			if i, err := b.Resolve(label); i != 1 || err != nil {
				t.Errorf("Resolve(%q) = %d, %v", label, i, err)
			}
		}
		if Normalize(nfd) != nfc {
			t.Errorf("Normalize(%q) = %q", nfd, Normalize(nfd))
		}
		if _, ok := FindQuote(a, -1, nfd); !ok {
			t.Error("quote in the other form not found")
		}
		// In the file "be\u0323\u0302" are 4 code points, "bệ" are 2 in the text.
		if line, column := b.Position(strings.Index(b.Text, "nh vi")); line != 1 || column != 7 {
			t.Errorf("position %d:%d, want 1:7", line, column)
		}
		if line, column := b.Position(strings.Index(b.Text, "x\n")); line != 2 || column != 1 {
			t.Errorf("position %d:%d, want 2:1", line, column)
		}
	})
}

// TestPosition compares Position with counting in the original, by marks that normalisation
// leaves alone.
func TestPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\n", "\r\n", "\r", "e\u0301", "\u1ec7", "be\u0323\u0302", "한", "\u1112\u1161\u11ab", "😀", "\u0344", "\u2126"}), 0, 40).Draw(t, "parts")
		bom := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "bom")
		var file strings.Builder
		var want [][2]int
		line, column := 1, 1
		for i, p := range parts {
			file.WriteString("§")
			want = append(want, [2]int{line, column})
			column++
			file.WriteString(p)
			if strings.ContainsAny(p, "\r\n") {
				line, column = line+1, 1
			} else {
				column += len([]rune(p))
			}
			_ = i
		}
		c, err := FS("p", files("a.txt", bom+file.String()), Options{}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := &c.Documents[0]
		at := 0
		for i, w := range want {
			at += strings.Index(d.Text[at:], "§")
			if line, column := d.Position(at); line != w[0] || column != w[1] {
				t.Fatalf("%q: mark %d at %d:%d, want %d:%d", file.String(), i, line, column, w[0], w[1])
			}
			at += len("§")
		}
	})
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\rc", "e\u0301", "\u1ec7", "\ufeff", strings.Repeat("\u0301", 40), "\xff", "\u0344\u0958"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Normalize(s)
		if twice := Normalize(once); twice != once {
			t.Fatalf("Normalize(%q) = %q, and again %q", s, once, twice)
		}
		if strings.Contains(once, "\r") {
			t.Fatalf("Normalize(%q) keeps a carriage return", s)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\r\nb"), "")
	f.Add([]byte("\xff\xfea\x00"), "utf-16")
	f.Add([]byte("\xe4"), "latin1")
	f.Add([]byte("e\xcc\x81"), "utf-8")
	f.Fuzz(func(t *testing.T, raw []byte, charset string) {
		enc, err := lookupCharset(charset)
		if err != nil {
			return
		}
		if _, _, n, err := decode(raw, enc, false); err == nil && n != 0 {
			t.Fatalf("%d places replaced without being asked", n)
		}
		text, _, _, err := decode(raw, enc, true)
		if err != nil {
			return
		}
		if Normalize(text) != text {
			t.Fatalf("decode(%q, %q) = %q, which is not normalised", raw, charset, text)
		}
	})
}
