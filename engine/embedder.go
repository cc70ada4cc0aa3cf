package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed"
	"github.com/seed792a4543/assay/index/embed/openai"
	"github.com/seed792a4543/assay/index/lexical"
)

// cachePath is where embeddings are kept, shared by the builds of a store.
func (s *store) cachePath() string { return s.path("cache", "embeddings") }

// externalEmbedder makes the embedder that the settings name, other than the built-in one. A server
// is asked where it cuts its input, up to probe estimated tokens, unless that is 0 or the settings
// hold a limit. progress may be nil.
func externalEmbedder(s Settings, o Options, probe int, progress func(openai.Progress)) (index.Embedder, error) {
	e := s.Embed
	switch e.Kind {
	case "openai":
		return embed.NewOpenAI(embed.OpenAIOptions{
			URL: e.URL, Model: e.Model, Revision: e.Revision, KeyEnv: e.KeyEnv,
			DocumentPrefix: e.DocumentPrefix, QueryPrefix: e.QueryPrefix,
			Dimensions: e.Dimensions, Batch: e.Batch, Concurrency: e.Concurrency,
			Timeout: e.Timeout, Tries: e.Tries, MaxTokens: e.MaxTokens, OverLong: e.Overlong,
			ProbeWindow: probe > 0, ProbeTokens: probe,
			Client: o.HTTP, Getenv: o.Getenv, Log: o.Log,
			Progress: progress,
		})
	case "command":
		return embed.NewCommand(embed.CommandOptions{
			Command: e.Command, Model: e.Model, Revision: e.Revision, Dimension: e.Dimensions,
			DocumentPrefix: e.DocumentPrefix, QueryPrefix: e.QueryPrefix, Batch: e.Batch, Timeout: e.Timeout, Log: o.Log,
		})
	case "precomputed":
		return embed.OpenPrecomputed(embed.PrecomputedOptions{
			Vectors: e.Path, Keys: e.Keys, Queries: e.Queries, QueriesKeys: e.QueriesKeys,
			Model: e.Model, Revision: e.Revision, Missing: e.Missing,
		})
	}
	return nil, badInput("embed.kind is %q: use builtin, openai, command, precomputed or none", e.Kind)
}

func builtinOptions(s Settings, stats lexical.Stats, terms func(string) []string) embed.BuiltinOptions {
	o := embed.BuiltinOptions{Tokenize: terms, Tokenizer: stats.Analyzer, Seed: s.Embed.Seed, Dimensions: s.Embed.Dimensions}
	if fold := stats.Settings.Fold; stats.Analyzer == "en" && fold != nil && *fold {
		o.Fold = lexical.Fold
	}
	return o
}

// fitMost bounds the texts that the built-in model is fitted on, and with them the memory of a fit,
// some 6 KB a text. The others are folded in.
const fitMost = 250_000

// evenly returns most of the numbers below n, evenly spaced, or all if they are no more.
func evenly(n, most int) []int {
	out := make([]int, min(n, most))
	for i := range out {
		out[i] = i * n / len(out)
	}
	return out
}

// learned returns the texts that a model is fitted on: of those that fit admits, nil admitting all,
// no more than most.
func learned(chunks chunkTexts, fit []bool, most int) []string {
	var admitted []int
	for i := range fit {
		if fit[i] {
			admitted = append(admitted, i)
		}
	}
	n := chunks.n
	if fit != nil {
		n = len(admitted)
	}
	out := make([]string, 0, min(n, most))
	for _, i := range evenly(n, most) {
		if fit != nil {
			i = admitted[i]
		}
		out = append(out, chunks.at(i))
	}
	return out
}

// vectorSource gives the vectors of a build's chunks.
type vectorSource struct {
	embedder index.Embedder
	known    *keptRows
	embed    func(ctx context.Context, texts []string, at []int) ([][]float32, error)
}

// rows returns the vectors of texts, which are those of the chunks from first on.
func (v *vectorSource) rows(ctx context.Context, first int, texts []string) ([][]float32, error) {
	return v.known.embedNew(v.embedder.Fingerprint(), first, texts, func(texts []string, at []int) ([][]float32, error) {
		return v.embed(ctx, texts, at)
	})
}

