package pdf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// extracted is what PDFium knows of a document.
type extracted struct {
	pages     int
	lines     []line // in the order of the file
	bookmarks []bookmark
	warnings  []string
}

// line is one line of a page as it is drawn.
type line struct {
	page                     int // from 1
	text                     string
	size                     float64 // of the type, in points
	left, right, top, bottom float64 // in points from the lower left corner of the page; all 0: unknown
	hyphen                   bool    // a word is cut at its end; the hyphen is not in text
}

// bookmark is one entry of the document's outline.
type bookmark struct {
	level int // from 1
	title string
	page  int     // from 1
	y     float64 // where on the page, NaN: not told
}

const (
	maxBookmarks     = 20_000
	maxBookmarkDepth = 32
	maxTitle         = 1_000 // runes of a bookmark
	mapSample        = 300   // characters of a page that are asked whether they have a Unicode value
)

// document is one open file in an instance of PDFium.
type document struct {
	pdfium.Pdfium
	ref      references.FPDF_DOCUMENT
	asked    int // characters that were asked for a Unicode value
	unmapped int // characters without one
	invalid  int // characters that are none
	runes    int
}

// extract reads a file in an instance of its own. When ctx ends, the instance is stopped wherever
// it is.
func extract(ctx context.Context, pool pdfium.Pool, raw []byte, o Options) (x *extracted, err error) {
	instance, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, err
	}
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			_ = instance.Kill()
		case <-finished:
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		close(finished)
		<-watched
		_ = instance.Close() // fails if it was stopped
	}()
	opened, err := instance.OpenDocument(&requests.OpenDocument{File: &raw})
	switch {
	case errors.Is(err, pdferrors.ErrPassword):
		return nil, skip("PDF is encrypted and needs a password: save it without one")
	case errors.Is(err, pdferrors.ErrSecurity):
		return nil, skip("PDF is encrypted in a way that cannot be read: save it without encryption")
	case errors.Is(err, pdferrors.ErrFormat):
		return nil, skip("not a PDF, or a damaged one")
	case err != nil:
		return nil, err
	}
	d := &document{Pdfium: instance, ref: opened.Document}
	count, err := d.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: d.ref})
	if err != nil {
		return nil, err
	}
	x = &extracted{pages: count.PageCount}
	if x.pages > o.MaxPages {
		return nil, skip("PDF has %d pages, more than %d: split it", x.pages, o.MaxPages)
	}
	var images, broken []int
	for page := 1; page <= x.pages; page++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lines, image, err := d.page(page, o.MaxText)
		var s *skipped
		if errors.As(err, &s) || ctx.Err() != nil {
			return nil, err
		}
		switch {
		case err != nil:
			broken = append(broken, page)
		case len(lines) == 0 && image:
			images = append(images, page)
		}
		x.lines = append(x.lines, lines...)
	}
	switch {
	case len(broken) > 0:
		// What is missing cannot be told from what is there.
		return nil, skip("PDF is damaged: %s cannot be read", pageList(broken))
	case len(x.lines) == 0 && len(images) > 0:
		return nil, skip("PDF holds only images of text (a scan): run text recognition (OCR) over it first")
	case len(x.lines) == 0:
		return nil, skip("PDF holds no text")
	case d.unmapped*10 > d.asked:
		return nil, skip("PDF does not tell which letters its glyphs are (%d of %d looked at have no Unicode value): make it anew, or run text recognition (OCR) over it", d.unmapped, d.asked)
	}
	if len(images) > 0 {
		x.warnings = append(x.warnings, pageList(images)+" hold only images: text in them is not read")
	}
	if d.unmapped > 0 {
		x.warnings = append(x.warnings, fmt.Sprintf("%d of %d characters looked at have no Unicode value: what stands for them may be wrong", d.unmapped, d.asked))
	}
	if d.invalid > 0 {
		x.warnings = append(x.warnings, fmt.Sprintf("%d characters are no text and were replaced by U+FFFD", d.invalid))
	}
	if x.bookmarks, err = d.outline(ctx, x.pages); err != nil {
		return nil, err
	}
	return x, nil
}

