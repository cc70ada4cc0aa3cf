package golden

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/seed792a4543/assay/internal/disk"
)

// What a look at the holdout revealed.
const (
	RevealedTotals    = "totals"    // means and intervals alone
	RevealedQuestions = "questions" // results of single questions: the holdout is spent
)

// Look is one look at the holdout.
type Look struct {
	When     time.Time `json:"when"`
	Who      string    `json:"who"`
	Build    string    `json:"build"`
	Set      string    `json:"set"`     // name
	Version  int       `json:"version"` // of the set
	Digest   string    `json:"digest"`  // of the set
	Revealed string    `json:"revealed"`
	Note     string    `json:"note,omitempty"`
}

// Ledger is the list of looks at one set's holdout, oldest first.
type Ledger struct {
	Path  string
	Looks []Look
}

// LedgerPath returns where the ledger of the golden file at path stands: beside it, with the
// ending .looks.jsonl.
func LedgerPath(path string) string {
	return strings.TrimSuffix(LockPath(path), ".lock") + ".looks.jsonl"
}

// ReadLedger reads the ledger at path; a missing file is an empty ledger. A damaged line is an
// error with its number. A last line without its line break is a write that a crash cut short
// and is left out; RecordLook removes it.
func ReadLedger(path string) (*Ledger, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Ledger{Path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseLedger(path, data)
}

// ParseLedger reads a ledger from data; name stands in messages.
func ParseLedger(name string, data []byte) (*Ledger, error) {
	l := &Ledger{Path: name}
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	whole := bytes.Count(data, []byte{'\n'})
	for n := 1; sc.Scan(); n++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var look Look
		if err := json.Unmarshal(sc.Bytes(), &look); err != nil {
			if n > whole {
				break // cut short by a crash
			}
			return nil, fmt.Errorf("%s:%d: not a ledger line: %w: restore the file from version control", name, n, err)
		}
		l.Looks = append(l.Looks, look)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// RecordLook appends one look to the ledger at path and makes it durable. Lines are never
// changed or removed. The caller holds whatever lock keeps writers apart.
func RecordLook(fsys *disk.FS, path string, look Look) (err error) {
	if look.Revealed != RevealedTotals && look.Revealed != RevealedQuestions {
		return fmt.Errorf("%s: a look reveals %q or %q, not %q", path, RevealedTotals, RevealedQuestions, look.Revealed)
	}
	line, err := json.Marshal(look)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if old, err := os.ReadFile(path); err == nil && len(old) > 0 && old[len(old)-1] != '\n' {
		whole := bytes.LastIndexByte(old, '\n') + 1
		var last Look
		if json.Unmarshal(old[whole:], &last) == nil {
			line = append([]byte{'\n'}, line...) // an editor left out the line break
		} else if err := fsys.WriteFile(path, old[:whole]); err != nil { // a crash cut the line short
			return err
		}
	}
	f, err := fsys.Append(path)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Wear is how much a holdout has been looked at.
type Wear struct {
	Looks  int    `json:"looks"`
	Spent  bool   `json:"spent"` // single questions were revealed, so it can no longer confirm
	Reason string `json:"reason,omitempty"`
}

// Wear returns the wear of the set's holdout. Looks at an earlier version count as long as the
// name is the same: raising the version does not make questions unseen.
func (l *Ledger) Wear(set *Set) Wear {
	var w Wear
	for _, look := range l.Looks {
		if look.Set != set.Name {
			continue
		}
		w.Looks++
		if look.Revealed == RevealedQuestions && !w.Spent {
			w.Spent = true
			w.Reason = fmt.Sprintf("%s saw results of single questions on %s", look.Who, look.When.UTC().Format(time.DateOnly))
		}
	}
	return w
}
