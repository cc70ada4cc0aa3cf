// Package endpoint asks the questions of a golden set of any search service over HTTP and returns
// a run that package evalkit scores, so that a gate can stand in front of a system that assay
// does not run. A request template says how a question is sent and where in the answer the hits
// are.
//
// The package is for evaluation: it sends the golden questions, with the service's own ranking
// and permissions, and judges nothing itself.
package endpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/seed792a4543/assay/internal/yamlfile"
)

// Spec is a request template. Templates may hold {question}, {k}, {id} (of the question) and, for
// services with permissions, {as} (the caller's labels). In url they are escaped; in a body a
// value that is nothing but a placeholder becomes the value itself: a number for "{k}", a list
// for "{as}".
type Spec struct {
	Name   string `yaml:"name"` // tag of the run; default the URL's host
	Method string `yaml:"method"`
	URL    string `yaml:"url"`
	// Headers are sent as they are, but ${NAME} is replaced by the environment variable, so that
	// keys stay out of files.
	Headers map[string]string `yaml:"headers"`
	Body    any               `yaml:"body"` // a JSON value; left out, none is sent
	K       int               `yaml:"k"`    // hits asked for, default 10

	Hits HitPaths `yaml:"hits"`

	Timeout     time.Duration `yaml:"timeout"`     // of one attempt, default 30 s
	Tries       int           `yaml:"tries"`       // on 429, 5xx and broken connections; default 3
	Concurrency int           `yaml:"concurrency"` // questions at once, default 4
	MaxBytes    int64         `yaml:"max_bytes"`   // of one answer, default 16 MiB
}

// HitPaths say where things stand in an answer. A path names keys and positions, separated by
// dots, such as "result.hits" or "data.0.items"; a dot inside a key is written "\.". List is
// taken from the answer, the others from each member of the list. "" or "." means the value
// itself.
type HitPaths struct {
	List     string `yaml:"list"`
	Doc      string `yaml:"doc"`     // id of the document; required
	Chunk    string `yaml:"chunk"`   // id of the passage; default doc with #start-end, or doc and rank
	Score    string `yaml:"score"`   // default: the order of the list, as 1/rank
	Section  string `yaml:"section"` // a path "A > B", or a list of headings
	Start    string `yaml:"start"`   // byte offset of the passage in the document
	End      string `yaml:"end"`
	Text     string `yaml:"text"`     // of the passage; finds its span where start and end are left out
	Distance bool   `yaml:"distance"` // score is a distance: less is better
	Strip    string `yaml:"strip"`    // prefix taken off document ids
	Append   string `yaml:"append"`   // suffix added to document ids
}

// Load reads the template in a YAML file. Unknown and repeated keys are errors with their line.
func Load(path string) (*Spec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads a template; name stands in errors.
func Parse(name string, data []byte) (*Spec, error) {
	s := new(Spec)
	err := yamlfile.Decode(data, s)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty: give url and hits at least", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%s", name, strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Validate refuses a template that cannot work, naming the key and what it accepts.
func (s *Spec) Validate() error {
	if s.URL == "" {
		return errors.New("url is missing: give the address that answers a search")
	}
	u, err := url.Parse(placeholders(s.URL, func(string) string { return "x" }))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("url %q: give http://host/path or https://host/path", s.URL)
	}
	if u.User != nil {
		return errors.New("url holds a password: use headers with ${NAME}")
	}
	if s.Method != "" && s.Method != http.MethodGet && s.Method != http.MethodPost {
		return fmt.Errorf("method %q: use GET or POST", s.Method)
	}
	if s.Hits.Doc == "" {
		return errors.New("hits.doc is missing: give the path of a hit's document id, or . where the hit is the id")
	}
	if (s.Hits.Start == "") != (s.Hits.End == "") {
		return errors.New("hits.start and hits.end: give both or neither")
	}
	body, err := json.Marshal(s.Body)
	if err != nil {
		return fmt.Errorf("body: not a JSON value: %w", err)
	}
	if s.Body != nil && s.method() == http.MethodGet {
		return errors.New("body: GET sends none: use method: POST")
	}
	if !strings.Contains(s.URL+string(body), "{question}") {
		return errors.New("neither url nor body holds {question}: every question would be the same request")
	}
	for _, c := range []struct {
		name     string
		have, hi int64
	}{
		{"k", int64(s.K), 10_000}, {"tries", int64(s.Tries), 100}, {"concurrency", int64(s.Concurrency), 256},
		{"max_bytes", s.MaxBytes, 1 << 31}, {"timeout", int64(s.Timeout), int64(time.Hour)},
	} {
		if c.have < 0 || c.have > c.hi {
			return fmt.Errorf("%s is out of range: use 1 to %d, or leave it out", c.name, c.hi)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		if k == "" || strings.ContainsAny(k+s.Headers[k], "\r\n\x00") {
			return fmt.Errorf("headers: %q is no header", k)
		}
	}
	return nil
}

func (s *Spec) method() string {
	if s.Method != "" {
		return s.Method
	}
	if s.Body != nil {
		return http.MethodPost
	}
	return http.MethodGet
}

// withDefaults returns a copy of s with defaults written out.
func (s Spec) withDefaults() Spec {
	s.Method = s.method()
	s.K = cmp.Or(s.K, 10)
	s.Timeout = cmp.Or(s.Timeout, 30*time.Second)
	s.Tries = cmp.Or(s.Tries, 3)
	s.Concurrency = cmp.Or(s.Concurrency, 4)
	s.MaxBytes = cmp.Or(s.MaxBytes, 16<<20)
	if u, err := url.Parse(placeholders(s.URL, func(string) string { return "x" })); s.Name == "" && err == nil {
		s.Name = u.Host
	}
	return s
}

// IsMissing reports whether err says that the template is not there.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
