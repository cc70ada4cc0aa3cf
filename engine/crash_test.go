//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/disk"
)

// Environment of the process that is killed, and of whoever wants every point.
const (
	crashOpEnv  = "ASSAY_CRASH_OP"
	crashDirEnv = "ASSAY_CRASH_DIR"
	crashAtEnv  = "ASSAY_CRASH_AT"   // 0 counts
	crashFull   = "ASSAY_CRASH_FULL" // 1: every point, not a sample
)

// answersChange is the name of the change that keeps a model's answers, which no state shows.
const answersChange = "answers of a model"

// sampleStart is where a sample of every stride-th point begins, from 1 on. It moves by one with each
// day, so that in time every point is tried; ASSAY_CRASH_SEED fixes it to try one day's sample
// again.
func sampleStart(t *testing.T, stride int) int {
	t.Helper()
	seed := int(time.Now().Unix() / (24 * 60 * 60))
	if s := os.Getenv("ASSAY_CRASH_SEED"); s != "" {
		var err error
		if seed, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	if stride > 1 {
		t.Logf("a sample: every %d. point (ASSAY_CRASH_SEED=%d)", stride, seed)
	}
	return 1 + seed%stride
}

// change is an operation of the crash matrix: something that writes. prepare makes the folder it
// starts from; run makes the change and must be able to make it again after an interruption.
type change struct {
	name    string
	prepare func(t *testing.T, dir string)
	run     func(ctx context.Context, dir string, fsys *disk.FS) error
	damaged bool // the store it starts from is not sound, so it may not be so afterwards
}

var (
	wide  = engine.Settings{Chunk: chunk.Settings{Max: 800}}
	wider = engine.Settings{Chunk: chunk.Settings{Max: 700}}
	exact = engine.Settings{Embed: engine.EmbedSettings{Kind: "none"}}
)

// crashStore returns the store of a crash folder, without opening its live build.
func crashStore(dir string, fsys *disk.FS) (*engine.Engine, error) {
	return engine.OpenStore(filepath.Join(dir, "store"), engine.WithDisk(engine.Options{}, fsys))
}

// prepared takes the store of a crash folder through steps.
func prepared(t *testing.T, dir string, steps ...func(*engine.Engine)) {
	t.Helper()
	e, err := crashStore(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		step(e)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func crashBuild(ctx context.Context, e *engine.Engine, s engine.Settings) (*engine.Build, error) {
	return e.Build(ctx, corpus.FS("test", shop, corpus.Options{}), s)
}

// buildNamed finds the build with these settings among those of the store.
func buildNamed(e *engine.Engine, s engine.Settings) (*engine.Build, error) {
	infos, err := e.Builds()
	if err != nil {
		return nil, err
	}
	for _, b := range infos {
		if b.Err != nil {
			continue
		}
		var have engine.Settings
		if err := json.Unmarshal(b.Manifest.Settings, &have); err != nil {
			return nil, err
		}
		if have.Chunk.Max == s.WithDefaults().Chunk.Max && have.Embed.Kind == s.WithDefaults().Embed.Kind {
			return &engine.Build{ID: b.ID, Manifest: b.Manifest}, nil
		}
	}
	return nil, fmt.Errorf("%w: %+v", engine.ErrNoBuild, s)
}

func crashValidate(ctx context.Context, e *engine.Engine, s engine.Settings) error {
	b, err := buildNamed(e, s)
	if err != nil {
		return err
	}
	set, err := golden.Parse("golden.yaml", []byte(shopGolden))
	if err != nil {
		return err
	}
	_, err = e.Validate(ctx, b, set, hit1)
	return err
}

func crashPromote(ctx context.Context, e *engine.Engine, s engine.Settings) error {
	b, err := buildNamed(e, s)
	if err != nil {
		return err
	}
	v, _, err := e.Verdict(b.ID, "")
	if err != nil {
		return err
	}
	return e.Promote(ctx, b, v)
}

func changes() []change {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// Steps of preparation.
	made := func(t *testing.T, s engine.Settings) func(*engine.Engine) {
		return func(e *engine.Engine) { _, err := crashBuild(t.Context(), e, s); must(t, err) }
	}
	judged := func(t *testing.T, s engine.Settings) func(*engine.Engine) {
		return func(e *engine.Engine) { must(t, crashValidate(t.Context(), e, s)) }
	}
	live := func(t *testing.T, s engine.Settings) func(*engine.Engine) {
		return func(e *engine.Engine) { must(t, crashPromote(t.Context(), e, s)) }
	}
	referenced := func(t *testing.T, s engine.Settings) func(*engine.Engine) {
		return func(e *engine.Engine) {
			b, err := buildNamed(e, s)
			must(t, err)
			_, err = e.SetReference(t.Context(), b.ID, engine.Reason{Who: "test", Why: "set up"})
			must(t, err)
		}
	}
	first := engine.Settings{}
	withLive := func(t *testing.T, dir string) {
		prepared(t, dir, made(t, first), judged(t, first), live(t, first))
	}
	withCandidate := func(t *testing.T, dir string) {
		withLive(t, dir)
		prepared(t, dir, made(t, wide))
	}
	withJudged := func(t *testing.T, dir string) {
		withCandidate(t, dir)
		prepared(t, dir, judged(t, wide))
	}
	withTwo := func(t *testing.T, dir string) {
		withJudged(t, dir)
		prepared(t, dir, live(t, wide), made(t, wider), made(t, exact), judged(t, wider), referenced(t, first))
	}
	onStore := func(run func(ctx context.Context, e *engine.Engine) error) func(context.Context, string, *disk.FS) error {
		return func(ctx context.Context, dir string, fsys *disk.FS) error {
			e, err := crashStore(dir, fsys)
			if err != nil {
				return err
			}
			return errors.Join(run(ctx, e), e.Close())
		}
	}
	return []change{
		{name: "first build", prepare: func(*testing.T, string) {}, run: onStore(func(ctx context.Context, e *engine.Engine) error {
			_, err := crashBuild(ctx, e, first)
			return err
		})},
		{name: "build beside the live one", prepare: withLive, run: onStore(func(ctx context.Context, e *engine.Engine) error {
			_, err := crashBuild(ctx, e, wide)
			return err
		})},
		{name: "build again", prepare: withLive, run: onStore(func(ctx context.Context, e *engine.Engine) error {
			_, err := crashBuild(ctx, e, first)
			return err
		})},
		{name: "build with an embedder and its cache", prepare: withLive, run: func(ctx context.Context, dir string, fsys *disk.FS) error {
			e, err := engine.OpenStore(filepath.Join(dir, "store"), engine.WithDisk(engine.Options{Embedder: letters{}}, fsys))
			if err != nil {
				return err
			}
			_, err = crashBuild(ctx, e, engine.Settings{Embed: engine.EmbedSettings{Kind: "command", Command: []string{"true"}}})
			return errors.Join(err, e.Close())
		}},
		{name: "mend a damaged build", damaged: true, prepare: func(t *testing.T, dir string) {
			withLive(t, dir)
			for _, name := range []string{"documents.dat", "vectors.dat", "lexical/postings.bin"} {
				paths, err := filepath.Glob(filepath.Join(dir, "store", "builds", "*", name))
				if err != nil || len(paths) != 1 {
					t.Fatal(paths, err)
				}
				flip(t, paths[0], -10)
			}
		}, run: onStore(func(ctx context.Context, e *engine.Engine) error {
			_, err := crashBuild(ctx, e, first)
			return err
		})},
		{name: "first verdict", prepare: func(t *testing.T, dir string) { prepared(t, dir, made(t, first)) },
			run: onStore(func(ctx context.Context, e *engine.Engine) error { return crashValidate(ctx, e, first) })},
		{name: "verdict against the live build", prepare: withCandidate,
			run: onStore(func(ctx context.Context, e *engine.Engine) error { return crashValidate(ctx, e, wide) })},
		{name: "verdict again", prepare: withJudged,
			run: onStore(func(ctx context.Context, e *engine.Engine) error { return crashValidate(ctx, e, wide) })},
		{name: "look at the holdout", prepare: func(t *testing.T, dir string) {
			withLive(t, dir)
			write(t, filepath.Join(dir, "golden.yaml"), holdoutGolden)
		}, run: func(ctx context.Context, dir string, fsys *disk.FS) error {
			if err := crashLooks(dir); err != nil {
				return err
			}
			e, err := crashStore(dir, fsys)
			if err != nil {
				return err
			}
			set, err := golden.Parse("golden.yaml", []byte(holdoutGolden))
			if err != nil {
				return err
			}
			set.Path = filepath.Join(dir, "golden.yaml")
			b, err := buildNamed(e, first)
			if err != nil {
				return err
			}
			_, err = e.ValidateWith(ctx, b.ID, set, hit1, engine.ValidateOptions{EvalOptions: engine.EvalOptions{Split: golden.Holdout}, Who: "test"})
			return errors.Join(err, e.Close(), crashLooks(dir))
		}},
		{name: "first promotion", prepare: func(t *testing.T, dir string) { prepared(t, dir, made(t, first), judged(t, first)) },
			run: onStore(func(ctx context.Context, e *engine.Engine) error { return crashPromote(ctx, e, first) })},
		{name: "promotion", prepare: withJudged,
			run: onStore(func(ctx context.Context, e *engine.Engine) error { return crashPromote(ctx, e, wide) })},
		{name: "rollback", prepare: withTwo, run: onStore(func(ctx context.Context, e *engine.Engine) error {
			b, err := buildNamed(e, first)
			if err != nil {
				return err
			}
			_, err = e.Rollback(ctx, b.ID, engine.Reason{Who: "test"})
			return err
		})},
		{name: "reference", prepare: withTwo, run: onStore(func(ctx context.Context, e *engine.Engine) error {
			b, err := buildNamed(e, wide)
			if err != nil {
				return err
			}
			_, err = e.SetReference(ctx, b.ID, engine.Reason{Who: "test", Why: "moved"})
			return err
		})},
		{name: "gc", prepare: withTwo, run: onStore(func(ctx context.Context, e *engine.Engine) error {
			_, _, err := e.GC(ctx, 0, false)
			return err
		})},
		{name: "freeze", prepare: func(t *testing.T, dir string) {
			withLive(t, dir)
			write(t, filepath.Join(dir, "golden.yaml"), shopGolden)
			must(t, crashFreeze(t.Context(), dir, nil))
			write(t, filepath.Join(dir, "golden.yaml"), strings.Replace(shopGolden, "version: 1", "version: 2", 1))
		}, run: crashFreeze},
		{name: answersChange, prepare: withLive, run: func(ctx context.Context, dir string, fsys *disk.FS) error {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"model": "m", "choices": [{"message": {"role": "assistant", "content": "Within 7 days [1]."}, "finish_reason": "stop"}]}`)
			}))
			defer server.Close()
			o := engine.Options{Answer: &engine.AnswerSettings{Kind: "chat", URL: server.URL + "/v1", Model: "m"}}
			e, err := engine.OpenStore(filepath.Join(dir, "store"), engine.WithDisk(o, fsys))
			if err != nil {
				return err
			}
			set, err := golden.Parse("golden.yaml", []byte(shopGolden))
			if err != nil {
				return err
			}
			_, err = e.Answers(ctx, set, engine.AnswersOptions{})
			return errors.Join(err, e.Close())
		}},
		{name: "review", prepare: func(t *testing.T, dir string) {
			withLive(t, dir)
			must(t, crashReview(dir, nil, "q1"))
		}, run: func(_ context.Context, dir string, fsys *disk.FS) error { return crashReview(dir, fsys, "q2") }},
	}
}

// crashLooks confirms that every verdict on the holdout comes with a look in the ledger beside the
// set, which must be readable.
func crashLooks(dir string) error {
	ledger, err := golden.ReadLedger(filepath.Join(dir, "golden.looks.jsonl"))
	if err != nil {
		return err
	}
	records, err := filepath.Glob(filepath.Join(dir, "store", "builds", "*", "evaluations", "*", "record.json"))
	if err != nil {
		return err
	}
	for _, path := range records {
		rec, err := evalkit.ReadRecord(filepath.Dir(path))
		if err != nil {
			return err
		}
		if rec.Evaluation.Split == golden.Holdout && len(ledger.Looks) == 0 {
			return fmt.Errorf("%s: a verdict on the holdout without a look", path)
		}
	}
	return nil
}

func crashFreeze(ctx context.Context, dir string, fsys *disk.FS) error {
	path := filepath.Join(dir, "golden.yaml")
	set, err := golden.Load(path)
	if err != nil {
		return err
	}
	docs, err := corpus.FS("test", shop, corpus.Options{}).Load(ctx)
	if err != nil {
		return err
	}
	lock, err := golden.Freeze(set, docs)
	if err != nil {
		return err
	}
	return lock.Write(fsys, golden.LockPath(path))
}

func crashReview(dir string, fsys *disk.FS, question string) error {
	path := filepath.Join(dir, "review.yaml")
	f, err := review.Load(path)
	if index.IsMissing(err) {
		f, err = &review.File{}, nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(f.Decisions, func(d review.Decision) bool { return d.Question == question }) {
		return nil
	}
	if err := f.Add(review.Decision{
		Question: question, Decision: review.Regression, Author: "test", Reason: "seen", Date: "2026-04-01",
	}); err != nil {
		return err
	}
	return f.Write(fsys, path)
}

// letters embeds a text as its counts of letters.
type letters struct{}

func (letters) Fingerprint() index.Fingerprint {
	return index.Fingerprint{Kind: "test", Model: "letters", Dimension: 26}
}

func (letters) Embed(_ context.Context, texts []string, _ index.Kind) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		row := make([]float32, 26)
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				row[r-'a']++
			}
		}
		length := 0.0
		for _, x := range row {
			length += float64(x) * float64(x)
		}
		for j := range row {
			row[j] = float32(float64(row[j]) / math.Sqrt(length))
		}
		out[i] = row
	}
	return out, nil
}

// TestCrashHelper is the process that is killed; by itself it does nothing.
func TestCrashHelper(t *testing.T) {
	name := os.Getenv(crashOpEnv)
	if name == "" {
		t.Skip("helper of TestCrash")
	}
	at, err := strconv.Atoi(os.Getenv(crashAtEnv))
	if err != nil {
		t.Fatal(err)
	}
	die := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {} // the signal may reach another thread first
	}
	var n atomic.Int64
	step := func() bool { return int(n.Add(1)) == at }
	fsys := &disk.FS{
		Before: func(disk.Op, string) error {
			if step() {
				die()
			}
			return nil
		},
		// A write is killed in its middle as well as before it.
		Write: func(_ string, p []byte, write func([]byte) (int, error)) (int, error) {
			if step() {
				if _, err := write(p[:len(p)/2]); err != nil {
					return 0, err
				}
				die()
			}
			return write(p)
		},
	}
	for _, c := range changes() {
		if c.name == name {
			if err := c.run(t.Context(), os.Getenv(crashDirEnv), fsys); err != nil {
				t.Fatal(err)
			}
			fmt.Printf("steps=%d\n", n.Load())
			return
		}
	}
	t.Fatalf("no operation %q", name)
}

// runHelper runs one operation in a process of its own and returns the number of its steps, or
// killed.
func runHelper(ctx context.Context, name, dir string, at int) (steps int, killed bool, err error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCrashHelper$", "-test.count=1")
	cmd.Env = append(os.Environ(), crashOpEnv+"="+name, crashDirEnv+"="+dir, crashAtEnv+"="+strconv.Itoa(at))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
			return 0, true, nil
		}
	}
	if err != nil {
		return 0, false, fmt.Errorf("%w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if s, ok := strings.CutPrefix(strings.TrimSpace(line), "steps="); ok {
			steps, err = strconv.Atoi(s)
			return steps, false, err
		}
	}
	return 0, false, fmt.Errorf("no count of steps in %q", out)
}

// state is what must survive: the pointers, the builds and their verdicts, the ledger, the files
// beside the store.
type state struct {
	Live, Reference string
	Builds          map[string][]string // verdicts by build
	Hits            map[string]string   // answers by build
	Ledger          []string
	Files           map[string]string // beside the store
}

var crashQueries = []string{"refund money", "descale the kettle", "board window"}

// stateOf reads the store in a fresh engine.
func stateOf(ctx context.Context, dir string) (s state, err error) {
	e, err := crashStore(dir, nil)
	if err != nil {
		return s, err
	}
	s = state{Builds: map[string][]string{}, Hits: map[string]string{}, Files: map[string]string{}}
	infos, err := e.Builds()
	if err != nil {
		return s, err
	}
	for _, b := range infos {
		if b.Live {
			s.Live = b.ID
		}
		if b.Reference {
			s.Reference = b.ID
		}
		if b.Err != nil {
			s.Builds[b.ID] = []string{b.Err.Error()}
			continue
		}
		s.Builds[b.ID] = []string{}
		for _, v := range b.Verdicts {
			_, rec, err := e.Verdict(b.ID, v.Run)
			if err != nil {
				return s, err
			}
			s.Builds[b.ID] = append(s.Builds[b.ID], v.Run+" "+v.Verdict+" "+rec.Digest)
		}
		o := engine.Options{}
		if b.Manifest.Embedder != nil && b.Manifest.Embedder.Model == "letters" {
			o.Embedder = letters{}
		}
		reader, err := engine.OpenStore(filepath.Join(dir, "store"), o)
		if err != nil {
			return s, err
		}
		for _, q := range crashQueries {
			resp, err := reader.QueryBuild(ctx, b.ID, engine.Query{Text: q, K: 5})
			if err != nil {
				s.Hits[b.ID] += err.Error()
				continue
			}
			for _, h := range resp.Hits {
				s.Hits[b.ID] += fmt.Sprintf("%s %v; ", h.Chunk, h.Score)
			}
		}
	}
	entries, err := e.Ledger()
	if err != nil {
		return s, err
	}
	for _, l := range entries {
		s.Ledger = append(s.Ledger, l.Action+" "+l.Build+" "+l.From)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return s, err
	}
	for _, f := range names {
		if f.IsDir() || strings.HasSuffix(f.Name(), ".tmp") || strings.HasSuffix(f.Name(), ".jsonl") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return s, err
		}
		s.Files[f.Name()] = string(data)
	}
	return s, nil
}

// afterCrash is what a store may look like between two states.
func afterCrash(ctx context.Context, c *change, dir string, before, after state) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	store := filepath.Join(dir, "store")
	if _, err := os.Stat(store); err == nil {
		faults, _, err := engine.Check(ctx, store, engine.Options{})
		if err != nil || len(faults) > 0 && !c.damaged {
			fail("check: %v, %v", faults, err)
		}
	}
	now, err := stateOf(ctx, dir)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if now.Live != before.Live && now.Live != after.Live {
		fail("live is %q, was %q, becomes %q", now.Live, before.Live, after.Live)
	}
	if now.Reference != before.Reference && now.Reference != after.Reference {
		fail("reference is %q, was %q, becomes %q", now.Reference, before.Reference, after.Reference)
	}
	if before.Live != "" && !c.damaged {
		// The live build answers, and what it did before.
		e, err := engine.Open(store, engine.Options{})
		if err != nil {
			fail("open: %v", err)
		} else {
			if resp, err := e.Query(ctx, engine.Query{Text: crashQueries[0], K: 5}); err != nil || resp.Build != now.Live || len(resp.Hits) == 0 {
				fail("the live build answers %v, %v", resp, err)
			}
			if err := e.Close(); err != nil {
				fail("close: %v", err)
			}
		}
		if now.Hits[before.Live] != before.Hits[before.Live] {
			fail("hits of build %s are %s, were %s", before.Live, now.Hits[before.Live], before.Hits[before.Live])
		}
	}
	for id, have := range now.Builds {
		was, ok := before.Builds[id]
		becomes, stays := after.Builds[id]
		if !ok && !stays {
			fail("build %s comes from nowhere", id)
		}
		for _, v := range have {
			if !slices.Contains(was, v) && !slices.Contains(becomes, v) {
				fail("build %s: verdict %s comes from nowhere", id, v)
			}
		}
	}
	for id, was := range before.Builds {
		have, ok := now.Builds[id]
		if _, stays := after.Builds[id]; !ok && stays {
			fail("build %s is lost", id)
		}
		for _, v := range was {
			if ok && !slices.Contains(have, v) {
				fail("build %s: verdict %s is lost; it has %v", id, v, have)
			}
		}
	}
	if n := len(before.Ledger); len(now.Ledger) < n || !slices.Equal(now.Ledger[:n], before.Ledger) {
		fail("ledger is %v, was %v", now.Ledger, before.Ledger)
	} else if len(now.Ledger) > len(after.Ledger) || !slices.Equal(now.Ledger, after.Ledger[:len(now.Ledger)]) {
		fail("ledger is %v, becomes %v", now.Ledger, after.Ledger)
	}
	for name, data := range now.Files {
		if data != before.Files[name] && data != after.Files[name] {
			fail("%s is neither the old file nor the new:\n%s", name, data)
		}
	}
	for name := range before.Files {
		if _, ok := now.Files[name]; !ok {
			fail("%s is lost", name)
		}
	}

	// The operation can be made again, and the next one works.
	if err := c.run(ctx, dir, nil); err != nil {
		return errors.Join(append(errs, fmt.Errorf("again: %w", err))...)
	}
	again, err := stateOf(ctx, dir)
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("again: %w", err))...)
	}
	again.Ledger, after.Ledger = nil, nil // an entry may stand there twice: once for each try
	if diff := cmp.Diff(after, again); diff != "" {
		fail("made again it differs (-uninterrupted +again):\n%s", diff)
	}
	e, err := crashStore(dir, nil)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if _, err := e.Build(ctx, corpus.FS("test", fstest.MapFS{"next.md": {Data: []byte("# Next\nThe next build.\n")}}, corpus.Options{}), exact); err != nil {
		fail("the next build: %v", err)
	}
	faults, notes, err := e.Check(ctx)
	if err != nil || len(faults) > 0 || len(notes) > 0 {
		fail("check in the end: %v, %v, %v", faults, notes, err)
	}
	return errors.Join(append(errs, e.Close())...)
}

// TestCrash kills a process that changes a store at each of its changes to the disk, and in the
// middle of each write. Whatever the moment: the store is sound, the live build answers as
// before, no verdict is lost or invented, the change can be made again, and the next build works.
//
// PE-01, PE-02.
func TestCrash(t *testing.T) {
	full := os.Getenv(crashFull) == "1"
	total := 0
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			template := t.TempDir()
			c.prepare(t, template)
			before, err := stateOf(t.Context(), template)
			if err != nil {
				t.Fatal(err)
			}
			done := filepath.Join(t.TempDir(), "done")
			copyTree(t, template, done)
			steps, killed, err := runHelper(t.Context(), c.name, done, 0)
			if err != nil || killed || steps == 0 {
				t.Fatalf("uninterrupted: %d steps, killed %v, %v", steps, killed, err)
			}
			after, err := stateOf(t.Context(), done)
			if err != nil {
				t.Fatal(err)
			}
			if cmp.Equal(before, after) && c.name != "build again" && c.name != "verdict again" && c.name != answersChange && !c.damaged {
				t.Fatal("the operation changes nothing")
			}
			stride := 1
			if !full {
				sample := 8
				if testing.Short() || raced {
					sample = 3
				}
				stride = max(1, steps/sample)
			}
			var points []int
			for at := sampleStart(t, stride); at <= steps; at += stride {
				points = append(points, at)
			}
			work := make(chan int)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for at := range work {
						dir, err := os.MkdirTemp(filepath.Dir(done), "at")
						if err != nil {
							t.Error(err)
							continue
						}
						if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
							t.Error(err)
							continue
						}
						_, killed, err := runHelper(t.Context(), c.name, dir, at)
						if err != nil || !killed {
							t.Errorf("step %d: killed %v, %v", at, killed, err)
							continue
						}
						if err := afterCrash(t.Context(), &c, dir, before, after); err != nil {
							t.Errorf("killed at step %d of %d: %v", at, steps, err)
						}
						if err := os.RemoveAll(dir); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for _, at := range points {
				work <- at
			}
			close(work)
			wg.Wait()
			t.Logf("%d steps, killed at %d of them", steps, len(points))
			total += len(points)
		})
	}
	t.Logf("killed %d times", total)
	if full && total < 300 {
		t.Errorf("only %d points", total)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
