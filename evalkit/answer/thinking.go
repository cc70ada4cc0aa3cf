package answer

import (
	"regexp"
	"strings"
	"sync"
)

var thinkingTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<\s*(/?)\s*(think|thinking|thought|reasoning|\|begin_of_thought\||\|end_of_thought\|)\s*>`)
})

// StripThinking separates reasoning from an answer: what stands between <think> and </think>
// (also thinking, thought, reasoning and the tokens begin_of_thought, end_of_thought). A block
// that is never closed takes all that follows, so that nothing inside it is ever parsed; a
// closing tag alone takes all before it, because some servers swallow the opening one.
func StripThinking(text string) (answer, thinking string) {
	var out, thought strings.Builder
	depth, last := 0, 0
	for _, m := range thinkingTag().FindAllStringSubmatchIndex(text, -1) {
		piece := text[last:m[0]]
		closing := m[2] < m[3] || strings.Contains(text[m[4]:m[5]], "end_of")
		switch {
		case depth > 0:
			thought.WriteString(piece)
		case closing && thought.Len() == 0:
			thought.WriteString(out.String())
			thought.WriteString(piece)
			out.Reset()
		default:
			out.WriteString(piece)
		}
		if closing {
			depth = max(depth-1, 0)
		} else {
			depth++
		}
		last = m[1]
	}
	if depth > 0 {
		thought.WriteString(text[last:])
	} else {
		out.WriteString(text[last:])
	}
	return strings.TrimSpace(out.String()), strings.TrimSpace(thought.String())
}
