package lexical

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	api "github.com/blevesearch/bleve_index_api"

	"github.com/seed792a4543/assay/internal/disk"
)

// These bound the chunks one worker holds; a batch becomes one segment, and all segments become
// one at the end. Where a batch ends depends on the chunks alone: not on the machine, so that
// neither do the bytes, and mostly not on chunks far away, so that a change leaves most batches
// as they were (see Segments).
const (
	batchLeast = 128      // chunks, before which no batch ends
	batchEvery = 128      // of the chunks after that one in so many, by a hash of its id, begins a new batch
	batchMost  = 4096     // chunks
	batchBytes = 16 << 20 // of text
)

// BuildOptions are what the result of a build does not depend on.
type BuildOptions struct {
	Segments *Segments // nil: nothing is taken over from an earlier build
}

// Build writes the index of docs to the folder dir, which it makes; dir must be missing or empty.
// docs are numbered in the order given and must come in ascending byte-wise order of their ids;
// they are ranged over twice when the analyzer is auto, so the sequence must repeat itself.
//
// The same docs and settings give the same bytes on any machine and number of cores. Memory is
// bounded by the batches in work and by 4 bytes a chunk and 8 bytes a term, not by the text. On
// error, a cancelled context included, dir may hold parts, which the caller removes.
func Build(ctx context.Context, fsys *disk.FS, dir string, docs iter.Seq[Doc], s Settings) (Stats, error) {
	return BuildWith(ctx, fsys, dir, docs, s, BuildOptions{})
}

// BuildWith is Build with options.
func BuildWith(ctx context.Context, fsys *disk.FS, dir string, docs iter.Seq[Doc], s Settings, o BuildOptions) (Stats, error) {
	if err := s.Validate(); err != nil {
		return Stats{}, err
	}
	s = s.WithDefaults()
	stats, err := build(ctx, fsys, dir, docs, s, o)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return Stats{}, fmt.Errorf("build lexical index %s: %w", dir, err)
	}
	return stats, nil
}

func build(ctx context.Context, fsys *disk.FS, dir string, docs iter.Seq[Doc], s Settings, o BuildOptions) (stats Stats, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return stats, errors.New("the folder is not empty: give a new one")
	}
	scratch := filepath.Join(dir, "scratch")
	if err := errors.Join(fsys.MkdirAll(scratch), fsys.MkdirAll(filepath.Join(dir, storeDir))); err != nil {
		return stats, err
	}
	var p *profile
	if s.Analyzer == "auto" {
		if p = profileOf(docs); ctx.Err() != nil {
			return stats, ctx.Err()
		}
		s.Analyzer = p.analyzer()
	}
	a, err := NewAnalyzer(s)
	if err != nil {
		return stats, err
	}
	count := p == nil
	if count {
		p = newProfile()
	}
	all, err := json.Marshal(s)
	if err != nil {
		return stats, err
	}
	w := &writer{fsys: fsys, scratch: scratch, analyzer: a, title: *s.Title, heading: *s.Heading,
		kept: o.Segments, list: o.Segments.list(), settings: string(all)}
	if err := w.run(ctx, docs, func(d *Doc) {
		if count {
			p.add(d.Title)
			p.add(d.Heading)
			p.add(d.Body)
		}
	}); err != nil {
		return stats, err
	}
	stats = Stats{
		Model: Model, Library: library(), Analyzer: s.Analyzer, Settings: s, Chunks: w.docs,
		TitleWords: w.words[0], HeadingWords: w.words[1], BodyWords: w.words[2],
		CJK: p.cjkShare(), Warnings: p.warnings(s),
	}
	if w.docs > 0 {
		segmentPath := filepath.Join(dir, storeDir, segmentName)
		if err := fsys.Step(disk.OpCreate, segmentPath); err != nil {
			return stats, err
		}
		if len(w.segments) == 1 {
			// Too little to be worth keeping.
			err = fsys.Rename(w.segments[0].path, segmentPath)
		} else {
			err = mergeSegments(w.segments, segmentPath)
			if err == nil {
				if kerr := o.Segments.keep(fsys, w.segments); kerr != nil && o.Segments.Failed != nil {
					o.Segments.Failed(kerr)
				}
			}
		}
		if err != nil {
			return stats, err
		}
		if err := settle(fsys, segmentPath); err != nil {
			return stats, err
		}
		if err := writeEnvelope(fsys, dir, scratch); err != nil {
			return stats, err
		}
	}
	if ctx.Err() != nil {
		return stats, ctx.Err()
	}
	if err := writePostings(ctx, fsys, dir, scratch, &stats); err != nil {
		return stats, err
	}
	if err := fsys.RemoveAll(scratch); err != nil {
		return stats, err
	}
	return stats, fsys.SyncTree(dir)
}

