package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// Embedder embeds texts on one server with one model. Safe for concurrent use.
type Embedder struct {
	o       Options
	url     string   // without credentials
	secrets []string // never printed
	client  *goopenai.Client
	slots   chan struct{} // one for each request under way

	prepare sync.Mutex // held while preparing

	mu       sync.Mutex // guards what follows
	ready    bool
	dim      int // 0: not known yet
	revision string
	max      int // estimated tokens; 0: no limit
	window   Window
	stats    Stats
	bunch    map[int]int // per-text token count → estimated tokens of the request that had it
	hint     string      // a warning to be logged when documents are embedded; "" once it was
	dense    bool        // noteDensity has warned
	progress sync.Mutex  // serialises Options.Progress
}

// Validate refuses values out of range, naming the setting.
func (o Options) Validate() error {
	u, err := url.Parse(o.URL)
	switch {
	case o.URL == "":
		return errors.New("openai embedder: no url: set it to the server's base URL, such as http://localhost:11434/v1")
	case err != nil:
		return errors.New("openai embedder: the url cannot be parsed: set it to something like http://localhost:11434/v1")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("openai embedder: url %q: want http:// or https:// and a host", public(u))
	case o.Model == "":
		return errors.New("openai embedder: no model: name the embedding model that the server shall use")
	case o.Dimensions < 0 || o.Dimension < 0 || o.Dimensions > 1<<16 || o.Dimension > 1<<16:
		return fmt.Errorf("openai embedder: dimensions %d, dimension %d: must be 0 to 65536", o.Dimensions, o.Dimension)
	case o.Dimensions > 0 && o.Dimension > 0 && o.Dimensions != o.Dimension:
		return fmt.Errorf("openai embedder: asks for %d dimensions but expects %d: set one of dimensions and dimension", o.Dimensions, o.Dimension)
	case o.Batch < 0 || o.BatchTokens < 0 || o.Concurrency < 0 || o.Tries < 0 || o.MaxTokens < 0 || o.ProbeTokens < 0 || o.MaxWait < 0:
		return errors.New("openai embedder: batch, batch_tokens, concurrency, tries, max_tokens, probe_tokens and max_wait must not be negative")
	}
	switch o.OverLong {
	case "", "split", "truncate", "refuse":
	default:
		return fmt.Errorf("openai embedder: over_long %q: must be split, truncate or refuse", o.OverLong)
	}
	if o.MaxTokens > 0 {
		for _, p := range []string{o.DocumentPrefix, o.QueryPrefix} {
			if n := EstimateTokens(p); n >= o.MaxTokens {
				return fmt.Errorf("openai embedder: max_tokens %d leaves no room beside the prefix %q of %d", o.MaxTokens, p, n)
			}
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Batch, o.BatchTokens = cmp.Or(o.Batch, 64), cmp.Or(o.BatchTokens, 16384)
	o.Concurrency, o.Tries = cmp.Or(o.Concurrency, 2), cmp.Or(o.Tries, 5)
	o.Timeout, o.MaxWait = cmp.Or(o.Timeout, 2*time.Minute), cmp.Or(o.MaxWait, time.Minute)
	o.OverLong = cmp.Or(o.OverLong, "split")
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	return o
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// New returns an embedder for the server at o.URL. It makes no request; Prepare does.
func New(o Options) (*Embedder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	u, _ := url.Parse(o.URL) // Validate parsed it
	e := &Embedder{o: o, url: public(u), slots: make(chan struct{}, o.Concurrency), revision: o.Revision,
		dim: cmp.Or(o.Dimension, o.Dimensions), max: o.MaxTokens, bunch: map[int]int{}}
	key := ""
	if o.KeyEnv != "" {
		if key = strings.TrimSpace(o.Getenv(o.KeyEnv)); key == "" {
			return nil, fmt.Errorf("openai embedder: environment variable %s is empty: put the API key for %s there", o.KeyEnv, e.url)
		}
		if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("openai embedder: the API key in $%s holds control characters: set it again", o.KeyEnv)
		}
		e.secrets = append(e.secrets, key)
	}
	if u.User != nil {
		if p, ok := u.User.Password(); ok && p != "" {
			e.secrets = append(e.secrets, p, url.QueryEscape(p), url.PathEscape(p))
		}
	}
	if h := u.Hostname(); len(e.secrets) > 0 && u.Scheme == "http" && h != "localhost" && !strings.HasPrefix(h, "127.") && h != "::1" {
		e.warn("credentials for %s are sent without encryption: use https", e.url)
	}
	if p, ok := KnownPrefixes(o.Model); ok && o.DocumentPrefix == "" && o.QueryPrefix == "" {
		e.hint = fmt.Sprintf("model %s was trained with prefixes and none is set: consider document_prefix %q and query_prefix %q", o.Model, p.Document, p.Query)
		e.stats.Warnings = append(e.stats.Warnings, e.hint)
	}
	c := goopenai.DefaultConfig(key)
	c.BaseURL, c.HTTPClient = o.URL, doer{o.Client}
	e.client = goopenai.NewClientWithConfig(c)
	return e, nil
}

// public returns the URL without user, password, query and fragment.
func public(u *url.URL) string {
	p := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return p.String()
}

// Fingerprint implements index.Embedder. Dimension is 0, and the revision and the input limit
// may be missing, until Prepare has succeeded.
func (e *Embedder) Fingerprint() index.Fingerprint {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := index.Fingerprint{Kind: "openai", Model: e.o.Model, Revision: e.revision, Dimension: e.dim,
		DocumentPrefix: e.o.DocumentPrefix, QueryPrefix: e.o.QueryPrefix}
	if e.max > 0 {
		f.Input = fmt.Sprintf(inputFormat, e.o.OverLong, e.max)
	}
	return f
}

// inputFormat is how Fingerprint.Input is written: what is done with over-long texts, and from where.
const inputFormat = "%s at %d estimated tokens"

// InputLimit returns the limit in estimated tokens that a fingerprint of this package names, 0 if
// it names none. It is what MaxTokens must be for an embedder to be the same without a probe.
func InputLimit(f index.Fingerprint) int {
	var overLong string
	var limit int
	if _, err := fmt.Sscanf(f.Input, inputFormat, &overLong, &limit); err != nil {
		return 0
	}
	return max(limit, 0)
}

// TooLong reports whether text, with the prefix of its kind, is longer than the limit that was set
// or that the probe found, and is therefore treated as OverLong says.
func (e *Embedder) TooLong(text string, kind index.Kind) bool {
	e.mu.Lock()
	limit := e.max
	e.mu.Unlock()
	return limit > 0 && EstimateTokens(e.prefix(kind)+text) > limit
}

func (e *Embedder) prefix(kind index.Kind) string {
	if kind == index.KindQuery {
		return e.o.QueryPrefix
	}
	return e.o.DocumentPrefix
}

// Prepare asks for what the fingerprint needs and the options do not say: the digest of an
// Ollama model, the dimension, and, with Options.ProbeWindow, the input limit. It makes no
// request if nothing is missing.
func (e *Embedder) Prepare(ctx context.Context) error {
	e.prepare.Lock()
	defer e.prepare.Unlock()
	e.mu.Lock()
	ready := e.ready
	e.mu.Unlock()
	if ready {
		return ctx.Err()
	}
	if e.o.Revision == "" && e.o.KeyEnv == "" {
		rev, err := e.ollamaDigest(ctx)
		if err != nil {
			return err
		}
		e.mu.Lock()
		e.revision = rev
		e.mu.Unlock()
	}
	if e.Fingerprint().Dimension == 0 {
		if _, err := e.embed(ctx, []string{"dimension"}, index.KindDocument, nil); err != nil {
			return fmt.Errorf("learn the dimension of model %s: %w", e.o.Model, err)
		}
	}
	if e.o.ProbeWindow && e.o.MaxTokens == 0 {
		w, err := e.MeasureWindow(ctx)
		if err != nil {
			return err
		}
		e.mu.Lock()
		e.window = w
		e.max = w.Limit()
		e.mu.Unlock()
		if w.Truncates {
			e.warn("the server cuts texts at about %d tokens without a word; longer ones are treated as over_long: %s", w.Limit(), e.o.OverLong)
		}
	}
	e.mu.Lock()
	e.ready = true
	e.mu.Unlock()
	return ctx.Err()
}

// Stats returns what the embedder did so far.
func (e *Embedder) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Cost = float64(s.Tokens) * e.o.Price / 1e6
	s.Excluded, s.Warnings, s.Models = slices.Clone(s.Excluded), slices.Clone(s.Warnings), slices.Clone(s.Models)
	return s
}

func (e *Embedder) count(f func(*Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.stats)
}

func (e *Embedder) warn(format string, args ...any) {
	w, seen := e.scrub(fmt.Sprintf(format, args...)), false
	e.count(func(s *Stats) {
		if seen = slices.Contains(s.Warnings, w); !seen {
			s.Warnings = append(s.Warnings, w)
		}
	})
	if !seen {
		e.o.Log.Warn(w)
	}
}

// input is one distinct string to send.
type input struct {
	text   string
	tokens int // estimated
	first  int // index of the first text it belongs to
	row    []float32
	err    error // no vector, with Options.SkipBad
}

// Embed implements index.Embedder. Texts of white space alone have no vector and are not
// sent. Equal texts are sent once.
func (e *Embedder) Embed(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	if kind == index.KindDocument {
		e.mu.Lock()
		hint := e.hint
		e.hint = ""
		e.mu.Unlock()
		if hint != "" {
			e.o.Log.Warn(hint)
		}
	}
	return e.embed(ctx, texts, kind, e.o.Progress)
}

func (e *Embedder) embed(ctx context.Context, texts []string, kind index.Kind, progress func(Progress)) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	inputs, parts, err := e.plan(texts, kind)
	if err != nil {
		return nil, err
	}
	failed := e.run(ctx, inputs, len(texts), progress)
	rows := make([][]float32, 0, len(texts))
	for i, text := range texts {
		row, err := e.join(parts[i], inputs)
		var skip *excluded
		if errors.As(err, &skip) {
			e.exclude(text, skip.reason)
			row, err = nil, nil
		}
		if err != nil {
			if failed != nil {
				err = failed
			}
			return rows, relocate(err, texts)
		}
		rows = append(rows, row)
	}
	e.count(func(s *Stats) { s.Texts += len(texts) })
	return rows, nil
}

