package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed"
)

// Fault is one thing wrong with a store.
type Fault struct {
	Where string // file or folder
	Err   error
}

// String is the error with the place, which many errors name themselves.
func (f Fault) String() string {
	if said := f.Err.Error(); strings.HasPrefix(said, f.Where) {
		return said
	}
	return f.Where + ": " + f.Err.Error()
}

// Check reads everything in the store and reports each fault as it is found: pointers, every
// build's manifest, files, digests and the agreement of its parts, every record and verdict,
// and the ledger. Leftovers of an interrupted writer are notes, not faults: the next writer
// removes them. The error is that of a check that could not be completed.
func (e *Engine) Check(ctx context.Context) (faults []Fault, notes []string, err error) {
	return check(ctx, &e.store, e.o)
}

// Check checks the store in dir as Engine.Check does, also one that Open refuses.
func Check(ctx context.Context, dir string, o Options) (faults []Fault, notes []string, err error) {
	o = o.withDefaults()
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("store %s: %w", dir, err)
	}
	return check(ctx, &store{dir: dir, fsys: o.fsys}, o)
}

func check(ctx context.Context, s *store, o Options) (faults []Fault, notes []string, err error) {
	add := func(where string, err error) {
		if err != nil {
			faults = append(faults, Fault{where, err})
		}
	}
	ids, err := s.builds()
	if err != nil {
		return nil, nil, err
	}
	have := map[string]bool{}
	for _, id := range ids {
		have[id] = true
	}
	for _, name := range []string{liveName, referenceName} {
		id, err := s.pointer(name)
		add(s.path(name), err)
		if err == nil && id != "" && !have[id] {
			add(s.path(name), fmt.Errorf("it names build %s, which is missing: promote another build", id))
		}
	}
	entries, torn, err := s.readLedger()
	add(s.path(ledgerName), err)
	readable := err == nil
	if readable {
		for _, p := range []struct{ name, what string }{{liveName, "live"}, {referenceName, "the reference"}} {
			note, fault := s.checkHistory(p.name, p.what, entries)
			add(s.path(p.name), fault)
			if note != "" {
				notes = append(notes, s.path(p.name)+": "+note)
			}
		}
	}
	if torn {
		notes = append(notes, s.path(ledgerName)+": its last line is cut short, as an interrupted writer leaves it; the next writer removes it")
	}
	for i, id := range ids {
		o.Progress(Progress{Stage: "check", Done: i, Total: len(ids)})
		if err := ctx.Err(); err != nil {
			return faults, notes, err
		}
		for _, err := range s.checkBuild(ctx, id, o) {
			add(s.buildDir(id), err)
		}
		runs, err := s.runs(id)
		add(s.buildDir(id), err)
		var records []*evalkit.Record
		for _, run := range runs {
			rec, errs := s.checkRun(id, run)
			for _, err := range errs {
				add(s.recordDir(id, run), err)
			}
			records = append(records, rec)
		}
		if readable && !slices.Contains(records, nil) { // else a fault already, and it is not known what is missing
			notes = append(notes, s.missingHistory(id, entries, records)...)
		}
	}
	sweeps, err := s.sweeps()
	if err != nil {
		return faults, notes, err
	}
	for _, saved := range sweeps {
		add(s.sweepPath(saved.ID), saved.Err)
	}
	temps, err := s.temporaries()
	if err != nil {
		return faults, notes, err
	}
	for _, t := range temps {
		notes = append(notes, t+": left by an interrupted writer; the next writer removes it")
	}
	cache, err := embed.VerifyCache(ctx, s.cachePath())
	if err != nil && !index.IsMissing(err) {
		return faults, notes, err
	}
	for _, f := range cache.Faults {
		notes = append(notes, f.Error()+": what is damaged counts as missing and is embedded again")
	}
	listing, err := os.ReadDir(s.dir)
	if err != nil {
		return faults, notes, err
	}
	for _, entry := range listing {
		switch name := entry.Name(); {
		case name == buildsName, name == "cache", name == sweepsName, name == liveName, name == referenceName, name == lockName, name == ledgerName:
		case strings.HasSuffix(name, ".tmp"):
		default:
			notes = append(notes, s.path(name)+": not part of a store; assay ignores it")
		}
	}
	return faults, notes, ctx.Err()
}

