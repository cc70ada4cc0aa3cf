package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/sweep"
)

// store opens an empty store without a live build.
func store(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.OpenStore(filepath.Join(t.TempDir(), "kb"), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func shopSource() corpus.Source { return corpus.FS("shop", shop, corpus.Options{}) }

// withHoldout is the shop's set with some of its questions on the holdout.
func withHoldout(t *testing.T, holdout ...string) *golden.Set {
	t.Helper()
	text := shopGolden
	for _, id := range holdout {
		text = strings.Replace(text, "{id: "+id+",", "{id: "+id+", split: holdout,", 1)
	}
	set, err := golden.Parse("golden.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if have := len(set.Select(golden.Holdout)); have != len(holdout) {
		t.Fatalf("%d holdout questions, want %d", have, len(holdout))
	}
	return set
}

// plan parses a sweep file over default settings.
func plan(t *testing.T, text string) *engine.SweepPlan {
	t.Helper()
	p, err := engine.ParseSweepPlan("sweep.yaml", []byte(text), engine.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const shopSweep = `mode: grid
variants:
  - {name: section, chunk: {kind: section, max: 900}}
  - {name: fixed, chunk: {kind: fixed, size: 40}}
vary:
  hybrid.mode: [hybrid, lexical]
  rerank: [none, mmr, features]
`

// report runs a sweep and returns the bytes of its report.
func report(t *testing.T, e *engine.Engine, set *golden.Set, p *engine.SweepPlan, o engine.SweepOptions) (*sweep.Report, string) {
	t.Helper()
	out, err := e.SweepReport(t.Context(), shopSource(), set, p.Variants, o, sweep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(out.Report)
	if err != nil {
		t.Fatal(err)
	}
	return out.Report, string(data)
}

func TestSweep(t *testing.T) {
	p := plan(t, shopSweep)

	t.Run("ST-06", func(t *testing.T) {
		full := withHoldout(t, "q2", "q5", "q9")
		without := *full
		without.Questions = nil
		for _, q := range full.Select(golden.Dev) {
			without.Questions = append(without.Questions, *q)
		}
		r, with := report(t, store(t), full, p, engine.SweepOptions{})
		_, alone := report(t, store(t), &without, p, engine.SweepOptions{})
		if diff := cmp.Diff(alone, with); diff != "" {
			t.Errorf("the holdout changes the report (-without +with):\n%s", diff)
		}
		if len(r.Questions) != 8 {
			t.Errorf("%d questions in the report, want the 8 of dev", len(r.Questions))
		}
		for _, id := range []string{"q2", "q5", "q9"} {
			if strings.Contains(with, `"`+id+`"`) {
				t.Errorf("the report names holdout question %s", id)
			}
		}
		// Not even a holdout question that could never be asked stops it.
		broken := withHoldout(t, "q2")
		broken.Find("q2").Gold[0][0].Doc = "gone.md"
		if _, err := store(t).SweepReport(t.Context(), shopSource(), broken, p.Variants, engine.SweepOptions{}, sweep.Options{}); err != nil {
			t.Errorf("a broken holdout question stops the sweep: %v", err)
		}
		if _, err := store(t).SweepReport(t.Context(), shopSource(), full, p.Variants, engine.SweepOptions{EvalOptions: engine.EvalOptions{Split: golden.All}}, sweep.Options{}); !errors.Is(err, engine.ErrInput) {
			t.Errorf("a sweep over all questions = %v, want ErrInput", err)
		}
	})

	t.Run("resume", func(t *testing.T) {
		set := withHoldout(t)
		_, want := report(t, store(t), set, p, engine.SweepOptions{})
		e := store(t)
		for stop := 1; ; stop += 3 {
			ctx, cancel := context.WithCancel(t.Context())
			n, fresh := 0, 0
			var last error
			for res, err := range e.Sweep(ctx, shopSource(), set, p.Variants, engine.SweepOptions{}) {
				if last = err; err != nil {
					break
				}
				if n++; res.Evaluation != nil {
					fresh++
				}
				if n == stop {
					cancel()
				}
			}
			cancel()
			if last == nil {
				if n != len(p.Variants) || fresh > 3 {
					t.Errorf("the last run yields %d results, %d measured anew; want %d and at most 3", n, fresh, len(p.Variants))
				}
				break
			}
			if !errors.Is(last, context.Canceled) {
				t.Fatal(last)
			}
		}
		if _, got := report(t, e, set, p, engine.SweepOptions{}); got != want {
			t.Errorf("a sweep that was interrupted gives other bytes:\n%s", cmp.Diff(want, got))
		}
		builds, err := e.Builds()
		if err != nil || len(builds) != 0 {
			t.Errorf("%d builds are left, %v; want none", len(builds), err)
		}
	})

	t.Run("cores", func(t *testing.T) {
		set := withHoldout(t)
		_, want := report(t, store(t), set, p, engine.SweepOptions{EvalOptions: engine.EvalOptions{Workers: 1}})
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		if _, got := report(t, store(t), set, p, engine.SweepOptions{EvalOptions: engine.EvalOptions{Workers: 8}}); got != want {
			t.Errorf("eight workers give other bytes:\n%s", cmp.Diff(want, got))
		}
	})

	t.Run("the same as building", func(t *testing.T) {
		// What a sweep measures on a shared index is what a build of those settings gives.
		set := withHoldout(t)
		e := store(t)
		for res, err := range e.Sweep(t.Context(), shopSource(), set, p.Variants, engine.SweepOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := e.Build(t.Context(), shopSource(), p.Variants[res.Index].Settings)
			if err != nil {
				t.Fatal(err)
			}
			if b.ID != res.Build {
				t.Errorf("%s: the sweep names build %s, a build gives %s", res.Variant.Name, res.Build, b.ID)
			}
			out, err := e.Evaluate(t.Context(), b.ID, set, engine.EvalOptions{Rule: "span"})
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range out.Evaluation.Questions {
				if diff := cmp.Diff(q.Hits, res.Evaluation.Questions[i].Hits); diff != "" {
					t.Errorf("%s, %s: hits differ (-build +sweep):\n%s", res.Variant.Name, q.ID, diff)
				}
			}
		}
	})
}

// TestSweepMemory: what is kept of a variant is small, so that 200 of them take no more than a few.
func TestSweepMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a few seconds")
	}
	var weights []string
	for i := range 200 {
		weights = append(weights, fmt.Sprint(float64(i)/200))
	}
	p := plan(t, "mode: grid\nvary: {hybrid.dense: ["+strings.Join(weights, ", ")+"]}\n")
	set, err := golden.Parse(homestore.GoldenFile, homestore.Golden())
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var rows []sweep.Row
	var early uint64
	for res, err := range store(t).Sweep(t.Context(), corpus.FS("homestore", homestore.Documents(), corpus.Options{}), set, p.Variants,
		engine.SweepOptions{EvalOptions: engine.EvalOptions{Resamples: -1}}) {
		if err != nil {
			t.Fatal(err)
		}
		if rows = append(rows, res.Row); len(rows) == 20 {
			early = heap()
		}
	}
	if len(rows) != 200 {
		t.Fatalf("%d results, want 200", len(rows))
	}
	// 180 rows of 170 values of 16 bytes, and names: half a megabyte. One ranking of 100 hits for
	// each question and variant would be some 200 MB.
	if late := heap(); late > early+8<<20 {
		t.Errorf("the heap grows from %d to %d bytes over 180 variants", early, late)
	}
}

func TestConfirmSweep(t *testing.T) {
	p := plan(t, "vary: {hybrid.mode: [lexical]}\n")
	dir := t.TempDir()
	path := filepath.Join(dir, "golden.yaml")
	text := strings.NewReplacer("{id: q2,", "{id: q2, split: holdout,", "{id: q5,", "{id: q5, split: holdout,").Replace(shopGolden)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := golden.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	e := store(t)
	confirm := func() *sweep.Confirmation {
		c, err := e.ConfirmSweep(t.Context(), shopSource(), set, p.Variants[0], p.Variants[1], engine.SweepOptions{}, "Mai")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := confirm()
	if c.N != 2 || c.Looks != 1 || c.Spent || c.Split != golden.Holdout {
		t.Errorf("first confirmation: %+v; want 2 questions, look 1", c)
	}
	// Single questions are shown: the holdout is spent, and later confirmations say so.
	if _, err := e.ValidateWith(t.Context(), c.Build, set, nil, engine.ValidateOptions{EvalOptions: engine.EvalOptions{Split: golden.Holdout}, NoSelfTest: true, Questions: true, Who: "Mai"}); err != nil {
		t.Fatal(err)
	}
	if c = confirm(); c.Looks != 3 || !c.Spent {
		t.Errorf("after single questions were shown: look %d, spent %v; want 3, true", c.Looks, c.Spent)
	}
	entries, err := e.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	for _, entry := range entries {
		if entry.Action == "holdout" {
			looks++
		}
	}
	if looks != 3 {
		t.Errorf("the store's ledger holds %d looks, want 3", looks)
	}
	if _, err := e.ConfirmSweep(t.Context(), shopSource(), withHoldout(t), p.Variants[0], p.Variants[1], engine.SweepOptions{}, "Mai"); !errors.Is(err, engine.ErrInput) {
		t.Errorf("confirming without a holdout = %v, want ErrInput", err)
	}
}

func TestTuneFusion(t *testing.T) {
	set := withHoldout(t)
	tuned, err := store(t).TuneFusion(t.Context(), shopSource(), set, engine.Settings{}, engine.SweepOptions{Primary: "ndcg@10"})
	if err != nil {
		t.Fatal(err)
	}
	if len(tuned.Report.Variants) != 11 || tuned.Dense != 0.3 || tuned.Default != 0.3 {
		t.Errorf("TuneFusion = %g of %d weights against %g; nine questions cannot prove another weight better than 0.3 among 11",
			tuned.Dense, len(tuned.Report.Variants), tuned.Default)
	}
	s := engine.Settings{}
	s.Hybrid.Mode = "lexical"
	if _, err := store(t).TuneFusion(t.Context(), shopSource(), set, s, engine.SweepOptions{}); !errors.Is(err, engine.ErrInput) {
		t.Errorf("tuning without vectors = %v, want ErrInput", err)
	}
	p := plan(t, "vary: {hybrid.fusion: [tuned, rrf]}\n")
	r, first := report(t, store(t), set, p, engine.SweepOptions{})
	for _, l := range r.Variants {
		if strings.Contains(l.Name, "tuned") && (l.Settings["hybrid.fusion"] != "weighted" || !strings.Contains(l.Note, "optimistic")) {
			t.Errorf("the tuned variant has fusion %q and note %q", l.Settings["hybrid.fusion"], l.Note)
		}
	}
	e := store(t)
	report(t, e, set, p, engine.SweepOptions{})
	if _, again := report(t, e, set, p, engine.SweepOptions{}); again != first {
		t.Error("a stored tuned result gives other bytes")
	}
}

// TestSweepChat: a model that puts the last passage first, and rewrites every question to one.
func TestSweepChat(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var req struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		reply := "descale the kettle monthly"
		if n := strings.Count(req.Messages[len(req.Messages)-1].Content, "<passage number"); n > 0 {
			reply = fmt.Sprintf("<think>1 perhaps</think> %d, 99, %d", n, n)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "m", "choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply},
		}}})
	}))
	defer server.Close()
	set := withHoldout(t)
	p := plan(t, fmt.Sprintf(`base: {answer: {kind: chat, url: %q, model: m}, hybrid.mode: lexical}
vary:
  rerank: [chat]
  rewrite: [chat]
`, server.URL+"/v1"))
	e := store(t)
	byName := map[string]*engine.SweepResult{}
	run := func() {
		for res, err := range e.Sweep(t.Context(), shopSource(), set, p.Variants, engine.SweepOptions{Fresh: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if res.Row.Errors > 0 {
				t.Fatalf("%s: %v", res.Variant.Name, res.Evaluation.Counts.Errors)
			}
			byName[res.Variant.Name] = res
		}
	}
	run()
	base, rerank, rewrite := byName["base"], byName["rerank=chat"], byName["rewrite=chat"]
	for i, q := range base.Evaluation.Questions {
		hits, turned := q.Hits, rerank.Evaluation.Questions[i].Hits
		if n := min(10, len(hits)); n > 0 && (turned[0] != hits[n-1] || len(turned) != len(hits)) {
			t.Errorf("%s: %v reranked to %v, want the last of the first ten in front", q.ID, hits, turned)
		}
	}
	for i := 1; i < len(rewrite.Evaluation.Questions); i++ {
		if diff := cmp.Diff(rewrite.Evaluation.Questions[0].Hits, rewrite.Evaluation.Questions[i].Hits); diff != "" {
			t.Errorf("two questions rewritten to the same query find different things:\n%s", diff)
		}
	}
	if rerank.Row.Parts.Chat != 1 || base.Row.Parts.Chat != 0 {
		t.Errorf("chat calls %d and %d, want 1 and 0", rerank.Row.Parts.Chat, base.Row.Parts.Chat)
	}
	asked := calls.Load()
	if run(); calls.Load() != asked {
		t.Errorf("%d calls more for what was asked before", calls.Load()-asked)
	}
}

