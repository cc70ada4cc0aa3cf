package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// Source is a place that documents come from.
type Source interface {
	// Load reads all documents. Everything that is wrong with them is reported at once: the
	// error joins a *FileError for each fault, and no collection comes with it.
	Load(ctx context.Context) (*Collection, error)
}

// Options says which files are read and how. The zero value reads every file whose ending one
// of DefaultReaders knows, as UTF-8.
//
// Patterns are slash paths relative to the root with *, ?, [a-z] and ** for any number of
// folders; one without a slash matches base names. Files and folders whose name begins with a
// dot are read only where a pattern of Include names them with the dot.
type Options struct {
	Include []string          // patterns of files to read; empty: all that a reader knows
	Exclude []string          // patterns of files to leave out, not listed in Skipped
	Ignore  []string          // files of the project that are never documents, such as the golden set: patterns, or paths on disk
	Charset map[string]string // pattern → latin1, windows-1252, utf-16 or another name of the WHATWG standard; nothing is guessed
	Invalid string            // what to do with files that are not text in their charset: skip (default), replace, error
	Formats map[string]string // pattern → name of the reader, for files whose ending does not tell

	// ACL gives permissions by path: pattern → labels of those who may read the files. It is for
	// formats without front matter and for whole folders. It only takes readers away: a document
	// with labels of its own, and one under several patterns, keeps those labels that all of them
	// name, and having none in common is an error, as is a pattern that matches no file.
	ACL map[string][]string
	// Supersedes names older documents for formats that cannot: path → paths. They add to those
	// that the document names itself.
	Supersedes map[string][]string

	IndexFrontMatter bool // let the front matter of a document be searched; by default it is metadata only
	TextHeadings     bool // take lines in capitals and underlined lines of plain text as headings

	MaxFileBytes int64    // longer files are skipped with a reason; 0 means 256 MiB
	Readers      []Reader `json:"-"` // the formats, in place of DefaultReaders

	reuse func(id DocumentID, version string) (Document, bool) // see Reusable
}

// Reusable is a Source that can take documents from an earlier load in place of reading their
// files again. Dir and FS return one.
type Reusable interface {
	Source
	// Reusing returns the source with reuse asked for each file before it is parsed: a document
	// of that id and version, as a source of the same Key returned it, is taken as it is. It must
	// not give a document that a warning named, since the warning would be lost. It is called
	// from several goroutines.
	Reusing(reuse func(id DocumentID, version string) (Document, bool)) Source
	// Key names all that decides what Load returns beside the files and the program: the options,
	// readers by their names. It is some 100 bytes of text.
	Key() string
}

var (
	_ Reusable = (*dirSource)(nil)
	_ Reusable = (*fsSource)(nil)
)

const defaultMaxFileBytes = 256 << 20

// Reader reads one format.
type Reader struct {
	Name       string   // as in Document.Format and Options.Formats
	Extensions []string // lower case with the dot
	Explicit   bool     // only files that Include or Formats name
	Bytes      bool     // wants the original bytes; Text stays empty

	// Read turns a file into documents, usually one. The loader fills what they leave empty:
	// ID, Version, Format, the file name as title, one section, Anchors.
	Read func(ctx context.Context, in *Input) ([]Document, error)
}

// Input is one file for a Reader.
type Input struct {
	Path    string // slash path relative to the root, NFC
	Raw     []byte // the bytes of the file
	Text    string // normalised text; empty if the reader wants bytes
	Options Options

	warnings []error
	anchors  []Anchor
	replaced int
}

// Warn records a problem that does not stop the load. line is that of the file, 0 for none.
func (in *Input) Warn(line int, format string, args ...any) {
	in.warnings = append(in.warnings, &FileError{Path: in.Path, Line: line, Msg: fmt.Sprintf(format, args...)})
}

// Fail returns a *FileError at a line of the file, 0 for none.
func (in *Input) Fail(line int, format string, args ...any) error {
	return &FileError{Path: in.Path, Line: line, Msg: fmt.Sprintf(format, args...)}
}

