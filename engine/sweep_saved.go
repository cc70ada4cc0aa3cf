package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/sweep"
	"github.com/seed792a4543/assay/index"
)

// sweepsName is the folder of the store that holds the reports of finished sweeps.
const sweepsName = "sweeps"

// savedSweepSchema is the schema key of a kept report.
const savedSweepSchema = "assay.saved-sweep/v1"

// ErrNoSweep says that the store has no sweep of that id.
var ErrNoSweep = errors.New("no such sweep")

// SavedSweep is the report of a finished sweep, as the store keeps it.
type SavedSweep struct {
	ID     string
	Time   time.Time // when it was saved
	ACLs   [][]string
	Report *sweep.Report
	Times  []sweep.Times
	Err    error // why it cannot be read; then only ID is set
}

// savedSweep is the file.
type savedSweep struct {
	Schema string        `json:"schema"`
	Time   time.Time     `json:"saved"`
	ACLs   [][]string    `json:"acls"`
	Report *sweep.Report `json:"report"`
	Times  []sweep.Times `json:"times,omitempty"`
	Digest string        `json:"digest"` // SHA-256 of this encoding with an empty digest
}

// Visible reports whether a caller with these labels may see every document that the sweep was
// about, and so its totals.
func (s *SavedSweep) Visible(as []string) bool {
	return !slices.ContainsFunc(s.ACLs, func(acl []string) bool { return !corpus.Visible(acl, as) })
}

// Measured reports whether one of the variants is this very build.
func (s *SavedSweep) Measured(build string) bool {
	return s.Report != nil && slices.ContainsFunc(s.Report.Variants, func(l sweep.Line) bool { return l.Build == build })
}

// LookAtSweep notes that somebody was shown the totals of a sweep's confirmation on the holdout: in
// the store's ledger and, for a set of that name that was read from a file, in the one beside it. A
// sweep without one has shown nothing of the holdout.
func (e *Engine) LookAtSweep(ctx context.Context, set *golden.Set, s *SavedSweep, who string) error {
	if s.Report == nil || s.Report.Confirmed == nil {
		return nil
	}
	ref, path := s.Report.Golden, ""
	if set != nil && set.Name == ref.Name {
		ref, path = refOf(set), set.Path
	}
	return e.look(ctx, ref, path, s.Report.Confirmed.Build, "", who, false)
}

// SaveSweep keeps the report of a finished sweep in the store, where serving and reports find it,
// and returns its id. The same report has the same id; one that is saved again, with a confirmation
// for example, replaces what was there.
func (e *Engine) SaveSweep(ctx context.Context, out *SweepOutcome) (id string, err error) {
	if err := out.Report.Validate(); err != nil {
		return "", badInput("%v", err)
	}
	if id, err = sweepID(out.Report); err != nil {
		return "", err
	}
	f := savedSweep{Schema: savedSweepSchema, Time: e.o.Now().UTC().Truncate(time.Second), ACLs: out.ACLs, Report: out.Report, Times: out.Times}
	data, err := f.encode()
	if err != nil {
		return "", err
	}
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return "", err
	}
	if err = e.fsys.MkdirAll(e.path(sweepsName)); err == nil {
		err = e.fsys.WriteFile(e.sweepPath(id), data)
	}
	return id, errors.Join(err, unlock())
}

// sweepID is a digest of what was measured; a confirmation afterwards does not change it.
func sweepID(r *sweep.Report) (string, error) {
	plain := *r
	plain.Confirmed = nil
	data, err := json.Marshal(&plain)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6]), nil
}

func (f savedSweep) encode() ([]byte, error) {
	f.Digest = ""
	data, err := encode(f)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	f.Digest = hex.EncodeToString(sum[:])
	return encode(f)
}

func (s *store) sweepPath(id string) string { return s.path(sweepsName, id+".json") }

// SavedSweeps lists the sweeps whose reports the store keeps, newest first. One that cannot be read
// is listed with the reason, at the end.
func (e *Engine) SavedSweeps() ([]SavedSweep, error) { return e.sweeps() }

func (s *store) sweeps() ([]SavedSweep, error) {
	entries, err := os.ReadDir(s.path(sweepsName))
	if index.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []SavedSweep
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || !buildIDPattern.MatchString(id) {
			continue
		}
		saved, err := s.readSweep(id)
		if err != nil {
			saved = &SavedSweep{ID: id, Err: err}
		}
		out = append(out, *saved)
	}
	slices.SortStableFunc(out, func(x, y SavedSweep) int { return y.Time.Compare(x.Time) })
	return out, nil
}

// SavedSweep reads the report of one sweep; id may be the beginning of one.
func (e *Engine) SavedSweep(id string) (*SavedSweep, error) {
	all, err := e.sweeps()
	if err != nil {
		return nil, err
	}
	var found []SavedSweep
	for _, s := range all {
		if s.ID == id || len(id) >= 4 && strings.HasPrefix(s.ID, id) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 1:
		return &found[0], found[0].Err
	case len(found) > 1:
		return nil, badInput("sweep %q is ambiguous: %s and %s begin so", id, found[0].ID, found[1].ID)
	}
	return nil, fmt.Errorf("%w: %q in store %s: `assay sweep` makes one and prints its id", ErrNoSweep, id, filepath.Clean(e.dir))
}

func (s *store) readSweep(id string) (*SavedSweep, error) {
	path := s.sweepPath(id)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	damaged := func(format string, args ...any) error {
		return &index.CorruptError{File: path, Reason: fmt.Sprintf(format, args...), Repair: "remove the file and repeat the sweep: what it measured is in the cache"}
	}
	var f savedSweep
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, damaged("not a report of a sweep: %v", err)
	}
	if f.Schema != savedSweepSchema {
		return nil, damaged("schema is %q, this version reads %q", f.Schema, savedSweepSchema)
	}
	if f.Report == nil {
		return nil, damaged("it holds no report")
	}
	sum := sha256.Sum256(bytes.Replace(data, []byte(`"`+f.Digest+`"`), []byte(`""`), 1))
	if f.Digest != hex.EncodeToString(sum[:]) {
		return nil, damaged("it was changed after it was written")
	}
	if err := f.Report.Validate(); err != nil {
		return nil, damaged("%v", err)
	}
	return &SavedSweep{ID: id, Time: f.Time, ACLs: f.ACLs, Report: f.Report, Times: f.Times}, nil
}

// distinctACLs returns each list of permission labels among the documents once, sorted.
func distinctACLs(docs *corpus.Collection) [][]string {
	out := [][]string{}
	for i := range docs.Documents {
		acl := slices.Sorted(slices.Values(docs.Documents[i].ACL))
		at, found := slices.BinarySearchFunc(out, acl, slices.Compare)
		if !found && len(acl) > 0 {
			out = slices.Insert(out, at, acl)
		}
	}
	return out
}
