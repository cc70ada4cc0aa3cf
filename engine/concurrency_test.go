package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

// Environment of the second process of a test: what it does, and in which store.
const (
	processEnv    = "ASSAY_PROCESS"
	processDirEnv = "ASSAY_PROCESS_DIR"
)

// process is a second process beside the test's. It speaks in lines, and goes on or ends when it
// is spoken to.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	all strings.Builder
}

func startProcess(t *testing.T, what, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$", "-test.count=1")}
	p.cmd.Env = append(os.Environ(), processEnv+"="+what, processDirEnv+"="+dir)
	p.cmd.Stderr = &p.all
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// expect waits for a line with that beginning and returns the rest of it.
func (p *process) expect(t *testing.T, prefix string) string {
	t.Helper()
	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), prefix); ok {
			return rest
		}
		p.all.WriteString(p.out.Text() + "\n")
	}
	t.Fatalf("the second process ended before %q: %s", prefix, p.all.String())
	return ""
}

func (p *process) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// end lets the process end and fails the test if it failed.
func (p *process) end(t *testing.T) {
	t.Helper()
	if err := p.in.Close(); err != nil {
		t.Error(err)
	}
	for p.out.Scan() {
		p.all.WriteString(p.out.Text() + "\n")
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("second process: %v\n%s", err, p.all.String())
	}
}

