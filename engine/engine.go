package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine/answer"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/disk"
)

// Options configure an Engine. The zero value is valid.
type Options struct {
	// Embedder is used in place of the one that a build's settings name, for example one that
	// only the application can make. Its fingerprint must be the build's.
	Embedder index.Embedder
	// Embed holds what a build's settings leave out: key, time limits, batch size, path of
	// precomputed vectors. It is used for builds of the same kind of embedder.
	Embed *EmbedSettings
	// Answer chooses the answerer of Ask; nil is the extractive one.
	Answer *AnswerSettings
	// Answerer is used in place of the one that Answer names.
	Answerer answer.Answerer
	// Degrade lets a hybrid search answer from words alone when the vector retriever fails.
	// Such a response is marked, and an evaluation never allows it.
	Degrade bool
	// External, if set, is asked for an index kept outside the store when a build is opened, which
	// then answers in place of the build's own files; nil results leave those in place.
	External func(c *Content) (*External, error)
	// Verify says how a build's bytes are checked when it is opened.
	Verify Verify
	// WatchModel embeds a few fixed texts again whenever a build is opened, in the background,
	// and logs a warning if the model behind a server or program has changed since the build.
	WatchModel bool
	// Fresh makes a build anew from the documents alone, taking nothing over from the one before.
	// The bytes are the same; it is for those who want to see that.
	Fresh bool
	// LockWait is how long a writer waits for another one; 0 means 2 s.
	LockWait time.Duration
	// Refresh is how often LIVE is looked at, so that what another process promotes is served;
	// 0 means 200 ms, negative means never.
	Refresh time.Duration
	// Getenv looks up the environment variables that settings name for keys; nil knows none.
	Getenv func(string) string
	// HTTP is used for embedding and chat servers; nil means a client of its own.
	HTTP *http.Client
	// Progress is told of the stages of long work; nil is silent. It may be called from
	// several goroutines, one at a time.
	Progress func(Progress)
	// Log receives warnings that belong to no call; nil discards them.
	Log *slog.Logger
	// Now is the clock of the ledger; nil means time.Now.
	Now func() time.Time

	fsys *disk.FS // changes are counted or failed here by tests
	// ownEmbedder asks each build's queries of the embedder that its own settings name, although
	// Embed names another of that kind: a build is compared with one of another model as it was.
	ownEmbedder bool
}

// Verify says how a build's checksums are treated at opening.
type Verify uint8

const (
	// VerifyAuto checks everything at once up to 64 MiB, and in the background beyond that.
	VerifyAuto Verify = iota
	// VerifyAlways checks everything before the build answers.
	VerifyAlways
	// VerifyNever leaves it to Check.
	VerifyNever
)

// Progress is a step of long work.
type Progress struct {
	Stage string // read, chunk, index, embed, write, evaluate, self-test
	Done  int
	Total int // 0 if unknown
}

func (o Options) withDefaults() Options {
	if o.LockWait == 0 {
		o.LockWait = 2 * time.Second
	}
	if o.Refresh == 0 {
		o.Refresh = 200 * time.Millisecond
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if progress := o.Progress; progress == nil {
		o.Progress = func(Progress) {}
	} else {
		var mu sync.Mutex
		o.Progress = func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			progress(p)
		}
	}
	return o
}

// Engine is a store of builds, one of them live. It is safe for concurrent use. A search that
// began on one build finishes on it, whatever is promoted meanwhile.
type Engine struct {
	store
	o Options

	mu      sync.Mutex
	live    *reader
	checked time.Time
	closed  bool

	infos sync.Map // build/run to keptInfo

	wordsOnce sync.Once
	words     func(a, b string) float64
}

// Open opens the store in dir. The folder need not exist: it is made by the first build. A
// live build that is damaged, or that needs another embedder, is an error here; that there is
// none yet is not, but then Search returns ErrNoLive.
func Open(dir string, o Options) (*Engine, error) {
	o = o.withDefaults()
	e := &Engine{store: store{dir: dir, fsys: o.fsys, filterUse: &hitCounter{}}, o: o}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, badInput("store %s is a file: name a folder", dir)
	} else if err != nil && !index.IsMissing(err) {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.refresh(); err != nil {
		return nil, err
	}
	return e, nil
}

// Dir returns the store's folder.
func (e *Engine) Dir() string { return e.dir }