// checkHistory compares a pointer with the ledger, whose entry is written first: the pointer
// names what the last entry moved it to or, when the writer was interrupted in between, from.
func (s *store) checkHistory(name, what string, entries []LedgerEntry) (note string, fault error) {
	id, err := s.pointer(name)
	if err != nil {
		return "", nil // a fault already
	}
	var last LedgerEntry
	for _, l := range slices.Backward(entries) {
		if name == liveName && l.madeLive() || name == referenceName && l.Action == "reference" {
			last = l
			break
		}
	}
	damaged := func(format string, args ...any) error {
		return &index.CorruptError{File: s.path(name), Reason: fmt.Sprintf(format, args...), Repair: "set it anew: the ledger says who and why"}
	}
	switch {
	case id == last.Build:
		return "", nil
	case last.Build == "":
		return "", damaged("it names build %s, and no entry of %s made that %s", id, ledgerName, what)
	case id != last.From:
		return "", damaged("it names %s, but %s says that %s is %s", orNone(id), ledgerName, last.Build, what)
	case id == "":
		return fmt.Sprintf("missing, though %s says that %s was made %s: an interrupted writer never wrote it, or it was deleted", ledgerName, last.Build, what), nil
	}
	return "", nil
}

// missingHistory compares the ledger with the records of a build, which name each other. A note is
// due for a verdict that made the build live and is gone, and for a look at the holdout that no
// entry tells of, as when the last lines of the ledger are gone. Both may have been done on
// purpose, so they are no faults.
func (s *store) missingHistory(build string, entries []LedgerEntry, records []*evalkit.Record) (notes []string) {
	missing := map[string]bool{}
	looks := map[string]bool{}
	for _, l := range entries {
		if l.Build != build || l.Record == "" {
			continue
		}
		if l.Action == "holdout" {
			looks[l.Record] = true
			continue
		}
		gone := !slices.ContainsFunc(records, func(r *evalkit.Record) bool { return r.Digest == l.Record })
		if gone && !missing[l.Record] {
			missing[l.Record] = true
			notes = append(notes, fmt.Sprintf("%s: the verdict by which it was made live on %s is gone (record %s)", s.buildDir(build), l.Time.Format("2006-01-02"), clip(l.Record, 12)))
		}
	}
	for _, r := range records {
		if r.Evaluation.Split != golden.Dev && !looks[r.Digest] {
			notes = append(notes, fmt.Sprintf("%s: no entry tells of the look at the holdout of run %s, build %s: lines at its end are gone, or the file was moved away", s.path(ledgerName), r.Run, build))
		}
	}
	return notes
}

// checkBuild returns every fault of one build's files. Its records are judged by themselves: a
// damaged one must not stand in the way of a sound build.
func (s *store) checkBuild(ctx context.Context, id string, o Options) (errs []error) {
	dir := s.buildDir(id)
	m, err := index.ReadManifest(filepath.Join(dir, index.ManifestName))
	if err != nil {
		return []error{missingIsCorrupt(err)}
	}
	want := map[string]index.FileInfo{}
	for _, f := range m.Files {
		want[f.Name] = f
	}
	errs = append(errs, extraFiles(dir, want)...)
	for _, f := range m.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		have, err := digestFile(path)
		switch {
		case index.IsMissing(err):
			errs = append(errs, &index.CorruptError{File: path, Reason: "file is missing"})
		case err != nil:
			errs = append(errs, err)
		case have.Size != f.Size:
			errs = append(errs, &index.CorruptError{File: path, Reason: fmt.Sprintf("%d bytes, the manifest says %d", have.Size, f.Size)})
		case have.SHA256 != f.SHA256:
			errs = append(errs, &index.CorruptError{File: path, Reason: "its SHA-256 is not the manifest's"})
		}
	}
	if want, err := buildID(m.Corpus.Digest, m.Settings, m.Embedder); err != nil || want != id || m.ID != id {
		errs = append(errs, &index.CorruptError{File: filepath.Join(dir, index.ManifestName),
			Reason: fmt.Sprintf("its content belongs to build %s", want)})
	}
	if len(errs) == 0 {
		// The digests agree, so what follows finds only faults of the writer itself.
		errs = append(errs, s.checkParts(ctx, id, o)...)
	}
	return errs
}

// extraFiles names files that the manifest does not know: they may hide a mix of two builds.
func extraFiles(dir string, want map[string]index.FileInfo) (errs []error) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == evaluationsName {
				return fs.SkipDir
			}
			return nil
		}
		if _, ok := want[rel]; !ok && rel != index.ManifestName && rel != useName {
			errs = append(errs, &index.CorruptError{File: path, Reason: "the manifest does not list it"})
		}
		return nil
	})
	if err != nil {
		errs = append(errs, err)
	}
	return errs
}

// checkParts opens the build and verifies each part against the others.
func (s *store) checkParts(ctx context.Context, id string, o Options) []error {
	// Whatever model the settings name, the files can be checked without it.
	r := &reader{id: id, dir: s.buildDir(id), unuse: func() error { return nil }, filters: map[string]*index.Filter{}}
	o.Embedder = nil
	if err := r.openFiles(o); err != nil {
		return []error{errors.Join(err, r.closeFiles())}
	}
	errs := []error{r.verifyFiles(ctx), r.closeFiles()}
	out := errs[:0]
	for _, err := range errs {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}