// relocate makes a TextError speak of the text as given, not of what was sent for it.
func relocate(err error, texts []string) error {
	var t *unit.TextError
	if errors.As(err, &t) {
		return unit.NewTextError(t.Index, texts[t.Index], t.Err)
	}
	return err
}

// plan returns the distinct inputs for texts and, for each text, which of them it consists of.
func (e *Embedder) plan(texts []string, kind index.Kind) ([]*input, [][]int, error) {
	prefix := e.prefix(kind)
	e.mu.Lock()
	limit := e.max
	e.mu.Unlock()
	var inputs []*input
	known := map[string]int{}
	parts := make([][]int, len(texts))
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		pieces := []string{text}
		if n := EstimateTokens(prefix + text); limit > 0 && n > limit {
			budget := max(1, limit-EstimateTokens(prefix))
			switch e.o.OverLong {
			case "refuse":
				return nil, nil, unit.NewTextError(i, text, fmt.Errorf("about %d tokens, more than the limit of %d: use smaller chunks, raise max_tokens, or set over_long to split", n, limit))
			case "truncate":
				pieces[0], _ = cut(text, budget)
				e.count(func(s *Stats) { s.Truncated++ })
			default:
				pieces = pieces[:0]
				for rest := text; rest != ""; {
					var head string
					head, rest = cut(rest, budget)
					if strings.TrimSpace(head) != "" {
						pieces = append(pieces, head)
					}
				}
				e.count(func(s *Stats) { s.Split++ })
			}
		}
		for _, p := range pieces {
			p = prefix + p
			at, ok := known[p]
			if !ok {
				at = len(inputs)
				known[p] = at
				inputs = append(inputs, &input{text: p, tokens: EstimateTokens(p), first: i})
			}
			parts[i] = append(parts[i], at)
		}
	}
	return inputs, parts, nil
}

