package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/goccy/go-yaml"

	"github.com/seed792a4543/assay/internal/yamlfile"
)

// Caller is who sent a request and what it may see and do.
type Caller struct {
	Name  string   // for logs and the ledger
	As    []string // permission labels
	All   bool     // holds every label there is
	Admin bool     // may promote builds and save review decisions
}

// Token is one entry of a tokens file. The token itself is not in it: only its SHA-256, which
// needs no salt because tokens are 256 random bits.
type Token struct {
	Name   string   `yaml:"name" json:"name"`
	SHA256 string   `yaml:"sha256" json:"sha256"`
	As     []string `yaml:"as,omitempty" json:"as,omitempty"`
	All    bool     `yaml:"all,omitempty" json:"all,omitempty"` // every label there is
	Admin  bool     `yaml:"admin,omitempty" json:"admin,omitempty"`
}

// TokensSchema is the schema key of a tokens file.
const TokensSchema = "assay.tokens/v1"

type tokensFile struct {
	Schema string  `yaml:"schema"`
	Tokens []Token `yaml:"tokens"`
}

// tokenPrefix makes a token recognisable to people and to scanners for secrets.
const tokenPrefix = "assay_"

// NewToken returns a fresh token, which nobody can read again, and the entry that admits it.
func NewToken(name string, as []string, all, admin bool) (token string, entry Token, err error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", Token{}, err
	}
	token = tokenPrefix + hex.EncodeToString(b[:])
	entry = Token{Name: name, SHA256: digest(token), As: as, All: all, Admin: admin}
	return token, entry, entry.validate()
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (t *Token) validate() error {
	if strings.TrimSpace(t.Name) == "" {
		return errors.New("a token has no name: logs and the ledger show it")
	}
	if b, err := hex.DecodeString(t.SHA256); err != nil || len(b) != sha256.Size {
		return fmt.Errorf("token %s: sha256 is not 64 hex digits: `assay serve token` makes an entry", t.Name)
	}
	if slices.ContainsFunc(t.As, func(l string) bool { return strings.TrimSpace(l) == "" }) {
		return fmt.Errorf("token %s: a label is empty", t.Name)
	}
	return nil
}

// ParseTokens reads a tokens file. Unknown keys, repeated names and files without a token are
// errors.
func ParseTokens(name string, data []byte) ([]Token, error) {
	tokens, err := parseTokens(name, data)
	if err == nil && len(tokens) == 0 {
		return nil, fmt.Errorf("%s: it admits nobody: add an entry with `assay serve token`", name)
	}
	return tokens, err
}

// parseTokens also takes a file that admits nobody, which is what is left when the last token is
// taken out of it.
func parseTokens(name string, data []byte) ([]Token, error) {
	var f tokensFile
	if err := yamlfile.Decode(data, &f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.Schema != TokensSchema {
		return nil, fmt.Errorf("%s: schema is %q: write `schema: %s` at its top", name, f.Schema, TokensSchema)
	}
	seen := map[string]bool{}
	for i := range f.Tokens {
		t := &f.Tokens[i]
		if err := t.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t.SHA256 = strings.ToLower(t.SHA256)
		for _, key := range []string{"name " + t.Name, t.SHA256} {
			if seen[key] {
				return nil, fmt.Errorf("%s: two entries have the same %s", name, strings.Fields(key)[0])
			}
			seen[key] = true
		}
	}
	return f.Tokens, nil
}

// EncodeTokens returns the file that ParseTokens reads.
func EncodeTokens(tokens []Token) ([]byte, error) {
	return yaml.Marshal(tokensFile{TokensSchema, tokens})
}

// AuthOptions say who may call.
type AuthOptions struct {
	Tokens []Token
	// Local is the caller of requests without a token; nil refuses them.
	Local *Caller
	// Session, if set, is a token made for this run of the server: its holder is the local
	// caller with the right to promote and review.
	Session string
}

// Auth tells who a request comes from. It is safe for concurrent use.
type Auth struct {
	admitted atomic.Pointer[[]known]
	session  []known // admitted whatever a file says
	local    *Caller
	file     *tokensOnDisk // nil: the tokens never change
}

type known struct {
	sum    [sha256.Size]byte
	caller Caller
}

// NewAuth returns an Auth; entries must have passed ParseTokens.
func NewAuth(o AuthOptions) *Auth {
	a := &Auth{local: o.Local}
	if o.Session != "" && o.Local != nil {
		c := *o.Local
		c.Admin = true
		a.session = []known{{sha256.Sum256([]byte(o.Session)), c}}
	}
	a.admit(o.Tokens)
	return a
}

// admit puts tokens in the place of those before, all at once.
func (a *Auth) admit(tokens []Token) {
	list := slices.Clone(a.session)
	for _, t := range tokens {
		k := known{caller: Caller{Name: t.Name, As: t.As, All: t.All, Admin: t.Admin}}
		if n, err := hex.Decode(k.sum[:], []byte(t.SHA256)); err != nil || n != len(k.sum) {
			continue // a digest that is none admits nobody
		}
		list = append(list, k)
	}
	a.admitted.Store(&list)
}

// Lookup returns the caller that holds a token. Every entry is compared in constant time,
// found or not.
func (a *Auth) Lookup(token string) (Caller, bool) {
	_ = a.Reload() // what is wrong is logged, and the tokens before stay
	tokens := *a.admitted.Load()
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range tokens {
		if subtle.ConstantTimeCompare(sum[:], tokens[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Caller{}, false
	}
	return tokens[found].caller, true
}

// CookieName is the cookie that the pages keep their token in. The JSON API ignores it, so a
// browser can be used by no other page to call it.
const CookieName = "assay_token"

var errToken = &Error{Status: http.StatusUnauthorized, Code: "unauthorized",
	Message: "the token is not known: send one of the tokens file as `Authorization: Bearer …`"}

// caller finds out who sent r; cookie admits the pages' cookie.
func (a *Auth) caller(r *http.Request, cookie bool) (Caller, *Error) {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, token, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "bearer") {
			return Caller{}, errToken
		}
		if c, ok := a.Lookup(strings.TrimSpace(token)); ok {
			return c, nil
		}
		// Some chat front ends cannot be kept from sending a key; without tokens there is
		// nothing that a wrong one could be mistaken for.
		if a.local == nil || strings.HasPrefix(strings.TrimSpace(token), tokenPrefix) {
			return Caller{}, errToken
		}
		return *a.local, nil
	}
	if cookie {
		if k, err := r.Cookie(CookieName); err == nil {
			if c, ok := a.Lookup(k.Value); ok {
				return c, nil
			}
		}
	}
	if a.local == nil {
		return Caller{}, &Error{Status: http.StatusUnauthorized, Code: "unauthorized",
			Message: "this server needs a token: send it as `Authorization: Bearer …`"}
	}
	return *a.local, nil
}

type callerKey struct{}

// CallerFrom returns who sent the request that ctx belongs to. For a request that came through
// no Server it is a caller without labels.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// WithCaller returns a context whose requests come from c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Labels returns the permission labels to search with.
func (c Caller) Labels(e interface{ Labels() ([]string, error) }) ([]string, error) {
	if !c.All {
		return c.As, nil
	}
	return e.Labels()
}
