package engine

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
)

// Names within a build's folder of evaluations. A record's own files are evalkit's.
const (
	evaluationsName = "evaluations"
	verdictName     = "verdict.json"
	liveRecordName  = "live" // record of the live build on the same questions
)

// VerdictInfo names a stored verdict.
type VerdictInfo struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	Digest  string `json:"digest"`
	Golden  string `json:"golden_digest"`
	Policy  string `json:"policy_digest"`
	// Time is when the run ended; zero if its clocks are lost.
	Time     time.Time `json:"time"`
	Split    string    `json:"split"`
	Rule     string    `json:"rule"`
	Mode     string    `json:"mode"`
	SelfTest string    `json:"self_test"`
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

func (s *store) recordDir(build, run string) string {
	return filepath.Join(s.buildDir(build), evaluationsName, run)
}

// storeRecord puts records, verdict and times into the build's folder, as one: they are written
// aside and renamed in. Of a run that is stored already only the verdict and the times can
// differ, and each of them is replaced at once, so that no moment is without them.
func (s *store) storeRecord(build string, rec, live *evalkit.Record, v *verdict.Verdict, t *evalkit.Times) error {
	final := s.recordDir(build, rec.Run)
	if _, old, err := s.readVerdict(build, rec.Run); err == nil && old.Digest == rec.Digest && s.checkLiveRecord(final, old) == nil {
		data, err := encode(v)
		if err != nil {
			return err
		}
		if err := s.fsys.WriteFile(filepath.Join(final, verdictName), data); err != nil {
			return err
		}
		return rec.Write(s.fsys, final, t)
	}
	parent := filepath.Join(s.buildDir(build), evaluationsName)
	tmp := filepath.Join(parent, fmt.Sprintf("%s%d", tempPrefix, os.Getpid()))
	err := s.fsys.RemoveAll(tmp)
	if err == nil {
		err = s.writeRecord(tmp, rec, live, v, t)
	}
	if err == nil {
		// What may stand there is damaged, and says nothing any more.
		err = s.fsys.RemoveAll(final)
	}
	if err != nil {
		return errors.Join(err, s.fsys.RemoveAll(tmp))
	}
	if err := s.fsys.Rename(tmp, final); err != nil {
		return err
	}
	return s.fsys.SyncDir(s.buildDir(build))
}

// checkLiveRecord confirms that the record of the live build that rec was compared with is in
// dir, as it was written.
func (s *store) checkLiveRecord(dir string, rec *evalkit.Record) error {
	if rec.Live == "" {
		return nil
	}
	dir = filepath.Join(dir, liveRecordName)
	live, err := evalkit.ReadRecord(dir)
	switch {
	case errors.Is(err, evalkit.ErrRecord):
		return damagedRecord(dir, err.Error())
	case err != nil:
		return missingRecord(err)
	case live.Evaluation.Build != rec.Live:
		return damagedRecord(dir, fmt.Sprintf("it is of build %s, not of %s", live.Evaluation.Build, rec.Live))
	}
	return nil
}

// checkRun reads everything that is stored of a run. rec is nil if the record is damaged.
func (s *store) checkRun(build, run string) (rec *evalkit.Record, errs []error) {
	_, rec, err := s.readVerdict(build, run)
	if err != nil {
		return nil, []error{err}
	}
	dir := s.recordDir(build, run)
	if err := s.checkLiveRecord(dir, rec); err != nil {
		errs = append(errs, err)
	}
	if t, err := evalkit.ReadTimes(dir); errors.Is(err, evalkit.ErrRecord) {
		errs = append(errs, damagedRecord(filepath.Join(dir, evalkit.TimesFile), err.Error()))
	} else if err != nil {
		errs = append(errs, missingRecord(err))
	} else if t.Run != run {
		errs = append(errs, damagedRecord(filepath.Join(dir, evalkit.TimesFile), "it is of run "+t.Run))
	}
	return rec, errs
}

func damagedRecord(path, reason string) error {
	return &index.CorruptError{File: path, Reason: reason, Repair: "evaluate the build again with `assay eval`, or delete the run's folder"}
}

