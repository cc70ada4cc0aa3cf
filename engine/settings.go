package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/internal/suggest"
	"github.com/seed792a4543/assay/internal/yamlfile"
)

// ConfigName is the name of the settings file that `assay init` writes.
const ConfigName = "assay.yaml"

// Settings are everything a build is made with, plus what judges it. The zero value of each
// part means its defaults; WithDefaults writes them out.
type Settings struct {
	Corpus  CorpusSettings   `yaml:"corpus" json:"corpus"`
	Chunk   chunk.Settings   `yaml:"chunk" json:"chunk"`
	Embed   EmbedSettings    `yaml:"embed" json:"embed"`
	Lexical lexical.Settings `yaml:"lexical" json:"lexical"`
	Hybrid  hybrid.Settings  `yaml:"hybrid" json:"hybrid"`
	Rerank  RerankSettings   `yaml:"rerank" json:"rerank,omitzero"`
	Search  SearchSettings   `yaml:"search" json:"search,omitzero"`
	Golden  string           `yaml:"golden" json:"golden,omitempty"` // file of the golden questions, relative to the settings file
	Policy  *verdict.Policy  `yaml:"-" json:"-"`                     // nil: DefaultPolicy
	Answer  AnswerSettings   `yaml:"answer" json:"answer"`
}

// CorpusSettings say which files are documents.
type CorpusSettings struct {
	Path    string            `yaml:"path" json:"path,omitempty"`       // folder of the documents, relative to the settings file
	Include []string          `yaml:"include" json:"include,omitempty"` // globs of the files to read; default all Markdown and plain text
	Exclude []string          `yaml:"exclude" json:"exclude,omitempty"` // globs of files that are left out of them
	Charset map[string]string `yaml:"charset" json:"charset,omitempty"` // glob to character set, for files that are not UTF-8
	Invalid string            `yaml:"invalid" json:"invalid,omitempty"` // skip (default), replace or error
	// ACL gives permissions by path: glob to labels. Rules only take readers away; see
	// corpus.Options.
	ACL PathRules `yaml:"acl" json:"acl,omitempty"`
	// Supersedes names older documents by path, for formats without front matter.
	Supersedes PathRules `yaml:"supersedes" json:"supersedes,omitempty"`
	// Readers are the formats that are read besides those of package corpus, such as PDF.
	Readers []corpus.Reader `yaml:"-" json:"-"`
	// AllowGolden permits documents that contain golden questions verbatim.
	AllowGolden bool `yaml:"allow_golden" json:"allow_golden,omitempty"`
}

// EmbedSettings choose the embedder.
type EmbedSettings struct {
	Kind           string        `yaml:"kind" json:"kind"`                                 // builtin (default), openai, command, precomputed, none
	URL            string        `yaml:"url" json:"url,omitempty"`                         // openai: base of the API, such as http://localhost:11434/v1
	Model          string        `yaml:"model" json:"model,omitempty"`                     // openai, command, precomputed: name of the model; part of a build
	Revision       string        `yaml:"revision" json:"revision,omitempty"`               // of the model, where its name does not say it; part of a build
	KeyEnv         string        `yaml:"key_env" json:"-"`                                 // name of the environment variable that holds the key
	Batch          int           `yaml:"batch" json:"-"`                                   // texts per request
	Concurrency    int           `yaml:"concurrency" json:"-"`                             // requests at once
	Timeout        time.Duration `yaml:"timeout" json:"-"`                                 // per request
	Tries          int           `yaml:"tries" json:"-"`                                   // per request, the first included
	Dimensions     int           `yaml:"dimensions" json:"dimensions,omitempty"`           // of the vectors: asked of the server, or of the built-in model; 0 means the model's own
	MaxTokens      int           `yaml:"max_tokens" json:"max_tokens,omitempty"`           // longest input of the model in tokens; 0 means that of the server or of a known model
	Overlong       string        `yaml:"overlong" json:"overlong,omitempty"`               // split (default), truncate or refuse
	DocumentPrefix string        `yaml:"document_prefix" json:"document_prefix,omitempty"` // put before every text that is indexed, for models that want one
	QueryPrefix    string        `yaml:"query_prefix" json:"query_prefix,omitempty"`       // put before every query, for models that want one
	Command        []string      `yaml:"command" json:"command,omitempty"`                 // command: the program and its arguments
	Path           string        `yaml:"path" json:"-"`                                    // precomputed: .npy or .jsonl file of vectors
	Keys           string        `yaml:"keys" json:"-"`                                    // precomputed: keys of a .npy file
	Queries        string        `yaml:"queries" json:"-"`                                 // precomputed: vectors of queries
	QueriesKeys    string        `yaml:"queries_keys" json:"-"`                            // precomputed: keys of queries in a .npy file
	Missing        string        `yaml:"missing" json:"missing,omitempty"`                 // precomputed: error (default) or none
	Seed           uint64        `yaml:"seed" json:"seed,omitempty"`                       // builtin: of the random choices in fitting the model
	// Refit says when the built-in model is fitted again: always (default), at every build, so that
	// a build depends on its documents and settings alone; or drift, when the texts have moved too
	// far from those the live build's model was fitted on. Until then that model is kept, and
	// decides the build's id as well.
	Refit   string `yaml:"refit" json:"refit,omitempty"`
	NoCache bool   `yaml:"no_cache" json:"-"` // embed every text anew in place of taking known ones from the store's cache
}