// pageList names up to ten pages.
func pageList(pages []int) string {
	var b strings.Builder
	b.WriteString("page ")
	if len(pages) > 1 {
		b.Reset()
		b.WriteString("pages ")
	}
	for i, p := range pages {
		if i == 10 {
			fmt.Fprintf(&b, " and %d more", len(pages)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(p))
	}
	return b.String()
}

// page returns the lines of a page, and whether there are images on it.
func (d *document) page(number, maxText int) (lines []line, image bool, err error) {
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.ref, Index: number - 1})
	if err != nil {
		return nil, false, err
	}
	defer d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
	page := requests.Page{ByReference: &loaded.Page}
	text, err := d.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return nil, false, err
	}
	defer d.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage})
	n, err := d.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil {
		return nil, false, err
	}
	if d.runes += max(n.Count, 0); d.runes > maxText {
		return nil, false, skip("PDF holds more than %d characters: split it", maxText)
	}
	if n.Count <= 0 {
		image, err := d.holdsImage(page)
		return nil, image, err
	}
	t := &textPage{document: d, ref: text.TextPage, number: number, runes: make([]rune, n.Count)}
	if err := t.read(); err != nil {
		return nil, false, err
	}
	if lines, err = t.lines(); err != nil || len(lines) > 0 {
		return lines, false, err
	}
	image, err = d.holdsImage(page)
	return nil, image, err
}

// holdsImage reports whether there is an image, or a drawing that may hide one, among the first
// thousand objects of a page.
func (d *document) holdsImage(page requests.Page) (bool, error) {
	n, err := d.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false, err
	}
	for i := range min(n.Count, 1_000) {
		object, err := d.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err != nil {
			return false, err
		}
		kind, err := d.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object.PageObject})
		if err != nil {
			return false, err
		}
		if kind.Type == enums.FPDF_PAGEOBJ_IMAGE || kind.Type == enums.FPDF_PAGEOBJ_FORM {
			return true, nil
		}
	}
	return false, nil
}

// textPage is the text of a page: characters in the order of the file, with the spaces and line
// ends that PDFium adds by their places.
type textPage struct {
	*document
	ref    references.FPDF_TEXTPAGE
	number int
	runes  []rune
}

// cut marks a hyphen at the end of a line; PDFium gives it in place of hyphen and line end.
const cut = '\x02'

func (t *textPage) read() error {
	asked := 0
	half := rune(0) // the character before, if it is half a letter
	for i := range t.runes {
		u, err := t.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: t.ref, Index: i})
		if err != nil {
			return err
		}
		r := rune(u.Unicode)
		if i > 0 && utf16.IsSurrogate(r) && utf16.IsSurrogate(half) {
			if both := utf16.DecodeRune(half, r); both != unicode.ReplacementChar {
				t.runes[i-1], half = both, 0 // a letter in two halves
				t.invalid--
				continue
			}
		}
		half = r
		switch {
		case r == cut || r == 0xFFFE:
			r = cut
		case r == '\r' || r == '\n' || r == 0 || r == '\u00AD':
		case r == '\t' || unicode.Is(unicode.Zs, r):
			r = ' '
		case r < ' ' || r >= 0x7F && r < 0xA0 || r > unicode.MaxRune || r >= 0xD800 && r < 0xE000 || r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF:
			r = unicode.ReplacementChar
			t.invalid++
		}
		t.runes[i] = r
		if asked < mapSample && r > ' ' {
			asked++
			e, err := t.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: t.ref, Index: i})
			if err != nil {
				return err
			}
			t.asked++
			if e.HasUnicodeMapError {
				t.unmapped++
			}
		}
	}
	return nil
}

// glyph is a character with its place.
type glyph struct {
	r                        rune
	left, right, top, bottom float64
}

func (g glyph) height() float64 { return g.top - g.bottom }

// box returns the place of a character; ok is false for one that PDFium added.
func (t *textPage) box(i int) (g glyph, ok bool, err error) {
	b, err := t.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: t.ref, Index: i})
	if err != nil {
		if t.stopped() {
			return glyph{}, false, err
		}
		return glyph{}, false, nil // it has no box
	}
	g = glyph{t.runes[i], float64(b.Rect.Left), float64(b.Rect.Right), float64(b.Rect.Top), float64(b.Rect.Bottom)}
	for _, v := range [...]float64{g.left, g.right, g.top, g.bottom} {
		if math.IsNaN(v) || math.Abs(v) > 1e6 {
			return glyph{}, false, nil
		}
	}
	return g, g.right > g.left && g.top > g.bottom, nil
}

