package engine

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/dense"
	"github.com/seed792a4543/assay/index/lexical"
)

// madeFile, in the store's cache, says how the build made last was made, so that the next one can
// take over what has not changed. A build's own files cannot say it: they are the same whoever
// makes them.
const madeFile = "made.json"

// made is the content of madeFile.
type made struct {
	Build   string              `json:"build"`
	Program string              `json:"program"` // SHA-256 of the executable: another version may read a file otherwise
	Source  string              `json:"source"`  // corpus.Reusable.Key
	Warned  []corpus.DocumentID `json:"warned"`  // documents with a warning, which are read again for its sake
	Sum     string              `json:"sum"`     // over the rest: what was damaged counts as missing
}

// summed returns m with its sum.
func (m made) summed() (made, error) {
	m.Sum = ""
	data, err := encode(m)
	if err != nil {
		return m, err
	}
	m.Sum = shortDigest(data)
	return m, nil
}

// programDigest identifies the running program; "" where its file cannot be read.
var programDigest = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := digestFile(path)
	if err != nil {
		return ""
	}
	return info.SHA256
})

func (s *store) madePath() string { return s.path("cache", madeFile) }

// noteMade records how b was made from docs. Nothing depends on it but the time the next build
// takes, so a failure is no error.
func (e *Engine) noteMade(b *Build, source corpus.Source, docs *corpus.Collection) {
	r, ok := source.(corpus.Reusable)
	if !ok || programDigest() == "" {
		return
	}
	m := made{Build: b.ID, Program: programDigest(), Source: r.Key()}
	for _, w := range docs.Warnings {
		var f *corpus.FileError
		if !errors.As(w, &f) {
			return
		}
		m.Warned = append(m.Warned, corpus.DocumentID(f.Path))
	}
	m, err := m.summed()
	var data []byte
	if err == nil {
		data, err = encode(m)
	}
	if err == nil {
		if err = e.fsys.MkdirAll(filepath.Dir(e.madePath())); err == nil {
			err = e.fsys.WriteFile(e.madePath(), data)
		}
	}
	if err != nil {
		e.o.Log.Warn("the next build will read every document again", "error", err.Error())
	}
}

// earlier is the build made last, as far as the next one may take it over. A nil *earlier has
// nothing to give.
type earlier struct {
	*content
	manifest *index.Manifest
	settings Settings
	warned   map[corpus.DocumentID]bool
	vectors  *dense.Index  // nil without vectors
	taken    []atomic.Bool // by document
	chunks   [][]uint32    // by document, ordinals; nil where chunks are cut otherwise now
	release  func() error
}

// openEarlier opens the build that was made last if this program made it from a source with the
// same options and its bytes are sound; else it returns nil, and all is made anew.
func (e *Engine) openEarlier(source corpus.Source, s Settings) *earlier {
	reusable, ok := source.(corpus.Reusable)
	if !ok || e.o.Fresh {
		return nil
	}
	var m made
	data, err := os.ReadFile(e.madePath())
	if err != nil || json.Unmarshal(data, &m) != nil || !buildIDPattern.MatchString(m.Build) {
		return nil
	}
	if want, err := m.summed(); err != nil || want.Sum != m.Sum {
		return nil
	}
	if m.Source != reusable.Key() || m.Program != programDigest() {
		return nil
	}
	release, err := e.use(m.Build)
	if err != nil {
		return nil
	}
	p := &earlier{release: release, warned: map[corpus.DocumentID]bool{}}
	if err := p.open(e.buildDir(m.Build), s); err != nil {
		e.o.Log.Warn("nothing is taken over from the last build", "build", m.Build, "error", errors.Join(err, p.close()).Error())
		return nil
	}
	for _, id := range m.Warned {
		p.warned[id] = true
	}
	return p
}

func (p *earlier) open(dir string, s Settings) (err error) {
	if p.manifest, err = index.ReadManifest(filepath.Join(dir, index.ManifestName)); err != nil {
		return err
	}
	if err := json.Unmarshal(p.manifest.Settings, &p.settings); err != nil {
		return err
	}
	for _, f := range p.manifest.Files {
		if f.Name != documentsFile && f.Name != chunksFile && f.Name != vectorsFile {
			continue
		}
		path := filepath.Join(dir, f.Name)
		if have, err := digestFile(path); err != nil {
			return err
		} else if have.SHA256 != f.SHA256 {
			return &index.CorruptError{File: path, Reason: "its SHA-256 is not the manifest's"}
		}
	}
	if p.content, err = openContent(dir); err != nil {
		return err
	}
	p.taken = make([]atomic.Bool, p.ndocs)
	if p.settings.Chunk.WithDefaults() == s.Chunk.WithDefaults() {
		p.chunks = make([][]uint32, p.ndocs)
		for ord := range uint32(p.nchunks) {
			d := p.chunkDoc(ord)
			p.chunks[d] = append(p.chunks[d], ord)
		}
	}
	if p.manifest.Embedder != nil {
		p.vectors, err = dense.Open(filepath.Join(dir, vectorsFile), dense.Options{})
	}
	return err
}

