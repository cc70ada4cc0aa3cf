package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// Options say how a run is made. The zero value asks the dev questions.
type Options struct {
	Split string // dev (default), holdout or all
	// Documents, if given, are those the golden set is about: a hit on one that they lack is an
	// error of its question, and passages without offsets are looked up in them.
	Documents *corpus.Collection
	Getenv    func(string) string // of ${NAME} in headers; nil knows none
	HTTP      *http.Client        // nil means a client that follows no redirects
	Progress  func(done, total int)
	// Wait is the pause before the second attempt, doubled for each further one; 0 means 500 ms.
	Wait time.Duration
}

// Result is a run with the time each question took, the attempts that failed included.
type Result struct {
	Run   *evalkit.Run
	Times *evalkit.Times
}

// Ask sends every question of the split and returns the run. A question whose request fails for
// good, or whose answer cannot be read, has its error in the run, where it makes a verdict
// invalid; an error here means that there is no run: a bad template, a missing variable, or a
// cancelled context.
func Ask(ctx context.Context, spec *Spec, set *golden.Set, o Options) (*Result, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	a := &asker{s: spec.withDefaults(), o: o}
	if a.o.Split == "" {
		a.o.Split = golden.Dev
	}
	if a.o.Wait == 0 {
		a.o.Wait = 500 * time.Millisecond
	}
	if a.o.HTTP == nil {
		a.o.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	var err error
	if a.headers, err = expand(a.s.Headers, o.Getenv); err != nil {
		return nil, err
	}
	questions := set.Select(a.o.Split)
	run := &evalkit.Run{Tag: a.s.Name, Build: a.s.Name, Results: make([]evalkit.Result, len(questions))}
	took := make([]time.Duration, len(questions))
	started := time.Now()
	var next, done atomic.Int64
	var progress sync.Mutex
	var wg sync.WaitGroup
	for range min(a.s.Concurrency, len(questions)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(questions) {
					return
				}
				begin := time.Now()
				res := evalkit.Result{Question: questions[i].ID}
				var err error
				if res.Hits, err = a.question(ctx, questions[i]); err != nil {
					res.Hits, res.Err = nil, err.Error()
				}
				run.Results[i], took[i] = res, time.Since(begin)
				if o.Progress != nil {
					progress.Lock()
					o.Progress(int(done.Add(1)), len(questions))
					progress.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	byQuestion := make(map[string]time.Duration, len(questions))
	for i, q := range questions {
		byQuestion[q.ID] = took[i]
	}
	return &Result{Run: run, Times: evalkit.NewTimes(started.UTC(), time.Now().UTC(), byQuestion)}, nil
}

type asker struct {
	s       Spec
	o       Options
	headers map[string]string
}

// expand puts environment variables into headers.
func expand(headers map[string]string, getenv func(string) string) (map[string]string, error) {
	out := map[string]string{}
	var missing []string
	for k, v := range headers {
		out[k] = os.Expand(strings.ReplaceAll(v, "$$", "$"), func(name string) string {
			value := ""
			if getenv != nil {
				value = getenv(name)
			}
			if value == "" {
				missing = append(missing, name)
			}
			return value
		})
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("headers: environment variable %s is not set", strings.Join(slices.Compact(missing), ", "))
	}
	return out, nil
}

// question sends one question, again after failures that may pass.
func (a *asker) question(ctx context.Context, q *golden.Question) ([]evalkit.Hit, error) {
	as := q.As
	if as == nil {
		as = []string{}
	}
	values := map[string]any{"question": q.Question, "k": a.s.K, "id": q.ID, "as": as}
	address := placeholders(a.s.URL, func(name string) string { return url.QueryEscape(plain(values[name])) })
	var body []byte
	if a.s.Body != nil {
		var err error
		if body, err = json.Marshal(fill(a.s.Body, values)); err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	var last error
	for try := range a.s.Tries {
		data, after, err := a.send(ctx, address, body)
		if err == nil {
			return a.hits(data)
		}
		last = err
		var passing *passingError
		if !errors.As(err, &passing) || ctx.Err() != nil {
			break
		}
		if try+1 == a.s.Tries {
			last = fmt.Errorf("%w (%d tries)", err, a.s.Tries)
			break
		}
		wait := a.o.Wait << min(try, 6)
		wait = wait/2 + rand.N(wait/2+1) // so that refused clients do not come back together
		if after > 0 {
			wait = min(after, time.Minute)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		case <-t.C:
		}
	}
	return nil, last
}

// passingError is a failure that another attempt may not have.
type passingError struct{ err error }

func (e *passingError) Error() string { return e.err.Error() }
func (e *passingError) Unwrap() error { return e.err }

// send makes one request and returns the answer's body, or how long to wait before another.
func (a *asker) send(ctx context.Context, address string, body []byte) (data []byte, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.s.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, a.s.Method, address, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range a.headers {
		req.Header.Set(k, v)
	}
	resp, err := a.o.HTTP.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // its text repeats the whole address
			err = u.Err
		}
		return nil, 0, &passingError{fmt.Errorf("%s %s: %w", a.s.Method, req.URL.Host, err)}
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(io.LimitReader(resp.Body, a.s.MaxBytes+1))
	switch {
	case err != nil:
		return nil, 0, &passingError{fmt.Errorf("%s %s: answer breaks off: %w", a.s.Method, req.URL.Host, err)}
	case int64(len(data)) > a.s.MaxBytes:
		return nil, 0, fmt.Errorf("%s %s: answer is longer than %d bytes: raise max_bytes, or ask for fewer hits", a.s.Method, req.URL.Host, a.s.MaxBytes)
	case resp.StatusCode == http.StatusOK:
		return data, 0, nil
	}
	err = fmt.Errorf("%s %s: %s: %s", a.s.Method, req.URL.Host, resp.Status, clip(string(data), 200))
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode >= 500 {
		if n, perr := strconv.Atoi(resp.Header.Get("Retry-After")); perr == nil && n > 0 {
			after = time.Duration(n) * time.Second
		}
		return nil, after, &passingError{err}
	}
	return nil, 0, err
}

func clip(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// hits reads the ranked list of one answer.
func (a *asker) hits(data []byte) ([]evalkit.Hit, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var answer any
	if err := dec.Decode(&answer); err != nil {
		return nil, fmt.Errorf("answer is not JSON: %w", err)
	}
	v, err := at(answer, a.s.Hits.List)
	if err != nil {
		return nil, fmt.Errorf("answer: hits.list: %w", err)
	}
	list, ok := v.([]any)
	if !ok && v != nil { // some services write null for an empty list
		return nil, fmt.Errorf("answer: hits.list: path %q holds a %s, not a list", a.s.Hits.List, kind(v))
	}
	out := make([]evalkit.Hit, 0, len(list))
	seen := map[corpus.ChunkID]int{}
	for i := range list {
		h, err := a.hit(list[i], i+1)
		if err != nil {
			return nil, fmt.Errorf("answer: hit %d: %w", i+1, err)
		}
		if at := seen[h.Chunk]; at > 0 {
			return nil, fmt.Errorf("answer: hit %d repeats the chunk %q of hit %d", i+1, h.Chunk, at)
		}
		seen[h.Chunk] = i + 1
		out = append(out, h)
	}
	return out, nil
}

func (a *asker) hit(v any, rank int) (h evalkit.Hit, err error) {
	p := a.s.Hits
	get := func(what, path string, use func(any) error) {
		if err != nil || path == "" {
			return
		}
		value, gerr := at(v, path)
		if gerr == nil {
			gerr = use(value)
		}
		if gerr != nil {
			err = fmt.Errorf("hits.%s: %w", what, gerr)
		}
	}
	get("doc", p.Doc, func(v any) error {
		id, err := text(v)
		h.Doc = corpus.DocumentID(strings.TrimPrefix(id, p.Strip) + p.Append)
		if err == nil && id == "" {
			err = errors.New("the id is empty")
		}
		return err
	})
	h.Score = 1 / float64(rank)
	get("score", p.Score, func(v any) error {
		s, err := number(v)
		if err == nil && (math.IsNaN(s) || math.IsInf(s, 0)) {
			err = fmt.Errorf("%v is no score", s)
		}
		if h.Score = s; p.Distance {
			h.Score = -s
		}
		return err
	})
	get("section", p.Section, func(v any) (err error) { h.Section, err = section(v); return err })
	get("start", p.Start, func(v any) (err error) { h.Span.Start, err = offset(v); return err })
	get("end", p.End, func(v any) (err error) { h.Span.End, err = offset(v); return err })
	get("text", p.Text, func(v any) (err error) { h.Text, err = text(v); return err })
	get("chunk", p.Chunk, func(v any) error {
		id, err := text(v)
		h.Chunk = corpus.ChunkID(id)
		return err
	})
	if err == nil {
		err = a.place(&h)
	}
	if h.Chunk == "" {
		h.Chunk = corpus.ChunkID(fmt.Sprintf("%s#rank-%d", h.Doc, rank))
		if h.Span.End > 0 {
			h.Chunk = corpus.ChunkID(fmt.Sprintf("%s#%d-%d", h.Doc, h.Span.Start, h.Span.End))
		}
	}
	return h, err
}

// place checks a hit against the documents and finds its span and section where the service
// does not give them.
func (a *asker) place(h *evalkit.Hit) error {
	if h.Span.End < h.Span.Start {
		return fmt.Errorf("end %d is before start %d", h.Span.End, h.Span.Start)
	}
	if a.o.Documents == nil {
		return nil
	}
	doc := a.o.Documents.Find(h.Doc)
	if doc == nil {
		return fmt.Errorf("document %q is not in the corpus: hits.strip and hits.append change ids", h.Doc)
	}
	if h.Span.End > len(doc.Text) {
		return fmt.Errorf("end %d is beyond the %d bytes of %s: offsets count bytes of the normalised text", h.Span.End, len(doc.Text), h.Doc)
	}
	if h.Span.End == 0 && h.Text != "" {
		if i := strings.Index(doc.Text, corpus.Normalize(h.Text)); i >= 0 {
			h.Span = corpus.Span{Start: i, End: i + len(corpus.Normalize(h.Text))}
		}
	}
	if a.s.Hits.Section == "" && h.Span.End > 0 {
		h.Section = corpus.FormatPath(doc.Sections[doc.SectionAt(h.Span.Start)].Path)
	}
	return nil
}
