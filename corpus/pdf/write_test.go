package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
)

// writer makes small PDF files without compression, so that what is changed in them matters.
type writer struct {
	objects []string // object n is objects[n−1]
	pages   []string // numbers of page objects
	outline []entry
	extra   string // for the trailer
}

type entry struct {
	level int
	title string
	page  int // from 1
	y     int // 0: not told
}

const (
	catalogObject = iota + 1
	pagesObject
	helveticaObject
	unicodeObject
	outlineObject
	firstObject
)

func newWriter() *writer {
	w := &writer{objects: make([]string, firstObject-1)}
	w.objects[helveticaObject-1] = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	// A font in which the code of a letter is its Unicode value.
	var ranges strings.Builder
	for high := range 256 {
		if high%64 == 0 {
			ranges.WriteString("64 beginbfrange\n")
		}
		fmt.Fprintf(&ranges, "<%02X00> <%02XFF> <%02X00>\n", high, high, high)
		if high%64 == 63 {
			ranges.WriteString("endbfrange\n")
		}
	}
	m := w.stream("/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n"+
		"1 begincodespacerange <0000> <FFFF> endcodespacerange\n"+ranges.String()+"endcmap end end", "")
	cid := w.object("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 500 /FontDescriptor << /Type /FontDescriptor /FontName /Any /Flags 4 /FontBBox [0 -200 1000 800] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>")
	w.objects[unicodeObject-1] = fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>", cid, m)
	return w
}

func (w *writer) object(s string) int {
	w.objects = append(w.objects, s)
	return len(w.objects)
}

func (w *writer) stream(data, dict string) int {
	return w.object(fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), dict, data))
}

// page adds a page of A4 with the given content and further resources.
func (w *writer) page(content ...string) {
	w.pageWith("", content...)
}

func (w *writer) pageWith(resources string, content ...string) {
	c := w.stream(strings.Join(content, "\n"), "")
	p := w.object(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 %d 0 R /F2 %d 0 R >> %s >> >>",
		pagesObject, c, helveticaObject, unicodeObject, resources))
	w.pages = append(w.pages, fmt.Sprintf("%d 0 R", p))
}

// at draws text of WinAnsi letters.
func at(x, y, size int, text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '(' || r == ')' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x80:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\%03o", r)
		}
	}
	return fmt.Sprintf("BT /F1 %d Tf 1 0 0 1 %d %d Tm (%s) Tj ET", size, x, y, b.String())
}

// wide draws text in letters half as wide as the type is high.
func wide(x, y, size int, text string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, "%04X", u)
	}
	return fmt.Sprintf("BT /F2 %d Tf 1 0 0 1 %d %d Tm <%s> Tj ET", size, x, y, b.String())
}

// paragraph draws lines of 10 points, 12 apart, from y on.
func paragraph(x, y int, lines ...string) string {
	var out []string
	for i, l := range lines {
		out = append(out, at(x, y-12*i, 10, l))
	}
	return strings.Join(out, "\n")
}

func (w *writer) bytes() []byte {
	root := fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R", pagesObject)
	if len(w.outline) > 0 {
		w.writeOutline()
		root += fmt.Sprintf(" /Outlines %d 0 R", outlineObject)
	}
	w.objects[catalogObject-1] = root + " >>"
	w.objects[pagesObject-1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(w.pages, " "), len(w.pages))
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(w.objects))
	for i, o := range w.objects {
		if o == "" {
			o = "null"
		}
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root %d 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, catalogObject, w.extra, xref)
	return b.Bytes()
}

// writeOutline links the entries; the levels of w.outline do not jump.
func (w *writer) writeOutline() {
	first := len(w.objects) + 1
	n := len(w.outline)
	for i, e := range w.outline {
		var links strings.Builder
		parent := outlineObject
		for k := i - 1; k >= 0; k-- {
			if w.outline[k].level < e.level {
				parent = first + k
				break
			}
		}
		for k := i + 1; k < n && w.outline[k].level >= e.level; k++ {
			if w.outline[k].level == e.level {
				fmt.Fprintf(&links, " /Next %d 0 R", first+k)
				break
			}
		}
		if i+1 < n && w.outline[i+1].level > e.level {
			last := i + 1
			for k := i + 1; k < n && w.outline[k].level > e.level; k++ {
				if w.outline[k].level == e.level+1 {
					last = k
				}
			}
			fmt.Fprintf(&links, " /First %d 0 R /Last %d 0 R", first+i+1, first+last)
		}
		dest := "/Fit"
		if e.y > 0 {
			dest = fmt.Sprintf("/XYZ 0 %d 0", e.y)
		}
		var title strings.Builder
		for _, u := range utf16.Encode([]rune("\uFEFF" + e.title)) {
			fmt.Fprintf(&title, "%04X", u)
		}
		w.object(fmt.Sprintf("<< /Title <%s> /Parent %d 0 R /Dest [%s %s]%s >>", title.String(), parent, w.pages[e.page-1], dest, links.String()))
	}
	last := first
	for i, e := range w.outline {
		if e.level == w.outline[0].level {
			last = first + i
		}
	}
	w.objects[outlineObject-1] = fmt.Sprintf("<< /Type /Outlines /First %d 0 R /Last %d 0 R >>", first, last)
}
