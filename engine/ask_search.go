package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine/answer"
	"github.com/seed792a4543/assay/index"
)

// maxQueries is the most further wordings of one question.
const maxQueries = 10

// fusionK damps the reciprocal ranks of several queries: a chunk scores the sum of
// 1/(fusionK+rank) over the queries that found it.
const fusionK = 60

// validate reports settings that cannot work.
func (s AnswerSettings) validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, badInput(format, args...)) }
	chat := s.Kind == "chat"
	switch s.Kind {
	case "", "extractive":
	case "chat":
		if s.URL == "" || s.Model == "" {
			bad("answer: kind chat needs url and model")
		}
	default:
		bad("answer.kind is %q: use extractive or chat", s.Kind)
	}
	if s.K < 0 || s.K > 100 {
		bad("answer.k is %d, the range is 1 to 100", s.K)
	}
	if s.Queries < 0 || s.Queries > maxQueries {
		bad("answer.queries is %d, the range is 0 to %d", s.Queries, maxQueries)
	}
	if !(s.Temperature >= 0 && s.Temperature <= 2) {
		bad("answer.temperature is %g, the range is 0 to 2", s.Temperature)
	}
	if s.MaxTokens < 0 {
		bad("answer.max_tokens is %d: give a positive number, or leave it out", s.MaxTokens)
	}
	for _, o := range []struct {
		name string
		set  bool
	}{{"rewrite", s.Rewrite}, {"queries", s.Queries > 0}, {"temperature", s.Temperature != 0}, {"max_tokens", s.MaxTokens != 0}, {"stream", s.Stream}} {
		if o.set && !chat {
			bad("answer.%s needs a chat model: set answer.kind to chat with url and model, or leave it out", o.name)
		}
	}
	return errs
}

// merge is the joining of neighbours that the settings ask for, nil for none.
func (s AnswerSettings) merge(r *reader) func([]index.Hit) []index.Hit {
	if !s.MergeNeighbours {
		return nil
	}
	// Two line ends may lie between chunks: blank space belongs to no chunk.
	return answer.MergeNeighbours(2, func(h index.Hit, start, end int) string {
		// The text lies in the build's mapped file; an answer outlives that.
		return strings.Clone(r.docText(r.findDoc(h.Doc))[start:end])
	})
}

// searched runs a prepared query the way the settings ask for: as it is, rewritten by the chat
// model, or in several wordings whose lists are fused by reciprocal rank over chunks. usage is
// what the model took for it. A model that cannot be asked is an error: to search on without it
// would measure something else than was set.
func (e *Engine) searched(ctx context.Context, r *reader, q Query, s AnswerSettings, a answer.Answerer, kept *answer.Journal[wording], degrade bool) (resp *Response, usage answer.Usage, err error) {
	v := r.view()
	chat, ok := a.(*answer.Chat)
	if !ok || !s.Rewrite && s.Queries == 0 {
		resp, err = v.search(ctx, q, degrade)
		return resp, usage, err
	}
	texts, usage, err := wordings(ctx, chat, q.Text, s, kept)
	if err != nil {
		return nil, usage, err
	}
	lists := make([]*Response, len(texts))
	for i, text := range texts {
		one := q
		one.Text = text
		if len(texts) > 1 {
			// Deeper than what is delivered: a chunk that two lists hold in the middle may win.
			one.K = max(q.K, min(4*q.K, r.settings.Hybrid.Depth))
		}
		if one, err = r.prepare(one); err != nil {
			return nil, usage, fmt.Errorf("query of the model: %w", err)
		}
		if lists[i], err = v.search(ctx, one, degrade); err != nil {
			return nil, usage, err
		}
	}
	resp = fuseResponses(lists, q)
	for _, text := range texts {
		if text != q.Text {
			resp.Notes = append(resp.Notes, fmt.Sprintf("searched for: %s", text))
		}
	}
	return resp, usage, nil
}

