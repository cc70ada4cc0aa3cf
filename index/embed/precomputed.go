package embed

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// ErrNoVector says that a file of precomputed vectors has none for a text.
var ErrNoVector = errors.New("no precomputed vector for this text")

// PrecomputedOptions say where vectors made elsewhere are. Vectors is required.
type PrecomputedOptions struct {
	// Vectors is a file of one of two kinds. name.npy is a NumPy array of float32 or
	// float64, one row per vector; Keys then has one line per row. name.jsonl has one object
	// a line: {"sha256":"…","embedding":[…]} or {"text":"…","embedding":[…]}.
	//
	// A vector's key is the hex SHA-256 of the text as it is given to Embed (for chunks: the
	// text with its context), prefixes not included.
	Vectors string
	Keys    string // for .npy; "" means the same name with .keys in place of .npy
	// Queries is a second file like Vectors that is asked for queries first; "" means that
	// queries are looked up in Vectors.
	Queries     string
	QueriesKeys string

	Model    string // for the fingerprint; "" means the base name of Vectors
	Revision string // "" means the first 16 hex digits of the SHA-256 of the files
	// Missing says what a text without a vector is: "error" (default) or "none" (a nil row,
	// so that search falls back to words).
	Missing string
}

// Precomputed looks vectors up by the SHA-256 of the text. Safe for concurrent use.
type Precomputed struct {
	o       PrecomputedOptions
	dim     int
	docs    map[cacheKey][]float32
	queries map[cacheKey][]float32
}

// OpenPrecomputed reads the files into memory. Damage is index.ErrCorrupt; two vectors for one
// key, vectors of different lengths and vectors that are zero or not finite are errors that
// name the row.
func OpenPrecomputed(o PrecomputedOptions) (*Precomputed, error) {
	if o.Missing != "" && o.Missing != "error" && o.Missing != "none" {
		return nil, fmt.Errorf("precomputed vectors: missing %q: must be error or none", o.Missing)
	}
	o.Missing, o.Model = cmp.Or(o.Missing, "error"), cmp.Or(o.Model, filepath.Base(o.Vectors))
	h := sha256.New()
	p := &Precomputed{o: o}
	var err error
	if p.docs, p.dim, err = loadVectors(o.Vectors, o.Keys, h); err != nil {
		return nil, err
	}
	if o.Queries != "" {
		var dim int
		if p.queries, dim, err = loadVectors(o.Queries, o.QueriesKeys, h); err != nil {
			return nil, err
		}
		if dim != p.dim {
			return nil, fmt.Errorf("%s: vectors of dimension %d, but %s has %d: %w", o.Queries, dim, o.Vectors, p.dim, index.ErrDimension)
		}
	}
	if p.o.Revision == "" {
		p.o.Revision = hex.EncodeToString(h.Sum(nil)[:8])
	}
	return p, nil
}

// Fingerprint implements index.Embedder.
func (p *Precomputed) Fingerprint() index.Fingerprint {
	return index.Fingerprint{Kind: "precomputed", Model: p.o.Model, Revision: p.o.Revision, Dimension: p.dim}
}

// Len returns the number of vectors.
func (p *Precomputed) Len() int { return len(p.docs) + len(p.queries) }

// Embed implements index.Embedder.
func (p *Precomputed) Embed(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	rows := make([][]float32, 0, len(texts))
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return rows, err
		}
		k := sha256.Sum256([]byte(t))
		row := p.docs[k]
		if kind == index.KindQuery {
			if q, ok := p.queries[k]; ok {
				row = q
			}
		}
		if row == nil && p.o.Missing == "error" {
			return rows, unit.NewTextError(i, t, fmt.Errorf("%w in %s: embed it and add it under sha256 %x, or set missing to none", ErrNoVector, p.o.Vectors, k))
		}
		rows = append(rows, append([]float32(nil), row...))
	}
	return rows, nil
}