var errNotSent = errors.New("not sent")

// excluded is the reason why a text has no vector although nothing failed.
type excluded struct{ reason error }

func (x *excluded) Error() string { return x.reason.Error() }

// join returns the vector of a text from those of its parts, averaged by their lengths.
func (e *Embedder) join(parts []int, inputs []*input) ([]float32, error) {
	var sum []float64
	for _, p := range parts {
		in := inputs[p]
		if in.err != nil {
			return nil, in.err
		}
		if in.row == nil {
			return nil, errNotSent
		}
		if len(parts) == 1 {
			return slices.Clone(in.row), nil
		}
		if sum == nil {
			sum = make([]float64, len(in.row))
		}
		for j, x := range in.row {
			sum[j] += float64(float64(in.tokens) * float64(x))
		}
	}
	if sum == nil {
		return nil, nil
	}
	return unit.Scale(sum)
}

func (e *Embedder) exclude(text string, reason error) {
	e.count(func(s *Stats) {
		s.Excluded = append(s.Excluded, Excluded{unit.Head(text), unit.Digest(text), reason.Error()})
	})
}

// run embeds inputs in batches, several at a time. It returns the error of the first batch
// that failed, in batch order; the inputs of batches that succeeded have their rows.
func (e *Embedder) run(ctx context.Context, inputs []*input, total int, progress func(Progress)) error {
	batches := e.batches(inputs)
	errs := make([]error, len(batches))
	start, done, tokens := e.o.Now(), 0, 0
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for b, batch := range batches {
		select {
		case <-stop.Done():
		case e.slots <- struct{}{}:
		}
		if stop.Err() != nil {
			errs[b] = ctx.Err()
			break
		}
		wg.Go(func() {
			defer func() { <-e.slots }()
			used, err := e.batch(stop, batch)
			if err != nil {
				errs[b] = err
				cancel() // sends no further batch and ends those under way
			}
			if progress != nil && err == nil {
				e.progress.Lock()
				defer e.progress.Unlock()
				done += len(batch)
				tokens += used
				p := Progress{Done: min(total, done*total/len(inputs)), Total: total, Tokens: tokens, Cost: float64(tokens) * e.o.Price / 1e6}
				if s := e.o.Now().Sub(start).Seconds(); s > 0 {
					p.TokensPerSecond = float64(tokens) / s
				}
				progress(p)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var first error
	for _, err := range errs { // prefer a cause to a cancellation that it caused
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	return first
}

// batches cuts inputs into requests within Batch and BatchTokens.
func (e *Embedder) batches(inputs []*input) [][]*input {
	var out [][]*input
	from, tokens := 0, 0
	for i, in := range inputs {
		if i > from && (i-from >= e.o.Batch || tokens+in.tokens > e.o.BatchTokens) {
			out = append(out, inputs[from:i])
			from, tokens = i, 0
		}
		tokens += in.tokens
	}
	if from < len(inputs) {
		out = append(out, inputs[from:])
	}
	return out
}

// batch sends one request, and the texts one by one if it fails in a way that one of them may
// have caused. It returns the tokens used.
func (e *Embedder) batch(ctx context.Context, batch []*input) (int, error) {
	texts := make([]string, len(batch))
	for i, in := range batch {
		texts[i] = in.text
	}
	r, vectors, f := e.send(ctx, texts)
	if f == nil {
		return e.accept(r, vectors, batch)
	}
	if f.Err != nil && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if !f.single {
		return 0, &f.ServerError
	}
	if len(batch) == 1 {
		return 0, e.blame(batch[0], &f.ServerError)
	}
	return e.oneByOne(ctx, batch, f)
}

// giveUpAfter is the number of texts that may fail one by one, with none succeeding, before
// the server rather than a text is blamed.
const giveUpAfter = 8

func (e *Embedder) oneByOne(ctx context.Context, batch []*input, whole *failure) (int, error) {
	tokens, good := 0, 0
	var bad []*input
	var reasons []error
	for i, in := range batch {
		e.count(func(s *Stats) { s.Requests++ })
		r, vectors, f := e.try(ctx, []string{in.text})
		if ctx.Err() != nil {
			return tokens, ctx.Err()
		}
		if f != nil {
			f.Tries = 1
			if !f.single {
				return tokens, &f.ServerError
			}
			bad, reasons = append(bad, in), append(reasons, &f.ServerError)
		} else {
			used, err := e.accept(r, vectors, batch[i:i+1])
			if err != nil {
				return tokens, err
			}
			good++
			tokens += used
		}
		if good == 0 && len(bad) == min(giveUpAfter, len(batch)) {
			whole.Message += fmt.Sprintf(" (and again for each of %d texts sent one by one, the first %q)", len(bad), unit.Head(bad[0].text))
			return tokens, &whole.ServerError
		}
	}
	for i, in := range bad {
		if err := e.blame(in, reasons[i]); err != nil {
			return tokens, err
		}
	}
	return tokens, nil
}

// blame names in as the text that cannot be embedded, or excludes it if that is allowed.
func (e *Embedder) blame(in *input, reason error) error {
	if e.o.SkipBad {
		in.err = &excluded{reason}
		return nil
	}
	return unit.NewTextError(in.first, in.text, reason)
}

// accept checks the vectors of one reply and stores them.
func (e *Embedder) accept(r reply, vectors []json.RawMessage, batch []*input) (int, error) {
	if err := e.checkModel(r.Model); err != nil {
		return 0, err
	}
	rows, useless := make([][]float32, len(batch)), 0
	for i, raw := range vectors {
		row, err := parseVector(raw)
		if err != nil {
			reason := &ServerError{URL: e.url, Status: 200, Message: err.Error(), Tries: 1}
			if useless++; useless == len(batch) && useless > 1 {
				return 0, reason // no text is to blame when none of them has a vector
			}
			if err := e.blame(batch[i], reason); err != nil {
				return 0, err
			}
			continue
		}
		if err := e.checkDimension(len(row)); err != nil {
			return 0, unit.NewTextError(batch[i].first, batch[i].text, err)
		}
		rows[i] = row
	}
	for i := range batch {
		batch[i].row = rows[i]
	}
	return e.noteUsage(r.Usage.PromptTokens, batch), nil
}

// checkDimension compares with what was asked for or seen first.
func (e *Embedder) checkDimension(n int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dim == 0 {
		e.dim = n
	}
	if n != e.dim {
		return fmt.Errorf("embedding server %s: a vector of %d components, want %d: check model %s and dimensions: %w", e.url, n, e.dim, e.o.Model, index.ErrDimension)
	}
	return nil
}

// checkModel notes under which name the server answers.
func (e *Embedder) checkModel(name string) error {
	if name == "" {
		return nil
	}
	e.mu.Lock()
	at, seen := slices.BinarySearch(e.stats.Models, name)
	if !seen {
		e.stats.Models = slices.Insert(e.stats.Models, at, name)
	}
	e.mu.Unlock()
	if seen || sameModel(name, e.o.Model) {
		return nil
	}
	if e.o.StrictModel {
		return &ServerError{URL: e.url, Status: 200, Message: fmt.Sprintf("asked for model %q, answered by %q", e.o.Model, clip(name)), Tries: 1, Hint: "load the right model or correct the name"}
	}
	e.warn("asked for model %q, answered by %q: is the right model loaded?", e.o.Model, clip(name))
	return nil
}

// sameModel compares names as servers spell them: with a :latest tag, as a path of a file,
// with a dated suffix.
func sameModel(a, b string) bool {
	short := func(s string) string {
		s = strings.ToLower(strings.TrimSuffix(s, ":latest"))
		s = strings.TrimSuffix(s, ".gguf")
		return s[strings.LastIndexAny(s, `/\`)+1:]
	}
	return short(a) == short(b)
}

// noteDensity warns, once, where the tokenizer makes so many more tokens than are estimated that texts
// within the limit that the probe found are cut by the server all the same.
func (e *Embedder) noteDensity(reported, estimated int, batch []*input) {
	longest := 0
	for _, in := range batch {
		longest = max(longest, in.tokens)
	}
	e.mu.Lock()
	window := e.window.Tokens
	cut := !e.dense && window > 0 && reported > estimated && 64*longest*reported >= 63*window*estimated
	e.dense = e.dense || cut
	e.mu.Unlock()
	if cut {
		fit := window * estimated / reported
		e.warn("the server counts %d tokens where %d are estimated, so that texts of more than about %d estimated tokens do not fit into its %d: set max_tokens to %d or less", reported, estimated, fit, window, fit)
	}
}

// noteUsage adds up tokens and watches for texts cut in silence: fewer tokens than words, or
// one count for texts of different lengths.
func (e *Embedder) noteUsage(reported int, batch []*input) int {
	estimated, words, least := 0, 0, batch[0].tokens
	for _, in := range batch {
		estimated += in.tokens
		words += len(strings.Fields(in.text))
		least = min(least, in.tokens)
	}
	e.noteDensity(reported, estimated, batch)
	used := cmp.Or(reported, estimated)
	e.count(func(s *Stats) { s.Tokens += used })
	if reported == 0 {
		return used
	}
	if reported < words {
		e.warn("the server counted fewer tokens than the texts have words: it cuts long texts without a word: set max_tokens to its limit")
	}
	if each := reported / len(batch); reported%len(batch) == 0 && each >= 64 && least > each {
		e.mu.Lock()
		before, seen := e.bunch[each]
		e.bunch[each] = least
		e.mu.Unlock()
		if seen && before != least {
			e.warn("the server counts %d tokens for texts of different lengths: it cuts them there without a word: set max_tokens to %d", each, each)
		}
	}
	return used
}