// wording is what a model made of a question, and what it took.
type wording struct {
	Texts []string     `json:"texts"`
	Usage answer.Usage `json:"usage"`
}

// wordings are the texts to search for in place of a question, by the model's leave: at least one.
// Those that are taken from kept count with what they took then: an answer costs what was paid for
// it, whenever that was.
func wordings(ctx context.Context, chat *answer.Chat, question string, s AnswerSettings, kept *answer.Journal[wording]) (texts []string, usage answer.Usage, err error) {
	defer clock(ctx)(StageRewrite)()
	texts = []string{question}
	if s.Rewrite {
		w, err := keptWording(chat, question, 0, kept, func() (w wording, err error) {
			text, reply, err := chat.Rewrite(ctx, question)
			return wording{[]string{text}, reply.Usage}, err
		})
		addUsage(&usage, w.Usage)
		if err != nil {
			return nil, usage, fmt.Errorf("rewrite the question: %w", err)
		}
		texts[0] = w.Texts[0]
	}
	if s.Queries > 0 {
		w, err := keptWording(chat, question, s.Queries, kept, func() (w wording, err error) {
			more, reply, err := chat.Queries(ctx, question, s.Queries)
			return wording{more, reply.Usage}, err
		})
		addUsage(&usage, w.Usage)
		if err != nil {
			return nil, usage, fmt.Errorf("word the question anew: %w", err)
		}
		for _, text := range w.Texts[1:] { // the first is the question itself
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts, usage, nil
}

// keptWording returns what kept holds of a question under the chat model's settings, else what ask
// returns, which it keeps unless it failed. queries is the number of wordings asked for, 0 stands
// for the rewritten question.
func keptWording(chat *answer.Chat, question string, queries int, kept *answer.Journal[wording], ask func() (wording, error)) (wording, error) {
	if kept == nil {
		return ask()
	}
	finger, err := json.Marshal(chat.Fingerprint())
	if err != nil {
		return wording{}, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d", len(finger), finger, len(question), question, queries))
	key := hex.EncodeToString(sum[:])
	if w, ok := kept.Get(key); ok && len(w.Texts) > 0 {
		return w, nil
	}
	w, err := ask()
	if err != nil {
		return w, err
	}
	return w, kept.Put(key, w)
}

func addUsage(to *answer.Usage, u answer.Usage) {
	to.Requests += u.Requests
	to.Retries += u.Retries
	to.PromptTokens += u.PromptTokens
	to.CompletionTokens += u.CompletionTokens
	to.Cost += u.Cost
	to.Latency += u.Latency
}

// fuseResponses joins the lists of several wordings of q: by the sum of reciprocal ranks, ties
// by chunk. A single list stays as it is. A hit keeps the components of the list that has it
// highest.
func fuseResponses(lists []*Response, q Query) *Response {
	out := *lists[0]
	out.Query = q.Text
	if len(lists) == 1 {
		return &out
	}
	at := map[corpus.ChunkID]int{}
	best := map[corpus.ChunkID]int{}
	out.Hits = nil
	for i, l := range lists {
		for _, h := range l.Hits {
			rank := h.Rank
			j, ok := at[h.Chunk]
			if !ok {
				j = len(out.Hits)
				at[h.Chunk], best[h.Chunk] = j, h.Rank
				h.Score = 0
				out.Hits = append(out.Hits, h)
			} else if h.Rank < best[h.Chunk] {
				best[h.Chunk] = h.Rank
				h.Score = out.Hits[j].Score
				out.Hits[j] = h
			}
			out.Hits[j].Score += 1 / float64(fusionK+rank)
		}
		if i > 0 {
			for _, n := range l.Notes {
				if !slices.Contains(out.Notes, n) {
					out.Notes = append(slices.Clone(out.Notes), n)
				}
			}
		}
	}
	slices.SortFunc(out.Hits, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk, b.Chunk))
	})
	out.Hits = out.Hits[:min(len(out.Hits), q.K)]
	for i := range out.Hits {
		out.Hits[i].Rank = i + 1
	}
	return &out
}
