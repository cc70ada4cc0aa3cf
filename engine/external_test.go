package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
)

// elsewhere is an index outside the store: exhaustive scans over what Content hands out.
type elsewhere struct {
	rows     []engine.Indexed
	asked    atomic.Int64
	partial  error
	verified error
}

func (x *elsewhere) SearchVector(_ context.Context, q []float32, k int, f *index.Filter) ([]index.Candidate, error) {
	x.asked.Add(1)
	var out []index.Candidate
	for ord, row := range x.rows {
		if row.Vector == nil || !f.Has(uint32(ord)) {
			continue
		}
		c := index.Candidate{Ord: uint32(ord)}
		for i := range q {
			c.Score += float64(q[i]) * float64(row.Vector[i])
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b index.Candidate) int {
		if a.Score != b.Score {
			return map[bool]int{true: -1, false: 1}[a.Score > b.Score]
		}
		return int(b.Ord) - int(a.Ord)
	})
	return out[:min(k, len(out))], nil
}

func TestExternal(t *testing.T) {
	dir := t.TempDir()
	b := build(t, open(t, dir), shop, engine.Settings{})
	x := &elsewhere{}
	opened, closed := 0, 0
	e, err := engine.Open(dir, engine.Options{Refresh: time.Nanosecond, External: func(c *engine.Content) (*engine.External, error) {
		opened++
		x.rows = nil
		for ord := range uint32(c.Len()) {
			x.rows = append(x.rows, c.Chunk(ord))
		}
		return &engine.External{
			Vector:   x,
			Complete: func(context.Context) error { return x.partial },
			Verify:   func(context.Context) error { return x.verified },
			Settings: map[string]string{"index": "flat"},
			Close:    func() error { closed++; return nil },
		}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	set := shopSet(t)
	policy := engine.DefaultPolicy()
	val, err := e.ValidateWith(t.Context(), b.ID, set, policy, engine.ValidateOptions{EvalOptions: engine.EvalOptions{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if x.asked.Load() == 0 || opened == 0 || opened != closed {
		t.Errorf("asked %d times, opened %d, closed %d: the other index must answer and be closed", x.asked.Load(), opened, closed)
	}
	if got := val.Record.Settings["external.index"]; got != "flat" {
		t.Errorf("record says external.index %q, want flat", got)
	}
	own, err := open(t, dir).Evaluate(t.Context(), b.ID, set, engine.EvalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if have, want := val.Candidate.Evaluation.Measures["hit@3"].Mean, own.Evaluation.Measures["hit@3"].Mean; have != want {
		t.Errorf("hit@3 %v with the same vectors elsewhere, %v with the build's own", have, want)
	}

	// Parts that do not answer: refused, marked where degrading is allowed, never accepted.
	x.partial = errors.New("node 2 is down")
	out, err := e.Evaluate(t.Context(), b.ID, set, engine.EvalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := out.Evaluation.Counts.Error; n == 0 {
		t.Error("an evaluation over part of the index has no failed question")
	}
	val, err = e.ValidateWith(t.Context(), b.ID, set, policy, engine.ValidateOptions{})
	if err != nil || val.Verdict.Verdict != verdict.Invalid {
		t.Errorf("verdict over part of the index: %v, %v, want invalid", val, err)
	}
	// Verify finds other counts: rejected.
	x.partial, x.verified = nil, fmt.Errorf("12 of 13 chunks: %w", index.ErrCorrupt)
	val, err = e.ValidateWith(t.Context(), b.ID, set, policy, engine.ValidateOptions{NoSelfTest: true})
	if err != nil || val.Verdict.Verdict != verdict.Reject || !strings.Contains(val.Reasons[0], "12 of 13") {
		t.Errorf("verdict over a short index: %+v, %v, want reject that names the counts", val, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}

	override(t, open(t, dir), b.ID)
	x.partial, x.verified = errors.New("node 2 is down"), nil
	for _, degrade := range []bool{false, true} {
		e, err := engine.Open(dir, engine.Options{Degrade: degrade, External: func(*engine.Content) (*engine.External, error) {
			return &engine.External{Vector: x, Complete: func(context.Context) error { return x.partial }}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := e.Query(t.Context(), engine.Query{Text: "descale the kettle"})
		if degrade && (err != nil || !resp.Degraded || !strings.Contains(strings.Join(resp.Notes, "\n"), "node 2 is down")) {
			t.Errorf("degrading allowed: %+v, %v, want hits marked degraded", resp, err)
		}
		if !degrade && err == nil {
			t.Errorf("part of the index answered without an error: %+v", resp)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
