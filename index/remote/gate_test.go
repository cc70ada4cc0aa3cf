package remote_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/remote"
	"github.com/seed792a4543/assay/index/remote/gate"
	"github.com/seed792a4543/assay/index/remote/internal/remotetest"
)

// overlap is the mean share of the k best chunks that two runs have in common.
func overlap(a, b *evalkit.Run, k int) float64 {
	lists := map[string]map[string]bool{}
	for _, r := range a.Results {
		lists[r.Question] = map[string]bool{}
		for _, h := range r.Hits[:min(k, len(r.Hits))] {
			lists[r.Question][string(h.Chunk)] = true
		}
	}
	var sum float64
	n := 0
	for _, r := range b.Results {
		if len(lists[r.Question]) == 0 {
			continue
		}
		shared := 0
		for _, h := range r.Hits[:min(k, len(r.Hits))] {
			if lists[r.Question][string(h.Chunk)] {
				shared++
			}
		}
		sum += float64(shared) / float64(len(lists[r.Question]))
		n++
	}
	return sum / float64(max(n, 1))
}

// gateRound is build, eval, promote and rollback in front of a cluster. It returns the gate with
// the first of two builds live.
func gateRound(t *testing.T, cluster *remote.Cluster) (*gate.Gate, []string, *golden.Set) {
	t.Helper()
	dir := t.TempDir()
	set, err := golden.Parse("golden.yaml", homestore.Golden())
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.OpenStore(dir, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dense := .5
	var builds []string
	for _, s := range []engine.Settings{{}, {Hybrid: hybrid.Settings{Dense: &dense}}} {
		b, err := e.Build(t.Context(), corpus.FS(homestore.Name, homestore.Documents(), corpus.Options{}), s)
		if err != nil {
			t.Fatal(err)
		}
		builds = append(builds, b.ID)
	}
	g, err := gate.Open(t.Context(), dir, cluster, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	policy := engine.DefaultPolicy()
	live := func(want string) {
		t.Helper()
		there, err := cluster.Live(t.Context())
		here, herr := g.Engine.LiveID()
		if err != nil || herr != nil || there != want || here != want {
			t.Errorf("live is %q on the cluster and %q in the store (%v, %v), want %q", there, here, err, herr, want)
		}
	}

	if _, err := g.Validate(t.Context(), builds[0], set, policy, engine.ValidateOptions{}); !errors.Is(err, remote.ErrNoCollection) {
		t.Errorf("evaluating what the cluster lacks: %v, want ErrNoCollection", err)
	}
	for _, id := range builds {
		if _, res, err := g.Build(t.Context(), id); err != nil || res.Existed || res.Chunks == 0 {
			t.Fatalf("build %s: %+v, %v", id, res, err)
		}
	}
	// An acceptance of the build's own files says nothing of the cluster.
	own, err := e.ValidateWith(t.Context(), builds[0], set, policy, engine.ValidateOptions{NoSelfTest: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Promote(t.Context(), builds[0], engine.PromoteOptions{}); !errors.Is(err, engine.ErrNotAccepted) {
		t.Errorf("promoting on a verdict of the build's own files: %v, want ErrNotAccepted", err)
	}
	live("")

	val, err := g.Validate(t.Context(), builds[0], set, policy, engine.ValidateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if val.Verdict.Verdict != verdict.Accept {
		t.Fatalf("the first build is not accepted: %s %v", val.Verdict.Verdict, val.Reasons)
	}
	for _, f := range val.Verdict.SelfTest.Faults {
		if !f.Caught {
			t.Errorf("self-test on the cluster: %s is not noticed: %s", f.Name, f.Note)
		}
	}
	if n := len(val.Verdict.SelfTest.Faults); n < 5 {
		t.Errorf("self-test injected %d faults", n)
	}
	t.Logf("hit@3 %s embedded, %s on the cluster; ndcg@5 %s and %s; top-10 overlap %.3f over %d questions; %v",
		own.Candidate.Evaluation.Measures["hit@3"].Mean, val.Candidate.Evaluation.Measures["hit@3"].Mean,
		own.Candidate.Evaluation.Measures["ndcg@5"].Mean, val.Candidate.Evaluation.Measures["ndcg@5"].Mean,
		overlap(own.Candidate.Run, val.Candidate.Run, 10), len(val.Candidate.Run.Results), val.Record.Settings["external.shards"])
	if o := overlap(own.Candidate.Run, val.Candidate.Run, 10); o < .9 {
		t.Errorf("top-10 overlap with the embedded index is %.3f, want at least .9", o)
	}
	if changed, err := g.Promote(t.Context(), builds[0], engine.PromoteOptions{}); err != nil || !changed {
		t.Fatalf("promote: %v, %v", changed, err)
	}
	live(builds[0])
	if changed, err := g.Promote(t.Context(), builds[0], engine.PromoteOptions{}); err != nil || changed {
		t.Errorf("promote again: %v, %v, want nothing to do", changed, err)
	}

	val, err = g.Validate(t.Context(), builds[1], set, policy, engine.ValidateOptions{NoSelfTest: true})
	if err != nil || val.Live == nil {
		t.Fatalf("%+v, %v, want a comparison with the live build", val, err)
	}
	o := engine.PromoteOptions{}
	if val.Verdict.Verdict != verdict.Accept {
		o = engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "test", Why: "needs a second live build"}}
	}
	if _, err := g.Promote(t.Context(), builds[1], o); err != nil {
		t.Fatal(err)
	}
	live(builds[1])
	if id, err := g.Rollback(t.Context(), "", engine.Reason{Who: "test", Why: "proof"}); err != nil || id != builds[0] {
		t.Fatalf("rollback: %s, %v", id, err)
	}
	live(builds[0])
	return g, builds, set
}

// TestRollback: what the cluster lacks is refused before anything moves.
func TestRollback(t *testing.T) {
	f := remotetest.NewFake(t, 1)
	cluster := connect(t, quick(f))
	g, builds, _ := gateRound(t, cluster)
	if _, err := g.Promote(t.Context(), builds[1], engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "t", Why: "t"}}); err != nil {
		t.Fatal(err)
	}
	ledger, err := g.Engine.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	lost := cluster.Collection(builds[0])
	f.Lock()
	class, objects := f.Classes[lost], f.Objects[lost]
	f.Unlock()
	for _, tt := range []struct {
		name string
		lose func()
		want error
	}{
		{"no collection", func() { delete(f.Classes, lost); delete(f.Objects, lost) }, remote.ErrNoCollection},
		{"half of it", func() {
			f.Classes[lost], f.Objects[lost] = class, map[string]*remotetest.Object{}
			for uuid, o := range objects {
				if len(f.Objects[lost]) < len(objects)/2 {
					f.Objects[lost][uuid] = o
				}
			}
		}, index.ErrCorrupt},
	} {
		f.Lock()
		tt.lose()
		f.Unlock()
		for _, to := range []string{"", builds[0]} {
			if _, err := g.Rollback(t.Context(), to, engine.Reason{Who: "test"}); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), builds[0]) {
				t.Errorf("%s, to %q: %v, want %v with the build's id", tt.name, to, err, tt.want)
			}
			here, herr := g.Engine.LiveID()
			there, terr := cluster.Live(t.Context())
			if now, err := g.Engine.Ledger(); err != nil || herr != nil || terr != nil || here != builds[1] || there != builds[1] || len(now) != len(ledger) {
				t.Errorf("%s, to %q: live is %s in the store and %s on the cluster, %d entries of the ledger; want %s and %d (%v, %v, %v)",
					tt.name, to, here, there, len(now), builds[1], len(ledger), err, herr, terr)
			}
		}
	}
	f.Lock()
	f.Objects[lost] = objects
	f.Unlock()
	if id, err := g.Rollback(t.Context(), "", engine.Reason{Who: "test"}); err != nil || id != builds[0] {
		t.Errorf("with all of it: %s, %v", id, err)
	}
}

