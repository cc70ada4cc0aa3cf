package pdf

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
)

const (
	headingRatio  = 1.15 // how much larger than most of the text a heading is
	headingLines  = 3    // a heading has at most
	headingRunes  = 200
	headingLevels = 4
	widerGap      = 1.3 // how much wider than usual the gap before a paragraph is
)

// tidy makes single blanks of white space, letters of ligatures, and form C of the rest.
func tidy(s string) string {
	return strings.Join(strings.Fields(corpus.Normalize(ligatures.Replace(s))), " ")
}

var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
	"\x00", "\uFFFD", "\r", " ", "\n", " ")

// layout makes the document of what was extracted from the file at a path.
func layout(x *extracted, file string) (*corpus.Document, error) {
	l := &layouter{lines: x.lines, starts: make([]int, len(x.lines)), titles: map[int]title{}}
	byOutline := len(x.bookmarks) > 1 && l.outline(x)
	if !byOutline {
		clear(l.titles)
		l.bySize()
	}
	l.write()
	d := &corpus.Document{Text: l.out.String(), Blocks: l.blocks, Anchors: l.anchors}
	if d.Text == "" {
		return nil, skip("PDF holds no text")
	}
	headings := l.headings
	if len(headings) == 0 {
		d.Title = strings.TrimSuffix(path.Base(file), path.Ext(file)) // no page is a title
		page := 0
		for i := range l.lines {
			if n := l.lines[i].page; n != page {
				page = n
				headings = append(headings, corpus.HeadingLine{Level: 1, Span: corpus.Span{Start: l.starts[i], End: l.starts[i]}, Title: "Page " + strconv.Itoa(n)})
			}
		}
	}
	d.SetSections(headings)
	return d, nil
}

// title is a heading that begins at a line.
type title struct {
	level int
	lines int // that show it; 0: it is not shown
	text  string
}

type layouter struct {
	lines  []line
	starts []int         // offset of each line in the text
	titles map[int]title // by line
	words  map[string]bool

	out      strings.Builder
	blocks   []corpus.Block
	anchors  []corpus.Anchor
	headings []corpus.HeadingLine
}

// outline places the bookmarks and reports whether it could place any. Those that fall on a
// place that is taken are left out.
func (l *layouter) outline(x *extracted) bool {
	first := map[int]int{} // first line of each page
	for i := len(l.lines) - 1; i >= 0; i-- {
		first[l.lines[i].page] = i
	}
	taken := map[int]bool{}
	lost := 0
	for _, b := range x.bookmarks {
		from, ok := first[b.page]
		if !ok {
			lost++ // a page without text
			continue
		}
		to := from
		for to < len(l.lines) && l.lines[to].page == b.page {
			to++
		}
		at, n := l.find(b, from, to)
		free := true
		for i := at; i < at+max(n, 1); i++ {
			free = free && !taken[i]
		}
		if !free {
			lost++
			continue
		}
		for i := at; i < at+max(n, 1); i++ {
			taken[i] = true
		}
		l.titles[at] = title{level: b.level, lines: n, text: b.title}
	}
	if lost > 0 && len(l.titles) > 0 {
		x.warnings = append(x.warnings, strconv.Itoa(lost)+" entries of the outline share their place with another or lead to a page without text: they are no sections")
	}
	return len(l.titles) > 0
}

// find returns the line of a page, out of from up to to, at which a bookmark leads, and how many
// lines show its title: 0 if none does.
func (l *layouter) find(b bookmark, from, to int) (at, n int) {
	want := letters(b.title)
	best, distance := -1, math.Inf(1)
	for i := from; i < to && want != ""; i++ {
		have := ""
		for k := 1; k <= headingLines && i+k <= to; k++ {
			have += letters(l.lines[i+k-1].text)
			if len(have) > len(want)+16 {
				break
			}
			// A title is often shown with its number, which the bookmark leaves out, or without.
			if !numbered(have, want) && !numbered(want, have) {
				continue
			}
			d := 0.0
			if !math.IsNaN(b.y) {
				d = math.Abs(l.lines[i].top - b.y)
			}
			if best < 0 || d < distance {
				best, distance, n = i, d, k
			}
			break
		}
	}
	if best >= 0 {
		return best, n
	}
	if !math.IsNaN(b.y) {
		for i := from; i < to; i++ {
			if l.lines[i].top <= b.y+2 && l.lines[i].top > 0 {
				return i, 0
			}
		}
	}
	return from, 0
}

// numbered reports whether long is short with at most a number such as 4.1 or A in front.
func numbered(long, short string) bool {
	front, ok := strings.CutSuffix(long, short)
	if !ok || short == "" {
		return false
	}
	front = strings.TrimPrefix(front, "chapter")
	front = strings.TrimPrefix(front, "appendix")
	front = strings.TrimPrefix(front, "section")
	return strings.Trim(front, "0123456789") == "" || utf8.RuneCountInString(strings.Trim(front, "0123456789")) == 1
}

