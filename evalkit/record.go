package evalkit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/internal/disk"
)

// RecordSchema is the schema key of a record.
const RecordSchema = "assay.record/v1"

// The files of a record's folder.
const (
	RecordFile    = "record.json"
	QuestionsFile = "questions.jsonl"
	TimesFile     = "times.json" // not deterministic, and in no digest
)

// ErrRecord says that a record was edited or damaged after it was written: evaluate again.
var ErrRecord = errors.New("record does not match its digest")

// Record is everything about one run but its times: what was scored, with which settings, and
// what came out. Its encoding is the same bytes for the same inputs and seed.
type Record struct {
	Schema string `json:"schema"`
	Run    string `json:"run"` // id: the first 12 hex digits of the digest of all below, unless the caller gave one
	// Code is the revision of the program that made the run.
	Code string `json:"code,omitempty"`
	// Settings are all settings as key and value, so that two records can be compared by key.
	Settings map[string]string `json:"settings,omitempty"`
	// Documents are the versions of the documents searched, sorted by id.
	Documents []DocumentVersion `json:"documents,omitempty"`
	// ContextCutoff is how many hits the answerer was shown; 0 without answers.
	ContextCutoff  int               `json:"context_cutoff,omitempty"`
	PromptRevision string            `json:"prompt_revision,omitempty"`
	Models         map[string]string `json:"models,omitempty"`     // role (embedder, generator, judge) → model id
	Generation     map[string]string `json:"generation,omitempty"` // settings of the generator
	RubricDigest   string            `json:"rubric_digest,omitempty"`
	PolicyDigest   string            `json:"policy_digest,omitempty"`
	Environment    map[string]string `json:"environment,omitempty"` // GOOS, GOARCH, Go version; no host, no path
	Requests       Requests          `json:"requests"`
	Cost           Cost              `json:"cost"`
	// Manifest is the digest of the build's manifest, which pins every byte of the build.
	Manifest string `json:"manifest,omitempty"`
	// Live and Reference are the builds the verdict of this run compares with.
	Live      string   `json:"live,omitempty"`
	Reference string   `json:"reference,omitempty"`
	Warnings  []string `json:"warnings,omitempty"` // of the preflight
	// Evaluation has its questions in QuestionsFile when stored.
	Evaluation *Evaluation `json:"evaluation"`
	// QuestionsDigest is the SHA-256 of QuestionsFile.
	QuestionsDigest string `json:"questions_digest"`
	// Digest is the SHA-256 of this encoding with an empty digest.
	Digest string `json:"digest"`

	Questions []QuestionRecord `json:"-"` // in golden order
}

// DocumentVersion pins one document.
type DocumentVersion struct {
	ID      corpus.DocumentID `json:"id"`
	Version string            `json:"version"`
}

// Requests counts calls to models and servers.
type Requests struct {
	Total    int `json:"total"`
	Retries  int `json:"retries"`
	Failures int `json:"failures"`
}

// Cost is what the run used, n/a where it is not known.
type Cost struct {
	TokensIn  Value  `json:"tokens_in"`
	TokensOut Value  `json:"tokens_out"`
	Money     Value  `json:"money"`
	Currency  string `json:"currency,omitempty"`
}

// QuestionRecord is one line of QuestionsFile.
type QuestionRecord struct {
	QuestionResult
	Ranked []Hit           `json:"ranked"` // without texts: the documents hold them
	Answer json.RawMessage `json:"answer,omitempty"`
}

// Times are the clock readings of a run. They live in a file of their own, because they differ
// between two runs of the same inputs.
type Times struct {
	Schema    string                   `json:"schema"`
	Run       string                   `json:"run"`
	Started   time.Time                `json:"started"`
	Finished  time.Time                `json:"finished"`
	P50       time.Duration            `json:"latency_p50_ns"`
	P95       time.Duration            `json:"latency_p95_ns"`
	Questions map[string]time.Duration `json:"latency_ns,omitempty"` // by question
	// Digest is the SHA-256 of this encoding with an empty digest.
	Digest string `json:"digest"`
}

// encode returns the bytes of TimesFile.
func (t Times) encode() ([]byte, error) {
	t.Digest = ""
	data, err := encodeJSON(&t)
	if err != nil {
		return nil, err
	}
	t.Digest = hexDigest(data)
	return encodeJSON(&t)
}

// TimesSchema is the schema key of Times.
const TimesSchema = "assay.times/v1"

