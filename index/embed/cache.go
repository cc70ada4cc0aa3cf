package embed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
	"github.com/seed792a4543/assay/internal/disk"
)

// CacheOptions bound a Cache. The zero value works.
type CacheOptions struct {
	MaxBytes int64 // most bytes on disk; the packs used longest ago go first; 0 means 1 GiB
	// Batch is the number of texts sent to the embedder, and then stored, at a time: what an
	// interruption can lose. 0 means 512.
	Batch int
	// Recheck embeds every hit again and fails if the vector has moved (cosine below
	// 0.9999).
	Recheck bool
	FS      *disk.FS     // nil is the plain file system
	Log     *slog.Logger // nil discards
}

// CacheStats count what a cache did since it was made.
type CacheStats struct {
	Hits, Misses int
	Corrupt      int // entries and packs that were damaged and therefore missed
	Evicted      int // entries removed to keep to MaxBytes
	WriteErrors  int // packs that could not be written; their vectors were returned all the same
}

// CacheReport is what Verify found.
type CacheReport struct {
	Packs, Entries int
	Bytes          int64
	Faults         []error // each an index.ErrCorrupt that names the file
}

// Cache keeps an embedder's vectors in a folder that several builds and processes may share.
// An entry is found by the SHA-256 of everything its vector depends on: each field of the
// fingerprint, the kind and the text, byte for byte and length-prefixed. The vectors returned
// are those of the embedder, bit for bit; a damaged entry counts as missing.
//
// Entries are kept in immutable packs that are written beside and renamed in, so readers and
// writers need no lock. Within one call equal texts are sent once. Safe for concurrent use.
type Cache struct {
	inner index.Embedder
	dir   string
	o     CacheOptions

	mu    sync.Mutex // guards what follows
	packs map[string]*pack
	where map[cacheKey]location
	stats CacheStats
}

type cacheKey = [sha256.Size]byte

type location struct {
	pack *pack
	row  int
}

// NewCache returns inner with a cache in dir, which is made if it is missing.
func NewCache(inner index.Embedder, dir string, o CacheOptions) (*Cache, error) {
	if o.MaxBytes < 0 || o.Batch < 0 {
		return nil, fmt.Errorf("embedding cache %s: max bytes %d, batch %d: must not be negative", dir, o.MaxBytes, o.Batch)
	}
	o.MaxBytes, o.Batch = cmp.Or(o.MaxBytes, 1<<30), cmp.Or(o.Batch, 512)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.FS.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("embedding cache: %w", err)
	}
	c := &Cache{inner: inner, dir: dir, o: o, packs: map[string]*pack{}, where: map[cacheKey]location{}}
	c.sweep()
	return c, nil
}

// sweep removes what crashed writers left, once it is too old to be in use.
func (c *Cache) sweep() {
	left, _ := filepath.Glob(filepath.Join(c.dir, packPrefix+"*.tmp"))
	for _, path := range left {
		if st, err := os.Stat(path); err == nil && time.Since(st.ModTime()) > time.Hour {
			_ = c.o.FS.RemoveAll(path) // the next process tries again
		}
	}
}

// Fingerprint implements index.Embedder; it is the inner embedder's.
func (c *Cache) Fingerprint() index.Fingerprint { return c.inner.Fingerprint() }

// Prepare implements Preparer.
func (c *Cache) Prepare(ctx context.Context) error { return Prepare(ctx, c.inner) }

// Unwrap returns the embedder behind the cache.
func (c *Cache) Unwrap() index.Embedder { return c.inner }

// Stats returns what the cache did so far.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// sent returns the fingerprint as far as the vector of one text depends on it: how over-long texts
// are treated matters to those alone.
func (c *Cache) sent(f index.Fingerprint, text string, kind index.Kind) index.Fingerprint {
	if e, ok := c.inner.(interface {
		TooLong(text string, kind index.Kind) bool
	}); ok && !e.TooLong(text, kind) {
		f.Input = ""
	}
	return f
}

// key hashes everything a vector depends on.
func key(f index.Fingerprint, kind index.Kind, text string) cacheKey {
	h := sha256.New()
	for _, s := range []string{"assay.vector/1", f.Kind, f.Model, f.Revision, strconv.Itoa(f.Dimension),
		f.DocumentPrefix, f.QueryPrefix, f.Input, kind.String(), text} {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(s))) // a hash does not fail
		_, _ = h.Write([]byte(s))
	}
	return cacheKey(h.Sum(nil))
}

