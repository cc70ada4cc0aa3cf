package engine

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/internal/container"
	"github.com/seed792a4543/assay/internal/disk"
)

// The documents and the chunks of a build, in two containers that are used in place. Field by
// field in docs/format.md.
const (
	documentsFile    = "documents.dat"
	documentsKind    = "assaydoc"
	chunksFile       = "chunks.dat"
	chunksKind       = "assaychk"
	contentVersion   = 1
	documentSize     = 136
	blockSize        = 32
	sectionSize      = 48
	chunkSize        = 44
	chunkBare        = 1 // flag: nothing but the heading of a section whose text is in other chunks
	maxStringsLength = math.MaxUint32
)

var le = binary.LittleEndian

// stringTable collects strings; equal ones are stored once.
type stringTable struct {
	data []byte
	seen map[string]uint32
}

func (t *stringTable) add(b []byte, s string) []byte {
	off, ok := t.seen[s]
	if !ok {
		off = uint32(len(t.data))
		t.data = append(t.data, s...)
		t.seen[s] = off
	}
	return le.AppendUint32(le.AppendUint32(b, off), uint32(len(s)))
}

func (t *stringTable) addJSON(b []byte, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("engine: strings always encode: " + err.Error())
	}
	return t.add(b, string(data))
}

// writeDocuments stores docs, which must be sorted by id.
func writeDocuments(fsys *disk.FS, dir string, docs []corpus.Document) error {
	strs := stringTable{seen: map[string]uint32{}}
	byID := make(map[corpus.DocumentID]int, len(docs))
	for i := range docs {
		byID[docs[i].ID] = i
	}
	successor := make([]uint32, len(docs))
	for i := range docs {
		for _, old := range docs[i].Supersedes {
			if j, ok := byID[old]; ok {
				successor[j] = uint32(i) + 1
			}
		}
	}
	var records, sections, blocks []byte
	text := uint64(0) // bytes so far
	for i := range docs {
		d := &docs[i]
		version, err := hex.DecodeString(d.Version)
		if err != nil || len(version) != 32 {
			return fmt.Errorf("%s: version %q is no SHA-256", d.ID, d.Version)
		}
		records = strs.add(records, string(d.ID))
		records = strs.add(records, d.Title)
		records = strs.add(records, d.Format)
		records = strs.addJSON(records, d.ACL)
		records = strs.addJSON(records, d.Supersedes)
		records = strs.addJSON(records, d.Metadata)
		records = append(records, version...)
		records = le.AppendUint64(records, text)
		records = le.AppendUint64(records, uint64(len(d.Text)))
		records = le.AppendUint64(records, uint64(d.Body))
		records = le.AppendUint32(records, uint32(len(sections)/sectionSize))
		records = le.AppendUint32(records, uint32(len(d.Sections)))
		records = le.AppendUint32(records, successor[i]) // plus one; 0: none
		records = le.AppendUint32(records, 0)
		records = strs.addJSON(records, d.Anchors)
		records = le.AppendUint32(records, uint32(len(blocks)/blockSize))
		records = le.AppendUint32(records, uint32(len(d.Blocks)))
		text += uint64(len(d.Text))
		for _, s := range d.Sections {
			sections = strs.add(sections, corpus.FormatPath(s.Path))
			sections = strs.add(sections, s.Alias)
			sections = le.AppendUint32(sections, uint32(s.Level))
			sections = le.AppendUint32(sections, uint32(int32(s.Parent)))
			sections = le.AppendUint64(sections, uint64(s.Span.Start))
			sections = le.AppendUint64(sections, uint64(s.Span.End))
			sections = le.AppendUint64(sections, uint64(s.Body))
		}
		for _, b := range d.Blocks {
			blocks = le.AppendUint32(blocks, uint32(b.Kind))
			blocks = le.AppendUint32(blocks, uint32(b.Section))
			blocks = le.AppendUint64(blocks, uint64(b.Span.Start))
			blocks = le.AppendUint64(blocks, uint64(b.Span.End))
			blocks = le.AppendUint64(blocks, uint64(b.Header))
		}
		if len(strs.data) > maxStringsLength {
			return fmt.Errorf("%s: titles and headings of all documents together exceed 4 GiB: split the corpus", d.ID)
		}
	}
	return container.Write(fsys, filepath.Join(dir, documentsFile), documentsKind, contentVersion, []container.Section{
		{Name: "documents", Data: records},
		{Name: "sections", Data: sections},
		{Name: "blocks", Data: blocks},
		{Name: "strings", Data: strs.data},
		{Name: "text", Parts: func(yield func(string) bool) {
			for i := range docs {
				if !yield(docs[i].Text) {
					return
				}
			}
		}},
	})
}

