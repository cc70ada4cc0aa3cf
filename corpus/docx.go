package corpus

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits for the parts of a DOCX file, which is an archive and may unfold to a thousand times
// its size.
const (
	maxPartBytes  = 64 << 20
	maxZipEntries = 10_000
)

// DOCX returns the reader of Word documents: the text of paragraphs and tables in the order of
// the file, with its heading styles as sections. Headers, footers, notes, comments, deleted
// text, field codes and drawings are left out. Tables become a line for each row, cells
// separated by " | ", with the first row as header. Position gives the number of the paragraph
// as the line. The custom properties acl, supersedes and title of the file (in Word: File, Info,
// Properties, Advanced) hold what front matter holds elsewhere, labels separated by commas; what
// cannot be read of them fails the load. Because it is an archive, it is read only where Include
// or Formats names it.
func DOCX() Reader {
	return Reader{Name: "docx", Extensions: []string{".docx"}, Explicit: true, Bytes: true, Read: readDOCX}
}

func readDOCX(ctx context.Context, in *Input) ([]Document, error) {
	z, err := zip.NewReader(bytes.NewReader(in.Raw), int64(len(in.Raw)))
	if err != nil {
		return nil, in.Skip("not a DOCX file: %v", err)
	}
	if len(z.File) > maxZipEntries {
		return nil, in.Skip("holds %d parts, more than %d", len(z.File), maxZipEntries)
	}
	r := docxReader{levels: map[string]int{}}
	if styles, err := part(z, "word/styles.xml"); err != nil {
		return nil, in.Skip("styles: %v", err)
	} else if err := r.styles(styles); err != nil {
		return nil, in.Skip("styles: %v", err)
	}
	var d Document
	if err := r.properties(ctx, in, z, &d); err != nil {
		return nil, err
	}
	body, err := part(z, "word/document.xml")
	if err != nil || body == nil {
		if err == nil {
			err = errors.New("the archive has no word/document.xml")
		}
		return nil, in.Skip("not a DOCX file: %v", err)
	}
	if err := r.document(ctx, body); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, in.Skip("damaged: %v", err)
	}
	d.Text, d.Anchors = r.out.String(), r.anchors
	d.Sections = outline(r.headings, 0, len(d.Text))
	d.Blocks = r.blocks
	place(&d)
	return []Document{d}, nil
}

// part returns the content of one file of the archive, nil if there is none.
func part(z *zip.Reader, name string) ([]byte, error) {
	for _, f := range z.File {
		if !strings.EqualFold(f.Name, name) { // as the names of parts are compared
			continue
		}
		if f.UncompressedSize64 > maxPartBytes {
			return nil, fmt.Errorf("%s unfolds to %d bytes, more than %d", name, f.UncompressedSize64, maxPartBytes)
		}
		rc, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer rc.Close()
		b, err := io.ReadAll(io.LimitReader(rc, maxPartBytes+1)) // the header may lie
		if err != nil {
			return nil, err
		}
		if len(b) > maxPartBytes {
			return nil, fmt.Errorf("%s unfolds to more than %d bytes", name, maxPartBytes)
		}
		return b, nil
	}
	return nil, nil
}

