package remote_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/indextest"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/index/remote"
	"github.com/seed792a4543/assay/index/remote/internal/remotetest"
)

func connect(t testing.TB, o remote.Options) *remote.Cluster {
	t.Helper()
	c, err := remote.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// quick are options whose tries do not wait long.
func quick(f *remotetest.Fake) remote.Options {
	return remote.Options{Nodes: f.Nodes(), Timeout: 5 * time.Second, Tries: 4, Health: -1, MaxResults: f.MaxResults}
}

// source is a build of vectors and texts; either may be nil.
func source(build string, dim int, rows [][]float32, texts []string, acl func(uint32) []string) remote.Source {
	n := max(len(rows), len(texts))
	a, err := lexical.NewAnalyzer(lexical.Settings{})
	if err != nil {
		panic(err)
	}
	if acl == nil {
		acl = func(uint32) []string { return nil }
	}
	return remote.Source{
		Build: build, Manifest: "digest of " + build, Dimension: dim, Len: n, ACL: acl,
		Chunk: func(ord uint32) (remote.Chunk, error) {
			c := remote.Chunk{ID: chunkID(ord), ACL: acl(ord)}
			if rows != nil {
				c.Vector = rows[ord]
			}
			if texts != nil {
				c.Terms = a.Terms(texts[ord])
			}
			return c, nil
		},
	}
}

// chunkID is an id as chunks have them: no UUID, with blanks, a path and signs.
func chunkID(ord uint32) string { return fmt.Sprintf("größe & maß/%06d.md#0-10", ord) }

func opened(t *testing.T, c *remote.Cluster, s remote.Source) *remote.Index {
	t.Helper()
	if _, err := c.Build(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	x, err := c.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Drop(context.Background(), s.Build); err != nil {
			t.Error(err)
		}
	})
	return x
}

// conformance runs the tests that every index runs.
func conformance(t *testing.T, o remote.Options) {
	o.Index, o.Timeout, o.Health = remote.IndexFlat, 30*time.Second, time.Second
	c := connect(t, o)
	n := 0
	t.Run("vectors", func(t *testing.T) {
		indextest.RunVectors(t, func(t *testing.T, dim int, rows [][]float32) index.VectorSearcher {
			n++
			return opened(t, c, source(fmt.Sprintf("%012x", n), dim, rows, nil, nil))
		})
	})
	t.Run("text", func(t *testing.T) {
		indextest.RunText(t, func(t *testing.T, texts []string) index.TextSearcher {
			n++
			return opened(t, c, source(fmt.Sprintf("%012x", n), 0, nil, texts, nil))
		})
	})
}

func TestConformance(t *testing.T) {
	f := remotetest.NewFake(t, 1)
	conformance(t, remote.Options{Nodes: f.Nodes(), MaxResults: f.MaxResults, Batch: 2000})
}

func TestOptions(t *testing.T) {
	node := []remote.Node{{HTTP: "127.0.0.1:1", GRPC: "127.0.0.1:2"}}
	for name, o := range map[string]remote.Options{
		"no nodes":    {},
		"no grpc":     {Nodes: []remote.Node{{HTTP: "127.0.0.1:1"}}},
		"scheme":      {Nodes: []remote.Node{{HTTP: "https://a:1", GRPC: "a:2"}}},
		"twice":       {Nodes: append(node, node...)},
		"prefix":      {Nodes: node, Prefix: "assay"},
		"index":       {Nodes: node, Index: "lsh"},
		"replication": {Nodes: node, Replication: -1},
		"timeout":     {Nodes: node, Timeout: -1},
	} {
		if _, err := remote.Connect(o); err == nil {
			t.Errorf("%s accepted: %+v", name, o)
		}
	}
}

