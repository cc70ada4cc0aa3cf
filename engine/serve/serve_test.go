package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/engine/serve/servetest"
	"github.com/seed792a4543/assay/index"
)

// reply is a response that has been read.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) decode(t *testing.T, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), to); err != nil {
		t.Fatalf("body %q: %v", r.body, err)
	}
}

// field returns the field and message of an error body.
func (r reply) field(t *testing.T) (field, message string) {
	t.Helper()
	var e struct {
		Schema string
		Error  struct{ Code, Message, Field string }
	}
	r.decode(t, &e)
	if e.Schema != "assay.error/v1" || e.Error.Code == "" || e.Error.Message == "" {
		t.Fatalf("not an error body: %s", r.body)
	}
	return e.Error.Field, e.Error.Message
}

// call sends one request to h; header holds pairs.
func call(h http.Handler, method, path, body string, header ...string) reply {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// local is who calls without a token.
func local(as ...string) *serve.Auth {
	return serve.NewAuth(serve.AuthOptions{Local: &serve.Caller{Name: "local", As: as}})
}

// stub answers from memory and counts what reaches it.
type stub struct {
	serve.Engine
	calls   atomic.Int64
	resp    *engine.Response
	err     error
	wait    chan struct{}
	labels  []string
	notLive bool
}

func (s *stub) Query(ctx context.Context, q engine.Query) (*engine.Response, error) {
	s.calls.Add(1)
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.resp, s.err
}

func (s *stub) Ask(context.Context, engine.AskQuery) (*engine.AskResult, error) {
	s.calls.Add(1)
	return nil, s.err
}

func (s *stub) Live() string {
	if s.notLive {
		return ""
	}
	return "0123456789ab"
}

func (s *stub) Labels() ([]string, error) { return s.labels, nil }

func TestServe(t *testing.T) {
	t.Run("SV-01", func(t *testing.T) {
		e := &stub{resp: &engine.Response{Build: "0123456789ab", Query: "x", Mode: "hybrid"}}
		h := serve.New(e, serve.Options{})
		for _, tc := range []struct {
			name, body string
			status     int
			field      string
			says       string
		}{
			{"k negative", `{"query":"x","k":-1}`, 400, "k", "range is 1 to 100"},
			{"k zero", `{"query":"x","k":0}`, 400, "k", "range is 1 to 100"},
			{"k above the limit", `{"query":"x","k":101}`, 400, "k", "range is 1 to 100"},
			{"k a string", `{"query":"x","k":"5"}`, 400, "k", "is a string"},
			{"k a fraction", `{"query":"x","k":1.5}`, 400, "k", "1.5"},
			{"k with an exponent", `{"query":"x","k":1e1}`, 400, "k", "range is 1 to 100"},
			{"k huge", `{"query":"x","k":99999999999999999999}`, 400, "k", "range is 1 to 100"},
			{"query missing", `{}`, 400, "query", "1 to 10000"},
			{"query empty", `{"query":""}`, 400, "query", "1 to 10000"},
			{"query blank", `{"query":"  "}`, 400, "query", "1 to 10000"},
			{"query of 1 MB", `{"query":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "query", "1 to 10000"},
			{"query a number", `{"query":7}`, 400, "query", "is a number"},
			{"not JSON", `query=x`, 400, "", "JSON object"},
			{"a list", `[]`, 400, "", "JSON object"},
			{"two objects", `{"query":"x"}{}`, 400, "", "JSON object"},
			{"empty body", ``, 400, "", "JSON object"},
			{"body of 50 MB", `{"query":"` + strings.Repeat("x", 50<<20) + `"}`, 413, "", "larger than 4194304 bytes"},
			{"unknown field", `{"query":"x","topk":3}`, 400, "topk", "use query, k, mode"},
			{"another case", `{"Query":"x"}`, 400, "Query", "not known"},
			{"repeated field", `{"query":"x","query":"y"}`, 400, "query", "given twice"},
			{"own labels", `{"query":"x","as":["board"]}`, 400, "as", "token"},
			{"unknown mode", `{"query":"x","mode":"magic"}`, 400, "mode", "hybrid, vector, lexical"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				r := call(h, "POST", "/v1/search", tc.body)
				field, msg := r.field(t)
				if r.status != tc.status || field != tc.field || !strings.Contains(msg, tc.says) {
					t.Errorf("status %d field %q message %q, want %d, %q, …%s…", r.status, field, msg, tc.status, tc.field, tc.says)
				}
			})
		}
		if n := e.calls.Load(); n != 0 {
			t.Errorf("%d refused requests reached the engine", n)
		}
		if r := call(h, "POST", "/v1/search", `{"query":"x"}`); r.status != 200 {
			t.Errorf("absent k: %d %s", r.status, r.body)
		}
		// What a form of another site can send without asking is refused, with words that help.
		for sent, says := range map[string]string{"text/plain": `"text/plain"`, "application/x-www-form-urlencoded": "x-www-form-urlencoded", "": "no Content-Type"} {
			r := call(h, "POST", "/v1/search", `{"query":"x"}`, "Content-Type", sent)
			if _, msg := r.field(t); r.status != 415 || !strings.Contains(msg, says) || !strings.Contains(msg, "-H 'Content-Type: application/json'") {
				t.Errorf("type %q: %d %s", sent, r.status, msg)
			}
		}
		if r := call(h, "GET", "/v1/search", ""); r.status != 405 || r.header.Get("Allow") != "POST" {
			t.Errorf("GET: %d, Allow %q", r.status, r.header.Get("Allow"))
		}
	})

	t.Run("SV-02", func(t *testing.T) {
		e := &stub{resp: &engine.Response{Build: "b", Hits: []index.Hit{{Rank: 1, Score: math.NaN()}}}}
		r := call(serve.New(e, serve.Options{}), "POST", "/v1/search", `{"query":"x"}`)
		if field, msg := r.field(t); r.status != 500 || field != "" || strings.Contains(msg, "NaN") {
			t.Errorf("%d %s", r.status, r.body)
		}
	})

	t.Run("SV-04", func(t *testing.T) {
		h := serve.New(&stub{resp: &engine.Response{}}, serve.Options{Hosts: []string{"kb.example"}})
		for _, tc := range []struct {
			name, header, value string
			status              int
		}{
			{"foreign host", "Host", "evil.example", 403},
			{"foreign host with port", "Host", "evil.example:8080", 403},
			{"host that begins like ours", "Host", "localhost.evil.example", 403},
			{"no host", "Host", "", 403},
			{"localhost", "Host", "localhost:8080", 200},
			{"localhost, other port", "Host", "LOCALHOST:1", 200},
			{"IPv4", "Host", "127.0.0.1", 200},
			{"IPv6", "Host", "[::1]:9", 200},
			{"IPv6 without port", "Host", "[::1]", 200},
			{"configured name", "Host", "kb.example:80", 200},
			{"foreign origin", "Origin", "https://evil.example", 403},
			{"opaque origin", "Origin", "null", 403},
			{"origin that begins like ours", "Origin", "http://127.0.0.1.evil.example", 403},
			{"file origin", "Origin", "file://", 403},
			{"own origin", "Origin", "http://127.0.0.1:8080", 200},
			{"local origin", "Origin", "http://localhost:3000", 200},
		} {
			t.Run(tc.name, func(t *testing.T) {
				r := call(h, "POST", "/v1/search", `{"query":"x"}`, tc.header, tc.value)
				if r.status != tc.status {
					t.Errorf("status %d, want %d: %s", r.status, tc.status, r.body)
				}
				for name := range r.header {
					if strings.HasPrefix(name, "Access-Control-") {
						t.Errorf("header %s: CORS is off", name)
					}
				}
			})
		}
		if serve.Loopback("0.0.0.0:80") || serve.Loopback(":80") || serve.Loopback("192.168.1.2:80") || !serve.Loopback("127.0.0.1:80") || !serve.Loopback("[::1]:80") || !serve.Loopback("localhost:0") {
			t.Error("loopback addresses are not told from others")
		}
	})

	t.Run("SV-05", func(t *testing.T) {
		s := servetest.New(t)
		h := serve.New(s, serve.Options{})
		for _, q := range s.Set.Questions {
			if len(q.As) > 0 {
				continue
			}
			want, err := s.Query(t.Context(), engine.Query{Text: q.Question, K: 5})
			if err != nil {
				t.Fatal(err)
			}
			body, _ := json.Marshal(map[string]any{"query": q.Question, "k": 5})
			var got serve.SearchBody
			call(h, "POST", "/v1/search", string(body)).decode(t, &got)
			if diff := cmp.Diff(want.Hits, got.Hits); diff != "" {
				t.Errorf("%s: HTTP and library differ (-library +http):\n%s", q.ID, diff)
			}
			_, rec, err := s.Verdict(s.LiveBuild, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, stored := range rec.Questions {
				if stored.ID != q.ID {
					continue
				}
				var ids []corpus.ChunkID
				for _, hit := range got.Hits {
					ids = append(ids, hit.Chunk)
				}
				if diff := cmp.Diff(stored.Hits[:len(ids)], ids); diff != "" {
					t.Errorf("%s: evaluated and served differ:\n%s", q.ID, diff)
				}
			}
		}
	})
}

func TestAnswerAndChat(t *testing.T) {
	s := servetest.New(t)
	h := serve.New(s, serve.Options{})
	var a serve.AnswerBody
	r := call(h, "POST", "/v1/answer", `{"question":"Within how many days do goods come back after receiving them?","k":3}`)
	r.decode(t, &a)
	if r.status != 200 || a.Build != s.LiveBuild || len(a.Context) != 3 || a.Answer == "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if len(a.Sources) == 0 || a.Sources[0].Doc != "returns.md" {
		t.Errorf("sources %v", a.Sources)
	}
	for _, src := range a.Sources {
		if src.Marker < 1 || src.Marker > len(a.Context) || a.Context[src.Marker-1].Chunk != src.Chunk {
			t.Errorf("source %+v is not the passage of its number", src)
		}
	}
	if r := call(h, "POST", "/v1/answer", `{"query":"x"}`); r.status != 400 {
		t.Errorf("query in place of question: %d", r.status)
	}

	chat := `{"model":"gpt-9","temperature":0.2,"messages":[{"role":"system","content":"You are kind."},` +
		`{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"},` +
		`{"role":"user","content":[{"type":"text","text":"Within how many days do goods come back after receiving them?"}]}]%s}`
	var c struct {
		Object  string
		Choices []struct {
			Message struct{ Role, Content string }
		}
		Citations []engine.Source
		Build     string
	}
	call(h, "POST", "/v1/chat/completions", fmt.Sprintf(chat, "")).decode(t, &c)
	if c.Object != "chat.completion" || c.Build != s.LiveBuild || len(c.Choices) != 1 || !strings.HasPrefix(c.Choices[0].Message.Content, a.Answer) {
		t.Errorf("chat: %+v", c)
	}
	if len(c.Citations) == 0 || !strings.Contains(c.Choices[0].Message.Content, "Sources:\n[") {
		t.Errorf("chat without citations: %+v", c)
	}

	for _, bad := range []string{`{}`, `{"messages":[]}`, `{"messages":[{"role":"user","content":""}]}`, `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, `{"messages":[{"role":"user","content":"x"}],"stream":"yes"}`} {
		r := call(h, "POST", "/v1/chat/completions", bad)
		var e struct {
			Error struct{ Message, Type string }
		}
		if r.decode(t, &e); r.status != 400 || e.Error.Message == "" || e.Error.Type == "" {
			t.Errorf("%s: %d %s", bad, r.status, r.body)
		}
	}
}

func TestTokens(t *testing.T) {
	token, entry, err := serve.NewToken("bot", []string{"board"}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	admin, adminEntry, err := serve.NewToken("anna", nil, true, true)
	if err != nil {
		t.Fatal(err)
	}
	file, err := serve.EncodeTokens([]serve.Token{entry, adminEntry})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(file), token) || !strings.Contains(string(file), entry.SHA256) {
		t.Fatalf("the file holds the token itself:\n%s", file)
	}
	tokens, err := serve.ParseTokens("tokens.yaml", file)
	if err != nil {
		t.Fatal(err)
	}
	s := servetest.New(t)
	h := serve.New(s, serve.Options{Auth: serve.NewAuth(serve.AuthOptions{Tokens: tokens})})
	search := `{"query":"quokkamerger","k":5}`
	t.Run("access", func(t *testing.T) {
		for _, tc := range []struct {
			name, path, auth string
			status           int
		}{
			{"none", "/v1/search", "", 401},
			{"wrong", "/v1/search", "Bearer " + tokenLike(), 401},
			{"basic", "/v1/search", "Basic " + token, 401},
			{"hash in place of token", "/v1/search", "Bearer " + entry.SHA256, 401},
			{"right", "/v1/search", "Bearer " + token, 200},
			{"promote without the right", "/v1/promote", "Bearer " + token, 403},
		} {
			if r := call(h, "POST", tc.path, search, "Authorization", tc.auth); r.status != tc.status {
				t.Errorf("%s: %d, want %d: %s", tc.name, r.status, tc.status, r.body)
			}
		}
		for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/openapi.json": 200, "/metrics": 401, "/v1/builds": 401} {
			if r := call(h, "GET", path, ""); r.status != status {
				t.Errorf("GET %s without a token: %d, want %d", path, r.status, status)
			}
		}
		// The cookie of the pages is worth nothing here.
		if r := call(h, "POST", "/v1/search", search, "Cookie", serve.CookieName+"="+token); r.status != 401 {
			t.Errorf("cookie: %d", r.status)
		}
	})
	t.Run("labels", func(t *testing.T) {
		for auth, found := range map[string]bool{token: true, admin: true} {
			if r := call(h, "POST", "/v1/search", search, "Authorization", "Bearer "+auth); strings.Contains(r.body, servetest.HiddenDoc) != found {
				t.Errorf("hidden document found: %v, want %v", !found, found)
			}
		}
	})
	t.Run("file", func(t *testing.T) {
		for _, bad := range []string{
			"", "schema: assay.tokens/v1\ntokens: []\n", "schema: other\n",
			"schema: assay.tokens/v1\ntokens:\n  - {name: a, sha256: abc}\n",
			"schema: assay.tokens/v1\ntokens:\n  - {name: a, sha256: " + entry.SHA256 + ", labels: [x]}\n",
			"schema: assay.tokens/v1\ntokens:\n  - {name: a, sha256: " + entry.SHA256 + "}\n  - {name: b, sha256: " + entry.SHA256 + "}\n",
		} {
			if _, err := serve.ParseTokens("tokens.yaml", []byte(bad)); err == nil {
				t.Errorf("accepted:\n%s", bad)
			}
		}
	})
	t.Run("promote", func(t *testing.T) {
		auth := []string{"Authorization", "Bearer " + admin}
		if r := call(h, "POST", "/v1/promote", `{"build":"`+s.Candidate+`"}`, auth...); r.status != 409 {
			t.Errorf("a build that is not accepted: %d %s", r.status, r.body)
		}
		if r := call(h, "POST", "/v1/promote", `{"build":"../../x"}`, auth...); r.status != 400 {
			t.Errorf("a path: %d", r.status)
		}
		if r := call(h, "POST", "/v1/promote", `{"build":"ffffffffffff"}`, auth...); r.status != 404 {
			t.Errorf("no such build: %d", r.status)
		}
		if r := call(h, "POST", "/v1/promote", `{"build":"`+s.Candidate+`","override":true}`, auth...); r.status != 400 {
			t.Errorf("override: %d", r.status)
		}
		r := call(h, "POST", "/v1/promote", `{"build":"`+s.LiveBuild+`"}`, auth...)
		var p struct {
			Live    string
			Changed bool
		}
		if r.decode(t, &p); r.status != 200 || p.Live != s.LiveBuild || p.Changed {
			t.Errorf("the live build: %d %s", r.status, r.body)
		}
	})
}

func tokenLike() string { return "assay_" + strings.Repeat("0", 64) }

// TestPromoteOverHTTP makes an accepted build live, and not one whose golden set has changed.
func TestPromoteOverHTTP(t *testing.T) {
	s := servetest.New(t)
	// Another limit that no chunk reaches: another build with the same rankings.
	same := servetest.Build(t, s.Engine, servetest.Docs(), engine.Settings{Chunk: chunk.Settings{Kind: "section", Max: 901, Level: 2}})
	v, err := s.ValidateWith(t.Context(), same, s.Set, s.Policy, engine.ValidateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	goldenDigest := v.GoldenDigest
	h := serve.New(s, serve.Options{
		Auth:    serve.NewAuth(serve.AuthOptions{Local: &serve.Caller{Name: "anna", Admin: true}}),
		Digests: func() (string, string, error) { return goldenDigest, "", nil },
	})
	if v.Verdict.Verdict != "accept" {
		t.Fatalf("the test's build is %s: %s", v.Verdict.Verdict, v.Reasons)
	}
	goldenDigest = "changed"
	if r := call(h, "POST", "/v1/promote", `{"build":"`+same+`"}`); r.status != 409 {
		t.Errorf("another golden set: %d %s", r.status, r.body)
	}
	goldenDigest = v.GoldenDigest
	if r := call(h, "POST", "/v1/promote", `{"build":"`+same+`","why":"test"}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if live := s.Engine.Live(); live != same {
		t.Errorf("live is %s, want %s", live, same)
	}
}

func TestCanaries(t *testing.T) {
	s := servetest.New(t)
	var log bytes.Buffer
	h := serve.New(s, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Auth: local()})
	doors := map[string]string{
		"/v1/search":           `{"query":"quokkamerger Zebrafinch Narwhal refund delivery fees","k":50}`,
		"/v1/answer":           `{"question":"What does the quokkamerger of Narwhal halve?"}`,
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"What does the quokkamerger of Narwhal halve?"}]}`,
	}
	t.Run("PM-03", func(t *testing.T) {
		for path, body := range doors {
			for _, mode := range []string{"", `,"mode":"lexical"`, `,"mode":"vector"`} {
				if path == "/v1/chat/completions" && mode != "" {
					continue
				}
				r := call(h, "POST", path, strings.TrimSuffix(body, "}")+mode+"}")
				var echo struct{ Query, Question string }
				if r.decode(t, &echo); r.status != 200 {
					t.Fatalf("%s: %d %s", path, r.status, r.body)
				}
				// The caller's own words come back as they came.
				for _, own := range []string{echo.Query, echo.Question} {
					if own != "" {
						r.body = strings.ReplaceAll(r.body, own, "")
					}
				}
				clean(t, path+mode, r.body)
			}
		}
		for _, path := range []string{"/v1/builds", "/metrics", "/openapi.json", "/readyz"} {
			r := call(h, "GET", path, "")
			clean(t, path, r.body)
			if path == "/v1/builds" && (!strings.Contains(r.body, `"documents":null`) || regexp.MustCompile(`"(documents|chunks)":\d`).MatchString(r.body)) {
				t.Errorf("counts that include hidden documents: %s", r.body)
			}
		}
		clean(t, "log", log.String())
		if !strings.Contains(log.String(), "endpoint=/v1/search") {
			t.Errorf("nothing was logged:\n%s", log.String())
		}
		board := serve.New(s, serve.Options{Auth: local("board")})
		if r := call(board, "POST", "/v1/search", doors["/v1/search"]); !strings.Contains(r.body, servetest.HiddenDoc) {
			t.Error("the board does not find its own document: the test proves nothing")
		}
		if r := call(board, "GET", "/v1/builds", ""); !regexp.MustCompile(`"documents":4`).MatchString(r.body) {
			t.Errorf("the board gets no counts: %s", r.body)
		}
	})
	t.Run("PM-06", func(t *testing.T) {
		token, entry, err := serve.NewToken("board", []string{"board"}, false, false)
		if err != nil {
			t.Fatal(err)
		}
		both := serve.New(s, serve.Options{Auth: serve.NewAuth(serve.AuthOptions{Tokens: []serve.Token{entry}, Local: &serve.Caller{Name: "local"}})})
		body := `{"query":"quokkamerger delivery fees","k":5}`
		before := call(both, "POST", "/v1/search", body)
		if r := call(both, "POST", "/v1/search", body, "Authorization", "Bearer "+token); !strings.Contains(r.body, servetest.HiddenDoc) {
			t.Fatal("the board finds nothing")
		}
		for _, header := range [][]string{nil, {"X-As", "board"}, {"X-Labels", "board"}, {"As", "board"}} {
			if r := call(both, "POST", "/v1/search", body, header...); r.body != before.body {
				t.Errorf("headers %v change what the public finds", header)
			}
		}
	})
}

// clean fails if a door shows anything of the hidden document.
func clean(t *testing.T, door, body string) {
	t.Helper()
	for _, c := range servetest.Canaries {
		if i := strings.Index(body, c); i >= 0 {
			t.Errorf("%s shows %q: …%s…", door, c, body[max(0, i-60):min(len(body), i+60)])
		}
	}
}

func TestErrors(t *testing.T) {
	var log bytes.Buffer
	e := &stub{err: fmt.Errorf("embed query: POST http://10.0.0.7/v1: %q refused", "secret words")}
	h := serve.New(e, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := call(h, "POST", "/v1/search", `{"query":"secret words"}`)
	if _, msg := r.field(t); r.status != 500 || strings.Contains(msg, "10.0.0.7") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if !strings.Contains(log.String(), "10.0.0.7") || strings.Contains(log.String(), "secret words") {
		t.Errorf("the log lacks the cause or holds the query:\n%s", log.String())
	}
	for err, status := range map[error]int{
		engine.ErrNoLive: 503, engine.ErrNoBuild: 404, engine.ErrLocked: 409, index.ErrClosed: 503,
		context.DeadlineExceeded: 504, fmt.Errorf("x: %w", engine.ErrInput): 400, errors.New("other"): 500,
	} {
		e.err = err
		if r := call(h, "POST", "/v1/search", `{"query":"x"}`); r.status != status {
			t.Errorf("%v: %d, want %d", err, r.status, status)
		}
	}
	e.notLive = true
	if r := call(h, "GET", "/readyz", ""); r.status != 503 {
		t.Errorf("ready without a build: %d", r.status)
	}
	if r := call(h, "GET", "/healthz", ""); r.status != 200 {
		t.Errorf("health: %d", r.status)
	}
	if r := call(h, "GET", "/nothing", ""); r.status != 404 {
		t.Errorf("unknown path: %d", r.status)
	}
}

// TestConnections runs a real listener: slow clients are cut, requests over the limit refused,
// and those under way finish when the server stops.
func TestConnections(t *testing.T) {
	e := &stub{resp: &engine.Response{Build: "b"}, wait: make(chan struct{})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(e, serve.Options{HeaderTimeout: 100 * time.Millisecond, ReadTimeout: 100 * time.Millisecond, MaxInFlight: 2})
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	url := "http://" + l.Addr().String()

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil { // ends when the server gives up on the headers
		t.Fatal(err)
	}

	slow, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(slow) // the rest of the body never comes
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
		t.Errorf("a body that stops: %v, %q", err, answer)
	}

	type outcome struct {
		status int
		err    error
	}
	results := make(chan outcome, 3)
	post := func() {
		r, err := http.Post(url+"/v1/search", "application/json", strings.NewReader(`{"query":"x"}`))
		if err != nil {
			results <- outcome{0, err}
			return
		}
		r.Body.Close()
		results <- outcome{r.StatusCode, nil}
	}
	go post()
	go post()
	for e.calls.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	post()
	if r := <-results; r.status != 503 {
		t.Errorf("a third request: %+v, want 503", r)
	}
	stop()
	time.Sleep(20 * time.Millisecond)
	close(e.wait)
	for range 2 {
		if r := <-results; r.status != 200 || r.err != nil {
			t.Errorf("a request under way when the server stopped: %+v", r)
		}
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

var sample = regexp.MustCompile(`^[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9.e+-]+$`)

func TestMetrics(t *testing.T) {
	s := servetest.New(t)
	h := serve.New(s, serve.Options{})
	call(h, "POST", "/v1/search", `{"query":"kettle"}`)
	call(h, "POST", "/v1/search", `{"query":"kettle","k":0}`)
	call(h, "POST", "/v1/answer", `{"question":"How often do I descale the kettle?"}`)
	body := call(h, "GET", "/metrics", "").body
	families := map[string]bool{}
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			families[strings.Fields(name)[0]] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		if !sample.MatchString(line) {
			t.Errorf("not a sample: %s", line)
		}
		name := regexp.MustCompile(`_(bucket|sum|count)?(\{| ).*`).ReplaceAllString(line, "")
		name, _, _ = strings.Cut(name, "{")
		name, _, _ = strings.Cut(name, " ")
		if !families[name] {
			t.Errorf("sample before its type: %s", line)
		}
	}
	for _, want := range []string{
		`assay_requests_total{endpoint="/v1/search",code="200"} 1`,
		`assay_requests_total{endpoint="/v1/search",code="400"} 1`,
		`assay_request_duration_seconds_bucket{endpoint="/v1/search",le="+Inf"} 2`,
		`assay_stage_duration_seconds_count{stage="search"} 2`, `assay_stage_duration_seconds_count{stage="embed"} 2`,
		`assay_stage_duration_seconds_count{stage="vector"} 2`, `assay_stage_duration_seconds_count{stage="lexical"} 2`,
		`assay_stage_duration_seconds_count{stage="fuse"} 2`, `assay_stage_duration_seconds_count{stage="read"} 2`,
		`assay_stage_duration_seconds_count{stage="answer"} 1`, `assay_stage_duration_seconds_count{stage="encode"} 2`,
		`assay_build_info{build="` + s.LiveBuild + `"} 1`, "assay_ready 1", "assay_errors_total 0",
	} {
		if !slices.Contains(strings.Split(body, "\n"), want) {
			t.Errorf("no sample %s", want)
		}
	}
	// The store was evaluated before, through the same cache.
	before := regexp.MustCompile(`assay_cache_hits_total\{cache="permissions"\} (\d+)`).FindStringSubmatch(body)
	call(h, "POST", "/v1/search", `{"query":"kettle"}`)
	after := regexp.MustCompile(`assay_cache_hits_total\{cache="permissions"\} (\d+)`).FindStringSubmatch(call(h, "GET", "/metrics", "").body)
	if before == nil || after == nil || before[1] == after[1] || !strings.Contains(body, `assay_cache_misses_total{cache="permissions"} `) {
		t.Errorf("the cache's hits were %v and after one more search %v", before, after)
	}
}

func FuzzSearchRequest(f *testing.F) {
	for _, s := range []string{`{"query":"x","k":5}`, `{"query":"x","k":"5"}`, `[]`, `{"query":{"a":[1]}}`, `{"k":1e309,"query":"y"}`, "{\"query\":\"\\ud800\"}"} {
		f.Add(s)
	}
	h := serve.New(&stub{resp: &engine.Response{Build: "b"}}, serve.Options{})
	f.Fuzz(func(t *testing.T, body string) {
		r := call(h, "POST", "/v1/search", body)
		if !json.Valid([]byte(r.body)) || r.status >= 500 {
			t.Errorf("%q: %d %s", body, r.status, r.body)
		}
	})
}