// refresh makes e.live the build that LIVE names. The caller holds e.mu.
func (e *Engine) refresh() error {
	for try := 0; ; try++ {
		id, err := e.pointer(liveName)
		if err != nil {
			return err
		}
		e.checked = time.Now()
		if id == "" || e.live != nil && e.live.id == id {
			return nil
		}
		r, err := e.openReader(id, e.o)
		if err == nil {
			err = e.verifyAtOpen(r)
		}
		if err != nil {
			// Another process may have promoted and removed builds between the two reads.
			if again, perr := e.pointer(liveName); perr == nil && again != id && try < 10 {
				continue
			}
			if errors.Is(err, ErrNoBuild) {
				return e.errLost(id)
			}
			return fmt.Errorf("live build %s: %w", id, err)
		}
		old := e.live
		e.live = r
		e.watchModel(r)
		if old != nil {
			return old.close()
		}
		return nil
	}
}

// acquire returns the live reader, counted as in use; the caller releases it.
func (e *Engine) acquire() (*reader, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, index.ErrClosed
	}
	if e.live == nil || e.o.Refresh >= 0 && time.Since(e.checked) >= e.o.Refresh {
		err := e.refresh()
		if err != nil && e.live == nil {
			return nil, err
		}
		if err != nil {
			// The build in memory is complete and was accepted: it goes on serving.
			e.o.Log.Warn("the live build cannot be opened, the one before goes on serving",
				"serving", e.live.id, "error", err.Error())
		}
	}
	if e.live == nil {
		return nil, e.errNoLive()
	}
	e.live.mu.Lock()
	damage := e.live.damage
	e.live.mu.Unlock()
	if damage != nil {
		return nil, damage
	}
	if !e.live.acquire() {
		return nil, index.ErrClosed
	}
	return e.live, nil
}

// Live returns the id of the build that serves, "" if there is none.
func (e *Engine) Live() string {
	r, err := e.acquire()
	if err != nil {
		return ""
	}
	id := r.id
	e.done(r)
	return id
}

// done releases a reader; that its files do not close is nothing a search could act on.
func (e *Engine) done(r *reader) {
	if err := r.release(); err != nil {
		e.o.Log.Warn("closing a build", "build", r.id, "error", err.Error())
	}
}

// Close closes the engine once the searches under way have ended. Later calls return
// index.ErrClosed.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	if e.live == nil {
		return nil
	}
	return e.live.close()
}

// Search returns the best hits of the live build that the caller may see, best first: at most
// K, ordered by score descending, then chunk id descending. Finding nothing is no error.
func (e *Engine) Search(ctx context.Context, q Query) ([]index.Hit, error) {
	resp, err := e.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	return resp.Hits, nil
}

// Query is Search with the build that answered and remarks on how.
func (e *Engine) Query(ctx context.Context, q Query) (*Response, error) {
	r, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer e.done(r)
	if q, err = r.prepare(q); err != nil {
		return nil, err
	}
	return r.view().search(ctx, q, e.o.Degrade)
}

// QueryBuild is Query against any complete build of the store, live or not.
func (e *Engine) QueryBuild(ctx context.Context, build string, q Query) (*Response, error) {
	r, err := e.openBuild(build)
	if err != nil {
		return nil, err
	}
	resp, err := func() (*Response, error) {
		q, err := r.prepare(q)
		if err != nil {
			return nil, err
		}
		return r.view().search(ctx, q, e.o.Degrade)
	}()
	return resp, errors.Join(err, r.close())
}

// openBuild opens a build by what a user calls it; the caller closes it.
func (e *Engine) openBuild(name string) (*reader, error) {
	return e.openWith(name, e.o)
}

// openOwn is openBuild with the embedder that the build's own settings name, for comparisons.
func (e *Engine) openOwn(name string) (*reader, error) {
	o := e.o
	o.ownEmbedder = true
	return e.openWith(name, o)
}

func (e *Engine) openWith(name string, o Options) (*reader, error) {
	id, err := e.resolve(name)
	if err != nil {
		return nil, err
	}
	return e.openReader(id, o)
}

// Resolve returns the id of the build that name stands for: an id, the beginning of one (at
// least four digits), or "live".
func (e *Engine) Resolve(name string) (string, error) { return e.resolve(name) }