// writeChunks stores chunks, which must be sorted by id; docs are sorted by id.
func writeChunks(fsys *disk.FS, dir string, docs []corpus.Document, chunks []chunk.Chunk) error {
	strs := stringTable{seen: map[string]uint32{}}
	var records, more []byte
	for i := range chunks {
		c := &chunks[i]
		d, ok := slices.BinarySearchFunc(docs, c.Doc, func(d corpus.Document, id corpus.DocumentID) int {
			return strings.Compare(string(d.ID), string(id))
		})
		if !ok {
			return fmt.Errorf("chunk %s: unknown document", c.ID)
		}
		records = le.AppendUint32(records, uint32(d))
		records = le.AppendUint32(records, uint32(c.Section))
		records = le.AppendUint64(records, uint64(c.Span.Start))
		records = le.AppendUint64(records, uint64(c.Span.End))
		records = le.AppendUint32(records, uint32(len(more)/4))
		records = le.AppendUint32(records, uint32(len(c.Sections)))
		for _, s := range c.Sections {
			more = le.AppendUint32(more, uint32(s))
		}
		records = strs.add(records, c.Context)
		flags := uint32(0)
		if c.Bare {
			flags |= chunkBare
		}
		records = le.AppendUint32(records, flags)
	}
	return container.Write(fsys, filepath.Join(dir, chunksFile), chunksKind, contentVersion, []container.Section{
		{Name: "chunks", Data: records},
		{Name: "sections", Data: more},
		{Name: "contexts", Data: strs.data},
	})
}

// content is the opened pair. All offsets are checked when it is opened, so that no later
// access can leave the mapped bytes.
type content struct {
	docsFile, chunksFile *container.File
	docs, sections       []byte
	blocks               []byte
	strings, text        []byte
	chunks, more         []byte
	contexts             []byte
	ndocs, nchunks       int
	aclOf                []uint32   // by document: index into acls
	acls                 [][]string // distinct permission sets
}

func corruptError(err error) error {
	var d *container.Damage
	var v *container.Version
	switch {
	case errors.As(err, &d):
		return &index.CorruptError{File: d.Path, Reason: d.Reason}
	case errors.As(err, &v):
		return fmt.Errorf("%w: %w: rebuild with `assay build`", index.ErrFormat, err)
	case index.IsMissing(err):
		return &index.CorruptError{File: errPath(err), Reason: "file is missing"}
	}
	return err
}

func openContent(dir string) (*content, error) {
	c, err := openContentFiles(dir)
	if err != nil {
		return nil, errors.Join(corruptError(err), c.close())
	}
	return c, nil
}

