// Package serve answers searches and questions over HTTP from the live build of a store: a
// JSON API, an OpenAI-compatible chat endpoint, health, metrics and an OpenAPI document.
//
// A caller's permission labels come from its token, or from the operator where the server
// listens on loopback without tokens; no field of a request can widen them. Browsers of other
// sites are kept out by the Host and Origin of each request, and there is no CORS.
//
// It does not terminate TLS: beyond loopback, put it behind a proxy that does.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// Engine is what is served; *engine.Engine is one.
type Engine interface {
	Query(ctx context.Context, q engine.Query) (*engine.Response, error)
	Ask(ctx context.Context, q engine.AskQuery) (*engine.AskResult, error)
	Section(ctx context.Context, doc corpus.DocumentID, label string, as []string) (*engine.Section, error)
	Builds() ([]engine.BuildInfo, error)
	Verdict(build, run string) (*verdict.Verdict, *evalkit.Record, error)
	PromoteWith(ctx context.Context, build string, v *verdict.Verdict, o engine.PromoteOptions) (bool, error)
	Read(build string, as []string, all bool) (*engine.Reading, error)
	Labels() ([]string, error)
	Live() string
	Caches() []engine.CacheUse
}

// Options of a Server. The zero value serves on loopback without tokens to callers that hold no
// label.
type Options struct {
	Auth *Auth // who may call; nil admits everybody without labels

	// Hosts are further names that the Host header may carry, besides the names of loopback and
	// any IP address that is not loopback's.
	Hosts []string
	// Digests returns the digests of the golden set and the policy as they are now, which a
	// promotion must match; nil compares neither.
	Digests func() (golden, policy string, err error)

	MaxBody       int64         // bytes of a request; 0 means 4 MiB
	MaxK          int           // hits of one request; 0 means 100
	MaxInFlight   int           // requests at work at a time, others get 503; 0 means 256
	SearchTimeout time.Duration // 0 means 10 s
	AnswerTimeout time.Duration // 0 means 2 min
	HeaderTimeout time.Duration // for a client to send its headers; 0 means 5 s
	ReadTimeout   time.Duration // for a client to send its request; 0 means 15 s
	DrainTimeout  time.Duration // for requests under way when the server stops; 0 means 10 s

	// Log receives a line for each request, without its text; nil discards.
	Log *slog.Logger
	// LogQueries adds the text of queries to the log.
	LogQueries bool

	Pages http.Handler // at /; nil answers 404
	MCP   http.Handler // at /mcp; nil answers 404
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.SearchTimeout, 10*time.Second)
	def(&o.AnswerTimeout, 2*time.Minute)
	def(&o.HeaderTimeout, 5*time.Second)
	def(&o.ReadTimeout, 15*time.Second)
	def(&o.DrainTimeout, 10*time.Second)
	if o.MaxBody == 0 {
		o.MaxBody = 4 << 20
	}
	if o.MaxK == 0 {
		o.MaxK = 100
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 256
	}
	if o.Auth == nil {
		o.Auth = NewAuth(AuthOptions{Local: &Caller{Name: "local"}})
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server serves one engine. It is an http.Handler, safe for concurrent use.
type Server struct {
	e        Engine
	o        Options
	metrics  *metrics
	slots    chan struct{}
	stopping atomic.Bool
	handler  http.Handler
}

// New returns a server over e, which stays the caller's to close.
func New(e Engine, o Options) *Server {
	o = o.withDefaults()
	s := &Server{e: e, o: o, metrics: newMetrics(), slots: make(chan struct{}, o.MaxInFlight)}
	s.handler = s.guard(s.routes())
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// access says what a caller needs for an endpoint.
type access uint8

const (
	open    access = iota // nothing
	callers               // to be known
	admins                // a token for promotion and review
)

// route is one endpoint.
type route struct {
	method, path string
	access       access
	handle       func(w http.ResponseWriter, r *http.Request, c Caller) error
}

// table lists the endpoints; the OpenAPI document describes exactly these.
func (s *Server) table() []route {
	return []route{
		{"POST", "/v1/search", callers, s.search},
		{"POST", "/v1/answer", callers, s.answer},
		{"POST", "/v1/chat/completions", callers, s.chat},
		{"GET", "/v1/models", callers, s.models},
		{"GET", "/v1/builds", callers, s.builds},
		{"POST", "/v1/promote", admins, s.promote},
		{"GET", "/healthz", open, s.healthz},
		{"GET", "/readyz", open, s.readyz},
		{"GET", "/metrics", callers, s.writeMetrics},
		{"GET", "/openapi.json", open, s.openapi},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range s.table() {
		mux.Handle(rt.path, s.endpoint(rt))
	}
	mount := func(path string, h http.Handler) {
		if h != nil {
			mux.Handle(path, s.mounted(path, h))
		}
	}
	mount("/mcp", s.o.MCP)
	mount("/", s.o.Pages)
	if s.o.Pages == nil {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			s.fail(w, r, &Error{Status: http.StatusNotFound, Code: "not_found", Message: "there is no such endpoint: see /openapi.json"}, nil)
		})
	}
	return mux
}

// Serve answers connections of l until ctx ends, then lets the requests under way finish.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.o.HeaderTimeout,
		ReadTimeout:       s.o.ReadTimeout,
		WriteTimeout:      s.o.ReadTimeout + max(s.o.SearchTimeout, s.o.AnswerTimeout) + 15*time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.DrainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("requests were cut off after %s: %w", s.o.DrainTimeout, srv.Close())
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Loopback reports whether a listening address, host:port, is reachable from this machine only.
// An empty host is every interface.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	return loopbackHost(host)
}