// Section is the text of one section and of everything below it.
type Section struct {
	Build string
	Doc   corpus.DocumentID
	Path  string
	Text  string
	Start int
	End   int
}

// ErrNoSection says that there is no such document or section, or that the caller may not see
// it; which of the two is never told.
var ErrNoSection = errors.New("no such section")

// Section returns a section of a document of the live build, if the caller may read it. label
// is a section path as in hits; "" is the document's own section.
func (e *Engine) Section(_ context.Context, doc corpus.DocumentID, label string, as []string) (*Section, error) {
	r, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer e.done(r)
	missing := fmt.Errorf("%w: document and section must be as in search results", ErrNoSection)
	i := r.findDoc(corpus.DocumentID(corpus.Normalize(string(doc))))
	if i < 0 || !r.docVisible(i, as) {
		return nil, missing
	}
	d, err := r.document(i)
	if err != nil {
		return nil, err
	}
	s, err := d.Resolve(label)
	if err != nil {
		return nil, missing
	}
	span := d.Sections[s].Span
	return &Section{
		Build: r.id, Doc: d.ID, Path: corpus.FormatPath(d.Sections[s].Path),
		Text: d.Text[span.Start:span.End], Start: span.Start, End: span.End,
	}, nil
}

// BuildInfo describes a build of the store.
type BuildInfo struct {
	ID        string
	Live      bool
	Reference bool
	Manifest  *index.Manifest
	Verdicts  []VerdictInfo // oldest first
	Err       error         // why it cannot be read
}

// Builds lists the complete builds by id.
func (e *Engine) Builds() ([]BuildInfo, error) {
	ids, err := e.builds()
	if err != nil {
		return nil, err
	}
	live, _, err := e.standing()
	if err != nil {
		return nil, err
	}
	reference, err := e.pointer(referenceName)
	if err != nil {
		return nil, err
	}
	out := make([]BuildInfo, len(ids))
	for i, id := range ids {
		out[i] = BuildInfo{ID: id, Live: id == live, Reference: id == reference}
		if out[i].Manifest, out[i].Err = index.ReadManifest(e.path(buildsName, id, index.ManifestName)); out[i].Err == nil {
			out[i].Verdicts, out[i].Err = e.verdicts(id)
		}
	}
	return out, nil
}

// Build returns the description of one build.
func (e *Engine) BuildInfo(name string) (*BuildInfo, error) {
	id, err := e.resolve(name)
	if err != nil {
		return nil, err
	}
	all, err := e.Builds()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(b BuildInfo) bool { return b.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoBuild, id)
	}
	return &all[i], nil
}

// Ledger returns the store's history, oldest first.
func (e *Engine) Ledger() ([]LedgerEntry, error) { return e.ledger() }

// Labels returns the permission labels that documents of the live build carry, sorted.
func (e *Engine) Labels() ([]string, error) {
	r, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer e.done(r)
	var out []string
	for _, acl := range r.acls {
		for _, l := range acl {
			out = append(out, strings.Clone(l))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// OpenStore opens the store in dir without its live build, for work that does not search it:
// a live build that is damaged, or that needs another embedder, does not stand in the way.
func OpenStore(dir string, o Options) (*Engine, error) {
	o = o.withDefaults()
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, badInput("store %s is a file: name a folder", dir)
	} else if err != nil && !index.IsMissing(err) {
		return nil, err
	}
	return &Engine{store: store{dir: dir, fsys: o.fsys, filterUse: &hitCounter{}}, o: o}, nil
}

// LiveID returns the id that LIVE names, "" if no build is live. Unlike Live it opens nothing.
func (e *Engine) LiveID() (string, error) { return e.pointer(liveName) }

// DefaultBuild resolves a build that the user may leave out: then it is the newest one.
func (e *Engine) DefaultBuild(name string) (string, error) {
	if name != "" {
		return e.resolve(name)
	}
	ids, err := e.builds()
	if err != nil {
		return "", err
	}
	newest, at := "", time.Time{}
	for _, id := range ids {
		info, err := os.Stat(e.path(buildsName, id, index.ManifestName))
		if err == nil && (newest == "" || info.ModTime().After(at)) {
			newest, at = id, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("%w: store %s holds no builds: make one with `assay build`", ErrNoBuild, e.dir)
	}
	return newest, nil
}
