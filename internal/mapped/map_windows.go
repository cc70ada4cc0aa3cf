package mapped

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapFile maps size > 0 bytes of f for reading and returns them with a function that unmaps.
func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	m, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, nil, &os.PathError{Op: "CreateFileMapping", Path: f.Name(), Err: err}
	}
	addr, err := windows.MapViewOfFile(m, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	// The view keeps the mapping alive.
	if cerr := windows.CloseHandle(m); err == nil && cerr != nil {
		err = errors.Join(cerr, windows.UnmapViewOfFile(addr))
	}
	if err != nil {
		return nil, nil, &os.PathError{Op: "MapViewOfFile", Path: f.Name(), Err: err}
	}
	// The address is memory of the operating system, which the collector neither moves nor
	// frees; the indirection only tells vet so.
	b := unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)
	return b, func() error { return windows.UnmapViewOfFile(addr) }, nil
}
