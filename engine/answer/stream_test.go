package answer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTextStream hands replies over in pieces of every length: what is passed on is the beginning of
// the answer that the whole reply gives, and holds nothing else.
func TestTextStream(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		want      string // passed on in all
	}{
		{"form", `{"answer": "Seven days [1].", "refused": false, "sources": [1]}`, "Seven days [1]."},
		{"escapes", `{"answer":"\"7\" days\n\u2013 caf\u00e9 \ud83d\ude00 \\ end","refused":false}`, "\"7\" days\n– café 😀 \\ end"},
		{"other order", `{"refused": false, "sources": [1, {"a": "}"}], "answer": "Seven."}`, "Seven."},
		{"fenced", "```json\n{\"answer\": \"Seven.\"}\n```", "Seven."},
		{"reasoning", `<think>{"answer": "secret"} hmm</think>{"answer": "Seven."}`, "Seven."},
		{"reasoning without its opening tag", `The user wants days.</think>{"answer": "Seven."}`, "Seven."},
		{"reasoning never closed", `<think>{"answer": "secret"}`, ""},
		{"spaces around", `  {"answer": "  Seven.  "}`, "Seven."},
		{"plain text", "Seven days [1].", ""},
		{"no text", `{"answer": 7}`, ""},
		{"cut off", `{"answer": "Seven d`, "Seven d"},
		{"broken", `{"answer": "Seven \x y"}`, ""},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			whole := parseReply(tc.raw, 3).Text
			for size := 1; size <= max(1, len(tc.raw)); size++ {
				var got strings.Builder
				s := textStream{out: func(p string) {
					if !utf8.ValidString(p) || p == "" {
						t.Errorf("piece %q", p)
					}
					got.WriteString(p)
				}}
				for raw := tc.raw; raw != ""; {
					n := min(size, len(raw))
					s.write(raw[:n])
					raw = raw[n:]
				}
				if tc.name == "broken" { // its beginning is passed on before anybody can know
					continue
				}
				if got.String() != tc.want {
					t.Fatalf("pieces of %d bytes: %q, want %q", size, got.String(), tc.want)
				}
				if tc.name != "cut off" && !strings.HasPrefix(whole, got.String()) {
					t.Fatalf("pieces of %d bytes: %q is not the beginning of %q", size, got.String(), whole)
				}
			}
		})
	}
	t.Run("a repeated call", func(t *testing.T) {
		var got strings.Builder
		s := textStream{out: func(p string) { got.WriteString(p) }}
		s.write(`{"answer": "Seven da`)
		s.again()
		s.write(`{"answer": "Seven days, `)
		s.again()
		s.write(`{"answer": "A week."}`)
		if got.String() != "Seven days," {
			t.Errorf("passed on %q", got.String())
		}
	})
}

func FuzzTextStream(f *testing.F) {
	f.Add(`{"answer": "Seven \u00e9\ud83d\ude00", "refused": false}`, 3)
	f.Add("```json\n{\"sources\": [1], \"answer\": \"x\"}", 1)
	f.Add(`<think>{"answer":"a"}</think> {"answer":"b"}`, 5)
	f.Fuzz(func(t *testing.T, raw string, size int) {
		size = max(1, size%16)
		last := ""
		s := textStream{out: func(p string) { last += p }}
		for raw != "" {
			n := min(size, len(raw))
			s.write(raw[:n])
			raw = raw[n:]
		}
		if last != s.sent {
			t.Errorf("passed on %q, remembered %q", last, s.sent)
		}
	})
}