// AnswerSettings choose the answerer of ask, answers and serve. They are not part of a build.
type AnswerSettings struct {
	Kind    string        `yaml:"kind" json:"kind"`               // extractive (default) or chat
	URL     string        `yaml:"url" json:"url,omitempty"`       // chat: base of the API, such as http://localhost:11434/v1
	Model   string        `yaml:"model" json:"model,omitempty"`   // chat: name of the model
	KeyEnv  string        `yaml:"key_env" json:"-"`               // name of the environment variable that holds the key
	K       int           `yaml:"k" json:"k,omitempty"`           // passages delivered, default 5
	Budget  int           `yaml:"budget" json:"budget,omitempty"` // runes of context, 0 means no limit
	Seed    int           `yaml:"seed" json:"seed,omitempty"`     // sent to models that take one
	Timeout time.Duration `yaml:"timeout" json:"-"`               // of one request to the model
	Prompt  string        `yaml:"prompt" json:"prompt,omitempty"` // folder with system.txt, user.txt, rewrite.txt, queries.txt
	// MergeNeighbours joins delivered chunks of one document that touch.
	MergeNeighbours bool `yaml:"merge_neighbours" json:"merge_neighbours,omitempty"`
	// The following need kind chat.
	Rewrite     bool    `yaml:"rewrite" json:"rewrite,omitempty"`         // search for the model's wording of the question
	Queries     int     `yaml:"queries" json:"queries,omitempty"`         // further wordings, searched one by one and fused by rank
	Temperature float64 `yaml:"temperature" json:"temperature,omitempty"` // 0 to 2, sent also when 0
	MaxTokens   int     `yaml:"max_tokens" json:"max_tokens,omitempty"`   // of an answer, default 512
	Stream      bool    `yaml:"stream" json:"stream,omitempty"`           // ask for the answer in pieces
}

// WithDefaults returns s with every default written out.
func (s Settings) WithDefaults() Settings {
	if len(s.Corpus.Include) == 0 {
		s.Corpus.Include = []string{"**/*.md", "**/*.txt"}
	}
	if s.Corpus.Invalid == "" {
		s.Corpus.Invalid = "skip"
	}
	if s.Embed.Kind == "" {
		s.Embed.Kind = "builtin"
	}
	if s.Embed.Refit == "always" {
		s.Embed.Refit = "" // one spelling, since it is part of a build's id
	}
	if s.Answer.Kind == "" {
		s.Answer.Kind = "extractive"
	}
	if s.Answer.K == 0 {
		s.Answer.K = 5
	}
	s.Chunk = s.Chunk.WithDefaults()
	s.Lexical = s.Lexical.WithDefaults()
	s.Hybrid = s.Hybrid.WithDefaults()
	s.Rerank = s.Rerank.WithDefaults()
	s.Search = s.Search.WithDefaults()
	if s.Embed.Kind == "none" {
		s.Hybrid.Mode = "lexical"
	}
	return s
}

