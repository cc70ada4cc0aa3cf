package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine/answer"
	"github.com/seed792a4543/assay/index"
)

// AskQuery is one question to be answered from the live build, or from Build.
type AskQuery struct {
	Query
	Build string // "" is the live build
	Seed  int64  // for models that take one
	// Stream is handed the text as it arrives, by answerers that stream.
	Stream func(piece string)
}

// AskResult is an answer with exactly what the answerer was shown.
type AskResult struct {
	Build    string
	Question string
	Answer   answer.Answer
	Passages []answer.Passage // the context, in the order shown
	Sources  []Source         // what the answer cites of it
	Notes    []string
}

// Source is a passage that an answer cites.
type Source struct {
	Marker  int               `json:"marker"`
	Doc     corpus.DocumentID `json:"doc"`
	Section string            `json:"section"`
	Chunk   corpus.ChunkID    `json:"chunk"`
}

// Ask searches, delivers the best passages that the caller may read to the answerer of the
// options, and returns its answer with its sources. K is the number of passages; 0 means the
// settings' (default 5). A refusal is an answer.
func (e *Engine) Ask(ctx context.Context, q AskQuery) (*AskResult, error) {
	r, done, err := e.readerFor(q.Build)
	if err != nil {
		return nil, err
	}
	res, err := e.answerFrom(ctx, r, q)
	return res, errors.Join(err, done())
}

// readerFor opens the named build, or takes the live one; done gives it back.
func (e *Engine) readerFor(build string) (r *reader, done func() error, err error) {
	if build != "" {
		r, err = e.openBuild(build)
		if err != nil {
			return nil, nil, err
		}
		return r, r.close, nil
	}
	if r, err = e.acquire(); err != nil {
		return nil, nil, err
	}
	return r, func() error { e.done(r); return nil }, nil
}

func (e *Engine) answerFrom(ctx context.Context, r *reader, q AskQuery) (*AskResult, error) {
	s := AnswerSettings{}
	if e.o.Answer != nil {
		s = *e.o.Answer
	}
	if q.K == 0 {
		q.K = s.passages()
	}
	prepared, err := r.prepare(q.Query)
	if err != nil {
		return nil, err
	}
	answerer, err := e.answerer(r, s)
	if err != nil {
		return nil, err
	}
	resp, usage, err := e.searched(ctx, r, prepared, s, answerer, nil, e.o.Degrade)
	if err != nil {
		return nil, err
	}
	passages := answer.Deliver(resp.Hits, answer.DeliverOptions{
		Budget: s.Budget, Passages: q.K, Merge: s.merge(r),
		Allowed: func(h index.Hit) bool {
			d := r.findDoc(h.Doc)
			return d >= 0 && r.docVisible(d, q.As)
		},
	})
	stop := clock(ctx)(StageAnswer)
	a, err := answerer.Answer(ctx, answer.Request{Question: prepared.Text, Passages: passages, Seed: q.Seed, Stream: q.Stream})
	stop()
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	addUsage(&a.Usage, usage)
	return &AskResult{
		Build: r.id, Question: prepared.Text, Answer: a, Passages: passages,
		Sources: sources(a, passages), Notes: slices.Concat(resp.Notes, a.Notes),
	}, nil
}

// sources lists the cited passages, each once, in the order of the answer. A citation of
// something that was not shown is no source; it stays in the answer's Citations.
func sources(a answer.Answer, passages []answer.Passage) []Source {
	out := []Source{}
	seen := map[int]bool{}
	for _, m := range a.Citations {
		if m < 1 || m > len(passages) || seen[m] {
			continue
		}
		seen[m] = true
		h := passages[m-1].Hit
		out = append(out, Source{m, h.Doc, h.Section, h.Chunk})
	}
	return out
}

func (s AnswerSettings) passages() int {
	if s.K > 0 {
		return s.K
	}
	return 5
}

// answerer makes the answerer that the settings name, for one build: the extractive one weighs
// words by how rare they are in the build.
func (e *Engine) answerer(r *reader, s AnswerSettings) (answer.Answerer, error) {
	if e.o.Answerer != nil {
		return e.o.Answerer, nil
	}
	if s.Kind == "chat" {
		o := answer.ChatOptions{URL: s.URL, Model: s.Model, Seed: int64(s.Seed), Timeout: s.Timeout, HTTP: e.o.HTTP,
			Temperature: s.Temperature, MaxTokens: s.MaxTokens, Stream: s.Stream}
		if s.KeyEnv != "" {
			if o.Key = e.o.Getenv(s.KeyEnv); o.Key == "" {
				return nil, badInput("answer.key_env names the environment variable %s, which is empty: set it", s.KeyEnv)
			}
		}
		if s.Prompt != "" {
			var err error
			if o.Prompts, err = readPrompts(s.Prompt); err != nil {
				return nil, err
			}
		}
		return answer.NewChat(o)
	}
	o := answer.ExtractiveOptions{Terms: r.lexical.Terms, Similarity: e.similarity()}
	if r.settings.Lexical.Statistics != "per-label" {
		// Global frequencies would tell of documents that the caller may not read.
		o.IDF = r.scaledIDF()
	}
	return answer.NewExtractive(o), nil
}

// similarity loads the word vectors once per engine.
func (e *Engine) similarity() func(a, b string) float64 {
	e.wordsOnce.Do(func() { e.words = answer.WordSimilarity() })
	return e.words
}

// readPrompts reads the prompt files that a folder holds; those it lacks stay the bundled ones.
func readPrompts(dir string) (answer.Prompts, error) {
	var p answer.Prompts
	found := false
	for name, to := range map[string]*string{
		"system.txt": &p.System, "user.txt": &p.User, "rewrite.txt": &p.Rewrite, "queries.txt": &p.Queries,
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if index.IsMissing(err) {
			continue
		}
		if err != nil {
			return p, err
		}
		*to, found = strings.ReplaceAll(string(data), "\r\n", "\n"), true
	}
	if !found {
		return p, badInput("answer.prompt: %s holds none of system.txt, user.txt, rewrite.txt, queries.txt", dir)
	}
	return p, nil
}

// tunedIDF is the weight of a term that stands in one chunk of the collection on which the
// extractive answerer's rules were chosen (189 chunks).
const tunedIDF = 4.84

// scaledIDF returns the weights of terms, scaled so that one that stands in one chunk weighs the
// same in a corpus of any size: the answerer asks for an amount of evidence, and in a corpus of
// ten chunks no word would weigh enough, in one of a million every word would.
func (r *reader) scaledIDF() func(term string) float64 {
	n := float64(r.nchunks)
	scale := tunedIDF / math.Log(1+(n-0.5)/1.5)
	return func(term string) float64 { return scale * r.lexical.IDF(term) }
}