// FileError is a fault, or in Collection.Warnings a remark, with its place.
type FileError struct {
	Path string
	Line int // from 1; 0: the whole file
	Msg  string
	Err  error // cause, may be nil
}

func (e *FileError) Error() string {
	place := e.Path
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.Path, e.Line)
	}
	if e.Err != nil && e.Msg == "" {
		return place + ": " + e.Err.Error()
	}
	if e.Err != nil {
		return place + ": " + e.Msg + ": " + e.Err.Error()
	}
	return place + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// skipError makes the loader list the file instead of failing.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

// Skip returns an error with which a reader declines a file: it is listed in Skipped.
func (in *Input) Skip(format string, args ...any) error {
	return &skipError{fmt.Sprintf(format, args...)}
}

// Dir reads the files below a folder, or one file, whatever Include and Exclude say of it.
// Symbolic links are followed where they stay
// inside the folder and lead to a file; others are skipped with a reason. What is not a regular
// file is never opened.
func Dir(root string, o Options) Source { return &dirSource{root: root, o: o} }

// FS reads the files of a file system; name becomes the collection's name.
func FS(name string, fsys fs.FS, o Options) Source { return &fsSource{name: name, fsys: fsys, o: o} }

type dirSource struct {
	root string
	o    Options
}

func (s *dirSource) Load(ctx context.Context) (*Collection, error) {
	info, err := os.Stat(s.root)
	if err != nil {
		return nil, fmt.Errorf("corpus %s: %w", s.root, err)
	}
	abs, err := filepath.Abs(s.root)
	if err != nil {
		return nil, fmt.Errorf("corpus %s: %w", s.root, err)
	}
	o := s.o
	dir, name := abs, filepath.Base(abs)
	if !info.IsDir() {
		dir = filepath.Dir(abs)
		o.Include, o.Exclude = []string{globEscape(name)}, nil // it was named
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("corpus %s: %w", s.root, err)
	}
	defer root.Close()
	o.Ignore = slices.Clone(o.Ignore)
	for _, p := range s.o.Ignore {
		if full, err := filepath.Abs(p); err == nil {
			if rel, err := filepath.Rel(dir, full); err == nil && filepath.IsLocal(rel) {
				o.Ignore = append(o.Ignore, globEscape(filepath.ToSlash(rel)))
			}
		}
	}
	ls := fsSource{name: name, fsys: root.FS(), o: o}
	if !info.IsDir() {
		ls.only = filepath.Base(abs)
	}
	return ls.Load(ctx)
}

