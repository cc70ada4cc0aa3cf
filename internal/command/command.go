// Package command is what the commands of this project have in common: exit codes, errors that
// carry one, and output that is safe to show.
package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"
)

// Exit codes, the same of every command and in every output format.
const (
	OK           = 0
	Failed       = 1
	BadUsage     = 2 // of the command, or bad input
	Rejected     = 3
	Inconclusive = 4
	Invalid      = 5
)

// Exit is the error of an outcome that is no failure of the program. Message may be empty when the
// outcome has been printed already.
type Exit struct {
	Code    int
	Message string
}

// Error implements error.
func (e *Exit) Error() string { return e.Message }

// Usage returns an error that ends a command with BadUsage.
func Usage(format string, args ...any) error {
	return &Exit{Code: BadUsage, Message: fmt.Sprintf(format, args...)}
}

// Finish prints err to stderr, if it has something to say, and returns the exit code it stands
// for: the one it carries, else what code makes of it. name is the command's.
func Finish(stderr io.Writer, name string, err error, code func(error) int) int {
	if err == nil {
		return OK
	}
	if msg := strings.TrimSpace(err.Error()); msg != "" {
		fmt.Fprintf(stderr, "%s: %s\n", name, Shown(msg))
	}
	var exit *Exit
	if errors.As(err, &exit) {
		return exit.Code
	}
	return code(err)
}

// Output is a writer that remembers its first error, after which it writes no more: most of what a
// command prints has nobody to look at each error.
type Output struct {
	W   io.Writer
	Err error
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	if o.Err != nil {
		return 0, o.Err
	}
	n, err := o.W.Write(p)
	o.Err = err
	return n, err
}

// Shown makes text from documents safe for a terminal: control characters, which could move the
// cursor or change the window's title, become replacement characters, as do changes of direction
// and tag characters. Line feeds and tabs stay.
func Shown(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r < 0xe0080 {
			return '�'
		}
		return r
	}, s)
}

// OneLine is Shown on a single line of at most n characters, n at least 1.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(Shown(s)), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// WriteJSON writes one indented JSON document; it is encoded whole before the first byte is
// written.
func WriteJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// Who names the person responsible: the flag, else the user of the system.
func Who(flag string) string {
	if flag != "" {
		return flag
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
