package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"", "x", string(make([]byte, 10_000))} {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(f.Data) != want {
			t.Errorf("%d bytes, want %d", len(f.Data), len(want))
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
		if f.Data != nil {
			t.Error("the bytes outlive the map")
		}
	}
	if _, err := Open(path + "none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Open(filepath.Dir(path)); err == nil {
		t.Error("a folder is mapped")
	}
	if err := (*File)(nil).Close(); err != nil {
		t.Error(err)
	}
}
