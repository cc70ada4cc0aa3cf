package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-openapi/strfmt"
	"github.com/google/uuid"
	"github.com/weaviate/weaviate-go-client/v5/weaviate"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
)

// Chunk is one chunk as the cluster holds it.
type Chunk struct {
	ID     string
	Terms  []string  // from lexical.Analyzer, fields repeated by their weights
	Vector []float32 // nil: none
	ACL    []string  // labels of callers that may see it; empty means everyone
}

// Source is what a collection is filled from. Chunk may be called from several goroutines.
type Source struct {
	Build     string // id
	Manifest  string // digest of the build's manifest
	Dimension int    // of the vectors, 0 without any
	Len       int
	Chunk     func(ord uint32) (Chunk, error) // chunks in ascending order of their ids
	ACL       func(ord uint32) []string
	Lexical   lexical.Settings // resolved: Stats.Settings of the build
}

// properties of an object.
const (
	propChunk = "chunk" // id
	propOrd   = "ord"   // ordinal
	propClass = "aclClass"
	propACL   = "acl" // labels, for readers other than this package; empty means everyone
	propTerms = "terms"
)

const metaSchema = "assay.remote/v1"

// meta describes a collection; it stands in its description.
type meta struct {
	Schema      string   `json:"schema"`
	Build       string   `json:"build"`
	Manifest    string   `json:"manifest"`
	Chunks      int      `json:"chunks"`
	Dimension   int      `json:"dimension"`
	Index       string   `json:"index"`
	Shards      int      `json:"shards,omitempty"`
	Replication int      `json:"replication"`
	Nodes       []string `json:"nodes"` // members when the collection was made
}

// namespace makes the ids of objects version 5 UUIDs of their own.
var namespace = uuid.MustParse("6f0d6ae5-5a0e-5a39-9a3c-3a3f0b9a6c11")

// ObjectID returns the UUID of a chunk's object, always the same.
func ObjectID(build, chunk string) string {
	return uuid.NewSHA1(namespace, []byte(build+"\x00"+chunk)).String()
}

// Terms joins the words of a chunk, or of a query, into a text that the cluster cuts at blanks
// into the same words.
func Terms(terms []string) string {
	var b strings.Builder
	for _, t := range terms {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(term(t))
	}
	return b.String()
}

// term makes a word fit for the wire (UTF-8, no NUL) and free of blanks, at which the cluster
// would cut it. Words without either, which is all that package lexical makes of valid text,
// stay as they are.
func term(t string) string {
	if utf8.ValidString(t) && !strings.ContainsFunc(t, func(r rune) bool { return unicode.IsSpace(r) || r == 0 }) {
		return t
	}
	var b strings.Builder
	for i := 0; i < len(t); {
		r, n := utf8.DecodeRuneInString(t[i:])
		if r == utf8.RuneError && n == 1 || r == 0 || unicode.IsSpace(r) {
			fmt.Fprintf(&b, "\\x%x", t[i:i+n])
		} else {
			b.WriteString(t[i : i+n])
		}
		i += n
	}
	return b.String()
}

// WeightedTerms returns the words of a chunk with the fields' weights as repetitions, the form
// in which one field scores as the embedded index does. s is resolved.
func WeightedTerms(a *lexical.Analyzer, d lexical.Doc, s lexical.Settings) []string {
	s = s.WithDefaults()
	var out []string
	for range *s.Title {
		out = append(out, a.Terms(d.Title)...)
	}
	for range *s.Heading {
		out = append(out, a.Terms(d.Heading)...)
	}
	return append(out, a.Terms(d.Body)...)
}

// classes numbers the distinct sets of labels in ascending order and returns each chunk's number.
// A chunk for everyone has a set of its own like any other.
func classes(n int, acl func(uint32) []string) (of []uint32, sets [][]string) {
	of = make([]uint32, n)
	keys := map[string][]string{}
	key := func(labels []string) string {
		labels = slices.Compact(slices.Sorted(slices.Values(labels)))
		var b strings.Builder
		for _, l := range labels {
			b.WriteString(strconv.Quote(l))
		}
		return b.String()
	}
	for ord := range uint32(n) {
		keys[key(acl(ord))] = acl(ord)
	}
	number := map[string]uint32{}
	for i, k := range slices.Sorted(maps.Keys(keys)) {
		number[k] = uint32(i)
		sets = append(sets, keys[k])
	}
	for ord := range of {
		of[ord] = number[key(acl(uint32(ord)))]
	}
	return of, sets
}

