// Package mapped gives read-only access to a file's bytes through a memory map.
package mapped

import (
	"errors"
	"fmt"
	"os"
)

// File is a mapped file. Data must not be written to, nor used after Close.
type File struct {
	Data  []byte
	unmap func() error
}

// Open maps the file at path. An empty file gives empty Data.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != int64(int(info.Size())) {
		err = fmt.Errorf("%s: %d bytes do not fit into this system's address space", path, info.Size())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Size() == 0 {
		return &File{}, f.Close()
	}
	data, unmap, err := mapFile(f, int(info.Size()))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &File{Data: data, unmap: unmap}, nil
}

// Close removes the map; a second call does nothing.
func (f *File) Close() error {
	if f == nil || f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.Data, f.unmap = nil, nil
	return unmap()
}
