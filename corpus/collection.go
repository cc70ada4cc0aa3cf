package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/internal/suggest"
)

// Collection is what a Source loaded.
type Collection struct {
	Name      string
	Documents []Document // sorted by ID byte-wise, ids unique
	Skipped   []Skipped  // sorted by path
	Warnings  []error    // in the order of paths
}

// Skipped is a file that was asked for and not read.
type Skipped struct {
	Path   string `json:"path"` // slash path relative to the root
	Reason string `json:"reason"`
}

// Digest returns the hex SHA-256 over id, version, labels and superseded ids of all documents,
// each with its length in front. It does not cover the reader's options, which settings record.
func (c *Collection) Digest() string {
	h := sha256.New()
	var b []byte
	str := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for i := range c.Documents {
		d := &c.Documents[i]
		b = b[:0]
		str(string(d.ID))
		str(d.Version)
		b = binary.AppendUvarint(b, uint64(len(d.ACL)))
		for _, label := range d.ACL {
			str(label)
		}
		b = binary.AppendUvarint(b, uint64(len(d.Supersedes)))
		for _, id := range d.Supersedes {
			str(string(id))
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Find returns the document with the given id, compared in NFC, or nil.
func (c *Collection) Find(id DocumentID) *Document {
	id = DocumentID(Normalize(string(id)))
	i, ok := slices.BinarySearchFunc(c.Documents, id, func(d Document, id DocumentID) int {
		return strings.Compare(string(d.ID), string(id))
	})
	if !ok {
		return nil
	}
	return &c.Documents[i]
}

// Nearest returns the id of the document that was probably meant by a misspelt one, such as
// faq.md for Faq.md, or "".
func (c *Collection) Nearest(id DocumentID) DocumentID {
	ids := make([]string, len(c.Documents))
	for i := range c.Documents {
		ids[i] = string(c.Documents[i].ID)
	}
	return DocumentID(suggest.Nearest(Normalize(string(id)), ids))
}

// Visible reports whether a caller who holds the labels as may read a document with the labels
// acl: it has none, or shares one with the caller.
func Visible(acl, as []string) bool {
	if len(acl) == 0 {
		return true
	}
	for _, label := range as {
		if slices.Contains(acl, label) {
			return true
		}
	}
	return false
}