// NewTimes returns the times of a run with the percentiles of the latencies: the smallest
// latency that at least half, or 95 %, of the questions do not exceed.
func NewTimes(started, finished time.Time, latencies map[string]time.Duration) *Times {
	sorted := slices.Sorted(maps.Values(latencies))
	at := func(percent int) time.Duration {
		if len(sorted) == 0 {
			return 0
		}
		return sorted[(len(sorted)*percent+99)/100-1]
	}
	return &Times{Schema: TimesSchema, Started: started, Finished: finished, P50: at(50), P95: at(95), Questions: latencies}
}

// NewRecord returns the record of an evaluation and the run it scored. The caller fills in
// settings, models and the like before Write.
func NewRecord(e *Evaluation, run *Run) *Record {
	r := &Record{Schema: RecordSchema, Evaluation: e}
	hits := make(map[string][]Hit, len(run.Results))
	for i := range run.Results {
		list := slices.Clone(run.Results[i].Hits)
		slices.SortFunc(list, func(a, b Hit) int { return compareHits(&a, &b) })
		for k := range list {
			list[k].Text = ""
			list[k].Rank = k + 1
		}
		hits[run.Results[i].Question] = list
	}
	for _, q := range e.Questions {
		ranked := hits[q.ID]
		if ranked == nil {
			ranked = []Hit{}
		}
		r.Questions = append(r.Questions, QuestionRecord{QuestionResult: q, Ranked: ranked})
	}
	return r
}

// Encode returns the bytes of RecordFile and QuestionsFile and sets the digests, and the run id
// if it is empty.
func (r *Record) Encode() (record, questions []byte, err error) {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for i := range r.Questions {
		if err := enc.Encode(&r.Questions[i]); err != nil {
			return nil, nil, fmt.Errorf("record: question %s: %w", r.Questions[i].ID, err)
		}
	}
	r.QuestionsDigest = hexDigest(lines.Bytes())
	if r.Run == "" {
		digest, err := r.digest()
		if err != nil {
			return nil, nil, err
		}
		r.Run = digest[:12]
	}
	if r.Digest, err = r.digest(); err != nil {
		return nil, nil, err
	}
	record, err = r.encode(r.Digest)
	return record, lines.Bytes(), err
}

func (r *Record) digest() (string, error) {
	data, err := r.encode("")
	return hexDigest(data), err
}

func (r *Record) encode(digest string) ([]byte, error) {
	c := *r
	c.Digest = digest
	if r.Evaluation != nil {
		e := *r.Evaluation
		e.Questions = []QuestionResult{}
		c.Evaluation = &e
	}
	return encodeJSON(&c)
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Write puts the record, and the times unless they are nil, into the folder dir, which is made
// if it is missing. RecordFile comes last: a folder without it is unfinished.
func (r *Record) Write(fsys *disk.FS, dir string, times *Times) error {
	record, questions, err := r.Encode()
	if err != nil {
		return err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	if err := fsys.WriteFile(filepath.Join(dir, QuestionsFile), questions); err != nil {
		return err
	}
	if times != nil {
		t := *times
		t.Run = r.Run
		data, err := t.encode()
		if err != nil {
			return err
		}
		if err := fsys.WriteFile(filepath.Join(dir, TimesFile), data); err != nil {
			return err
		}
	}
	return fsys.WriteFile(filepath.Join(dir, RecordFile), record)
}

// ReadRecord reads the record in dir and checks its digests; one that was edited or damaged
// wraps ErrRecord and names the file. The evaluation has its questions again.
func ReadRecord(dir string) (*Record, error) {
	record, err := os.ReadFile(filepath.Join(dir, RecordFile))
	if err != nil {
		return nil, err
	}
	questions, err := os.ReadFile(filepath.Join(dir, QuestionsFile))
	if err != nil {
		return nil, err
	}
	r, err := DecodeRecord(record, questions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// DecodeRecord is ReadRecord on bytes.
func DecodeRecord(record, questions []byte) (*Record, error) {
	var r Record
	dec := json.NewDecoder(bytes.NewReader(record))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", RecordFile, ErrRecord, err)
	}
	if !strings.HasPrefix(r.Schema, "assay.record/v") {
		return nil, fmt.Errorf("%s: %w: schema %q is none of a record", RecordFile, ErrRecord, r.Schema)
	}
	if r.Schema != RecordSchema {
		return nil, fmt.Errorf("%s: schema %q is not known: this version reads %s", RecordFile, r.Schema, RecordSchema)
	}
	if r.Evaluation == nil {
		return nil, fmt.Errorf("%s: %w: no evaluation", RecordFile, ErrRecord)
	}
	again, err := r.digest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", RecordFile, ErrRecord, err)
	}
	if again != r.Digest {
		return nil, fmt.Errorf("%s: %w: it was edited: evaluate again", RecordFile, ErrRecord)
	}
	// The digest is of the content; blanks and the case of keys are part of the bytes alone.
	if exact, err := r.encode(r.Digest); err != nil || !bytes.Equal(exact, record) {
		return nil, fmt.Errorf("%s: %w: its bytes differ from what its content encodes to: evaluate again", RecordFile, ErrRecord)
	}
	if hexDigest(questions) != r.QuestionsDigest {
		return nil, fmt.Errorf("%s: %w: it was edited: evaluate again", QuestionsFile, ErrRecord)
	}
	rd := bufio.NewReader(bytes.NewReader(questions))
	for n := 1; ; n++ {
		line, err := rd.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var q QuestionRecord
			if err := json.Unmarshal(line, &q); err != nil {
				return nil, fmt.Errorf("%s:%d: %w: %w", QuestionsFile, n, ErrRecord, err)
			}
			r.Questions = append(r.Questions, q)
			r.Evaluation.Questions = append(r.Evaluation.Questions, q.QuestionResult)
		}
		if errors.Is(err, io.EOF) {
			return &r, nil
		}
	}
}

// ReadTimes reads the times in dir; a record without times wraps fs.ErrNotExist, edited or damaged
// ones wrap ErrRecord.
func ReadTimes(dir string) (*Times, error) {
	data, err := os.ReadFile(filepath.Join(dir, TimesFile))
	if err != nil {
		return nil, err
	}
	var t Times
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", filepath.Join(dir, TimesFile), ErrRecord, err)
	}
	if again, err := t.encode(); err != nil || !bytes.Equal(again, data) {
		return nil, fmt.Errorf("%s: %w: it was edited", filepath.Join(dir, TimesFile), ErrRecord)
	}
	return &t, nil
}

