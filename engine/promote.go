package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
)

// Reason says who decided something and why; both are kept in the ledger.
type Reason struct{ Who, Why string }

// PromoteOptions bind a promotion to what stands in the files now. The zero value relies on
// the verdict alone.
type PromoteOptions struct {
	GoldenDigest string // digest of the golden set as it is now; "" does not compare
	PolicyDigest string // digest of the policy as it is now; "" does not compare
	// Override makes a build live without an acceptance. Who and Why are then required; the
	// ledger and every later listing show them.
	Override bool
	Reason   Reason
}

// Promote makes b live if v accepts this very build: same id, bytes unchanged since, compared
// with the build that is live now. A build that is live already stays live, and nothing is
// written. Searches under way finish on the build they began on.
//
// A verdict of another build, another outcome or an edited one is ErrNotAccepted.
func (e *Engine) Promote(ctx context.Context, b *Build, v *verdict.Verdict) error {
	_, err := e.PromoteWith(ctx, b.ID, v, PromoteOptions{})
	return err
}

// PromoteWith is Promote with options. changed is false if the build was live already.
func (e *Engine) PromoteWith(ctx context.Context, build string, v *verdict.Verdict, o PromoteOptions) (changed bool, err error) {
	if o.Override && (strings.TrimSpace(o.Reason.Who) == "" || strings.TrimSpace(o.Reason.Why) == "") {
		return false, badInput("an override needs a name and a reason (--who and --why): they are kept in the ledger")
	}
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return false, err
	}
	changed, err = e.promote(ctx, build, v, o)
	return changed, errors.Join(err, unlock())
}

func (e *Engine) promote(ctx context.Context, build string, v *verdict.Verdict, o PromoteOptions) (bool, error) {
	id, err := e.resolve(build)
	if err != nil {
		return false, err
	}
	live, _, err := e.standing()
	if err != nil {
		return false, err
	}
	if live == id {
		return false, nil
	}
	entry := LedgerEntry{Time: e.o.Now().UTC(), Action: "promote", Build: id, From: live, Who: o.Reason.Who, Why: o.Reason.Why}
	if v != nil {
		entry.Verdict, entry.Record = string(v.Verdict)+" "+v.Digest, v.RecordDigest
		entry.Golden, entry.Policy = v.GoldenDigest, v.PolicyDigest
	}
	if o.Override {
		entry.Action = "override"
	} else if err := e.accepted(id, live, v, o); err != nil {
		return false, err
	}
	// What goes live is what was evaluated: every byte is compared with the manifest, whose
	// own digest the verdict holds.
	if errs := e.checkBuild(ctx, id, e.o); len(errs) > 0 {
		return false, fmt.Errorf("build %s has changed since it was made: %w", id, errors.Join(errs...))
	}
	return true, e.switchLive(entry)
}

// switchLive writes the ledger first: a crash between the two leaves the old build live and an
// entry that a second try completes.
func (e *Engine) switchLive(entry LedgerEntry) error {
	if err := e.appendLedger(entry); err != nil {
		return err
	}
	if err := e.setPointer(liveName, entry.Build); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	return e.refresh()
}

