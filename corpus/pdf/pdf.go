// Package pdf reads the text of PDF documents.
//
// PDFium, the PDF engine of Chromium, does the work. It runs as WebAssembly inside a sandbox
// without files, network or clock, every document in an instance of its own with bounded memory
// and time, so that a hostile file can neither harm the program nor reach another document. The
// same bytes give the same text on every machine.
//
// The package is apart from package corpus so that programs that read no PDF do not carry
// PDFium, which adds about 12 MB to a binary. Add its reader to the others:
//
//	pdfs := pdf.New(pdf.Options{})
//	defer pdfs.Close()
//	source := corpus.Dir("docs", corpus.Options{
//		Include: []string{"**/*.md", "**/*.pdf"},
//		Readers: append(corpus.DefaultReaders(), pdfs.Reader()),
//	})
//
// # What the text is
//
// A PDF holds glyphs at places, not paragraphs. The reader keeps what the page shows and says
// where it has to guess:
//
//   - The order is that of the file, which is the order of reading in what programs write today,
//     columns included. Only inside a line are letters put in their places, where a program drew
//     some later than their neighbours, and Arabic and Hebrew in the order of reading. Lines stay lines; a paragraph ends at a
//     wider gap, another size of type or the end of the page.
//   - Sections come from the document's outline (its bookmarks), each at the line of its page that
//     shows the title. Without an outline, short lines that are set at least 15 % larger than most
//     of the text are headings, the largest size the first level, four levels at most. Where there
//     are none, each page is a section named "Page 3", counted from 1.
//   - Document.Position gives the number of the page as the line, and as the column the number of
//     the character on the page.
//   - A word that is cut by a hyphen at the end of a line is joined. The hyphen stays
//     where lower case meets a capital or a digit (north-\nEast), and where the document shows the
//     word with it, and not without, elsewhere.
//   - Ligatures become letters. Cells of a table stand in lines as they are drawn, separated by
//     blanks: that they are a table is not known. Headers, footers and page numbers are text.
//     Footnotes stand where they are drawn. Annotations, form fields, attachments and the text
//     inside images are not read.
//
// Files that need a password, that are damaged, that hold no text (scans), or whose fonts do not
// tell which letters their glyphs are, are listed as skipped with the reason; single pages that
// hold only images give a warning. There is no place for permissions in a PDF:
// give them with Options.ACL of package corpus.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/seed792a4543/assay/corpus"
)

// Options bound the work on one file. A file beyond a bound is listed as skipped. The zero value
// takes the defaults.
type Options struct {
	// CacheDir is a folder in which the compiled form of PDFium (about 22 MB of machine code) is
	// kept, so that later processes start in a fraction of a second; it is made if it is missing.
	// Only the user who runs the program may be able to write to it, since what lies in it is
	// executed. "" keeps nothing: the first PDF of a process then waits some seconds.
	CacheDir string

	MaxBytes  int           // size of a file; 0 means 128 MiB
	MaxPages  int           // 0 means 10,000
	MaxText   int           // characters of all pages together; 0 means 32 million
	MaxMemory int           // bytes that PDFium may take for one file, in steps of 64 KiB; 0 means 1 GiB
	Timeout   time.Duration // for one file; 0 means 5 minutes
}

func (o Options) withDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = 128 << 20
	}
	if o.MaxPages == 0 {
		o.MaxPages = 10_000
	}
	if o.MaxText == 0 {
		o.MaxText = 32_000_000
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = 1 << 30
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Minute
	}
	return o
}

// PDFium is the engine behind a reader. It is compiled when the first PDF is read. It is safe for
// concurrent use.
type PDFium struct {
	o Options

	mu     sync.Mutex
	pool   pdfium.Pool
	cache  wazero.CompilationCache
	closed bool
}

// New returns an engine that has done nothing yet. Close releases what reading makes it hold.
func New(o Options) *PDFium { return &PDFium{o: o.withDefaults()} }

// Reader returns the reader of PDF files. Since they cost a thousand times the work of a text, it
// reads only files that Include or Formats name.
func (p *PDFium) Reader() corpus.Reader {
	return corpus.Reader{Name: "pdf", Extensions: []string{".pdf"}, Explicit: true, Bytes: true, Read: p.read}
}

// Close releases the memory of the engine. Reading after it fails.
func (p *PDFium) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	if p.pool != nil {
		errs = append(errs, p.pool.Close())
	}
	if p.cache != nil {
		errs = append(errs, p.cache.Close(context.Background()))
	}
	p.pool, p.cache = nil, nil
	return errors.Join(errs...)
}

// zeros is the source of what PDFium takes for chance, so that a file gives the same text always.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// start compiles PDFium unless that was done.
func (p *PDFium) start() (pdfium.Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the PDF reader is closed")
	}
	if p.pool != nil {
		return p.pool, nil
	}
	if p.o.CacheDir != "" {
		if cache, err := openCache(p.o.CacheDir); err == nil {
			if pool, err := p.compile(cache); err == nil {
				p.pool, p.cache = pool, cache
				return pool, nil
			}
			// What lies in the folder may be damaged.
			_ = cache.Close(context.Background())
		}
	}
	pool, err := p.compile(nil)
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	p.pool = pool
	return pool, nil
}

// openCache refuses a folder that others may write to.
func openCache(dir string) (wazero.CompilationCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s may be written to by others", dir)
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

func (p *PDFium) compile(cache wazero.CompilationCache) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(uint32(max(p.o.MaxMemory>>16, 1))).
		WithCloseOnContextDone(true)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	workers := runtime.GOMAXPROCS(0)
	return webassembly.Init(webassembly.Config{
		Context:  experimental.WithCompilationWorkers(context.Background(), workers),
		MaxIdle:  0,
		MaxTotal: workers,
		FSConfig: wazero.NewFSConfig(), // no files
		Stdout:   io.Discard, Stderr: io.Discard,
		RandomSource:  zeros{},
		RuntimeConfig: config,
	})
}

func (p *PDFium) read(ctx context.Context, in *corpus.Input) ([]corpus.Document, error) {
	if len(in.Raw) > p.o.MaxBytes {
		return nil, in.Skip("PDF of %d bytes, more than %d: split it", len(in.Raw), p.o.MaxBytes)
	}
	pool, err := p.start()
	if err != nil {
		return nil, in.Fail(0, "%v", err)
	}
	limited, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	x, err := extract(limited, pool, in.Raw, p.o)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, in.Skip("PDF takes longer than %v to read: convert it to text", p.o.Timeout)
	}
	var skip *skipped
	switch {
	case errors.As(err, &skip):
		return nil, in.Skip("%s", skip.reason)
	case err != nil:
		return nil, in.Skip("PDF cannot be read: %v", err)
	}
	d, err := layout(x, in.Path)
	if errors.As(err, &skip) {
		return nil, in.Skip("%s", skip.reason)
	} else if err != nil {
		return nil, err
	}
	for _, w := range x.warnings {
		in.Warn(0, "%s", w)
	}
	return []corpus.Document{*d}, nil
}

// skipped is a file that holds nothing to read.
type skipped struct{ reason string }

func (s *skipped) Error() string { return s.reason }

func skip(format string, args ...any) error { return &skipped{fmt.Sprintf(format, args...)} }