func loadVectors(path, keys string, h io.Writer) (map[cacheKey][]float32, int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("precomputed vectors: %w", err)
	}
	_, _ = h.Write(data)
	switch filepath.Ext(path) {
	case ".jsonl":
		return parseJSONL(path, data)
	case ".npy":
		keys = cmp.Or(keys, strings.TrimSuffix(path, ".npy")+".keys")
		list, err := os.ReadFile(keys)
		if err != nil {
			return nil, 0, fmt.Errorf("precomputed vectors: keys of %s: %w", path, err)
		}
		_, _ = h.Write(list)
		return parseKeyed(path, data, keys, list)
	}
	return nil, 0, fmt.Errorf("precomputed vectors: %s: the name must end in .npy or .jsonl", path)
}

// parseKeyed joins the rows of a .npy file with the lines of a key file.
func parseKeyed(path string, data []byte, keysPath string, list []byte) (map[cacheKey][]float32, int, error) {
	a, err := parseNPY(path, data)
	if err != nil {
		return nil, 0, err
	}
	out := make(map[cacheKey][]float32, a.rows)
	n := 0
	for line := range bytes.Lines(list) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 && n > a.rows {
			continue // blank lines at the end
		}
		if n > a.rows {
			return nil, 0, fmt.Errorf("%s:%d: more keys than the %d rows of %s", keysPath, n, a.rows, path)
		}
		k, err := parseKey(string(line))
		if err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w", keysPath, n, err)
		}
		if _, twice := out[k]; twice {
			return nil, 0, fmt.Errorf("%s:%d: key %s occurs twice", keysPath, n, line)
		}
		if out[k], err = unit.Scale(a.row(n - 1)); err != nil {
			return nil, 0, fmt.Errorf("%s: row %d: %w", path, n-1, err)
		}
	}
	if n < a.rows {
		return nil, 0, fmt.Errorf("%s: %d keys for the %d rows of %s", keysPath, n, a.rows, path)
	}
	return out, a.cols, nil
}

func parseKey(s string) (k cacheKey, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(k) {
		return k, fmt.Errorf("%q is no SHA-256 in 64 hex digits", unit.Head(s))
	}
	return cacheKey(b), nil
}

// parseJSONL reads one object a line.
func parseJSONL(path string, data []byte) (map[cacheKey][]float32, int, error) {
	out, dim, n := map[cacheKey][]float32{}, 0, 0
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, max(1<<16, len(data)+1))
	for s.Scan() {
		n++
		fail := func(err error) (map[cacheKey][]float32, int, error) {
			return nil, 0, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		var o struct {
			SHA256    *string         `json:"sha256"`
			Text      *string         `json:"text"`
			Embedding json.RawMessage `json:"embedding"`
		}
		if err := json.Unmarshal(line, &o); err != nil {
			return fail(err)
		}
		var k cacheKey
		switch {
		case o.SHA256 != nil:
			var err error
			if k, err = parseKey(*o.SHA256); err != nil {
				return fail(err)
			}
			if o.Text != nil && k != sha256.Sum256([]byte(*o.Text)) {
				return fail(errors.New("sha256 is not that of text"))
			}
		case o.Text != nil:
			k = sha256.Sum256([]byte(*o.Text))
		default:
			return fail(errors.New("neither sha256 nor text"))
		}
		row, err := jsonVector(o.Embedding)
		if err == nil && row == nil {
			err = errors.New("no embedding")
		}
		if err != nil {
			return fail(err)
		}
		if dim == 0 {
			dim = len(row)
		}
		if len(row) != dim {
			return fail(fmt.Errorf("a vector of %d components after some of %d: %w", len(row), dim, index.ErrDimension))
		}
		if _, twice := out[k]; twice {
			return fail(fmt.Errorf("key %x occurs twice", k))
		}
		out[k] = row
	}
	if err := s.Err(); err != nil { // unreachable: the buffer holds the longest line
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	if len(out) == 0 {
		return nil, 0, fmt.Errorf("%s: no vectors", path)
	}
	return out, dim, nil
}
