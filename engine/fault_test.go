//go:build unix

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/internal/disk"
)

// failing is a disk whose nth change fails, and with stays all that follow: before it happens, or
// for a write after half of its bytes.
type failing struct {
	mu    sync.Mutex
	n, at int
	stays bool
	err   error
	seen  []string // what failed
}

func (f *failing) fails(op disk.Op, path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.n == f.at || f.stays && f.at > 0 && f.n > f.at {
		f.seen = append(f.seen, string(op)+" "+path)
		return true
	}
	return false
}

func (f *failing) fsys() *disk.FS {
	return &disk.FS{
		Before: func(op disk.Op, path string) error {
			if f.fails(op, path) {
				return f.err
			}
			return nil
		},
		Write: func(path string, p []byte, write func([]byte) (int, error)) (int, error) {
			if f.fails("cut", path) {
				n, err := write(p[:len(p)/2])
				return n, errors.Join(f.err, err)
			}
			return write(p)
		},
	}
}

// TestFailingDisk makes each change to the disk fail, once alone and once with all that follow,
// and cuts each write short. The operation then fails and says why, or was complete without that
// change; the store is as after a crash.
func TestFailingDisk(t *testing.T) {
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
			count := &failing{}
			if err := c.run(t.Context(), done, count.fsys()); err != nil {
				t.Fatal(err)
			}
			after, err := stateOf(t.Context(), done)
			if err != nil {
				t.Fatal(err)
			}
			stride := 1
			if !full {
				stride = max(1, count.n/7)
			}
			if testing.Short() || raced {
				stride = max(1, count.n/2)
			}
			points := 0
			for at := sampleStart(t, stride); at <= count.n; at += stride {
				for _, stays := range []bool{false, true} {
					if !full && stays != (at/stride%2 == 0) {
						continue // a sample takes turns
					}
					points++
					dir := filepath.Join(t.TempDir(), "at")
					copyTree(t, template, dir)
					f := &failing{at: at, stays: stays, err: syscall.ENOSPC}
					err := c.run(t.Context(), dir, f.fsys())
					if err := judge(t.Context(), &c, dir, f, err, before, after); err != nil {
						t.Errorf("change %d of %d fails (stays so: %v): %v", at, count.n, stays, err)
					}
				}
			}
			t.Logf("%d changes, %d faults", count.n, points)
			total += points
		})
	}
	t.Logf("%d faults", total)
}

// judge confirms that the operation's error is right and what it left is sound.
func judge(ctx context.Context, c *change, dir string, f *failing, err error, before, after state) error {
	if err == nil {
		// What may fail without harm is the cache of embeddings, and the removal of leftovers.
		now, serr := stateOf(ctx, dir)
		if serr != nil {
			return serr
		}
		if diff := cmp.Diff(after, now); diff != "" {
			return fmt.Errorf("%v failed, no error was returned, and the outcome differs:\n%s", f.seen, diff)
		}
	} else if !errors.Is(err, f.err) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "no space left") {
		return fmt.Errorf("%v failed; the error does not say what and where: %w", f.seen, err)
	}
	return afterCrash(ctx, c, dir, before, after)
}

// asNobody runs the test that calls it once more in a process with the rights of nobody, in a
// folder of its own that it may read, with name=dir in its environment.
func asNobody(t *testing.T, root, name, dir string) {
	t.Helper()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(root, "test")
	if err := copyFile(os.Args[0], exe); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), name+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); errors.Is(err, fs.ErrPermission) {
		t.Skip("this system lets no process take other rights:", err)
	} else if err != nil || strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// openRoot is a temporary folder whose parents nobody is kept out of, as TempDir's are.
func openRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "assay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		chmodTree(t, root, 0o777, 0o666)
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	return root
}

