package evalkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/stats"
	"github.com/seed792a4543/assay/internal/rank"
)

// DefaultCutoffs are the cutoffs of a zero Options.
func DefaultCutoffs() []int { return []int{1, 3, 5} }

// defaultFamilies are the measures of a zero Options. The span measures join them where there
// are documents to read spans from.
var defaultFamilies = []string{"hit", "p", "recall", "rr", "ap", "ndcg", "all_hit", "judged", "dup"}

var spanFamilies = []string{"char_recall", "char_precision", "char_iou"}

// ErrUnknownQuestion says that a run holds a question the golden set lacks.
var ErrUnknownQuestion = errors.New("question is not in the golden set")

// Evaluate scores the run against the accepted questions of the golden set. docs are the
// documents the build was made from; they resolve gold sections and quotes. Without documents
// (nil) sections are compared by the paths the run carries, and rule span and the span measures
// are not available.
//
// Hits are ordered by score descending, then chunk id descending byte-wise, whatever order they
// come in. Gold that the documents lack, a question the set lacks, a repeated question or chunk,
// a score that is no finite number and a document the corpus lacks are errors. A failed query
// is no error here: it is counted, scored 0, and makes every verdict invalid.
func Evaluate(set *golden.Set, docs *corpus.Collection, run *Run, o Options) (*Evaluation, error) {
	ev, err := newEvaluator(set, docs, run, o)
	if err != nil {
		return nil, err
	}
	out := &Evaluation{
		Schema: EvaluationSchema,
		Run:    run.Tag,
		Build:  run.Build,
		Golden: GoldenRef{set.Name, set.Version, set.Digest()},
		Rule:   ev.o.Rule, View: ev.o.View, Split: ev.o.Split, Cutoffs: ev.o.Cutoffs, Seed: ev.o.Seed,
		Questions: make([]QuestionResult, len(ev.topics)),
	}
	if docs != nil {
		out.Corpus = docs.Digest()
	}
	baseline := newBaseline(ev, docs)
	random := make([][]Value, len(ev.topics))
	errs := make([]error, len(ev.topics))
	warnings := make([]string, len(ev.topics))
	ev.each(func(i int, w *worker) {
		out.Questions[i], warnings[i], errs[i] = ev.score(w, ev.topics[i])
		if baseline != nil && len(ev.topics[i].groups) > 0 {
			random[i] = baseline.values(w, ev.topics[i], i)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, w := range warnings {
		if w != "" {
			out.Warnings = append(out.Warnings, w)
		}
	}
	ev.aggregate(out, random)
	if baseline != nil {
		out.RandomBasis = baseline.basis
	}
	return out, nil
}

// Encode returns the evaluation as indented JSON with a final line break. The same evaluation
// gives the same bytes.
func (e *Evaluation) Encode() ([]byte, error) { return encodeJSON(e) }

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type evaluator struct {
	o        Options
	set      *golden.Set
	run      *Run
	lib      *library
	topics   []*topic
	results  map[string]*Result
	measures []measure.Measure
	names    []string
	chars    []int
}

func newEvaluator(set *golden.Set, docs *corpus.Collection, run *Run, o Options) (*evaluator, error) {
	if set == nil || run == nil {
		return nil, errors.New("evaluate: golden set and run are needed")
	}
	ev := &evaluator{o: o, set: set, run: run, lib: newLibrary(docs)}
	if err := ev.options(docs != nil); err != nil {
		return nil, err
	}
	var errs []error
	for _, q := range set.Select(ev.o.Split) {
		t, err := newTopic(ev.lib, q, ev.o.Rule)
		if err != nil {
			errs = append(errs, err)
		}
		ev.topics = append(ev.topics, t)
	}
	ids := make(map[string]bool, len(set.Questions))
	for i := range set.Questions {
		ids[set.Questions[i].ID] = true
	}
	ev.results = make(map[string]*Result, len(run.Results))
	for i := range run.Results {
		r := &run.Results[i]
		if !ids[r.Question] {
			errs = append(errs, fmt.Errorf("run %s: %w: %q: score it against the set it was made from", run.Tag, ErrUnknownQuestion, r.Question))
		}
		if ev.results[r.Question] != nil {
			errs = append(errs, fmt.Errorf("run %s: question %q has two results", run.Tag, r.Question))
		}
		ev.results[r.Question] = r
	}
	return ev, errors.Join(errs...)
}

// options fills in defaults and checks the rest.
func (ev *evaluator) options(documents bool) error {
	o := &ev.o
	choose := func(what string, v *string, allowed ...string) error {
		if *v == "" {
			*v = allowed[0]
		}
		if !slices.Contains(allowed, *v) {
			return fmt.Errorf("evaluate: %s %q is not known: use %s", what, *v, strings.Join(allowed, ", "))
		}
		return nil
	}
	if err := errors.Join(
		choose("rule", &o.Rule, RuleSection, RuleSpan, RuleFacts),
		choose("view", &o.View, ViewSlots, ViewSections),
		choose("split", &o.Split, golden.All, golden.Dev, golden.Holdout),
	); err != nil {
		return err
	}
	if o.Rule == RuleSpan && !documents {
		return errors.New("evaluate: rule span needs the documents")
	}
	if len(o.Cutoffs) == 0 {
		o.Cutoffs = DefaultCutoffs()
	}
	o.Cutoffs = slices.Clone(o.Cutoffs)
	slices.Sort(o.Cutoffs)
	o.Cutoffs = slices.Compact(o.Cutoffs)
	for _, k := range o.Cutoffs {
		if k < 1 || k > measure.MaxCutoff {
			return fmt.Errorf("evaluate: cutoff %d is no whole number from 1 to %d", k, measure.MaxCutoff)
		}
	}
	names := o.Measures
	if len(names) == 0 {
		names = slices.Clone(defaultFamilies)
		if documents {
			names = append(names, spanFamilies...)
		}
	}
	var err error
	if ev.measures, err = measure.Expand(names, o.Cutoffs); err != nil {
		return fmt.Errorf("evaluate: %w", err)
	}
	for _, m := range ev.measures {
		ev.names = append(ev.names, m.String())
		switch m.Family {
		case measure.CharRecall, measure.CharPrecision, measure.CharIoU:
			if !documents {
				return fmt.Errorf("evaluate: %s needs the documents", m)
			}
			ev.chars = append(ev.chars, m.Cutoff)
		case measure.GMAP:
			return fmt.Errorf("evaluate: %s is a mean of logarithms: use score on TREC files", m)
		default:
			if m.Family.Sums() {
				return fmt.Errorf("evaluate: %s is a count: use score on TREC files", m)
			}
		}
	}
	slices.Sort(ev.chars)
	ev.chars = slices.Compact(ev.chars)
	if o.Workers < 1 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return nil
}

// worker holds what one goroutine reuses between questions.
type worker struct {
	builder *builder
	scorer  measure.Scorer
	slots   []slot
	hits    []*Hit
	chunks  map[corpus.ChunkID]bool
}

func (ev *evaluator) worker() *worker {
	return &worker{builder: newBuilder(judge{ev.o.Rule, ev.lib}, ev.o.View, ev.chars), chunks: map[corpus.ChunkID]bool{}}
}

// each calls f once for each topic, from several goroutines; f fills slots of its own.
func (ev *evaluator) each(f func(i int, w *worker)) {
	n := min(ev.o.Workers, len(ev.topics))
	if n <= 1 {
		w := ev.worker()
		for i := range ev.topics {
			f(i, w)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			w := ev.worker()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ev.topics) {
					return
				}
				f(i, w)
			}
		})
	}
	wg.Wait()
}

