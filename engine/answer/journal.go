package answer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/seed792a4543/assay/internal/disk"
)

// Journal keeps what was paid for, one JSON object a line with its key, so that a run that was
// interrupted goes on without paying again. Every entry is written through to the disk before Put
// returns. It is safe for concurrent use; two processes must not write one file at a time.
type Journal[T any] struct {
	mu    sync.Mutex
	known map[string]T
	out   *disk.File // nil keeps entries in memory alone
}

// entry is a line of a journal.
type entry[T any] struct {
	Key    string `json:"key"`
	Record T      `json:"record"`
}

// OpenJournal reads the journal at path and opens it for more; "" is one in memory. A last line
// that was cut off by a crash is passed over; any other damage is an error. fsys may be nil.
func OpenJournal[T any](fsys *disk.FS, path string) (*Journal[T], error) {
	j := &Journal[T]{known: map[string]T{}}
	if path == "" {
		return j, nil
	}
	if err := j.read(path); err != nil {
		return nil, err
	}
	out, err := fsys.Append(path)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	j.out = out
	return j, nil
}

// Get returns what is kept under a key.
func (j *Journal[T]) Get(key string) (T, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, ok := j.known[key]
	return v, ok
}

// Put keeps a value under a key.
func (j *Journal[T]) Put(key string, v T) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.out != nil {
		data, err := json.Marshal(entry[T]{key, v})
		if err == nil {
			_, err = j.out.Write(append(data, '\n'))
		}
		if err = cmp.Or(err, j.out.Sync()); err != nil {
			return err
		}
	}
	j.known[key] = v
	return nil
}

// Close closes the file. Nothing is lost without it.
func (j *Journal[T]) Close() error {
	if j.out == nil {
		return nil
	}
	return j.out.Close()
}

func (j *Journal[T]) read(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	whole := bytes.HasSuffix(data, []byte("\n"))
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(make([]byte, 0, 64<<10), 1<<28)
	var lines [][]byte
	for in.Scan() {
		lines = append(lines, slices.Clone(in.Bytes()))
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("answers: %s: %w", path, err)
	}
	for i, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var s entry[T]
		if err := json.Unmarshal(line, &s); err != nil {
			if i == len(lines)-1 && !whole {
				// Cut it off, so that the next line does not continue it.
				if err := os.Truncate(path, int64(len(data)-len(line))); err != nil {
					return fmt.Errorf("answers: %w", err)
				}
				break
			}
			return fmt.Errorf("answers: %s:%d: %w: delete the file to begin anew", path, i+1, err)
		}
		j.known[s.Key] = s.Record
	}
	return nil
}