// Validate refuses settings that cannot work, naming the setting and what it accepts.
func (s Settings) Validate() error {
	var errs []error
	switch s.Embed.Kind {
	case "", "builtin", "none":
	case "openai":
		if s.Embed.URL == "" || s.Embed.Model == "" {
			errs = append(errs, badInput("embed: kind openai needs url and model"))
		}
	case "command":
		if len(s.Embed.Command) == 0 {
			errs = append(errs, badInput("embed: kind command needs command, a list of the program and its arguments"))
		}
	case "precomputed":
		if s.Embed.Path == "" {
			errs = append(errs, badInput("embed: kind precomputed needs path, a .npy or .jsonl file"))
		}
	default:
		errs = append(errs, badInput("embed.kind is %q: use builtin, openai, command, precomputed or none", s.Embed.Kind))
	}
	switch s.Embed.Refit {
	case "", "always":
	case "drift":
		switch {
		case s.Embed.Kind != "" && s.Embed.Kind != "builtin":
			errs = append(errs, badInput("embed.refit drift is for embed.kind builtin: kind %s is not fitted", s.Embed.Kind))
		case s.Lexical.Statistics == "per-label":
			errs = append(errs, badInput("embed.refit drift and lexical.statistics per-label exclude each other: a kept model may know words of documents that not everyone may read any more"))
		}
	default:
		errs = append(errs, badInput("embed.refit is %q: use always or drift", s.Embed.Refit))
	}
	switch s.Corpus.Invalid {
	case "", "skip", "replace", "error":
	default:
		errs = append(errs, badInput("corpus.invalid is %q: use skip, replace or error", s.Corpus.Invalid))
	}
	errs = append(errs, s.Answer.validate()...)
	for _, address := range []struct{ name, url string }{{"embed.url", s.Embed.URL}, {"answer.url", s.Answer.URL}} {
		// The manifest holds the address, and errors name it.
		if u, err := url.Parse(address.url); err == nil && u.User != nil {
			errs = append(errs, badInput("%s holds a name or a password: put the key into an environment variable and name that in key_env", address.name))
		}
	}
	for _, err := range []error{s.Chunk.Validate(), s.Lexical.Validate(), s.Hybrid.Validate(), s.Rerank.Validate(), s.Search.Validate()} {
		if err != nil {
			errs = append(errs, badInput("%v", err))
		}
	}
	return errors.Join(errs...)
}

// LoadSettings reads the settings file at path. Unknown keys, repeated keys and wrong types
// are errors with line and, for a typo, a suggestion. Defaults are not written out.
func LoadSettings(path string) (Settings, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Settings{}, err
	}
	s, err := ParseSettings(path, data)
	if err != nil {
		return s, err
	}
	dir := filepath.Dir(path)
	for _, p := range []*string{&s.Corpus.Path, &s.Golden, &s.Embed.Path, &s.Embed.Keys, &s.Embed.Queries, &s.Embed.QueriesKeys, &s.Answer.Prompt} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	return s, nil
}

