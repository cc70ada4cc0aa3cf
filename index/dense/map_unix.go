//go:build unix

package dense

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps size > 0 bytes of f for reading and returns them with a function that unmaps.
func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