// order puts the hits of a result into w.slots in the order that counts, checked.
func (ev *evaluator) order(w *worker, r *Result) (warning string, err error) {
	w.hits, w.slots = w.hits[:0], w.slots[:0]
	clear(w.chunks)
	sorted, ranked := true, false
	for i := range r.Hits {
		h := &r.Hits[i]
		if !finite(h.Score) {
			return "", fmt.Errorf("question %s: hit %d, chunk %q: score %v is no finite number", r.Question, i+1, h.Chunk, h.Score)
		}
		if h.Chunk == "" {
			return "", fmt.Errorf("question %s: hit %d has no chunk id", r.Question, i+1)
		}
		if w.chunks[h.Chunk] {
			return "", fmt.Errorf("question %s: chunk %q is returned twice", r.Question, h.Chunk)
		}
		w.chunks[h.Chunk] = true
		w.hits = append(w.hits, h)
		if i > 0 && compareHits(w.hits[i-1], h) > 0 {
			sorted = false
		}
		ranked = ranked || h.Rank > 0
	}
	if !sorted {
		slices.SortFunc(w.hits, compareHits)
	}
	if ranked {
		for i, h := range w.hits {
			if h.Rank != i+1 {
				warning = fmt.Sprintf("question %s: chunk %q came at rank %d and counts at %d: the order is score descending, then chunk id descending", r.Question, h.Chunk, h.Rank, i+1)
				break
			}
		}
	}
	for i, h := range w.hits {
		s, err := ev.lib.locate(h)
		if err != nil {
			return "", fmt.Errorf("question %s: hit %d, chunk %q: %w", r.Question, i+1, h.Chunk, err)
		}
		w.slots = append(w.slots, s)
	}
	return warning, nil
}

