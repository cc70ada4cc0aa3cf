package engine

import (
	"context"

	"github.com/seed792a4543/assay/internal/disk"
)

// LockForTest takes the writer's lock of e's store.
func LockForTest(e *Engine) (func() error, error) { return e.lock(context.Background(), e.o.LockWait) }

// WithDisk returns o with every change of the store made through fsys.
func WithDisk(o Options, fsys *disk.FS) Options {
	o.fsys = fsys
	return o
}
