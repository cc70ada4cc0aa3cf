package golden

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLedgerAfterCrash(t *testing.T) {
	look := Look{When: time.Unix(0, 0).UTC(), Who: "a", Set: "s", Revealed: RevealedTotals}
	for name, tt := range map[string]struct {
		tail string // what the file ends in
		want int    // looks after one more
	}{
		"whole":         {"", 2},
		"cut short":     {`{"when":"2026-01-0`, 2},
		"no line break": {`{"when":"2026-01-01T00:00:00Z","who":"b","set":"s","revealed":"totals"}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.looks.jsonl")
			if err := RecordLook(nil, path, look); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(data, tt.tail...), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := RecordLook(nil, path, look); err != nil {
				t.Fatal(err)
			}
			l, err := ReadLedger(path)
			if err != nil || len(l.Looks) != tt.want {
				t.Errorf("read back: %v, %v; want %d looks", l, err, tt.want)
			}
		})
	}
}
