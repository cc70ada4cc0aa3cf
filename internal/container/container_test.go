package container

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testKind, testVersion = "testkind", 7

var testSections = []Section{
	{Name: "first", Data: []byte("hello")},
	{Name: "empty", Data: nil},
	{Name: "twelve bytes", Data: bytes.Repeat([]byte{1, 2, 3, 4}, 100)},
}

func sample(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(nil, path, testKind, testVersion, testSections); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	f, err := Open(sample(t), testKind, testVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range testSections {
		data, err := f.Section(s.Name, 1)
		if err != nil || !bytes.Equal(data, s.Data) {
			t.Errorf("section %s: %q, %v", s.Name, data, err)
		}
		if err := f.VerifySection(s.Name); err != nil {
			t.Error(err)
		}
	}
	if err := f.Verify(); err != nil {
		t.Error(err)
	}
	var d *Damage
	if _, err := f.Section("none", 1); !errors.As(err, &d) {
		t.Errorf("a section that is missing: %v, want *Damage", err)
	}
	if _, err := f.Section("first", 4); !errors.As(err, &d) {
		t.Errorf("a section of another unit: %v, want *Damage", err)
	}
	if err := f.VerifySection("none"); !errors.As(err, &d) {
		t.Errorf("verifying a section that is missing: %v, want *Damage", err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
}

func TestSameBytes(t *testing.T) {
	a, err := os.ReadFile(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two writes of the same sections differ")
	}
}

// Every flipped byte and every cut is noticed by Open or Verify, but for the zeros between
// sections, which nobody reads.
func TestDamage(t *testing.T) {
	path := sample(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inGap := func(at int) bool {
		header := 16 + len(testSections)*entrySize + 4
		if at < header {
			return false
		}
		for i := range testSections {
			e := data[16+i*entrySize:]
			off, n := int(binary.LittleEndian.Uint64(e[16:])), int(binary.LittleEndian.Uint64(e[24:]))
			if at >= off && at < off+n {
				return false
			}
		}
		return true
	}
	judge := func(b []byte) error {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, testKind, testVersion)
		if err != nil {
			return err
		}
		return errors.Join(f.Verify(), f.Close())
	}
	for at := range data {
		b := bytes.Clone(data)
		b[at] ^= 0x10
		err := judge(b)
		var d *Damage
		var v *Version
		if known := errors.As(err, &d) || errors.As(err, &v); known == inGap(at) {
			t.Errorf("byte %d: %v", at, err)
		}
		if err := judge(data[:at]); !errors.As(err, &d) {
			t.Errorf("cut at %d: %v, want *Damage", at, err)
		}
	}
	if err := judge(append(bytes.Clone(data), 0)); err == nil {
		t.Error("a byte more is not noticed")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), testKind, testVersion); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	var v *Version
	if err := judge(data); err != nil {
		t.Error(err)
	}
	if _, err := Open(path, testKind, testVersion+1); !errors.As(err, &v) || v.Have != testVersion {
		t.Errorf("another version: %v", err)
	}
}

// FuzzParse reads any bytes, as they are and with the checksum of the header made right.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:20])
	f.Add([]byte("testkind\x07\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00"))
	huge := bytes.Clone(data)
	binary.LittleEndian.PutUint64(huge[16+16:], 1<<63)
	binary.LittleEndian.PutUint64(huge[16+24:], 1<<63)
	f.Add(huge)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		for range 2 {
			if file, err := parse("fuzz", data, testKind, testVersion); err == nil {
				total := 0
				for _, s := range file.sections {
					got, err := file.Section(s.Name, 1)
					if err != nil {
						t.Fatal(err)
					}
					total += len(got)
				}
				if total > len(data)*len(file.sections) {
					t.Fatalf("%d bytes of sections in %d", total, len(data))
				}
				_ = file.Verify() // damaged or not, it returns
			}
			if len(data) < 20 {
				return
			}
			n := int(binary.LittleEndian.Uint32(data[12:]))
			if n > maxSections || len(data) < 20+n*entrySize {
				return
			}
			end := 16 + n*entrySize
			binary.LittleEndian.PutUint32(data[end:], crc32.Checksum(data[:end], castagnoli))
			copy(data, testKind)
			binary.LittleEndian.PutUint32(data[8:], testVersion)
			binary.LittleEndian.PutUint32(data[end:], crc32.Checksum(data[:end], castagnoli))
		}
	})
}

func TestErrors(t *testing.T) {
	got := []string{(&Damage{"a", "b"}).Error(), (&Version{"a", "k", 2, 1}).Error()}
	want := []string{"a: damaged: b", "a: k file of version 2, this program reads version 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
