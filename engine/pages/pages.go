// Package pages are the pages in which a person sees why a build was accepted or refused and
// marks what is wrong: builds, runs, two builds side by side, questions, documents and search.
// They are rendered here and need no network and no other site; the same parts make the HTML
// file that Report writes.
//
// A page shows a caller only what its labels let it see. Totals of a whole build or run are
// shown to callers that may see every document of it.
package pages

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// Options of New. The zero value shows builds, runs and search and saves no decisions.
type Options struct {
	Auth   *serve.Auth                 // looks up the tokens of the login page; nil has no login
	Golden func() (*golden.Set, error) // the golden set as it is now; nil or a nil set: none
	Policy *verdict.Policy             // for comparisons; nil is the default policy
	Review string                      // file of review decisions; "" saves none
	Log    *slog.Logger                // nil discards
	Now    func() time.Time            // dates decisions; nil means time.Now
}

// site renders the pages of one store.
type site struct {
	e     *engine.Engine
	o     Options
	pages map[string]*template.Template
	csrf  string

	saving sync.Mutex // one writer of the review file at a time
	looks  sync.Map   // person and run whose look at a holdout is recorded
	bases  sync.Map   // run → build that it was compared with; runs never change
}

// New returns the handler of all pages. It must be mounted in a serve.Server, which tells who
// calls and keeps other sites out.
func New(e *engine.Engine, o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Golden == nil {
		o.Golden = func() (*golden.Set, error) { return nil, nil }
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as crypto/rand documents
	s := &site{e: e, o: o, pages: parsePages(), csrf: hex.EncodeToString(b[:])}
	mux := http.NewServeMux()
	for path, handle := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"GET /{$}":      s.builds,
		"GET /search":   s.search,
		"GET /sweeps":   s.sweeps,
		"GET /sweep":    s.sweep,
		"GET /run":      s.run,
		"GET /compare":  s.compare,
		"GET /question": s.question,
		"GET /document": s.document,
		"GET /login":    s.login,
		"POST /login":   s.login,
		"POST /logout":  s.logout,
		"POST /review":  s.review,
		"/":             func(http.ResponseWriter, *http.Request) error { return errNotFound },
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
			if err := handle(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	static, err := fs.Sub(staticFiles, "static")
	if err != nil { // unreachable: the folder is embedded
		panic(err)
	}
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))
	return mux
}

// problem is a page that cannot be shown.
type problem struct {
	status int
	msg    string
}

func (p *problem) Error() string { return p.msg }

var errNotFound = &problem{http.StatusNotFound, "There is no such page."}

func notFound(format string, args ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// base is what every page shows around its content.
type base struct {
	Title  string
	Caller serve.Caller
	CSRF   string
	Login  bool              // whether there are tokens to log in with
	Same   map[string]string // the query, for forms that lead to the same page
}

func (s *site) base(r *http.Request, title string) base {
	same := map[string]string{}
	for name, values := range r.URL.Query() {
		if name != "holdout" {
			same[name] = values[0]
		}
	}
	return base{Title: title, Caller: serve.CallerFrom(r.Context()), CSRF: s.csrf, Login: s.o.Auth != nil, Same: same}
}

// render executes a page whole before the first byte is sent.
func (s *site) render(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, "layout", data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a reader that has gone needs no page
	return nil
}

// fail shows what went wrong, in words that name nothing a caller may not know.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, msg := http.StatusInternalServerError, ""
	var p *problem
	if errors.As(err, &p) {
		status, msg = p.status, p.msg
	} else {
		told := serve.Describe(err)
		status, msg = told.Status, told.Message
		if status >= 500 && !errors.Is(err, context.Canceled) {
			s.o.Log.Error("page failed", "path", r.URL.Path, "error", err.Error())
		}
	}
	if wantsJSON(r) {
		http.Error(w, msg, status)
		return
	}
	data := struct {
		base
		Message string
	}{s.base(r, http.StatusText(status)), msg}
	if err := s.render(w, status, "error", data); err != nil {
		http.Error(w, msg, status)
	}
}

func (s *site) login(w http.ResponseWriter, r *http.Request) error {
	if s.o.Auth == nil {
		return errNotFound
	}
	token, message := r.URL.Query().Get("token"), ""
	if r.Method == http.MethodPost {
		if err := s.checkForm(r); err != nil {
			return err
		}
		token = r.PostFormValue("token")
	}
	if token != "" {
		if _, ok := s.o.Auth.Lookup(token); ok {
			http.SetCookie(w, &http.Cookie{Name: serve.CookieName, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return nil
		}
		message = "This token is not known."
	}
	status := http.StatusOK
	if message != "" {
		status = http.StatusUnauthorized
	}
	return s.render(w, status, "login", struct {
		base
		Message string
	}{s.base(r, "Sign in"), message})
}

func (s *site) logout(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkForm(r); err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{Name: serve.CookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// checkForm refuses a form that none of these pages made.
func (s *site) checkForm(r *http.Request) error {
	if subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(s.csrf)) != 1 {
		return &problem{http.StatusForbidden, "This form is out of date: load the page again and repeat."}
	}
	return nil
}

func wantsJSON(r *http.Request) bool { return r.Header.Get("Accept") == "application/json" }

// review saves a decision on a flip.
func (s *site) review(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkForm(r); err != nil {
		return err
	}
	c := serve.CallerFrom(r.Context())
	if !c.Admin {
		return &problem{http.StatusForbidden, "Saving a decision needs a token of a person who may review: sign in with one."}
	}
	if s.o.Review == "" {
		return &problem{http.StatusNotFound, "This server keeps no review file."}
	}
	a, b := r.PostFormValue("a"), r.PostFormValue("b")
	d, err := decision(r)
	if err != nil {
		return err
	}
	d.Author, d.Date = c.Name, s.o.Now().Format(time.DateOnly)
	if err := s.seesQuestion(c, d.Question, b); err != nil {
		return err
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	f, err := review.Load(s.o.Review)
	if err != nil {
		return &problem{http.StatusConflict, "The review file has a fault and was left alone: " + err.Error()}
	}
	if err := f.Add(d); err != nil {
		return &problem{http.StatusBadRequest, err.Error()}
	}
	if err := f.Save(s.o.Review); err != nil {
		return err
	}
	if wantsJSON(r) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, decided(&d))
		return nil
	}
	back := url.Values{"a": {a}, "b": {b}}
	if r.PostFormValue("holdout") == "show" {
		back.Set("holdout", "show")
	}
	to := "/compare?" + back.Encode() + "#flip-" + url.PathEscape(d.Question)
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
