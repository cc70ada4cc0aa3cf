package pdf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
)

// shared is the engine of all tests: starting one costs seconds.
var shared = sync.OnceValue(func() *PDFium {
	o := Options{}
	if dir, err := os.UserCacheDir(); err == nil {
		o.CacheDir = filepath.Join(dir, "assay", "pdfium")
	}
	return New(o)
})

func load(t testing.TB, p *PDFium, files map[string][]byte, o corpus.Options) *corpus.Collection {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data}
	}
	if o.Include == nil {
		o.Include = []string{"**"}
	}
	o.Readers = append(corpus.DefaultReaders(), p.Reader())
	c, err := corpus.FS("test", fsys, o).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// one reads a file that is one document and holds what Document promises.
func one(t testing.TB, data []byte) (*corpus.Document, []error) {
	t.Helper()
	c := load(t, shared(), map[string][]byte{"a.pdf": data}, corpus.Options{})
	if len(c.Documents) != 1 {
		t.Fatalf("%d documents, skipped %v", len(c.Documents), c.Skipped)
	}
	d := &c.Documents[0]
	if err := check(d); err != nil {
		t.Fatalf("%v\n%s", err, d.Text)
	}
	return d, c.Warnings
}

// reason reads a file that is skipped.
func reason(t testing.TB, p *PDFium, data []byte) string {
	t.Helper()
	c := load(t, p, map[string][]byte{"a.pdf": data}, corpus.Options{})
	if len(c.Documents) != 0 || len(c.Skipped) != 1 {
		t.Fatalf("%d documents, skipped %v, want it skipped", len(c.Documents), c.Skipped)
	}
	return c.Skipped[0].Reason
}

// check returns what breaks the promises of Document.
func check(d *corpus.Document) error {
	if !utf8.ValidString(d.Text) || corpus.Normalize(d.Text) != d.Text || strings.ContainsAny(d.Text, "\r\x00\x02") {
		return fmt.Errorf("text is not normalised: %q", d.Text)
	}
	covered := 0
	for i, b := range d.Blocks {
		if b.Span.Start < covered || b.Span.End <= b.Span.Start || b.Span.End > len(d.Text) || strings.TrimSpace(d.Text[covered:b.Span.Start]) != "" {
			return fmt.Errorf("block %d: %v after %d of %d", i, b.Span, covered, len(d.Text))
		}
		if b.Section != d.SectionAt(b.Span.Start) {
			return fmt.Errorf("block %d: section %d", i, b.Section)
		}
		covered = b.Span.End
	}
	if strings.TrimSpace(d.Text[covered:]) != "" {
		return fmt.Errorf("%q is in no block", d.Text[covered:])
	}
	for i, s := range d.Sections {
		if s.Span.Start > s.Body || s.Body > s.Span.End || s.Span.End > len(d.Text) {
			return fmt.Errorf("section %d: %v, body %d of %d", i, s.Span, s.Body, len(d.Text))
		}
		if i > 0 {
			if got, err := d.Resolve(corpus.FormatPath(s.Path)); err != nil || got != i {
				return fmt.Errorf("section %d: its path leads to %d, %v", i, got, err)
			}
			if d.SectionAt(s.Span.Start) != i || i > 1 && s.Span.Start <= d.Sections[i-1].Span.Start {
				return fmt.Errorf("section %d at %d is not its own", i, s.Span.Start)
			}
		}
	}
	return nil
}

func paths(d *corpus.Document) []string {
	var out []string
	for _, s := range d.Sections[1:] {
		out = append(out, corpus.FormatPath(s.Path))
	}
	return out
}

func pageOf(d *corpus.Document, text string) int {
	page, _ := d.Position(strings.Index(d.Text, text))
	return page
}