// embedderOf makes what gives the vectors of a build. A model that is fitted on the corpus, or on
// the texts that fit admits, is saved in the build's folder.
func (e *Engine) embedderOf(ctx context.Context, dir string, chunks chunkTexts, fit []bool, stats lexical.Stats, s, given Settings, known *keptRows) (*vectorSource, error) {
	if e.o.Embedder == nil && s.Embed.Kind == "builtin" {
		analyzer, err := lexical.NewAnalyzer(stats.Settings)
		if err != nil {
			return nil, err
		}
		model, err := e.fitBuiltin(ctx, learned(chunks, fit, fitMost), builtinOptions(s, stats, analyzer.Terms), s)
		if err != nil {
			return nil, err
		}
		if err := model.Save(e.fsys, filepath.Join(dir, embedderFile)); err != nil {
			return nil, err
		}
		return &vectorSource{model, known, func(ctx context.Context, texts []string, _ []int) ([][]float32, error) {
			return model.Embed(ctx, texts, index.KindDocument)
		}}, nil
	}
	embedder, embedding, done := e.o.Embedder, false, 0
	if embedder == nil {
		var err error
		embedder, err = e.prepared(ctx, given, longest(chunks, given.Embed.DocumentPrefix), func(p openai.Progress) {
			if embedding { // the end is told when the vectors are there
				e.o.Progress(Progress{Stage: "embed", Done: min(done+p.Done, chunks.n-1), Total: chunks.n})
				if p.Done == p.Total {
					done += p.Total
				}
			}
		})
		if err != nil {
			return nil, err
		}
	} else if err := embed.Prepare(ctx, embedder); err != nil {
		return nil, err
	}
	source := embedder
	if given.Embed.NoCache {
		known = nil // embed every text, as was asked
	}
	if !given.Embed.NoCache && s.Embed.Kind != "precomputed" {
		cache, err := embed.NewCache(embedder, e.cachePath(), embed.CacheOptions{FS: e.fsys, Log: e.o.Log})
		if err != nil {
			return nil, err
		}
		if err := sameAsCached(ctx, cache); err != nil {
			return nil, err
		}
		source = cache
	}
	return &vectorSource{embedder, known, func(ctx context.Context, texts []string, at []int) ([][]float32, error) {
		// Chunks without text of their own have no vector; servers refuse empty texts.
		var ask []string
		var place []int
		for i, text := range texts {
			if strings.TrimSpace(text) != "" {
				ask, place = append(ask, text), append(place, i)
			}
		}
		rows := make([][]float32, len(texts))
		embedding, done = true, at[0]
		got, err := source.Embed(ctx, ask, index.KindDocument)
		embedding = false
		if err == nil && len(got) != len(ask) {
			err = errors.New("the embedder returned another number of vectors than it was given texts")
		}
		var t *embed.TextError
		if errors.As(err, &t) && t.Index >= 0 && t.Index < len(place) {
			err = &chunkError{at[place[t.Index]], err}
		}
		for i := range min(len(got), len(place)) {
			rows[place[i]] = got[i]
		}
		return rows, err
	}}, nil
}

// sameAsCached makes sure that a model still gives the vectors that the cache holds of it, lest a
// build mix those of two models of one name. The probe texts stand for all.
func sameAsCached(ctx context.Context, cache *embed.Cache) error {
	then, err := cache.Embed(ctx, embed.ProbeTexts(), index.KindDocument)
	if err != nil {
		return err
	}
	now, err := embed.Probe(ctx, cache)
	if err != nil {
		return err
	}
	if moved := embed.CompareProbes(then, now, 0); len(moved) > 0 {
		fp := cache.Fingerprint()
		return fmt.Errorf("%w: model %s has changed behind its name: the vector of %q has cosine %.3f with the one in the cache: set embed.revision to a new value",
			index.ErrEmbedder, fp.Model, clip(moved[0].Text, 40), moved[0].Cosine)
	}
	return nil
}

// windowsFile, in the store's cache, holds where servers cut their input, so that a server whose
// model has a revision is not asked at every build.
const windowsFile = "windows.json"

type window struct {
	Limit  int `json:"limit"`  // in estimated tokens; 0: none was seen
	Probed int `json:"probed"` // how far was looked
}