// properties reads what the custom properties say of title, permissions and superseded documents.
func (r *docxReader) properties(ctx context.Context, in *Input, z *zip.Reader, d *Document) error {
	data, err := part(z, "docProps/custom.xml")
	if err != nil {
		return in.Fail(0, "custom properties cannot be read: %v: permissions cannot be told otherwise", err)
	}
	var keys []metaKey
	seen := map[string]bool{}
	name, kind := "", ""
	var value strings.Builder
	err = eachXML(ctx, data, func(t xml.Token) {
		switch t := t.(type) {
		case xml.StartElement:
			switch {
			case t.Name.Local == "property":
				name, kind = attribute(t, "name"), ""
				value.Reset()
			case name != "" && kind == "":
				kind = t.Name.Local
			}
		case xml.CharData:
			if kind != "" {
				value.Write(t)
			}
		case xml.EndElement:
			if t.Name.Local != "property" || name == "" {
				return
			}
			k := commaKey(name, value.String(), 0)
			if seen[name] {
				k.problem = "is given twice"
			} else if kind != "lpwstr" && kind != "lpstr" && kind != "bstr" {
				k.problem = "is not of the type text"
			}
			seen[name] = true
			keys = append(keys, k)
			name, kind = "", ""
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return in.Fail(0, "custom properties cannot be read: %v: permissions cannot be told otherwise", err)
	}
	return applyMeta(in, d, keys)
}

type docxReader struct {
	levels map[string]int // style id → heading level

	out      strings.Builder
	anchors  []Anchor
	headings []heading
	blocks   []Block

	paragraphs int
	text       strings.Builder // of the open paragraph or cell
	level      int             // of the open paragraph
	list       bool
	rows       []string // of the open table
	cells      []string // of the open row
	tables     int      // depth
	skip       int      // depth inside an element that is left out
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// styles reads which paragraph styles are headings, by outline level or by name.
func (r *docxReader) styles(data []byte) error {
	id := ""
	return eachXML(context.Background(), data, func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok {
			return
		}
		switch e.Name.Local {
		case "style":
			id = attribute(e, "styleId")
		case "name":
			name := strings.ToLower(attribute(e, "val"))
			if n, ok := strings.CutPrefix(name, "heading "); ok {
				if level, err := strconv.Atoi(n); err == nil && level >= 1 && level <= 9 {
					r.levels[id] = level
				}
			}
		case "outlineLvl":
			if level, err := strconv.Atoi(attribute(e, "val")); err == nil && level >= 0 && level < 9 && r.levels[id] == 0 {
				r.levels[id] = level + 1
			}
		}
	})
}

// eachXML calls f for every token. The decoder knows no entities but the five of XML, so
// nothing multiplies.
func eachXML(ctx context.Context, data []byte, f func(xml.Token)) error {
	dec := xml.NewDecoder(bytes.NewReader(data))
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		f(t)
	}
}

func (r *docxReader) document(ctx context.Context, data []byte) error {
	inText := false
	return eachXML(ctx, data, func(t xml.Token) {
		switch t := t.(type) {
		case xml.StartElement:
			if r.skip > 0 || left(t.Name.Local) {
				r.skip++
				return
			}
			switch t.Name.Local {
			case "p":
				if r.tables == 0 {
					r.paragraph()
				} else if r.text.Len() > 0 {
					r.text.WriteByte(' ')
				}
				r.paragraphs++
			case "pStyle":
				if level := r.levels[attribute(t, "val")]; level > 0 {
					r.level = level
				}
			case "outlineLvl":
				if level, err := strconv.Atoi(attribute(t, "val")); err == nil && level >= 0 && level < 9 {
					r.level = level + 1
				}
			case "numPr":
				r.list = true
			case "t":
				inText = true
			case "tab":
				r.text.WriteByte(' ')
			case "br", "cr":
				r.text.WriteByte('\n')
			case "noBreakHyphen":
				r.text.WriteByte('-')
			case "tbl":
				if r.tables++; r.tables == 1 {
					r.paragraph()
				}
			case "tr":
				if r.tables == 1 {
					r.cells = nil
				}
			}
		case xml.CharData:
			if inText && r.skip == 0 {
				r.text.Write(t)
			}
		case xml.EndElement:
			if r.skip > 0 {
				r.skip--
				return
			}
			switch t.Name.Local {
			case "t":
				inText = false
			case "p":
				if r.tables == 0 {
					r.paragraph()
				}
			case "tc":
				if r.tables == 1 {
					r.cells = append(r.cells, foldSpace(clean(r.text.String())))
					r.text.Reset()
				}
			case "tr":
				if r.tables == 1 {
					if row := strings.TrimRight(strings.Join(r.cells, " | "), " |"); row != "" {
						r.rows = append(r.rows, row)
					}
				}
			case "tbl":
				if r.tables = max(r.tables-1, 0); r.tables == 0 {
					r.text.Reset()
					r.table()
				}
			}
		}
	})
}

// left reports elements that are left out with what they hold.
func left(name string) bool {
	switch name {
	case "del", "moveFrom", "instrText", "delText", "Fallback", "drawing", "pict", "object", "sectPr":
		return true
	}
	return false
}

// paragraph writes the open paragraph as a block.
func (r *docxReader) paragraph() {
	var lines []string
	for line := range strings.SplitSeq(clean(r.text.String()), "\n") {
		if line = foldSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "\n")
	level, list := r.level, r.list
	r.text.Reset()
	r.level, r.list = 0, false
	if text == "" {
		return
	}
	kind := Paragraph
	switch {
	case level > 0:
		kind = Heading
		text = strings.ReplaceAll(text, "\n", " ")
	case list:
		kind = List
	}
	b := r.block(kind, text)
	if level > 0 {
		r.headings = append(r.headings, heading{level: level, start: b.Span.Start, body: b.Span.End, title: text})
	}
}

func (r *docxReader) table() {
	if len(r.rows) > 0 {
		b := r.block(Table, strings.Join(r.rows, "\n"))
		b.Header = min(b.Span.Start+len(r.rows[0])+1, b.Span.End)
	}
	r.rows, r.level, r.list = nil, 0, false
}

func (r *docxReader) block(kind BlockKind, text string) *Block {
	if r.out.Len() > 0 {
		r.out.WriteString("\n\n")
	}
	start := r.out.Len()
	r.anchors = append(r.anchors, Anchor{Offset: start, Line: max(r.paragraphs, 1), Column: 1})
	r.out.WriteString(text)
	r.blocks = append(r.blocks, Block{Kind: kind, Span: Span{start, r.out.Len()}})
	return &r.blocks[len(r.blocks)-1]
}