// manual has headings by size, two columns, a table, and three pages.
func manual() *writer {
	w := newWriter()
	w.page(
		at(50, 800, 24, "Washing machines"),
		paragraph(50, 770, "This manual covers all models of the series and has to be kept", "with the machine. It is part of the con-", "tract of sale and of every north-", "East and well-", "known delivery, and well-known at that."),
		at(50, 690, 16, "Returns"),
		paragraph(50, 670, "Within seven days.", "Bring the receipt."),
		paragraph(50, 630, "A second paragraph stands apart."),
	)
	w.page(
		at(50, 800, 16, "Fees"),
		paragraph(50, 770, "Left column begins", "and goes on to", "its end."),
		paragraph(300, 770, "Right column begins", "and ends."),
		at(50, 700, 10, "Zone"), at(200, 700, 10, "Price"),
		at(50, 688, 10, "North"), at(200, 688, 10, "30"),
	)
	w.page(paragraph(50, 800, "Still fees on page three."))
	return w
}

func TestPDF(t *testing.T) {
	t.Run("headings by size", func(t *testing.T) {
		d, warnings := one(t, manual().bytes())
		if len(warnings) > 0 {
			t.Error(warnings)
		}
		if diff := cmp.Diff([]string{"Washing machines", "Washing machines > Returns", "Washing machines > Fees"}, paths(d)); diff != "" {
			t.Errorf("sections (-want +got):\n%s", diff)
		}
		want := `Washing machines

This manual covers all models of the series and has to be kept
with the machine. It is part of the contract of sale and of every north-East and well-known delivery, and well-known at that.

Returns

Within seven days.
Bring the receipt.

A second paragraph stands apart.

Fees

Left column begins
and goes on to
its end.

Right column begins
and ends.

Zone Price
North 30

Still fees on page three.`
		if diff := cmp.Diff(want, d.Text); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
		if d.Title != "Washing machines" || d.Format != "pdf" {
			t.Errorf("title %q, format %q", d.Title, d.Format)
		}
		for text, page := range map[string]int{"This manual": 1, "apart.": 1, "Fees": 2, "North": 2, "three": 3} {
			if got := pageOf(d, text); got != page {
				t.Errorf("%q is on page %d, want %d", text, got, page)
			}
		}
		if _, column := d.Position(strings.Index(d.Text, "Left column")); column != len("Fees")+3 {
			t.Errorf("Left column is character %d of its page", column)
		}
	})

	t.Run("outline", func(t *testing.T) {
		w := manual()
		// Level 2 shows its number, one is told by its place, two share theirs, one leads nowhere.
		w.page(at(50, 800, 10, "4.1 Über die Garantie"), paragraph(50, 770, "Zwei Jahre.", "Ohne Aufpreis."), paragraph(50, 600, "Below."))
		w.outline = []entry{{1, "Washing machines", 1, 0}, {2, "Returns", 1, 700}, {1, "Rates", 2, 0}, {2, "All zones", 2, 0}, {1, "Über die Garantie", 4, 0}, {2, "Place", 4, 612}}
		d, warnings := one(t, w.bytes())
		if diff := cmp.Diff([]string{"Washing machines", "Washing machines > Returns", "Rates", "Über die Garantie", "Über die Garantie > Place"}, paths(d)); diff != "" {
			t.Errorf("sections (-want +got):\n%s", diff)
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "1 entries of the outline") {
			t.Errorf("warnings %v", warnings)
		}
		for i, want := range map[int]string{1: "\n\nThis manual", 2: "\n\nWithin", 3: "Fees", 4: "\n\nZwei Jahre", 5: "Below."} {
			if got := d.Text[d.Sections[i].Body:]; !strings.HasPrefix(got, want) {
				t.Errorf("section %d goes on with %.20q, want %q", i, got, want)
			}
		}
	})

	t.Run("pages", func(t *testing.T) {
		w := newWriter()
		w.page(paragraph(50, 800, "The first page."))
		w.page()
		w.page(paragraph(50, 800, "The third page."))
		d, warnings := one(t, w.bytes())
		if diff := cmp.Diff([]string{"Page 1", "Page 3"}, paths(d)); diff != "" || len(warnings) > 0 {
			t.Errorf("sections (-want +got):\n%s, warnings %v", diff, warnings)
		}
		if got := corpus.FormatPath(d.Sections[d.SectionAt(strings.Index(d.Text, "third"))].Path); got != "Page 3" {
			t.Errorf("section %q", got)
		}
		if d.Title != "a" {
			t.Errorf("title %q, want the name of the file", d.Title)
		}
	})

	t.Run("letters", func(t *testing.T) {
		w := newWriter()
		w.page(
			at(50, 800, 10, "Größe und Maße: 5 €"[:len("Größe und Maße")]),
			wide(50, 770, 10, "Bảo hành mười hai tháng"),
			wide(50, 740, 10, "Ba\u0309o ha\u0300nh"), // decomposed
			wide(50, 710, 10, "\uFB01rst o\uFB03ce \uFB02oor"),
			wide(50, 680, 10, "退货政策：七天内退货。"),
			wide(50, 650, 10, "so\u00ADft"),
			wide(50, 620, 10, "𠮷野家"),
		)
		d, _ := one(t, w.bytes())
		want := "Größe und Maße\n\nBảo hành mười hai tháng\n\nBảo hành\n\nfirst office floor\n\n退货政策：七天内退货。\n\nsoft\n\n𠮷野家"
		if diff := cmp.Diff(want, d.Text); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
	})

	t.Run("letters that are drawn late", func(t *testing.T) {
		// A letter is 5 points wide. The first line ends with what is missing in it, the second
		// is completed after the third.
		w := newWriter()
		w.page(
			wide(50, 800, 10, "Th"), wide(65, 800, 10, "ng n"), wide(90, 800, 10, "y"), wide(60, 800, 10, "á"), wide(85, 800, 10, "à"),
			wide(50, 788, 10, "c"), wide(60, 788, 10, "m vào"),
			wide(50, 776, 10, "last line"),
			wide(55, 788, 10, "â"),
		)
		d, _ := one(t, w.bytes())
		if want := "Tháng này\ncâm vào\nlast line"; d.Text != want {
			t.Errorf("text %q, want %q", d.Text, want)
		}
	})

	t.Run("right to left", func(t *testing.T) {
		w := newWriter()
		w.page(wide(50, 800, 10, "םולש")) // as it is drawn, from the left
		d, _ := one(t, w.bytes())
		if d.Text != "שלום" {
			t.Errorf("text %q", d.Text)
		}
		// Latin around Hebrew, the last letter of the first word drawn late.
		w = newWriter()
		w.page(wide(50, 800, 10, "Caf"), wide(75, 800, 10, "and"), wide(65, 800, 10, "é"), wide(95, 800, 10, "םולש"), wide(120, 800, 10, "end"))
		if d, _ := one(t, w.bytes()); d.Text != "Café and שלום end" {
			t.Errorf("text %q", d.Text)
		}
		// Two words, the second drawn first; the same with a number and a name between them.
		for _, c := range []struct{ words, want string }{
			{"see םלוע םולש end", "see שלום עולם end"},
			{"םלוע Go 123 םולש", "שלום Go 123 עולם"},
		} {
			w = newWriter()
			var content []string
			x := 50
			for word := range strings.FieldsSeq(c.words) {
				content = append(content, wide(x, 800, 10, word))
				x += 5*utf8.RuneCountInString(word) + 5
			}
			w.page(content...)
			if d, _ := one(t, w.bytes()); d.Text != c.want {
				t.Errorf("text %q, want %q", d.Text, c.want)
			}
		}
	})

	t.Run("only where named", func(t *testing.T) {
		fsys := fstest.MapFS{"a.pdf": {Data: manual().bytes()}, "b.md": {Data: []byte("# B\n")}}
		c, err := corpus.FS("test", fsys, corpus.Options{Readers: append(corpus.DefaultReaders(), shared().Reader())}).Load(t.Context())
		if err != nil || len(c.Documents) != 1 || len(c.Skipped) != 1 {
			t.Errorf("%v, %+v", err, c)
		}
	})
}

