package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/sweep"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/openai"
)

// Variant is one configuration that a sweep tries.
type Variant struct {
	Name     string // unique within the sweep
	Settings Settings
	// Rewrite asks the chat model of Settings.Answer for a search query in place of each question.
	Rewrite bool
	// Tune fits the weight of the vector list on the dev questions first; see TuneFusion. The result
	// is optimistic by having been chosen on the questions that it is then measured on.
	Tune bool
}

// SweepOptions say how variants are measured. The zero value compares by hit@3 on the dev
// questions, rule span wherever variants are cut differently.
type SweepOptions struct {
	EvalOptions // Split must be "" or dev, Mode empty; Measures are reported beside Primary
	// Primary orders the variants; "" means hit@3.
	Primary string
	// Context cuts each result to the passages that Settings.Answer (k, budget) would deliver,
	// so that context sizes can be compared.
	Context bool
	// KeepBuilds leaves the builds that the sweep made in the store. Without it they are removed
	// as soon as their variants are measured.
	KeepBuilds bool
	// Fresh measures again what an earlier or interrupted sweep has measured already.
	Fresh bool
}

// SweepResult is one measured variant.
type SweepResult struct {
	Index   int     // of the variant in the list given
	Variant Variant // with defaults and, if it was to be tuned, the weight written out
	// Build is the id of a build with exactly these settings. The store holds it if KeepBuilds is
	// set and no earlier variant had the same chunks, embedder and lexical index.
	Build string
	Row   sweep.Row
	Times sweep.Times
	// Evaluation is nil if the result was stored by an earlier sweep; see SweepOptions.Fresh.
	Evaluation *evalkit.Evaluation
}