// Embed implements index.Embedder.
func (c *Cache) Embed(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	if err := c.Prepare(ctx); err != nil {
		return nil, err
	}
	f := c.inner.Fingerprint()
	rows, have := make([][]float32, len(texts)), make([]bool, len(texts))
	keys := make([]cacheKey, len(texts))
	for i, t := range texts {
		keys[i] = key(c.sent(f, t, kind), kind, t)
	}
	c.lookup(keys, f.Dimension, rows, have)
	if c.o.Recheck {
		if err := c.recheck(ctx, texts, kind, rows, have); err != nil {
			return nil, err
		}
	}
	var missing []int // first occurrence of each text that is not there
	first := map[cacheKey]int{}
	for i, k := range keys {
		if _, seen := first[k]; !have[i] && !seen {
			first[k] = i
			missing = append(missing, i)
		}
	}
	var failed error
	for part := range slices.Chunk(missing, c.o.Batch) {
		ask := make([]string, len(part))
		for j, i := range part {
			ask[j] = texts[i]
		}
		got, err := c.inner.Embed(ctx, ask, kind)
		if err == nil && len(got) != len(ask) {
			err = fmt.Errorf("embedder %s returned %d vectors for %d texts", f.Model, len(got), len(ask))
			got = nil
		}
		got = got[:min(len(got), len(ask))]
		ks := make([]cacheKey, len(got))
		for j := range got {
			i := part[j]
			rows[i], have[i], ks[j] = got[j], true, keys[i]
		}
		c.store(ctx, ks, got, c.inner.Fingerprint().Dimension)
		if err != nil {
			failed = original(err, part, texts)
			break
		}
	}
	c.mu.Lock()
	c.stats.Misses += len(missing)
	c.stats.Hits += len(texts) - len(missing)
	c.mu.Unlock()
	for i := range texts {
		if have[i] {
			continue
		}
		if j := first[keys[i]]; j < i && have[j] {
			rows[i] = slices.Clone(rows[j])
			continue
		}
		return rows[:i], failed
	}
	return rows, failed
}

// original makes a TextError about one of the texts asked for speak of the caller's texts.
func original(err error, part []int, texts []string) error {
	var t *TextError
	if errors.As(err, &t) && t.Index >= 0 && t.Index < len(part) {
		i := part[t.Index]
		return unit.NewTextError(i, texts[i], t.Err)
	}
	return err
}

func (c *Cache) recheck(ctx context.Context, texts []string, kind index.Kind, rows [][]float32, have []bool) error {
	var at []int
	var ask []string
	for i := range texts {
		if have[i] {
			at, ask = append(at, i), append(ask, texts[i])
		}
	}
	got, err := c.inner.Embed(ctx, ask, kind)
	if err != nil {
		return original(err, at, texts)
	}
	for j, i := range at {
		if (got[j] == nil) != (rows[i] == nil) || got[j] != nil && unit.Cosine(got[j], rows[i]) < 0.9999 {
			return unit.NewTextError(i, texts[i], fmt.Errorf("the cached vector differs from a new one (cosine %.4f): the model has changed behind its name: delete %s", unit.Cosine(got[j], rows[i]), c.dir))
		}
	}
	return nil
}

// lookup fills in the rows it finds. Packs that other processes added are noticed when
// something is missing.
func (c *Cache) lookup(keys []cacheKey, dim int, rows [][]float32, have []bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		if _, ok := c.where[k]; !ok {
			c.scan()
			break
		}
	}
	byPack := map[*pack][]int{}
	for i, k := range keys {
		if at, ok := c.where[k]; ok && at.pack.dim == dim {
			byPack[at.pack] = append(byPack[at.pack], i)
		}
	}
	for p, at := range byPack {
		c.read(p, at, keys, rows, have)
	}
}

func (c *Cache) read(p *pack, at []int, keys []cacheKey, rows [][]float32, have []bool) {
	f, err := os.Open(filepath.Join(c.dir, p.name))
	if err != nil { // evicted by another process
		c.forget(p)
		return
	}
	defer f.Close()
	for _, i := range at {
		row, ok := p.read(f, c.where[keys[i]].row, keys[i])
		if !ok {
			c.stats.Corrupt++
			delete(c.where, keys[i])
			continue
		}
		rows[i], have[i] = row, true
	}
	if !p.used { // its age in days is what eviction goes by; once per process is enough
		p.used = true
		now := time.Now()
		_ = os.Chtimes(filepath.Join(c.dir, p.name), now, now)
	}
}

func (c *Cache) forget(p *pack) {
	delete(c.packs, p.name)
	for k, at := range c.where {
		if at.pack == p {
			delete(c.where, k)
		}
	}
}

// scan reads the keys of packs that are new in the folder.
func (c *Cache) scan() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		c.o.Log.Warn("the embedding cache cannot be listed", "error", err)
		return
	}
	for _, e := range entries {
		name := e.Name()
		if c.packs[name] != nil || !isPack(name) {
			continue
		}
		p, keys, err := openPack(c.dir, name)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				c.stats.Corrupt++
				c.packs[name] = &pack{name: name} // not again in this process
				c.o.Log.Warn("an embedding cache pack is unusable; its vectors are made again", "error", err)
			}
			continue
		}
		c.add(p, keys)
	}
}

func (c *Cache) add(p *pack, keys []cacheKey) {
	c.packs[p.name] = p
	for row, k := range keys {
		if _, ok := c.where[k]; !ok {
			c.where[k] = location{p, row}
		}
	}
}