func compareHits(a, b *Hit) int { return rank.Compare(a.Score, a.Chunk, b.Score, b.Chunk) }

// score scores one question.
func (ev *evaluator) score(w *worker, t *topic) (out QuestionResult, warning string, err error) {
	q := t.q
	out = QuestionResult{
		ID: q.ID, Answerable: q.Answerable, Critical: q.Critical, Slice: slices.Clone(q.Slice), Split: golden.Dev,
		Status: StatusOK, Measures: make(map[string]Value, len(ev.names)),
		Hits: []corpus.ChunkID{}, Docs: []corpus.DocumentID{}, Sections: []string{},
	}
	if out.Slice == nil {
		out.Slice = []string{}
	}
	if q.Split == golden.Holdout {
		out.Split = golden.Holdout
	}
	w.slots, w.hits = w.slots[:0], w.hits[:0]
	if r := ev.results[q.ID]; r != nil {
		if r.Err != "" {
			out.Status, out.Error = StatusError, r.Err
		} else if warning, err = ev.order(w, r); err != nil {
			return out, "", err
		}
	}
	if out.Status != StatusError {
		switch {
		case len(t.groups) == 0:
			out.Status = StatusNA
		case len(w.slots) == 0:
			out.Status = StatusNoResult
		}
	}
	ev.list(&out, w, q)
	out.Evidence, out.Descendant = w.builder.build(t, w.slots)
	out.FirstRank = out.Evidence.FirstRank()
	for i, m := range ev.measures {
		out.Measures[ev.names[i]] = w.scorer.Value(&out.Evidence, m)
	}
	return out, warning, nil
}

// list copies what the reader of a report wants to see of the hits, and finds leaks.
func (ev *evaluator) list(out *QuestionResult, w *worker, q *golden.Question) {
	n := len(w.slots)
	if n == 0 {
		return
	}
	out.TopScore = Num(w.slots[0].hit.Score)
	out.Hits = make([]corpus.ChunkID, n)
	out.Docs = make([]corpus.DocumentID, n)
	out.Sections = make([]string, n)
	for i := range w.slots {
		s := &w.slots[i]
		out.Hits[i], out.Docs[i], out.Sections[i] = s.hit.Chunk, s.hit.Doc, ev.lib.sectionName(s)
		if i > 0 && s.hit.Score == w.slots[i-1].hit.Score {
			out.TieAt = append(out.TieAt, i+1)
		}
		if slices.Contains(q.Forbidden, s.hit.Doc) {
			out.Leaks = append(out.Leaks, Leak{i + 1, s.hit.Doc, "forbidden"})
		} else if ev.lib != nil && !corpus.Visible(ev.lib.docs[s.docAt].ACL, q.As) {
			out.Leaks = append(out.Leaks, Leak{i + 1, s.hit.Doc, "acl"})
		}
	}
}