func TestBuild(t *testing.T) {
	texts := []string{"copper kettle", "iron pan", "steel pot", "glass jar", "clay cup"}
	t.Run("idempotent", func(t *testing.T) {
		f := remotetest.NewFake(t, 1)
		c := connect(t, quick(f))
		s := source("00000000000a", 0, nil, texts, nil)
		first, err := c.Build(t.Context(), s)
		if err != nil || first.Existed {
			t.Fatalf("%+v, %v", first, err)
		}
		again, err := c.Build(t.Context(), s)
		if err != nil || !again.Existed || f.Writes != len(texts) {
			t.Errorf("second build: %+v, %v, %d writes, want nothing written", again, err, f.Writes)
		}
		// Half of it is lost: the same call completes it.
		f.Lock()
		for uuid := range f.Objects[c.Collection(s.Build)] {
			if len(f.Objects[c.Collection(s.Build)]) > 2 {
				delete(f.Objects[c.Collection(s.Build)], uuid)
			}
		}
		f.Unlock()
		x, err := c.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Verify(t.Context()); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("2 of 5 objects: %v, want ErrCorrupt", err)
		}
		if res, err := c.Build(t.Context(), s); err != nil || res.Existed {
			t.Errorf("completing: %+v, %v", res, err)
		}
		if err := x.Verify(t.Context()); err != nil {
			t.Errorf("after completing: %v", err)
		}
	})
	t.Run("objects refused", func(t *testing.T) {
		f := remotetest.NewFake(t, 1)
		c := connect(t, quick(f))
		refused := map[string]int{}
		f.Refuse = func(uuid string) error {
			if refused[uuid]++; refused[uuid] == 1 && strings.Compare(uuid, "8") < 0 {
				return errors.New("shard is busy")
			}
			return nil
		}
		res, err := c.Build(t.Context(), source("00000000000b", 0, nil, slices.Repeat(texts, 20), nil))
		if err != nil || res.Retried == 0 {
			t.Errorf("objects refused once: %+v, %v, want them written at the second try", res, err)
		}
		f.Refuse = func(uuid string) error { return errors.New("disk is full") }
		_, err = c.Build(t.Context(), source("00000000000c", 0, nil, texts, nil))
		if !errors.Is(err, remote.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("objects refused for good: %v, want the server's words", err)
		}
	})
	t.Run("not flushed", func(t *testing.T) {
		f := remotetest.NewFake(t, 1)
		f.Unflushed = 3
		c := connect(t, quick(f))
		s := source("0000000000a0", 0, nil, slices.Repeat(texts, 20), nil)
		if _, err := c.Build(t.Context(), s); err != nil || f.Unflushed > 0 {
			t.Errorf("build: %v, %d bad lists left, want it to wait them out", err, f.Unflushed)
		}
		x, err := c.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		f.Lock()
		f.Unflushed = 1
		f.Unlock()
		if err := x.Verify(t.Context()); !errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), "flushed") {
			t.Errorf("verify after a restart: %v, want ErrCorrupt that says why", err)
		}
	})
	t.Run("mismatch", func(t *testing.T) {
		f := remotetest.NewFake(t, 1)
		c := connect(t, quick(f))
		s := source("00000000000d", 0, nil, texts, nil)
		if _, err := c.Build(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		s.Manifest = "another"
		if _, err := c.Build(t.Context(), s); !errors.Is(err, remote.ErrMismatch) {
			t.Errorf("other manifest: %v", err)
		}
		if _, err := c.Open(t.Context(), s); !errors.Is(err, remote.ErrMismatch) {
			t.Errorf("open with other manifest: %v", err)
		}
		if _, err := c.Open(t.Context(), source("0000000000ff", 0, nil, texts, nil)); !errors.Is(err, remote.ErrNoCollection) {
			t.Errorf("open what is not there: %v", err)
		}
		o := quick(f)
		o.Replication = 3
		if _, err := connect(t, o).Build(t.Context(), source("00000000000e", 0, nil, texts, nil)); err == nil {
			t.Error("three copies on one node accepted")
		}
	})
	t.Run("text on the wire", func(t *testing.T) {
		for in, want := range map[string]string{"qx-310/b": "qx-310/b", "a\xffb": `a\xffb`, "a\x00b": `a\x00b`, "a b": `a\x20b`, "größe": "größe"} {
			if got := remote.Terms([]string{in}); got != want {
				t.Errorf("Terms(%q) = %q, want %q", in, got, want)
			}
		}
		f := remotetest.NewFake(t, 1)
		c := connect(t, quick(f))
		bad := source("00000000000f", 0, nil, texts, func(uint32) []string { return []string{"a\xff"} })
		if _, err := c.Build(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("label that is not UTF-8: %v", err)
		}
		x := opened(t, c, source("000000000010", 0, nil, texts, nil))
		if got, err := x.SearchText(t.Context(), "copper\xff\x00 pan", 5, nil); err != nil || len(got) == 0 {
			t.Errorf("query with bytes that are no text: %v, %v", got, err)
		}
	})
}

