package corpus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

// files makes a file system of name, content pairs.
func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func loadFS(t testing.TB, o Options, pairs ...string) *Collection {
	t.Helper()
	c, err := FS("test", files(pairs...), o).Load(context.Background())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

// loadOne reads one file that gives one document.
func loadOne(t testing.TB, name, content string) *Document {
	t.Helper()
	c := loadFS(t, Options{}, name, content)
	if len(c.Documents) != 1 {
		t.Fatalf("%s: %d documents, skipped %v", name, len(c.Documents), c.Skipped)
	}
	if err := checkDocument(&c.Documents[0]); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &c.Documents[0]
}

func loadErr(t testing.TB, o Options, pairs ...string) error {
	t.Helper()
	c, err := FS("test", files(pairs...), o).Load(context.Background())
	if err == nil {
		t.Fatalf("Load succeeded with %d documents, want an error", len(c.Documents))
	}
	if c != nil {
		t.Error("Load returned a collection with its error")
	}
	return err
}

// fileErrors returns all *FileError that err joins, as "path:line".
func fileErrors(err error) []string {
	var places []string
	var walk func(error)
	walk = func(err error) {
		if f, ok := err.(*FileError); ok {
			places = append(places, fmt.Sprintf("%s:%d", f.Path, f.Line))
			return
		}
		if j, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range j.Unwrap() {
				walk(e)
			}
		} else if e := errors.Unwrap(err); e != nil {
			walk(e)
		}
	}
	walk(err)
	return places
}

// outlineOf writes the headings of d, one a line.
func outlineOf(d *Document) string {
	var b strings.Builder
	for _, s := range d.Sections[1:] {
		b.WriteString(FormatPath(s.Path))
		b.WriteByte('\n')
	}
	return b.String()
}

// own returns the text of a section without the sections below it.
func own(d *Document, i int) string {
	end := d.Sections[i].Span.End
	if i+1 < len(d.Sections) && d.Sections[i+1].Parent == i {
		end = d.Sections[i+1].Span.Start
	}
	return d.Text[d.Sections[i].Body:end]
}

// checkDocument returns what breaks the promises of Document, Section and Block.
func checkDocument(d *Document) error {
	if !utf8.ValidString(d.Text) || strings.Contains(d.Text, "\r") || Normalize(d.Text) != d.Text {
		return fmt.Errorf("text is not normalised")
	}
	if d.ID == "" || len(d.Version) != 64 || d.Format == "" || d.Title == "" {
		return fmt.Errorf("id %q, version %q, format %q, title %q", d.ID, d.Version, d.Format, d.Title)
	}
	if d.Body < 0 || d.Body > len(d.Text) {
		return fmt.Errorf("body at %d of %d", d.Body, len(d.Text))
	}
	if len(d.Sections) == 0 || d.Sections[0].Path != nil || d.Sections[0].Level != 0 || d.Sections[0].Parent != -1 {
		return fmt.Errorf("no own section: %+v", d.Sections)
	}
	paths := map[string]bool{}
	for i, s := range d.Sections {
		if s.Span.Start < 0 || s.Span.Start > s.Body || s.Body > s.Span.End || s.Span.End > len(d.Text) {
			return fmt.Errorf("section %d: span %v, body %d of %d", i, s.Span, s.Body, len(d.Text))
		}
		if i == 0 {
			continue
		}
		if s.Span.Start <= d.Sections[i-1].Span.Start && i > 1 || s.Span.Start < d.Sections[i-1].Body {
			return fmt.Errorf("section %d begins at %d, before the heading above it ends", i, s.Span.Start)
		}
		if p := s.Parent; p >= 0 {
			if p >= i || p == 0 || !d.Sections[p].Span.Contains(s.Span) || d.Sections[p].Level >= s.Level {
				return fmt.Errorf("section %d: parent %d", i, p)
			}
		}
		if len(s.Path) == 0 || s.Path[len(s.Path)-1] == "" {
			return fmt.Errorf("section %d: path %q", i, s.Path)
		}
		label := FormatPath(s.Path)
		if Normalize(label) != label || Normalize(s.Alias) != s.Alias || Normalize(d.Title) != d.Title {
			return fmt.Errorf("section %d: path %q, alias %q or title %q is not normalised", i, s.Path, s.Alias, d.Title)
		}
		if paths[label] {
			return fmt.Errorf("path %q is given twice", label)
		}
		paths[label] = true
		if got := FormatPath(ParsePath(label)); got != label {
			return fmt.Errorf("path %q reads back as %q", label, got)
		}
		if got, err := d.Resolve(label); err != nil || got != i {
			return fmt.Errorf("Resolve(%q) = %d, %v, want %d", label, got, err, i)
		}
		if got := d.SectionAt(s.Span.Start); got != i {
			return fmt.Errorf("SectionAt(%d) = %d, want %d", s.Span.Start, got, i)
		}
	}
	last := -1
	covered := d.Body
	for i, b := range d.Blocks {
		if b.Span.Start <= last || b.Span.Start >= b.Span.End || b.Span.End > len(d.Text) || b.Span.Start < covered {
			return fmt.Errorf("block %d: span %v after %d of %d", i, b.Span, covered, len(d.Text))
		}
		if lost := strings.TrimSpace(d.Text[covered:b.Span.Start]); lost != "" {
			return fmt.Errorf("block %d: %q before it is in no block", i, lost)
		}
		if b.Section != d.SectionAt(b.Span.Start) {
			return fmt.Errorf("block %d: section %d", i, b.Section)
		}
		if b.Kind == Table && (b.Header < b.Span.Start || b.Header > b.Span.End) {
			return fmt.Errorf("block %d: header ends at %d of %v", i, b.Header, b.Span)
		}
		last, covered = b.Span.Start, b.Span.End
	}
	if lost := strings.TrimSpace(d.Text[covered:]); lost != "" {
		return fmt.Errorf("%q at the end is in no block", lost)
	}
	for _, a := range []int{0, len(d.Text) / 2, len(d.Text)} {
		if line, column := d.Position(a); line < 1 || column < 1 {
			return fmt.Errorf("Position(%d) = %d, %d", a, line, column)
		}
	}
	return nil
}