func missingRecord(err error) error {
	var path *fs.PathError
	switch {
	case index.IsMissing(err):
		return damagedRecord(errPath(err), "file is missing")
	case errors.As(err, &path):
		return err
	}
	return fmt.Errorf("%w: %w", index.ErrFormat, err)
}

func (s *store) writeRecord(dir string, rec, live *evalkit.Record, v *verdict.Verdict, t *evalkit.Times) error {
	if err := rec.Write(s.fsys, dir, t); err != nil {
		return err
	}
	if live != nil {
		if err := live.Write(s.fsys, filepath.Join(dir, liveRecordName), nil); err != nil {
			return err
		}
	}
	data, err := encode(v)
	if err != nil {
		return err
	}
	return s.fsys.WriteFile(filepath.Join(dir, verdictName), data)
}

var runIDPattern = regexp.MustCompile(`^[0-9a-f]{12}$`)

// validRun refuses what is no run id, such as a path out of the store.
func validRun(run string) error {
	if !runIDPattern.MatchString(run) {
		return badInput("run %q is no run id: it has 12 hexadecimal digits", clip(run, 40))
	}
	return nil
}

// runs lists the ids of a build's records, oldest first.
func (s *store) runs(build string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.buildDir(build), evaluationsName))
	if index.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type dated struct {
		id string
		t  time.Time
	}
	var found []dated
	for _, e := range entries {
		if !e.IsDir() || !runIDPattern.MatchString(e.Name()) {
			continue
		}
		d := dated{id: e.Name()}
		if t, err := evalkit.ReadTimes(s.recordDir(build, e.Name())); err == nil {
			d.t = t.Finished
		}
		found = append(found, d)
	}
	slices.SortFunc(found, func(a, b dated) int { return cmp.Or(a.t.Compare(b.t), cmp.Compare(a.id, b.id)) })
	ids := make([]string, len(found))
	for i, d := range found {
		ids[i] = d.id
	}
	return ids, nil
}

// readVerdict reads a stored verdict and its record and confirms that both are as they were
// written and belong together.
func (s *store) readVerdict(build, run string) (*verdict.Verdict, *evalkit.Record, error) {
	dir := s.recordDir(build, run)
	path := filepath.Join(dir, verdictName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, missingRecord(err)
	}
	v, err := verdict.Decode(data)
	if err != nil {
		return nil, nil, damagedRecord(path, err.Error())
	}
	if again, err := encode(v); err != nil || !bytes.Equal(again, data) {
		return nil, nil, damagedRecord(path, "its bytes differ from what its content encodes to")
	}
	rec, err := evalkit.ReadRecord(dir)
	if errors.Is(err, evalkit.ErrRecord) {
		return nil, nil, damagedRecord(dir, err.Error())
	} else if err != nil {
		return nil, nil, missingRecord(err)
	}
	if v.RecordDigest != rec.Digest {
		return nil, nil, damagedRecord(path, "it is the verdict on another record")
	}
	if rec.Evaluation.Build != build || v.Build != build || rec.Run != run {
		return nil, nil, damagedRecord(dir, fmt.Sprintf("it belongs to build %s, run %s", v.Build, rec.Run))
	}
	return v, rec, nil
}

// recordOf returns the record behind a verdict.
func (s *store) recordOf(build string, v *verdict.Verdict) (*evalkit.Record, error) {
	ids, err := s.runs(build)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		have, rec, err := s.readVerdict(build, id)
		if err == nil && have.Digest == v.Digest {
			return rec, nil
		}
	}
	return nil, fmt.Errorf("%w: the store holds no record of the verdict on build %s: run `assay eval %s` again", ErrNotAccepted, build, build)
}

