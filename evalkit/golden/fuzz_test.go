package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzLock: a lock that is accepted encodes and reads back the same.
func FuzzLock(f *testing.F) {
	section := "A > B"
	l := &Lock{Schema: LockSchema, Name: "n", Version: 2, Digest: "d", Questions: []LockQuestion{
		{ID: "q1", Digest: "e", Gold: []LockMember{{"a.md", &section, "quote", "f", "opening words"}}},
	}}
	data, err := l.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":"assay.golden-lock/v1"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock("fuzz", data)
		if err != nil {
			return
		}
		once, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLock("fuzz", once)
		if err != nil {
			t.Fatalf("accepted, encoded as %q and refused: %v", once, err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q encodes as %q, %v", once, twice, err)
		}
	})
}

// FuzzLooks: a ledger of looks that is accepted takes one more.
func FuzzLooks(f *testing.F) {
	f.Add([]byte(`{"when":"2026-01-01T00:00:00Z","who":"a","set":"s","revealed":"totals"}` + "\n"))
	f.Add([]byte(`{"when":"2026-01-01T00:00:00Z","who":"a","set":"s","revealed":"totals"}`))
	f.Add([]byte("{\"when\":\"2026"))
	f.Add([]byte("\n\n"))
	path := filepath.Join(f.TempDir(), "x.looks.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLedger("fuzz", data)
		if err != nil {
			return
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := RecordLook(nil, path, Look{When: time.Unix(0, 0).UTC(), Revealed: RevealedTotals}); err != nil {
			t.Fatal(err)
		}
		again, err := ReadLedger(path)
		if err != nil || len(again.Looks) != len(l.Looks)+1 {
			t.Fatalf("%d looks in %q, then %v, %v", len(l.Looks), data, again, err)
		}
	})
}
