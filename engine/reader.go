package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/dense"
	"github.com/seed792a4543/assay/index/embed"
	"github.com/seed792a4543/assay/index/lexical"
)

const (
	vectorsFile  = "vectors.dat"
	embedderFile = "embedder.dat"
	lexicalDir   = "lexical"
)

// Limits of one query; beyond them a query is refused, never cut.
const (
	DefaultK      = 10
	MaxQueryRunes = 10_000
	MaxLabels     = 10_000
)

// reader is one opened build. It is safe for concurrent use and counts its users: close takes
// effect when the last one has released it.
type reader struct {
	id       string
	dir      string
	manifest *index.Manifest
	settings Settings
	*content
	vectors  *dense.Index // nil in mode lexical
	lexical  *lexical.Index
	embedder index.Embedder // nil in mode lexical
	external *External      // nil: the build's own files answer
	unuse    func() error
	use      *hitCounter // of filters

	mu      sync.Mutex
	users   int
	closed  bool
	filters map[string]*index.Filter
	damage  error // set by verification in the background
}

// openReader opens build id. embedder, if not nil, is used in place of the one the build's
// settings name; its fingerprint must be the build's.
func (s *store) openReader(id string, o Options) (*reader, error) {
	unuse, err := s.use(id)
	if err != nil {
		return nil, err
	}
	r := &reader{id: id, dir: s.buildDir(id), unuse: unuse, use: s.filterUse, filters: map[string]*index.Filter{}}
	if err = r.openFiles(o); err == nil {
		err = r.openModel(o)
	}
	if err == nil {
		err = r.openExternal(o)
	}
	if err != nil {
		if _, serr := os.Stat(r.dir); index.IsMissing(serr) {
			// It was removed between the mark and the first file.
			err = fmt.Errorf("%w: %s", ErrNoBuild, id)
		}
		return nil, errors.Join(err, r.closeFiles())
	}
	return r, nil
}

func (r *reader) openFiles(o Options) (err error) {
	path := filepath.Join(r.dir, index.ManifestName)
	if r.manifest, err = index.ReadManifest(path); index.IsMissing(err) {
		return &index.CorruptError{File: path, Reason: "file is missing"}
	} else if err != nil {
		return err
	}
	if r.manifest.ID != r.id {
		return &index.CorruptError{File: path, Reason: fmt.Sprintf("it describes build %s", r.manifest.ID)}
	}
	if err := json.Unmarshal(r.manifest.Settings, &r.settings); err != nil {
		return &index.CorruptError{File: path, Reason: "settings: " + err.Error()}
	}
	if err := r.checkSizes(); err != nil {
		return err
	}
	if r.content, err = openContent(r.dir); err != nil {
		return err
	}
	var stats lexical.Stats
	if err := json.Unmarshal(r.manifest.Lexical, &stats); err != nil {
		return &index.CorruptError{File: path, Reason: "lexical statistics: " + err.Error()}
	}
	if r.lexical, err = lexical.Open(filepath.Join(r.dir, lexicalDir), r.settings.Lexical, stats); err != nil {
		return missingIsCorrupt(err)
	}
	if fp := r.manifest.Embedder; fp != nil {
		if r.vectors, err = dense.Open(filepath.Join(r.dir, vectorsFile), dense.Options{}); err != nil {
			return missingIsCorrupt(err)
		}
		if r.vectors.Dim() != fp.Dimension {
			return fmt.Errorf("%w: %s holds vectors of %d, the manifest says %d", index.ErrDimension, vectorsFile, r.vectors.Dim(), fp.Dimension)
		}
	}
	return r.checkCounts()
}