// TestReadOnlyStore searches a store that may not be written to, and tries to change it. As root
// it runs in a process of its own with the rights of nobody.
func TestReadOnlyStore(t *testing.T) {
	if dir := os.Getenv("ASSAY_READONLY_DIR"); dir != "" {
		readOnly(t, dir)
		return
	}
	root := openRoot(t)
	dir := filepath.Join(root, "dir")
	all := changes()
	for i := range all {
		if all[i].name == "gc" {
			all[i].prepare(t, dir)
		}
	}
	before, err := stateOf(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	chmodTree(t, root, 0o555, 0o444)
	if os.Geteuid() != 0 {
		readOnly(t, dir)
	} else {
		asNobody(t, root, "ASSAY_READONLY_DIR", dir)
	}
	now, err := stateOf(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("the read-only store changed:\n%s", diff)
	}
}

func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "probe"), nil, 0o666); err == nil {
		t.Skip("this user may write to a folder without the right to")
	}
	store := filepath.Join(dir, "store")
	e, err := engine.Open(store, engine.Options{})
	if err != nil {
		t.Fatalf("a read-only store is not opened: %v", err)
	}
	hits, err := e.Search(t.Context(), engine.Query{Text: "refund money", K: 3})
	if err != nil || len(hits) == 0 {
		t.Errorf("search: %d hits, %v", len(hits), err)
	}
	faults, _, err := e.Check(t.Context())
	if err != nil || len(faults) > 0 {
		t.Errorf("check: %v, %v", faults, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range changes() {
		if c.damaged || c.name == "look at the holdout" || c.name == "review" || c.name == "promotion" || c.name == answersChange {
			continue // they start from other files, or change nothing here
		}
		switch err := c.run(t.Context(), dir, nil); {
		case err == nil:
			t.Errorf("%s: no error", c.name)
		case errors.Is(err, engine.ErrNotAccepted), c.name == "freeze" && errors.Is(err, fs.ErrNotExist):
			// Refused for another reason: this store has another history than the operation wants.
		case !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir):
			t.Errorf("%s: the error does not name permission and path: %v", c.name, err)
		}
	}
	_, err = engine.Open(filepath.Join(dir, "new", "store"), engine.Options{})
	if err != nil {
		t.Errorf("a store that does not exist yet: %v", err)
	}
	fresh, err := engine.OpenStore(filepath.Join(dir, "new"), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Build(t.Context(), corpus.FS("test", shop, corpus.Options{}), engine.Settings{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a new store in a read-only folder: %v, want permission denied", err)
	}
}

// TestUnreadableFile: a file that may not be read is not mistaken for damage. As root it runs in a
// process of its own with the rights of nobody.
func TestUnreadableFile(t *testing.T) {
	if dir := os.Getenv("ASSAY_UNREADABLE_DIR"); dir != "" {
		unreadable(t, dir)
		return
	}
	root := openRoot(t)
	dir := filepath.Join(root, "dir")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		unreadable(t, dir)
		return
	}
	if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask
		t.Fatal(err)
	}
	asNobody(t, root, "ASSAY_UNREADABLE_DIR", dir)
}

func unreadable(t *testing.T, dir string) {
	t.Helper()
	dir = filepath.Join(dir, "store")
	e := open(t, dir)
	b := build(t, e, shop, engine.Settings{})
	override(t, e, b.ID)
	for _, name := range []string{"documents.dat", "manifest.json"} {
		path := filepath.Join(dir, "builds", b.ID, name)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if f, err := os.Open(path); err == nil {
			f.Close()
			t.Skip("this user reads files without the right to")
		}
		if _, err := engine.Open(dir, engine.Options{}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, want permission denied", name, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func chmodTree(t *testing.T, root string, dirs, files fs.FileMode) {
	t.Helper()
	var paths []string
	if err := os.Chmod(root, 0o777); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		paths = append(paths, path)
		if d != nil && d.IsDir() {
			if cerr := os.Chmod(path, 0o777); cerr != nil {
				return cerr
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := len(paths) - 1; i >= 0; i-- {
		info, err := os.Lstat(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		mode := files
		if info.IsDir() {
			mode = dirs
		}
		if err := os.Chmod(paths[i], mode); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