// accepted confirms that v lets build id go live in place of live.
func (e *Engine) accepted(id, live string, v *verdict.Verdict, o PromoteOptions) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrNotAccepted, fmt.Sprintf(format, args...))
	}
	if v == nil {
		return refuse("build %s has no verdict: run `assay eval %s`", id, id)
	}
	if err := v.Check(id, cmp.Or(o.GoldenDigest, v.GoldenDigest), cmp.Or(o.PolicyDigest, v.PolicyDigest)); err != nil {
		return fmt.Errorf("%w: %w", ErrNotAccepted, err)
	}
	if v.LiveBuild != live {
		return refuse("the verdict compared build %s with %s, but live is now %s: run `assay eval %s` again", id, orNone(v.LiveBuild), orNone(live), id)
	}
	m, err := index.ReadManifest(filepath.Join(e.buildDir(id), index.ManifestName))
	if err != nil {
		return err
	}
	rec, err := e.recordOf(id, v)
	if err != nil {
		return err
	}
	if have, served := rec.Settings[evaluatedMode], rec.Settings["hybrid.mode"]; have != served {
		return refuse("build %s was evaluated in mode %s and would be served in mode %s: run `assay eval %s` without --mode", id, have, served, id)
	}
	if rec.Evaluation.Split == golden.Holdout {
		return refuse("the verdict on build %s is about the holdout alone, which confirms and does not decide: run `assay eval %s`", id, id)
	}
	if v.SelfTest == nil {
		return refuse("the verdict on build %s was made without the self-test: run `assay eval %s` without --no-self-test", id, id)
	}
	if rec.Manifest != m.Digest {
		return refuse("build %s was changed after its verdict: its manifest's digest is %s, the record says %s", id, m.Digest, rec.Manifest)
	}
	return nil
}

func orNone(id string) string {
	if id == "" {
		return "no build"
	}
	return id
}

// Rollback makes another build live again without a new verdict: the one named by to, or the
// one that was live before the present one. It returns the id that is now live.
func (e *Engine) Rollback(ctx context.Context, to string, r Reason) (string, error) {
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return "", err
	}
	id, err := e.rollback(ctx, to, r)
	return id, errors.Join(err, unlock())
}

func (e *Engine) rollback(ctx context.Context, to string, r Reason) (string, error) {
	live, err := e.pointer(liveName)
	if err != nil && !errors.Is(err, index.ErrCorrupt) {
		return "", err
	}
	entries, err := e.ledger()
	if err != nil {
		return "", err
	}
	id := ""
	if to == "" {
		if id = previousLive(entries, live); id == "" {
			return "", badInput("no build was live before %s: name one with --to", orNone(live))
		}
	} else if id, err = e.resolve(to); err != nil {
		return "", err
	}
	if id == live {
		return id, nil
	}
	if to != "" && !slices.ContainsFunc(entries, func(l LedgerEntry) bool { return l.Build == id && l.madeLive() }) {
		return "", badInput("build %s was never live: use `assay promote %s`", id, id)
	}
	if _, err := os.Stat(e.buildDir(id)); index.IsMissing(err) {
		return "", fmt.Errorf("%w: %s, which was live before, has been removed", ErrNoBuild, id)
	}
	if errs := e.checkBuild(ctx, id, e.o); len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	return id, e.switchLive(LedgerEntry{
		Time: e.o.Now().UTC(), Action: "rollback", Build: id, From: live, Who: r.Who, Why: r.Why,
	})
}

// PreviousLive returns the build that Rollback goes back to when it is told none, "" if there is
// none.
func (e *Engine) PreviousLive() (string, error) {
	live, err := e.pointer(liveName)
	if err != nil && !errors.Is(err, index.ErrCorrupt) {
		return "", err
	}
	entries, err := e.ledger()
	return previousLive(entries, live), err
}

func (l LedgerEntry) madeLive() bool {
	return l.Action == "promote" || l.Action == "override" || l.Action == "rollback"
}

// previousLive is the build that a rollback of live goes to: the one that was live before it. A
// rollback goes back in this history and adds nothing to it, so that a second one goes further
// back and never to what was just rolled back from.
func previousLive(entries []LedgerEntry, live string) string {
	var history []string
	for _, l := range entries {
		if !l.madeLive() {
			continue
		}
		if i := slices.Index(history, l.Build); l.Action == "rollback" && i >= 0 {
			history = history[:i+1]
			continue
		}
		history = append(history, l.Build)
	}
	if n := len(history); n > 1 && history[n-1] == live {
		return history[n-2]
	}
	return ""
}

