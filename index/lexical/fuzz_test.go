package lexical

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/container"
)

// FuzzPostings changes the postings of an index and seals them with right checksums, so that what
// is tried is the checks behind them: what opens can be searched and verified without a panic.
func FuzzPostings(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "lexical")
	docs := []Doc{
		{ID: "a", Title: "kettle", Body: "descale the kettle monthly"},
		{ID: "b", Heading: "pan", Body: "never scrub the pan"},
		{ID: "c", Body: "the pan and the kettle, the kettle and the pan"},
	}
	if _, err := Build(f.Context(), nil, dir, slices.Values(docs), Settings{Analyzer: "standard"}); err != nil {
		f.Fatal(err)
	}
	file, err := container.Open(filepath.Join(dir, postingsName), postingsKind, postingsVersion)
	if err != nil {
		f.Fatal(err)
	}
	var sections []container.Section
	for _, name := range []string{"stats", "terms", "termends", "postends", "blkends", "docs", "freqs", "large", "blkdocs", "blkmax", "common", "bits", "ranks", "lengths"} {
		data, err := file.Section(name, 1)
		if err != nil {
			f.Fatal(err)
		}
		sections = append(sections, container.Section{Name: name, Data: bytes.Clone(data)})
	}
	if err := file.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(0), uint16(20), []byte("9"))
	f.Add(uint8(2), uint16(0), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(3), uint16(8), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(5), uint16(0), []byte{3, 0, 0, 0})
	f.Add(uint8(6), uint16(0), []byte{0})
	f.Add(uint8(8), uint16(0), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(13), uint16(0), []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, section uint8, at uint16, patch []byte) {
		changed := slices.Clone(sections)
		s := &changed[int(section)%len(changed)]
		s.Data = bytes.Clone(s.Data)
		if len(s.Data) == 0 {
			s.Data = patch
		} else {
			copy(s.Data[int(at)%len(s.Data):], patch)
		}
		work := t.TempDir()
		if err := container.Write(nil, filepath.Join(work, postingsName), postingsKind, postingsVersion, changed); err != nil {
			t.Fatal(err)
		}
		x, err := Open(work, Settings{Analyzer: "auto"}, Stats{})
		if err != nil {
			if !errors.Is(err, index.ErrCorrupt) && !errors.Is(err, index.ErrFormat) && !errors.Is(err, ErrMismatch) {
				t.Fatalf("%v is of no known kind", err)
			}
			return
		}
		for _, q := range []string{"kettle", "the pan", "kettle pan never monthly", "absent"} {
			found, err := x.SearchText(t.Context(), q, 3, nil)
			if err != nil && !errors.Is(err, index.ErrCorrupt) {
				t.Fatal(err)
			}
			for _, c := range found {
				if int(c.Ord) >= x.Len() {
					t.Fatalf("hit %d of %d chunks", c.Ord, x.Len())
				}
			}
		}
		_ = x.Verify(t.Context()) // sound or not
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