// ParseSettings reads settings from data; name is used in errors. Paths stay as written.
func ParseSettings(name string, data []byte) (Settings, error) {
	// The policy has a strict reader of its own.
	var file struct {
		Settings `yaml:",inline"`
		Policy   any `yaml:"policy"`
	}
	s := &file.Settings
	if len(bytes.TrimSpace(data)) == 0 {
		return *s, badInput("%s: file is empty: run `assay init` for a commented one", name)
	}
	if parsed, err := yamlfile.Parse(data); err == nil && len(parsed.Docs) > 1 {
		return Settings{}, badInput("%s: %d YAML documents in one file: the settings are one, remove the lines ---", name, len(parsed.Docs))
	} else if err == nil && len(parsed.Docs) == 1 {
		body := parsed.Docs[0].Body
		if _, ok := yamlfile.Pairs(body); ok {
			if err := checkFields(name, "", body, reflect.TypeFor[Settings]()); err != nil {
				return Settings{}, err
			}
		}
	}
	if err := yamlfile.Decode(data, &file); err != nil && !errors.Is(err, io.EOF) {
		return Settings{}, yamlError(name, err)
	}
	if file.Policy != nil {
		policy, err := verdict.Parse(name, data)
		if err != nil {
			return Settings{}, badInput("%v", err)
		}
		s.Policy = policy
	}
	if err := s.Validate(); err != nil {
		return Settings{}, badInput("%s: %v", name, err)
	}
	return *s, nil
}

// DefaultPolicy is what applies when the settings declare none: hit@3 may not fall by the
// default margin, and no critical question, no leak.
func DefaultPolicy() *verdict.Policy { return &verdict.Policy{Primary: "hit@3"} }

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// yamlError turns the library's error into file:line: message, with a suggestion for a typo.
func yamlError(name string, err error) error {
	var located yaml.Error
	if !errors.As(err, &located) {
		return badInput("%s: %v", name, err)
	}
	msg := located.GetMessage()
	if m := unknownField.FindStringSubmatch(msg); m != nil {
		msg = fmt.Sprintf("unknown setting %q", m[1])
		if near := suggest.Nearest(m[1], settingNames(reflect.TypeFor[Settings](), nil)); near != "" {
			msg += fmt.Sprintf(": did you mean %q?", near)
		}
	}
	line := 0
	if t := located.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return badInput("%s:%d: %s", name, line, msg)
}

// settingNames collects every yaml key below t.
func settingNames(t reflect.Type, names []string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return names
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
		if f.IsExported() {
			names = settingNames(f.Type, names)
		}
	}
	return names
}

// buildSettings is the part of s that decides what a build returns: it is what the manifest
// stores and the build's id covers. Paths, keys and timeouts are no part of it.
func (s Settings) buildSettings() Settings {
	s = s.WithDefaults()
	s.Corpus.Path, s.Golden = "", ""
	s.Corpus.AllowGolden = false
	s.Policy = nil
	s.Answer = AnswerSettings{}
	return s
}

// Flatten returns the settings as dotted keys and values, the form in which two builds are
// compared.
func (s Settings) Flatten() map[string]string {
	data, err := json.Marshal(s)
	if err != nil {
		panic("engine: settings always encode: " + err.Error())
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		panic("engine: settings always decode: " + err.Error())
	}
	out := map[string]string{}
	flatten("", v, out)
	return out
}

func flatten(prefix string, v any, out map[string]string) {
	m, ok := v.(map[string]any)
	if !ok {
		data, _ := json.Marshal(v) // a decoded JSON value always encodes
		out[prefix] = strings.Trim(string(data), `"`)
		return
	}
	for k, v := range m {
		if prefix != "" {
			k = prefix + "." + k
		}
		flatten(k, v, out)
	}
}

// corpusOptions are the reader options that the settings ask for.
func (s Settings) corpusOptions() corpus.Options {
	o := corpus.Options{
		Include: s.Corpus.Include, Exclude: s.Corpus.Exclude,
		Charset: s.Corpus.Charset, Invalid: s.Corpus.Invalid,
		ACL: s.Corpus.ACL, Supersedes: s.Corpus.Supersedes,
	}
	if len(s.Corpus.Readers) > 0 {
		o.Readers = append(corpus.DefaultReaders(), s.Corpus.Readers...)
	}
	if s.Golden != "" {
		o.Ignore = append(o.Ignore, s.Golden, strings.TrimSuffix(s.Golden, filepath.Ext(s.Golden))+".lock")
	}
	return o
}

// Source is the corpus that the settings name.
func (s Settings) Source() corpus.Source {
	return corpus.Dir(s.Corpus.Path, s.WithDefaults().corpusOptions())
}