// TestSweepEmbedders: two models of one server differ in dimension; each text is sent to each model
// once, whatever number of variants searches the index.
func TestSweepEmbedders(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r) // asked about itself
			return
		}
		var req struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		dim := 8
		if req.Model == "large" {
			dim = 16
		}
		data := make([]any, len(req.Input))
		for i, text := range req.Input {
			mu.Lock()
			sent[req.Model+" "+text]++
			mu.Unlock()
			v := make([]float64, dim)
			for k, c := range []byte(text) {
				v[(int(c)+k%2)%dim]++
			}
			data[i] = map[string]any{"index": i, "embedding": v}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": req.Model, "data": data})
	}))
	defer server.Close()
	p := plan(t, fmt.Sprintf("mode: grid\nbase: {embed: {kind: openai, url: %q, model: small}}\nvary: {embed.model: [small, large], hybrid.dense: [0.2, 0.5, 0.8]}\n", server.URL+"/v1"))
	e := store(t)
	n := 0
	for res, err := range e.Sweep(t.Context(), shopSource(), withHoldout(t), p.Variants, engine.SweepOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; res.Row.Errors > 0 || res.Row.Parts.External != 1 || res.Row.Cost.EmbeddedTokens == 0 {
			t.Errorf("%s: %d errors, parts %+v, cost %+v", res.Variant.Name, res.Row.Errors, res.Row.Parts, res.Row.Cost)
		}
	}
	if n != 6 {
		t.Errorf("%d results, want 6", n)
	}
	for _, q := range withHoldout(t).Questions {
		for _, model := range []string{"small", "large"} {
			if got := sent[model+" "+q.Question]; got != 1 {
				t.Errorf("%q was sent to %s %d times, want once", q.Question, model, got)
			}
		}
	}
}