func TestGate(t *testing.T) {
	f := remotetest.NewFake(t, 2)
	o := quick(f)
	o.Health = 50 * time.Millisecond
	cluster := connect(t, o)
	g, builds, set := gateRound(t, cluster)

	// The crash between store and cluster: the alias is behind, and a second call completes it.
	if err := cluster.SetLive(t.Context(), builds[1], builds[0]); err != nil {
		t.Fatal(err)
	}
	if changed, err := g.Promote(t.Context(), builds[0], engine.PromoteOptions{}); err != nil || !changed {
		t.Errorf("completing a promotion: %v, %v", changed, err)
	}
	if there, _ := cluster.Live(t.Context()); there != builds[0] {
		t.Errorf("the alias names %s, want %s", there, builds[0])
	}
	// Live in the store by a verdict on its own files: the alias does not follow.
	f.Lock()
	clear(f.Aliases)
	f.Unlock()
	e, err := engine.OpenStore(g.Engine.Dir(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.ValidateWith(t.Context(), builds[0], set, engine.DefaultPolicy(), engine.ValidateOptions{NoSelfTest: true})
	if err = errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Promote(t.Context(), builds[0], engine.PromoteOptions{}); !errors.Is(err, engine.ErrNotAccepted) {
		t.Errorf("alias moved on a verdict of the build's own files: %v, want ErrNotAccepted", err)
	}
	if there, _ := cluster.Live(t.Context()); there != "" {
		t.Errorf("the alias names %s", there)
	}
	// A node is gone at replication 1: no verdict, and no promotion.
	f.SetDown(1, true)
	time.Sleep(2 * o.Health) // until the last look at the members is too old
	val, err := g.Validate(t.Context(), builds[1], set, engine.DefaultPolicy(), engine.ValidateOptions{NoSelfTest: true})
	if err == nil && val.Verdict.Verdict == verdict.Accept {
		t.Errorf("accepted with a node down at replication 1: %v", val.Reasons)
	}
	if err == nil && val.Candidate.Evaluation.Counts.Error == 0 {
		t.Error("no question failed with a node down at replication 1")
	}
	if _, err := g.Promote(t.Context(), builds[1], engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "t", Why: "t"}}); err == nil {
		t.Error("promoted what the cluster does not hold whole")
	}
	f.SetDown(1, false)
	// A chunk is lost: rejected, whatever the questions say.
	f.Lock()
	for uuid := range f.Objects[cluster.Collection(builds[1])] {
		delete(f.Objects[cluster.Collection(builds[1])], uuid)
		break
	}
	f.Unlock()
	val, err = g.Validate(t.Context(), builds[1], set, engine.DefaultPolicy(), engine.ValidateOptions{NoSelfTest: true})
	if err != nil || val.Verdict.Verdict != verdict.Reject || !strings.Contains(val.Reasons[0], "counts") {
		t.Errorf("a chunk is lost: %+v, %v, want reject that names the counts", val, err)
	}
	// Searching through the gate's engine, degraded only where it is allowed.
	f.SetDown(0, true)
	time.Sleep(2 * o.Health)
	for _, degrade := range []bool{false, true} {
		s, err := engine.Open(g.Engine.Dir(), engine.Options{Degrade: degrade, External: gate.External(context.Background(), cluster)})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Query(t.Context(), engine.Query{Text: "return a rice cooker"})
		if degrade != (err == nil) || err == nil && !resp.Degraded || !degrade && !errors.Is(err, remote.ErrDegraded) {
			t.Errorf("degrade %v: %+v, %v", degrade, resp, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLiveGate(t *testing.T) {
	s := remotetest.Start(t, 3, 21920)
	o := remote.Options{Nodes: s.Nodes(), Replication: 3, Index: remote.IndexFlat, Timeout: 20 * time.Second, Tries: 12, MaxResults: 100_000}
	g, builds, set := gateRound(t, connect(t, o))
	before, err := g.Validate(t.Context(), builds[0], set, engine.DefaultPolicy(), engine.ValidateOptions{NoSelfTest: true})
	if err != nil {
		t.Fatal(err)
	}
	// The measures are the same with a node down and after it came back, asked of it alone.
	s.Kill(1)
	down, err := g.Validate(t.Context(), builds[0], set, engine.DefaultPolicy(), engine.ValidateOptions{NoSelfTest: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Restart(1)
	o.Nodes = o.Nodes[1:2]
	alone, err := gate.Open(t.Context(), g.Engine.Dir(), connect(t, o), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var after *engine.Validation
	for until := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Second) {
		after, err = alone.Validate(t.Context(), builds[0], set, engine.DefaultPolicy(), engine.ValidateOptions{NoSelfTest: true})
		if err == nil && after.Verdict.Verdict != verdict.Reject && after.Candidate.Evaluation.Counts.Error == 0 || time.Now().After(until) {
			break
		}
	}
	if err = errors.Join(err, alone.Close()); err != nil {
		t.Fatal(err)
	}
	for name, val := range map[string]*engine.Validation{"one node down": down, "node 1 alone after its restart": after} {
		for _, m := range []string{"hit@3", "ndcg@5", "recall@5"} {
			if have, want := val.Candidate.Evaluation.Measures[m].Mean, before.Candidate.Evaluation.Measures[m].Mean; have != want {
				t.Errorf("%s: %s is %s, was %s", name, m, have, want)
			}
		}
		if n := val.Candidate.Evaluation.Counts.Error; n > 0 {
			t.Errorf("%s: %d questions failed", name, n)
		}
	}
}
