package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
	"github.com/seed792a4543/assay/internal/disk"
)

// counting is a meaningless deterministic embedder that records what it is asked. A text that
// begins with "bad" is an error, one that begins with "none" has no vector.
type counting struct {
	f  index.Fingerprint
	mu sync.Mutex
	// asked holds the texts of each call.
	asked [][]string
}

func (c *counting) Fingerprint() index.Fingerprint { return c.f }
func (c *counting) Embed(_ context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	c.mu.Lock()
	c.asked = append(c.asked, slices.Clone(texts))
	c.mu.Unlock()
	rows := make([][]float32, 0, len(texts))
	for i, t := range texts {
		if strings.HasPrefix(t, "bad") {
			return rows, unit.NewTextError(i, t, errors.New("bad text"))
		}
		if strings.HasPrefix(t, "none") {
			rows = append(rows, nil)
			continue
		}
		v := make([]float64, c.f.Dimension)
		for j, b := range []byte(fmt.Sprint(c.f, kind, t)) {
			v[j%len(v)] += math.Sin(float64(j) * float64(b))
		}
		row, err := unit.Scale(v)
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func newCounting(model string, dim int) *counting {
	return &counting{f: index.Fingerprint{Kind: "test", Model: model, Dimension: dim}}
}

func newCache(t *testing.T, inner index.Embedder, dir string, o CacheOptions) *Cache {
	t.Helper()
	c, err := NewCache(inner, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustEmbed(t *testing.T, e index.Embedder, kind index.Kind, texts ...string) [][]float32 {
	t.Helper()
	rows, err := e.Embed(context.Background(), texts, kind)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestCache(t *testing.T) {
	t.Run("EM-10", func(t *testing.T) {
		dir := t.TempDir()
		type request struct {
			e    *counting
			kind index.Kind
			text string
		}
		var requests []request
		other := func(change func(*index.Fingerprint)) *counting {
			c := newCounting("A", 8)
			change(&c.f)
			return c
		}
		for _, e := range []*counting{
			newCounting("A", 8), newCounting("A", 16), newCounting("B", 8),
			other(func(f *index.Fingerprint) { f.Revision = "2" }),
			other(func(f *index.Fingerprint) { f.DocumentPrefix = "p" }),
			other(func(f *index.Fingerprint) { f.QueryPrefix = "p" }), // the same letters, shifted by a field
			other(func(f *index.Fingerprint) { f.Input = "split at 9" }),
		} {
			for _, kind := range []index.Kind{index.KindDocument, index.KindQuery} {
				for _, text := range []string{"returns", "x", "x ", " x"} {
					requests = append(requests, request{e, kind, text})
				}
			}
		}
		for round := range 2 {
			for _, r := range requests {
				got := mustEmbed(t, newCache(t, r.e, dir, CacheOptions{}), r.kind, r.text)
				want := mustEmbed(t, &counting{f: r.e.f}, r.kind, r.text)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("round %d, %+v %v %q: %s", round, r.e.f, r.kind, r.text, d)
				}
			}
		}
		for _, r := range requests {
			if len(r.e.asked) != 8 {
				t.Errorf("%+v was asked %d times, want 8: once for each request", r.e.f, len(r.e.asked))
			}
		}
	})

	t.Run("equal texts are sent once", func(t *testing.T) {
		e := newCounting("A", 4)
		rows := mustEmbed(t, newCache(t, e, t.TempDir(), CacheOptions{}), index.KindDocument, "a", "b", "a", "none", "none")
		if d := cmp.Diff([][]string{{"a", "b", "none"}}, e.asked); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(mustEmbed(t, newCounting("A", 4), index.KindDocument, "a", "b", "a", "none", "none"), rows); d != "" {
			t.Error(d)
		}
		if rows[0][0] = 9; rows[2][0] == 9 {
			t.Error("rows share memory")
		}
	})

	t.Run("resumes after an error", func(t *testing.T) {
		e, dir := newCounting("A", 4), t.TempDir()
		texts := []string{"a", "b", "a", "c", "bad one", "d"}
		rows, err := newCache(t, e, dir, CacheOptions{Batch: 2}).Embed(context.Background(), texts, index.KindDocument)
		var te *TextError
		if !errors.As(err, &te) || te.Index != 4 || te.Text != "bad one" {
			t.Errorf("error %v, want one about text 4", err)
		}
		if len(rows) != 4 {
			t.Errorf("%d rows, want the 4 before the bad text", len(rows))
		}
		e.asked = nil
		mustEmbed(t, newCache(t, e, dir, CacheOptions{}), index.KindDocument, "a", "b", "c", "d")
		if d := cmp.Diff([][]string{{"d"}}, e.asked); d != "" {
			t.Errorf("asked again: %s", d)
		}
	})

	t.Run("damage is a miss", func(t *testing.T) {
		dir := t.TempDir()
		want := mustEmbed(t, newCache(t, newCounting("A", 4), dir, CacheOptions{}), index.KindDocument, "a", "b", "none")
		paths, err := filepath.Glob(filepath.Join(dir, "*.vec"))
		if err != nil || len(paths) != 1 {
			t.Fatal(paths, err)
		}
		sound, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		damage := func(name string, data []byte) {
			if err := os.WriteFile(paths[0], data, 0o666); err != nil {
				t.Fatal(err)
			}
			c := newCache(t, newCounting("A", 4), dir, CacheOptions{})
			if r, err := c.Verify(context.Background()); err != nil || len(r.Faults) == 0 || !errors.Is(r.Faults[0], index.ErrCorrupt) && !errors.Is(r.Faults[0], index.ErrFormat) {
				t.Fatalf("%s: verify reports %+v, %v", name, r, err)
			}
			if d := cmp.Diff(want, mustEmbed(t, c, index.KindDocument, "a", "b", "none")); d != "" {
				t.Fatalf("%s: %s", name, d)
			}
			if c.Stats().Corrupt == 0 {
				t.Fatalf("%s: not counted", name)
			}
			more, _ := filepath.Glob(filepath.Join(dir, "*.vec"))
			for _, p := range more {
				if p != paths[0] {
					_ = os.Remove(p)
				}
			}
		}
		for i := range sound {
			bad := slices.Clone(sound)
			bad[i] ^= 0x20
			damage(fmt.Sprintf("byte %d flipped", i), bad)
			damage(fmt.Sprintf("cut to %d", i), sound[:i])
		}
	})

	t.Run("bounded", func(t *testing.T) {
		dir := t.TempDir()
		c := newCache(t, newCounting("A", 64), dir, CacheOptions{MaxBytes: 4000, Batch: 4})
		for i := range 40 {
			mustEmbed(t, c, index.KindDocument, fmt.Sprint("a", i), fmt.Sprint("b", i))
		}
		r, err := c.Verify(context.Background())
		if err != nil || r.Bytes > 4000 || r.Entries == 0 || len(r.Faults) > 0 || c.Stats().Evicted == 0 {
			t.Errorf("%+v, %v, %+v", r, err, c.Stats())
		}
	})

	t.Run("small packs are merged", func(t *testing.T) {
		e, dir := newCounting("A", 4), t.TempDir()
		c := newCache(t, e, dir, CacheOptions{})
		for i := range 100 {
			mustEmbed(t, c, index.KindQuery, fmt.Sprint(i))
		}
		r, err := c.Verify(context.Background())
		if err != nil || r.Packs > manySmalls || r.Entries != 100 || len(r.Faults) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
		e.asked = nil
		for i := range 100 {
			mustEmbed(t, c, index.KindQuery, fmt.Sprint(i))
		}
		if len(e.asked) != 0 {
			t.Errorf("asked again for %v", e.asked)
		}
	})

	t.Run("shared by caches at once", func(t *testing.T) {
		dir := t.TempDir()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				c, err := NewCache(newCounting("A", 8), dir, CacheOptions{Batch: 3, MaxBytes: 20_000})
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 60 {
					texts := []string{fmt.Sprint(i), fmt.Sprint(i + 1), fmt.Sprint(i + 2)}
					got, err := c.Embed(context.Background(), texts, index.KindDocument)
					want, _ := newCounting("A", 8).Embed(context.Background(), texts, index.KindDocument)
					if d := cmp.Diff(want, got); err != nil || d != "" {
						t.Error(err, d)
						return
					}
				}
			})
		}
		wg.Wait()
		if r, err := VerifyCache(context.Background(), dir); err != nil || len(r.Faults) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})

	t.Run("a full disk costs the entries only", func(t *testing.T) {
		full := &disk.FS{Before: func(op disk.Op, _ string) error {
			if op == disk.OpWrite {
				return errors.New("no space left")
			}
			return nil
		}}
		c := newCache(t, newCounting("A", 4), t.TempDir(), CacheOptions{FS: full})
		if d := cmp.Diff(mustEmbed(t, newCounting("A", 4), index.KindDocument, "a"), mustEmbed(t, c, index.KindDocument, "a")); d != "" {
			t.Error(d)
		}
		if c.Stats().WriteErrors != 1 {
			t.Errorf("stats %+v", c.Stats())
		}
	})

	t.Run("recheck", func(t *testing.T) {
		dir := t.TempDir()
		mustEmbed(t, newCache(t, newCounting("A", 4), dir, CacheOptions{}), index.KindDocument, "a")
		moved := &moving{counting: newCounting("A", 4)}
		_, err := newCache(t, moved, dir, CacheOptions{Recheck: true}).Embed(context.Background(), []string{"a"}, index.KindDocument)
		if err == nil || !strings.Contains(err.Error(), "the model has changed") {
			t.Errorf("error %v", err)
		}
	})
}

// moving is a model that changed behind its name.
type moving struct{ *counting }

func (m *moving) Embed(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	rows, err := m.counting.Embed(ctx, texts, kind)
	for _, r := range rows {
		slices.Reverse(r)
	}
	return rows, err
}

func TestProbe(t *testing.T) {
	ctx := context.Background()
	inner := newCounting("A", 16)
	c := newCache(t, inner, t.TempDir(), CacheOptions{})
	then, err := Probe(ctx, c)
	if err != nil || len(then) != 3 {
		t.Fatal(then, err)
	}
	again, _ := Probe(ctx, c)
	if len(inner.asked) != 2 {
		t.Errorf("%d calls: a probe must not be answered by the cache", len(inner.asked))
	}
	if m := CompareProbes(then, again, 0); m != nil {
		t.Errorf("the same model moved: %+v", m)
	}
	now, _ := Probe(ctx, &moving{newCounting("A", 16)})
	if m := CompareProbes(then, now, 0); len(m) != 3 || m[0].Cosine >= DefaultDrift || m[0].Text != ProbeTexts()[0] {
		t.Errorf("another model: %+v", m)
	}
	now[0] = nil
	if m := CompareProbes(then, now, -1); len(m) != 0 && m[0].Cosine != 0 {
		t.Errorf("a lost vector: %+v", m)
	}
}

func FuzzPack(f *testing.F) {
	k := key(index.Fingerprint{}, index.KindDocument, "a")
	f.Add(encodePack([]cacheKey{k}, [][]float32{{1, 0}}, 2))
	f.Add([]byte(packMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := strings.NewReader(string(data))
		p, keys, err := parsePack("f", r, int64(len(data)))
		if err != nil {
			return
		}
		for i, k := range keys {
			if row, ok := p.read(r, i, k); ok && row != nil && unit.Check(row, p.dim) != nil {
				t.Errorf("row %d is %v", i, row)
			}
		}
	})
}

// limited is an embedder whose input is limited to a number of bytes.
type limited struct {
	*counting
	limit int
}

func (l *limited) TooLong(text string, _ index.Kind) bool { return len(text) > l.limit }

// TestCacheInput: how over-long texts are treated changes the vectors of those alone.
func TestCacheInput(t *testing.T) {
	dir := t.TempDir()
	for i, tt := range []struct {
		input string
		limit int
		asked []string
	}{
		{"", 99, []string{"short", "a long text"}},
		{"split at 8", 8, []string{"a long text"}},
		{"truncate at 8", 8, []string{"a long text"}},
		{"split at 8", 8, nil},
		{"truncate at 3", 3, []string{"short", "a long text"}},
	} {
		e := &limited{newCounting("m", 4), tt.limit}
		e.f.Input = tt.input
		mustEmbed(t, newCache(t, e, dir, CacheOptions{}), index.KindDocument, "short", "a long text")
		var asked []string
		for _, call := range e.asked {
			asked = append(asked, call...)
		}
		if d := cmp.Diff(tt.asked, asked); d != "" {
			t.Errorf("step %d, %q: %s", i, tt.input, d)
		}
	}
}
