package corpus

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Position returns the line and column, both from 1, that offset of the normalised text has in
// the original file. Columns count code points of the file's text, without a byte order mark.
// Formats whose text is extracted (HTML) give the place that the text was taken from. Offsets
// outside the text take the nearest place.
func (d *Document) Position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(d.Text))
	from := Anchor{Line: 1, Column: 1}
	if i := sort.Search(len(d.Anchors), func(i int) bool { return d.Anchors[i].Offset > offset }); i > 0 {
		from = d.Anchors[i-1]
	}
	between := d.Text[min(from.Offset, offset):offset]
	n := strings.Count(between, "\n")
	if n == 0 {
		return from.Line, from.Column + utf8.RuneCountInString(between)
	}
	return from.Line + n, 1 + utf8.RuneCountInString(between[strings.LastIndexByte(between, '\n')+1:])
}

// LineUnit names what Position counts as lines: a page in PDF, a paragraph in Word files, else a
// line.
func (d *Document) LineUnit() string {
	switch d.Format {
	case "pdf":
		return "page"
	case "docx":
		return "paragraph"
	}
	return "line"
}
