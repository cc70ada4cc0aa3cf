package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

// Error is what a client is told of a request that was not answered.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"code"` // stable, for programs
	Message string `json:"message"`
	Field   string `json:"field,omitempty"` // of the request, if one is at fault
	Min     *int   `json:"min,omitempty"`   // allowed range of the field
	Max     *int   `json:"max,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// invalid is a request that can never succeed as it stands.
func invalid(field, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_request", Field: field, Message: fmt.Sprintf(format, args...)}
}

func outOfRange(field string, lo, hi int, format string, args ...any) *Error {
	e := invalid(field, "%s, the range is %d to %d", fmt.Sprintf(format, args...), lo, hi)
	e.Min, e.Max = &lo, &hi
	return e
}

// Describe says what a client may be told of an error of the engine. Texts of the engine reach
// the client only where they speak of the client's own request: others may name files,
// documents or the addresses of servers.
func Describe(err error) *Error {
	var own *Error
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &tooBig):
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Message: fmt.Sprintf("the request's body is larger than %d bytes", tooBig.Limit)}
	case errors.Is(err, engine.ErrInput):
		return invalid(fieldOf(err.Error()), "%s", err.Error())
	case errors.Is(err, engine.ErrNoSection):
		return &Error{Status: http.StatusNotFound, Code: "not_found", Message: "there is no such section, or you may not see it: use document and section as in search results"}
	case errors.Is(err, engine.ErrNoLive):
		return &Error{Status: http.StatusServiceUnavailable, Code: "no_live_build", Message: "no build is live yet: run `assay up`"}
	case errors.Is(err, engine.ErrNoBuild):
		return &Error{Status: http.StatusNotFound, Code: "no_such_build", Message: "there is no such build: see /v1/builds"}
	case errors.Is(err, engine.ErrNotAccepted):
		return &Error{Status: http.StatusConflict, Code: "not_accepted", Message: "the build is not accepted: its verdict does not accept it, or belongs to another live build, golden set or policy: run `assay eval` again and read its reasons"}
	case errors.Is(err, engine.ErrLocked):
		return &Error{Status: http.StatusConflict, Code: "locked", Message: "another process is changing the store: try again"}
	case errors.Is(err, index.ErrClosed):
		return &Error{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "the server is stopping"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Code: "timeout", Message: "the answer took too long"}
	case errors.Is(err, context.Canceled):
		return &Error{Status: 499, Code: "cancelled", Message: "the client went away"}
	}
	return &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "the request failed: the server's log says why"}
}

// fieldOf finds the field that a message of the engine speaks of.
func fieldOf(msg string) string {
	for _, f := range []struct{ start, field string }{{"k is", "k"}, {"query", "query"}, {"mode", "mode"}, {"build", "build"}} {
		if strings.HasPrefix(msg, f.start) {
			return f.field
		}
	}
	return ""
}
