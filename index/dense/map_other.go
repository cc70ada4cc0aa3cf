//go:build !unix && !windows

package dense

import (
	"io"
	"os"
	"unsafe"
)

// mapFile reads size > 0 bytes of f into memory aligned as a mapping is, since this system
// maps no files.
func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	words := make([]uint64, (size+7)/8)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), b); err != nil {
		return nil, nil, err
	}
	return b, func() error { return nil }, nil
}