// class returns the definition of a build's collection.
func (c *Cluster) class(s Source, nodes []string) (*models.Class, meta, error) {
	m := meta{
		Schema: metaSchema, Build: s.Build, Manifest: s.Manifest, Chunks: s.Len, Dimension: s.Dimension,
		Index: c.o.Index, Shards: c.o.Shards, Replication: c.o.Replication, Nodes: nodes,
	}
	if m.Index == IndexAuto {
		m.Index = IndexFlat
		if s.Len > AutoFlat {
			m.Index = IndexHNSW
		}
	}
	if len(nodes) < m.Replication {
		return nil, m, fmt.Errorf("replication %d needs as many nodes, the cluster has %d (%s)", m.Replication, len(nodes), strings.Join(nodes, ", "))
	}
	description, err := json.Marshal(m)
	if err != nil {
		return nil, m, err
	}
	yes, no := true, false
	lex := s.Lexical.WithDefaults()
	sharding := map[string]any{}
	if m.Shards > 0 {
		sharding["desiredCount"] = m.Shards
	}
	vectors := map[string]any{"distance": "cosine", "skipDefaultQuantization": true}
	if m.Index == IndexHNSW {
		vectors["efConstruction"], vectors["maxConnections"], vectors["ef"] = 128, 32, 256
	}
	return &models.Class{
		Class: c.Collection(s.Build), Description: string(description),
		Vectorizer: "none", VectorIndexType: m.Index, VectorIndexConfig: vectors,
		ReplicationConfig: &models.ReplicationConfig{Factor: int64(m.Replication), AsyncEnabled: m.Replication > 1},
		ShardingConfig:    sharding,
		InvertedIndexConfig: &models.InvertedIndexConfig{
			Bm25:      &models.BM25Config{K1: positive(*lex.K1), B: positive(*lex.B)},
			Stopwords: &models.StopwordConfig{Preset: "none"},
		},
		Properties: []*models.Property{
			{Name: propChunk, DataType: []string{"text"}, Tokenization: "field", IndexFilterable: &no, IndexSearchable: &no},
			{Name: propOrd, DataType: []string{"int"}, IndexFilterable: &yes},
			{Name: propClass, DataType: []string{"int"}, IndexFilterable: &yes},
			{Name: propACL, DataType: []string{"text[]"}, Tokenization: "field", IndexFilterable: &yes, IndexSearchable: &no},
			{Name: propTerms, DataType: []string{"text"}, Tokenization: "whitespace", IndexFilterable: &no, IndexSearchable: &yes},
		},
	}, m, nil
}

// positive stands in for a zero, which the client leaves out so that the server's default would
// apply.
func positive(x float64) float32 { return float32(max(x, 1e-9)) }

// describe reads what a build's collection says of itself.
func (c *Cluster) describe(ctx context.Context, build string) (*meta, error) {
	var m *meta
	err := c.do(ctx, "collection "+c.Collection(build), func(ctx context.Context, client *weaviate.Client) error {
		class, err := client.Schema().ClassGetter().WithClassName(c.Collection(build)).Do(ctx)
		if missing(err) {
			return fmt.Errorf("%w: %s: build it there with `assay-remote build`", ErrNoCollection, build)
		}
		if err != nil {
			return err
		}
		m = new(meta)
		dec := json.NewDecoder(bytes.NewReader([]byte(class.Description)))
		if err := dec.Decode(m); err != nil || m.Schema != metaSchema || m.Build != build {
			return fmt.Errorf("%w: collection %s was not made by this program, or by another version of it", ErrMismatch, class.Class)
		}
		return nil
	})
	return m, err
}

// fits compares an existing collection with the one that would be made.
func (m *meta) fits(want meta) error {
	for _, p := range []struct {
		what       string
		have, want any
	}{
		{"manifest", m.Manifest, want.Manifest},
		{"chunks", m.Chunks, want.Chunks},
		{"dimension", m.Dimension, want.Dimension},
		{"index", m.Index, want.Index},
		{"shards", m.Shards, want.Shards},
		{"replication", m.Replication, want.Replication},
	} {
		if p.have != p.want {
			return fmt.Errorf("%w %s: %s is %v there and %v here: use the same options, or drop it with `assay-remote drop %s`",
				ErrMismatch, m.Build, p.what, p.have, p.want, m.Build)
		}
	}
	return nil
}

// BuildResult says what Build did.
type BuildResult struct {
	Existed bool // the collection was complete before: nothing was written
	Chunks  int
	Retried int // objects that the cluster refused at first
}