func TestSweepContext(t *testing.T) {
	p := plan(t, "mode: grid\nvary: {answer.k: [1, 3]}\n")
	if !p.Options.Context || len(p.Variants) != 2 {
		t.Fatalf("plan %+v, want two variants with their context", p)
	}
	for res, err := range store(t).Sweep(t.Context(), shopSource(), withHoldout(t), p.Variants, p.Options) {
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range res.Evaluation.Questions {
			if k := res.Variant.Settings.Answer.K; len(q.Hits) > k {
				t.Errorf("%s: %d hits", res.Variant.Name, len(q.Hits))
			}
		}
	}
}

func TestSweepPlan(t *testing.T) {
	names := func(p *engine.SweepPlan) (out []string) {
		for _, v := range p.Variants {
			out = append(out, v.Name)
		}
		return out
	}
	for _, c := range []struct {
		name, text string
		want       []string
		baseline   string
		left       int
	}{
		{"one factor", "vary: {chunk.max: [400, 900], hybrid.mode: [lexical]}", []string{"base", "max=400", "mode=lexical"}, "base", 1},
		{"grid", "mode: grid\nvary: {chunk.max: [400, 900], hybrid.mode: [lexical, hybrid]}",
			[]string{"max=400, mode=lexical", "max=400, mode=hybrid", "max=900, mode=lexical", "max=900, mode=hybrid"}, "max=400, mode=lexical", 0},
		{"named", "mode: grid\nbaseline: b\nvariants:\n- {name: a, chunk.max: 400}\n- {name: b, chunk: {max: 500}}\n- {name: c, set: {chunk: {max: 600}}}",
			[]string{"a", "b", "c"}, "b", 0},
		{"the base with a name", "variants:\n- {name: a, chunk.max: 900}\n- {name: b, chunk.max: 500}", []string{"a", "b"}, "a", 0},
		// A size without use, and an overlap that is too long, drop out of a grid.
		{"left out", "mode: grid\nvary: {chunk.kind: [section, fixed], chunk.size: [100, 400], chunk.overlap: [0, 200]}",
			[]string{"kind=section, size=100, overlap=0", "kind=fixed, size=100, overlap=0", "kind=fixed, size=400, overlap=0", "kind=fixed, size=400, overlap=200"}, "kind=section, size=100, overlap=0", 4},
		{"keys that end alike", "vary: {chunk.kind: [fixed], embed.kind: [none]}", []string{"base", "chunk.kind=fixed", "embed.kind=none"}, "base", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan(t, c.text)
			if diff := cmp.Diff(c.want, names(p)); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
			if p.Baseline != c.baseline || len(p.LeftOut) != c.left {
				t.Errorf("baseline %q, %d left out %v; want %q, %d", p.Baseline, len(p.LeftOut), p.LeftOut, c.baseline, c.left)
			}
		})
	}
}

func TestSweepPlanErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "# nothing\n", "file is empty"},
		{"nothing varied", "mode: grid\n", "nothing is varied"},
		{"syntax", "vary: {chunk.max: [1", "sweep.yaml:1:"},
		{"key", "\nvarry: {chunk.max: [1]}\n", `sweep.yaml:2: unknown key "varry": did you mean "vary"?`},
		{"setting", "vary:\n  chunk.maxx: [1]\n", `sweep.yaml:2: unknown setting "chunk.maxx": did you mean "chunk.max"?`},
		{"corpus", "vary:\n  corpus.path: [a]\n", "sweep.yaml:2: corpus.path cannot be varied"},
		{"twice", "mode: grid\nmode: grid\n", "sweep.yaml:2"},
		{"no list", "vary:\n  chunk.max: 400\n", "sweep.yaml:2: vary.chunk.max must be a list"},
		{"wrong type", "vary:\n  chunk.max: [400, many]\n", "sweep.yaml:2: chunk.max"},
		{"null", "vary:\n  chunk.max: [~]\n", "sweep.yaml:2: chunk.max has no value"},
		{"mode", "mode: all\nvary: {chunk.max: [1]}\n", `mode is "all"`},
		{"baseline", "baseline: max=401\nvary: {chunk.max: [400]}\n", `did you mean "max=400"?`},
		{"no name", "variants:\n- {chunk.max: 400}\n", "sweep.yaml:2: this variant has no name"},
		{"same name", "variants:\n- {name: a, chunk.max: 400}\n- {name: a, chunk.max: 500}\n", `two variants are called "a"`},
		{"value", "vary: {hybrid.mode: [quantum]}\n", `hybrid.mode "quantum" is unknown`},
		{"rewrite", "vary: {rewrite: [yes please]}\n", "rewrite is"},
		{"chat without a model", "vary: {rerank: [chat]}\n", "answer.url"},
		{"tuned without vectors", "vary: {hybrid.fusion: [tuned]}\nbase: {hybrid: {mode: lexical}}\n", "needs hybrid.mode hybrid"},
		{"too many", "mode: grid\nvary: {chunk.max: [" + strings.Repeat("1,", 60) + "1], lexical.k1: [" + strings.Repeat("1,", 60) + "1]}", "more than 2000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := engine.ParseSweepPlan("sweep.yaml", []byte(c.text), engine.Settings{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, engine.ErrInput) {
				t.Errorf("ParseSweepPlan = %v, want ErrInput with %q", err, c.want)
			}
		})
	}
}

