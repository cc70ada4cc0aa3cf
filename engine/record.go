package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
)

// Names within a build's folder of evaluations.
const (
	evaluationsName = "evaluations"
	recordName      = "record.json"
	runName         = "run.jsonl"
	verdictName     = "verdict.json"
	timesName       = "times.json"
)

// RecordSchema is the schema key of a Record.
const RecordSchema = "assay.record/v1"

// Record is what one validation was made of and what it measured. The same inputs and seed
// give the same bytes; clocks are in Times.
type Record struct {
	Schema      string              `json:"schema"`
	Run         string              `json:"run"` // id: 12 hex digits of the digest of everything that was compared
	Build       string              `json:"build"`
	Manifest    string              `json:"manifest"` // digest of the build's manifest
	Corpus      string              `json:"corpus"`   // digest
	Versions    map[string]string   `json:"versions"` // document id to version
	Settings    map[string]string   `json:"settings"`
	Embedder    *index.Fingerprint  `json:"embedder,omitempty"`
	Golden      evalkit.GoldenRef   `json:"golden"`
	Policy      json.RawMessage     `json:"policy"`
	PolicyHash  string              `json:"policy_digest"`
	Live        string              `json:"live,omitempty"`
	Reference   string              `json:"reference,omitempty"`
	Differences []string            `json:"differences,omitempty"` // settings in which candidate and live differ
	Integrity   []string            `json:"integrity"`             // what the integrity checks found
	RunHash     string              `json:"run_digest"`            // SHA-256 of run.jsonl
	Evaluation  *evalkit.Evaluation `json:"evaluation"`
	LiveResult  *evalkit.Evaluation `json:"live_evaluation,omitempty"`
	Warnings    []string            `json:"warnings,omitempty"` // of the preflight
}

// Times are the clocks of a run; they are in no digest.
type Times struct {
	Time    time.Time     `json:"time"`
	Program string        `json:"program"`
	Go      string        `json:"go"`
	System  string        `json:"system"`
	P50     time.Duration `json:"latency_p50_ns"`
	P95     time.Duration `json:"latency_p95_ns"`
	Queries int           `json:"queries"`
}

// VerdictInfo names a stored verdict.
type VerdictInfo struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	Digest  string `json:"digest"`
	Golden  string `json:"golden_digest"`
	Policy  string `json:"policy_digest"`
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// encodeRun writes one result a line.
func encodeRun(run *evalkit.Run) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range run.Results {
		if err := enc.Encode(&run.Results[i]); err != nil {
			return nil, fmt.Errorf("question %s: %w", run.Results[i].Question, err)
		}
	}
	return b.Bytes(), nil
}

func decodeRun(data []byte) ([]evalkit.Result, error) {
	var out []evalkit.Result
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var r evalkit.Result
		if err := dec.Decode(&r); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
}

func (s *store) recordDir(build, run string) string {
	return filepath.Join(s.buildDir(build), evaluationsName, run)
}

// storeRecord puts record, run, verdict and times into the build's folder, as one: they are
// written aside and renamed in. An existing record of the same run is replaced, since only its
// clocks can differ.
func (s *store) storeRecord(rec *Record, run []byte, v *verdict.Verdict, t Times) error {
	parent := filepath.Join(s.buildDir(rec.Build), evaluationsName)
	tmp := filepath.Join(parent, fmt.Sprintf("%s%d", tempPrefix, os.Getpid()))
	if err := s.fsys.MkdirAll(tmp); err != nil {
		return err
	}
	write := func(name string, v any) error {
		data, err := encode(v)
		if err != nil {
			return err
		}
		return s.fsys.WriteFile(filepath.Join(tmp, name), data)
	}
	err := errors.Join(
		write(recordName, rec), write(verdictName, v), write(timesName, t),
		s.fsys.WriteFile(filepath.Join(tmp, runName), run),
	)
	if err != nil {
		return errors.Join(err, s.fsys.RemoveAll(tmp))
	}
	final := s.recordDir(rec.Build, rec.Run)
	if _, err := os.Stat(final); err == nil {
		old := filepath.Join(parent, tempPrefix+"old-"+rec.Run)
		if err := errors.Join(s.fsys.RemoveAll(old), s.fsys.Rename(final, old), s.fsys.Rename(tmp, final)); err != nil {
			return err
		}
		return s.fsys.RemoveAll(old)
	}
	if err := s.fsys.Rename(tmp, final); err != nil {
		return err
	}
	return s.fsys.SyncDir(s.buildDir(rec.Build))
}