// Recompute computes every value and every aggregate again from the integer evidence of the
// questions and returns an error that names each one that differs, nil if none does.
func (r *Record) Recompute() error { return r.Evaluation.Recompute() }

// Recompute is Record.Recompute for an evaluation with its questions.
func (e *Evaluation) Recompute() error {
	var errs []error
	names := slices.Sorted(maps.Keys(e.Measures))
	measures := make([]measure.Measure, len(names))
	for i, name := range names {
		m, err := measure.Parse(name)
		if err != nil {
			return err
		}
		measures[i] = m
	}
	var s measure.Scorer
	again := make([]QuestionResult, len(e.Questions))
	for i := range e.Questions {
		q := e.Questions[i]
		if err := q.Evidence.Check(); err != nil {
			return fmt.Errorf("question %s: evidence: %w", q.ID, err)
		}
		values := make(map[string]Value, len(names))
		for k, m := range measures {
			values[names[k]] = s.Value(&q.Evidence, m)
			if values[names[k]] != q.Measures[names[k]] {
				errs = append(errs, fmt.Errorf("question %s: %s is %v, its evidence gives %v", q.ID, names[k], q.Measures[names[k]], values[names[k]]))
			}
		}
		if q.FirstRank != q.Evidence.FirstRank() {
			errs = append(errs, fmt.Errorf("question %s: first rank is %d, its evidence gives %d", q.ID, q.FirstRank, q.Evidence.FirstRank()))
		}
		q.Measures = values
		again[i] = q
	}
	all := make([]int, len(again))
	tags := map[string][]int{}
	for i := range again {
		all[i] = i
		for _, tag := range again[i].Slice {
			tags[tag] = append(tags[tag], i)
		}
	}
	errs = append(errs, compareSummaries("all", e.Measures, again, all, measures)...)
	for _, tag := range slices.Sorted(maps.Keys(e.Slices)) {
		errs = append(errs, compareSummaries("slice "+tag, e.Slices[tag].Measures, again, tags[tag], measures)...)
	}
	return errors.Join(errs...)
}

func compareSummaries(where string, stored map[string]*Summary, questions []QuestionResult, at []int, measures []measure.Measure) []error {
	var errs []error
	var values []float64
	for _, m := range measures {
		want := summarize(questions, at, m, &values)
		got := stored[m.String()]
		if got == nil {
			errs = append(errs, fmt.Errorf("%s: %s is missing", where, m))
			continue
		}
		plain := *got
		plain.CI, plain.CIMethod = nil, "" // drawn, not counted
		if plain != *want {
			errs = append(errs, fmt.Errorf("%s: %s is %+v, the evidence gives %+v", where, m, plain, *want))
		}
	}
	return errs
}
