package lexical

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"

	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/seed792a4543/assay/internal/container"
	"github.com/seed792a4543/assay/internal/disk"
	"github.com/seed792a4543/assay/internal/mapped"
)

// The postings file is a container of kind "bm25". All numbers are little-endian; P is the number
// of postings, T of terms, B of blocks, N of chunks. The postings of a term are consecutive, in
// ascending order of chunks, and cut into blocks of blockSize from the term's first on.
//
//	stats    JSON, the Stats of the build
//	terms    the terms one after the other, in ascending byte-wise order
//	termends T × uint32  end of each term in terms
//	postends T × uint64  end of each term's postings
//	blkends  T × uint32  end of each term's blocks
//	docs     P × uint32  chunk
//	freqs    P × uint8   weighted term frequency; 0: above 255, in large
//	large    16 bytes each, ascending: uint64 posting, uint64 frequency
//	blkdocs  B × uint32  last chunk of each block
//	blkmax   B × float32 upper bound of tf / (tf + k1·(1 − b + b·length/average)) in the block
//	lengths  N × uint32  weighted words of each chunk
//	common   C × uint32  the terms in at least commonPostings chunks and one chunk of commonShare,
//	                     ascending
//	bits     C × W × uint64  for each of them the chunks that hold it, one bit each; W = ⌈N/64⌉
//	ranks    C × W × uint32  how many of the term's chunks lie before each word of bits
const (
	postingsName    = "postings.bin"
	postingsKind    = "bm25"
	postingsVersion = 1
	blockSize       = 128
	commonPostings  = 1024
	commonShare     = 16
)

// spool is a temporary file that becomes one section.
type spool struct {
	f    *disk.File
	w    *bufio.Writer
	path string
	m    *mapped.File
	n    uint64 // bytes
}

func newSpool(fsys *disk.FS, scratch, name string) (*spool, error) {
	path := filepath.Join(scratch, name)
	f, err := fsys.Create(path)
	if err != nil {
		return nil, err
	}
	return &spool{f: f, w: bufio.NewWriterSize(f, 1<<18), path: path}, nil
}

func (s *spool) u32(v uint32) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	s.bytes(b[:])
}

func (s *spool) u64(v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	s.bytes(b[:])
}

// bytes keeps the first error for done, as bufio does.
func (s *spool) bytes(b []byte) {
	_, _ = s.w.Write(b)
	s.n += uint64(len(b))
}

// done ends writing and returns the content, mapped.
func (s *spool) done() ([]byte, error) {
	err := errors.Join(s.w.Flush(), s.f.Close())
	s.f = nil
	if err != nil {
		return nil, err
	}
	if s.m, err = mapped.Open(s.path); err != nil {
		return nil, err
	}
	return s.m.Data, nil
}

func (s *spool) close() error {
	var err error
	if s.f != nil {
		err = s.f.Close()
	}
	return errors.Join(err, s.m.Close())
}

