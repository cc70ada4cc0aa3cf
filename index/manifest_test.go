package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"testing"
)

// FuzzManifest: what is accepted encodes to the same bytes, and names no file outside its folder.
func FuzzManifest(f *testing.F) {
	m := &Manifest{
		ID: "0123456789ab", Settings: json.RawMessage(`{"a":1}`), Lexical: json.RawMessage(`{}`), Embedder: &Fingerprint{Kind: "builtin", Model: "m", Dimension: 3},
		Corpus:   CorpusInfo{Name: "n", Digest: "d", Skipped: []Skipped{{"p", "r"}}},
		Counts:   Counts{Documents: 1, Chunks: 2},
		Warnings: []string{"w <&>"},
		Files:    []FileInfo{{Name: "a/b", Size: 3, SHA256: "00"}},
	}
	data, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(bytes.Replace(data, []byte("a/b"), []byte("../b"), 1))
	f.Add([]byte(`{"magic":"assay build","format":99}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest("fuzz", data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrFormat) {
				t.Fatalf("%v is neither ErrCorrupt nor ErrFormat", err)
			}
			// The same content with a right digest.
			var c Manifest
			if json.Unmarshal(data, &c) != nil {
				return
			}
			c.Format, c.Feature = Format, Feature
			if data, err = c.Encode(); err != nil {
				return
			}
			if m, err = DecodeManifest("fuzz", data); err != nil {
				return
			}
		}
		again, err := m.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("accepted %q, encodes to %q, %v", data, again, err)
		}
		for _, file := range m.Files {
			if !fs.ValidPath(file.Name) {
				t.Fatalf("file %q", file.Name)
			}
		}
	})
}
