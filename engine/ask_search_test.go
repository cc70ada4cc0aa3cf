package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// chatServer answers the three kinds of prompt and keeps what it was sent.
type chatServer struct {
	mu   sync.Mutex
	sent []map[string]any
	fail bool
	stop func(n int) // is told the number of requests so far
}

func (c *chatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(data, &body) // an empty body fails the test below
	c.mu.Lock()
	c.sent = append(c.sent, body)
	n := len(c.sent)
	c.mu.Unlock()
	if c.stop != nil {
		c.stop(n)
	}
	if c.fail {
		http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusBadRequest)
		return
	}
	reply := `{"answer":"It is so [1].","sources":[1],"refused":false}`
	if _, answers := body["response_format"]; !answers {
		reply = "parrot feed"
		if strings.Contains(fmt.Sprint(body["messages"]), "3") {
			reply = "parrot feed\nharbour parking"
		}
	}
	if body["stream"] == true {
		w.Header().Set("Content-Type", "text/event-stream")
		piece, _ := json.Marshal(reply)
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", piece)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"model":   "m",
		"choices": []any{map[string]any{"message": map[string]any{"content": reply}, "finish_reason": "stop"}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 2},
	})
}

func askBuild(t *testing.T, s engine.AnswerSettings) (*engine.Engine, string) {
	t.Helper()
	docs := fstest.MapFS{
		"feed.md":    {Data: []byte("# Feed\n\nParrot feed is sold in bags.\n")},
		"harbour.md": {Data: []byte("# Harbour\n\nParking at the harbour costs 5 EUR.\n\n## Night\n\nAt night parking is free.\n")},
		"boats.md":   {Data: []byte("# Boats\n\nBoats sail on Monday.\n")},
		"tea.md":     {Data: []byte("# Tea\n\nTea is served at five.\n")},
	}
	e, err := engine.OpenStore(t.TempDir(), engine.Options{Answer: &s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	settings := engine.Settings{}
	settings.Embed.Kind, settings.Hybrid.Mode = "none", "lexical"
	b, err := e.Build(t.Context(), corpus.FS("small", docs, corpus.Options{}), settings)
	if err != nil {
		t.Fatal(err)
	}
	return e, b.ID
}

func TestAskSettings(t *testing.T) {
	for _, tt := range []struct {
		name     string
		set      func(*engine.AnswerSettings)
		requests int
		docs     []string // that must be delivered first, in this order
		note     string
	}{
		{"plain", func(*engine.AnswerSettings) {}, 1, []string{"boats.md"}, ""},
		{"rewrite", func(s *engine.AnswerSettings) { s.Rewrite = true }, 2, []string{"feed.md"}, "searched for: parrot feed"},
		{"queries", func(s *engine.AnswerSettings) { s.Queries = 3 }, 2, nil, "searched for: harbour parking"},
		{"both", func(s *engine.AnswerSettings) { s.Rewrite, s.Queries = true, 3 }, 3, nil, "searched for: harbour parking"},
		{"sampling", func(s *engine.AnswerSettings) { s.Temperature, s.MaxTokens, s.Stream = 0.5, 77, true }, 1, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model := &chatServer{}
			server := httptest.NewServer(model)
			defer server.Close()
			s := engine.AnswerSettings{Kind: "chat", URL: server.URL + "/v1", Model: "m"}
			tt.set(&s)
			e, build := askBuild(t, s)
			res, err := e.Ask(t.Context(), engine.AskQuery{Query: engine.Query{Text: "When do boats sail?"}, Build: build})
			if err != nil {
				t.Fatal(err)
			}
			if len(model.sent) != tt.requests || res.Answer.Usage.Requests != tt.requests {
				t.Errorf("%d requests, %d counted, want %d", len(model.sent), res.Answer.Usage.Requests, tt.requests)
			}
			var docs []string
			seen := map[corpus.ChunkID]bool{}
			for i, p := range res.Passages {
				docs = append(docs, string(p.Hit.Doc))
				if seen[p.Hit.Chunk] || p.Hit.Rank != i+1 {
					t.Errorf("passage %d: rank %d, chunk %s", i, p.Hit.Rank, p.Hit.Chunk)
				}
				seen[p.Hit.Chunk] = true
			}
			if len(docs) < len(tt.docs) || !slices.Equal(docs[:len(tt.docs)], tt.docs) {
				t.Errorf("delivered %v, want %v first", docs, tt.docs)
			}
			if tt.name == "queries" {
				for _, d := range []string{"boats.md", "feed.md", "harbour.md"} {
					if !slices.Contains(docs, d) {
						t.Errorf("delivered %v, want what every wording finds", docs)
					}
				}
			}
			if tt.note != "" && !slices.Contains(res.Notes, tt.note) {
				t.Errorf("notes %q lack %q", res.Notes, tt.note)
			}
			last := model.sent[len(model.sent)-1]
			if tt.name == "sampling" && (last["temperature"] != 0.5 || last["max_tokens"] != 77.0 || last["stream"] != true) {
				t.Errorf("sent %v", last)
			}
			if tt.name == "plain" {
				if v, ok := last["temperature"]; !ok || v != 0.0 {
					t.Errorf("temperature 0 was not sent: %v", last)
				}
			}
		})
	}
	t.Run("the model fails", func(t *testing.T) {
		server := httptest.NewServer(&chatServer{fail: true})
		defer server.Close()
		e, build := askBuild(t, engine.AnswerSettings{Kind: "chat", URL: server.URL + "/v1", Model: "m", Rewrite: true})
		_, err := e.Ask(t.Context(), engine.AskQuery{Query: engine.Query{Text: "When do boats sail?"}, Build: build})
		if err == nil || !strings.Contains(err.Error(), "rewrite the question") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("merge neighbours", func(t *testing.T) {
		for _, merge := range []bool{false, true} {
			e, build := askBuild(t, engine.AnswerSettings{MergeNeighbours: merge})
			res, err := e.Ask(t.Context(), engine.AskQuery{Query: engine.Query{Text: "What does parking at the harbour cost at night?"}, Build: build})
			if err != nil {
				t.Fatal(err)
			}
			n, whole := 0, false
			for _, p := range res.Passages {
				if p.Hit.Doc == "harbour.md" {
					n++
					whole = strings.Contains(p.Text, "5 EUR") && strings.Contains(p.Text, "is free")
				}
			}
			if merge && (n != 1 || !whole) || !merge && n != 2 {
				t.Errorf("merge %v: %d passages of the document, whole %v", merge, n, whole)
			}
		}
	})
}

// A run that breaks off goes on without paying again for answers or for wordings of questions,
// and its records count what both took.
func TestAnswersResume(t *testing.T) {
	set := &golden.Set{Schema: golden.Schema, Name: "small", Version: 1}
	for i, text := range []string{"When do boats sail?", "What does parking cost?", "Is parrot feed sold?", "Who serves tea?"} {
		set.Questions = append(set.Questions, golden.Question{ID: fmt.Sprintf("q%d", i), Question: text, Split: golden.Dev, State: golden.Accepted})
	}
	const perQuestion = 3 // rewrite, queries, answer
	all := perQuestion * len(set.Questions)
	model := &chatServer{}
	server := httptest.NewServer(model)
	defer server.Close()
	s := engine.AnswerSettings{Kind: "chat", URL: server.URL + "/v1", Model: "m", Rewrite: true, Queries: 3}
	e, build := askBuild(t, s)
	// Every request after the stopping one dies with the context, so what is sent is what is paid.
	for _, at := range []int{3, 7, 9, 11} {
		ctx, cancel := context.WithCancel(t.Context())
		model.stop = func(n int) {
			if n == at {
				cancel()
			}
		}
		if _, err := e.Answers(ctx, set, engine.AnswersOptions{Build: build}); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d: %v", at, err)
		}
		cancel()
	}
	model.stop = nil
	res, err := e.Answers(t.Context(), set, engine.AnswersOptions{Build: build})
	if err != nil {
		t.Fatal(err)
	}
	// The request in which a run was stopped brought nothing and is repeated: one for each stop.
	if n := len(model.sent); n > all+4 {
		t.Errorf("%d requests for %d replies and 4 stops", n, all)
	}
	if u := res.Table.Usage; u.Requests != all || u.PromptTokens != 10*all {
		t.Errorf("counted %+v, want %d requests with 10 tokens each", u, all)
	}
	before := len(model.sent)
	if _, err := e.Answers(t.Context(), set, engine.AnswersOptions{Build: build}); err != nil || len(model.sent) != before {
		t.Errorf("a finished run sent %d more, %v", len(model.sent)-before, err)
	}
	if _, err := e.Answers(t.Context(), set, engine.AnswersOptions{Build: build, Fresh: true}); err != nil || len(model.sent) != before+all {
		t.Errorf("a fresh run sent %d, want %d, %v", len(model.sent)-before, all, err)
	}
}

func TestAnswerSettings(t *testing.T) {
	const chat = "answer: {kind: chat, url: http://localhost:1/v1, model: m, "
	for _, tt := range []struct{ name, text, want string }{
		{"all", chat + "merge_neighbours: true, rewrite: true, queries: 3, temperature: 0.2, max_tokens: 100, stream: true}", ""},
		{"merging needs no model", "answer: {merge_neighbours: true}", ""},
		{"rewrite without a model", "answer: {rewrite: true}", "answer.rewrite needs a chat model"},
		{"queries without a model", "answer: {queries: 2}", "answer.queries needs a chat model"},
		{"stream without a model", "answer: {stream: true}", "answer.stream needs a chat model"},
		{"too many queries", chat + "queries: 11}", "answer.queries is 11, the range is 0 to 10"},
		{"temperature", chat + "temperature: 3}", "answer.temperature is 3, the range is 0 to 2"},
		{"max tokens", chat + "max_tokens: -1}", "answer.max_tokens is -1"},
		{"type", chat + "rewrite: sometimes}", "assay.yaml:1"},
		{"typing error", "answer: {rewirte: true}", `did you mean "rewrite"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := engine.ParseSettings("assay.yaml", []byte(tt.text))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