// stopped reports whether the instance no longer answers.
func (d *document) stopped() bool {
	_, err := d.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: d.ref})
	return err != nil
}

// run is a line before it is text: characters from, up to to.
type run struct {
	from, to int
	hyphen   bool
	line     line
	known    bool    // it has a place
	tidy     bool    // its characters are in order
	level    bool    // its characters stand at one height
	mixed    bool    // it holds letters that run from right to left
	glyphs   []glyph // of a run that is not tidy or takes others in
}

// lines returns the lines of the page that hold something visible.
func (t *textPage) lines() ([]line, error) {
	var runs []run
	from := 0
	for i := 0; i <= len(t.runes); i++ {
		if i < len(t.runes) && t.runes[i] != '\r' && t.runes[i] != '\n' && t.runes[i] != cut {
			continue
		}
		if slices.ContainsFunc(t.runes[from:i], visible) {
			r := run{from: from, to: i, hyphen: i < len(t.runes) && t.runes[i] == cut}
			if err := t.measure(&r); err != nil {
				return nil, err
			}
			runs = append(runs, r)
		}
		from = i + 1
	}
	runs, err := t.interleave(runs)
	if err != nil {
		return nil, err
	}
	lines := make([]line, 0, len(runs))
	for i := range runs {
		r := &runs[i]
		text, err := t.text(r)
		if err != nil {
			return nil, err
		}
		if text = tidy(text); text == "" {
			continue
		}
		l := r.line
		l.page, l.text, l.hyphen = t.number, text, r.hyphen && i+1 < len(runs)
		lines = append(lines, l)
	}
	return lines, nil
}

// text returns the letters of a run in the order in which they are read.
func (t *textPage) text(r *run) (string, error) {
	plain := func(runes []rune) string {
		return string(slices.DeleteFunc(slices.Clone(runes), func(r rune) bool { return r == 0 || r == '\u00AD' }))
	}
	switch {
	case r.glyphs == nil && (!r.known || !r.level || r.tidy && !r.mixed):
		return plain(t.runes[r.from:r.to]), nil
	case r.glyphs == nil:
		var err error
		if r.glyphs, err = t.glyphs(r); err != nil {
			return "", err
		}
	}
	return inOrder(r.glyphs, r.line.size), nil
}

func visible(r rune) bool { return r > ' ' && r != '\u00AD' }

// measure finds the place of a run by the first character of each of its words and the last.
func (t *textPage) measure(r *run) error {
	r.tidy, r.level = true, true
	var first glyph
	right := math.Inf(-1)
	last := -1
	sized := 0
	note := func(i int) error {
		g, ok, err := t.box(i)
		if err != nil || !ok {
			return err
		}
		l := &r.line
		if !r.known {
			r.known, first = true, g
			l.left, l.right, l.top, l.bottom = g.left, g.right, g.top, g.bottom
		}
		if overlap := min(g.top, first.top) - max(g.bottom, first.bottom); overlap < 0.3*min(g.height(), first.height()) {
			r.level = false
		}
		if g.left < right-0.3*g.height() {
			r.tidy = false
		}
		right = max(right, g.left)
		l.left, l.right = min(l.left, g.left), max(l.right, g.right)
		if sized < 3 { // a line is as large as its smallest word at the start
			size, err := t.size(i)
			if err != nil {
				return err
			}
			if sized == 0 || size < l.size {
				l.size = size
			}
			sized++
		}
		return nil
	}
	for i := r.from; i < r.to; i++ {
		if !visible(t.runes[i]) {
			continue
		}
		last = i
		if rtl(t.runes[i]) {
			r.mixed = true
		}
		if i == r.from || !visible(t.runes[i-1]) {
			if err := note(i); err != nil {
				return err
			}
		}
	}
	return note(last)
}