func TestSkipped(t *testing.T) {
	whole := manual().bytes()
	image := func() *writer {
		w := newWriter()
		x := w.stream("\xff", "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8")
		w.pageWith(fmt.Sprintf("/XObject << /Im %d 0 R >>", x), "q 500 0 0 700 50 50 cm /Im Do Q")
		return w
	}
	encrypted := manual()
	encrypted.extra = "/ID [<00112233445566778899AABBCCDDEEFF> <00112233445566778899AABBCCDDEEFF>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + strings.Repeat("11", 32) + "> /U <" + strings.Repeat("22", 32) + "> >>"
	handler := manual()
	handler.extra = "/ID [<00> <00>] /Encrypt << /Filter /Other /V 1 >>"
	blank := newWriter()
	blank.page()
	none := newWriter()
	unmapped := newWriter()
	unmapped.objects[unicodeObject-1] = strings.Replace(unmapped.objects[unicodeObject-1], "/ToUnicode", "/Nothing", 1)
	unmapped.page(wide(50, 800, 10, "abcdefgh ijklmnop"))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":             {nil, "not a PDF"},
		"text":              {[]byte("Returns within 7 days"), "not a PDF"},
		"head alone":        {whole[:40], "not a PDF"},
		"password":          {encrypted.bytes(), "needs a password"},
		"unknown security":  {handler.bytes(), "encrypted in a way"},
		"scan":              {image().bytes(), "run text recognition"},
		"blank":             {blank.bytes(), "holds no text"},
		"no pages":          {none.bytes(), "holds no text"},
		"no Unicode values": {unmapped.bytes(), "does not tell which letters"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reason(t, shared(), c.data); !strings.Contains(got, c.want) {
				t.Errorf("skipped since %q, want %q", got, c.want)
			}
		})
	}

	t.Run("one page is an image", func(t *testing.T) {
		w := image()
		w.page(paragraph(50, 800, "The second page."))
		_, warnings := one(t, w.bytes())
		if len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "a.pdf: page 1 hold") {
			t.Errorf("warnings %v", warnings)
		}
	})

	t.Run("truncated", func(t *testing.T) {
		// What can be found again may be read; nothing else happens.
		for cut := 0; cut < len(whole); cut += 97 {
			c := load(t, shared(), map[string][]byte{"a.pdf": whole[:cut]}, corpus.Options{})
			if len(c.Documents)+len(c.Skipped) != 1 {
				t.Fatalf("cut at %d: %d documents, skipped %v", cut, len(c.Documents), c.Skipped)
			}
		}
	})
}