func TestLive(t *testing.T) {
	f := remotetest.NewFake(t, 1)
	c := connect(t, quick(f))
	const a, b = "0000000000aa", "0000000000bb"
	for _, build := range []string{a, b} {
		opened(t, c, source(build, 0, nil, []string{"copper"}, nil))
	}
	live := func(want string) {
		t.Helper()
		if got, err := c.Live(t.Context()); err != nil || got != want {
			t.Errorf("live is %q, %v, want %q", got, err, want)
		}
	}
	live("")
	if err := c.SetLive(t.Context(), "0000000000cc", ""); !errors.Is(err, remote.ErrNoCollection) {
		t.Errorf("build that is not there: %v", err)
	}
	for _, step := range []struct {
		build, from string
		want        error
		live        string
	}{
		{a, "", nil, a},
		{b, "", remote.ErrConflict, a},
		{b, a, nil, b},
		{b, a, nil, b}, // again: nothing to do
		{a, b, nil, a},
	} {
		if err := c.SetLive(t.Context(), step.build, step.from); !errors.Is(err, step.want) {
			t.Errorf("%s from %s: %v, want %v", step.build, step.from, err, step.want)
		}
		live(step.live)
	}
	if err := c.Drop(t.Context(), a); err == nil {
		t.Error("the live build was dropped")
	}
	if got, err := c.Builds(t.Context()); err != nil || !slices.Equal(got, []string{a, b}) {
		t.Errorf("builds: %v, %v", got, err)
	}
	f.Lock()
	clear(f.Aliases) // so that the collections can be dropped
	f.Unlock()
}

// TestHybrid holds that fusion over the cluster is the project's.
func TestHybrid(t *testing.T) {
	t.Run("HY-07", func(t *testing.T) {
		f := remotetest.NewFake(t, 2)
		o := quick(f)
		o.Shards = 2
		c := connect(t, o)
		rows, texts := make([][]float32, 40), make([]string, 40)
		for i := range rows {
			rows[i] = []float32{float32(i+1) / 50, 1 - float32(i+1)/50}
			texts[i] = "steel pot"
		}
		texts[7], texts[9] = "copper kettle", "no entry"
		x := opened(t, c, source("0000000000dd", 2, rows, texts, nil))
		fused := func(query string, k int) []uint32 {
			t.Helper()
			const depth = 20
			vec, err := x.SearchVector(t.Context(), []float32{1, 0}, depth, nil)
			if err != nil {
				t.Fatal(err)
			}
			lex, err := x.SearchText(t.Context(), query, depth, nil)
			if err != nil {
				t.Fatal(err)
			}
			var out []uint32
			for _, h := range hybrid.Fuse(vec, lex, hybrid.Settings{}.WithDefaults()) {
				out = append(out, h.Ord)
			}
			return out[:k]
		}
		if a, b := fused("copper", 3), fused("copper", 10); !slices.Equal(a, b[:3]) {
			t.Errorf("k 3: %v is not the beginning of k 10: %v", a, b)
		}
		lex, err := x.SearchText(t.Context(), "copper", 10, nil)
		if err != nil || len(lex) != 1 || lex[0].Ord != 7 {
			t.Errorf("one lexical hit: %v, %v, want ordinal 7 alone", lex, err)
		}
		// A word that the server's own list would stop.
		if lex, err = x.SearchText(t.Context(), "no", 10, nil); err != nil || len(lex) != 1 || lex[0].Ord != 9 {
			t.Errorf("query no: %v, %v, want ordinal 9", lex, err)
		}
		class := f.Classes[c.Collection("0000000000dd")]
		if class.InvertedIndexConfig.Stopwords.Preset != "none" || class.ShardingConfig.(map[string]any)["desiredCount"] != 2. {
			t.Errorf("collection was made with %+v, %v", class.InvertedIndexConfig, class.ShardingConfig)
		}
		want := map[string]string{
			"engine": "weaviate", "index": "flat", "shards": "2", "replication": "1", "statistics": "per shard", "analyser": "standard", "stopwords": "none",
		}
		if diff := cmp.Diff(want, x.Settings()); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		for _, o := range f.Objects[c.Collection("0000000000dd")] {
			if id := chunkID(uint32(o.Props["ord"].(float64))); o.Props["chunk"] != id || o.UUID != remote.ObjectID("0000000000dd", id) {
				t.Errorf("object %s holds %v, want chunk %q", o.UUID, o.Props, id)
			}
		}
		// The two retrievers alone were asked: nothing of the server's own hybrid.
		for _, req := range f.Searches {
			if req.HybridSearch != nil || req.Autocut != 0 || req.NearVector != nil && (req.NearVector.Distance != nil || req.NearVector.Certainty != nil) {
				t.Errorf("search asks for the server's fusion or threshold: %v", req)
			}
		}
	})
}