func openContentFiles(dir string) (c *content, err error) {
	c = new(content)
	if c.docsFile, err = container.Open(filepath.Join(dir, documentsFile), documentsKind, contentVersion); err != nil {
		return c, err
	}
	if c.chunksFile, err = container.Open(filepath.Join(dir, chunksFile), chunksKind, contentVersion); err != nil {
		return c, err
	}
	for _, s := range []struct {
		file *container.File
		name string
		size int
		to   *[]byte
	}{
		{c.docsFile, "documents", documentSize, &c.docs},
		{c.docsFile, "sections", sectionSize, &c.sections},
		{c.docsFile, "blocks", blockSize, &c.blocks},
		{c.docsFile, "strings", 1, &c.strings},
		{c.docsFile, "text", 1, &c.text},
		{c.chunksFile, "chunks", chunkSize, &c.chunks},
		{c.chunksFile, "sections", 4, &c.more},
		{c.chunksFile, "contexts", 1, &c.contexts},
	} {
		if *s.to, err = s.file.Section(s.name, s.size); err != nil {
			return c, err
		}
	}
	c.ndocs, c.nchunks = len(c.docs)/documentSize, len(c.chunks)/chunkSize
	if err := c.checkDocuments(filepath.Join(dir, documentsFile)); err != nil {
		return c, err
	}
	return c, c.checkChunks(filepath.Join(dir, chunksFile))
}

func (c *content) checkDocuments(path string) error {
	bad := func(i int, what string) error {
		return &container.Damage{Path: path, Reason: fmt.Sprintf("document %d: %s", i, what)}
	}
	inStrings := func(rec []byte) bool {
		return uint64(le.Uint32(rec))+uint64(le.Uint32(rec[4:])) <= uint64(len(c.strings))
	}
	nsections := len(c.sections) / sectionSize
	sets := map[string]uint32{}
	c.aclOf = make([]uint32, c.ndocs)
	for i := range c.ndocs {
		rec := c.docs[i*documentSize:][:documentSize]
		for _, f := range []int{0, 8, 16, 24, 32, 40, 120} {
			if !inStrings(rec[f:]) {
				return bad(i, "a string lies outside the table")
			}
		}
		off, n := le.Uint64(rec[80:]), le.Uint64(rec[88:])
		if off > uint64(len(c.text)) || n > uint64(len(c.text))-off || le.Uint64(rec[96:]) > n {
			return bad(i, "its text lies outside the file")
		}
		first, count := uint64(le.Uint32(rec[104:])), uint64(le.Uint32(rec[108:]))
		if count == 0 || first+count > uint64(nsections) {
			return bad(i, "its sections lie outside the table")
		}
		if uint64(le.Uint32(rec[128:]))+uint64(le.Uint32(rec[132:])) > uint64(len(c.blocks)/blockSize) {
			return bad(i, "its blocks lie outside the table")
		}
		if le.Uint32(rec[112:]) > uint32(c.ndocs) {
			return bad(i, "its successor is no document")
		}
		for s := first; s < first+count; s++ {
			sec := c.sections[s*sectionSize:][:sectionSize]
			start, end, body := le.Uint64(sec[24:]), le.Uint64(sec[32:]), le.Uint64(sec[40:])
			if !inStrings(sec) || !inStrings(sec[8:]) || start > end || end > n || body < start || body > end {
				return bad(i, "a section lies outside its text")
			}
			if p := int32(le.Uint32(sec[20:])); p < -1 || int64(p) >= int64(count) {
				return bad(i, "a section's parent is no section")
			}
		}
		key := c.str(rec[24:])
		set, ok := sets[key]
		if !ok {
			var labels []string
			if err := json.Unmarshal([]byte(key), &labels); err != nil {
				return bad(i, "permissions are unreadable")
			}
			set = uint32(len(c.acls))
			c.acls = append(c.acls, labels)
			sets[strings.Clone(key)] = set
		}
		c.aclOf[i] = set
		if i > 0 && c.docID(i-1) >= c.docID(i) {
			return bad(i, "documents are not in order")
		}
	}
	return nil
}