// openModel makes the embedder that the build needs.
func (r *reader) openModel(o Options) (err error) {
	fp := r.manifest.Embedder
	if fp == nil {
		return nil
	}
	if r.embedder, err = openEmbedder(r.dir, *fp, r.settings, r.lexical, o); err != nil {
		return missingIsCorrupt(err)
	}
	if have := r.embedder.Fingerprint(); have != *fp {
		return fmt.Errorf("%w: build %s needs %s, configured is %s: configure that embedder, or rebuild with `assay build`",
			index.ErrEmbedder, r.id, describe(*fp), describe(have))
	}
	return nil
}

// checkSizes compares every file's length with the manifest, which finds a truncated or
// missing file at once.
func (r *reader) checkSizes() error {
	for _, f := range r.manifest.Files {
		path := filepath.Join(r.dir, filepath.FromSlash(f.Name))
		info, err := os.Stat(path)
		if err != nil {
			return missingIsCorrupt(err)
		}
		if info.Size() != f.Size {
			return &index.CorruptError{File: path, Reason: fmt.Sprintf("%d bytes, the manifest says %d", info.Size(), f.Size)}
		}
	}
	return nil
}

// verifyFiles checks every checksum and that the parts agree with each other.
func (r *reader) verifyFiles(ctx context.Context) error {
	if err := r.verify(); err != nil {
		return err
	}
	if err := r.checkText(); err != nil {
		return err
	}
	if err := r.lexical.Verify(ctx); err != nil {
		return err
	}
	if r.vectors != nil {
		return r.vectors.Verify(ctx)
	}
	return nil
}

// verifyAtOnce is the size in bytes up to which an opened build is verified before it answers.
const verifyAtOnce = 64 << 20

// verifyAtOpen verifies r as the options say. In the background, damage that is found makes
// every later search fail.
func (e *Engine) verifyAtOpen(r *reader) error {
	size := int64(0)
	for _, f := range r.manifest.Files {
		size += f.Size
	}
	switch {
	case e.o.Verify == VerifyNever:
		return nil
	case e.o.Verify == VerifyAlways || size <= verifyAtOnce:
		if err := r.verifyDigests(); err != nil {
			return errors.Join(err, r.close())
		}
		return nil
	}
	if !r.acquire() {
		return index.ErrClosed
	}
	go func() {
		defer e.done(r)
		if err := r.verifyDigests(); err != nil {
			r.mu.Lock()
			r.damage = err
			r.mu.Unlock()
			e.o.Log.Error("the live build is damaged", "build", r.id, "error", err.Error())
		}
	}()
	return nil
}

// verifyDigests compares every file with its digest in the manifest.
func (r *reader) verifyDigests() error {
	for _, f := range r.manifest.Files {
		path := filepath.Join(r.dir, filepath.FromSlash(f.Name))
		have, err := digestFile(path)
		if err != nil {
			return missingIsCorrupt(err)
		}
		if have.SHA256 != f.SHA256 {
			return &index.CorruptError{File: path, Reason: "its SHA-256 is not the manifest's"}
		}
	}
	return nil
}

func describe(f index.Fingerprint) string {
	s := f.Kind + " " + f.Model
	if f.Revision != "" {
		s += "@" + f.Revision
	}
	s += fmt.Sprintf(" (dimension %d", f.Dimension)
	if f.DocumentPrefix != "" || f.QueryPrefix != "" {
		s += fmt.Sprintf(", prefixes %q and %q", f.DocumentPrefix, f.QueryPrefix)
	}
	if f.Input != "" {
		s += ", input " + f.Input
	}
	return s + ")"
}

func missingIsCorrupt(err error) error {
	if index.IsMissing(err) {
		return &index.CorruptError{File: errPath(err), Reason: "file is missing"}
	}
	return err
}

// checkCounts confirms that the parts of the build belong together.
func (r *reader) checkCounts() error {
	c := r.manifest.Counts
	for _, p := range []struct {
		what       string
		have, want int
	}{
		{"documents", r.ndocs, c.Documents},
		{"chunks", r.nchunks, c.Chunks},
		{"lexical documents", r.lexical.Len(), c.Chunks},
	} {
		if p.have != p.want {
			return &index.CorruptError{File: r.dir, Reason: fmt.Sprintf("%d %s, the manifest says %d", p.have, p.what, p.want)}
		}
	}
	if r.vectors != nil && r.vectors.Len() != c.Chunks {
		return &index.CorruptError{File: r.dir, Reason: fmt.Sprintf("%d vectors for %d chunks", r.vectors.Len(), c.Chunks)}
	}
	return nil
}

