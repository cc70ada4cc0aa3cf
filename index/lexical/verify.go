package lexical

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/mapped"
)

func (x *Index) verify(ctx context.Context) error {
	path := filepath.Join(x.dir, postingsName)
	if err := x.file.Verify(); err != nil {
		return explain(err)
	}
	p := &x.p
	damaged := func(format string, args ...any) error {
		return &index.CorruptError{File: path, Reason: fmt.Sprintf(format, args...)}
	}
	start, blk, common := uint64(0), 0, 0
	for i, end := range p.postEnds {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if i > 0 && string(p.term(i-1)) >= string(p.term(i)) {
			return damaged("term %d is out of order", i)
		}
		for b := start; b < end; b += blockSize {
			last := min(b+blockSize, end)
			for j := b; j < last; j++ {
				if int(p.docs[j]) >= x.stats.Chunks || j > start && p.docs[j] <= p.docs[j-1] {
					return damaged("postings of term %d are out of order", i)
				}
			}
			if p.blkDocs[blk] != p.docs[last-1] || p.blkMax[blk] != p.bound(x.m, p.lengths, b, last) {
				return damaged("block %d of term %d has another bound", blk, i)
			}
			blk++
		}
		if n := end - start; n >= commonPostings && n*commonShare >= uint64(x.stats.Chunks) {
			has, ranks := p.commonBits(i)
			if has == nil {
				return damaged("term %d is not among the common ones", i)
			}
			common++
			n := uint64(0)
			for w, word := range has {
				if uint64(ranks[w]) != n {
					return damaged("ranks of term %d are wrong", i)
				}
				for ; word != 0; word &= word - 1 {
					if n++; n > end-start || p.docs[start+n-1] != uint32(w<<6+bits.TrailingZeros64(word)) {
						return damaged("bits of term %d differ from its postings", i)
					}
				}
			}
			if n != end-start {
				return damaged("bits of term %d differ from its postings", i)
			}
		}
		start = end
	}
	if common != len(p.common) {
		return damaged("%d common terms, %d expected", len(p.common), common)
	}
	if x.stats.Chunks == 0 {
		return nil
	}
	return x.compare(ctx)
}

// compare checks bleve's segment against the postings.
func (x *Index) compare(ctx context.Context) (err error) {
	path := filepath.Join(x.dir, storeDir, segmentName)
	damaged := func(format string, args ...any) error {
		return &index.CorruptError{File: path, Reason: fmt.Sprintf(format, args...)}
	}
	if err := checkSegment(path); err != nil {
		return err
	}
	for _, name := range []string{filepath.Join(x.dir, metaName), filepath.Join(x.dir, storeDir, boltName)} {
		if _, err := os.Stat(name); err != nil {
			return &index.CorruptError{File: name, Reason: "missing: bleve cannot open the folder"}
		}
	}
	// The library trusts its files; a fault that survives the checksum must not end the program.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = damaged("bleve cannot read it: %v", r)
		}
	}()
	p, term, at := &x.p, -1, uint64(0)
	differs := errors.New("differs")
	err = eachPosting(ctx, path, func(name []byte) error {
		if term >= 0 && at != p.postEnds[term] {
			return differs
		}
		if term++; term >= len(p.termEnds) || string(p.term(term)) != string(name) {
			return differs
		}
		return nil
	}, func(doc, freq uint64, length uint32) error {
		if at >= p.postEnds[term] || uint64(p.docs[at]) != doc || uint64(p.freq(at)) != freq || p.lengths[doc] != length {
			return differs
		}
		at++
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && (term != len(p.termEnds)-1 || at != uint64(len(p.docs))), errors.Is(err, differs):
		return damaged("its postings differ from those of %s", postingsName)
	case err != nil:
		return damaged("bleve cannot read it: %v", err)
	}
	return nil
}

// checkSegment checks the segment's own checksum: its last 4 bytes are the big-endian CRC-32
// (IEEE) of all before them.
func checkSegment(path string) error {
	m, err := mapped.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &index.CorruptError{File: path, Reason: "missing"}
		}
		return err
	}
	n := len(m.Data) - 4
	ok := n >= 0 && crc32.ChecksumIEEE(m.Data[:n]) == binary.BigEndian.Uint32(m.Data[n:])
	if err := m.Close(); err != nil {
		return err
	}
	if !ok {
		return &index.CorruptError{File: path, Reason: "checksum differs"}
	}
	return nil
}