var runIDPattern = regexp.MustCompile(`^[0-9a-f]{12}$`)

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
		var t Times
		if data, err := os.ReadFile(filepath.Join(s.recordDir(build, e.Name()), timesName)); err == nil && json.Unmarshal(data, &t) == nil {
			d.t = t.Time
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
func (s *store) readVerdict(build, run string) (*verdict.Verdict, *Record, error) {
	dir := s.recordDir(build, run)
	data, err := os.ReadFile(filepath.Join(dir, verdictName))
	if err != nil {
		return nil, nil, missingIsCorrupt(err)
	}
	v, err := verdict.Decode(data)
	if err != nil {
		return nil, nil, &index.CorruptError{File: filepath.Join(dir, verdictName), Reason: err.Error()}
	}
	recData, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return nil, nil, missingIsCorrupt(err)
	}
	bad := func(name, format string, args ...any) error {
		return &index.CorruptError{File: filepath.Join(dir, name), Reason: fmt.Sprintf(format, args...)}
	}
	if hexDigest(recData) != v.RecordDigest {
		return nil, nil, bad(recordName, "its digest is not the one in the verdict")
	}
	rec := new(Record)
	if err := json.Unmarshal(recData, rec); err != nil {
		return nil, nil, bad(recordName, "%v", err)
	}
	if rec.Build != build || v.Build != build || rec.Run != run {
		return nil, nil, bad(recordName, "it belongs to build %s, run %s", rec.Build, rec.Run)
	}
	runData, err := os.ReadFile(filepath.Join(dir, runName))
	if err != nil {
		return nil, nil, missingIsCorrupt(err)
	}
	if hexDigest(runData) != rec.RunHash {
		return nil, nil, bad(runName, "its digest is not the one in the record")
	}
	return v, rec, nil
}

// recordOf returns the record behind a verdict.
func (s *store) recordOf(build string, v *verdict.Verdict) (*Record, error) {
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

// verdicts lists the build's verdicts, oldest first; a damaged one is an error.
func (s *store) verdicts(build string) ([]VerdictInfo, error) {
	ids, err := s.runs(build)
	if err != nil {
		return nil, err
	}
	var out []VerdictInfo
	for _, id := range ids {
		v, _, err := s.readVerdict(build, id)
		if err != nil {
			return out, err
		}
		out = append(out, VerdictInfo{id, string(v.Verdict), v.Digest, v.GoldenDigest, v.PolicyDigest})
	}
	return out, nil
}

// Verdict returns the newest verdict on a build, or that of the named run.
func (e *Engine) Verdict(build, run string) (*verdict.Verdict, *Record, error) {
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
	return e.readVerdict(id, run)
}

// RunOf reads the ranked lists of a stored run.
func (e *Engine) RunOf(build, run string) (*evalkit.Run, error) {
	id, err := e.resolve(build)
	if err != nil {
		return nil, err
	}
	if _, _, err := e.readVerdict(id, run); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(e.recordDir(id, run), runName))
	if err != nil {
		return nil, err
	}
	results, err := decodeRun(data)
	return &evalkit.Run{Tag: id, Build: id, Results: results}, err
}

// TimesOf reads the clocks of a stored run; they are zero if the file is missing.
func (e *Engine) TimesOf(build, run string) (Times, error) {
	id, err := e.resolve(build)
	if err != nil {
		return Times{}, err
	}
	var t Times
	data, err := os.ReadFile(filepath.Join(e.recordDir(id, run), timesName))
	if index.IsMissing(err) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	return t, err
}

// times sums up the latencies of one evaluation.
func (e *Engine) times(latencies []time.Duration) Times {
	return Times{
		Time: e.o.Now().UTC(), Program: Version(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		P50: quantile(latencies, 0.50), P95: quantile(latencies, 0.95), Queries: len(latencies),
	}
}

// quantile is the nearest-rank quantile, 0 without values.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[min(int(q*float64(len(s))), len(s)-1)]
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

// runID identifies what a validation compares.
func runID(parts ...any) (string, error) {
	data, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	return hexDigest(data)[:12], nil
}

func documentVersions(r *reader) map[string]string {
	out := make(map[string]string, r.ndocs)
	for i := range r.ndocs {
		out[string(docIDOf(r, i))] = hex.EncodeToString(r.doc(i)[48:80])
	}
	return out
}

func goldenRef(s *golden.Set) evalkit.GoldenRef {
	return evalkit.GoldenRef{Name: s.Name, Version: s.Version, Digest: s.Digest()}
}