// TestProcess is the second process; by itself it does nothing.
func TestProcess(t *testing.T) {
	what, dir := os.Getenv(processEnv), os.Getenv(processDirEnv)
	if what == "" {
		t.Skip("second process of other tests")
	}
	heard := bufio.NewScanner(os.Stdin)
	e, err := engine.Open(dir, engine.Options{Refresh: -1, LockWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	switch what {
	case "hold the lock":
		release, err := engine.LockForTest(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		heard.Scan()
		if err := release(); err != nil {
			t.Fatal(err)
		}
	case "read":
		before := answers(t, e)
		fmt.Println("open " + e.Live())
		for heard.Scan() { // until there is nothing more to hear
			if got := answers(t, e); got != before {
				t.Errorf("it answers %s, before %s", got, before)
			}
			fmt.Println("same")
		}
	case "swap":
		fmt.Println("ready")
		changes := 0
		for i := range swaps {
			changes += swap(t, e, i)
		}
		fmt.Printf("changes %d\n", changes)
	default:
		t.Fatalf("nothing to do for %q", what)
	}
}

func answers(t *testing.T, e *engine.Engine) string {
	t.Helper()
	hits, err := e.Search(t.Context(), engine.Query{Text: "refund window", K: 5})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(chunkIDs(hits))
}

// swaps is how often each writer of TestTwoProcesses changes the live build.
const swaps = 30

// swap makes one change of the live build: a promotion, or a rollback to the build before.
func swap(t *testing.T, e *engine.Engine, i int) int {
	t.Helper()
	reason := engine.Reason{Who: "test", Why: "swap"}
	if i%3 == 2 {
		before, err := e.Ledger()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Rollback(t.Context(), before[0].Build, reason); err != nil {
			t.Fatal(err)
		}
		return 0 // it may have been live already
	}
	infos, err := e.Builds()
	if err != nil {
		t.Fatal(err)
	}
	changed, err := e.PromoteWith(t.Context(), infos[i%len(infos)].ID, nil, engine.PromoteOptions{Override: true, Reason: reason})
	if err != nil {
		t.Fatal(err)
	}
	if changed {
		return 1
	}
	return 0
}

func threeBuilds(t *testing.T, dir string) (e *engine.Engine, ids []string, want map[string]string) {
	t.Helper()
	e, err := engine.Open(dir, engine.Options{Refresh: time.Nanosecond, LockWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	want = map[string]string{}
	for _, size := range []int{60, 80, 120} {
		b := build(t, e, shop, engine.Settings{Chunk: chunk.Settings{Kind: "fixed", Size: size}})
		ids = append(ids, b.ID)
		resp, err := e.QueryBuild(t.Context(), b.ID, engine.Query{Text: "refund window", K: 5})
		if err != nil {
			t.Fatal(err)
		}
		want[b.ID] = fmt.Sprint(chunkIDs(resp.Hits))
	}
	override(t, e, ids[0])
	return e, ids, want
}

// TestTwoProcesses searches from 16 goroutines while two processes promote and roll back without
// pause: each search is answered by one build, and nothing of what was decided is missing from
// the ledger.
//
// PE-05, PE-07.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	e, _, want := threeBuilds(t, dir)
	other := startProcess(t, "swap", dir)
	other.expect(t, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var asked [16]map[string]int
	for i := range asked {
		asked[i] = map[string]int{}
		wg.Go(func() {
			for ctx.Err() == nil {
				resp, err := e.Query(t.Context(), engine.Query{Text: "refund window", K: 5})
				if err != nil {
					t.Error(err)
					return
				}
				if got := fmt.Sprint(chunkIDs(resp.Hits)); got != want[resp.Build] {
					t.Errorf("build %s answered %s, want %s", resp.Build, got, want[resp.Build])
					return
				}
				asked[i][resp.Build]++
			}
		})
	}
	promotions := 0
	for i := range swaps {
		promotions += swap(t, e, i+1)
	}
	var theirs int
	if _, err := fmt.Sscan(other.expect(t, "changes"), &theirs); err != nil {
		t.Fatal(err)
	}
	cancel()
	wg.Wait()
	other.end(t)
	total, builds := 0, map[string]bool{}
	for _, m := range asked {
		for id, n := range m {
			total += n
			builds[id] = true
		}
	}
	if len(builds) < 2 {
		t.Errorf("all %d searches were answered by %v", total, builds)
	}
	ledger, err := e.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	overrides, live := 0, ""
	for i, l := range ledger {
		if l.Action == "override" {
			overrides++
		}
		if l.From != live {
			t.Errorf("entry %d of the ledger: from %q, but %q was live", i, l.From, live)
		}
		live = l.Build
	}
	if overrides != promotions+theirs+1 {
		t.Errorf("%d promotions in the ledger, %d and %d were made", overrides-1, promotions, theirs)
	}
	if e.Live() != live {
		t.Errorf("live is %s, the ledger says %s", e.Live(), live)
	}
	if faults, notes, err := e.Check(t.Context()); err != nil || len(faults)+len(notes) > 0 {
		t.Errorf("check: %v, %v, %v", faults, notes, err)
	}
	t.Logf("%d searches during %d changes, answered by %d builds", total, len(ledger), len(builds))
}

// TestTwoWriters: a second writer is refused with the holder's process id, or waits; a holder that
// is killed holds nothing.
//
// PE-04.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	_, ids, _ := threeBuilds(t, dir)
	impatient, err := engine.OpenStore(dir, engine.Options{LockWait: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	patient, err := engine.OpenStore(dir, engine.Options{LockWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	source := corpus.FS("test", shop, corpus.Options{})
	holder := startProcess(t, "hold the lock", dir)
	holder.expect(t, "held")
	pid := fmt.Sprint(holder.cmd.Process.Pid)
	for name, write := range map[string]func(e *engine.Engine) error{
		"build":    func(e *engine.Engine) error { _, err := e.Build(t.Context(), source, engine.Settings{}); return err },
		"rollback": func(e *engine.Engine) error { _, err := e.Rollback(t.Context(), ids[0], engine.Reason{}); return err },
		"gc":       func(e *engine.Engine) error { _, _, err := e.GC(t.Context(), 0, false); return err },
		"promote": func(e *engine.Engine) error {
			_, err := e.PromoteWith(t.Context(), ids[1], nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "a", Why: "b"}})
			return err
		},
	} {
		err := write(impatient)
		if !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), filepath.Join(dir, "LOCK")) {
			t.Errorf("%s beside another writer: %v, want ErrLocked with the path", name, err)
		} else if runtime.GOOS != "windows" && !strings.Contains(err.Error(), "process "+pid) {
			t.Errorf("%s beside another writer: %v, want its process id %s", name, err, pid)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := patient.Build(cancelled, source, engine.Settings{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled writer that would wait: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := patient.Build(t.Context(), source, engine.Settings{})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("a patient writer did not wait for the holder: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	holder.end(t)
	if err := <-done; err != nil {
		t.Errorf("a patient writer: %v", err)
	}

	holder = startProcess(t, "hold the lock", dir)
	holder.expect(t, "held")
	if err := holder.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.cmd.Wait() // it was killed
	if _, _, err := patient.GC(t.Context(), 5, false); err != nil {
		t.Errorf("after the holder was killed: %v", err)
	}
}

// TestReaderKeepsBuild: what another process reads stays readable through promotions and gc until
// it ends, and is then removed.
func TestReaderKeepsBuild(t *testing.T) {
	dir := t.TempDir()
	e, ids, _ := threeBuilds(t, dir)
	reader := startProcess(t, "read", dir)
	if id := reader.expect(t, "open "); id != ids[0] {
		t.Fatalf("the reader has %s open, want %s", id, ids[0])
	}
	override(t, e, ids[1])
	override(t, e, ids[2])
	removed, kept, err := e.GC(t.Context(), 0, false)
	if err != nil || len(removed) > 0 || kept[ids[0]] != "open in another reader" {
		t.Errorf("gc beside the reader: removed %v, kept %v, %v", removed, kept, err)
	}
	reader.say(t, "again")
	reader.expect(t, "same")
	reader.end(t)
	removed, kept, err = e.GC(t.Context(), 0, false)
	if err != nil || len(removed) != 1 || removed[0] != ids[0] {
		t.Errorf("gc after the reader: removed %v, kept %v, %v", removed, kept, err)
	}
	if _, err := e.QueryBuild(t.Context(), ids[0], engine.Query{Text: "x"}); !errors.Is(err, engine.ErrNoBuild) {
		t.Errorf("the removed build: %v, want ErrNoBuild", err)
	}
}

// TestDeletedUnderReader: an open build answers even where its folder is deleted by hand.
func TestDeletedUnderReader(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows deletes no open file")
	}
	dir := t.TempDir()
	_, ids, want := threeBuilds(t, dir)
	e, err := engine.Open(dir, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, "builds", ids[0]))
	if got := answers(t, e); got != want[ids[0]] {
		t.Errorf("it answers %s, want %s", got, want[ids[0]])
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := engine.Open(dir, engine.Options{}); !errors.Is(err, engine.ErrNoBuild) && !errors.Is(err, index.ErrCorrupt) {
		t.Errorf("opened anew: %v", err)
	}
}
