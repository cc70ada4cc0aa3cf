package lexical

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/mapping"
	api "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
	"go.etcd.io/bbolt"

	"github.com/seed792a4543/assay/internal/disk"
)

// The folder has bleve's own layout, so that bleve.Open reads it:
//
//	index_meta.json         names the storage
//	store/root.bolt         names the segment and holds the mapping
//	store/000000000002.zap  the segment: terms, postings, frequencies, lengths, chunk ids
//
// bleve's offline builder is not used as it is, because it numbers the documents of a batch in
// the order of a Go map and writes the time into root.bolt, so that no two builds are equal. We
// hand the chunks to the same segment writer in their order (see settle for what it leaves to
// chance), and copy the record of a builder's root.bolt with the time set to zero.
const (
	storeDir    = "store"
	segmentName = "000000000002.zap"
	boltName    = "root.bolt"
	metaName    = "index_meta.json"
	field       = "text" // the one indexed field
)

// leanMapping indexes nothing but terms, frequencies and lengths. Its analyzer is keyword: whoever
// queries the folder with bleve gives terms as Terms returns them.
func leanMapping() mapping.IndexMapping {
	text := bleve.NewTextFieldMapping()
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, false, false, false
	text.Analyzer = keyword.Name
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt(field, text)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = doc
	m.StoreDynamic, m.DocValuesDynamic, m.IndexDynamic = false, false, false
	return m
}

// analysed is the text of one chunk as bleve's segment writer takes it.
type analysed struct {
	length int
	freqs  api.TokenFrequencies
}

func (f *analysed) Name() string                                   { return field }
func (f *analysed) Value() []byte                                  { return nil }
func (f *analysed) ArrayPositions() []uint64                       { return nil }
func (f *analysed) EncodedFieldType() byte                         { return 't' }
func (f *analysed) Analyze()                                       {}
func (f *analysed) Options() api.FieldIndexingOptions              { return api.IndexField }
func (f *analysed) AnalyzedLength() int                            { return f.length }
func (f *analysed) NumPlainTextBytes() uint64                      { return 0 }
func (f *analysed) AnalyzedTokenFrequencies() api.TokenFrequencies { return f.freqs }

// Size is asked for statistics that nobody reads here.
func (f *analysed) Size() int { return 0 }

func newDocument(id string, f *analysed) api.Document {
	d := document.NewDocument(id)
	d.AddIDField()
	d.Fields[0].Analyze()
	d.AddField(f)
	return d
}

// writeSegment writes one segment holding docs in their order.
func writeSegment(path string, docs []api.Document) error {
	seg, _, err := new(zap.ZapPlugin).New(docs)
	if err != nil {
		return err
	}
	defer seg.Close()
	u, ok := seg.(segment.UnpersistedSegment)
	if !ok { // unreachable with this version of the segment library
		return fmt.Errorf("%T cannot be written", seg)
	}
	return u.Persist(path)
}

// mergeSegments joins the segments of parts in their order.
func mergeSegments(parts []*piece, to string) (err error) {
	var segs []segment.Segment
	defer func() {
		for _, s := range segs {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, p := range parts {
		s, err := new(zap.ZapPlugin).Open(p.path)
		if err != nil {
			return err
		}
		segs = append(segs, s)
	}
	_, _, err = new(zap.ZapPlugin).Merge(segs, make([]*roaring.Bitmap, len(segs)), to, nil, nil)
	return err
}

// writeEnvelope writes what bleve needs beside the segment.
func writeEnvelope(fsys *disk.FS, dir, scratch string) (err error) {
	model := filepath.Join(scratch, "envelope")
	b, err := bleve.NewBuilder(model, leanMapping(), map[string]any{"buildPathPrefix": scratch})
	if err != nil {
		return err
	}
	// A builder without documents cannot be closed.
	if err := errors.Join(b.Index("0", map[string]any{field: "0"}), b.Close()); err != nil {
		return err
	}
	meta, err := os.ReadFile(filepath.Join(model, metaName))
	if err != nil {
		return err
	}
	if err := fsys.WriteFile(filepath.Join(dir, metaName), meta); err != nil {
		return err
	}
	target := filepath.Join(dir, storeDir, boltName)
	if err := fsys.Step(disk.OpCreate, target); err != nil {
		return err
	}
	from, err := bbolt.Open(filepath.Join(model, storeDir, boltName), 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	// The page size is fixed: bbolt would take the machine's.
	to, err := bbolt.Open(target, 0o666, &bbolt.Options{PageSize: 4096})
	if err != nil {
		return err
	}
	err = from.View(func(src *bbolt.Tx) error {
		return to.Update(func(dst *bbolt.Tx) error {
			return src.ForEach(func(name []byte, b *bbolt.Bucket) error {
				nb, err := dst.CreateBucket(name)
				if err != nil {
					return err
				}
				return copyBucket(nb, b)
			})
		})
	})
	return errors.Join(err, to.Close())
}

// copyBucket copies from into to in key order, times set to zero.
func copyBucket(to, from *bbolt.Bucket) error {
	return from.ForEach(func(k, v []byte) error {
		if v == nil {
			b, err := to.CreateBucket(k)
			if err != nil {
				return err
			}
			return copyBucket(b, from.Bucket(k))
		}
		var t time.Time
		if t.UnmarshalText(v) == nil {
			v, _ = time.Unix(0, 0).UTC().MarshalText() // cannot fail for this time
		}
		return to.Put(k, v)
	})
}

// library names the inverted index and its version as linked in, for the manifest.
func library() string {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/blevesearch/bleve/v2" {
				version = m.Version
				if m.Replace != nil {
					version = m.Replace.Version
				}
			}
		}
	}
	return fmt.Sprintf("bleve %s, segment %s %d", version, zap.Type, zap.Version)
}