func (r *reader) closeFiles() error {
	errs := []error{r.closeExternal()}
	if r.lexical != nil {
		errs = append(errs, r.lexical.Close())
	}
	if r.vectors != nil {
		errs = append(errs, r.vectors.Close())
	}
	if r.content != nil {
		errs = append(errs, r.content.close())
	}
	return errors.Join(append(errs, r.unuse())...)
}

// acquire counts one more user; false once the reader is closing.
func (r *reader) acquire() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.users++
	return true
}

func (r *reader) release() error {
	r.mu.Lock()
	r.users--
	last := r.closed && r.users == 0
	r.mu.Unlock()
	if last {
		return r.closeFiles()
	}
	return nil
}

// close closes the files now or, while searches run, when the last of them ends.
func (r *reader) close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	idle := r.users == 0
	r.mu.Unlock()
	if idle {
		return r.closeFiles()
	}
	return nil
}

// maxFilters bounds the cache of permission filters; each takes one bit per chunk.
const maxFilters = 256

// filter returns the chunks that a caller with these labels may see; nil admits all.
func (r *reader) filter(as []string) *index.Filter {
	as = slices.Clone(as)
	slices.Sort(as)
	as = slices.Compact(as)
	key := strings.Join(as, "\x00")
	r.mu.Lock()
	f, ok := r.filters[key]
	r.mu.Unlock()
	r.use.count(ok)
	if ok {
		return f
	}
	f = r.buildFilter(as)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.filters) >= maxFilters {
		clear(r.filters)
	}
	r.filters[key] = f
	return f
}

func (r *reader) buildFilter(as []string) *index.Filter {
	// corpus.Visible for every distinct acl; with a set, since both sides may be long.
	held := make(map[string]bool, len(as))
	for _, label := range as {
		held[label] = true
	}
	visible, all := make([]bool, len(r.acls)), true
	for i, acl := range r.acls {
		visible[i] = len(acl) == 0 || slices.ContainsFunc(acl, func(label string) bool { return held[label] })
		all = all && visible[i]
	}
	if all {
		return nil
	}
	f := index.NewFilter(r.nchunks)
	for ord := range uint32(r.nchunks) {
		if visible[r.aclOf[r.chunkDoc(ord)]] {
			f.Set(ord)
		}
	}
	return f
}

func (r *reader) docVisible(doc int, as []string) bool {
	return corpus.Visible(r.acls[r.aclOf[doc]], as)
}

// view is what a query runs against: the reader's parts, or those parts with a fault injected
// by the self-test.
type view struct {
	r       *reader
	vector  func(ctx context.Context, q []float32, k int, f *index.Filter) ([]index.Candidate, error)
	text    func(ctx context.Context, q string, k int, f *index.Filter) ([]index.Candidate, error)
	embed   func(ctx context.Context, text string, f *index.Filter) ([]float32, error)
	filter  func(as []string) *index.Filter
	hit     func(a *arena, ord uint32) index.Hit
	dropped func(ord uint32) bool // nil: none
	row     func(ord uint32) []float32
	reorder reorderer // in sweeps alone; see RerankChat
	chunks  int
}

