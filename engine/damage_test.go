package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/index"
)

// damageFull asks for every byte instead of a sample.
const damageFull = "ASSAY_DAMAGE_FULL"

// small is a corpus whose build is small enough to damage every byte of.
var small = fstest.MapFS{
	"returns.md": {Data: []byte("# Returns\n\n## Conditions\nGoods come back within 7 days of receiving them.\n\n## Refunds\nThe money is sent within 5 working days.\n")},
	"care.md":    {Data: []byte("---\nacl: [staff]\n---\n# Care\nDescale the kettle monthly. Never scrub the pan.\n")},
}

// holdoutGolden has one question on either side.
const holdoutGolden = `schema: assay.golden/v1
name: shop
version: 1
questions:
  - {id: q1, question: Which conditions for goods sent back?, answerable: true, gold: [{doc: returns.md, section: Returns > Conditions}]}
  - {id: q2, question: When is the money of refunds sent?, answerable: true, split: holdout, gold: [{doc: returns.md, section: Returns > Refunds}]}
`

// damaged is a store with what it answers while it is sound.
type damaged struct {
	dir   string
	files []string // with content that anybody reads, sorted
	size  int64
	hits  string
	alloc uint64 // bytes allocated by opening and asking
}

func newDamaged(t *testing.T, prepare func(t *testing.T, e *engine.Engine)) *damaged {
	t.Helper()
	d := &damaged{dir: t.TempDir()}
	e, err := engine.OpenStore(d.dir, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(d.dir, func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() || f.Name() == "LOCK" || f.Name() == ".use" {
			return err
		}
		rel, err := filepath.Rel(d.dir, path)
		d.files = append(d.files, rel)
		if info, ierr := f.Info(); ierr == nil {
			d.size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first one loads what the program keeps
		if d.hits, d.alloc, err = d.ask(t.Context(), engine.Options{}); err != nil || d.hits == "" {
			t.Fatal(d.hits, err)
		}
	}
	if faults, notes, err := e.Check(t.Context()); err != nil || len(faults)+len(notes) > 0 {
		t.Fatal(faults, notes, err)
	}
	return d
}

// ask opens the store and asks questions; alloc is how much memory that took.
func (d *damaged) ask(ctx context.Context, o engine.Options) (hits string, alloc uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		alloc = after.TotalAlloc - before.TotalAlloc
	}()
	e, err := engine.Open(d.dir, o)
	if err != nil {
		return "", 0, err
	}
	var b strings.Builder
	for _, q := range []engine.Query{{Text: "refund money", K: 5}, {Text: "scrub a pan", K: 5, As: []string{"staff"}}} {
		found, err := e.Search(ctx, q)
		if err != nil {
			return "", 0, errors.Join(err, e.Close())
		}
		for _, h := range found {
			fmt.Fprintf(&b, "%s %s %s %v %v %v %q\n", h.Chunk, h.DocVersion, h.Section, h.Score, h.Vector, h.Lexical, h.Text)
		}
	}
	return b.String(), 0, e.Close()
}

// confirm checks the store after a damage called what: it is reported, and never answered from.
func (d *damaged) confirm(t *testing.T, what string) {
	t.Helper()
	faults, notes, err := engine.Check(t.Context(), d.dir, engine.Options{})
	if err == nil && len(faults) == 0 && len(notes) == 0 {
		t.Errorf("%s: check reports nothing", what)
	}
	hits, alloc, err := d.ask(t.Context(), engine.Options{})
	if err == nil && hits != d.hits {
		t.Errorf("%s: it answers, and otherwise than before:\n%s\nbefore:\n%s", what, hits, d.hits)
	}
	if err != nil && !errors.Is(err, index.ErrCorrupt) && !errors.Is(err, index.ErrFormat) && !errors.Is(err, engine.ErrNoLive) && !errors.Is(err, engine.ErrNoBuild) {
		t.Errorf("%s: the error is of no kind that a caller knows: %v", what, err)
	}
	if limit := d.alloc + 4*uint64(d.size) + 1<<20; alloc > limit {
		t.Errorf("%s: opening allocates %d bytes, %d while it was sound", what, alloc, d.alloc)
	}
}

// confirmVerdicts returns a confirm for the files of verdicts: reading them, which is all that check
// does with them, fails. For some, the whole store is checked and asked as well.
func (d *damaged) confirmVerdicts(t *testing.T) func(t *testing.T, what string) {
	t.Helper()
	e, err := engine.OpenStore(d.dir, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	infos, err := e.Builds()
	if err != nil {
		t.Fatal(err)
	}
	build, run := "", ""
	for _, b := range infos {
		for _, v := range b.Verdicts {
			build, run = b.ID, v.Run
		}
	}
	if run == "" {
		t.Fatal("no verdict")
	}
	n, every := 0, 31
	if os.Getenv(damageFull) == "1" {
		every = 499
	}
	return func(t *testing.T, what string) {
		t.Helper()
		if n++; n%every == 1 || !strings.Contains(what, "evaluations") {
			d.confirm(t, what)
			return
		}
		_, _, verr := e.Verdict(build, run)
		live, lerr := e.LiveRecord(build, run)
		_, terr := e.TimesOf(build, run)
		if verr == nil && lerr == nil && terr == nil && live != nil {
			t.Errorf("%s: it is read as if nothing had happened", what)
		}
		if verr != nil && !errors.Is(verr, index.ErrCorrupt) && !errors.Is(verr, index.ErrFormat) {
			t.Errorf("%s: the error is of no kind that a caller knows: %v", what, verr)
		}
	}
}

// flips changes single bytes of the named file; every stride-th one.
func (d *damaged) flips(t *testing.T, name string, stride int, confirm func(t *testing.T, what string)) (n int) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	masks := []byte{0xff}
	if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl") || filepath.Dir(name) == "." {
		masks = []byte{0xff, 0x20, 0x01} // upper and lower case, another digit
	}
	for at := 0; at < len(data); at += stride {
		for _, mask := range masks {
			if _, err := f.WriteAt([]byte{data[at] ^ mask}, int64(at)); err != nil {
				t.Fatal(err)
			}
			confirm(t, fmt.Sprintf("byte %d of %s is %#x, was %#x", at, name, data[at]^mask, data[at]))
			n++
		}
		if _, err := f.WriteAt(data[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			break // one example is enough
		}
	}
	return n
}

// cuts truncates the named file at every 64th byte, or a sample of them, and removes it.
func (d *damaged) cuts(t *testing.T, name string, step int, confirm func(t *testing.T, what string)) (n int) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	defer restore()
	for at := len(data) - len(data)%64; at >= 0; at -= step {
		if at == len(data) {
			continue
		}
		restore()
		if err := os.Truncate(path, int64(at)); err != nil {
			t.Fatal(err)
		}
		confirm(t, fmt.Sprintf("%s is cut at %d of %d bytes", name, at, len(data)))
		n++
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	confirm(t, name+" is removed")
	return n + 1
}

func oneBuild(t *testing.T, e *engine.Engine) {
	t.Helper()
	b, err := e.Build(t.Context(), corpus.FS("test", small, corpus.Options{}), engine.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	override(t, e, b.ID)
	if _, err := e.SetReference(t.Context(), b.ID, engine.Reason{Who: "test", Why: "set up"}); err != nil {
		t.Fatal(err)
	}
}

// twoBuilds is a store with a verdict against a live build.
func twoBuilds(t *testing.T, e *engine.Engine) {
	t.Helper()
	none := engine.EmbedSettings{Kind: "none"}
	a := build(t, e, small, engine.Settings{Embed: none})
	override(t, e, a.ID)
	b := build(t, e, small, engine.Settings{Embed: none, Chunk: chunk.Settings{Max: 800}})
	set, err := golden.Parse("golden.yaml", []byte(holdoutGolden))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Validate(t.Context(), b, set, hit1); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SetReference(t.Context(), b.ID, engine.Reason{Who: "test", Why: "set up"}); err != nil {
		t.Fatal(err)
	}
	override(t, e, b.ID)
}

// TestEveryByte flips the bytes of a store one at a time, cuts its files short and removes them.
// Check reports each damage; the store is then refused or answers as before, in bounded memory.
//
// PE-03.
func TestEveryByte(t *testing.T) {
	full := os.Getenv(damageFull) == "1"
	sample := func(size, points int) int {
		if full {
			return 1
		}
		if testing.Short() || raced {
			points /= 4
		}
		return max(1, size/points)
	}
	run := func(name string, points int, prepare func(*testing.T, *engine.Engine), wanted func(string) bool) {
		t.Run(name, func(t *testing.T) {
			d := newDamaged(t, prepare)
			confirm := d.confirm
			if strings.HasPrefix(name, "verdicts") {
				confirm = d.confirmVerdicts(t)
			}
			flipped, cut := 0, 0
			for _, file := range d.files {
				if !wanted(file) {
					continue
				}
				info, err := os.Stat(filepath.Join(d.dir, file))
				if err != nil {
					t.Fatal(err)
				}
				t.Run(filepath.ToSlash(file), func(t *testing.T) {
					// An odd stride meets every field of a record in turn.
					flipped += d.flips(t, file, sample(int(info.Size()), points)|1, confirm)
					cut += d.cuts(t, file, 64*sample(int(info.Size())/64, points/5), confirm)
				})
			}
			t.Logf("%d files of %d bytes: %d bytes flipped, %d cuts", len(d.files), d.size, flipped, cut)
			if hits, _, err := d.ask(t.Context(), engine.Options{}); err != nil || hits != d.hits {
				t.Errorf("restored it answers %s, %v", hits, err)
			}
		})
	}
	// What says how the last build was made is checked when it is used, and counts as missing then.
	run("store", 60, oneBuild, func(file string) bool { return filepath.Base(file) != "made.json" })
	run("verdicts", 100, twoBuilds, func(file string) bool {
		return strings.Contains(file, "evaluations") || filepath.Dir(file) == "."
	})
}

// TestMissingHistory takes away whole lines of the ledger and whole verdicts, which leaves nothing
// that contradicts itself: check notes what the one tells of the other.
func TestMissingHistory(t *testing.T) {
	store := t.TempDir()
	path := filepath.Join(t.TempDir(), "golden.yaml")
	write(t, path, holdoutGolden)
	set, err := golden.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, store)
	b := build(t, e, shop, engine.Settings{})
	if err := e.Promote(t.Context(), b, validate(t, e, b, hit1)); err != nil {
		t.Fatal(err)
	}
	decisive, err := filepath.Glob(filepath.Join(store, "builds", "*", "evaluations", "*"))
	if err != nil || len(decisive) != 1 {
		t.Fatal(decisive, err)
	}
	if _, err := e.ValidateWith(t.Context(), b.ID, set, hit1, engine.ValidateOptions{EvalOptions: engine.EvalOptions{Split: golden.Holdout}, Who: "test"}); err != nil {
		t.Fatal(err)
	}
	ledger := filepath.Join(store, "ledger.jsonl")
	check := func(what, want string) {
		t.Helper()
		faults, notes, err := e.Check(t.Context())
		if err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %v", what, faults, err)
		}
		if want == "" && len(notes) > 0 || want != "" && (len(notes) != 1 || !strings.Contains(notes[0], want)) {
			t.Errorf("%s: notes %q, want %q", what, notes, want)
		}
	}
	check("a sound store", "")
	whole, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	write(t, ledger, strings.Join(lines[:len(lines)-1], ""))
	check("the last line of the ledger is gone", "no entry tells of the look at the holdout")
	write(t, ledger, string(whole))
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(decisive[0], aside); err != nil {
		t.Fatal(err)
	}
	check("the verdict that made the build live is gone", "the verdict by which it was made live on")
	if err := os.Rename(aside, decisive[0]); err != nil {
		t.Fatal(err)
	}
	check("all of it back", "")
}