// Variants that set pointers must not change each other or the base.
func TestSweepPlanShares(t *testing.T) {
	k1 := 1.5
	base := engine.Settings{}
	base.Lexical.K1 = &k1
	p, err := engine.ParseSweepPlan("sweep.yaml", []byte("mode: grid\nvary: {lexical.k1: [0.9, 1.2]}"), base)
	if err != nil {
		t.Fatal(err)
	}
	if *p.Variants[0].Settings.Lexical.K1 != 0.9 || *p.Variants[1].Settings.Lexical.K1 != 1.2 || k1 != 1.5 {
		t.Errorf("k1 is %v and %v, base %v; want 0.9, 1.2, 1.5", *p.Variants[0].Settings.Lexical.K1, *p.Variants[1].Settings.Lexical.K1, k1)
	}
}

func FuzzSweepPlan(f *testing.F) {
	for _, s := range []string{
		shopSweep, "vary: {chunk.max: [400, 900]}", "variants:\n- {name: a, set: {lexical: {k1: 0.9}}}", "vary: {embed.command: [[a, b], [c]]}",
		"base: {hybrid.dense: .5}\nvary: {rewrite: [none]}", "vary: &a {chunk.max: [1]}\nvariants: *a", "mode: grid\nvary: {chunk.max: [!!str 1]}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := engine.ParseSweepPlan("sweep.yaml", data, engine.Settings{})
		if err != nil {
			if !errors.Is(err, engine.ErrInput) {
				t.Errorf("%q: %v is no ErrInput", data, err)
			}
			return
		}
		if len(p.Variants) == 0 || !slices.ContainsFunc(p.Variants, func(v engine.Variant) bool { return v.Name == p.Baseline }) {
			t.Errorf("%q: %d variants, baseline %q is none of them", data, len(p.Variants), p.Baseline)
		}
	})
}

// Three ways of cutting the same documents, compared on the same questions.
func ExampleEngine_Sweep() {
	dir, err := os.MkdirTemp("", "kb")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	e, err := engine.OpenStore(dir, engine.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	set, err := golden.Parse(homestore.GoldenFile, homestore.Golden())
	if err != nil {
		panic(err)
	}
	for res, err := range e.Sweep(context.Background(), corpus.FS("homestore", homestore.Documents(), corpus.Options{}), set, []engine.Variant{
		{Name: "fixed 400", Settings: engine.Settings{Chunk: chunk.Settings{Kind: chunk.KindFixed, Size: 400}}},
		{Name: "section 900", Settings: engine.Settings{Chunk: chunk.Settings{Kind: chunk.KindSection, Max: 900}}},
		{Name: "section 350", Settings: engine.Settings{Chunk: chunk.Settings{Kind: chunk.KindSection, Max: 350, Level: 6}}},
	}, engine.SweepOptions{}) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: hit@3 %.1f\n", res.Variant.Name, res.Row.Measures["hit@3"].V)
	}
	// Output:
	// fixed 400: hit@3 0.7
	// section 900: hit@3 0.8
	// section 350: hit@3 0.8
}
