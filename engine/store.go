package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/disk"
)

// Names within a store.
const (
	liveName      = "LIVE"
	referenceName = "REFERENCE"
	lockName      = "LOCK"
	ledgerName    = "ledger.jsonl"
	buildsName    = "builds"
	tempPrefix    = ".tmp-"
	useName       = ".use" // within a build: readers hold it shared
)

// Errors that a caller can act on; those about damage, format and embedder are in package index.
var (
	// ErrNoLive says that no build of the store is live: build, evaluate and promote one.
	ErrNoLive = errors.New("no live build")
	// ErrNoBuild says that the store has no build of that id.
	ErrNoBuild = errors.New("no such build")
	// ErrLocked says that another process is changing the store.
	ErrLocked = errors.New("store is locked by another writer")
	// ErrNotAccepted says that a build may not go live: no acceptance for this very build.
	ErrNotAccepted = errors.New("build is not accepted")
	// ErrInput marks a request or a setting that can never succeed as it stands.
	ErrInput = errors.New("bad input")
)

type inputError struct{ msg string }

func (e *inputError) Error() string { return e.msg }
func (e *inputError) Unwrap() error { return ErrInput }

func badInput(format string, args ...any) error {
	return &inputError{fmt.Sprintf(format, args...)}
}

// buildID matches the name of a complete build.
var buildIDPattern = regexp.MustCompile(`^[0-9a-f]{12}$`)

// store is the folder of DESIGN.
type store struct {
	dir       string
	fsys      *disk.FS
	filterUse *hitCounter // of the permission filters of all readers; nil where none searches
}

func (s *store) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

func (s *store) buildDir(id string) string { return s.path(buildsName, id) }

// lock takes the writer's lock, waiting up to wait for another writer to finish. It makes the
// store's folder if it is missing and removes what an interrupted writer left behind.
func (s *store) lock(ctx context.Context, wait time.Duration) (unlock func() error, err error) {
	if err := s.fsys.MkdirAll(s.path(buildsName)); err != nil {
		return nil, fmt.Errorf("store %s: %w", s.dir, err)
	}
	l := flock.New(s.path(lockName))
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ok, err := l.TryLockContext(waiting, 20*time.Millisecond)
	if !ok {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("store %s: lock: %w", s.dir, err)
		}
		return nil, fmt.Errorf("%w: %s is held by process %s: wait for it to finish, or stop it", ErrLocked, s.path(lockName), s.holder())
	}
	release := func() error { return l.Unlock() }
	// The process id is only for the message of a refused writer: where the system forbids
	// writing to a locked file, the message says "unknown".
	_ = os.WriteFile(s.path(lockName), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o666)
	if err := s.sweepTemporary(); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

func (s *store) holder() string {
	data, err := os.ReadFile(s.path(lockName))
	if pid := strings.TrimSpace(string(data)); err == nil && pid != "" {
		return pid
	}
	return "unknown"
}

// sweepTemporary removes the leftovers of writers that did not finish. Only the holder of the
// lock may call it.
func (s *store) sweepTemporary() error {
	names, err := s.temporaries()
	for _, name := range names {
		if rerr := s.fsys.RemoveAll(name); rerr != nil {
			err = errors.Join(err, fmt.Errorf("leftover %s of an interrupted writer cannot be removed: delete it by hand: %w", name, rerr))
		}
	}
	return err
}

// temporaries lists leftovers: unfinished builds, records and files.
func (s *store) temporaries() ([]string, error) {
	var out []string
	for _, pattern := range []string{
		s.path(buildsName, tempPrefix+"*"),
		s.path(buildsName, "*", "evaluations", tempPrefix+"*"),
		s.path(sweepsName, "*.tmp"),
		s.path("*.tmp"),
	} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", s.dir, err)
		}
		out = append(out, names...)
	}
	return out, nil
}

// pointer reads LIVE or REFERENCE: a build id, "" if the file is missing.
func (s *store) pointer(name string) (string, error) {
	data, err := os.ReadFile(s.path(name))
	if index.IsMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSuffix(string(data), "\n")
	if !buildIDPattern.MatchString(id) {
		return "", &index.CorruptError{File: s.path(name), Reason: fmt.Sprintf("%q is no build id", clip(id, 40)),
			Repair: repairLive}
	}
	return id, nil
}

const repairLive = "make a build live with `assay up` or `assay builds rollback --to ID`"

// standing returns the live build; "" if there is none. lost says why the one that LIVE names, if
// it can be read at all, cannot stand in for it: a new build is then judged as the first.
func (s *store) standing() (id string, lost, err error) {
	id, err = s.pointer(liveName)
	if errors.Is(err, index.ErrCorrupt) {
		return "", err, nil
	}
	if err != nil || id == "" {
		return "", nil, err
	}
	if _, err := os.Stat(s.buildDir(id)); index.IsMissing(err) {
		return "", s.errLost(id), nil
	}
	return id, nil, nil
}

// errLost says that LIVE names a build that is gone.
func (s *store) errLost(id string) error {
	return &index.CorruptError{File: s.path(liveName), Reason: fmt.Sprintf("it names build %s, which the store does not hold", id), Repair: repairLive}
}

func (s *store) setPointer(name, id string) error {
	return s.fsys.WriteFile(s.path(name), []byte(id+"\n"))
}

