// Package disk does every durable change of the store: write beside, sync, rename, sync the
// folder. All changes pass through one FS value, so that tests can count them, fail them or
// stop the process at each of them.
package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Op names one kind of change.
type Op string

// The kinds of change an FS performs.
const (
	OpCreate Op = "create"
	OpWrite  Op = "write"
	OpSync   Op = "sync"
	OpRename Op = "rename"
	OpRemove Op = "remove"
	OpMkdir  Op = "mkdir"
)

// FS performs changes on the file system. The nil *FS and the zero value are the plain file
// system.
type FS struct {
	// Before is called before each change with its kind and the path it changes; an error
	// from it is returned in place of the change. nil calls nothing. Tests inject faults here.
	Before func(op Op, path string) error

	// Write is called in place of each write to a file, with the bytes and the function that
	// writes them; what it returns is what the writer sees. nil writes. Tests cut writes short
	// here.
	Write func(path string, p []byte, write func([]byte) (int, error)) (int, error)
}

func (fs *FS) before(op Op, path string) error {
	if fs == nil || fs.Before == nil {
		return nil
	}
	if err := fs.Before(op, path); err != nil {
		return &os.PathError{Op: string(op), Path: path, Err: err}
	}
	return nil
}

// Step announces a change that the caller makes itself, such as one by a library that opens
// its own files.
func (fs *FS) Step(op Op, path string) error { return fs.before(op, path) }

// File is a file being written. It must be closed; Sync makes its bytes durable.
type File struct {
	fs *FS
	f  *os.File
}

// Create makes or truncates path for writing.
func (fs *FS) Create(path string) (*File, error) {
	if err := fs.before(OpCreate, path); err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &File{fs, f}, nil
}

// Append opens path for writing at its end, making it if it is missing.
func (fs *FS) Append(path string) (*File, error) {
	if err := fs.before(OpCreate, path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{fs, f}, nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	if err := f.fs.before(OpWrite, f.f.Name()); err != nil {
		return 0, err
	}
	if f.fs != nil && f.fs.Write != nil {
		n, err := f.fs.Write(f.f.Name(), p, f.f.Write)
		if err != nil {
			err = &os.PathError{Op: string(OpWrite), Path: f.f.Name(), Err: err}
		}
		return n, err
	}
	return f.f.Write(p)
}

// SeekTo sets where the next Write goes, in bytes from the start. Bytes that are never written are
// zeros.
func (f *File) SeekTo(offset int64) error {
	_, err := f.f.Seek(offset, io.SeekStart)
	return err
}

// ReadAt implements io.ReaderAt for a file made by Create.
func (f *File) ReadAt(p []byte, offset int64) (int, error) { return f.f.ReadAt(p, offset) }

// Sync makes the file's bytes durable.
func (f *File) Sync() error {
	if err := f.fs.before(OpSync, f.f.Name()); err != nil {
		return err
	}
	return f.f.Sync()
}

// Close closes the file without syncing it.
func (f *File) Close() error { return f.f.Close() }

// WriteFile replaces path with data; after a crash path holds the old bytes or the new.
func (fs *FS) WriteFile(path string, data []byte) error {
	return fs.WriteTo(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteTo replaces path with what write writes; after a crash or an error path holds the old
// bytes or the new. It writes to path+".tmp", so two writers of one path must exclude each
// other.
func (fs *FS) WriteTo(path string, write func(io.Writer) error) error {
	f, err := fs.Replace(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// Replacement is a file that takes another's place once it is complete. It ends with Commit or
// Discard.
type Replacement struct {
	*File
	path string
}

// Replace begins what WriteTo does in one call.
func (fs *FS) Replace(path string) (*Replacement, error) {
	f, err := fs.Create(path + ".tmp")
	if err != nil {
		return nil, err
	}
	return &Replacement{f, path}, nil
}

// Commit makes the bytes written durable and moves them to their path. On error the path holds
// what it held.
func (r *Replacement) Commit() error {
	if err := r.Sync(); err != nil {
		return errors.Join(err, r.Discard())
	}
	err := r.Close()
	if err == nil {
		err = r.fs.Rename(r.path+".tmp", r.path)
	}
	if err != nil {
		return errors.Join(err, removeIfThere(r.path+".tmp"))
	}
	return nil
}

// Discard removes what was written.
func (r *Replacement) Discard() error {
	return errors.Join(r.Close(), removeIfThere(r.path+".tmp"))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Rename moves from to to and makes the move durable.
func (fs *FS) Rename(from, to string) error {
	if err := fs.before(OpRename, to); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(to))
}

// MkdirAll makes path and its missing parents.
func (fs *FS) MkdirAll(path string) error {
	if err := fs.before(OpMkdir, path); err != nil {
		return err
	}
	return os.MkdirAll(path, 0o777)
}

// RemoveAll removes path and all below it; a missing path is no error.
func (fs *FS) RemoveAll(path string) error {
	if err := fs.before(OpRemove, path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// SyncDir makes the names in the folder durable, where the system can.
func (fs *FS) SyncDir(path string) error {
	if err := fs.before(OpSync, path); err != nil {
		return err
	}
	return syncDir(path)
}

// SyncTree syncs every file and folder below root, deepest first, and root itself.
func (fs *FS) SyncTree(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := filepath.Join(root, e.Name())
		if e.IsDir() {
			err = fs.SyncTree(p)
		} else {
			err = fs.syncFile(p)
		}
		if err != nil {
			return err
		}
	}
	return fs.SyncDir(root)
}

func (fs *FS) syncFile(path string) error {
	if err := fs.before(OpSync, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
