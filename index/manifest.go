package index

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/seed792a4543/assay/internal/disk"
)

// Format history, one line per number:
//
//	1: first released layout
const (
	// Format is the number this version writes.
	Format = 1
	// OldestFormat is the oldest number this version reads.
	OldestFormat = 1
	// Feature is raised when a build made by an older version should be rebuilt although it
	// can still be read.
	Feature = 1

	magic = "assay build"
)

// ManifestName is the manifest's file name within a build.
const ManifestName = "manifest.json"

// Manifest describes one immutable build: what it was made from, with which settings, and the
// size and digest of every file. It holds no clock, host name or path, so that the same inputs
// give the same bytes.
type Manifest struct {
	Magic   string `json:"magic"`
	Format  int    `json:"format"`
	Feature int    `json:"feature"`
	ID      string `json:"id"`

	Corpus   CorpusInfo      `json:"corpus"`
	Settings json.RawMessage `json:"settings"` // resolved settings, every default written out
	Embedder *Fingerprint    `json:"embedder,omitempty"`
	Lexical  json.RawMessage `json:"lexical,omitempty"` // collection statistics and the analyser chosen
	Counts   Counts          `json:"counts"`
	Warnings []string        `json:"warnings,omitempty"`
	Files    []FileInfo      `json:"files"`  // sorted by name; the manifest itself is not in it
	Digest   string          `json:"digest"` // SHA-256 of this encoding with an empty digest
}

// CorpusInfo identifies the documents a build was made from.
type CorpusInfo struct {
	Name    string    `json:"name"`
	Digest  string    `json:"digest"` // of ids, versions, permissions and supersessions
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Skipped is a file that was not indexed, with the reason.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Counts are the sizes that must agree between the parts of a build.
type Counts struct {
	Documents     int   `json:"documents"`
	Chunks        int   `json:"chunks"`
	Vectors       int   `json:"vectors"`             // rows, those without a vector included
	WithoutVector int   `json:"without_vector"`      // chunks without any term the model knows
	Lexical       int   `json:"lexical"`             // documents in the lexical index
	TextBytes     int64 `json:"text_bytes"`          // normalised text of all documents
	Truncated     int   `json:"truncated,omitempty"` // chunks the embedder had to cut
}

// FileInfo pins one file of a build.
type FileInfo struct {
	Name   string `json:"name"` // slash path within the build
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Encode returns the manifest as it stands on disk, with its digest set.
func (m *Manifest) Encode() ([]byte, error) {
	c := *m
	c.Magic, c.Format, c.Digest = magic, cmp.Or(m.Format, Format), ""
	c.Feature = cmp.Or(m.Feature, Feature)
	data, err := c.encode()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	c.Digest = hex.EncodeToString(sum[:])
	return c.encode()
}

func (m *Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Write puts the manifest at path.
func (m *Manifest) Write(fsys *disk.FS, path string) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	return fsys.WriteFile(path, data)
}

// maxManifest bounds what is read into memory: a manifest names a handful of files.
const maxManifest = 64 << 20

// ReadManifest reads and checks the manifest at path. A damaged one is a *CorruptError, one
// written by a version that this one cannot read wraps ErrFormat, a missing one fs.ErrNotExist.
func ReadManifest(path string) (*Manifest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxManifest {
		return nil, &CorruptError{File: path, Reason: fmt.Sprintf("%d bytes is no manifest", info.Size())}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return DecodeManifest(path, data)
}

// DecodeManifest checks data as ReadManifest does; name is used in errors.
func DecodeManifest(name string, data []byte) (*Manifest, error) {
	var head struct {
		Magic  string `json:"magic"`
		Format int    `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, &CorruptError{File: name, Reason: "not JSON: " + err.Error()}
	}
	if head.Magic != magic {
		return nil, &CorruptError{File: name, Reason: fmt.Sprintf("magic is %q, not %q", head.Magic, magic)}
	}
	if head.Format < OldestFormat || head.Format > Format {
		return nil, fmt.Errorf("%s: %w: format %d, this version reads %d to %d: use the version that wrote it, or rebuild",
			name, ErrFormat, head.Format, OldestFormat, Format)
	}
	m := new(Manifest)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, &CorruptError{File: name, Reason: err.Error()}
	}
	// Encode recomputes the digest, so any changed byte makes the two differ.
	again, err := m.Encode()
	if err != nil {
		return nil, &CorruptError{File: name, Reason: err.Error()}
	}
	if !bytes.Equal(again, data) {
		return nil, &CorruptError{File: name, Reason: "bytes differ from what its content encodes to"}
	}
	for _, f := range m.Files {
		if !fs.ValidPath(f.Name) || f.Size < 0 {
			return nil, &CorruptError{File: name, Reason: fmt.Sprintf("file entry %q is not a path inside the build", f.Name)}
		}
	}
	if c := m.Counts; c.Documents < 0 || c.Chunks < 0 {
		return nil, &CorruptError{File: name, Reason: "negative count"}
	}
	return m, nil
}

// IsMissing reports whether err says that a file is not there.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