// SetReference freezes build as the reference that candidates are compared with besides the
// live one, so that many small accepted losses cannot add up unnoticed. It moves only by this
// call.
func (e *Engine) SetReference(ctx context.Context, build string, r Reason) (string, error) {
	if strings.TrimSpace(r.Who) == "" || strings.TrimSpace(r.Why) == "" {
		return "", badInput("moving the reference needs a name and a reason (--who and --why): they are kept in the ledger")
	}
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return "", err
	}
	id, err := func() (string, error) {
		id, err := e.resolve(build)
		if err != nil {
			return "", err
		}
		old, err := e.pointer(referenceName)
		if errors.Is(err, index.ErrCorrupt) {
			old, err = "", nil // it is replaced
		}
		if err != nil || old == id {
			return id, err
		}
		if err := e.appendLedger(LedgerEntry{
			Time: e.o.Now().UTC(), Action: "reference", Build: id, From: old, Who: r.Who, Why: r.Why,
		}); err != nil {
			return "", err
		}
		return id, e.setPointer(referenceName, id)
	}()
	return id, errors.Join(err, unlock())
}

// GC removes builds, oldest first, except the live one, the reference, the one that was live
// before, the keep newest others, and those that a reader has open. kept gives the reason for
// each build that stays. With dryRun nothing is removed.
func (e *Engine) GC(ctx context.Context, keep int, dryRun bool) (removed []string, kept map[string]string, err error) {
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return nil, nil, err
	}
	removed, kept, err = e.gc(ctx, keep, dryRun)
	return removed, kept, errors.Join(err, unlock())
}

func (e *Engine) gc(ctx context.Context, keep int, dryRun bool) (removed []string, kept map[string]string, err error) {
	ids, err := e.builds()
	if err != nil {
		return nil, nil, err
	}
	live, lost, err := e.standing()
	if err = cmp.Or(err, lost); err != nil {
		return nil, nil, err // nothing is removed while it is not known what must stay
	}
	reference, err := e.pointer(referenceName)
	if err != nil {
		return nil, nil, err
	}
	entries, err := e.ledger()
	if err != nil {
		return nil, nil, err
	}
	before := previousLive(entries, live)
	modified := map[string]int64{}
	for _, id := range ids {
		info, err := os.Stat(filepath.Join(e.buildDir(id), index.ManifestName))
		if err == nil {
			modified[id] = info.ModTime().UnixNano()
		} else if !index.IsMissing(err) {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int {
		switch d := modified[b] - modified[a]; {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return 0
	})
	kept = map[string]string{}
	for _, id := range ids {
		switch {
		case id == live:
			kept[id] = "live"
		case id == reference:
			kept[id] = "reference"
		case id == before:
			kept[id] = "live before"
		case keep > 0:
			kept[id] = "recent"
			keep--
		default:
			if err := ctx.Err(); err != nil {
				return removed, kept, err
			}
			ok, err := e.removeUnused(id, dryRun)
			if err != nil {
				return removed, kept, err
			}
			if !ok {
				kept[id] = "open in another reader"
				continue
			}
			removed = append(removed, id)
		}
	}
	return removed, kept, nil
}

// removeUnused removes a build unless a reader has it open, which false says. It is renamed away
// first, so that a crash leaves a leftover that the next writer removes, never half a build.
func (e *Engine) removeUnused(id string, dryRun bool) (bool, error) {
	release, ok, err := e.claim(id)
	if !ok || err != nil {
		return false, err
	}
	if dryRun {
		return true, release()
	}
	if runtime.GOOS == "windows" {
		// Windows renames no folder with an open file in it. A reader that comes now makes the
		// renaming fail instead.
		if err := release(); err != nil {
			return false, err
		}
		release = func() error { return nil }
	}
	tmp := e.path(buildsName, tempPrefix+"gone-"+id)
	err = e.fsys.Rename(e.buildDir(id), tmp)
	if err = errors.Join(err, release()); err != nil {
		return false, err
	}
	return true, e.fsys.RemoveAll(tmp)
}
