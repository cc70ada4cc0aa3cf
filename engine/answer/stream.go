package answer

import (
	"encoding/json"
	"strings"

	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
)

// textStream turns the pieces of a model's reply into pieces of its answer: of the JSON object that
// a model is asked for, only the text of its answer is passed on, as it grows. Reasoning is never
// passed on, and neither is a reply of another form, of which nobody can say before its end what is
// answer and what is reasoning.
type textStream struct {
	out  func(piece string)
	raw  strings.Builder
	sent string
}

// maxStreamed bounds the replies that are passed on in pieces: each piece is read in its context.
const maxStreamed = 64 << 10

func (s *textStream) write(piece string) {
	if s.raw.Len() > maxStreamed {
		return
	}
	s.raw.WriteString(piece)
	// After a repeated call the text may differ from what was passed on; then nothing is added.
	if more, ok := strings.CutPrefix(answerSoFar(s.raw.String()), s.sent); ok && more != "" {
		s.sent += more
		s.out(more)
	}
}

// again says that the reply begins anew.
func (s *textStream) again() { s.raw.Reset() }

// answerSoFar returns the text of the answer in the beginning of a reply, "" while there is none.
// It ends in no white space, because the answer does not either.
func answerSoFar(raw string) (answer string) {
	text, _ := evalanswer.StripThinking(raw)
	fieldsSoFar(text, func(key string, value json.RawMessage) bool {
		switch key {
		case "answer", "response", "text":
			var s string
			_ = json.Unmarshal(value, &s) // a value of another kind is no text
			answer = strings.TrimSpace(s)
			return false
		}
		return true
	})
	return answer
}

// fieldsSoFar hands over the fields of the JSON object that text, which may stand in a code fence,
// begins with, keys in lower case, as far as they are there: of a string that is cut off, its
// beginning; of other values, those that are whole. It ends when each returns false.
func fieldsSoFar(text string, each func(key string, value json.RawMessage) bool) {
	if rest, fenced := strings.CutPrefix(text, "```"); fenced {
		text = strings.TrimLeft(strings.TrimPrefix(rest, "json"), " \r\n")
	}
	text, ok := strings.CutPrefix(text, "{")
	if !ok {
		return
	}
	for {
		text = strings.TrimLeft(text, " \t\r\n,")
		key, rest, closed := stringSoFar(text)
		if !closed {
			return
		}
		if text, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), ":"); !ok {
			return
		}
		text = strings.TrimLeft(text, " \t\r\n")
		var value json.RawMessage
		if strings.HasPrefix(text, `"`) {
			s, rest, whole := stringSoFar(text)
			quoted, err := json.Marshal(s)
			if err != nil { // unreachable: a string always encodes
				return
			}
			value, text, closed = quoted, rest, whole
		} else {
			d := json.NewDecoder(strings.NewReader(text))
			if d.Decode(&value) != nil {
				return
			}
			text = text[d.InputOffset():]
		}
		if !each(strings.ToLower(key), value) || !closed {
			return
		}
	}
}

// stringSoFar reads the JSON string that s begins with as far as it is there: a half escape, or half
// a pair of surrogates, is left for later.
func stringSoFar(s string) (value, rest string, closed bool) {
	s, ok := strings.CutPrefix(s, `"`)
	if !ok {
		return "", "", false
	}
	end, whole := 0, 0 // whole: up to here nothing can change any more
	for end < len(s) && s[end] != '"' {
		n := 1
		if s[end] == '\\' {
			n = 2
			if end+1 < len(s) && s[end+1] == 'u' {
				n = 6
				if end+3 < len(s) && (s[end+2] == 'd' || s[end+2] == 'D') && strings.IndexByte("89abAB", s[end+3]) >= 0 {
					n = 12
				}
			}
		}
		if end+n > len(s) {
			break
		}
		end += n
		whole = end
	}
	closed = end < len(s) && s[end] == '"'
	if closed {
		rest = s[end+1:]
	}
	if json.Unmarshal([]byte(`"`+s[:whole]+`"`), &value) != nil {
		return "", "", false
	}
	return value, rest, closed
}