func (c *content) checkChunks(path string) error {
	nmore := uint64(len(c.more) / 4)
	for ord := range c.nchunks {
		rec := c.chunks[ord*chunkSize:][:chunkSize]
		bad := func(what string) error {
			return &container.Damage{Path: path, Reason: fmt.Sprintf("chunk %d: %s", ord, what)}
		}
		d := le.Uint32(rec)
		if d >= uint32(c.ndocs) {
			return bad("its document does not exist")
		}
		doc := c.docs[d*documentSize:][:documentSize]
		if le.Uint32(rec[4:]) >= le.Uint32(doc[108:]) {
			return bad("its section does not exist")
		}
		start, end := le.Uint64(rec[8:]), le.Uint64(rec[16:])
		if start > end || end > le.Uint64(doc[88:]) {
			return bad("it lies outside its document")
		}
		first, count := uint64(le.Uint32(rec[24:])), uint64(le.Uint32(rec[28:]))
		if first+count > nmore {
			return bad("its sections lie outside the table")
		}
		for i := first; i < first+count; i++ {
			if le.Uint32(c.more[i*4:]) >= le.Uint32(doc[108:]) {
				return bad("a further section does not exist")
			}
		}
		if uint64(le.Uint32(rec[32:]))+uint64(le.Uint32(rec[36:])) > uint64(len(c.contexts)) {
			return bad("its context lies outside the table")
		}
	}
	return nil
}

func (c *content) verify() error {
	return corruptError(errors.Join(c.docsFile.Verify(), c.chunksFile.Verify()))
}