func TestBounds(t *testing.T) {
	many := newWriter()
	for i := range 30 {
		many.page(paragraph(50, 800, fmt.Sprintf("This is page %d.", i)))
	}
	// A page whose content unfolds to a form that draws a form that draws a form …
	bomb := newWriter()
	inner := bomb.stream(strings.Repeat(at(50, 800, 10, "bomb")+"\n", 30), "/Type /XObject /Subtype /Form /BBox [0 0 595 842]"+fmt.Sprintf(" /Resources << /Font << /F1 %d 0 R >> >>", helveticaObject))
	for range 8 {
		inner = bomb.stream(strings.Repeat("/X Do\n", 30), fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /XObject << /X %d 0 R >> >>", inner))
	}
	bomb.pageWith(fmt.Sprintf("/XObject << /X %d 0 R >>", inner), "/X Do")

	cacheDir := shared().o.CacheDir
	for _, c := range []struct {
		name string
		o    Options
		data []byte
		want []string // one of them
	}{
		{"bytes", Options{MaxBytes: 100}, many.bytes(), []string{"more than 100"}},
		{"pages", Options{MaxPages: 29}, many.bytes(), []string{"30 pages, more than 29"}},
		{"text", Options{MaxText: 100}, many.bytes(), []string{"more than 100 characters"}},
		{"bomb", Options{MaxMemory: 256 << 20, Timeout: 2 * time.Second}, bomb.bytes(), []string{"takes longer than 2s", "cannot be read", "more than"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.CacheDir = cacheDir
			p := New(c.o)
			got := reason(t, p, c.data)
			ok := false
			for _, w := range c.want {
				ok = ok || strings.Contains(got, w)
			}
			if !ok {
				t.Errorf("skipped since %q, want one of %q", got, c.want)
			}
			// The engine goes on, and what it reads is the same.
			if c.name == "bomb" {
				docs := load(t, p, map[string][]byte{"a.pdf": manual().bytes()}, corpus.Options{})
				if len(docs.Documents) != 1 {
					t.Errorf("after it: skipped %v", docs.Skipped)
				}
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}

	t.Run("circle of bookmarks", func(t *testing.T) {
		w := manual()
		w.outline = []entry{{1, "Returns", 1, 0}, {1, "Fees", 2, 0}}
		// The second entry's next is the first.
		data := string(w.bytes())
		first := strings.Index(data, "/Next ")
		target := strings.Fields(data[first:])[1]
		second := strings.Index(data, target+" 0 obj")
		end := second + strings.Index(data[second:], ">>\nendobj")
		var number int
		fmt.Sscan(target, &number)
		loop := fmt.Sprintf(" /Next %d 0 R /First %d 0 R ", number-1, number)
		d, _ := one(t, []byte(data[:end]+loop+data[end:]))
		if diff := cmp.Diff([]string{"Returns", "Fees"}, paths(d)); diff != "" {
			t.Errorf("sections (-want +got):\n%s", diff)
		}
	})

	t.Run("stopped from outside", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		fsys := fstest.MapFS{"a.pdf": {Data: bomb.bytes()}}
		_, err := corpus.FS("test", fsys, corpus.Options{Include: []string{"**"}, Readers: []corpus.Reader{shared().Reader()}}).Load(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})

	t.Run("closed", func(t *testing.T) {
		p := New(Options{})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		fsys := fstest.MapFS{"a.pdf": {Data: manual().bytes()}}
		if _, err := corpus.FS("test", fsys, corpus.Options{Include: []string{"**"}, Readers: []corpus.Reader{p.Reader()}}).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("error %v", err)
		}
	})
}

// samples are files whose texts are fixed by their digest.
func samples() map[string][]byte {
	letters := newWriter()
	letters.page(at(50, 800, 10, "Größe"), wide(50, 770, 10, "Bảo hành ấm đun"), wide(50, 740, 10, "退货政策"), wide(50, 710, 10, "o\uFB03ce"))
	outlined := manual()
	outlined.outline = []entry{{1, "Washing machines", 1, 0}, {2, "Returns", 1, 700}, {1, "Fees", 2, 0}}
	return map[string][]byte{"letters.pdf": letters.bytes(), "manual.pdf": manual().bytes(), "outlined.pdf": outlined.bytes()}
}

// TestSame confirms that the same bytes give the same text, whatever is read beside them. If the
// digest changes, as it may with a new PDFium, builds have to be made anew: raise index.Feature.
func TestSame(t *testing.T) {
	var before string
	for round := range 3 {
		c := load(t, shared(), samples(), corpus.Options{})
		h := sha256.New()
		for i := range c.Documents {
			d := &c.Documents[i]
			fmt.Fprintf(h, "%s\x00%s\x00%v\x00%v\x00%v\x00", d.ID, d.Text, d.Sections, d.Blocks, d.Anchors)
		}
		got := hex.EncodeToString(h.Sum(nil))[:16]
		if round > 0 && got != before {
			t.Fatalf("round %d gives %s, not %s", round, got, before)
		}
		before = got
	}
	const want = "1ced08c00ed61a1d"
	if before != want {
		t.Errorf("the texts have the digest %s, not %s: if that is meant, raise index.Feature", before, want)
	}
}

// TestCacheDir confirms that a damaged cache and one that others may write to are not used.
func TestCacheDir(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles PDFium three times")
	}
	dir := filepath.Join(t.TempDir(), "new", "cache")
	text := func() string {
		p := New(Options{CacheDir: dir})
		defer p.Close()
		c := load(t, p, map[string][]byte{"a.pdf": manual().bytes()}, corpus.Options{})
		if len(c.Documents) != 1 {
			t.Fatalf("skipped %v", c.Skipped)
		}
		return c.Documents[0].Text
	}
	want := text()
	var kept []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			kept = append(kept, path)
		}
		return err
	})
	if err != nil || len(kept) == 0 {
		t.Fatalf("nothing is kept: %v", err)
	}
	for _, path := range kept {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := text(); got != want {
		t.Errorf("with a damaged cache: %q", got)
	}
}