// writePostings derives the postings file from bleve's segment and fills in the statistics.
func writePostings(ctx context.Context, fsys *disk.FS, dir, scratch string, stats *Stats) (err error) {
	names := []string{"terms", "termends", "postends", "blkends", "docs", "freqs", "large", "blkdocs", "blkmax", "common", "bits", "ranks"}
	spools := make(map[string]*spool, len(names))
	for _, name := range names {
		s, err2 := newSpool(fsys, scratch, name)
		if err2 != nil {
			return err2
		}
		defer func() { err = errors.Join(err, s.close()) }()
		spools[name] = s
	}
	lengths := make([]uint32, stats.Chunks)
	var postEnds []uint64 // ends of the terms' postings
	terms, docs, freqs, large := spools["terms"], spools["docs"], spools["freqs"], spools["large"]
	blocks := uint32(0)
	if stats.Chunks > 0 {
		err := eachPosting(ctx, filepath.Join(dir, storeDir, segmentName), func(term []byte) error {
			terms.bytes(term)
			if terms.n > math.MaxUint32 {
				return fmt.Errorf("the distinct terms take more than %d bytes: split the corpus", uint32(math.MaxUint32))
			}
			postEnds = append(postEnds, 0)
			spools["termends"].u32(uint32(terms.n))
			return nil
		}, func(doc, freq uint64, length uint32) error {
			if doc >= uint64(len(lengths)) {
				return fmt.Errorf("bleve returned chunk %d of %d", doc, len(lengths))
			}
			if freq > math.MaxUint8 {
				large.u64(docs.n / 4)
				large.u64(freq)
				freq = 0
			}
			docs.u32(uint32(doc))
			freqs.bytes([]byte{byte(freq)})
			lengths[doc] = length
			postEnds[len(postEnds)-1] = docs.n / 4
			return nil
		})
		if err != nil {
			return err
		}
	}
	stats.Terms, stats.Postings = len(postEnds), int64(docs.n/4)
	for _, n := range lengths {
		stats.TotalLength += int64(n)
		if n == 0 {
			stats.Empty++
		}
	}
	if stats.Chunks > 0 {
		stats.AverageLength = float64(stats.TotalLength) / float64(stats.Chunks)
	}

	data := map[string][]byte{"lengths": u32Bytes(lengths)}
	for _, name := range []string{"terms", "termends", "docs", "freqs", "large"} {
		if data[name], err = spools[name].done(); err != nil {
			return err
		}
	}
	m := newModel(stats)
	view := postings{docs: asU32(data["docs"]), freqs: data["freqs"], large: asU64(data["large"])}
	start := uint64(0)
	words := make([]uint64, (stats.Chunks+63)/64)
	for i, end := range postEnds {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for b := start; b < end; b += blockSize {
			last := min(b+blockSize, end)
			spools["blkdocs"].u32(view.docs[last-1])
			spools["blkmax"].u32(math.Float32bits(view.bound(m, lengths, b, last)))
			blocks++
		}
		if n := end - start; n >= commonPostings && n*commonShare >= uint64(stats.Chunks) {
			spools["common"].u32(uint32(i))
			clear(words)
			for _, d := range view.docs[start:end] {
				words[d>>6] |= 1 << (d & 63)
			}
			before := uint32(0)
			for _, w := range words {
				spools["bits"].u64(w)
				spools["ranks"].u32(before)
				before += uint32(bits.OnesCount64(w))
			}
		}
		spools["postends"].u64(end)
		spools["blkends"].u32(blocks)
		start = end
	}
	for _, name := range []string{"postends", "blkends", "blkdocs", "blkmax", "common", "bits", "ranks"} {
		if data[name], err = spools[name].done(); err != nil {
			return err
		}
	}
	if data["stats"], err = json.Marshal(stats); err != nil {
		return err
	}
	var sections []container.Section
	for _, name := range append([]string{"stats"}, append(names, "lengths")...) {
		sections = append(sections, container.Section{Name: name, Data: data[name]})
	}
	return container.Write(fsys, filepath.Join(dir, postingsName), postingsKind, postingsVersion, sections)
}

// bound returns the block bound of postings [from, to): the largest impact, rounded up to
// float32.
func (p *postings) bound(m model, lengths []uint32, from, to uint64) float32 {
	most := 0.0
	for i := from; i < to; i++ {
		most = max(most, impact(p.freq(i), m.norm(lengths[p.docs[i]])))
	}
	f := float32(most)
	if float64(f) < most {
		f = math.Nextafter32(f, math.MaxFloat32)
	}
	return f
}

// eachPosting walks bleve's segment: term is called for each term in ascending order, posting for
// each of its postings in ascending order of chunks.
func eachPosting(ctx context.Context, path string, term func([]byte) error, posting func(doc, freq uint64, length uint32) error) (err error) {
	seg, err := new(zap.ZapPlugin).Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seg.Close()) }()
	dict, err := seg.Dictionary(field)
	if err != nil {
		return err
	}
	var list segment.PostingsList
	var each segment.PostingsIterator
	entries := dict.AutomatonIterator(nil, nil, nil)
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var e *index.DictEntry
		if e, err = entries.Next(); err != nil || e == nil {
			return err
		}
		name := []byte(e.Term)
		if err := term(name); err != nil {
			return err
		}
		if list, err = dict.PostingsList(name, nil, list); err != nil {
			return err
		}
		each = list.Iterator(true, true, false, each)
		for {
			p, err := each.Next()
			if err != nil {
				return err
			}
			if p == nil {
				break
			}
			exact, ok := p.(interface{ NormUint64() uint64 })
			if !ok { // unreachable with this version of the segment library
				return fmt.Errorf("%T does not know the length of its chunk", p)
			}
			// The segment keeps the exact length; only Norm turns it into 1/√length.
			if err := posting(p.Number(), p.Frequency(), uint32(exact.NormUint64())); err != nil {
				return err
			}
		}
	}
}

// sameStats reports whether stats, from the manifest, are those of the file.
func sameStats(a, b Stats) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
