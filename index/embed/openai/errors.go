package openai

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// ServerError is a failed request. Its message names the server without credentials, the
// status, the server's own words and the number of tries.
type ServerError struct {
	URL     string // base URL without credentials
	Status  int    // HTTP status; 0 if no reply came
	Message string // the server's own words, at most 200 characters, or what is wrong with its reply
	Tries   int
	Elapsed time.Duration // over all tries
	Hint    string        // what to do
	Err     error         // the cause, if no reply came
}

func (e *ServerError) Unwrap() error { return e.Err }
func (e *ServerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "embedding server %s: ", e.URL)
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d %s: ", e.Status, http.StatusText(e.Status))
	}
	b.WriteString(e.Message)
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (%d tries in %s)", e.Tries, e.Elapsed.Round(time.Millisecond))
	}
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

// clip returns the first 200 characters of s, white space collapsed, invalid bytes replaced.
func clip(s string) string {
	if len(s) > 4000 {
		s = s[:4000]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if utf8.RuneCountInString(s) > 200 {
		return string([]rune(s)[:200]) + "…"
	}
	return s
}

// failure is why one try failed and what may be done about it.
type failure struct {
	ServerError
	retry      bool
	retryAfter time.Duration // as the server asked; < 0 if it did not
	single     bool          // one text of the batch may be to blame: try them one by one
}