func (c *content) close() error {
	var errs []error
	for _, f := range []*container.File{c.docsFile, c.chunksFile} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// mappedString returns the bytes as a string that is valid as long as the map; whatever leaves the
// engine is cloned first.
func mappedString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (c *content) str(rec []byte) string {
	off, n := le.Uint32(rec), le.Uint32(rec[4:])
	return mappedString(c.strings[off : uint64(off)+uint64(n)])
}

func (c *content) doc(i int) []byte { return c.docs[i*documentSize:][:documentSize] }

func (c *content) docID(i int) string    { return c.str(c.doc(i)) }
func (c *content) docTitle(i int) string { return c.str(c.doc(i)[8:]) }
func (c *content) docText(i int) string {
	rec := c.doc(i)
	off := le.Uint64(rec[80:])
	return mappedString(c.text[off : off+le.Uint64(rec[88:])])
}

// successor returns the last document by id that supersedes i, or -1.
func (c *content) successor(i int) int { return int(le.Uint32(c.doc(i)[112:])) - 1 }

// supersededBy returns the last document by id that supersedes i and that visible admits, or -1:
// a replacement that the caller may not read must not hide another one.
func (c *content) supersededBy(i int, visible func(doc int) bool) int {
	last := c.successor(i)
	if last < 0 || visible(last) {
		return last
	}
	id := corpus.DocumentID(c.docID(i))
	for next := last - 1; next >= 0; next-- {
		names := c.str(c.doc(next)[32:])
		if len(names) <= len(id) || !visible(next) {
			continue
		}
		var olds []corpus.DocumentID
		if json.Unmarshal([]byte(names), &olds) == nil && slices.Contains(olds, id) {
			return next
		}
	}
	return -1
}

func (c *content) sectionPath(doc, section int) string {
	first := int(le.Uint32(c.doc(doc)[104:]))
	return c.str(c.sections[(first+section)*sectionSize:])
}

// findDoc returns the number of the document with that id, or -1.
func (c *content) findDoc(id corpus.DocumentID) int {
	lo, hi := 0, c.ndocs
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if c.docID(mid) < string(id) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < c.ndocs && c.docID(lo) == string(id) {
		return lo
	}
	return -1
}

// document rebuilds document i as it was read.
func (c *content) document(i int) (corpus.Document, error) {
	rec := c.doc(i)
	d := corpus.Document{
		ID:      corpus.DocumentID(strings.Clone(c.docID(i))),
		Title:   strings.Clone(c.docTitle(i)),
		Format:  strings.Clone(c.str(rec[16:])),
		ACL:     c.acls[c.aclOf[i]],
		Version: hex.EncodeToString(rec[48:80]),
		Text:    strings.Clone(c.docText(i)),
		Body:    int(le.Uint64(rec[96:])),
	}
	if err := json.Unmarshal([]byte(c.str(rec[32:])), &d.Supersedes); err != nil {
		return d, fmt.Errorf("document %s: supersedes: %w", d.ID, err)
	}
	if err := json.Unmarshal([]byte(c.str(rec[40:])), &d.Metadata); err != nil {
		return d, fmt.Errorf("document %s: metadata: %w", d.ID, err)
	}
	if err := json.Unmarshal([]byte(c.str(rec[120:])), &d.Anchors); err != nil {
		return d, fmt.Errorf("document %s: anchors: %w", d.ID, err)
	}
	first, count := int(le.Uint32(rec[128:])), int(le.Uint32(rec[132:]))
	for i := first; i < first+count; i++ {
		b := c.blocks[i*blockSize:][:blockSize]
		d.Blocks = append(d.Blocks, corpus.Block{
			Kind: corpus.BlockKind(le.Uint32(b)), Section: int(le.Uint32(b[4:])),
			Span:   corpus.Span{Start: int(le.Uint64(b[8:])), End: int(le.Uint64(b[16:]))},
			Header: int(le.Uint64(b[24:])),
		})
	}
	first, count = int(le.Uint32(rec[104:])), int(le.Uint32(rec[108:]))
	d.Sections = make([]corpus.Section, count)
	for s := range d.Sections {
		sec := c.sections[(first+s)*sectionSize:][:sectionSize]
		d.Sections[s] = corpus.Section{
			Path:   corpus.ParsePath(strings.Clone(c.str(sec))),
			Alias:  strings.Clone(c.str(sec[8:])),
			Level:  int(le.Uint32(sec[16:])),
			Parent: int(int32(le.Uint32(sec[20:]))),
			Span:   corpus.Span{Start: int(le.Uint64(sec[24:])), End: int(le.Uint64(sec[32:]))},
			Body:   int(le.Uint64(sec[40:])),
		}
		if len(d.Sections[s].Path) == 0 {
			d.Sections[s].Path = nil
		}
	}
	return d, nil
}

// collection rebuilds all documents.
func (c *content) collection(name string) (*corpus.Collection, error) {
	docs := make([]corpus.Document, c.ndocs)
	for i := range docs {
		var err error
		if docs[i], err = c.document(i); err != nil {
			return nil, &index.CorruptError{File: documentsFile, Reason: err.Error()}
		}
	}
	return &corpus.Collection{Name: name, Documents: docs}, nil
}

func (c *content) chunk(ord uint32) []byte { return c.chunks[int(ord)*chunkSize:][:chunkSize] }

func (c *content) chunkDoc(ord uint32) int { return int(le.Uint32(c.chunk(ord))) }

func (c *content) chunkSpan(ord uint32) corpus.Span {
	rec := c.chunk(ord)
	return corpus.Span{Start: int(le.Uint64(rec[8:])), End: int(le.Uint64(rec[16:]))}
}

func (c *content) chunkText(ord uint32) string {
	s := c.chunkSpan(ord)
	return c.docText(c.chunkDoc(ord))[s.Start:s.End]
}

func (c *content) chunkContext(ord uint32) string {
	rec := c.chunk(ord)
	off, n := le.Uint32(rec[32:]), le.Uint32(rec[36:])
	return mappedString(c.contexts[off : uint64(off)+uint64(n)])
}

// chunkIsBare reports whether the chunk is but a heading, which is searched with the chunks
// below it and not by itself.
func (c *content) chunkIsBare(ord uint32) bool { return le.Uint32(c.chunk(ord)[40:])&chunkBare != 0 }

// chunkIndexed returns what was indexed for the chunk.
func (c *content) chunkIndexed(ord uint32) lexical.Doc {
	if c.chunkIsBare(ord) {
		return lexical.Doc{ID: string(c.chunkID(ord))}
	}
	return indexedDoc(string(c.chunkID(ord)), c.docTitle(c.chunkDoc(ord)), c.chunkContext(ord), c.chunkText(ord))
}

func (c *content) chunkID(ord uint32) corpus.ChunkID { return c.appendChunkID(new(arena), ord) }

func (c *content) appendChunkID(a *arena, ord uint32) corpus.ChunkID {
	s := c.chunkSpan(ord)
	id := c.docID(c.chunkDoc(ord))
	b := a.room(len(id) + 42) // two signs and two numbers of at most 20 digits
	b = append(append(b, id...), '#')
	b = append(strconv.AppendInt(b, int64(s.Start), 10), '-')
	return corpus.ChunkID(a.keep(strconv.AppendInt(b, int64(s.End), 10)))
}

// arena holds the strings of one response in few blocks, so that a hit does not cost an
// allocation for each of its fields. A string taken from it keeps its block alive.
type arena struct{ free []byte }

// arenaBlock is the least a new block holds: the hits of a usual response fit into one or two.
const arenaBlock = 4 << 10

// room returns an empty slice with a capacity of n that keep turns into a string.
func (a *arena) room(n int) []byte {
	if cap(a.free) < n {
		a.free = make([]byte, 0, max(n, arenaBlock))
	}
	return a.free[:0:n]
}

// keep makes b, which room returned and the caller filled, a string.
func (a *arena) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	a.free = a.free[len(b):len(b):cap(a.free)]
	return mappedString(b)
}

