package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/dense"
	"github.com/seed792a4543/assay/index/lexical"
)

// Build is a complete build of a store. It says nothing about whether the build is any good:
// that is for Validate to find out.
type Build struct {
	ID       string
	Manifest *index.Manifest
	Existed  bool // the same inputs had been built before; nothing was written

	Documents *corpus.Collection // what it was made from
	Reused    int                // documents that were taken over from the build made before
}

// Build makes a build from the documents of source, beside the live one, and returns its
// description. The same documents and settings give the same id and the same bytes; if the
// store already holds that build, it is returned as it is. Nothing becomes live.
//
// What has not changed since the build that was made last in the store is taken over from it
// where it is sure to be the same: a document whose bytes are the same and that the same program
// read with the same options is not parsed again; its chunks and vectors follow where chunk
// settings and model are the same too. Options.Fresh turns that off; the bytes do not change.
//
// An empty corpus, a repeated chunk id, a document that cannot be read as its permissions
// demand, or an embedder that fails are errors, and leave the store as it was.
func (e *Engine) Build(ctx context.Context, source corpus.Source, settings Settings) (b *Build, err error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	s := settings.WithDefaults()
	e.o.Progress(Progress{Stage: "read"})
	before := e.openEarlier(source, s)
	defer func() { err = errors.Join(err, before.close()) }()
	from := source
	if before != nil {
		from = source.(corpus.Reusable).Reusing(before.find)
	}
	docs, err := from.Load(ctx)
	if err != nil {
		return nil, err
	}
	if len(docs.Documents) == 0 {
		msg := fmt.Sprintf("corpus %s holds no documents that match include %v", docs.Name, s.Corpus.Include)
		if n := len(docs.Skipped); n > 0 {
			msg += fmt.Sprintf("; %d files were skipped, the first: %s (%s)", n, docs.Skipped[0].Path, docs.Skipped[0].Reason)
		}
		return nil, badInput("%s: check corpus.path and corpus.include", msg)
	}
	e.o.Progress(Progress{Stage: "read", Done: len(docs.Documents), Total: len(docs.Documents)})
	chunks, err := e.split(ctx, docs, s.Chunk, before)
	if err != nil {
		return nil, err
	}
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return nil, err
	}
	b, err = e.write(ctx, docs, chunks, s, settings, before, e.segments())
	if err == nil {
		b.Documents, b.Reused = docs, before.reused()
		e.noteMade(b, source, docs)
	}
	return b, errors.Join(err, unlock())
}

// split chunks every document, in parallel, and returns the chunks in the order of their ids.
// Those that before has, which may be nil, are taken over.
func (e *Engine) split(ctx context.Context, docs *corpus.Collection, s chunk.Settings, before *earlier) ([]chunk.Chunk, error) {
	parts := make([][]chunk.Chunk, len(docs.Documents))
	errs := make([]error, len(docs.Documents))
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(docs.Documents)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(parts) || ctx.Err() != nil {
					return
				}
				var ok bool
				if parts[i], ok = before.chunksOf(&docs.Documents[i]); !ok {
					parts[i], errs[i] = chunk.Split(&docs.Documents[i], s)
				}
				if n := done.Add(1); n%256 == 0 || int(n) == len(parts) {
					e.o.Progress(Progress{Stage: "chunk", Done: int(n), Total: len(parts)})
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", docs.Documents[i].ID, err)
		}
	}
	chunks := slices.Concat(parts...)
	slices.SortFunc(chunks, func(a, b chunk.Chunk) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i := 1; i < len(chunks); i++ {
		if a, b := chunks[i-1], chunks[i]; a.ID == b.ID {
			return nil, fmt.Errorf("chunk id %s is given twice, by %s and %s", a.ID, a.Doc, b.Doc)
		}
	}
	return chunks, nil
}

// buildID is the first 12 hex digits of the digest of everything that decides a build's
// content.
func buildID(corpusDigest string, settings json.RawMessage, fp *index.Fingerprint) (string, error) {
	data, err := json.Marshal(struct {
		Corpus   string             `json:"corpus"`
		Settings json.RawMessage    `json:"settings"`
		Embedder *index.Fingerprint `json:"embedder"`
		Format   int                `json:"format"`
		Feature  int                `json:"feature"`
	}{corpusDigest, settings, fp, index.Format, index.Feature})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:12], nil
}