func (r *reader) view() *view {
	v := &view{r: r, text: r.lexical.SearchText, filter: r.filter, hit: r.hit, chunks: r.nchunks}
	if r.vectors != nil {
		v.vector, v.row = r.vectors.SearchVector, r.vectors.Row
		v.embed = func(ctx context.Context, text string, f *index.Filter) ([]float32, error) {
			if model, ok := r.embedder.(*embed.Builtin); ok && f != nil {
				// The model is fitted on all documents. A word that stands only in what this
				// caller may not read is as unknown to it as one that stands nowhere.
				return model.EmbedAmong(text, func(term string) bool { return r.lexical.Holds(term, f) }), ctx.Err()
			}
			rows, err := r.embedder.Embed(ctx, []string{text}, index.KindQuery)
			if err != nil {
				return nil, fmt.Errorf("embed query: %w", err)
			}
			if len(rows) != 1 {
				return nil, fmt.Errorf("embed query: %d vectors for one text", len(rows))
			}
			return rows[0], nil
		}
	}
	v.useExternal()
	return v
}

// Query is one search.
type Query struct {
	Text string
	K    int      // hits wanted, 1 to the build's depth; 0 means DefaultK
	As   []string // the caller's permission labels; none sees only documents without acl
	Mode string   // hybrid, vector or lexical; "" means the build's setting
}

// Response is what a search found and how.
type Response struct {
	Build    string // id of the build that answered
	Query    string // normalised text
	Mode     string
	Hits     []index.Hit
	Notes    []string // what the caller should know, such as that the query had no vector
	Degraded bool     // a retriever failed and the caller allowed the others to answer
	Weights  Weights  // of the two retrievers in the scores
}

// Weights are the shares of the two retrievers in the score of a hit. A mode of one retriever gives
// it 1; reciprocal rank fusion gives 1 to both.
type Weights struct {
	Vector  float64 `json:"vector"`
	Lexical float64 `json:"lexical"`
}

func weights(s hybrid.Settings, mode string) Weights {
	s = s.WithDefaults()
	switch {
	case mode == hybrid.ModeVector:
		return Weights{Vector: 1}
	case mode == hybrid.ModeLexical:
		return Weights{Lexical: 1}
	case s.Fusion == hybrid.FusionRRF:
		return Weights{1, 1}
	}
	return Weights{*s.Dense, 1 - *s.Dense}
}

// prepare validates q against the build's settings and normalises it.
func (r *reader) prepare(q Query) (Query, error) {
	q.Text = strings.TrimSpace(corpus.Normalize(q.Text))
	depth := r.settings.Hybrid.Depth
	switch n := utf8.RuneCountInString(q.Text); {
	case n == 0:
		return q, badInput("query is empty: give the words to search for")
	case n > MaxQueryRunes:
		return q, badInput("query has %d characters, the limit is %d: shorten it", n, MaxQueryRunes)
	case !utf8.ValidString(q.Text):
		return q, badInput("query is not valid UTF-8")
	}
	if q.K == 0 {
		q.K = min(DefaultK, depth)
	}
	if q.K < 1 || q.K > depth {
		return q, badInput("k is %d, the range is 1 to %d (the build's hybrid.depth): ask for fewer, or build with a larger depth", q.K, depth)
	}
	if len(q.As) > MaxLabels {
		return q, badInput("%d permission labels, the limit is %d", len(q.As), MaxLabels)
	}
	if q.Mode == "" {
		q.Mode = r.settings.Hybrid.Mode
	}
	switch {
	case q.Mode != "hybrid" && q.Mode != "vector" && q.Mode != "lexical":
		return q, badInput("mode is %q: use hybrid, vector or lexical", q.Mode)
	case q.Mode != "lexical" && r.vectors == nil:
		return q, badInput("mode is %s, but build %s was made with mode lexical and has no vectors: rebuild it, or search with mode lexical", q.Mode, r.id)
	}
	return q, nil
}

