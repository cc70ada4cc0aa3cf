package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/index"
)

// ErrInvalid says that a measurement cannot count: the exam was changed, or could not be held.
var ErrInvalid = errors.New("invalid evaluation")

// EvalOptions say how a build is evaluated. The zero value runs the dev questions at cutoffs
// 1, 3 and 5.
type EvalOptions struct {
	Split   string // dev (default), holdout or all
	Rule    string // section or span; "" means section for section chunks, span for all others
	View    string // slots (default) or sections
	Cutoffs []int  // at least 1 each; default 1, 3, 5
	// Measures as evalkit names them; default the standard families at all cutoffs.
	Measures []string
	Mode     string // hybrid, vector or lexical; "" means the build's setting
	Seed     uint64 // of bootstrap and simulation
	Workers  int    // questions at a time; 0 means GOMAXPROCS; never changes a result
	// Resamples of the bootstrap; 0 means 2000, negative leaves intervals out.
	Resamples int
	// Lock is the freeze that the set must still fit; nil takes the lock file beside the set,
	// if there is one.
	Lock *golden.Lock
	// AllowInCorpus permits documents that hold golden questions word for word.
	AllowInCorpus bool

	// otherCorpus marks a build that the set was not written for: gold that it lacks is
	// missed by it, and is no fault of the set.
	otherCorpus bool
	quiet       bool // reports no progress of its own
}

func (o EvalOptions) withDefaults() EvalOptions {
	if o.Split == "" {
		o.Split = golden.Dev
	}
	if o.View == "" {
		o.View = evalkit.ViewSlots
	}
	if len(o.Cutoffs) == 0 {
		o.Cutoffs = []int{1, 3, 5}
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o
}

// Validate refuses cutoffs, splits and rules that no evaluation can have.
func (o EvalOptions) Validate() error {
	for _, k := range o.Cutoffs {
		if k < 1 {
			return badInput("cutoff %d: a cutoff is a whole number from 1", k)
		}
	}
	for _, m := range o.Measures {
		if _, err := measure.Expand([]string{m}, o.Cutoffs); err != nil {
			return badInput("%v", err)
		}
	}
	for _, c := range []struct {
		what, have string
		accepted   []string
	}{
		{"split", o.Split, []string{"", golden.Dev, golden.Holdout, golden.All}},
		{"rule", o.Rule, []string{"", evalkit.RuleSection, evalkit.RuleSpan, evalkit.RuleFacts}},
		{"view", o.View, []string{"", evalkit.ViewSlots, evalkit.ViewSections}},
		{"mode", o.Mode, []string{"", "hybrid", "vector", "lexical"}},
	} {
		if !slices.Contains(c.accepted, c.have) {
			return badInput("%s is %q: use one of %s", c.what, c.have, strings.Join(c.accepted[1:], ", "))
		}
	}
	return nil
}

// Outcome is one evaluation of one build.
type Outcome struct {
	Evaluation *evalkit.Evaluation
	Run        *evalkit.Run
	Preflight  *golden.Report
	Times      *evalkit.Times // no part of any digest
}

// Evaluate runs the golden questions against a build, with the permissions of each question,
// and scores the answers. It writes nothing: Validate does, and decides. Preflight errors stop
// it with ErrInvalid.
func (e *Engine) Evaluate(ctx context.Context, build string, set *golden.Set, o EvalOptions) (*Outcome, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r, err := e.openBuild(build)
	if err != nil {
		return nil, err
	}
	out, err := e.evaluate(ctx, r, r.view(), set, o.withDefaults())
	return out, errors.Join(err, r.close())
}

// defaultRule is the rule for comparing the given builds: sections only count as places where
// every build's chunks are sections.
func defaultRule(readers ...*reader) string {
	for _, r := range readers {
		if r != nil && r.settings.Chunk.Kind != "section" {
			return evalkit.RuleSpan
		}
	}
	return evalkit.RuleSection
}

func (e *Engine) evaluate(ctx context.Context, r *reader, v *view, set *golden.Set, o EvalOptions) (*Outcome, error) {
	docs, err := r.collection(r.manifest.Corpus.Name)
	if err != nil {
		return nil, err
	}
	for _, sk := range r.manifest.Corpus.Skipped {
		docs.Skipped = append(docs.Skipped, corpus.Skipped{Path: sk.Path, Reason: sk.Reason})
	}
	var report *golden.Report
	if !o.otherCorpus {
		if report, err = preflight(set, docs, o); err != nil {
			return nil, err
		}
	}
	if o.Rule == "" {
		o.Rule = defaultRule(r)
	}
	out := &Outcome{Preflight: report}
	started := e.o.Now().UTC()
	var latencies map[string]time.Duration
	if out.Run, latencies, err = e.ask(ctx, v, set, o); err != nil {
		return nil, err
	}
	out.Times = evalkit.NewTimes(started, e.o.Now().UTC(), latencies)
	out.Evaluation, err = evalkit.Evaluate(set, docs, out.Run, evalkit.Options{
		Rule: o.Rule, View: o.View, Cutoffs: o.Cutoffs, Measures: o.Measures,
		Split: o.Split, Seed: o.Seed, Workers: o.Workers, Resamples: o.Resamples,
	})
	return out, err
}

// preflight checks the golden set against the documents it is to be asked of, and against its
// freeze if there is one.
func preflight(set *golden.Set, docs *corpus.Collection, o EvalOptions) (*golden.Report, error) {
	lock := o.Lock
	if lock == nil && set.Path != "" {
		var err error
		if lock, err = golden.ReadLock(golden.LockPath(set.Path)); err != nil && !index.IsMissing(err) {
			return nil, err
		}
	}
	report := golden.Preflight(set, docs, golden.PreflightOptions{
		K: slices.Max(o.Cutoffs), Lock: lock, AllowInCorpus: o.AllowInCorpus,
	})
	if err := report.Err(); err != nil {
		return report, fmt.Errorf("%w: the golden set does not fit the documents: %w", ErrInvalid, err)
	}
	return report, nil
}

// ask runs every selected question at the build's full depth, so that a leak is found wherever
// it stands in the candidate list.
func (e *Engine) ask(ctx context.Context, v *view, set *golden.Set, o EvalOptions) (*evalkit.Run, map[string]time.Duration, error) {
	questions := set.Select(o.Split)
	run := &evalkit.Run{Tag: v.r.id, Build: v.r.id, Results: make([]evalkit.Result, len(questions)), Chunks: v.allChunks()}
	latencies := make([]time.Duration, len(questions))
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range min(o.Workers, len(questions)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(questions) || ctx.Err() != nil {
					return
				}
				start := time.Now()
				run.Results[i] = v.result(ctx, questions[i], o.Mode)
				latencies[i] = time.Since(start)
				if n := int(done.Add(1)); !o.quiet {
					e.o.Progress(Progress{Stage: "evaluate", Done: n, Total: len(questions)})
				}
			}
		})
	}
	wg.Wait()
	byQuestion := make(map[string]time.Duration, len(questions))
	for i, q := range questions {
		byQuestion[q.ID] = latencies[i]
	}
	return run, byQuestion, ctx.Err()
}