// size returns the size of the type of a character in points.
func (t *textPage) size(i int) (float64, error) {
	s, err := t.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: t.ref, Index: i})
	if err != nil {
		return 0, err
	}
	size := math.Abs(s.FontSize)
	if m, err := t.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: t.ref, Index: i}); err == nil {
		size *= math.Sqrt(float64(m.Matrix.C)*float64(m.Matrix.C) + float64(m.Matrix.D)*float64(m.Matrix.D))
	} else if t.stopped() {
		return 0, err
	}
	if math.IsNaN(size) || size > 1e4 {
		return 0, nil
	}
	return math.Round(size*2) / 2, nil
}

func (t *textPage) glyphs(r *run) ([]glyph, error) {
	var out []glyph
	for i := r.from; i < r.to; i++ {
		if !visible(t.runes[i]) {
			continue
		}
		g, ok, err := t.box(i)
		if err != nil {
			return nil, err
		}
		if !ok {
			g = glyph{r: t.runes[i]}
			if len(out) > 0 {
				g = out[len(out)-1]
				g.r, g.left = t.runes[i], g.right
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// Bounds for the search of letters that were drawn later than their line: beyond them, pages are
// taken as they are.
const (
	maxInterleave = 2_000 // runs of a page
	maxFills      = 200   // letters of a run that fills gaps of another
)

// interleave puts runs whose letters fill gaps of an earlier one at the same height into it. A
// program that lacks a letter in one font draws it in another, sometimes after all the rest.
func (t *textPage) interleave(runs []run) ([]run, error) {
	if len(runs) > maxInterleave {
		return runs, nil
	}
	out := runs[:0]
next:
	for _, r := range runs {
		if r.known && r.level && r.to-r.from <= maxFills {
			for h := range out {
				host := &out[h]
				if !host.known || !host.level || r.line.left < host.line.left || r.line.right > host.line.right {
					continue
				}
				overlap := min(host.line.top, r.line.top) - max(host.line.bottom, r.line.bottom)
				if overlap < 0.8*min(host.line.top-host.line.bottom, r.line.top-r.line.bottom) || math.Abs(host.line.size-r.line.size) > 0.2*host.line.size {
					continue
				}
				var err error
				if host.glyphs == nil {
					if host.glyphs, err = t.glyphs(host); err != nil {
						return nil, err
					}
				}
				own, err := t.glyphs(&r)
				if err != nil {
					return nil, err
				}
				if !fits(own, host.glyphs) {
					if host.tidy {
						host.glyphs = nil
					}
					continue
				}
				host.glyphs = append(host.glyphs, own...)
				host.tidy = false
				host.mixed = host.mixed || r.mixed
				host.hyphen = host.hyphen || r.hyphen
				continue next
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// fits reports whether own letters stand where the host has none.
func fits(own, host []glyph) bool {
	for _, g := range own {
		for _, h := range host {
			if min(g.right, h.right)-max(g.left, h.left) > 0.4*min(g.right-g.left, h.right-h.left) {
				return false
			}
		}
	}
	return true
}

// cluster is a letter with its marks.
type cluster struct {
	left, right float64
	text        string
	dir         int // 1: from left to right, −1: from right to left, 0: as the letters around it
}

// inOrder returns the text of letters in the order in which they are read, with a space where
// there is a gap.
func inOrder(glyphs []glyph, size float64) string {
	var clusters []cluster
	balance := 0
	for _, g := range glyphs {
		if unicode.Is(unicode.M, g.r) && len(clusters) > 0 {
			clusters[len(clusters)-1].text += string(g.r) // marks stay with the letter they follow
			continue
		}
		c := cluster{left: g.left, right: g.right, text: string(g.r)}
		switch {
		case rtl(g.r):
			c.dir = -1
			balance--
		case unicode.IsLetter(g.r):
			c.dir = 1
			balance++
		case unicode.IsNumber(g.r):
			c.dir = 1
		}
		clusters = append(clusters, c)
	}
	slices.SortStableFunc(clusters, func(a, b cluster) int { return cmp.Compare(a.left, b.left) })
	spaced := make([]cluster, 0, len(clusters)*5/4)
	for i, c := range clusters {
		if i > 0 && c.left-clusters[i-1].right > 0.15*size {
			spaced = append(spaced, cluster{text: " "})
		}
		spaced = append(spaced, c)
	}
	// What is seen from left to right becomes what is read: a line of Arabic or Hebrew is turned
	// round except for the words and numbers of other scripts in it, any other line only where
	// such letters stand. What both ends are the line is, else what most of it is.
	strong := func(c cluster) bool { return c.dir != 0 }
	if i := slices.IndexFunc(spaced, strong); i >= 0 {
		last := len(spaced) - 1
		for !strong(spaced[last]) {
			last--
		}
		if spaced[i].dir == spaced[last].dir {
			balance = spaced[i].dir
		}
	}
	line := 1
	if balance < 0 {
		line = -1
		slices.Reverse(spaced)
	}
	for from := 0; from < len(spaced); from++ {
		if spaced[from].dir != -line {
			continue
		}
		to := from // the last of its direction before one of the line's
		for i := from; i < len(spaced) && spaced[i].dir != line; i++ {
			if spaced[i].dir == -line {
				to = i
			}
		}
		slices.Reverse(spaced[from : to+1])
		from = to
	}
	var b strings.Builder
	for _, c := range spaced {
		b.WriteString(c.text)
	}
	return b.String()
}

// rtl reports letters of scripts that run from right to left.
func rtl(r rune) bool {
	return r >= 0x0590 && r <= 0x08FF || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC || r >= 0x10800 && r <= 0x10FFF || r >= 0x1E800 && r <= 0x1EFFF
}

// outline reads the bookmarks, which may form circles in a damaged file.
func (d *document) outline(ctx context.Context, pages int) ([]bookmark, error) {
	var out []bookmark
	seen := 0
	var walk func(first *references.FPDF_BOOKMARK, level int) error
	walk = func(b *references.FPDF_BOOKMARK, level int) error {
		for b != nil && seen < maxBookmarks && level <= maxBookmarkDepth {
			if err := ctx.Err(); err != nil {
				return err
			}
			seen++
			if m, ok := d.bookmark(*b, pages); ok {
				m.level = level
				out = append(out, m)
			}
			if child, err := d.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: d.ref, Bookmark: b}); err == nil && child.Bookmark != nil {
				if err := walk(child.Bookmark, level+1); err != nil {
					return err
				}
			}
			next, err := d.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: d.ref, Bookmark: *b})
			if err != nil {
				break // of a damaged outline, what can be read
			}
			b = next.Bookmark
		}
		return nil
	}
	first, err := d.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: d.ref})
	if err != nil {
		return nil, ctx.Err()
	}
	err = walk(first.Bookmark, 1)
	return out, err
}

// bookmark returns title and place of an entry that leads to a page of the document.
func (d *document) bookmark(ref references.FPDF_BOOKMARK, pages int) (bookmark, bool) {
	m := bookmark{y: math.NaN()}
	title, err := d.FPDFBookmark_GetTitle(&requests.FPDFBookmark_GetTitle{Bookmark: ref})
	if err != nil {
		return m, false
	}
	runes := []rune(tidy(title.Title))
	m.title = string(runes[:min(len(runes), maxTitle)])
	if m.title == "" {
		return m, false
	}
	var dest *references.FPDF_DEST
	if got, err := d.FPDFBookmark_GetDest(&requests.FPDFBookmark_GetDest{Document: d.ref, Bookmark: ref}); err == nil {
		dest = got.Dest
	}
	if dest == nil {
		if action, err := d.FPDFBookmark_GetAction(&requests.FPDFBookmark_GetAction{Bookmark: ref}); err == nil && action.Action != nil {
			if got, err := d.FPDFAction_GetDest(&requests.FPDFAction_GetDest{Document: d.ref, Action: *action.Action}); err == nil {
				dest = got.Dest
			}
		}
	}
	if dest == nil {
		return m, false
	}
	page, err := d.FPDFDest_GetDestPageIndex(&requests.FPDFDest_GetDestPageIndex{Document: d.ref, Dest: *dest})
	if err != nil || page.Index < 0 || page.Index >= pages {
		return m, false
	}
	m.page = page.Index + 1
	if at, err := d.FPDFDest_GetLocationInPage(&requests.FPDFDest_GetLocationInPage{Dest: *dest}); err == nil && at.Y != nil {
		m.y = float64(*at.Y)
	}
	return m, true
}