// search runs a prepared query.
func (v *view) search(ctx context.Context, q Query, degrade bool) (*Response, error) {
	begin := clock(ctx)
	defer begin(StageSearch)()
	resp := &Response{Build: v.r.id, Query: q.Text, Mode: q.Mode, Weights: weights(v.r.settings.Hybrid, q.Mode)}
	fused, err := v.ranked(ctx, q, degrade, resp)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(fused) > q.K {
		fused = fused[:q.K]
	}
	defer begin(StageRead)()
	resp.Hits = make([]index.Hit, len(fused))
	components := make([]index.Component, 0, 2*len(fused))
	visible := func(doc int) bool { return v.r.docVisible(doc, q.As) }
	var a arena
	for i, f := range fused {
		h := v.hit(&a, f.Ord)
		h.Rank, h.Score = i+1, f.Score
		if f.Vector.Rank > 0 {
			components = append(components, f.Vector)
			h.Vector = &components[len(components)-1]
		}
		if f.Lexical.Rank > 0 {
			components = append(components, f.Lexical)
			h.Lexical = &components[len(components)-1]
		}
		if next := v.r.supersededBy(v.r.chunkDoc(f.Ord), visible); next >= 0 {
			h.SupersededBy = corpus.DocumentID(a.clone(v.r.docID(next)))
		}
		resp.Hits[i] = h
	}
	return resp, nil
}

// concurrentFrom is the number of chunks from which the two retrievers run side by side; below
// it starting a goroutine costs more than it saves.
const concurrentFrom = 5_000

func (v *view) ranked(ctx context.Context, q Query, degrade bool, resp *Response) ([]hybrid.Fused, error) {
	s := v.r.settings.Hybrid
	s.Mode = q.Mode
	f := v.filter(q.As)
	if v.chunks == 0 || f != nil && f.Count == 0 {
		return nil, nil
	}
	var vec, lex []index.Candidate
	var noVector bool
	begin := clock(ctx)
	vector := func() (err error) {
		stop := begin(StageEmbed)
		row, err := v.embed(ctx, q.Text, f)
		stop()
		if err != nil {
			return err
		}
		if noVector = row == nil; noVector {
			return nil
		}
		defer begin(StageVector)()
		vec, err = v.vector(ctx, row, s.Depth, f)
		return err
	}
	text := func() (err error) {
		defer begin(StageLexical)()
		lex, err = v.text(ctx, q.Text, s.Depth, f)
		return err
	}
	var vecErr, lexErr error
	switch q.Mode {
	case "vector":
		vecErr = vector()
	case "lexical":
		lexErr = text()
	default:
		if v.chunks >= concurrentFrom {
			done := make(chan struct{})
			go func() { defer close(done); lexErr = text() }()
			vecErr = vector()
			<-done
		} else {
			vecErr, lexErr = vector(), text()
		}
	}
	if lexErr != nil {
		return nil, lexErr
	}
	if vecErr != nil {
		if !degrade || q.Mode != "hybrid" || ctx.Err() != nil {
			return nil, vecErr
		}
		resp.Degraded = true
		resp.Notes = append(resp.Notes, "degraded: the vector retriever failed, results are lexical only: "+vecErr.Error())
	}
	if err := v.complete(ctx); err != nil {
		if !degrade || ctx.Err() != nil {
			return nil, err
		}
		resp.Degraded = true
		resp.Notes = append(resp.Notes, "degraded: hits may be missing: "+err.Error())
	}
	if noVector {
		rest := "results are lexical only"
		if q.Mode == "vector" {
			rest = "there are no results"
		}
		resp.Notes = append(resp.Notes, "no word of the query is known to the embedder: it has no vector, "+rest)
	}
	if q.Mode != "vector" && len(lex) == 0 && len(v.r.lexical.Terms(q.Text)) == 0 {
		why := "the query has no searchable words"
		if v.r.settings.Lexical.Stopwords && strings.ContainsFunc(q.Text, unicode.IsLetter) {
			why = "the query has only stop words"
		}
		resp.Notes = append(resp.Notes, why+": lexical results are empty")
	}
	stop := begin(StageFuse)
	fused := hybrid.Fuse(vec, lex, s)
	stop()
	return v.order(ctx, q, fused)
}
