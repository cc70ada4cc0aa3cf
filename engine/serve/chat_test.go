package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/answer"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/engine/serve/servetest"
)

// event is one event of a stream.
type event struct {
	Object  string
	Choices []struct {
		Delta        struct{ Role, Content string }
		FinishReason *string `json:"finish_reason"`
	}
	Usage     *struct{ TotalTokens int }
	Build     *string
	Question  string
	Refused   *bool
	Citations []engine.Source
	Error     struct{ Message, Type string }
}

// events reads a stream; done says that it has its end mark.
func events(t *testing.T, body io.Reader) (chunks []event, done bool) {
	t.Helper()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case lines.Text() == "":
		case !ok || done:
			t.Fatalf("not an event, or one after the end: %s", lines.Text())
		case data == "[DONE]":
			done = true
		default:
			var c event
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			chunks = append(chunks, c)
		}
	}
	return chunks, done
}

func joined(chunks []event) string {
	var b strings.Builder
	for _, c := range chunks {
		for _, choice := range c.Choices {
			b.WriteString(choice.Delta.Content)
		}
	}
	return b.String()
}

// TestChatStream reads the stream of the extractive answerer: several pieces that join to what is
// sent whole, the result in the last one, and an end mark.
func TestChatStream(t *testing.T) {
	s := servetest.New(t)
	h := serve.New(s, serve.Options{})
	ask := `{"messages":[{"role":"user","content":"Within how many days do goods come back, and when is the money of refunds sent?"}]%s}`
	var whole struct {
		Choices []struct{ Message struct{ Content string } }
	}
	call(h, "POST", "/v1/chat/completions", fmt.Sprintf(ask, "")).decode(t, &whole)
	r := call(h, "POST", "/v1/chat/completions", fmt.Sprintf(ask, `,"stream":true,"stream_options":{"include_usage":true}`))
	chunks, done := events(t, strings.NewReader(r.body))
	if r.header.Get("Content-Type") != "text/event-stream" || !done || len(chunks) < 4 {
		t.Fatalf("%d pieces, end %v: %s", len(chunks), done, r.body)
	}
	if diff := cmp.Diff(whole.Choices[0].Message.Content, joined(chunks)); diff != "" {
		t.Errorf("whole and streamed differ (-whole +streamed):\n%s", diff)
	}
	if c := chunks[0]; c.Object != "chat.completion.chunk" || c.Choices[0].Delta.Role != "assistant" || c.Choices[0].FinishReason != nil || c.Build != nil {
		t.Errorf("first piece %+v", c)
	}
	if first := chunks[0].Choices[0].Delta.Content; !strings.HasSuffix(first, "]\n") {
		t.Errorf("the first piece is no sentence: %q", first)
	}
	last, usage := chunks[len(chunks)-2], chunks[len(chunks)-1]
	if f := last.Choices[0].FinishReason; f == nil || *f != "stop" || last.Build == nil || *last.Build != s.LiveBuild || last.Refused == nil || *last.Refused || len(last.Citations) == 0 {
		t.Errorf("last piece %+v", last)
	}
	if usage.Usage == nil || len(usage.Choices) != 0 {
		t.Errorf("piece with the usage %+v", usage)
	}
}

// script is an answerer that hands over pieces and then says what it is told to.
type script struct {
	pieces []string
	text   string
	err    error
	wait   chan struct{} // before each piece but the first
}

func (s *script) Fingerprint() answer.Fingerprint { return answer.Fingerprint{Kind: "script"} }

func (s *script) Answer(ctx context.Context, r answer.Request) (answer.Answer, error) {
	for i, p := range s.pieces {
		if i > 0 && s.wait != nil {
			select {
			case <-s.wait:
			case <-ctx.Done():
				return answer.Answer{}, ctx.Err()
			}
		}
		if r.Stream != nil {
			r.Stream(p)
		}
	}
	return answer.Answer{Text: s.text, Citations: []int{}}, s.err
}