// Build makes the collection of a build and fills it, or completes one that an interrupted call
// left behind: every object's id follows from its content's name, so writing it again changes
// nothing. It returns when every node that holds the collection counts exactly the build's
// chunks and ranks words as it will from then on, see Index.Verify; failing that is an error.
// Nothing becomes live.
func (c *Cluster) Build(ctx context.Context, s Source) (*BuildResult, error) {
	for ord := range uint32(s.Len) {
		for _, label := range s.ACL(ord) {
			if !utf8.ValidString(label) {
				return nil, fmt.Errorf("build %s: label %q is not valid UTF-8, which the cluster does not take: rename it", s.Build, label)
			}
		}
	}
	members, err := c.Members(ctx)
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, m := range members {
		nodes = append(nodes, m.Name)
	}
	class, want, err := c.class(s, nodes)
	if err != nil {
		return nil, err
	}
	res := &BuildResult{Chunks: s.Len}
	have, err := c.describe(ctx, s.Build)
	switch {
	case err == nil:
		if err := have.fits(want); err != nil {
			return nil, err
		}
		if c.verifyCounts(ctx, have) == nil && c.settled(ctx, s) == nil {
			res.Existed = true
			return res, nil
		}
	case errors.Is(err, ErrNoCollection):
		if err := c.create(ctx, class); err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	if err := c.fill(ctx, s, res); err != nil {
		return nil, fmt.Errorf("build %s: %w", s.Build, err)
	}
	if have, err = c.describe(ctx, s.Build); err != nil {
		return nil, err
	}
	return res, c.awaitRight(ctx, have, s)
}

func (c *Cluster) create(ctx context.Context, class *models.Class) error {
	err := c.do(ctx, "create "+class.Class, func(ctx context.Context, client *weaviate.Client) error {
		err := client.Schema().ClassCreator().WithClass(class).Do(ctx)
		if err != nil {
			// The answer to an attempt that succeeded may have been lost.
			if have, gerr := client.Schema().ClassGetter().WithClassName(class.Class).Do(ctx); gerr == nil && have.Description == class.Description {
				return nil
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.await(ctx, "create "+class.Class, func() (bool, error) {
		for _, client := range c.clients {
			if _, err := client.Schema().ClassGetter().WithClassName(class.Class).Do(ctx); missing(err) {
				return false, nil // a node that is down may lack it, one that answers must not
			}
		}
		return true, ctx.Err()
	})
}

// fill writes all objects.
func (c *Cluster) fill(ctx context.Context, s Source, res *BuildResult) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	of, _ := classes(s.Len, s.ACL)
	var next, done, retried atomic.Int64
	var wg sync.WaitGroup
	for range c.o.Concurrency {
		wg.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(c.o.Batch))) - c.o.Batch
				if from >= s.Len {
					return
				}
				to := min(from+c.o.Batch, s.Len)
				objects, err := c.objects(s, of, from, to)
				if err == nil {
					var n int
					n, err = c.write(ctx, objects)
					retried.Add(int64(n))
				}
				if err != nil {
					cancel(err)
					return
				}
				c.o.Progress(int(done.Add(int64(to-from))), s.Len)
			}
		})
	}
	wg.Wait()
	res.Retried = int(retried.Load())
	return context.Cause(ctx)
}

func (c *Cluster) objects(s Source, of []uint32, from, to int) ([]*models.Object, error) {
	out := make([]*models.Object, 0, to-from)
	for ord := from; ord < to; ord++ {
		ch, err := s.Chunk(uint32(ord))
		if err != nil {
			return nil, err
		}
		if !utf8.ValidString(ch.ID) || strings.ContainsRune(ch.ID, 0) {
			return nil, fmt.Errorf("chunk %q: its id is not valid UTF-8, which the cluster does not take: rename the document", ch.ID)
		}
		props := map[string]any{propChunk: ch.ID, propOrd: ord, propClass: int(of[ord]), propTerms: Terms(ch.Terms)}
		if len(ch.ACL) > 0 {
			props[propACL] = ch.ACL
		}
		o := &models.Object{
			Class: c.Collection(s.Build), ID: strfmt.UUID(ObjectID(s.Build, ch.ID)), Properties: props,
		}
		if ch.Vector != nil {
			if len(ch.Vector) != s.Dimension {
				return nil, fmt.Errorf("chunk %s: %w: %d, the build's is %d", ch.ID, index.ErrDimension, len(ch.Vector), s.Dimension)
			}
			o.Vector = ch.Vector
		}
		out = append(out, o)
	}
	return out, nil
}

// write stores objects, those that the cluster refuses again until it takes them or the tries
// are used up; retried counts them.
func (c *Cluster) write(ctx context.Context, objects []*models.Object) (retried int, err error) {
	for try := 0; ; try++ {
		var failed []*models.Object
		var first string
		err := c.do(ctx, "write", func(ctx context.Context, client *weaviate.Client) error {
			resp, err := client.Batch().ObjectsBatcher().WithObjects(objects...).WithConsistencyLevel(c.level()).Do(ctx)
			if err != nil {
				return err
			}
			if len(resp) != len(objects) {
				return fmt.Errorf("write: %d answers for %d objects", len(resp), len(objects))
			}
			failed, first = nil, ""
			for i, r := range resp {
				if r.Result != nil && r.Result.Errors != nil && len(r.Result.Errors.Error) > 0 {
					failed = append(failed, objects[i])
					if first == "" {
						first = r.Result.Errors.Error[0].Message
					}
				}
			}
			return nil
		})
		if err != nil {
			return retried, err
		}
		if len(failed) == 0 {
			return retried, nil
		}
		if try+1 >= c.o.Tries {
			return retried, fmt.Errorf("write: %w: %d of %d objects refused after %d tries, the first (%s): %s",
				ErrUnavailable, len(failed), len(objects), c.o.Tries, failed[0].ID, first)
		}
		retried += len(failed)
		objects = failed
		if err := pause(ctx, min(100*time.Millisecond<<min(try, 5), 2*time.Second)); err != nil {
			return retried, err
		}
	}
}

// level is the consistency of writes: with copies, most of them must hold an object before it
// counts as written.
func (c *Cluster) level() string {
	if c.o.Replication > 1 {
		return "QUORUM"
	}
	return "ONE"
}