func (v *view) result(ctx context.Context, q *golden.Question, mode string) evalkit.Result {
	out := evalkit.Result{Question: q.ID}
	prepared, err := v.r.prepare(Query{Text: q.Question, K: v.r.settings.Hybrid.Depth, As: q.As, Mode: mode})
	var resp *Response
	if err == nil {
		resp, err = v.search(ctx, prepared, false)
	}
	if err != nil {
		out.Err = err.Error()
		return out
	}
	out.Hits = make([]evalkit.Hit, len(resp.Hits))
	for i, h := range resp.Hits {
		out.Hits[i] = evalHit(h)
	}
	return out
}

func evalHit(h index.Hit) evalkit.Hit {
	return evalkit.Hit{
		Chunk: h.Chunk, Doc: h.Doc, DocVersion: h.DocVersion, Section: h.Section, Sections: h.Sections,
		Span: corpus.Span{Start: h.Start, End: h.End}, Score: h.Score, Rank: h.Rank,
		Vector: (*evalkit.Component)(h.Vector), Lexical: (*evalkit.Component)(h.Lexical),
	}
}

// allChunks lists the chunks that the random baseline draws from.
func (v *view) allChunks() []evalkit.Hit {
	out := make([]evalkit.Hit, v.r.nchunks)
	for ord := range out {
		rec := v.r.chunk(uint32(ord))
		d := int(le.Uint32(rec))
		out[ord] = evalkit.Hit{
			Chunk:   v.r.chunkID(uint32(ord)),
			Doc:     docIDOf(v.r, d),
			Section: strings.Clone(v.r.sectionPath(d, int(le.Uint32(rec[4:])))),
			Span:    v.r.chunkSpan(uint32(ord)),
		}
	}
	return out
}

// ManifestSettings returns the settings that a build was made with.
func ManifestSettings(m *index.Manifest) (Settings, error) {
	var s Settings
	if err := json.Unmarshal(m.Settings, &s); err != nil {
		return s, &index.CorruptError{File: index.ManifestName, Reason: "settings: " + err.Error()}
	}
	return s, nil
}

// DescribeChunking names a build's chunking in a few words, such as "section 900 level 2".
func DescribeChunking(m *index.Manifest) string {
	s, err := ManifestSettings(m)
	if err != nil {
		return "?"
	}
	c := s.Chunk
	switch c.Kind {
	case "section":
		return fmt.Sprintf("section %d level %d", c.Max, c.Level)
	case "fixed":
		if c.Overlap > 0 {
			return fmt.Sprintf("fixed %d overlap %d", c.Size, c.Overlap)
		}
		return fmt.Sprintf("fixed %d", c.Size)
	}
	return fmt.Sprintf("%s %d", c.Kind, max(c.Max, c.Size))
}
