package index

import (
	"cmp"
	"errors"
	"fmt"
)

// One sentinel for each decision a caller can take.
var (
	// ErrCorrupt marks every kind of damage, whatever the layer: run check, then rebuild.
	ErrCorrupt = errors.New("index is damaged")
	// ErrFormat says that another version of the program wrote the files.
	ErrFormat = errors.New("unknown index format")
	// ErrEmbedder says that a build was made with another embedder than the one given.
	ErrEmbedder = errors.New("built with another embedder")
	// ErrDimension says that a vector has another length than the build's.
	ErrDimension = errors.New("wrong vector dimension")
	// ErrClosed says that the index was closed.
	ErrClosed = errors.New("index is closed")
)

// CorruptError names the damaged file and what is wrong with it. It unwraps to ErrCorrupt.
type CorruptError struct {
	File   string // as the caller named it
	Reason string
	Repair string // what to do about it; "" means to build anew
}

func (e *CorruptError) Unwrap() error { return ErrCorrupt }
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: damaged: %s: %s", e.File, e.Reason, cmp.Or(e.Repair, "run `assay check`, then rebuild with `assay build`"))
}