// globEscape makes a pattern that matches exactly name.
func globEscape(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`*?[\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (s *dirSource) Reusing(reuse func(DocumentID, string) (Document, bool)) Source {
	again := *s
	again.o.reuse = reuse
	return &again
}

func (s *dirSource) Key() string { return s.o.key() }

func (s *fsSource) Reusing(reuse func(DocumentID, string) (Document, bool)) Source {
	again := *s
	again.o.reuse = reuse
	return &again
}

func (s *fsSource) Key() string { return s.o.key() }

// key is the JSON of the options, readers as their names.
func (o Options) key() string {
	readers := o.Readers
	if readers == nil {
		readers = DefaultReaders()
	}
	o.Readers = nil
	var names []string
	for _, r := range readers {
		names = append(names, r.Name)
	}
	data, err := json.Marshal(struct {
		Options Options
		Readers []string
	}{o, names})
	if err != nil {
		panic("corpus: options always encode: " + err.Error())
	}
	return string(data)
}

type fsSource struct {
	name string
	fsys fs.FS
	o    Options
	only string // the one file to read, "" for all
}

// entry is one file to read.
type entry struct {
	name   string // in the file system
	id     string // NFC
	reader *Reader
	enc    encoding.Encoding
}

func (s *fsSource) Load(ctx context.Context) (*Collection, error) {
	o := s.o
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = defaultMaxFileBytes
	}
	if o.Readers == nil {
		o.Readers = DefaultReaders()
	}
	c := &Collection{Name: s.name}
	entries, err := s.list(ctx, o, c)
	if err != nil {
		return nil, err
	}
	type result struct {
		docs     []Document
		warnings []error
		skipped  string
		err      error
	}
	results := make([]result, len(entries))
	rules := o.rules()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(entries)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(entries) || ctx.Err() != nil {
					return
				}
				r := &results[i]
				r.docs, r.warnings, r.err = s.read(ctx, o, &entries[i])
				var skip *skipError
				if errors.As(r.err, &skip) {
					r.skipped, r.err = skip.reason, nil
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var errs []error
	for i := range results {
		r := &results[i]
		errs = append(errs, r.err)
		c.Warnings = append(c.Warnings, r.warnings...)
		rules.see(entries[i].id)
		for k := range r.docs {
			errs = append(errs, rules.narrow(entries[i].id, &r.docs[k]))
		}
		if r.skipped != "" {
			c.Skipped = append(c.Skipped, Skipped{entries[i].id, r.skipped})
		}
		c.Documents = append(c.Documents, r.docs...)
	}
	slices.SortFunc(c.Skipped, func(a, b Skipped) int { return strings.Compare(a.Path, b.Path) })
	for _, skipped := range c.Skipped {
		rules.see(skipped.Path)
	}
	slices.SortStableFunc(c.Documents, byID)
	errs = append(errs, rules.finish(c), c.finish())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// Validate reports options that no load can follow.
func (o Options) Validate() error {
	errs := []error{
		checkGlobs("include", o.Include), checkGlobs("exclude", o.Exclude),
	}
	for _, pattern := range slices.Sorted(maps.Keys(o.Charset)) {
		errs = append(errs, checkGlobs("charset", []string{pattern}))
		if _, err := lookupCharset(o.Charset[pattern]); err != nil {
			errs = append(errs, fmt.Errorf("charset of %q: %w", pattern, err))
		}
	}
	errs = append(errs, o.checkRules()...)
	switch o.Invalid {
	case "", InvalidSkip, InvalidReplace, InvalidError:
	default:
		errs = append(errs, fmt.Errorf("invalid is %q: use %s, %s or %s", o.Invalid, InvalidSkip, InvalidReplace, InvalidError))
	}
	readers := o.Readers
	if readers == nil {
		readers = DefaultReaders()
	}
	for _, pattern := range slices.Sorted(maps.Keys(o.Formats)) {
		errs = append(errs, checkGlobs("formats", []string{pattern}))
		if readerNamed(readers, o.Formats[pattern]) == nil {
			var names []string
			for _, r := range readers {
				names = append(names, r.Name)
			}
			errs = append(errs, fmt.Errorf("format of %q is %q: use one of %s", pattern, o.Formats[pattern], strings.Join(names, ", ")))
		}
	}
	if o.MaxFileBytes < 0 {
		errs = append(errs, fmt.Errorf("max file size is %d bytes: it must not be negative", o.MaxFileBytes))
	}
	return errors.Join(errs...)
}

func readerNamed(readers []Reader, name string) *Reader {
	for i := range readers {
		if readers[i].Name == name {
			return &readers[i]
		}
	}
	return nil
}

// list walks the tree in lexical order and decides what is read. The file system is never
// changed by it, and nothing that is not a regular file is opened.
func (s *fsSource) list(ctx context.Context, o Options, c *Collection) ([]entry, error) {
	var entries []entry
	skip := func(id, format string, args ...any) {
		c.Skipped = append(c.Skipped, Skipped{id, fmt.Sprintf(format, args...)})
	}
	err := fs.WalkDir(s.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
		if err != nil {
			return fmt.Errorf("corpus %s: %w", s.name, err)
		}
		if name == "." {
			return nil
		}
		if s.only != "" && name != s.only {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasPrefix(e.Name(), ".") && s.only == "" && !includesHidden(o.Include, name) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !utf8.ValidString(name) {
			if e.IsDir() {
				skip(strings.ToValidUTF8(name, "\uFFFD"), "folder name is not valid UTF-8")
				return fs.SkipDir
			}
			skip(strings.ToValidUTF8(name, "\uFFFD"), "file name is not valid UTF-8")
			return nil
		}
		id := Normalize(name)
		if e.IsDir() {
			if matchAny(o.Exclude, id) || matchAny(o.Ignore, id) {
				return fs.SkipDir
			}
			return nil
		}
		if matchAny(o.Exclude, id) || matchAny(o.Ignore, id) {
			return nil
		}
		included := len(o.Include) == 0 || matchAny(o.Include, id)
		if !included {
			return nil
		}
		if strings.ContainsFunc(id, unicode.IsControl) {
			skip(id, "file name contains control characters")
			return nil
		}
		r := chooseReader(o, id)
		if r == nil {
			if ext := path.Ext(id); ext != "" {
				skip(id, "no reader for files ending in %s: name one in formats", ext)
			} else {
				skip(id, "no reader for files without an ending: name one in formats")
			}
			return nil
		}
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := fs.Stat(s.fsys, name)
			switch {
			case err != nil && errors.Is(err, fs.ErrNotExist):
				skip(id, "symbolic link to nothing")
				return nil
			case err != nil:
				skip(id, "symbolic link that leads out of the corpus or cannot be followed")
				return nil
			case !info.Mode().IsRegular():
				skip(id, "symbolic link to what is not a regular file")
				return nil
			}
		} else if !e.Type().IsRegular() {
			skip(id, "not a regular file")
			return nil
		}
		enc, err := charsetOf(o, id)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: name, id: id, reader: r, enc: enc})
		return nil
	})
	return entries, err
}

// includesHidden reports whether a pattern names the dotted part of name literally.
func includesHidden(include []string, name string) bool {
	for _, p := range include {
		for part := range strings.SplitSeq(p, "/") {
			if strings.HasPrefix(part, ".") && len(part) > 1 && part != ".." {
				for have := range strings.SplitSeq(name, "/") {
					if ok, _ := path.Match(part, have); ok {
						return true
					}
				}
			}
		}
	}
	return false
}

func chooseReader(o Options, id string) *Reader {
	for _, pattern := range slices.Sorted(maps.Keys(o.Formats)) {
		if matchGlob(pattern, id) {
			return readerNamed(o.Readers, o.Formats[pattern])
		}
	}
	ext := strings.ToLower(path.Ext(id))
	for i := range o.Readers {
		r := &o.Readers[i]
		if slices.Contains(r.Extensions, ext) && (!r.Explicit || len(o.Include) > 0) {
			return r
		}
	}
	return nil
}

// charsetOf returns the declared charset: of several patterns the last in byte order decides.
func charsetOf(o Options, id string) (encoding.Encoding, error) {
	name := ""
	for _, pattern := range slices.Sorted(maps.Keys(o.Charset)) {
		if matchGlob(pattern, id) {
			name = o.Charset[pattern]
		}
	}
	return lookupCharset(name)
}

// read reads one file.
func (s *fsSource) read(ctx context.Context, o Options, e *entry) ([]Document, []error, error) {
	raw, err := s.readFile(o, e)
	if err != nil {
		return nil, nil, err
	}
	return readBytes(ctx, o, e, raw)
}

func readBytes(ctx context.Context, o Options, e *entry, raw []byte) ([]Document, []error, error) {
	if isReport(raw) {
		return nil, nil, &skipError{"a report that assay wrote"}
	}
	sum := sha256.Sum256(raw)
	version := hex.EncodeToString(sum[:])
	if o.reuse != nil {
		if d, ok := o.reuse(DocumentID(e.id), version); ok && d.ID == DocumentID(e.id) && d.Version == version {
			return []Document{d}, nil, nil
		}
	}
	in := &Input{Path: e.id, Raw: raw, Options: o}
	if !e.reader.Bytes {
		var err error
		in.Text, in.anchors, in.replaced, err = decode(raw, e.enc, o.Invalid == InvalidReplace)
		if err != nil {
			if o.Invalid == InvalidError {
				return nil, nil, &FileError{Path: e.id, Msg: err.Error() + ": convert the file, declare its charset, or set invalid to skip or replace"}
			}
			return nil, nil, &skipError{err.Error()}
		}
		if in.replaced > 0 {
			in.Warn(0, "%d invalid bytes were replaced by U+FFFD", in.replaced)
		}
	}
	docs, err := e.reader.Read(ctx, in)
	if err != nil {
		return nil, in.warnings, err
	}
	for i := range docs {
		complete(&docs[i], in, e.reader.Name, version)
	}
	return docs, in.warnings, nil
}

func (s *fsSource) readFile(o Options, e *entry) ([]byte, error) {
	f, err := s.fsys.Open(e.name)
	if err != nil {
		return nil, &FileError{Path: e.id, Err: err, Msg: "cannot be opened"}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &FileError{Path: e.id, Err: err, Msg: "cannot be examined"}
	}
	if !info.Mode().IsRegular() {
		return nil, &skipError{"not a regular file"} // replaced since it was listed
	}
	tooLong := &skipError{fmt.Sprintf("longer than the limit of %d bytes: split it or raise the limit", o.MaxFileBytes)}
	if info.Size() > o.MaxFileBytes {
		return nil, tooLong
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(f, o.MaxFileBytes+1)); err != nil {
		return nil, &FileError{Path: e.id, Err: err, Msg: "cannot be read"}
	}
	if int64(b.Len()) > o.MaxFileBytes {
		return nil, tooLong // it grew
	}
	return b.Bytes(), nil
}

// complete fills what a reader left empty.
func complete(d *Document, in *Input, format, version string) {
	if d.ID == "" {
		d.ID = DocumentID(in.Path)
	}
	if d.Version == "" {
		d.Version = version
	}
	if d.Format == "" {
		d.Format = format
	}
	if d.Anchors == nil && d.Text == in.Text {
		d.Anchors = in.anchors
	}
	if len(d.Sections) == 0 {
		d.Sections = []Section{{Span: Span{0, len(d.Text)}, Body: d.Body, Parent: -1}}
	}
	if d.Title == "" {
		for i := 1; i < len(d.Sections); i++ {
			if d.Sections[i].Level == 1 {
				d.Title = plainTitle(d.Sections[i].Path)
				break
			}
		}
	}
	if d.Title == "" {
		base := path.Base(string(d.ID))
		d.Title = strings.TrimSuffix(base, path.Ext(base))
		if d.Title == "" {
			d.Title = base
		}
	}
}

// plainTitle is the last title of path. A level-1 heading is the first of its name unless an
// equal one came before it, so the first never carries a number of its own.
func plainTitle(path []string) string { return path[len(path)-1] }

func byID(a, b Document) int { return strings.Compare(string(a.ID), string(b.ID)) }

// finish sorts the documents and checks what only the whole collection shows: ids that are
// given twice, superseded documents that do not exist, and circles of them.
func (c *Collection) finish() error {
	slices.SortStableFunc(c.Documents, byID)
	var errs []error
	for i := 1; i < len(c.Documents); i++ {
		if c.Documents[i].ID == c.Documents[i-1].ID && (i < 2 || c.Documents[i].ID != c.Documents[i-2].ID) {
			errs = append(errs, &FileError{Path: string(c.Documents[i].ID),
				Msg: "two documents have this id (names that differ only in Unicode composition are equal): rename one"})
		}
	}
	errs = append(errs, c.checkSupersedes()...)
	return errors.Join(errs...)
}