// clone copies a string out of the mapped bytes.
func (a *arena) clone(s string) string { return a.keep(append(a.room(len(s)), s...)) }

// hit fills everything but rank, score and components.
func (c *content) hit(a *arena, ord uint32) index.Hit {
	rec := c.chunk(ord)
	d := int(le.Uint32(rec))
	s := c.chunkSpan(ord)
	h := index.Hit{
		Chunk:      c.appendChunkID(a, ord),
		DocVersion: a.keep(hex.AppendEncode(a.room(64), c.doc(d)[48:80])),
		Section:    a.clone(c.sectionPath(d, int(le.Uint32(rec[4:])))),
		Title:      a.clone(c.docTitle(d)),
		Start:      s.Start,
		End:        s.End,
		Text:       a.clone(c.docText(d)[s.Start:s.End]),
	}
	h.Doc = corpus.DocumentID(h.Chunk[:len(c.docID(d))])
	if n := int(le.Uint32(rec[28:])); n > 0 {
		first := int(le.Uint32(rec[24:]))
		h.Sections = make([]string, n)
		for i := range h.Sections {
			h.Sections[i] = a.clone(c.sectionPath(d, int(le.Uint32(c.more[(first+i)*4:]))))
		}
	}
	return h
}

// checkText confirms what cannot be checked cheaply at opening: that texts are UTF-8 and that
// no span cuts a character.
func (c *content) checkText() error {
	for i := range c.ndocs {
		if !utf8.ValidString(c.docText(i)) {
			return &index.CorruptError{File: documentsFile, Reason: fmt.Sprintf("document %d: text is not UTF-8", i)}
		}
	}
	for ord := range uint32(c.nchunks) {
		if !utf8.ValidString(c.chunkText(ord)) {
			return &index.CorruptError{File: chunksFile, Reason: fmt.Sprintf("chunk %d: its span cuts a character", ord)}
		}
	}
	return nil
}

func docIDOf(c *reader, doc int) corpus.DocumentID {
	return corpus.DocumentID(strings.Clone(c.docID(doc)))
}

// chunkIDOf is the id that a hit's document and span give.
func chunkIDOf(h index.Hit) corpus.ChunkID {
	return corpus.ChunkID(fmt.Sprintf("%s#%d-%d", h.Doc, h.Start, h.End))
}