// aggregate fills in counts, means, slices and the random baseline, in question order.
func (ev *evaluator) aggregate(out *Evaluation, random [][]Value) {
	all := make([]int, len(out.Questions))
	tags := map[string][]int{}
	for i := range out.Questions {
		q := &out.Questions[i]
		all[i] = i
		for _, s := range q.Slice {
			tags[s] = append(tags[s], i)
		}
		out.Counts.add(q, ev.topics[i].q)
	}
	out.Measures = ev.summaries(out, all)
	out.Slices = make(map[string]*Slice, len(tags))
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		s := &Slice{N: len(tags[tag])}
		for _, i := range tags[tag] {
			if out.Questions[i].Answerable {
				s.Answerable++
			} else {
				s.Unanswerable++
			}
		}
		s.Measures = ev.summaries(out, tags[tag])
		out.Slices[tag] = s
	}
	out.Random = make(map[string]Value, len(ev.names))
	for m, name := range ev.names {
		sum, n := 0.0, 0
		for i := range random {
			if random[i] == nil {
				continue
			}
			if !random[i][m].OK {
				n = 0
				break
			}
			sum += random[i][m].V
			n++
		}
		out.Random[name] = ratio(sum, n)
	}
	if len(out.Counts.NoResults) > 0 {
		out.Warnings = append(out.Warnings, "no results, counted as 0: "+strings.Join(out.Counts.NoResults, ", "))
	}
	if len(out.Counts.Errors) > 0 {
		out.Warnings = append(out.Warnings, "failed, the run is invalid: "+strings.Join(out.Counts.Errors, ", "))
	}
	if ev.o.Rule == RuleFacts && out.Counts.NoFacts > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d answerable questions have no facts and are n/a under rule facts", out.Counts.NoFacts))
	}
	if left := len(ev.set.Questions) - len(ev.set.Select(golden.All)); left > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d questions are drafts or retired and were not scored", left))
	}
}

func ratio(sum float64, n int) Value {
	if n == 0 {
		return Value{}
	}
	return Num(sum / float64(n))
}

func (c *Counts) add(r *QuestionResult, q *golden.Question) {
	c.Questions++
	if r.Answerable {
		c.Answerable++
		if len(q.Facts) == 0 {
			c.NoFacts++
		}
	} else {
		c.Unanswerable++
	}
	switch r.Status {
	case StatusNoResult:
		c.NoResult++
		c.NoResults = append(c.NoResults, r.ID)
	case StatusError:
		c.Error++
		c.Errors = append(c.Errors, r.ID)
	}
	c.Leaks += len(r.Leaks)
}

func (ev *evaluator) summaries(out *Evaluation, questions []int) map[string]*Summary {
	sums := make(map[string]*Summary, len(ev.names))
	values := make([]float64, 0, len(questions))
	for i, m := range ev.measures {
		s := summarize(out.Questions, questions, m, &values)
		s.interval(m, values, ev.o.Resamples, ev.o.Seed)
		sums[ev.names[i]] = s
	}
	return sums
}

// summarize recomputes nothing: it adds up the values of the questions in their order.
func summarize(all []QuestionResult, questions []int, m measure.Measure, values *[]float64) *Summary {
	s := &Summary{}
	name := m.String()
	*values = (*values)[:0]
	sum := 0.0
	pooled := false
	for _, i := range questions {
		q := &all[i]
		switch q.Status {
		case StatusNoResult:
			s.NNoResult++
		case StatusError:
			s.NError++
		}
		v := q.Measures[name]
		if !v.OK {
			s.NNA++
			continue
		}
		s.NScored++
		sum += v.V
		*values = append(*values, v.V)
		if num, den, ok := m.Parts(&q.Evidence); ok {
			pooled = true
			s.Num += num
			s.Den += den
		}
	}
	s.Mean = ratio(sum, s.NScored)
	if pooled && s.Den > 0 {
		s.Pooled = Num(float64(s.Num) / float64(s.Den))
	}
	return s
}

// confidence of the intervals printed beside a mean.
const confidence = 0.95

func (s *Summary) interval(m measure.Measure, values []float64, resamples int, seed uint64) {
	if resamples < 0 || len(values) == 0 {
		return
	}
	if m.Family.Binary() {
		successes := 0
		for _, v := range values {
			if v == 1 {
				successes++
			}
		}
		if iv, ok := stats.Wilson(successes, len(values), confidence); ok {
			s.CI, s.CIMethod = &[2]float64{iv.Lo, iv.Hi}, "wilson"
		}
		return
	}
	if b, ok := stats.BootstrapPercentile(values, resamples, seed, confidence); ok {
		s.CI, s.CIMethod = &[2]float64{b.Lo, b.Hi}, "bootstrap"
		if b.Uninformative {
			s.CIMethod = "bootstrap, constant sample"
		}
	}
}
