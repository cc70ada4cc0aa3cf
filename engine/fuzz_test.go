package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/container"
)

// FuzzSettings: what is accepted has valid defaults, and its build settings read back the same.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		"chunk: {kind: section, max: 900}\n",
		"corpus:\n  path: docs\n  include: [\"**/*.md\"]\nembed:\n  kind: openai\n  url: http://localhost/v1\n  model: m\n  timeout: 10s\n",
		"hybrid: {mode: hybrid, fusion: rrf, k: 60}\nlexical: {analyzer: de, k1: 1.2}\ngolden: golden.yaml\n",
		"policy: {primary: hit@3, margin: 0.05}\nanswer: {kind: chat, url: x, model: y}\n",
		"a: &a [*a]\n", "embed: {kind: none}\n---\nembed: {}\n", "\t", "{", "[[[[",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSettings("fuzz.yaml", data)
		if err != nil {
			if !errors.Is(err, ErrInput) {
				t.Fatalf("%v is no ErrInput", err)
			}
			return
		}
		if err := s.WithDefaults().Validate(); err != nil {
			t.Fatalf("accepted, but with its defaults: %v", err)
		}
		stored, err := json.Marshal(s.buildSettings())
		if err != nil {
			t.Fatal(err)
		}
		var back Settings
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		again, err := json.Marshal(back.buildSettings())
		if err != nil || !bytes.Equal(again, stored) {
			t.Fatalf("%s reads back as %s, %v", stored, again, err)
		}
	})
}

// FuzzLedger: any bytes are entries, a torn end or damage; what is read can be appended to.
func FuzzLedger(f *testing.F) {
	dir := f.TempDir()
	s := &store{dir: dir}
	for i := range 3 {
		if err := s.appendLedger(LedgerEntry{Time: time.Unix(int64(i), 0).UTC(), Action: "promote", Build: "0123456789ab", Who: "é\x00<"}); err != nil {
			f.Fatal(err)
		}
	}
	data, err := os.ReadFile(s.path(ledgerName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-5])
	f.Add(bytes.Replace(data, []byte("promote"), []byte("PROMOTE"), 1))
	f.Add(append(bytes.Clone(data), data...))
	f.Add([]byte("\n\n"))
	f.Add([]byte(`{"time":"2026-01-01T00:00:00Z","action":"promote"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(s.path(ledgerName), data, 0o666); err != nil {
			t.Fatal(err)
		}
		entries, torn, err := s.readLedger()
		if err != nil {
			if !errors.Is(err, index.ErrCorrupt) {
				t.Fatalf("%v is no ErrCorrupt", err)
			}
			return
		}
		if torn == bytes.HasSuffix(data, []byte("\n")) && len(data) > 0 {
			t.Fatalf("torn is %v for %q", torn, data)
		}
		if err := s.appendLedger(LedgerEntry{Action: "remove", Build: "0123456789ab"}); err != nil {
			t.Fatal(err)
		}
		again, torn, err := s.readLedger()
		if err != nil || torn || len(again) != len(entries)+1 {
			t.Fatalf("%d entries, then %d, torn %v, %v", len(entries), len(again), torn, err)
		}
	})
}

// FuzzPointer: LIVE and REFERENCE are a build id, missing, or damage.
func FuzzPointer(f *testing.F) {
	s := &store{dir: f.TempDir()}
	for _, data := range []string{"", "0123456789ab\n", "0123456789ab", "0123456789AB\n", "../../x\n", "0123456789ab\n\n"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(s.path(liveName), data, 0o666); err != nil {
			t.Fatal(err)
		}
		id, err := s.pointer(liveName)
		if err == nil && !buildIDPattern.MatchString(id) || err != nil && !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("%q: %q, %v", data, id, err)
		}
	})
}

// FuzzContent changes the documents and chunks of a build and seals them with right checksums, so
// that what is tried is the checks behind them: what opens can be read without a panic.
func FuzzContent(f *testing.F) {
	dir := f.TempDir()
	docs, err := corpus.FS("fuzz", fstest.MapFS{
		"a.md": {Data: []byte("---\nacl: [x]\n---\n# A\n\ntext é\n\n## B\n\n| a | b |\n|---|---|\n| c | d |\n")},
		"b.md": {Data: []byte("---\nsupersedes: [a.md]\n---\n# C\n\nmore\n")},
	}, corpus.Options{}).Load(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	var chunks []chunk.Chunk
	for i := range docs.Documents {
		c, err := chunk.Split(&docs.Documents[i], chunk.Settings{}.WithDefaults())
		if err != nil {
			f.Fatal(err)
		}
		chunks = append(chunks, c...)
	}
	if err := errors.Join(writeDocuments(nil, dir, docs.Documents), writeChunks(nil, dir, docs.Documents, chunks)); err != nil {
		f.Fatal(err)
	}
	parts := []struct {
		file, kind string
		names      []string
		sections   []container.Section
	}{
		{file: documentsFile, kind: documentsKind, names: []string{"documents", "sections", "blocks", "strings", "text"}},
		{file: chunksFile, kind: chunksKind, names: []string{"chunks", "sections", "contexts"}},
	}
	for i := range parts {
		p := &parts[i]
		file, err := container.Open(filepath.Join(dir, p.file), p.kind, contentVersion)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range p.names {
			data, err := file.Section(name, 1)
			if err != nil {
				f.Fatal(err)
			}
			p.sections = append(p.sections, container.Section{Name: name, Data: bytes.Clone(data)})
		}
		if err := file.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(uint8(0), uint8(0), uint16(80), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add(uint8(0), uint8(1), uint16(24), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(0), uint8(2), uint16(8), []byte{1, 0, 0, 0, 0, 0, 0, 0x80})
	f.Add(uint8(0), uint8(3), uint16(0), []byte(`{"`))
	f.Add(uint8(1), uint8(0), uint16(8), []byte{9, 9})
	f.Add(uint8(1), uint8(1), uint16(0), []byte{0xff})
	f.Fuzz(func(t *testing.T, file, section uint8, at uint16, patch []byte) {
		p := parts[int(file)%len(parts)]
		sections := slices.Clone(p.sections)
		s := &sections[int(section)%len(sections)]
		s.Data = bytes.Clone(s.Data)
		if len(s.Data) == 0 {
			return
		}
		copy(s.Data[int(at)%len(s.Data):], patch)
		work := t.TempDir()
		for _, q := range parts {
			write := q.sections
			if q.file == p.file {
				write = sections
			}
			if err := container.Write(nil, filepath.Join(work, q.file), q.kind, contentVersion, write); err != nil {
				t.Fatal(err)
			}
		}
		c, err := openContent(work)
		if err != nil {
			if !errors.Is(err, index.ErrCorrupt) {
				t.Fatalf("%v is no ErrCorrupt", err)
			}
			return
		}
		for i := range c.ndocs {
			d, err := c.document(i)
			if err == nil {
				for j := range d.Sections {
					d.Resolve(corpus.FormatPath(d.Sections[j].Path)) //nolint:errcheck // it must only not panic
				}
				d.SectionAt(len(d.Text) / 2)
			}
			c.successor(i)
			c.findDoc(corpus.DocumentID(c.docID(i)))
		}
		for ord := range uint32(c.nchunks) {
			h := c.hit(new(arena), ord)
			if len(h.Text) != h.End-h.Start {
				t.Fatalf("hit %d: %d bytes of text for span %d to %d", ord, len(h.Text), h.Start, h.End)
			}
			c.chunkIndexed(ord)
		}
		_ = c.checkText() // sound or not
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
	})
}