// Sweep measures variants on the dev questions of a golden set and yields the results as they
// come: variants that share chunks, and of those the ones that share an index, follow each other,
// otherwise in the order given. Documents are read once, cut once for each way of cutting, indexed
// once for each combination of chunks, embedder and lexical settings; all cores work on one variant
// at a time, so that memory holds one index, whatever the number of variants. Rankings are dropped
// when the next result is asked for.
//
// Holdout questions are never read: a set without them gives the same results. A result is stored
// in the store's cache as soon as it is there, so that a sweep that was interrupted goes on where
// it stopped and gives the same results. An error ends the sweep; failed queries are no error but
// counted in the row.
func (e *Engine) Sweep(ctx context.Context, source corpus.Source, set *golden.Set, variants []Variant, o SweepOptions) iter.Seq2[*SweepResult, error] {
	return func(yield func(*SweepResult, error) bool) {
		s, err := e.newSweep(ctx, source, set, variants, o)
		if err == nil {
			err = s.run(ctx, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends a sweep whose caller wants no more results.
var errStopped = errors.New("stopped")

// SweepOutcome is a sweep that was run to its end.
type SweepOutcome struct {
	Report   *sweep.Report
	Times    []sweep.Times // in the order of the report
	Variants []Variant     // as given, with tuned weights written out
	// ACLs are the permission labels of the documents, each different list once, in order. Whoever
	// may not see documents of one of them must not be shown the report.
	ACLs [][]string
}

// SweepReport runs a sweep to its end and analyses it against the baseline, the first variant
// unless named.
func (e *Engine) SweepReport(ctx context.Context, source corpus.Source, set *golden.Set, variants []Variant, o SweepOptions, a sweep.Options) (*SweepOutcome, error) {
	o = o.withDefaults()
	rows := make([]sweep.Row, len(variants))
	times := map[string]sweep.Times{}
	s, err := e.newSweep(ctx, source, set, variants, o)
	if err != nil {
		return nil, err
	}
	outcome := &SweepOutcome{Variants: make([]Variant, len(variants)), ACLs: distinctACLs(s.docs)}
	if err := s.run(ctx, func(res *SweepResult, _ error) bool {
		rows[res.Index], times[res.Variant.Name] = res.Row, res.Times
		outcome.Variants[res.Index] = res.Variant
		return true
	}); err != nil {
		return nil, err
	}
	a.Primary, a.Seed = o.Primary, o.Seed
	report, err := sweep.Analyse(sweep.Questions(set, golden.Dev), rows, a)
	if err != nil {
		return nil, badInput("%v", err)
	}
	dev := devSet(set)
	report.Golden = evalkit.GoldenRef{Name: dev.Name, Version: dev.Version, Digest: dev.Digest()}
	report.Split, report.View, report.Rule = golden.Dev, o.View, sweepRule(o, variants)
	outcome.Report = report
	for _, l := range report.Variants {
		outcome.Times = append(outcome.Times, times[l.Name])
	}
	return outcome, nil
}

func (o SweepOptions) withDefaults() SweepOptions {
	o.EvalOptions = o.EvalOptions.withDefaults()
	o.Primary = cmp.Or(o.Primary, "hit@3")
	if o.Measures == nil {
		o.Measures = sweep.DefaultMeasures()
	}
	return o
}

func (o SweepOptions) validate(variants []Variant) error {
	if err := o.EvalOptions.Validate(); err != nil {
		return err
	}
	if o.Split != golden.Dev {
		return badInput("split is %q: a sweep sees the dev questions alone; confirm its winner on the holdout afterwards", o.Split)
	}
	if o.Mode != "" {
		return badInput("mode is %q: a sweep takes the mode from the settings of each variant", o.Mode)
	}
	if len(variants) == 0 {
		return badInput("the sweep has no variants")
	}
	var errs []error
	seen := map[string]bool{}
	for _, v := range variants {
		if v.Name == "" || seen[v.Name] {
			errs = append(errs, badInput("variant %q: every variant needs a name of its own", v.Name))
		}
		seen[v.Name] = true
		if err := v.validate(); err != nil {
			errs = append(errs, badInput("variant %q: %v", v.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (v Variant) validate() error {
	s := v.Settings
	if s.Rerank.Kind == RerankChat {
		s.Rerank.Kind = RerankNone
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if a := s.Answer; (v.Rewrite || v.Settings.Rerank.Kind == RerankChat) && (a.URL == "" || a.Model == "") {
		return badInput("rewriting and reranking by chat need answer.url and answer.model")
	}
	if v.Tune && s.Hybrid.WithDefaults().Mode != "hybrid" {
		return badInput("fusion tuned needs hybrid.mode hybrid")
	}
	return nil
}

// sweepRule is one rule for all: sections only count as places where every variant is cut the same
// way along sections.
func sweepRule(o SweepOptions, variants []Variant) string {
	if o.Rule != "" {
		return o.Rule
	}
	first := variants[0].Settings.Chunk.WithDefaults()
	for _, v := range variants {
		if c := v.Settings.Chunk.WithDefaults(); c.Kind != chunk.KindSection || c != first {
			return evalkit.RuleSpan
		}
	}
	return evalkit.RuleSection
}

// devSet is the set with its dev questions alone.
func devSet(set *golden.Set) *golden.Set {
	out := &golden.Set{Schema: set.Schema, Name: set.Name, Version: set.Version}
	for _, q := range set.Select(golden.Dev) {
		out.Questions = append(out.Questions, *q)
	}
	return out
}

// sweeper is one sweep at work.
type sweeper struct {
	e        *Engine // without progress of its own
	report   func(Progress)
	o        SweepOptions
	variants []Variant
	docs     *corpus.Collection
	digest   string
	set      *golden.Set // dev questions alone
	beside   []string    // measures that the table shows beside the primary one
	dir      string      // where results are stored
	chats    map[string]*sweepChat
	queries  map[string][]float32 // vectors of the questions, from outside embedders
	done     int
}

func (e *Engine) newSweep(ctx context.Context, source corpus.Source, set *golden.Set, variants []Variant, o SweepOptions) (*sweeper, error) {
	o = o.withDefaults()
	if err := o.validate(variants); err != nil {
		return nil, err
	}
	o.Rule = sweepRule(o, variants)
	beside := o.Measures
	var err error
	if o.Measures, err = sweep.MeasuresFor(o.Primary, o.Measures); err != nil {
		return nil, badInput("%v", err)
	}
	if len(set.Select(golden.Dev)) == 0 {
		return nil, badInput("golden set %s has no accepted dev questions: tuning needs some", set.Name)
	}
	quiet := e.o
	quiet.Progress = func(Progress) {}
	s := &sweeper{
		e: &Engine{store: e.store, o: quiet}, report: e.o.Progress, o: o, variants: slices.Clone(variants),
		set: devSet(set), beside: beside, chats: map[string]*sweepChat{},
	}
	for i := range s.variants {
		s.variants[i].Settings = s.variants[i].Settings.WithDefaults()
	}
	if s.docs, err = source.Load(ctx); err != nil {
		return nil, err
	}
	if len(s.docs.Documents) == 0 {
		return nil, badInput("corpus %s holds no documents", s.docs.Name)
	}
	s.digest = s.docs.Digest()
	if err := s.preflight(set); err != nil {
		return nil, err
	}
	key, err := json.Marshal(struct {
		Corpus, Golden, Rule, View, Primary string
		Measures                            []string
		Cutoffs                             []int
		Seed                                uint64
		Resamples                           int
		Context                             bool
		Format, Feature                     int
		Code                                string
	}{s.digest, s.set.Digest(), o.Rule, o.View, o.Primary, o.Measures, o.Cutoffs, o.Seed, o.Resamples, o.Context, index.Format, index.Feature, Version()})
	if err != nil {
		return nil, err
	}
	s.dir = e.path("cache", "sweeps", shortDigest(key))
	return s, nil
}

// preflight checks the dev questions against the documents and their part of the freeze.
func (s *sweeper) preflight(set *golden.Set) error {
	o := s.o.EvalOptions
	if m, err := measure.Parse(s.o.Primary); err == nil && m.Cutoff > 0 {
		o.Cutoffs = append(slices.Clone(o.Cutoffs), m.Cutoff) // a gold group more than that cannot be found
	}
	if o.Lock == nil && set.Path != "" {
		var err error
		if o.Lock, err = golden.ReadLock(golden.LockPath(set.Path)); err != nil && !index.IsMissing(err) {
			return err
		}
	}
	if o.Lock != nil {
		lock := *o.Lock
		lock.Digest = s.set.Digest()
		lock.Questions = nil
		for _, q := range o.Lock.Questions {
			asked := s.set.Find(q.ID)
			if asked == nil {
				continue
			}
			lock.Questions = append(lock.Questions, q)
			if asked.Digest() != q.Digest {
				lock.Digest = o.Lock.Digest // the questions differ from the freeze: have them named
			}
		}
		if len(lock.Questions) < len(s.set.Questions) {
			lock.Digest = o.Lock.Digest
		}
		o.Lock = &lock
	}
	_, err := preflight(s.set, s.docs, o)
	return err
}

// chunked are the variants that are cut the same way, indexed those of them that also share
// embedder and lexical settings; both hold numbers of variants.
type chunked struct {
	settings chunk.Settings
	indexed  [][]int
}

func (s *sweeper) groups() []chunked {
	var out []chunked
	at := map[chunk.Settings]int{}
	inner := map[string][2]int{}
	for i, v := range s.variants {
		c, ok := at[v.Settings.Chunk]
		if !ok {
			c = len(out)
			at[v.Settings.Chunk] = c
			out = append(out, chunked{settings: v.Settings.Chunk})
		}
		key := s.indexKey(v)
		place, ok := inner[key]
		if !ok {
			place = [2]int{c, len(out[c].indexed)}
			inner[key] = place
			out[c].indexed = append(out[c].indexed, nil)
		}
		group := &out[place[0]].indexed[place[1]]
		*group = append(*group, i)
	}
	return out
}

// indexKey is equal for variants that the same files can serve.
func (s *sweeper) indexKey(v Variant) string {
	b := v.Settings
	data, err := json.Marshal([]any{b.Chunk, b.Embed, b.Embed.Path, b.Embed.Keys, b.Embed.Queries, b.Embed.QueriesKeys, b.Lexical})
	if err != nil {
		panic("engine: settings always encode: " + err.Error())
	}
	return string(data)
}

func (s *sweeper) run(ctx context.Context, yield func(*SweepResult, error) bool) error {
	s.report(Progress{Stage: "sweep", Total: len(s.variants)})
	for _, group := range s.groups() {
		var chunks []chunk.Chunk
		for _, members := range group.indexed {
			waiting, err := s.stored(members, yield)
			if err != nil {
				return err
			}
			if len(waiting) == 0 {
				continue
			}
			start := time.Now()
			if chunks == nil {
				if chunks, err = s.e.split(ctx, s.docs, group.settings, nil); err != nil {
					return err
				}
			}
			if err := s.index(ctx, members[0], waiting, chunks, start, yield); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored yields the members that an earlier sweep has measured and returns the others.
func (s *sweeper) stored(members []int, yield func(*SweepResult, error) bool) (waiting []int, err error) {
	for _, i := range members {
		path, ok := s.statePath(i)
		if !ok || s.o.Fresh {
			waiting = append(waiting, i)
			continue
		}
		res, err := s.read(path, i)
		switch {
		case err != nil: // missing, or of an interrupted or older program
			waiting = append(waiting, i)
		case !s.yield(res, yield):
			return nil, errStopped
		}
	}
	return waiting, nil
}

func (s *sweeper) yield(res *SweepResult, yield func(*SweepResult, error) bool) bool {
	s.done++
	s.report(Progress{Stage: "sweep", Done: s.done, Total: len(s.variants)})
	return yield(res, nil)
}

// index makes the index that the members share, with the settings of the first of the group, and
// measures those that wait.
func (s *sweeper) index(ctx context.Context, first int, waiting []int, chunks []chunk.Chunk, start time.Time, yield func(*SweepResult, error) bool) error {
	settings := s.buildable(s.variants[first])
	e := s.e.with(settings)
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return err
	}
	b, err := e.write(ctx, s.docs, chunks, settings, settings, nil, nil)
	if err = errors.Join(err, unlock()); err != nil {
		return fmt.Errorf("variant %q: %w", s.variants[first].Name, err)
	}
	took := time.Since(start)
	err = s.measureAll(ctx, e, b, waiting, took, yield)
	if !b.Existed && !s.o.KeepBuilds {
		// Also when the caller stopped or cancelled: what is left is removed at once or never.
		err = errors.Join(err, e.removeBuild(context.WithoutCancel(ctx), b.ID))
	}
	return err
}

// buildable are the settings of a variant without what only a sweep can do.
func (s *sweeper) buildable(v Variant) Settings {
	if v.Settings.Rerank.Kind == RerankChat {
		v.Settings.Rerank = RerankSettings{}
	}
	return v.Settings
}

// with is the engine with the embedder that the settings describe.
func (e *Engine) with(s Settings) *Engine {
	o := e.o
	if s.Embed.Kind != "builtin" && s.Embed.Kind != "none" {
		o.Embed = &s.Embed
	}
	return &Engine{store: e.store, o: o}
}

// removeBuild removes a build that a sweep made, unless somebody has made use of it meanwhile.
func (e *Engine) removeBuild(ctx context.Context, id string) error {
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return err
	}
	err = func() error {
		for _, name := range []string{liveName, referenceName} {
			if used, err := e.pointer(name); err != nil || used == id {
				return err
			}
		}
		if records, err := os.ReadDir(filepath.Join(e.buildDir(id), "evaluations")); err == nil && len(records) > 0 {
			return nil
		}
		_, err := e.removeUnused(id, false)
		return err
	}()
	return errors.Join(err, unlock())
}

func (s *sweeper) measureAll(ctx context.Context, e *Engine, b *Build, waiting []int, took time.Duration, yield func(*SweepResult, error) bool) error {
	r, err := e.openReader(b.ID, e.o)
	if err != nil {
		return err
	}
	err = func() error {
		sizes := newIndexSizes(r)
		if err := s.embedQuestions(ctx, r, waiting); err != nil {
			return err
		}
		for _, i := range waiting {
			res, err := s.measure(ctx, r, i, sizes)
			if err != nil {
				return fmt.Errorf("variant %q: %w", s.variants[i].Name, err)
			}
			res.Times.BuildNS = took.Nanoseconds()
			if err := s.store(res, i); err != nil {
				return err
			}
			if !s.yield(res, yield) {
				return errStopped
			}
		}
		return nil
	}()
	return errors.Join(err, r.close())
}

// embedQuestions asks an outside embedder for the vectors of all questions at once, so that
// variants that share an index do not ask one by one for the same. Query times are without it.
func (s *sweeper) embedQuestions(ctx context.Context, r *reader, waiting []int) error {
	s.queries = nil
	if !slices.ContainsFunc(waiting, func(i int) bool { return parts(s.variants[i]).External > 0 || s.variants[i].Tune }) || r.embedder == nil || r.settings.Embed.Kind == "builtin" {
		return nil
	}
	var texts []string
	for i := range s.set.Questions {
		if q, err := r.prepare(Query{Text: s.set.Questions[i].Question, Mode: "lexical"}); err == nil {
			texts = append(texts, q.Text)
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	rows, err := r.embedder.Embed(ctx, texts, index.KindQuery)
	if err != nil {
		return fmt.Errorf("embed the questions: %w", err)
	}
	if len(rows) != len(texts) {
		return fmt.Errorf("embed the questions: %d vectors for %d texts", len(rows), len(texts))
	}
	s.queries = make(map[string][]float32, len(texts))
	for i, text := range texts {
		s.queries[text] = rows[i]
	}
	return nil
}

// measure asks the dev questions of the index under a variant's settings of the search.
func (s *sweeper) measure(ctx context.Context, r *reader, i int, sizes *indexSizes) (*SweepResult, error) {
	v := s.variants[i]
	note := ""
	if v.Tune {
		weight, err := s.tune(ctx, r, v)
		if err != nil {
			return nil, err
		}
		v.Settings.Hybrid.Fusion, v.Settings.Hybrid.Dense, v.Tune = "weighted", &weight, false
		note = fmt.Sprintf("tuned to dense %g on these very questions, so its number is optimistic", weight)
	}
	ev, times, err := s.evaluate(ctx, r, v)
	if err != nil {
		return nil, err
	}
	row, err := sweep.Reduce(ev, s.o.Primary, s.beside)
	if err != nil {
		return nil, err
	}
	row.Name, row.Note, row.Settings = v.Name, note, s.flatten(v)
	row.Parts, row.Cost = parts(v), sizes.cost(v.Settings)
	if row.Build, err = s.buildID(v, r.manifest.Embedder); err != nil {
		return nil, err
	}
	return &SweepResult{
		Index: i, Variant: v, Build: row.Build, Row: row, Evaluation: ev,
		Times: sweep.Times{Variant: v.Name, P50NS: times.P50.Nanoseconds(), P95NS: times.P95.Nanoseconds()},
	}, nil
}

func (s *sweeper) evaluate(ctx context.Context, r *reader, v Variant) (*evalkit.Evaluation, *evalkit.Times, error) {
	r.settings.Hybrid, r.settings.Rerank, r.settings.Search = v.Settings.Hybrid, v.Settings.Rerank, v.Settings.Search
	view := r.view()
	if embed := view.embed; embed != nil && s.queries != nil {
		view.embed = func(ctx context.Context, text string, f *index.Filter) ([]float32, error) {
			// What the built-in model may know of a query depends on who asks.
			if row, ok := s.queries[text]; ok && (f == nil || r.settings.Embed.Kind != "builtin") {
				return row, nil
			}
			return embed(ctx, text, f)
		}
	}
	if err := s.chat(ctx, view, v); err != nil {
		return nil, nil, err
	}
	run, latencies, err := s.e.ask(ctx, view, s.set, s.o.EvalOptions)
	if err != nil {
		return nil, nil, err
	}
	if s.o.Context {
		for i := range run.Results {
			run.Results[i].Hits = delivered(run.Results[i].Hits, v.Settings.Answer)
		}
	}
	ev, err := evalkit.Evaluate(s.set, s.docs, run, evalkit.Options{
		Rule: s.o.Rule, View: s.o.View, Cutoffs: s.o.Cutoffs, Measures: s.o.Measures,
		Split: s.o.Split, Seed: s.o.Seed, Workers: s.o.Workers, Resamples: s.o.Resamples,
	})
	return ev, evalkit.NewTimes(time.Time{}, time.Time{}, latencies), err
}

// delivered are the hits that an answerer would be shown: the first k that fit the budget of runes.
// The first is shown whatever its length.
func delivered(hits []evalkit.Hit, a AnswerSettings) []evalkit.Hit {
	hits = hits[:min(len(hits), a.passages())]
	if a.Budget <= 0 {
		return hits
	}
	used := 0
	for i, h := range hits {
		// Bytes stand for runes here, which cuts earlier in other scripts than Latin.
		if used += h.Span.End - h.Span.Start; i > 0 && used > a.Budget {
			return hits[:i]
		}
	}
	return hits
}

// flatten is everything that a variant is made of, as dotted keys.
func (s *sweeper) flatten(v Variant) map[string]string {
	out := v.Settings.buildSettings().Flatten()
	if v.Rewrite {
		out["rewrite"] = "chat"
	}
	if s.o.Context {
		out["answer.k"] = fmt.Sprint(v.Settings.Answer.passages())
		out["answer.budget"] = fmt.Sprint(v.Settings.Answer.Budget)
	}
	return out
}

func (s *sweeper) buildID(v Variant, fp *index.Fingerprint) (string, error) {
	settings, err := json.Marshal(s.buildable(v).buildSettings())
	if err != nil {
		return "", err
	}
	return buildID(s.digest, settings, fp)
}

// parts counts what a variant's queries need.
func parts(v Variant) sweep.Parts {
	h := v.Settings.Hybrid
	var p sweep.Parts
	if h.NeedsVector() {
		p.Retrievers++
		if v.Settings.Embed.Kind != "builtin" {
			p.External = 1
		}
	}
	if h.NeedsLexical() {
		p.Retrievers++
	}
	if v.Rewrite {
		p.Chat++
	}
	switch v.Settings.Rerank.Kind {
	case "":
	case RerankChat:
		p.Chat++
	default:
		p.Steps++
	}
	return p
}

// indexSizes are the costs of an index, by what a search reads of it.
type indexSizes struct {
	chunks                 int
	common, words, vectors int64
	tokens                 int64
}

func newIndexSizes(r *reader) *indexSizes {
	out := &indexSizes{chunks: r.nchunks}
	for _, f := range r.manifest.Files {
		switch {
		case f.Name == vectorsFile || f.Name == embedderFile:
			out.vectors += f.Size
		case strings.HasPrefix(f.Name, lexicalDir+"/"):
			out.words += f.Size
		default:
			out.common += f.Size
		}
	}
	if r.vectors != nil {
		for ord := range uint32(r.nchunks) {
			out.tokens += int64(openai.EstimateTokens(embeddedText(r.chunkIndexed(ord))))
		}
	}
	return out
}

func (z *indexSizes) cost(s Settings) sweep.Cost {
	c := sweep.Cost{Chunks: z.chunks, IndexBytes: z.common}
	if s.Hybrid.NeedsVector() {
		c.IndexBytes += z.vectors
		c.EmbeddedTokens = z.tokens
	}
	if s.Hybrid.NeedsLexical() {
		c.IndexBytes += z.words
	}
	return c
}
