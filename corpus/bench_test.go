package corpus

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// prose is about a kilobyte of text of 12 sentences.
const prose = "Orders above five hundred are delivered free of charge, smaller ones for thirty. " +
	"The driver calls half an hour before arriving; nobody has to wait all day. " +
	"Gefäße und Geräte werden *sorgfältig* verpackt, see [the list](https://example.test/list). " +
	"Bảo hành 12 tháng cho ấm đun nước, kể từ ngày nhận hàng. "

// sample returns a text of a format of about size bytes, with a heading for each kilobyte.
func sample(ext string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		switch ext {
		case ".md":
			fmt.Fprintf(&b, "## Part %d\n\n%s\n\n- first item\n- second item\n\n| zone | price |\n|---|---|\n| north | %d |\n\n```sh\nmake all\n```\n\n%s\n\n", i, prose, i, prose)
		case ".html":
			fmt.Fprintf(&b, "<h2 id=p%d>Part %d</h2>\n<p>%s</p>\n<ul><li>first item<li>second item</ul>\n<table><tr><th>zone<th>price<tr><td>north<td>%d</table>\n<p>%s</p>\n", i, i, prose, i, prose)
		case ".rst":
			fmt.Fprintf(&b, "Part %d\n------------\n\n%s\n\n- first item\n- second item\n\n%s\n\n", i, prose, prose)
		case ".adoc":
			fmt.Fprintf(&b, "== Part %d\n\n%s\n\n* first item\n* second item\n\n----\nmake all\n----\n\n%s\n\n", i, prose, prose)
		case ".go":
			if i == 0 {
				b.WriteString("package p\n")
			}
			fmt.Fprintf(&b, "\n// F%d returns twice x.\nfunc F%d(x int) int {\n\tif x > %d {\n\t\treturn x + x\n\t}\n\treturn 2 * x\n}\n", i, i, i)
		case ".jsonl":
			fmt.Fprintf(&b, "{\"_id\": \"d%d\", \"title\": \"Part %d\", \"text\": %q}\n", i, i, prose+prose)
		default:
			fmt.Fprintf(&b, "%s\n\n%s\n\n", prose, prose)
		}
	}
	return b.String()
}

// BenchmarkRead reports MB/s of one file of 1 MiB for each reader, decoding and hashing
// included.
func BenchmarkRead(b *testing.B) {
	for _, ext := range []string{".md", ".txt", ".html", ".rst", ".adoc", ".go", ".py", ".jsonl"} {
		b.Run("format="+ext[1:], func(b *testing.B) {
			text := sample(ext, 1<<20)
			source := FS("bench", files("a"+ext, text), Options{Include: []string{"*"}})
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := source.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("format=md/decomposed", func(b *testing.B) {
		text := strings.ReplaceAll(sample(".md", 1<<20), "ả", "a\u0309")
		source := FS("bench", files("a.md", text), Options{})
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := source.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLoad reads 10,000 files of 2 KiB.
func BenchmarkLoad(b *testing.B) {
	fsys := fstest.MapFS{}
	text := []byte("---\ntitle: Page\nacl: [staff]\n---\n" + sample(".md", 1<<11))
	for i := range 10_000 {
		fsys[fmt.Sprintf("d%03d/p%05d.md", i/100, i)] = &fstest.MapFile{Data: text}
	}
	source := FS("bench", fsys, Options{})
	b.SetBytes(int64(len(text)) * 10_000)
	for b.Loop() {
		if _, err := source.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSectionAt(b *testing.B) {
	c, err := FS("bench", files("a.md", sample(".md", 1<<20)), Options{}).Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	d := &c.Documents[0]
	at := 0
	for b.Loop() {
		at = (at + 7919) % len(d.Text)
		d.SectionAt(at)
	}
}