// store writes one pack. A failure costs the entries, not the caller.
func (c *Cache) store(ctx context.Context, keys []cacheKey, rows [][]float32, dim int) {
	if len(keys) == 0 || dim == 0 {
		return
	}
	for _, row := range rows {
		if row != nil && unit.Check(row, dim) != nil {
			return // a row that breaks the contract shall not outlive the call
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, sorted, err := c.write(keys, rows, dim)
	if err != nil {
		c.stats.WriteErrors++
		c.o.Log.WarnContext(ctx, "vectors could not be cached", "error", err)
		return
	}
	c.add(p, sorted)
	c.compact(dim)
	c.evict(p.name)
}

func (c *Cache) write(keys []cacheKey, rows [][]float32, dim int) (*pack, []cacheKey, error) {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return bytes.Compare(keys[i][:], keys[j][:]) })
	ks, rs := make([]cacheKey, len(keys)), make([][]float32, len(keys))
	for to, from := range order {
		ks[to], rs[to] = keys[from], rows[from]
	}
	var id [12]byte
	_, _ = rand.Read(id[:]) // does not fail
	name := packPrefix + hex.EncodeToString(id[:]) + packSuffix
	data := encodePack(ks, rs, dim)
	if err := c.o.FS.WriteFile(filepath.Join(c.dir, name), data); err != nil {
		return nil, nil, err
	}
	return &pack{name: name, dim: dim, count: len(ks), size: int64(len(data)), used: true}, ks, nil
}

const (
	smallPack  = 32 // entries; single queries make packs of 1
	manySmalls = 64 // small packs before they are merged
)

// compact merges small packs of one dimension into one.
func (c *Cache) compact(dim int) {
	var small []*pack
	for _, p := range c.packs {
		if p.dim == dim && p.count > 0 && p.count <= smallPack {
			small = append(small, p)
		}
	}
	if len(small) < manySmalls {
		return
	}
	slices.SortFunc(small, func(a, b *pack) int { return cmp.Compare(a.name, b.name) })
	var keys []cacheKey
	var rows [][]float32
	seen := map[cacheKey]bool{}
	for _, p := range small {
		_, ks, err := openPack(c.dir, p.name)
		if err != nil {
			continue
		}
		f, err := os.Open(filepath.Join(c.dir, p.name))
		if err != nil {
			continue
		}
		for i, k := range ks {
			if row, ok := p.read(f, i, k); ok && !seen[k] {
				seen[k] = true
				keys, rows = append(keys, k), append(rows, row)
			}
		}
		_ = f.Close()
	}
	if len(keys) == 0 {
		return
	}
	merged, sorted, err := c.write(keys, rows, dim)
	if err != nil {
		c.stats.WriteErrors++
		return
	}
	for _, p := range small {
		c.forget(p)
		_ = c.o.FS.RemoveAll(filepath.Join(c.dir, p.name)) // a leftover is a duplicate
	}
	c.add(merged, sorted)
}

// evict removes the packs used longest ago until the folder is within its bound, sparing keep.
func (c *Cache) evict(keep string) {
	type aged struct {
		name string
		size int64
		at   time.Time
	}
	var all []aged
	var total int64
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && isPack(e.Name()) {
			all = append(all, aged{e.Name(), st.Size(), st.ModTime()})
			total += st.Size()
		}
	}
	if total <= c.o.MaxBytes {
		return
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.name, b.name)) })
	for _, a := range all {
		if total <= c.o.MaxBytes-c.o.MaxBytes/10 {
			return
		}
		if a.name == keep || c.o.FS.RemoveAll(filepath.Join(c.dir, a.name)) != nil {
			continue
		}
		total -= a.size
		if p := c.packs[a.name]; p != nil {
			c.stats.Evicted += p.count
			c.forget(p)
		}
	}
}

// Verify reads every pack and reports each damaged one or entry. The error is ctx's, or that
// of listing the folder; damage is in the report.
func (c *Cache) Verify(ctx context.Context) (CacheReport, error) { return VerifyCache(ctx, c.dir) }

// VerifyCache is Cache.Verify for a folder.
func VerifyCache(ctx context.Context, dir string) (CacheReport, error) {
	var r CacheReport
	entries, err := os.ReadDir(dir)
	if err != nil {
		return r, fmt.Errorf("verify the embedding cache: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if !isPack(e.Name()) {
			continue
		}
		r.Packs++
		p, keys, err := openPack(dir, e.Name())
		if err != nil {
			r.Faults = append(r.Faults, err)
			continue
		}
		r.Entries += p.count
		r.Bytes += p.size
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			r.Faults = append(r.Faults, &index.CorruptError{File: filepath.Join(dir, e.Name()), Reason: err.Error()})
			continue
		}
		for i, k := range keys {
			if _, ok := p.read(f, i, k); !ok {
				r.Faults = append(r.Faults, &index.CorruptError{File: filepath.Join(dir, e.Name()), Reason: fmt.Sprintf("entry %d does not match its checksum", i)})
			}
		}
		_ = f.Close()
	}
	return r, nil
}