// prepared makes the embedder of a build whose longest text has the given number of estimated tokens.
func (e *Engine) prepared(ctx context.Context, s Settings, longest int, progress func(openai.Progress)) (index.Embedder, error) {
	made := func(s Settings, probe int) (index.Embedder, error) {
		embedder, err := externalEmbedder(s, e.o, probe, progress)
		if err != nil {
			return nil, err
		}
		return embedder, embed.Prepare(ctx, embedder)
	}
	if s.Embed.Kind != "openai" || s.Embed.MaxTokens > 0 {
		return made(s, 0)
	}
	plain, err := made(s, 0)
	if err != nil {
		return nil, err
	}
	fp := plain.Fingerprint()
	id, err := json.Marshal([]any{s.Embed.URL, fp})
	if err != nil {
		return nil, err
	}
	path, key := e.path("cache", windowsFile), shortDigest(id)
	known := map[string]window{}
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &known) != nil {
		known = map[string]window{} // it is only a memory
	}
	w, ok := known[key]
	if ok = ok && !s.Embed.NoCache && fp.Revision != "" && w.Limit >= 0; ok && w.Limit > 0 {
		s.Embed.MaxTokens = w.Limit
		return made(s, 0)
	} else if ok && w.Probed >= longest {
		return plain, nil
	}
	embedder, err := made(s, longest)
	if err != nil || fp.Revision == "" || s.Embed.NoCache {
		return embedder, err
	}
	known[key] = window{openai.InputLimit(embedder.Fingerprint()), longest}
	data, err := encode(known)
	if err == nil {
		if err = e.fsys.MkdirAll(filepath.Dir(path)); err == nil {
			err = e.fsys.WriteFile(path, data)
		}
	}
	if err != nil {
		e.o.Log.Warn("the next build will probe the embedding server again", "error", err.Error())
	}
	return embedder, nil
}

// longest returns the estimated tokens of the longest text with the prefix before it.
func longest(chunks chunkTexts, prefix string) int {
	n := 0
	for i := range chunks.n {
		n = max(n, openai.EstimateTokens(prefix+chunks.at(i)))
	}
	return n
}

