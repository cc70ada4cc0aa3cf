package answer

import (
	"os"
	"strings"
	"testing"
	"time"
)

func FuzzReply(f *testing.F) {
	for _, s := range []string{`{"answer":"a [1]","refused":false,"sources":[1]}`, "```json\n{\"answer\":1}\n```", "<think>x", `{"answer":{"a":[]},"refused":"yes"}`, "No information.", "{{{{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := parseReply(s, 3)
		if a.Raw != s || a.Citations == nil {
			t.Errorf("parseReply(%q) = %+v", s, a)
		}
		queryLines(s, 3)
	})
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "- x: y\n  more\n1. z", "One. Two e.g. three! Four", "```\ncode\n```", "|", "[a](b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, u := range cut(s) {
			if strings.TrimSpace(u.text) == "" && u.row == false {
				t.Errorf("cut(%q) has an empty unit", s)
			}
		}
	})
}

func TestUnits(t *testing.T) {
	got := cut("## Fees\n\nWe charge e.g. for lifts. There are:\n\n- **Cash**: see [page](x.md).\n- Card\n  with chip\n\n| Zone | Price |\n|---|---|\n| A | 5 |\n")
	want := []struct{ text, heading string }{
		{"We charge e.g. for lifts.", "Fees"}, {"There are:", "Fees"}, {"Cash: see page.", "Fees There are:"}, {"Card with chip", "Fees There are:"}, {"A: Price 5", "Fees Zone Price"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, w := range want {
		if got[i].text != w.text || got[i].heading != w.heading {
			t.Errorf("unit %d: got %q under %q, want %q under %q", i, got[i].text, got[i].heading, w.text, w.heading)
		}
	}
}

// A server of the kind of llama.cpp or Ollama, if the environment names one.
func TestChatRealServer(t *testing.T) {
	url, model := os.Getenv("ASSAY_CHAT_URL"), os.Getenv("ASSAY_CHAT_MODEL")
	if url == "" || model == "" {
		t.Skip("no chat server: set ASSAY_CHAT_URL and ASSAY_CHAT_MODEL, for instance to http://localhost:11434/v1 and a model it has")
	}
	for _, stream := range []bool{false, true} {
		c, err := NewChat(ChatOptions{URL: url, Model: model, Seed: 7, Stream: stream, MaxTokens: 64, Timeout: 5 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		r := Request{ID: "q", Question: "How long may goods be returned?", Passages: []Passage{{Marker: 1, Text: "Goods may be returned within 7 days."}}}
		a, err := c.Answer(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if a.Raw == "" && a.Thinking == "" || a.Usage.Requests == 0 {
			t.Errorf("stream %v: nothing came back: %+v", stream, a)
		}
	}
}
