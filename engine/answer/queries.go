package answer

import (
	"strings"

	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
)

// queryLines reads up to n queries, one a line: list marks and quotation marks are taken off,
// headings, code fences and lines that end in a colon are passed over, and a query is cut at
// 500 characters.
func queryLines(reply string, n int) []string {
	text, _ := evalanswer.StripThinking(reply)
	var out []string
	for line := range strings.Lines(text) {
		s := strings.TrimSpace(line)
		if body, ok := listItem(s); ok {
			s = body
		}
		s = strings.Trim(s, "\"'“”`*_ ")
		if s == "" || strings.HasSuffix(s, ":") || strings.HasPrefix(s, "#") || strings.HasPrefix(strings.TrimSpace(line), "```") {
			continue
		}
		if rs := []rune(s); len(rs) > 500 {
			s = string(rs[:500])
		}
		if out = append(out, s); len(out) == n {
			break
		}
	}
	return out
}
