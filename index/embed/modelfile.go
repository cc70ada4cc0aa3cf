package embed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/words"
	"github.com/seed792a4543/assay/internal/disk"
)

// modelMagic begins a model file; modelFormat follows it. History: 1, the first.
const (
	modelMagic  = "ASSAYLSM"
	modelFormat = 1

	flagLatent = 1 << 0
	flagWords  = 1 << 1
	flagFold   = 1 << 2
)

// Save writes the embedder to path: one file with a checksum, the same bytes for the same
// model. After a crash path holds the old bytes or the new.
func (b *Builtin) Save(fsys *disk.FS, path string) error {
	if err := fsys.WriteFile(path, b.encode()); err != nil {
		return fmt.Errorf("save the builtin embedder: %w", err)
	}
	return nil
}

// OpenBuiltin reads a file written by Save. o.Tokenize must be the function the model was
// fitted with; if o.Tokenizer names another, the error is index.ErrEmbedder, as it is if the model
// was fitted with Fold and o has none. Damage is
// index.ErrCorrupt, a file of another version (or another kind) index.ErrFormat.
func OpenBuiltin(path string, o BuiltinOptions) (*Builtin, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open the builtin embedder: %w", err)
	}
	return decodeBuiltin(path, data, o)
}

// encode returns the model file; docs/format.md describes it.
func (b *Builtin) encode() []byte {
	var w bytes.Buffer
	put := func(v any) { _ = binary.Write(&w, binary.LittleEndian, v) } // a Buffer does not fail
	str := func(s string) {
		w.WriteByte(byte(len(s)))
		w.WriteString(s)
	}
	var flags uint32
	m := b.model
	if m != nil {
		flags |= flagLatent
	} else {
		m = &latent{}
	}
	if b.useWords {
		flags |= flagWords
		if b.o.Fold != nil {
			flags |= flagFold
		}
	}
	w.WriteString(modelMagic)
	put(uint32(modelFormat))
	put(flags)
	str(words.Revision)
	str(b.o.Tokenizer)
	put(uint64(m.texts))
	put(uint64(m.tokens))
	put(uint64(m.unknown))
	put(uint32(m.dims))
	put(uint32(len(m.terms)))
	for _, t := range m.terms {
		str(t)
	}
	put(m.weight)
	put(m.scale)
	put(m.rows)
	sum := sha256.Sum256(w.Bytes())
	w.Write(sum[:])
	return w.Bytes()
}

// decodeBuiltin reverses encode. It allocates no more than a small multiple of len(data),
// whatever data holds.
func decodeBuiltin(name string, data []byte, o BuiltinOptions) (*Builtin, error) {
	corrupt := func(format string, args ...any) (*Builtin, error) {
		return nil, &index.CorruptError{File: name, Reason: fmt.Sprintf(format, args...)}
	}
	if len(data) < len(modelMagic) {
		return corrupt("%d bytes, too short for a model", len(data))
	}
	if string(data[:len(modelMagic)]) != modelMagic {
		return nil, fmt.Errorf("%s: not a builtin embedder's file: %w", name, index.ErrFormat)
	}
	r := &reader{data: data[len(modelMagic):]}
	if v := r.u32(); r.err == nil && v != modelFormat {
		return nil, fmt.Errorf("%s: model format %d, this program reads %d: rebuild with `assay build`: %w", name, v, modelFormat, index.ErrFormat)
	}
	if len(data) < len(modelMagic)+4+sha256.Size {
		return corrupt("%d bytes, too short for a model", len(data))
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return corrupt("checksum does not match")
	}
	r.data = body[len(modelMagic)+4:]

	flags := r.u32()
	table, tokenizer := r.str(), r.str()
	m := &latent{texts: int(r.u64()), tokens: int64(r.u64()), unknown: int64(r.u64())}
	m.dims = int(r.u32())
	terms := int(r.u32())
	if r.err != nil {
		return corrupt("%v", r.err)
	}
	switch {
	case flags&^(flagLatent|flagWords|flagFold) != 0 || flags&(flagLatent|flagWords) == 0 || flags&(flagWords|flagFold) == flagFold:
		return corrupt("unknown flags %#x", flags)
	case (flags&flagLatent != 0) != (m.dims > 0 && terms > 0):
		return corrupt("%d dimensions and %d terms with flags %#x", m.dims, terms, flags)
	case m.dims > 1024 || m.texts < 0 || m.tokens < 0 || m.unknown < 0 || m.unknown > m.tokens:
		return corrupt("counts out of range")
	// A term takes at least its length byte, two float32 and its row.
	case int64(terms)*int64(9+m.dims) > int64(len(r.data)):
		return corrupt("%d terms of %d dimensions do not fit into %d bytes", terms, m.dims, len(r.data))
	}
	if flags&flagWords != 0 && table != words.Revision {
		return nil, fmt.Errorf("%s: made with word table %q, this program has %q: rebuild with `assay build`: %w", name, table, words.Revision, index.ErrEmbedder)
	}
	o = o.withDefaults()
	if o.Tokenizer != "" && o.Tokenizer != tokenizer {
		return nil, fmt.Errorf("%s: made with tokenizer %q, opened with %q: rebuild with `assay build`: %w", name, tokenizer, o.Tokenizer, index.ErrEmbedder)
	}
	o.Tokenizer = tokenizer
	switch {
	case flags&flagFold == 0:
		o.Fold = nil
	case o.Fold == nil:
		return nil, fmt.Errorf("%s: made with words spelt without diacritics, opened without: rebuild with `assay build`: %w", name, index.ErrEmbedder)
	}
	m.terms = make([]string, terms)
	for i := range m.terms {
		m.terms[i] = r.str()
		if r.err == nil && i > 0 && m.terms[i-1] >= m.terms[i] {
			return corrupt("terms %d and %d are out of order", i-1, i)
		}
	}
	m.weight, m.scale = r.floats(terms), r.floats(terms)
	rows := r.bytes(terms * m.dims)
	if r.err != nil {
		return corrupt("%v", r.err)
	}
	if len(r.data) > 0 {
		return corrupt("%d bytes too many", len(r.data))
	}
	for i := range terms {
		if bad(m.weight[i]) || bad(m.scale[i]) {
			return corrupt("weight of term %d is out of range", i)
		}
	}
	m.rows = make([]int8, len(rows))
	for i, c := range rows {
		m.rows[i] = int8(c)
	}
	b := &Builtin{o: o, useWords: flags&flagWords != 0}
	if flags&flagLatent != 0 {
		m.buildIndex()
		b.model = m
	}
	b.setRevision()
	return b, nil
}

// bad reports whether f is no usable weight: negative, infinite or not a number.
func bad(f float32) bool { return !(f >= 0 && f <= math.MaxFloat32) }

// reader takes values off the front of data; after the first short read err is set and all
// values are zero.
type reader struct {
	data []byte
	err  error
}

func (r *reader) bytes(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.data)) {
		r.err = fmt.Errorf("%d bytes wanted, %d left: %w", n, len(r.data), io.ErrUnexpectedEOF)
	}
	if r.err != nil {
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) str() string {
	if n := r.bytes(1); n != nil {
		return string(r.bytes(int(n[0])))
	}
	return ""
}

func (r *reader) floats(n int) []float32 {
	b := r.bytes(4 * n)
	if r.err != nil {
		return nil
	}
	f := make([]float32, n)
	for i := range f {
		f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return f
}