// write makes the build's folder under a temporary name and renames it in. The caller holds
// the writer's lock.
func (e *Engine) write(ctx context.Context, docs *corpus.Collection, chunks []chunk.Chunk, s, given Settings, before *earlier, segments *lexical.Segments) (*Build, error) {
	stored, err := json.Marshal(s.buildSettings())
	if err != nil {
		return nil, err
	}
	m := &index.Manifest{
		Settings: stored,
		Corpus:   index.CorpusInfo{Name: docs.Name, Digest: docs.Digest()},
		Counts:   index.Counts{Documents: len(docs.Documents), Chunks: len(chunks), Lexical: len(chunks)},
	}
	for _, d := range docs.Documents {
		m.Counts.TextBytes += int64(len(d.Text))
	}
	for _, sk := range docs.Skipped {
		m.Corpus.Skipped = append(m.Corpus.Skipped, index.Skipped{Path: sk.Path, Reason: sk.Reason})
	}
	for _, w := range docs.Warnings {
		m.Warnings = append(m.Warnings, w.Error())
	}
	m.Warnings = append(m.Warnings, duplicates(docs, chunks)...)

	if id := before.again(m, s, e.o); id != "" {
		if b, _, err := e.existing(ctx, id); b != nil || err != nil {
			return b, err
		}
	}
	tmp := e.path(buildsName, fmt.Sprintf("%s%d", tempPrefix, os.Getpid()))
	if err := e.fsys.RemoveAll(tmp); err != nil {
		return nil, err
	}
	if err := e.fsys.MkdirAll(tmp); err != nil {
		return nil, err
	}
	b, err := e.writeInto(ctx, tmp, m, docs, chunks, s, given, before, segments)
	if err != nil || b.Existed {
		return b, errors.Join(err, e.fsys.RemoveAll(tmp))
	}
	return b, nil
}

func (e *Engine) writeInto(ctx context.Context, tmp string, m *index.Manifest, docs *corpus.Collection, chunks []chunk.Chunk, s, given Settings, before *earlier, segments *lexical.Segments) (*Build, error) {
	titles := make(map[corpus.DocumentID]string, len(docs.Documents))
	for _, d := range docs.Documents {
		titles[d.ID] = d.Title
	}
	e.o.Progress(Progress{Stage: "index", Total: len(chunks)})
	for i := range chunks {
		c := &chunks[i]
		c.Bare = c.Bare && s.Chunk.Prefix != chunk.PrefixNone && s.Chunk.Prefix != chunk.PrefixTitle
	}
	indexed := func(i int) lexical.Doc {
		c := &chunks[i]
		if c.Bare {
			// The chunks below it carry its words in their context. By itself it would
			// take a place in the results and say nothing.
			return lexical.Doc{ID: string(c.ID)}
		}
		return indexedDoc(string(c.ID), titles[c.Doc], c.Context, c.Text)
	}
	all := func(yield func(lexical.Doc) bool) {
		for i := range chunks {
			if !yield(indexed(i)) {
				return
			}
		}
	}
	words := func(ctx context.Context) (lexical.Stats, error) {
		stats, err := lexical.BuildWith(ctx, e.fsys, filepath.Join(tmp, lexicalDir), all, s.Lexical, lexical.BuildOptions{Segments: segments})
		if err != nil {
			return stats, fmt.Errorf("lexical index: %w", err)
		}
		e.o.Progress(Progress{Stage: "index", Done: len(chunks), Total: len(chunks)})
		return stats, nil
	}
	made := &index.Manifest{} // what the vectors add to m
	vectors := func(ctx context.Context, stats lexical.Stats) error {
		err := e.writeVectors(ctx, tmp, made, chunkTexts{len(chunks), indexed}, fitted(docs, chunks, s), stats, s, given, before.rows(chunks))
		return atChunk(err, docs, chunks)
	}
	var stats lexical.Stats
	var err error
	switch {
	case s.Embed.Kind == "none":
		stats, err = words(ctx)
	case e.o.Embedder == nil && s.Embed.Kind == "builtin":
		// Its terms are those of the analyser that the words turn out to need.
		if stats, err = words(ctx); err == nil {
			err = vectors(ctx, stats)
		}
	default:
		stats, err = sideBySide(ctx, words, func(ctx context.Context) error { return vectors(ctx, lexical.Stats{}) })
	}
	if err != nil {
		return nil, err
	}
	if m.Lexical, err = json.Marshal(stats); err != nil {
		return nil, err
	}
	m.Embedder, m.Counts.Vectors, m.Counts.WithoutVector = made.Embedder, made.Counts.Vectors, made.Counts.WithoutVector
	m.Warnings = append(append(m.Warnings, stats.Warnings...), made.Warnings...)
	if m.ID, err = buildID(m.Corpus.Digest, m.Settings, m.Embedder); err != nil {
		return nil, err
	}
	have, damaged, err := e.existing(ctx, m.ID)
	if have != nil || err != nil {
		return have, err
	}

	e.o.Progress(Progress{Stage: "write"})
	if err := writeDocuments(e.fsys, tmp, docs.Documents); err != nil {
		return nil, err
	}
	if err := writeChunks(e.fsys, tmp, docs.Documents, chunks); err != nil {
		return nil, err
	}
	if m.Files, err = digestTree(tmp); err != nil {
		return nil, err
	}
	if err := m.Write(e.fsys, filepath.Join(tmp, index.ManifestName)); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.fsys.SyncTree(tmp); err != nil {
		return nil, err
	}
	final := e.buildDir(m.ID)
	if damaged {
		if err := e.mend(tmp, final, m); err != nil {
			return nil, err
		}
	} else if err := e.fsys.Rename(tmp, final); err != nil {
		return nil, err
	}
	e.o.Progress(Progress{Stage: "write", Done: 1, Total: 1})
	return &Build{ID: m.ID, Manifest: m}, nil
}

