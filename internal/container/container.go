// Package container reads and writes files made of named, checksummed sections that can be
// used in place through a memory map.
//
// Layout, all numbers little-endian:
//
//	0   8 bytes  kind, ASCII, padded with spaces
//	8   uint32   version of the kind
//	12  uint32   number of sections n
//	16  n × 32   sections: name (12 bytes ASCII, zero padded), CRC-32C (uint32),
//	             offset (uint64), length (uint64)
//	…   uint32   CRC-32C of all bytes before it
//	…            sections, each starting at a multiple of 64, zeros between
//
// The file ends with the last section.
package container

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"unsafe"

	"github.com/seed792a4543/assay/internal/disk"
	"github.com/seed792a4543/assay/internal/mapped"
)

const (
	entrySize   = 32
	nameSize    = 12
	align       = 64
	maxSections = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Damage is returned for a file whose bytes are not what the writer wrote.
type Damage struct{ Path, Reason string }

func (e *Damage) Error() string { return e.Path + ": damaged: " + e.Reason }

// Version is returned for a file of another kind or version.
type Version struct {
	Path       string
	Kind       string
	Have, Want uint32
}

func (e *Version) Error() string {
	return fmt.Sprintf("%s: %s file of version %d, this program reads version %d", e.Path, e.Kind, e.Have, e.Want)
}

// Section is one named part of a file.
type Section struct {
	Name string // at most 12 ASCII bytes
	Data []byte
	// Parts, which Write takes in place of Data where it is set, are ranged over twice and give the
	// same bytes each time.
	Parts iter.Seq[string]
}

// each calls f with all bytes of s.
func (s *Section) each(f func([]byte) error) error {
	if s.Parts == nil {
		return f(s.Data)
	}
	for p := range s.Parts {
		if len(p) == 0 {
			continue
		}
		if err := f(unsafe.Slice(unsafe.StringData(p), len(p))); err != nil { // only read
			return err
		}
	}
	return nil
}

// Write puts a container at path, durably.
func Write(fsys *disk.FS, path, kind string, version uint32, sections []Section) error {
	if len(kind) > 8 || len(sections) > maxSections {
		panic("container: kind or number of sections out of range")
	}
	header := make([]byte, 16+len(sections)*entrySize+4)
	copy(header, fmt.Sprintf("%-8s", kind))
	binary.LittleEndian.PutUint32(header[8:], version)
	binary.LittleEndian.PutUint32(header[12:], uint32(len(sections)))
	at := up(len(header))
	for i, s := range sections {
		if len(s.Name) > nameSize {
			panic("container: section name too long: " + s.Name)
		}
		e := header[16+i*entrySize:]
		copy(e[:nameSize], s.Name)
		sum, size := uint32(0), 0
		_ = s.each(func(p []byte) error {
			sum, size = crc32.Update(sum, castagnoli, p), size+len(p)
			return nil
		})
		binary.LittleEndian.PutUint32(e[12:], sum)
		binary.LittleEndian.PutUint64(e[16:], uint64(at))
		binary.LittleEndian.PutUint64(e[24:], uint64(size))
		at = up(at + size)
	}
	end := len(header) - 4
	binary.LittleEndian.PutUint32(header[end:], crc32.Checksum(header[:end], castagnoli))
	return fsys.WriteTo(path, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 1<<20)
		at := 0
		put := func(p []byte) error {
			at += len(p)
			_, err := w.Write(p)
			return err
		}
		if err := put(header); err != nil {
			return err
		}
		for _, s := range sections {
			if err := put(make([]byte, up(at)-at)); err != nil {
				return err
			}
			if err := s.each(put); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

func up(n int) int { return (n + align - 1) &^ (align - 1) }

// File is an open container. Its sections are valid until Close.
type File struct {
	path     string
	m        *mapped.File
	sections []Section
	sums     []uint32
}

// Open maps the container at path and checks its header: kind, version, that the sections lie
// inside the file, and that nothing follows them. Section checksums are checked by Verify.
func Open(path, kind string, version uint32) (*File, error) {
	m, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(path, m.Data, kind, version)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	f.m = m
	return f, nil
}

func parse(path string, data []byte, kind string, version uint32) (*File, error) {
	if len(data) < 20 {
		return nil, &Damage{path, fmt.Sprintf("%d bytes is too short for a header", len(data))}
	}
	if have := string(bytes.TrimRight(data[:8], " ")); have != kind {
		return nil, &Damage{path, fmt.Sprintf("kind is %q, not %q", have, kind)}
	}
	if have := binary.LittleEndian.Uint32(data[8:]); have != version {
		return nil, &Version{path, kind, have, version}
	}
	n := int(binary.LittleEndian.Uint32(data[12:]))
	if n > maxSections || len(data) < 16+n*entrySize+4 {
		return nil, &Damage{path, fmt.Sprintf("%d sections do not fit", n)}
	}
	end := 16 + n*entrySize
	if crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, &Damage{path, "header checksum differs"}
	}
	f := &File{path: path}
	last := uint64(end + 4)
	for i := range n {
		e := data[16+i*entrySize:]
		off, length := binary.LittleEndian.Uint64(e[16:]), binary.LittleEndian.Uint64(e[24:])
		if off < last || off > uint64(len(data)) || length > uint64(len(data))-off {
			return nil, &Damage{path, fmt.Sprintf("section %d lies outside the file", i)}
		}
		f.sections = append(f.sections, Section{
			Name: string(bytes.TrimRight(e[:nameSize], "\x00")),
			Data: data[off : off+length : off+length],
		})
		f.sums = append(f.sums, binary.LittleEndian.Uint32(e[12:]))
		last = off + length
	}
	if last != uint64(len(data)) {
		return nil, &Damage{path, fmt.Sprintf("%d bytes after the last section", uint64(len(data))-last)}
	}
	return f, nil
}

// Section returns the named section's bytes. It must hold a multiple of size bytes (size 1 or
// less: any number); a missing section or another length is damage.
func (f *File) Section(name string, size int) ([]byte, error) {
	for _, s := range f.sections {
		if s.Name == name {
			if size > 1 && len(s.Data)%size != 0 {
				return nil, &Damage{f.path, fmt.Sprintf("section %s: %d bytes is no multiple of %d", name, len(s.Data), size)}
			}
			return s.Data, nil
		}
	}
	return nil, &Damage{f.path, "section " + name + " is missing"}
}

// Verify checks every section's checksum.
func (f *File) Verify() error {
	for i, s := range f.sections {
		if crc32.Checksum(s.Data, castagnoli) != f.sums[i] {
			return &Damage{f.path, "section " + s.Name + ": checksum differs"}
		}
	}
	return nil
}

// VerifySection checks the checksum of the named section alone.
func (f *File) VerifySection(name string) error {
	for i, s := range f.sections {
		if s.Name == name {
			if crc32.Checksum(s.Data, castagnoli) != f.sums[i] {
				return &Damage{f.path, "section " + name + ": checksum differs"}
			}
			return nil
		}
	}
	return &Damage{f.path, "section " + name + " is missing"}
}

// Size returns the file's length in bytes.
func (f *File) Size() int64 {
	if f.m == nil {
		return 0
	}
	return int64(len(f.m.Data))
}

// Close unmaps the file.
func (f *File) Close() error { return f.m.Close() }
