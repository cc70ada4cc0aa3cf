package gotest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// fake records what Check does to a test. Methods that Check does not call panic on the nil TB.
type fake struct {
	testing.TB
	log, skipped, failed string
}

func (f *fake) Helper()           {}
func (f *fake) Log(args ...any)   { f.log = fmt.Sprint(args...) }
func (f *fake) Skip(args ...any)  { f.skipped = fmt.Sprint(args...) }
func (f *fake) Fatal(args ...any) { f.failed = fmt.Sprint(args...) }

// input compares builds of n questions that lose the first lost ones.
func input(n, lost int) verdict.Input {
	make := func(build string, hit func(i int) bool) *evalkit.Evaluation {
		e := &evalkit.Evaluation{Build: build, Golden: evalkit.GoldenRef{Digest: "aa"}, Measures: map[string]*evalkit.Summary{}}
		hits := 0.0
		for i := range n {
			v := 0.0
			if hit(i) {
				v, hits = 1, hits+1
			}
			e.Questions = append(e.Questions, evalkit.QuestionResult{ID: fmt.Sprintf("q%03d", i+1), Status: evalkit.StatusOK,
				Measures: map[string]evalkit.Value{"hit@3": evalkit.Num(v)}, Hits: []corpus.ChunkID{corpus.ChunkID(build)}, Sections: []string{"a.md > " + build}})
		}
		e.Measures["hit@3"] = &evalkit.Summary{Mean: evalkit.Num(hits / float64(n)), NScored: n}
		return e
	}
	return verdict.Input{
		Policy:    &verdict.Policy{Primary: "hit@3"},
		Candidate: make("cand", func(i int) bool { return i >= lost }),
		Live:      make("live", func(i int) bool { return true }),
	}
}

func TestCheck(t *testing.T) {
	t.Run("a regression fails with both lists", func(t *testing.T) {
		f := &fake{}
		v := Check(f, input(27, 5), Options{Settings: map[string]string{"chunk.max": "400"}})
		if v.Verdict != verdict.Reject || f.skipped+f.log != "" {
			t.Errorf("%s, skipped %q, log %q", v.Verdict, f.skipped, f.log)
		}
		for _, want := range []string{"may not go live", "lost q001 1 → 0", "a.md > live", "a.md > cand", "REJECT", "chunk.max"} {
			if !strings.Contains(f.failed, want) {
				t.Errorf("message lacks %q:\n%s", want, f.failed)
			}
		}
	})
	t.Run("inconclusive fails", func(t *testing.T) {
		f := &fake{}
		if v := Check(f, input(27, 2), Options{}); v.Verdict != verdict.Inconclusive || f.failed == "" {
			t.Errorf("%s, failed %q", v.Verdict, f.failed)
		}
	})
	t.Run("inconclusive may be skipped, but does not pass", func(t *testing.T) {
		f := &fake{}
		Check(f, input(27, 2), Options{AllowInconclusive: true})
		if f.failed != "" || !strings.Contains(f.skipped, "not a pass") {
			t.Errorf("failed %q, skipped %q", f.failed, f.skipped)
		}
	})
	t.Run("accept passes", func(t *testing.T) {
		f := &fake{}
		Check(f, input(27, 0), Options{})
		if f.failed+f.skipped != "" || !strings.Contains(f.log, "ACCEPT") {
			t.Errorf("failed %q, skipped %q, log %q", f.failed, f.skipped, f.log)
		}
	})
	t.Run("invalid fails", func(t *testing.T) {
		f := &fake{}
		in := input(27, 0)
		in.Live.Golden.Digest = "bb"
		Check(f, in, Options{AllowInconclusive: true})
		if !strings.Contains(f.failed, "golden set differs") {
			t.Errorf("failed %q", f.failed)
		}
	})
	t.Run("first build", func(t *testing.T) {
		f := &fake{}
		in := input(27, 3)
		in.Live = nil
		in.Candidate.Random = map[string]evalkit.Value{"hit@3": evalkit.Num(.06)}
		Check(f, in, Options{})
		if f.failed != "" || !strings.Contains(f.log, "First build") {
			t.Errorf("failed %q, log %q", f.failed, f.log)
		}
	})
}