// verdicts lists the build's verdicts, oldest first; a damaged one is an error. What has been
// read is kept as long as its files stay as they were, because a record is large and a listing is
// asked for often.
func (e *Engine) verdicts(build string) ([]VerdictInfo, error) {
	ids, err := e.runs(build)
	if err != nil {
		return nil, err
	}
	var out []VerdictInfo
	for _, id := range ids {
		stamp := e.runStamp(build, id)
		if kept, ok := e.infos.Load(build + "/" + id); ok && stamp != "" && kept.(keptInfo).stamp == stamp {
			out = append(out, kept.(keptInfo).info)
			continue
		}
		info, err := e.verdictInfo(build, id)
		if err != nil {
			return out, err
		}
		e.infos.Store(build+"/"+id, keptInfo{stamp, info})
		out = append(out, info)
	}
	return out, nil
}

// keptInfo is a verdict's listing with the state of the files it was read from.
type keptInfo struct {
	stamp string
	info  VerdictInfo
}

// runStamp changes with each of a run's files; it is "" if one is missing.
func (s *store) runStamp(build, run string) string {
	stamp := ""
	for _, name := range []string{verdictName, evalkit.RecordFile, evalkit.QuestionsFile} {
		info, err := os.Stat(filepath.Join(s.recordDir(build, run), name))
		if err != nil {
			return ""
		}
		stamp += fmt.Sprintf("%d %d ", info.Size(), info.ModTime().UnixNano())
	}
	return stamp
}

func (s *store) verdictInfo(build, run string) (VerdictInfo, error) {
	v, rec, err := s.readVerdict(build, run)
	if err != nil {
		return VerdictInfo{}, err
	}
	info := VerdictInfo{
		Run: run, Verdict: string(v.Verdict), Digest: v.Digest, Golden: v.GoldenDigest, Policy: v.PolicyDigest,
		Split: rec.Evaluation.Split, Rule: rec.Evaluation.Rule, Mode: rec.Settings[evaluatedMode], SelfTest: v.SelfTest.Summary(),
	}
	if t, err := evalkit.ReadTimes(s.recordDir(build, run)); err == nil {
		info.Time = t.Finished
	}
	return info, nil
}

// Verdict returns the newest verdict on a build, or that of the named run.
func (e *Engine) Verdict(build, run string) (*verdict.Verdict, *evalkit.Record, error) {
	id, err := e.resolve(build)
	if err != nil {
		return nil, nil, err
	}
	if run == "" {
		ids, err := e.runs(id)
		if err != nil {
			return nil, nil, err
		}
		if len(ids) == 0 {
			return nil, nil, fmt.Errorf("%w: build %s has no verdict: run `assay eval %s`", ErrNotAccepted, id, id)
		}
		run = ids[len(ids)-1]
	}
	if err := validRun(run); err != nil {
		return nil, nil, err
	}
	return e.readVerdict(id, run)
}

// LiveRecord reads what the live build of that time returned for the questions of a run; nil
// if there was none.
func (e *Engine) LiveRecord(build, run string) (*evalkit.Record, error) {
	id, err := e.resolve(build)
	if err != nil {
		return nil, err
	}
	if err := validRun(run); err != nil {
		return nil, err
	}
	rec, err := evalkit.ReadRecord(filepath.Join(e.recordDir(id, run), liveRecordName))
	if index.IsMissing(err) {
		return nil, nil
	}
	return rec, err
}

// TimesOf reads the clocks of a stored run; one without them wraps fs.ErrNotExist.
func (e *Engine) TimesOf(build, run string) (*evalkit.Times, error) {
	id, err := e.resolve(build)
	if err != nil {
		return nil, err
	}
	if err := validRun(run); err != nil {
		return nil, err
	}
	return evalkit.ReadTimes(e.recordDir(id, run))
}

// Version is the program's version as the Go tool recorded it: a module version, or the
// revision it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, modified := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && (v == "" || v == "(devel)"):
			v = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changed"
		}
	}
	if v == "" {
		v = "(devel)"
	}
	if modified != "" && len(v) == 12 {
		v += modified
	}
	return v
}

func documentVersions(r *reader) map[string]string {
	out := make(map[string]string, r.ndocs)
	for i := range r.ndocs {
		out[string(docIDOf(r, i))] = hex.EncodeToString(r.doc(i)[48:80])
	}
	return out
}
