package lexical

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed792a4543/assay/internal/disk"
)

// Segments keeps the segments of the index that was built last, so that the next build analyses
// only the batches of chunks that have changed. A segment is found by a digest of all that decides
// its bytes and is checked before it is used: one that is damaged or gone is made anew.
type Segments struct {
	Dir string // of this package alone; it is made when needed and holds one build's segments
	// Program identifies the program that reads and writes the segments, so that one with
	// another analyser does not take them over.
	Program string
	// Failed, if set, is told why the segments could not be kept, which is no error of the build.
	Failed func(error)
}

// segmentInfo is what is kept about a segment.
type segmentInfo struct {
	SHA256 string   `json:"sha256"`
	Words  [3]int64 `json:"words"` // title, heading, body
}

// segmentsName is the list of what is kept, by key; a segment of key K is in the file K.zap.
const segmentsName = "segments.json"

// list returns what is kept. A list that cannot be read is an empty one.
func (k *Segments) list() map[string]segmentInfo {
	out := map[string]segmentInfo{}
	if k == nil {
		return out
	}
	data, err := os.ReadFile(filepath.Join(k.Dir, segmentsName))
	if err != nil || json.Unmarshal(data, &out) != nil {
		return map[string]segmentInfo{}
	}
	return out
}

func (k *Segments) path(key string) string { return filepath.Join(k.Dir, key+".zap") }

// find points b at the kept segment of the same chunks and reports whether there is one. It gives
// b its key in any case.
func (w *writer) find(b batch) bool {
	if w.kept == nil {
		return false
	}
	b.key = w.keyOf(b.docs)
	info, ok := w.list[b.key]
	if !ok {
		return false
	}
	path := w.kept.path(b.key)
	if sum, err := digestOf(path); err != nil || sum != info.SHA256 {
		return false
	}
	b.path, b.words, b.found = path, info.Words, true
	return true
}

// keyOf is a digest of the chunks and of what else decides the bytes of their segment.
func (w *writer) keyOf(docs []Doc) string {
	h := sha256.New()
	var n [8]byte
	put := func(s string) {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		_, _ = io.WriteString(h, s)
	}
	put(w.kept.Program)
	put(library())
	put(w.settings)
	for i := range docs {
		put(docs[i].ID)
		put(docs[i].Title)
		put(docs[i].Heading)
		put(docs[i].Body)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// keep moves the new parts, which are not needed any more, into the folder and removes what is not
// of them. Nothing but the time of the next build depends on it.
func (k *Segments) keep(fsys *disk.FS, parts []*piece) error {
	if k == nil {
		return nil
	}
	if err := fsys.MkdirAll(k.Dir); err != nil {
		return err
	}
	list := make(map[string]segmentInfo, len(parts))
	for _, p := range parts {
		path := k.path(p.key)
		if !p.found {
			// Not made durable: a list that names what a crash has lost is found out by its digest.
			if err := fsys.Step(disk.OpRename, path); err != nil {
				return err
			}
			if err := os.Rename(p.path, path); err != nil {
				return err
			}
		}
		sum, err := digestOf(path)
		if err != nil {
			return err
		}
		list[p.key] = segmentInfo{sum, p.words}
	}
	entries, err := os.ReadDir(k.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, ok := list[strings.TrimSuffix(e.Name(), ".zap")]; !ok && e.Name() != segmentsName {
			if err := fsys.RemoveAll(filepath.Join(k.Dir, e.Name())); err != nil {
				return err
			}
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return fsys.WriteFile(filepath.Join(k.Dir, segmentsName), data)
}
