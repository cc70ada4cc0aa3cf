package lexical

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/container"
)

// ErrMismatch says that an index was built with other settings or another scoring model than the
// ones given to Open: rebuild it, or open it with its own.
var ErrMismatch = errors.New("built with other lexical settings")

// MismatchError names the setting that differs. It unwraps to ErrMismatch.
type MismatchError struct{ Dir, Setting, Have, Want string }

func (e *MismatchError) Unwrap() error { return ErrMismatch }
func (e *MismatchError) Error() string {
	return fmt.Sprintf("open %s: built with %s %s, asked for %s: rebuild it or ask for %s", e.Dir, e.Setting, e.Have, e.Want, e.Have)
}

// Index answers queries over one built folder. It is safe for concurrent use; each Index keeps
// its own model, so any number with different settings can be open at once.
type Index struct {
	dir      string
	file     *container.File
	p        postings
	stats    Stats
	m        model
	norms    []float64 // model.norm of each chunk
	analyzer *Analyzer
	scratch  sync.Pool // of *search

	mu     sync.RWMutex // held for reading while the map is in use
	closed bool
}

// Open maps the index in dir. s are the settings asked for and st the statistics from the
// manifest; where they differ from the file's the error is a *MismatchError. A zero st accepts
// the file's. Damage is a *index.CorruptError, a file by another version wraps index.ErrFormat.
//
// Open reads the dictionary and the lengths, checks them, and leaves the postings to the first
// query that needs them. bleve's files are read by Verify alone.
func Open(dir string, s Settings, st Stats) (*Index, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, postingsName)
	f, err := container.Open(path, postingsKind, postingsVersion)
	if err != nil {
		return nil, explain(err)
	}
	x := &Index{dir: dir, file: f}
	x.scratch.New = func() any { return new(search) }
	if err := x.load(path, s, st); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return x, nil
}

// explain maps the container's errors to the contract's.
func explain(err error) error {
	if d, ok := errors.AsType[*container.Damage](err); ok {
		return &index.CorruptError{File: d.Path, Reason: d.Reason}
	}
	if v, ok := errors.AsType[*container.Version](err); ok {
		return fmt.Errorf("%w: %w: use the version that wrote it, or rebuild with `assay build`", index.ErrFormat, v)
	}
	return err
}

func (x *Index) load(path string, s Settings, st Stats) error {
	data, err := x.file.Section("stats", 1)
	if err != nil {
		return explain(err)
	}
	damaged := func(format string, args ...any) error {
		return &index.CorruptError{File: path, Reason: fmt.Sprintf(format, args...)}
	}
	// Damage here would else look like other settings.
	if err := x.file.VerifySection("stats"); err != nil {
		return explain(err)
	}
	if err := json.Unmarshal(data, &x.stats); err != nil {
		return damaged("section stats: %v", err)
	}
	if x.stats.Model != Model {
		return &MismatchError{x.dir, "lexical model", x.stats.Model, Model}
	}
	if x.stats.Settings.Validate() != nil || x.stats.Settings.K1 == nil || x.stats.Settings.B == nil || x.stats.Settings.Fold == nil ||
		x.stats.Settings.Title == nil || x.stats.Settings.Heading == nil || x.stats.Chunks < 0 || x.stats.Terms < 0 || x.stats.Postings < 0 {
		return damaged("section stats: settings or counts are out of range")
	}
	if err := mismatch(x.dir, x.stats, s); err != nil {
		return err
	}
	if st.Model != "" && !sameStats(st, x.stats) {
		return &MismatchError{x.dir, "lexical statistics", describe(x.stats), describe(st)}
	}
	if err := x.sections(); err != nil {
		return explain(err)
	}
	if reason := x.check(); reason != "" {
		return damaged("%s", reason)
	}
	if x.analyzer, err = NewAnalyzer(x.stats.Settings); err != nil {
		return err
	}
	x.m = newModel(&x.stats)
	x.norms = make([]float64, len(x.p.lengths))
	for i, n := range x.p.lengths {
		x.norms[i] = x.m.norm(n)
	}
	return nil
}

func describe(s Stats) string {
	return fmt.Sprintf("(%d chunks, %d terms, average length %g)", s.Chunks, s.Terms, s.AverageLength)
}