// scripted serves a store with one live build whose answers come from a.
func scripted(t *testing.T, a answer.Answerer) *serve.Server {
	t.Helper()
	e, err := engine.Open(t.TempDir(), engine.Options{Answerer: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	servetest.Promote(t, e, servetest.Build(t, e, servetest.Docs(), engine.Settings{}))
	return serve.New(e, serve.Options{})
}

// TestChatStreamOfAModel streams what a model gives piece by piece.
func TestChatStreamOfAModel(t *testing.T) {
	const ask = `{"stream":true,"messages":[{"role":"user","content":"kettle"}]}`
	for _, tc := range []struct {
		name   string
		a      *script
		want   string
		status int
		done   bool
	}{
		{"pieces", &script{pieces: []string{"Every ", "month."}, text: "Every month."}, "Every month.", 200, true},
		{"no pieces", &script{text: "Every month."}, "Every month.", 200, true},
		{"another answer in the end", &script{pieces: []string{"Every we"}, text: "Every month."}, "Every we\n\nEvery month.", 200, true},
		{"failure before the first piece", &script{err: errors.New("secret.example is down")}, "", 500, false},
		{"failure after it", &script{pieces: []string{"Every "}, err: errors.New("secret.example is down")}, "Every ", 200, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := scripted(t, tc.a)
			r := call(h, "POST", "/v1/chat/completions", ask)
			if strings.Contains(r.body, "secret.example") || r.status != tc.status {
				t.Fatalf("%d %s", r.status, r.body)
			}
			if r.status != 200 {
				return
			}
			chunks, done := events(t, strings.NewReader(r.body))
			if got := joined(chunks); got != tc.want || done != tc.done {
				t.Errorf("%q, end %v, want %q, %v", got, done, tc.want, tc.done)
			}
			if last := chunks[len(chunks)-1]; !tc.done && (last.Error.Message == "" || last.Error.Type == "") {
				t.Errorf("the failure is not told: %+v", last)
			}
			if !tc.done && !strings.Contains(call(h, "GET", "/metrics", "").body, "assay_errors_total 1\n") {
				t.Error("the failure is not counted")
			}
		})
	}

	// A piece is at the client before the next one is made.
	a := &script{pieces: []string{"Every ", "month."}, text: "Every month.", wait: make(chan struct{})}
	srv := httptest.NewServer(scripted(t, a))
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"content":"Every "`) {
		t.Fatalf("first line %q, %v", line, err)
	}
	close(a.wait)
	if chunks, done := events(t, lines); !done || joined(chunks) != "month." {
		t.Errorf("the rest: %+v", chunks)
	}
}

// TestConversation asks with messages before the last one and looks at what is searched for.
func TestConversation(t *testing.T) {
	h := scripted(t, &script{text: "x"})
	say := func(pairs ...string) string {
		var list []map[string]any
		for i := 0; i+1 < len(pairs); i += 2 {
			list = append(list, map[string]any{"role": pairs[i], "content": pairs[i+1]})
		}
		data, err := json.Marshal(map[string]any{"messages": list})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const first = "Within how many days do goods come back?"
	for _, tc := range []struct{ name, body, want string }{
		{"one message", say("user", first), first},
		{"a question of its own", say("user", first, "assistant", "7", "user", "How often do I descale the kettle?"), "How often do I descale the kettle?"},
		{"two words of its own", say("user", first, "user", "delivery fees"), "delivery fees"},
		{"a relative clause", say("user", first, "user", "May I scrub a pan that I bought?"), "May I scrub a pan that I bought?"},
		{"there is", say("user", first, "user", "Is there a fee for delivery?"), "Is there a fee for delivery?"},
		{"and", say("user", first, "assistant", "7 days", "user", "And for kettles?"), first + "\nAnd for kettles?"},
		{"what about", say("user", first, "user", "What about opened ones?"), first + "\nWhat about opened ones?"},
		{"a pronoun", say("user", "How do I clean the oven?", "user", "How often should I do it?"), "How do I clean the oven?\nHow often should I do it?"},
		{"why", say("user", first, "assistant", "7", "user", "Why?"), first + "\nWhy?"},
		{"German", say("user", "Wie lange kann ich Ware zurückgeben?", "user", "Und bei Kesseln?"), "Wie lange kann ich Ware zurückgeben?\nUnd bei Kesseln?"},
		{"Vietnamese", say("user", "Đổi trả trong bao lâu?", "user", "Còn ấm đun nước?"), "Đổi trả trong bao lâu?\nCòn ấm đun nước?"},
		{"a chain", say("user", first, "user", "And for kettles?", "user", "Why?"), first + "\nAnd for kettles?\nWhy?"},
		{"a long chain", say("user", first, "user", "And now?", "user", "And then?", "user", "Why?", "user", "Really?"), "And now?\nAnd then?\nWhy?\nReally?"},
		{"a long message", say("user", first, "user", "And what is it that you charge for bringing it up to the fourth floor?"), "And what is it that you charge for bringing it up to the fourth floor?"},
		{"nothing before", say("system", "secret order", "user", "Why?"), "Why?"},
		{"instructions elsewhere", say("system", "And it?", "user", first, "assistant", "the quokka", "user", "Why?"), first + "\nWhy?"},
		{"too long together", say("user", strings.Repeat("x", engine.MaxQueryRunes), "user", "Why?"), "Why?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got struct{ Question string }
			r := call(h, "POST", "/v1/chat/completions", tc.body)
			if r.decode(t, &got); r.status != 200 || got.Question != tc.want {
				t.Errorf("%d, searched for %q, want %q", r.status, got.Question, tc.want)
			}
		})
	}
}
