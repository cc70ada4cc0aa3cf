package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed792a4543/assay/engine"
)

func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// hostAllowed reports whether a Host header, or the host of an Origin, names this server. An
// address that is no name cannot have been made to point here by somebody else's DNS.
func (s *Server) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return loopbackHost(host) || net.ParseIP(host) != nil ||
		slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// originAllowed reports whether the page that sent a request, if one did, comes from this server
// or from a program on this machine.
func (s *Server) originAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || loopbackHost(u.Hostname()) ||
		slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, u.Hostname()) })
}

// statusWriter remembers what was sent.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type requestKey struct{}

// request is what the log says of a request besides its outcome.
type request struct {
	id       string
	endpoint string
	caller   string
	build    string
	query    string
	err      error
	failed   int // status of a failure after the first byte was sent; 0: none
}

// guard wraps the whole server: identity of the request, checks of Host and Origin, limits, log
// and a last resort for panics.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails, as crypto/rand documents
		req := &request{id: hex.EncodeToString(id[:]), endpoint: "other"}
		out := &statusWriter{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
		out.Header().Set("X-Request-Id", req.id)
		out.Header().Set("X-Content-Type-Options", "nosniff")
		out.Header().Set("Referrer-Policy", "no-referrer")
		out.Header().Set("Cache-Control", "no-store")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				s.o.Log.Error("a handler panicked", "request", req.id, "panic", p)
				if out.status == 0 {
					s.fail(out, r, &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "the request failed: the server's log says why"}, nil)
				}
			}
			s.finish(r, req, out, time.Since(start))
		}()
		switch {
		case !s.hostAllowed(r.Host):
			s.fail(out, r, &Error{Status: http.StatusForbidden, Code: "host", Message: "this server is not known by that name: see the option --host"}, nil)
			return
		case !s.originAllowed(r):
			s.fail(out, r, &Error{Status: http.StatusForbidden, Code: "origin", Message: "pages of other sites may not call this server"}, nil)
			return
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			out.Header().Set("Retry-After", "1")
			s.fail(out, r, &Error{Status: http.StatusServiceUnavailable, Code: "busy", Message: "too many requests are under way: try again"}, nil)
			return
		}
		r.Body = http.MaxBytesReader(out, r.Body, s.o.MaxBody)
		next.ServeHTTP(out, r)
	})
}

// finish counts and logs a request.
func (s *Server) finish(r *http.Request, req *request, out *statusWriter, d time.Duration) {
	if out.status == 0 {
		out.status = http.StatusOK
	}
	if req.failed != 0 {
		out.status = req.failed
	}
	s.metrics.request(req.endpoint, out.status, d)
	attrs := []any{"request", req.id, "method", r.Method, "endpoint", req.endpoint, "status", out.status,
		"bytes", out.bytes, "ms", float64(d.Microseconds()) / 1000}
	if req.caller != "" {
		attrs = append(attrs, "caller", req.caller)
	}
	if req.build != "" {
		attrs = append(attrs, "build", req.build)
	}
	if s.o.LogQueries && req.query != "" {
		attrs = append(attrs, "query", req.query)
	}
	level := s.o.Log.Info
	if req.err != nil && out.status >= 500 {
		level = s.o.Log.Error
		attrs = append(attrs, "error", s.redact(req.err.Error(), req.query))
	}
	level("request", attrs...)
}

// redact keeps the words of a query out of the log unless they were asked for.
func (s *Server) redact(msg, query string) string {
	if s.o.LogQueries || query == "" {
		return msg
	}
	return strings.NewReplacer(query, "[query]", strconv.Quote(query), "[query]").Replace(msg)
}

func requestOf(r *http.Request) *request {
	if req, ok := r.Context().Value(requestKey{}).(*request); ok {
		return req
	}
	return &request{}
}

// endpoint wraps one entry of the table.
func (s *Server) endpoint(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := requestOf(r)
		req.endpoint = rt.path
		if r.Method != rt.method && !(r.Method == http.MethodHead && rt.method == http.MethodGet) {
			w.Header().Set("Allow", rt.method)
			s.fail(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: "method", Message: "this endpoint takes " + rt.method}, nil)
			return
		}
		var c Caller
		if rt.access != open {
			var e *Error
			if c, e = s.o.Auth.caller(r, false); e != nil {
				w.Header().Set("WWW-Authenticate", `Bearer realm="assay"`)
				s.fail(w, r, e, nil)
				return
			}
			req.caller = c.Name
			if rt.access == admins && !c.Admin {
				s.fail(w, r, &Error{Status: http.StatusForbidden, Code: "forbidden", Message: "this needs the token of a person who may promote builds"}, nil)
				return
			}
		}
		timeout := s.o.SearchTimeout
		if rt.path == "/v1/answer" || rt.path == "/v1/chat/completions" || rt.path == "/v1/promote" {
			timeout = s.o.AnswerTimeout
		}
		ctx, cancel := context.WithTimeout(s.context(r, c), timeout)
		defer cancel()
		if err := rt.handle(w, r.WithContext(ctx), c); err != nil {
			s.fail(w, r, Describe(err), err)
		}
	})
}

// context is that of a request of c: what it searches and answers is measured.
func (s *Server) context(r *http.Request, c Caller) context.Context {
	return engine.WithStages(WithCaller(r.Context(), c), s.metrics.stage)
}

// mounted wraps a handler that is not of this package.
func (s *Server) mounted(path string, h http.Handler) http.Handler {
	protected := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := requestOf(r)
		req.endpoint = path
		pages := path == "/"
		c, e := s.o.Auth.caller(r, pages)
		if e != nil && !(pages && PublicPage(r.URL.Path)) {
			if pages && r.Method == http.MethodGet {
				http.Redirect(w, r, "/login", http.StatusSeeOther)
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="assay"`)
			s.fail(w, r, e, nil)
			return
		}
		req.caller = c.Name
		ctx, cancel := context.WithTimeout(s.context(r, c), s.o.AnswerTimeout)
		defer cancel()
		protected.ServeHTTP(w, r.WithContext(ctx))
	})
}

// PublicPage reports whether a page is shown to people who have not given a token yet.
func PublicPage(path string) bool { return path == "/login" || strings.HasPrefix(path, "/static/") }

// errorBody is the body of every refused or failed request.
type errorBody struct {
	Schema  string `json:"schema"`
	Error   any    `json:"error"`
	Request string `json:"request"`
}

// fail sends e; cause is for the log.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, e *Error, cause error) {
	req := requestOf(r)
	req.err = cause
	if cause == nil {
		req.err = e
	}
	body := errorBody{"assay.error/v1", e, req.id}
	if req.endpoint == "/v1/chat/completions" {
		body.Error = chatError{e.Message, e.Code, e.Field, e.Code}
	}
	data, err := json.Marshal(body)
	if err != nil { // unreachable: strings and integers
		data = []byte(`{"schema":"assay.error/v1","error":{"code":"internal","message":"the request failed"}}`)
	}
	send(w, e.Status, "application/json", append(data, '\n'))
}

// write encodes v whole before anything is sent, so that what cannot be encoded is an error
// with its own status and not half a body behind a 200.
func (s *Server) write(w http.ResponseWriter, v any) error {
	start := time.Now()
	defer func() { s.metrics.stage("encode", time.Since(start)) }()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := enc.Encode(v); err != nil {
		return errors.Join(errors.New("encode the response"), err)
	}
	send(w, http.StatusOK, "application/json", b.Bytes())
	return nil
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
