// Package homestore is a bundled collection: the public and internal pages of an imaginary
// chain of home-appliance shops, and a golden question set about them. It is small enough to
// be built in a second and holds, on purpose, what makes real collections hard: regional pages
// that differ only in numbers, a policy that replaces an older one, a stale page of short
// answers, exceptions that contradict the general page, tables, a note that only staff may
// read, a text file and a page without headings. Nothing in it describes a real company.
//
// The package holds data only; reading documents is package corpus's task, reading golden sets
// that of evalkit/golden.
package homestore

import (
	"embed"
	"io/fs"
)

// Names of the parts of Files.
const (
	Name       = "homestore"   // name of the collection and of its golden set
	DocsDir    = "docs"        // folder of the documents
	GoldenFile = "golden.yaml" // the golden set
	LockFile   = "golden.lock" // digests of questions and gold sections, fixed at the freeze
	ConfigFile = "assay.yaml"  // settings with which the collection is usually built
)

// Files holds the whole project: the documents below docs/, the golden set, its lock and the
// settings.
// The golden set lies outside docs/, so that its questions are never indexed.
//
//go:embed docs golden.yaml golden.lock assay.yaml
var Files embed.FS

// Documents returns the documents alone, with paths relative to their folder ("returns.md").
func Documents() fs.FS {
	sub, err := fs.Sub(Files, DocsDir)
	if err != nil {
		panic("homestore: " + err.Error()) // unreachable: DocsDir is a valid path
	}
	return sub
}

// Golden returns the golden set as it stands in the binary. The caller owns the slice.
func Golden() []byte { return read(GoldenFile) }

// Lock returns the lock of the golden set: digests of every question and of the text of every
// gold section. The caller owns the slice.
func Lock() []byte { return read(LockFile) }

// Config returns the commented settings with which the collection is usually built, to be
// written beside a copy of the other files. The caller owns the slice.
func Config() []byte { return read(ConfigFile) }

func read(name string) []byte {
	data, err := Files.ReadFile(name)
	if err != nil {
		panic("homestore: " + err.Error()) // unreachable: the file is embedded
	}
	return data
}
