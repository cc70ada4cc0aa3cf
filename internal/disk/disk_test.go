package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var errFault = errors.New("fault")

// recorder counts the changes and fails the nth.
func recorder(at int, steps *[]string) *FS {
	step := func(op Op, path string) error {
		*steps = append(*steps, string(op)+" "+filepath.Base(path))
		if len(*steps) == at {
			return errFault
		}
		return nil
	}
	return &FS{
		Before: step,
		Write: func(path string, p []byte, write func([]byte) (int, error)) (int, error) {
			if err := step("cut", path); err != nil {
				n, werr := write(p[:len(p)/2])
				return n, errors.Join(err, werr)
			}
			return write(p)
		},
	}
}

// Whatever step fails, the file holds the old bytes or the new, the error says which step, and
// nothing is left behind.
func TestWriteFile(t *testing.T) {
	var steps []string
	path := filepath.Join(t.TempDir(), "file")
	if err := recorder(0, &steps).WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(steps, ", "), "create file.tmp, write file.tmp, cut file.tmp, sync file.tmp, rename file, sync "+filepath.Base(filepath.Dir(path)); got != want {
		t.Errorf("steps: %s, want %s", got, want)
	}
	for at := 1; at <= len(steps); at++ {
		var seen []string
		err := recorder(at, &seen).WriteFile(path, []byte("new bytes"))
		var where *os.PathError
		if !errors.Is(err, errFault) || !errors.As(err, &where) {
			t.Errorf("step %d: %v, want the fault with its path", at, err)
		}
		data, rerr := os.ReadFile(path)
		want := "old"
		if at == len(steps) {
			want = "new bytes" // only the sync of the folder failed
		}
		if rerr != nil || string(data) != want {
			t.Errorf("%s fails: the file holds %q, %v; want %q", seen[at-1], data, rerr, want)
		}
		if _, err := os.Stat(path + ".tmp"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s fails: the temporary file stays: %v", seen[at-1], err)
		}
	}
}

func TestWriteTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var fsys *FS
	err := fsys.WriteTo(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return errFault
	})
	if !errors.Is(err, errFault) {
		t.Errorf("%v, want the writer's error", err)
	}
	entries, rerr := os.ReadDir(filepath.Dir(path))
	if rerr != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, rerr)
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, line := range []string{"a\n", "b\n"} {
		f, err := (*FS)(nil).Append(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, line); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "a\nb\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// Every change of a tree is announced, and stops where it fails.
func TestSteps(t *testing.T) {
	root := t.TempDir()
	run := func(fsys *FS) error {
		dir := filepath.Join(root, "a", "b")
		for _, step := range []func() error{
			func() error { return fsys.MkdirAll(dir) },
			func() error { return fsys.WriteFile(filepath.Join(dir, "f"), []byte("x")) },
			func() error { return fsys.SyncTree(filepath.Join(root, "a")) },
			func() error { return fsys.Rename(filepath.Join(root, "a"), filepath.Join(root, "c")) },
			func() error { return fsys.Step(OpCreate, "elsewhere") },
			func() error { return fsys.RemoveAll(filepath.Join(root, "c")) },
			func() error { return fsys.RemoveAll(filepath.Join(root, "c")) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
	var steps []string
	if err := run(recorder(0, &steps)); err != nil {
		t.Fatal(err)
	}
	if len(steps) != 15 {
		t.Errorf("%d steps: %v", len(steps), steps)
	}
	for at := 1; at <= len(steps); at++ {
		var seen []string
		if err := run(recorder(at, &seen)); !errors.Is(err, errFault) || len(seen) != at {
			t.Errorf("step %d: %v after %v", at, err, seen)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(root, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(nil); err != nil {
		t.Errorf("without an FS: %v", err)
	}
	if err := (*FS)(nil).SyncTree(filepath.Join(root, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing tree: %v", err)
	}
}