// sideBySide indexes words while vectors are made, which may mean waiting for a server. The first
// that fails ends the other; its error is returned.
func sideBySide(ctx context.Context, words func(context.Context) (lexical.Stats, error), vectors func(context.Context) error) (lexical.Stats, error) {
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := make(chan error, 1)
	go func() {
		err := vectors(both)
		if err != nil {
			cancel(err)
		}
		failed <- err
	}()
	stats, err := words(both)
	if err != nil {
		cancel(err)
	}
	other := <-failed
	if err == nil && other == nil {
		return stats, nil
	}
	return stats, context.Cause(both)
}

// existing returns build id if the store holds it whole, and makes it the newest, which is what
// commands take that are given no build; nil if it is missing or damaged.
func (e *Engine) existing(ctx context.Context, id string) (b *Build, damaged bool, err error) {
	dir := e.buildDir(id)
	if _, err := os.Stat(dir); err != nil {
		return nil, false, nil
	}
	if len(e.checkBuild(ctx, id, e.o)) > 0 {
		return nil, true, nil
	}
	manifest := filepath.Join(dir, index.ManifestName)
	m, err := index.ReadManifest(manifest)
	if err == nil {
		now := e.o.Now()
		err = os.Chtimes(manifest, now, now)
	}
	return &Build{ID: id, Manifest: m, Existed: true}, false, err
}

// mend puts the files of the build in tmp in the place of those of the damaged one in final, one
// after the other: they are the same bytes, so that what has been mended when it is interrupted
// stays so, and the build's verdicts stay where they are.
func (e *Engine) mend(tmp, final string, m *index.Manifest) error {
	want := map[string]index.FileInfo{}
	for _, f := range m.Files {
		want[f.Name] = f
	}
	for _, name := range append(sortedKeys(want), index.ManifestName) {
		to := filepath.Join(final, filepath.FromSlash(name))
		if info, err := os.Lstat(to); err == nil && info.IsDir() {
			if err := e.fsys.RemoveAll(to); err != nil {
				return err
			}
		}
		if err := e.fsys.MkdirAll(filepath.Dir(to)); err != nil {
			return err
		}
		if err := e.fsys.Rename(filepath.Join(tmp, filepath.FromSlash(name)), to); err != nil {
			return err
		}
	}
	for _, err := range extraFiles(final, want) {
		var extra *index.CorruptError
		if !errors.As(err, &extra) {
			return err
		}
		if err := e.fsys.RemoveAll(extra.File); err != nil {
			return err
		}
	}
	return e.fsys.RemoveAll(tmp)
}

// atChunk adds to an error about one of the embedded texts where that text stands.
func atChunk(err error, docs *corpus.Collection, chunks []chunk.Chunk) error {
	var t *chunkError
	if !errors.As(err, &t) {
		return err
	}
	return fmt.Errorf("%s: %w", placeOf(docs, &chunks[t.chunk]), err)
}