func TestPermissions(t *testing.T) {
	t.Run("PM-01", func(t *testing.T) {
		f := remotetest.NewFake(t, 1)
		c := connect(t, quick(f))
		texts := slices.Concat(slices.Repeat([]string{"refund refund"}, 300), slices.Repeat([]string{"refund for the kettle in the box"}, 5))
		rows := slices.Concat(slices.Repeat([][]float32{{1, 0}}, 300), slices.Repeat([][]float32{{.6, .8}}, 5))
		acl := func(ord uint32) []string {
			if ord < 300 {
				return []string{"board"}
			}
			return nil
		}
		x := opened(t, c, source("0000000000ee", 2, rows, texts, acl))
		f.Searches = nil // those of the check that the words are flushed
		filter := index.NewFilter(305)
		for ord := range uint32(5) {
			filter.Set(300 + ord)
		}
		for leg, search := range map[string]func() ([]index.Candidate, error){
			"vector":  func() ([]index.Candidate, error) { return x.SearchVector(t.Context(), []float32{1, 0}, 3, filter) },
			"lexical": func() ([]index.Candidate, error) { return x.SearchText(t.Context(), "refund", 3, filter) },
		} {
			got, err := search()
			if err != nil || len(got) != 3 || got[0].Ord != 304 || got[2].Ord != 302 {
				t.Errorf("%s: %v, %v, want ordinals 304 to 302", leg, got, err)
			}
		}
		for _, req := range f.Searches {
			if fl := req.Filters; fl == nil || fl.GetTarget().GetProperty() != "aclClass" && (len(fl.On) != 1 || fl.On[0] != "aclClass") { //nolint:staticcheck
				t.Errorf("the filter is not one of permissions: %v", fl)
			}
		}
	})
	t.Run("nobody", func(t *testing.T) {
		f := remotetest.NewFake(t, 1)
		x := opened(t, connect(t, quick(f)), source("0000000000ef", 0, nil, []string{"refund"}, nil))
		if got, err := x.SearchText(t.Context(), "refund", 3, index.NewFilter(1)); err != nil || len(got) != 0 || len(f.Searches) > 0 {
			t.Errorf("nothing admitted: %v, %v, %d requests, want none of either", got, err, len(f.Searches))
		}
	})
}

func TestMembers(t *testing.T) {
	texts := slices.Repeat([]string{"copper kettle", "iron pan"}, 50)
	for _, tt := range []struct {
		replication, down int
		degraded          bool
	}{{1, 0, false}, {1, 1, true}, {2, 1, false}, {3, 1, false}, {3, 2, false}, {2, 2, true}} {
		t.Run(fmt.Sprintf("replication=%d/down=%d", tt.replication, tt.down), func(t *testing.T) {
			f := remotetest.NewFake(t, 3)
			o := quick(f)
			o.Replication = tt.replication
			c := connect(t, o)
			x := opened(t, c, source("0000000000f0", 0, nil, texts, nil))
			for i := range tt.down {
				f.SetDown(i, true)
			}
			for range 6 { // whichever node comes first
				got, err := x.SearchText(t.Context(), "copper", 50, nil)
				if err != nil {
					t.Fatal(err)
				}
				whole := len(got) == 50
				if err := x.Complete(t.Context()); errors.Is(err, remote.ErrDegraded) != tt.degraded || err == nil && !whole {
					t.Errorf("%d of 50 hits, complete: %v, want degraded %v", len(got), err, tt.degraded)
				}
			}
			if err := x.Verify(t.Context()); (err != nil) != tt.degraded {
				t.Errorf("verify: %v, want an error %v", err, tt.degraded)
			}
			for i := range tt.down {
				f.SetDown(i, false)
			}
			if err := errors.Join(x.Complete(t.Context()), x.Verify(t.Context())); err != nil {
				t.Errorf("all members back: %v", err)
			}
		})
	}
	t.Run("all down", func(t *testing.T) {
		f := remotetest.NewFake(t, 2)
		o := quick(f)
		o.Tries = 2
		x := opened(t, connect(t, o), source("0000000000f1", 0, nil, texts, nil))
		f.SetDown(0, true)
		f.SetDown(1, true)
		if got, err := x.SearchText(t.Context(), "copper", 3, nil); !errors.Is(err, remote.ErrUnavailable) || got != nil {
			t.Errorf("%v, %v, want ErrUnavailable", got, err)
		}
		if err := x.Complete(t.Context()); !errors.Is(err, remote.ErrDegraded) {
			t.Errorf("complete: %v", err)
		}
		f.SetDown(0, false)
		f.SetDown(1, false)
	})
}

func TestTies(t *testing.T) {
	f := remotetest.NewFake(t, 1)
	f.MaxResults = 20
	x := opened(t, connect(t, quick(f)), source("0000000000f2", 0, nil, slices.Repeat([]string{"copper"}, 50), nil))
	if got, err := x.SearchText(t.Context(), "copper", 3, nil); err == nil || !strings.Contains(err.Error(), "QUERY_MAXIMUM_RESULTS") {
		t.Errorf("ties beyond what the server returns: %v, %v, want an error that names the setting", got, err)
	}
	if got, err := x.SearchText(t.Context(), "copper", 30, nil); err == nil || !strings.Contains(err.Error(), "QUERY_MAXIMUM_RESULTS") {
		t.Errorf("k beyond what the server returns: %v, %v", got, err)
	}
}
