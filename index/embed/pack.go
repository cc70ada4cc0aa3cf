package embed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// A pack is an immutable file of cached vectors; docs/format.md describes it. History of its
// format: 1, the first.
const (
	packMagic  = "ASSAYPCK"
	packFormat = 1
	packHeader = 8 + 4 + 4 + 4 + 4 // magic, format, dimension, count, checksum of header and keys
	packPrefix = "pack-"
	packSuffix = ".vec"
)

func isPack(name string) bool {
	return strings.HasPrefix(name, packPrefix) && strings.HasSuffix(name, packSuffix)
}

type pack struct {
	name       string
	dim, count int
	size       int64
	used       bool // its time stamp was renewed by this process
}

func castagnoli(parts ...[]byte) uint32 {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, p := range parts {
		_, _ = h.Write(p)
	}
	return h.Sum32()
}

// encodePack returns a pack's bytes. keys must ascend; a nil row is stored as zeros.
func encodePack(keys []cacheKey, rows [][]float32, dim int) []byte {
	var w bytes.Buffer
	put := func(v uint32) { w.Write(binary.LittleEndian.AppendUint32(nil, v)) }
	w.WriteString(packMagic)
	put(packFormat)
	put(uint32(dim))
	put(uint32(len(keys)))
	var all []byte
	for _, k := range keys {
		all = append(all, k[:]...)
	}
	put(castagnoli(w.Bytes(), all))
	w.Write(all)
	for i, row := range rows {
		b := make([]byte, 0, 4*dim+4)
		for j := range dim {
			x := float32(0)
			if row != nil {
				x = row[j]
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		b = binary.LittleEndian.AppendUint32(b, castagnoli(keys[i][:], b))
		w.Write(b)
	}
	return w.Bytes()
}

// openPack reads a pack's header and keys. Nothing is allocated that the file's size does not
// back.
func openPack(dir, name string) (*pack, []cacheKey, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	p, keys, err := parsePack(path, f, st.Size())
	if err != nil {
		return nil, nil, err
	}
	p.name = name
	return p, keys, nil
}

func parsePack(path string, f io.ReaderAt, size int64) (*pack, []cacheKey, error) {
	corrupt := func(format string, args ...any) (*pack, []cacheKey, error) {
		return nil, nil, &index.CorruptError{File: path, Reason: fmt.Sprintf(format, args...)}
	}
	head := make([]byte, packHeader)
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return corrupt("too short for a cache pack: %v", err)
	}
	if string(head[:8]) != packMagic {
		return corrupt("not a cache pack")
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != packFormat {
		return nil, nil, fmt.Errorf("%s: cache pack format %d, this program reads %d: %w", path, v, packFormat, index.ErrFormat)
	}
	dim, count := int64(binary.LittleEndian.Uint32(head[12:])), int64(binary.LittleEndian.Uint32(head[16:]))
	if dim == 0 || dim > 1<<20 || count > 1<<31 || packHeader+count*(32+4*dim+4) != size {
		return corrupt("%d vectors of dimension %d do not make %d bytes", count, dim, size)
	}
	raw := make([]byte, 32*count)
	if n, err := f.ReadAt(raw, packHeader); n < len(raw) {
		return corrupt("keys cannot be read: %v", err)
	}
	if castagnoli(head[:20], raw) != binary.LittleEndian.Uint32(head[20:]) {
		return corrupt("checksum of the keys does not match")
	}
	keys := make([]cacheKey, count)
	for i := range keys {
		keys[i] = cacheKey(raw[32*i:])
	}
	return &pack{dim: int(dim), count: int(count), size: size}, keys, nil
}

// read returns row i, nil if the text had no vector, and whether it is sound.
func (p *pack) read(f io.ReaderAt, i int, k cacheKey) ([]float32, bool) {
	size := 4*p.dim + 4
	b := make([]byte, size)
	if n, _ := f.ReadAt(b, packHeader+int64(p.count)*32+int64(i)*int64(size)); n < size {
		return nil, false
	}
	if castagnoli(k[:], b[:size-4]) != binary.LittleEndian.Uint32(b[size-4:]) {
		return nil, false
	}
	row, zero := make([]float32, p.dim), true
	for j := range row {
		row[j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:]))
		zero = zero && row[j] == 0
	}
	if zero {
		return nil, true
	}
	return row, unit.Check(row, p.dim) == nil
}