// letters folds s to its letters and digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// bySize takes short lines in larger type as headings.
func (l *layouter) bySize() {
	runes := map[float64]int{}
	for i := range l.lines {
		runes[l.lines[i].size] += utf8.RuneCountInString(l.lines[i].text)
	}
	body, most := 0.0, 0
	for size, n := range runes {
		if n > most || n == most && size < body {
			body, most = size, n
		}
	}
	if body == 0 {
		return
	}
	type found struct {
		at, n int
		size  float64
		text  string
	}
	var all []found
	sizes := map[float64]bool{}
	for i := 0; i < len(l.lines); {
		size := l.lines[i].size
		n := 1
		for i+n < len(l.lines) && l.lines[i+n].page == l.lines[i].page && l.lines[i+n].size == size && !l.apart(i+n) {
			n++
		}
		if size >= headingRatio*body && n <= headingLines {
			var b strings.Builder
			for k := range n {
				l.join(&b, i+k, k > 0, " ")
			}
			text := b.String()
			count := 0
			for _, r := range text {
				if unicode.IsLetter(r) {
					count++
				}
			}
			if count >= 2 && utf8.RuneCountInString(text) <= headingRunes {
				all = append(all, found{i, n, size, text})
				sizes[size] = true
			}
		}
		i += n
	}
	var order []float64
	for size := range sizes {
		order = append(order, size)
	}
	slices.Sort(order)
	slices.Reverse(order)
	for _, f := range all {
		l.titles[f.at] = title{level: min(slices.Index(order, f.size)+1, headingLevels), lines: f.n, text: f.text}
	}
}

// apart reports whether line i begins a paragraph by its place below the line before.
func (l *layouter) apart(i int) bool {
	a, b := &l.lines[i-1], &l.lines[i]
	if a.page != b.page {
		return true
	}
	if a.hyphen {
		return false
	}
	if a.top == a.bottom || b.top == b.bottom {
		return false // places unknown
	}
	size := max(a.size, b.size, 1)
	pitch := a.bottom - b.bottom
	return math.Abs(a.size-b.size) > 0.1*size || pitch < -size || pitch > 0.3*size && pitch > widerGap*l.pitch(i)
}

// pitch returns the usual distance of two lines in the type of line i: the smallest that the lines
// around it have.
func (l *layouter) pitch(i int) float64 {
	size := max(l.lines[i].size, 1)
	best := math.Inf(1)
	for k := max(i-8, 1); k < min(i+8, len(l.lines)); k++ {
		a, b := &l.lines[k-1], &l.lines[k]
		if a.page == b.page && a.size == l.lines[i].size && b.size == a.size {
			if p := a.bottom - b.bottom; p > 0.8*size {
				best = min(best, p)
			}
		}
	}
	if best > 2.2*size {
		return 1.3 * size
	}
	return best
}

// write makes the text.
func (l *layouter) write() {
	l.words = map[string]bool{}
	for i := range l.lines {
		for word := range strings.FieldsSeq(l.lines[i].text) {
			l.words[bare(word)] = true
		}
	}
	page, column := 0, 0 // place of the end of the text, column in characters of the page
	until := 0           // lines before it belong to the open heading
	for i := range l.lines {
		t, begins := l.titles[i]
		switch {
		case l.out.Len() == 0:
		case i > 0 && l.lines[i-1].hyphen && l.lines[i-1].page == l.lines[i].page && !begins && i != until:
			l.dehyphenate(i)
		case begins || i == until || i >= until && l.apart(i):
			l.out.WriteString("\n\n")
			column += 2
		default:
			l.out.WriteByte('\n')
			column++
		}
		if l.lines[i].page != page {
			page, column = l.lines[i].page, 1
		}
		l.starts[i] = l.out.Len()
		l.anchors = append(l.anchors, corpus.Anchor{Offset: l.starts[i], Line: page, Column: column})
		fresh := len(l.blocks) == 0 || strings.HasSuffix(l.out.String()[:l.starts[i]], "\n\n")
		l.out.WriteString(l.lines[i].text)
		column += utf8.RuneCountInString(l.lines[i].text)
		if fresh {
			l.blocks = append(l.blocks, corpus.Block{Span: corpus.Span{Start: l.starts[i]}})
		}
		b := &l.blocks[len(l.blocks)-1]
		b.Span.End = l.out.Len()
		if begins {
			until = i + t.lines
			l.headings = append(l.headings, corpus.HeadingLine{Level: t.level, Span: corpus.Span{Start: l.starts[i], End: l.starts[i]}, Title: t.text})
		}
		if i < until {
			b.Kind = corpus.Heading
			h := &l.headings[len(l.headings)-1]
			h.Span.End = l.out.Len()
		}
	}
}

// join appends line i to b, behind sep or, where the line before it ends in a cut word, in one
// word with it.
func (l *layouter) join(b *strings.Builder, i int, more bool, sep string) {
	if more && !l.lines[i-1].hyphen {
		b.WriteString(sep)
	}
	b.WriteString(l.lines[i].text)
}

// dehyphenate writes the hyphen at the end of line i−1 if it belongs to the word.
func (l *layouter) dehyphenate(i int) {
	a, b := l.lines[i-1].text, l.lines[i].text
	front := a[strings.LastIndexByte(a, ' ')+1:]
	back, _, _ := strings.Cut(b, " ")
	first, _ := utf8.DecodeRuneInString(back)
	last, _ := utf8.DecodeLastRuneInString(front)
	within := unicode.IsLower(first) || unicode.IsUpper(first) && unicode.IsUpper(last) // of a word
	if !within || l.words[bare(front+"-"+back)] && !l.words[bare(front+back)] {
		l.out.WriteByte('-')
	}
}

// bare is a word without the punctuation around it.
func bare(word string) string {
	return strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}