// mismatch compares the settings of the file with those asked for; auto accepts any analyzer.
func mismatch(dir string, have Stats, want Settings) error {
	h, w := have.Settings, want.WithDefaults()
	if w.Analyzer == "auto" {
		w.Analyzer = h.Analyzer
	}
	for _, c := range []struct{ name, have, want string }{
		{"lexical.analyzer", h.Analyzer, w.Analyzer},
		{"lexical.k1", fmt.Sprint(*h.K1), fmt.Sprint(*w.K1)},
		{"lexical.b", fmt.Sprint(*h.B), fmt.Sprint(*w.B)},
		{"lexical.stopwords", fmt.Sprint(h.Stopwords), fmt.Sprint(w.Stopwords)},
		{"lexical.long_queries", h.LongQueries, w.LongQueries},
		{"lexical.statistics", h.Statistics, w.Statistics},
		{"lexical.fold", fmt.Sprint(*h.Fold), fmt.Sprint(*w.Fold)},
		{"lexical.title", fmt.Sprint(*h.Title), fmt.Sprint(*w.Title)},
		{"lexical.heading", fmt.Sprint(*h.Heading), fmt.Sprint(*w.Heading)},
	} {
		if c.have != c.want {
			return &MismatchError{dir, c.name, c.have, c.want}
		}
	}
	return nil
}

func (x *Index) sections() error {
	var errs error
	get := func(name string, size int) []byte {
		data, err := x.file.Section(name, size)
		errs = errors.Join(errs, err)
		return data
	}
	x.p = postings{
		terms:    get("terms", 1),
		termEnds: asU32(get("termends", 4)),
		postEnds: asU64(get("postends", 8)),
		blkEnds:  asU32(get("blkends", 4)),
		docs:     asU32(get("docs", 4)),
		freqs:    get("freqs", 1),
		large:    asU64(get("large", 16)),
		blkDocs:  asU32(get("blkdocs", 4)),
		blkMax:   asF32(get("blkmax", 4)),
		lengths:  asU32(get("lengths", 4)),
		common:   asU32(get("common", 4)),
		ranks:    asU32(get("ranks", 4)),
		bits:     asU64(get("bits", 8)),
	}
	return errs
}

// check returns what is wrong with the arrays that lookups rely on, "" if nothing is: after it, no
// query reads outside them, whatever the postings hold.
func (x *Index) check() string {
	p, s := &x.p, &x.stats
	switch {
	case len(p.termEnds) != s.Terms || len(p.postEnds) != s.Terms || len(p.blkEnds) != s.Terms:
		return fmt.Sprintf("%d terms, %d expected", len(p.termEnds), s.Terms)
	case int64(len(p.docs)) != s.Postings || int64(len(p.freqs)) != s.Postings:
		return fmt.Sprintf("%d postings, %d expected", len(p.docs), s.Postings)
	case len(p.lengths) != s.Chunks:
		return fmt.Sprintf("%d lengths, %d expected", len(p.lengths), s.Chunks)
	case len(p.blkDocs) != len(p.blkMax):
		return fmt.Sprintf("%d blocks, %d bounds", len(p.blkDocs), len(p.blkMax))
	case len(p.bits) != len(p.ranks) || len(p.bits) != len(p.common)*((len(p.lengths)+63)/64):
		return fmt.Sprintf("%d words of bits for %d common terms", len(p.bits), len(p.common))
	}
	term, post, blk := uint32(0), uint64(0), uint64(0)
	for i := range p.termEnds {
		if p.postEnds[i] <= post || p.termEnds[i] < term || p.termEnds[i] > uint32(len(p.terms)) {
			return fmt.Sprintf("term %d: its ends are out of order", i)
		}
		blk += (p.postEnds[i] - post + blockSize - 1) / blockSize
		if p.postEnds[i] > uint64(len(p.docs)) || uint64(p.blkEnds[i]) != blk {
			return fmt.Sprintf("term %d: its blocks do not hold its postings", i)
		}
		term, post = p.termEnds[i], p.postEnds[i]
	}
	if post != uint64(len(p.docs)) || blk != uint64(len(p.blkDocs)) || int(term) != len(p.terms) {
		return "the last term does not end where the postings end"
	}
	return ""
}

// Stats returns what the index was built with and holds.
func (x *Index) Stats() Stats { return x.stats }

// Len returns the number of chunks.
func (x *Index) Len() int { return x.stats.Chunks }

// Terms returns the terms of text as the index sees them, see Analyzer.Terms.
func (x *Index) Terms(text string) []string { return x.analyzer.Terms(text) }

// Analyzer returns the analyzer of documents and queries.
func (x *Index) Analyzer() *Analyzer { return x.analyzer }

// OnlyStopwords reports that query holds words but no term, because all of its words are stop
// words that Settings.Stopwords removes. Such a query finds nothing, without an error.
func (x *Index) OnlyStopwords(query string) bool {
	return len(x.analyzer.Terms(query)) == 0 && x.analyzer.HasWords(query)
}

// Close unmaps the index, once running queries are done; later calls give index.ErrClosed. A
// second Close does nothing.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	x.p = postings{}
	return x.file.Close()
}

// Verify reads all of the index: checksums, the order and the bounds of the postings, and that
// they say the same as bleve's segment. The first fault is returned as *index.CorruptError.
func (x *Index) Verify(ctx context.Context) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return index.ErrClosed
	}
	return x.verify(ctx)
}