func (p *earlier) close() error {
	if p == nil {
		return nil
	}
	errs := []error{p.release()}
	if p.content != nil {
		errs = append(errs, p.content.close())
	}
	if p.vectors != nil {
		errs = append(errs, p.vectors.Close())
	}
	return errors.Join(errs...)
}

// find returns the document of that id and version. It is what corpus.Reusable asks.
func (p *earlier) find(id corpus.DocumentID, version string) (corpus.Document, bool) {
	i := p.findDoc(id)
	if i < 0 || p.warned[id] || hex.EncodeToString(p.doc(i)[48:80]) != version {
		return corpus.Document{}, false
	}
	d, err := p.document(i)
	if err != nil {
		return corpus.Document{}, false
	}
	p.taken[i].Store(true)
	return d, true
}

// again returns the id of the build before if the one that m begins to describe is the same, which
// is known without making it where nothing outside decides its vectors; else "".
func (p *earlier) again(m *index.Manifest, s Settings, o Options) string {
	if p == nil || o.Embedder != nil {
		return ""
	}
	if s.Embed.Kind != "none" && (s.Embed.Kind != "builtin" || s.Embed.Refit == "drift") {
		return ""
	}
	id, err := buildID(m.Corpus.Digest, m.Settings, p.manifest.Embedder)
	if err != nil || id != p.manifest.ID {
		return ""
	}
	return id
}

// segments is where the parts of the lexical index are kept between builds; nil if they are not.
func (e *Engine) segments() *lexical.Segments {
	if e.o.Fresh || programDigest() == "" {
		return nil
	}
	return &lexical.Segments{Dir: e.path("cache", "segments"), Program: programDigest(), Failed: func(err error) {
		e.o.Log.Warn("the next build will analyse every chunk again", "error", err.Error())
	}}
}

// reused is the number of documents that find has given.
func (p *earlier) reused() int {
	if p == nil {
		return 0
	}
	n := 0
	for i := range p.taken {
		if p.taken[i].Load() {
			n++
		}
	}
	return n
}

// chunksOf returns the chunks of a document that find has given.
func (p *earlier) chunksOf(d *corpus.Document) ([]chunk.Chunk, bool) {
	if p == nil || p.chunks == nil {
		return nil, false
	}
	i := p.findDoc(d.ID)
	if i < 0 || !p.taken[i].Load() {
		return nil, false
	}
	out := make([]chunk.Chunk, len(p.chunks[i]))
	for j, ord := range p.chunks[i] {
		out[j] = p.cut(d, ord)
	}
	return out, true
}

// cut is chunk ord of d as chunk.Split made it.
func (p *earlier) cut(d *corpus.Document, ord uint32) chunk.Chunk {
	rec, span := p.chunk(ord), p.chunkSpan(ord)
	c := chunk.Chunk{
		ID: chunk.ID(d.ID, span), Doc: d.ID, DocVersion: d.Version,
		Section: int(le.Uint32(rec[4:])), Span: span, Text: d.Text[span.Start:span.End],
		Context: strings.Clone(p.chunkContext(ord)), Bare: p.chunkIsBare(ord),
	}
	first, count := int(le.Uint32(rec[24:])), int(le.Uint32(rec[28:]))
	for i := first; i < first+count; i++ {
		c.Sections = append(c.Sections, int(le.Uint32(p.more[i*4:])))
	}
	return c
}

// keptRows finds the vectors of chunks that were taken over.
type keptRows struct {
	from *earlier
	at   []int64 // by chunk: its ordinal in from, -1 for one that is new
}

// rows says which of chunks, sorted by id, were taken over with their vectors.
func (p *earlier) rows(chunks []chunk.Chunk) *keptRows {
	if p == nil || p.chunks == nil || p.vectors == nil {
		return nil
	}
	k := &keptRows{from: p, at: make([]int64, len(chunks))}
	next := uint32(0)
	for i := range chunks {
		k.at[i] = -1
		for next < uint32(p.nchunks) && p.chunkID(next) < chunks[i].ID {
			next++
		}
		if next < uint32(p.nchunks) && p.chunkID(next) == chunks[i].ID && p.taken[p.chunkDoc(next)].Load() {
			k.at[i] = int64(next)
		}
	}
	return k
}

// row returns the vector of chunk i, nil if it has none, and whether it is known at all: whether
// the model fp made it.
func (k *keptRows) row(fp index.Fingerprint, i int) (row []float32, ok bool) {
	if k == nil || k.at[i] < 0 || *k.from.manifest.Embedder != fp {
		return nil, false
	}
	return k.from.vectors.Row(uint32(k.at[i])), true
}

// embedNew returns the vector of each of texts, which are those of the chunks from first on, asking
// embed only for those that k does not know; at maps the places of its texts to chunks.
func (k *keptRows) embedNew(fp index.Fingerprint, first int, texts []string, embed func(texts []string, at []int) ([][]float32, error)) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	var ask []string
	var at []int
	for i, text := range texts {
		var ok bool
		if rows[i], ok = k.row(fp, first+i); !ok {
			ask, at = append(ask, text), append(at, first+i)
		}
	}
	if len(ask) == 0 {
		return rows, nil
	}
	got, err := embed(ask, at)
	for i := range min(len(got), len(at)) {
		rows[at[i]-first] = got[i]
	}
	return rows, err
}
