package evalkit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/internal/disk"
)

// A write that stops at any step leaves no record or the whole one.
func TestRecordCrash(t *testing.T) {
	stop := errors.New("stop")
	record := func() *Record {
		ev := mustEvaluate(t, Options{}, []golden.Question{question("q", "a")}, ranking("q", "a"))
		return NewRecord(ev, &Run{Results: []Result{ranking("q", "a")}})
	}
	times := NewTimes(time.Time{}, time.Time{}, nil)
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "run")
		steps := 0
		fsys := &disk.FS{Before: func(disk.Op, string) error {
			if steps++; steps > n {
				return stop
			}
			return nil
		}}
		err := record().Write(fsys, dir, times)
		r, readErr := ReadRecord(dir)
		if err == nil {
			if readErr != nil || r.Recompute() != nil {
				t.Errorf("complete write: %v", readErr)
			}
			if n < 5 {
				t.Errorf("only %d steps: the faults were not injected", n)
			}
			return
		}
		if !errors.Is(err, stop) {
			t.Fatalf("step %d: %v", n, err)
		}
		// The last step syncs the folder after the rename: the record may be there, and whole.
		if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
			t.Errorf("stopped at step %d: %v", n, readErr)
		}
	}
}