// builds lists the ids of the complete builds in ascending order.
func (s *store) builds() ([]string, error) {
	entries, err := os.ReadDir(s.path(buildsName))
	if index.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && buildIDPattern.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// resolve turns what a user typed into a build id: an id, an unambiguous beginning of one, or
// "live".
func (s *store) resolve(name string) (string, error) {
	if name == "" || strings.EqualFold(name, "live") {
		id, err := s.pointer(liveName)
		if err == nil && id == "" {
			err = s.errNoLive()
		}
		return id, err
	}
	ids, err := s.builds()
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range ids {
		if id == name {
			return id, nil
		}
		if len(name) >= 4 && strings.HasPrefix(id, name) {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", badInput("build %q is ambiguous: %s", name, strings.Join(found, ", "))
	case len(ids) == 0:
		return "", fmt.Errorf("%w: store %s holds no builds: make one with `assay build`", ErrNoBuild, s.dir)
	}
	return "", fmt.Errorf("%w: %q in store %s: it holds %s", ErrNoBuild, name, s.dir, strings.Join(ids, ", "))
}

func (s *store) errNoLive() error {
	return fmt.Errorf("%w in store %s: make one with `assay up` (build, evaluate, promote)", ErrNoLive, s.dir)
}

// LedgerEntry is one line of the store's ledger: what was made live, by whom and on what
// grounds.
type LedgerEntry struct {
	Time     time.Time `json:"time"`
	Action   string    `json:"action"` // promote, override, rollback, reference, holdout, remove
	Build    string    `json:"build"`
	From     string    `json:"from,omitempty"` // build that was live before
	Who      string    `json:"who,omitempty"`
	Why      string    `json:"why,omitempty"`
	Verdict  string    `json:"verdict,omitempty"` // verdict and digest of its record
	Record   string    `json:"record,omitempty"`
	Golden   string    `json:"golden,omitempty"`
	Policy   string    `json:"policy,omitempty"`
	Revealed string    `json:"revealed,omitempty"` // holdout: aggregate or questions
	// Sum chains the lines: it is taken over this entry and the sum of the one before, so that
	// a line that was changed, moved or taken out is noticed.
	Sum string `json:"sum"`
}

// chained returns e with the sum that follows previous.
func (e LedgerEntry) chained(previous string) (LedgerEntry, error) {
	e.Sum = previous
	data, err := json.Marshal(e)
	if err != nil {
		return e, err
	}
	sum := sha256.Sum256(data)
	e.Sum = hex.EncodeToString(sum[:8])
	return e, nil
}

// appendLedger adds one line, durably. The whole line is written by one write, and a torn
// last line from a crash is completed by a newline first, so that lines never run together.
func (s *store) appendLedger(e LedgerEntry) error {
	entries, torn, err := s.readLedger()
	if err != nil {
		return err
	}
	last := ""
	if n := len(entries); n > 0 {
		last = entries[n-1].Sum
	}
	// Bytes that are not UTF-8 would not be read back as they were written.
	e.Who, e.Why = strings.ToValidUTF8(e.Who, "\uFFFD"), strings.ToValidUTF8(e.Why, "\uFFFD")
	if e, err = e.chained(last); err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if torn {
		// What stands behind the last newline was never acknowledged to anybody.
		old, err := os.ReadFile(s.path(ledgerName))
		if err != nil {
			return err
		}
		if err := s.fsys.WriteFile(s.path(ledgerName), old[:bytes.LastIndexByte(old, '\n')+1]); err != nil {
			return err
		}
	}
	f, err := s.fsys.Append(s.path(ledgerName))
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && len(entries) == 0 {
		err = s.fsys.SyncDir(s.dir)
	}
	return err
}

// ledger reads all entries, oldest first.
func (s *store) ledger() ([]LedgerEntry, error) {
	entries, _, err := s.readLedger()
	return entries, err
}

// readLedger reads all entries, oldest first, and checks the chain. A torn last line, left by a
// crash, is no entry.
func (s *store) readLedger() (entries []LedgerEntry, torn bool, err error) {
	data, err := os.ReadFile(s.path(ledgerName))
	if index.IsMissing(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	last := ""
	for n := 1; len(data) > 0; n++ {
		damaged := func(format string, args ...any) error {
			return &index.CorruptError{
				File:   fmt.Sprintf("%s:%d", s.path(ledgerName), n),
				Reason: fmt.Sprintf(format, args...),
				Repair: "restore the file from a copy, or move it away: the history is then lost, builds and verdicts are not",
			}
		}
		line, rest, complete := bytes.Cut(data, []byte{'\n'})
		if !complete {
			return entries, true, nil
		}
		data = rest
		var e LedgerEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, false, damaged("not a ledger entry: %v", err)
		}
		want, err := e.chained(last)
		if err != nil {
			return nil, false, damaged("%v", err)
		}
		if again, err := json.Marshal(want); err != nil || !bytes.Equal(again, line) {
			return nil, false, damaged("the line, or the one before, was changed after it was written")
		}
		entries, last = append(entries, e), e.Sum
	}
	return entries, false, nil
}

// use marks a build as being read until release is called, so that gc leaves it alone. A store
// that cannot be written to needs no mark: nothing can remove its builds either.
func (s *store) use(id string) (release func() error, err error) {
	l := flock.New(filepath.Join(s.buildDir(id), useName))
	ok, err := l.TryRLock()
	switch {
	case ok:
		return l.Unlock, nil
	case errors.Is(err, fs.ErrPermission) || isReadOnly(err):
		return func() error { return nil }, nil
	case index.IsMissing(err):
		return nil, fmt.Errorf("%w: %s", ErrNoBuild, id)
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("%w: build %s is being removed", ErrNoBuild, id)
}

// claim takes a build that no reader has open away from readers to come, until release is
// called; ok is false if one has it open.
func (s *store) claim(id string) (release func() error, ok bool, err error) {
	l := flock.New(filepath.Join(s.buildDir(id), useName))
	if ok, err = l.TryLock(); !ok || err != nil {
		return nil, false, err
	}
	return l.Unlock, true, nil
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