// fitted says which chunks a model may learn from; nil means all of them. With statistics per
// label those are the chunks that everyone may read: a model of the others would show in the
// scores of callers who may not read them.
func fitted(docs *corpus.Collection, chunks []chunk.Chunk, s Settings) []bool {
	if s.Lexical.Statistics != "per-label" {
		return nil
	}
	open := make(map[corpus.DocumentID]bool, len(docs.Documents))
	for i := range docs.Documents {
		open[docs.Documents[i].ID] = len(docs.Documents[i].ACL) == 0
	}
	out := make([]bool, len(chunks))
	for i := range chunks {
		out[i] = open[chunks[i].Doc]
	}
	return out
}

// chunkTexts are what is embedded for each chunk. They are made when they are asked for, since most of
// them exist nowhere as a whole.
type chunkTexts struct {
	n       int
	indexed func(i int) lexical.Doc
}

func (t chunkTexts) at(i int) string { return embeddedText(t.indexed(i)) }

// part returns the texts lo to hi, hi excluded.
func (t chunkTexts) part(lo, hi int) []string {
	out := make([]string, hi-lo)
	for i := range out {
		out[i] = t.at(lo + i)
	}
	return out
}

// embedPart is the number of texts whose vectors are in memory at a time.
const embedPart = 8192

// writeVectors embeds every chunk whose vector is not known and stores the vectors and, if it was
// fitted on the chunks that fit admits, the model.
func (e *Engine) writeVectors(ctx context.Context, tmp string, m *index.Manifest, chunks chunkTexts, fit []bool, stats lexical.Stats, s, given Settings, known *keptRows) (err error) {
	e.o.Progress(Progress{Stage: "embed", Total: chunks.n})
	source, err := e.embedderOf(ctx, tmp, chunks, fit, stats, s, given, known)
	if err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	var w *dense.Writer
	defer func() {
		if err != nil && w != nil {
			err = errors.Join(err, w.Discard())
		}
	}()
	unknown := 0
	for lo := 0; lo < chunks.n || w == nil; lo += embedPart {
		hi := min(lo+embedPart, chunks.n)
		rows, err := source.rows(ctx, lo, chunks.part(lo, hi))
		if err != nil {
			return fmt.Errorf("embed: %w", err)
		}
		if w == nil { // the dimension is known by now
			if w, err = dense.Create(e.fsys, filepath.Join(tmp, vectorsFile), source.embedder.Fingerprint().Dimension, chunks.n); err != nil {
				return err
			}
		}
		for i, row := range rows {
			if row == nil {
				m.Counts.WithoutVector++
				if chunks.indexed(lo+i).Body != "" {
					unknown++
				}
			}
		}
		if err := w.Append(ctx, rows); err != nil {
			return err
		}
		e.o.Progress(Progress{Stage: "embed", Done: hi, Total: chunks.n})
	}
	fp := source.embedder.Fingerprint()
	m.Embedder = &fp
	m.Counts.Vectors = chunks.n
	m.Warnings = append(m.Warnings, overlong(source.embedder, chunks, s.Embed.Overlong)...)
	if unknown > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d of %d chunks have no word that the embedder knows and can be found by words only", unknown, chunks.n))
	}
	if fp.Kind == "openai" || fp.Kind == "command" {
		if err := e.writeProbes(ctx, tmp, source.embedder); err != nil {
			return err
		}
	}
	done := w
	w = nil // Commit leaves nothing to discard
	return done.Commit(ctx)
}

// embeddedText is what is embedded for a chunk: the words that are indexed for it.
func embeddedText(d lexical.Doc) string {
	if d.Title != "" {
		return d.Title + "\n" + d.Heading + d.Body
	}
	return d.Heading + d.Body
}

// indexedDoc is what is indexed for a chunk. The title counts once: it is a field of its own
// only where neither the context nor the text shows it.
func indexedDoc(id, title, context, text string) lexical.Doc {
	d := lexical.Doc{ID: id, Heading: context, Body: text}
	if !strings.Contains(context, title) && !strings.Contains(text, title) {
		d.Title = title
	}
	return d
}

// digestTree lists every file below root with its size and digest, sorted by name.
func digestTree(root string) ([]index.FileInfo, error) {
	var out []index.FileInfo
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := digestFile(path)
		info.Name = filepath.ToSlash(rel)
		out = append(out, info)
		return err
	})
	slices.SortFunc(out, func(a, b index.FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func digestFile(path string) (index.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return index.FileInfo{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	return index.FileInfo{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, errors.Join(err, f.Close())
}

func errPath(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Path
	}
	return "a file"
}