// writer turns documents into segments.
type writer struct {
	fsys           *disk.FS
	scratch        string
	analyzer       *Analyzer
	title, heading int
	kept           *Segments
	list           map[string]segmentInfo // of kept
	settings       string                 // all of them, as text

	segments []*piece
	docs     int
	words    [3]int64 // title, heading, body

	mu  sync.Mutex
	err error
}

// piece is the segment of one batch.
type piece struct {
	path  string
	key   string   // names it in Segments
	words [3]int64 // title, heading, body
	found bool     // path is in Segments
}

type batch struct {
	*piece
	docs []Doc
}

// ends reports whether a batch of n chunks and size bytes of text ends before the chunk of that id.
func ends(n, size int, id string) bool {
	switch {
	case n >= batchMost || size >= batchBytes:
		return true
	case n < batchLeast:
		return false
	}
	h := fnv.New32a()
	_, _ = io.WriteString(h, id) // a hash does not fail
	return h.Sum32()%batchEvery == 0
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// run cuts docs into batches and writes one segment of each, as many at a time as there are
// cores. see is called with every document, in order, from this goroutine.
func (w *writer) run(ctx context.Context, docs iter.Seq[Doc], see func(*Doc)) error {
	work := make(chan batch)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			s := scanner{a: w.analyzer, words: map[string]forms{}}
			for b := range work {
				if ctx.Err() != nil || w.failed() != nil {
					continue
				}
				if err := w.write(ctx, &s, b); err != nil {
					w.fail(err)
				}
			}
		})
	}
	var b batch
	size := 0
	flush := func() {
		if len(b.docs) == 0 {
			return
		}
		b.piece = &piece{path: filepath.Join(w.scratch, fmt.Sprintf("%08d.zap", len(w.segments)))}
		w.segments = append(w.segments, b.piece)
		work <- b
		b, size = batch{}, 0
	}
	last := ""
	for d := range docs {
		if ctx.Err() != nil || w.failed() != nil {
			break
		}
		if d.ID == "" || w.docs > 0 && d.ID <= last {
			w.fail(fmt.Errorf("chunk id %q does not follow %q: give unique ids in ascending byte-wise order", d.ID, last))
			break
		}
		if w.docs == maxDocs {
			w.fail(fmt.Errorf("more than %d chunks do not fit into one build: split the corpus", maxDocs))
			break
		}
		last = d.ID
		w.docs++
		see(&d)
		if ends(len(b.docs), size, d.ID) {
			flush()
		}
		b.docs = append(b.docs, d)
		size += len(d.Title) + len(d.Heading) + len(d.Body)
	}
	flush()
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, p := range w.segments {
		for i, n := range p.words {
			w.words[i] += n
		}
	}
	return w.failed()
}

// maxDocs keeps ordinals in 31 bits, as the segment library does.
const maxDocs = 1<<31 - 1

func (w *writer) write(ctx context.Context, s *scanner, b batch) error {
	if w.find(b) {
		return nil
	}
	out := make([]api.Document, len(b.docs))
	var words [3]int64
	var slab []api.TokenFreq // room for the next ones
	for i := range b.docs {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		d := &b.docs[i]
		f := &analysed{freqs: api.TokenFrequencies{}}
		for j, part := range [...]struct {
			text   string
			weight int
		}{{d.Title, w.title}, {d.Heading, w.heading}, {d.Body, 1}} {
			if part.weight == 0 || part.text == "" {
				continue
			}
			n := 0
			s.scan(part.text, func(term string, variant bool) {
				if !variant {
					n++
				}
				tf := f.freqs[term]
				if tf == nil {
					if len(slab) == cap(slab) {
						slab = make([]api.TokenFreq, 0, 128)
					}
					// The segment writer only reads the term, so it needs no copy.
					slab = append(slab, api.TokenFreq{Term: unsafe.Slice(unsafe.StringData(term), len(term))})
					tf = &slab[len(slab)-1]
					f.freqs[term] = tf
				}
				tf.SetFrequency(tf.Frequency() + part.weight)
			})
			words[j] += int64(n)
			f.length += n * part.weight
		}
		out[i] = newDocument(d.ID, f)
	}
	if err := w.fsys.Step(disk.OpCreate, b.path); err != nil {
		return err
	}
	b.words = words
	return writeSegment(b.path, out)
}