// TestUnverified opens a damaged store without looking at checksums, as a caller may choose to:
// the hits may then be wrong, but nothing panics and nothing allocates without bound.
func TestUnverified(t *testing.T) {
	d := newDamaged(t, oneBuild)
	confirm := func(t *testing.T, what string) {
		t.Helper()
		_, alloc, err := d.ask(t.Context(), engine.Options{Verify: engine.VerifyNever})
		if err != nil && !errors.Is(err, index.ErrCorrupt) && !errors.Is(err, index.ErrFormat) && !errors.Is(err, index.ErrEmbedder) {
			t.Errorf("%s: the error is of no kind that a caller knows: %v", what, err)
		}
		if limit := d.alloc + 4*uint64(d.size) + 1<<20; alloc > limit {
			t.Errorf("%s: opening allocates %d bytes, %d while it was sound", what, alloc, d.alloc)
		}
	}
	n := 0
	for _, file := range d.files {
		if !strings.HasPrefix(file, "builds") {
			continue
		}
		info, err := os.Stat(filepath.Join(d.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		stride := 1
		if os.Getenv(damageFull) != "1" {
			stride = max(1, int(info.Size())/150) | 1
		}
		n += d.flips(t, file, stride, confirm)
	}
	t.Logf("%d bytes flipped", n)
}

// TestForeignFiles: what does not belong into a store is named, and nothing else happens.
func TestForeignFiles(t *testing.T) {
	d := newDamaged(t, oneBuild)
	builds, err := filepath.Glob(filepath.Join(d.dir, "builds", "*"))
	if err != nil || len(builds) != 1 {
		t.Fatal(builds, err)
	}
	for name, want := range map[string]string{
		filepath.Join(d.dir, "notes.txt"):            "not part of a store",
		filepath.Join(d.dir, "index.old"):            "not part of a store",
		filepath.Join(d.dir, "LIVE.tmp"):             "left by an interrupted writer",
		filepath.Join(builds[0], "extra.dat"):        "the manifest does not list it",
		filepath.Join(builds[0], "lexical", "a.zap"): "the manifest does not list it",
	} {
		write(t, name, "x")
		faults, notes, err := engine.Check(t.Context(), d.dir, engine.Options{})
		found := notes
		for _, f := range faults {
			found = append(found, f.String())
		}
		if err != nil || !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%s: check says %v, %v; want %q", name, found, err, want)
		}
		if hits, _, err := d.ask(t.Context(), engine.Options{}); err != nil || hits != d.hits {
			t.Errorf("%s: the store answers %s, %v", name, hits, err)
		}
		remove(t, name)
	}
}