// TestMutated changes bytes of files: nothing may panic, hang or break the promises of a document.
func TestMutated(t *testing.T) {
	all := samples()
	names := slices.Sorted(maps.Keys(all))
	rng := rand.New(rand.NewPCG(1, 2))
	read := 0
	for i := range 60 {
		data := slices.Clone(all[names[i%len(names)]])
		for range 1 + rng.IntN(12) {
			at := rng.IntN(len(data))
			n := min(rng.IntN(20), len(data)-at)
			switch rng.IntN(4) {
			case 0:
				data[at] = byte(rng.IntN(256))
			case 1:
				data[at] = "0123456789/<>[]() "[rng.IntN(18)]
			case 2:
				from := rng.IntN(len(data))
				copy(data[at:at+n], data[from:])
			case 3:
				data = slices.Delete(data, at, at+n)
			}
		}
		c := load(t, shared(), map[string][]byte{"a.pdf": data}, corpus.Options{})
		if len(c.Documents)+len(c.Skipped) != 1 {
			t.Fatalf("round %d: %d documents, skipped %v", i, len(c.Documents), c.Skipped)
		}
		for k := range c.Documents {
			read++
			if err := check(&c.Documents[k]); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
	}
	if read < 10 {
		t.Errorf("only %d of 60 were read", read)
	}
}

func FuzzPDF(f *testing.F) {
	for _, data := range samples() {
		f.Add(data)
	}
	loop := manual()
	loop.outline = []entry{{1, "Returns", 1, 0}, {1, "Fees", 2, 0}}
	f.Add(bytes.ReplaceAll(loop.bytes(), []byte("/Parent"), []byte("/First ")))
	f.Add([]byte("%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R /Kids [1 0 R] /Count 9 >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF"))
	p := New(Options{CacheDir: shared().o.CacheDir, MaxPages: 50, MaxMemory: 256 << 20, Timeout: 5 * time.Second})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := load(t, p, map[string][]byte{"a.pdf": data}, corpus.Options{})
		for i := range c.Documents {
			if err := check(&c.Documents[i]); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BenchmarkRead reports MB/s of files and of their text, PDFium being started.
func BenchmarkRead(b *testing.B) {
	w := newWriter()
	for i := range 100 {
		lines := []string{fmt.Sprintf("Part %d of the list", i)}
		for k := range 55 {
			lines = append(lines, fmt.Sprintf("Orders above %d are delivered free of charge, smaller ones for thirty. The driver calls.", k*10))
		}
		w.page(at(50, 820, 16, lines[0]), paragraph(50, 800, lines[1:]...))
	}
	data := w.bytes()
	text := len(load(b, shared(), map[string][]byte{"a.pdf": data}, corpus.Options{}).Documents[0].Text)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		load(b, shared(), map[string][]byte{"a.pdf": data}, corpus.Options{})
	}
	b.ReportMetric(float64(text)*float64(b.N)/b.Elapsed().Seconds()/1e6, "text-MB/s")
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
