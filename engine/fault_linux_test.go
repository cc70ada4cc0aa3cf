package engine_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDisk runs every operation on a file system that is full after a while, at every size
// from the store's own on. It is a tmpfs in a mount namespace of its own, which needs no rights
// where the system allows user namespaces.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv("ASSAY_TMPFS_DIR"); dir != "" {
		fullDisk(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$", "-test.v", "-test.count=1", "-test.timeout=20m")
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	cmd.Env = append(os.Environ(), "ASSAY_TMPFS_DIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skip("this system gives no namespace of mounts:", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "sizes") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func fullDisk(t *testing.T, root string) {
	const page = 4096
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("no tmpfs can be mounted:", err)
	}
	for _, c := range changes() {
		template := filepath.Join(root, "template")
		if err := os.MkdirAll(template, 0o777); err != nil {
			t.Fatal(err)
		}
		c.prepare(t, template)
		before, err := stateOf(t.Context(), template)
		if err != nil {
			t.Fatal(err)
		}
		done := filepath.Join(root, "done")
		copyTree(t, template, done)
		if err := c.run(t.Context(), done, nil); err != nil {
			t.Fatal(err)
		}
		after, err := stateOf(t.Context(), done)
		if err != nil {
			t.Fatal(err)
		}
		small := filepath.Join(root, "small")
		if err := os.MkdirAll(small, 0o777); err != nil {
			t.Fatal(err)
		}
		sizes, step := 0, 8*page
		if os.Getenv(crashFull) == "1" {
			step = page
		}
		for spare := 0; ; spare += step {
			if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=64m"); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(small, "dir")
			copyTree(t, template, dir)
			var st unix.Statfs_t
			if err := unix.Statfs(small, &st); err != nil {
				t.Fatal(err)
			}
			used := (int(st.Blocks) - int(st.Bfree)) * int(st.Bsize)
			resize(t, small, used+spare)
			err := c.run(t.Context(), dir, nil)
			resize(t, small, 64<<20)
			if err == nil {
				now, serr := stateOf(t.Context(), dir)
				if serr != nil {
					t.Fatal(serr)
				}
				// The cache of embeddings may have failed alone.
				if now.Live != after.Live || len(now.Builds) != len(after.Builds) {
					t.Errorf("%s, %d bytes to spare: no error, and the operation is not done", c.name, spare)
				}
			} else {
				sizes++
				// A library's error holds the cause as text alone.
				if !strings.Contains(err.Error(), unix.ENOSPC.Error()) || !strings.Contains(err.Error(), dir) {
					t.Errorf("%s, %d bytes to spare: the error does not say what and where: %v", c.name, spare, err)
				}
				if err := afterCrash(t.Context(), &c, dir, before, after); err != nil {
					t.Errorf("%s, %d bytes to spare: %v", c.name, spare, err)
				}
			}
			if uerr := unix.Unmount(small, unix.MNT_DETACH); uerr != nil {
				t.Fatal(uerr)
			}
			if err == nil {
				break
			}
			if spare > 32<<20 {
				t.Fatalf("%s: 32 MiB do not suffice: %v", c.name, err)
			}
		}
		t.Logf("%s: full at %d sizes", c.name, sizes)
		for _, dir := range []string{template, done} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// resize changes the size of the tmpfs, in bytes; it has at least one page.
func resize(t *testing.T, dir string, size int) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size="+strconv.Itoa(max(size, 4096))); err != nil {
		t.Fatal(err)
	}
}
