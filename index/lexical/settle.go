package lexical

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed792a4543/assay/internal/disk"
)

// settle makes the bytes of a segment depend on its content alone. The segment writer lists the
// parts of each field in the order of a Go map; they are sorted here and the checksum is made
// anew. To readers the order means nothing.
//
// The file ends in: … uint64 offset of the fields' index, uint32 chunk mode, uint32 version,
// uint32 CRC-32 (IEEE) of all before it. The index holds the number of fields and the offset of
// each; a field is its name (length first), its options, the number of parts, and for each part
// its kind (uint16) and its offset (uint64). Numbers are big-endian, counts and lengths varints.
func settle(fsys *disk.FS, path string) (err error) {
	const tail, partSize = 20, 2 + 8
	if err := fsys.Step(disk.OpWrite, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// The segment library makes files for their owner alone. Whoever may read the folder may read it.
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := f.Chmod(folder.Mode().Perm() &^ 0o111); err != nil {
		return err
	}
	size := info.Size()
	unknown := func(err error) error {
		return fmt.Errorf("%s: layout of the segment is not the expected one, a change in the segment library: %w", path, err)
	}
	if size < tail {
		return unknown(io.ErrUnexpectedEOF)
	}
	end := make([]byte, 8)
	if _, err := f.ReadAt(end, size-tail); err != nil {
		return err
	}
	at := int64(binary.BigEndian.Uint64(end))
	if at < 0 || at > size-tail {
		return unknown(errors.New("the fields' index lies outside"))
	}
	index := bufio.NewReader(io.NewSectionReader(f, at, size-tail-at))
	fields, err := binary.ReadUvarint(index)
	if err != nil {
		return unknown(err)
	}
	for range fields {
		var offset uint64
		if err := binary.Read(index, binary.BigEndian, &offset); err != nil {
			return unknown(err)
		}
		if offset >= uint64(at) {
			return unknown(errors.New("a field lies outside"))
		}
		r := &counter{r: bufio.NewReader(io.NewSectionReader(f, int64(offset), at-int64(offset)))}
		var head [3]uint64
		for i := range head {
			if head[i], err = binary.ReadUvarint(r); err != nil {
				return unknown(err)
			}
			if i == 0 {
				if err := r.skip(head[0]); err != nil {
					return unknown(err)
				}
			}
		}
		if head[2] > 64 {
			return unknown(fmt.Errorf("%d parts of a field", head[2]))
		}
		parts := make([]byte, head[2]*partSize)
		if _, err := f.ReadAt(parts, int64(offset)+r.n); err != nil {
			return unknown(err)
		}
		sorted := slices.SortedFunc(slices.Chunk(parts, partSize), bytes.Compare)
		if _, err := f.WriteAt(slices.Concat(sorted...), int64(offset)+r.n); err != nil {
			return err
		}
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size-4)); err != nil {
		return err
	}
	_, err = f.WriteAt(sum.Sum(nil), size-4)
	return err
}

// counter counts the bytes read.
type counter struct {
	r *bufio.Reader
	n int64
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func (c *counter) skip(n uint64) error {
	for range n {
		if _, err := c.ReadByte(); err != nil {
			return err
		}
	}
	return nil
}