// overlong warns of texts that are longer than the embedder reads. It counts them whether or not
// their vectors come from the cache, since builds do not depend on that.
func overlong(embedder index.Embedder, chunks chunkTexts, kind string) []string {
	e, ok := embedder.(*embed.OpenAI)
	if !ok {
		return nil
	}
	n := 0
	for i := range chunks.n {
		if text := chunks.at(i); strings.TrimSpace(text) != "" && e.TooLong(text, index.KindDocument) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	done := "split, and their vectors are the averages of those of their parts"
	if kind == "truncate" {
		done = "cut: what stands beyond can be found by words only"
	}
	return []string{fmt.Sprintf("%d of %d chunks are longer than the %d estimated tokens that the embedding model reads and were %s: use smaller chunks",
		n, chunks.n, openai.InputLimit(e.Fingerprint()), done)}
}

// fitBuiltin returns the built-in model of a build: one fitted on texts or, with refit on drift, the
// live build's as long as it will do.
func (e *Engine) fitBuiltin(ctx context.Context, texts []string, o embed.BuiltinOptions, s Settings) (*embed.Builtin, error) {
	if s.Embed.Refit == "drift" {
		before, err := e.liveModel(s, o)
		if err != nil {
			e.o.Log.Warn("the live build's model cannot be used, a new one is fitted", "error", err.Error())
		}
		if before != nil {
			model, drift, err := before.Refit(ctx, texts)
			if err == nil {
				e.o.Log.Info("built-in model", "kept", model == before, "texts", drift.Texts, "fitted_on", before.Texts(), "terms", drift.Tokens, "unknown", drift.Unknown)
			}
			return model, err
		}
	}
	return embed.FitBuiltin(ctx, texts, o)
}

// liveModel returns the built-in model of the live build; nil, nil if no build is live or its
// settings are others, as far as they decide what a model is made from.
func (e *Engine) liveModel(s Settings, o embed.BuiltinOptions) (*embed.Builtin, error) {
	id, err := e.pointer(liveName)
	if err != nil || id == "" {
		return nil, err
	}
	dir := e.buildDir(id)
	m, err := index.ReadManifest(filepath.Join(dir, index.ManifestName))
	if err != nil {
		return nil, err
	}
	var then Settings
	if err := json.Unmarshal(m.Settings, &then); err != nil {
		return nil, fmt.Errorf("settings of build %s: %w", id, err)
	}
	if same, err := sameFit(s, then); err != nil || !same {
		return nil, err
	}
	model, err := embed.OpenBuiltin(filepath.Join(dir, embedderFile), o)
	if errors.Is(err, index.ErrEmbedder) { // another analyzer, which auto found for the texts of then
		return nil, nil
	}
	if err == nil && (m.Embedder == nil || model.Fingerprint() != *m.Embedder) {
		err = &index.CorruptError{File: filepath.Join(dir, embedderFile), Reason: "it is not the model that the manifest names"}
	}
	if err != nil {
		return nil, err
	}
	return model, nil
}

// sameFit reports whether models made with the two settings can stand for each other.
func sameFit(a, b Settings) (bool, error) {
	var parts [2][]byte
	for i, s := range []Settings{a, b} {
		s = s.buildSettings()
		s.Embed.Refit = ""
		var err error
		if parts[i], err = json.Marshal([]any{s.Chunk, s.Embed, s.Lexical}); err != nil {
			return false, err
		}
	}
	return bytes.Equal(parts[0], parts[1]), nil
}

// chunkError is the failure to embed one chunk's text.
type chunkError struct {
	chunk int
	error
}

func (e *chunkError) Unwrap() error { return e.error }

// openEmbedder makes the embedder that queries of an opened build need, whose embedder had the
// fingerprint fp.
func openEmbedder(dir string, fp index.Fingerprint, s Settings, lex *lexical.Index, o Options) (index.Embedder, error) {
	if o.Embedder != nil {
		return o.Embedder, nil
	}
	if s.Embed.Kind == "builtin" {
		return embed.OpenBuiltin(filepath.Join(dir, embedderFile), builtinOptions(s, lex.Stats(), lex.Terms))
	}
	if o.Embed != nil && o.Embed.Kind == s.Embed.Kind {
		if o.ownEmbedder {
			s.Embed = s.Embed.reached(*o.Embed)
		} else {
			s.Embed = *o.Embed
		}
	}
	if s.Embed.MaxTokens == 0 {
		s.Embed.MaxTokens = openai.InputLimit(fp) // as the probe found it at the build
	}
	embedder, err := externalEmbedder(s, o, 0, nil)
	if err != nil {
		return nil, err
	}
	return embedder, embed.Prepare(context.Background(), embedder)
}

// probesFile holds the vectors of a few fixed texts, by which a model that changed behind its
// name is noticed.
const probesFile = "probes.json"

func (e *Engine) writeProbes(ctx context.Context, dir string, embedder index.Embedder) error {
	rows, err := embed.Probe(ctx, embedder)
	if err != nil {
		return fmt.Errorf("probe the model: %w", err)
	}
	data, err := encode(rows)
	if err != nil {
		return err
	}
	return e.fsys.WriteFile(filepath.Join(dir, probesFile), data)
}

// watchModel embeds the probes of r's build again, in the background, and logs those that moved.
func (e *Engine) watchModel(r *reader) {
	if !e.o.WatchModel || r.embedder == nil {
		return
	}
	data, err := os.ReadFile(filepath.Join(r.dir, probesFile))
	if err != nil || !r.acquire() {
		return // builds with a fitted model have no probes
	}
	go func() {
		defer e.done(r)
		var then [][]float32
		if err := json.Unmarshal(data, &then); err != nil {
			return // the digests find a damaged file
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		now, err := embed.Probe(ctx, r.embedder)
		if err != nil {
			e.o.Log.Warn("the embedding model cannot be probed", "build", r.id, "error", err.Error())
			return
		}
		for _, m := range embed.CompareProbes(then, now, 0) {
			e.o.Log.Warn("the embedding model has changed since the build: rebuild it", "build", r.id, "probe", m.Text, "cosine", m.Cosine)
		}
	}()
}

// reached returns the embedder that s names, as the manifest of a build keeps it, with what the
// settings of today say about reaching it. A key is used for the server it was given for alone.
func (s EmbedSettings) reached(today EmbedSettings) EmbedSettings {
	if s.URL == today.URL {
		s.KeyEnv = today.KeyEnv
	}
	s.Batch, s.Concurrency, s.Timeout, s.Tries, s.NoCache = today.Batch, today.Concurrency, today.Timeout, today.Tries, today.NoCache
	s.Path, s.Keys, s.Queries, s.QueriesKeys = today.Path, today.Keys, today.Queries, today.QueriesKeys
	return s
}
