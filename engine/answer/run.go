package answer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/seed792a4543/assay/corpus"
	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/disk"
)

// Job is one question to be answered.
type Job struct {
	Question string      // id
	Text     string      // as asked
	Hits     []index.Hit // as the search returned them, allowed to the caller
	Usage    Usage       // what a model took before, for the search; it is added to the first answer's
	// Err is a failure before the answerer was asked, such as that of the search; the record
	// then counts as harness error.
	Err error
}

// RunOptions configure RunAll. The zero value is valid.
type RunOptions struct {
	Concurrency int // jobs at a time; 0 means 1
	Repeat      int // answers to each question; 0 means 1. The seed of a request is its number.
	Deliver     DeliverOptions
	// Resume is a file of finished answers, one JSON object a line; "" keeps none. Answers in it
	// are used again if question, passages, repeat and answerer are the same, and are not paid
	// for twice; failures are tried again. Every finished answer is written through to the disk
	// before the next one counts as done.
	Resume string
	FS     *disk.FS // for tests; nil is the plain file system
	// Progress is told of every finished answer; calls do not overlap.
	Progress func(Progress)
}

// Progress is the state of a run.
type Progress struct {
	Done, Total, Failed, Reused int
	Usage                       Usage
}

// RunAll answers all jobs and returns one record for each job and repeat, in the order of jobs,
// then repeats, whatever the concurrency. A failed answer is a record with Error and does not
// stop the run. The error is of the context or of the resume file; the records finished until
// then are in the file, and a further call goes on from there.
func RunAll(ctx context.Context, jobs []Job, a Answerer, o RunOptions) ([]evalanswer.Record, error) {
	o.Repeat, o.Concurrency = max(o.Repeat, 1), max(o.Concurrency, 1)
	finger, err := json.Marshal(a.Fingerprint())
	if err != nil {
		return nil, fmt.Errorf("answers: fingerprint: %w", err)
	}
	kept, err := OpenJournal[evalanswer.Record](o.FS, o.Resume)
	if err != nil {
		return nil, err
	}
	defer kept.Close() //nolint:errcheck // every line was synced
	r := &runner{a: a, o: o, finger: finger, kept: kept, records: make([]evalanswer.Record, len(jobs)*o.Repeat)}
	r.progress.Total = len(r.records)
	next := make(chan int)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range min(o.Concurrency, max(len(r.records), 1)) {
		wg.Go(func() {
			for i := range next {
				if err := r.one(ctx, i, jobs[i/o.Repeat], i%o.Repeat); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for i := range r.records {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r.records, nil
}

type runner struct {
	a       Answerer
	o       RunOptions
	finger  []byte
	kept    *Journal[evalanswer.Record]
	records []evalanswer.Record // each slot is filled by one goroutine

	mu       sync.Mutex
	progress Progress
}

func (r *runner) one(ctx context.Context, slot int, job Job, repeat int) error {
	passages := Deliver(job.Hits, r.o.Deliver)
	key := r.key(job, passages, repeat)
	if rec, ok := r.kept.Get(key); ok {
		r.records[slot] = rec
		r.finished(rec, true)
		return nil
	}
	rec := evalanswer.Record{Question: job.Question, Repeat: repeat, Asked: job.Text, Passages: delivered(passages)}
	if job.Err != nil {
		rec.Harness = job.Err.Error()
		if repeat == 0 {
			addUsage(&rec.Usage, job.Usage)
		}
		r.records[slot] = rec
		r.finished(rec, false)
		return nil
	}
	ans, err := r.a.Answer(ctx, Request{ID: job.Question, Question: job.Text, Passages: passages, Seed: int64(repeat)})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	Fill(&rec, ans)
	if repeat == 0 {
		addUsage(&rec.Usage, job.Usage)
	}
	if err != nil {
		rec.Error = err.Error()
		if rec.Error == "" {
			rec.Error = "failed without a message"
		}
	}
	r.records[slot] = rec
	if err == nil {
		if err := r.kept.Put(key, rec); err != nil {
			return fmt.Errorf("answers: keep the answer to %s: %w", rec.Question, err)
		}
	}
	r.finished(rec, false)
	return nil
}

func addUsage(to *evalanswer.Usage, u Usage) {
	to.Requests += u.Requests
	to.Retries += u.Retries
	to.PromptTokens += u.PromptTokens
	to.CompletionTokens += u.CompletionTokens
	to.Cost += u.Cost
}

// finished reports progress.
func (r *runner) finished(rec evalanswer.Record, reused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.progress
	p.Done++
	if reused {
		p.Reused++
	} else {
		p.Usage.Requests += rec.Usage.Requests
		p.Usage.Retries += rec.Usage.Retries
		p.Usage.PromptTokens += rec.Usage.PromptTokens
		p.Usage.CompletionTokens += rec.Usage.CompletionTokens
		p.Usage.Cost += rec.Usage.Cost
	}
	if rec.Error != "" || rec.Harness != "" {
		p.Failed++
	}
	if r.o.Progress != nil {
		r.o.Progress(*p)
	}
}

// key names what an answer depends on.
func (r *runner) key(job Job, passages []Passage, repeat int) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	part(string(r.finger))
	part(job.Question)
	part(job.Text)
	part(fmt.Sprint(repeat))
	for i := range passages {
		p := &passages[i]
		part(string(p.Hit.Chunk))
		part(p.Hit.DocVersion)
		part(p.Text)
		// The extractive answerer looks at scores, so they are part of its input.
		part(fmt.Sprintf("%x %v %v", p.Hit.Score, component(p.Hit.Vector), component(p.Hit.Lexical)))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func component(c *index.Component) string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("%d %x", c.Rank, c.Score)
}

// delivered returns passages in the form of records.
func delivered(passages []Passage) []evalanswer.Delivered {
	out := make([]evalanswer.Delivered, len(passages))
	for i := range passages {
		p := &passages[i]
		out[i] = evalanswer.Delivered{Marker: p.Marker, Chunk: p.Hit.Chunk, Doc: p.Hit.Doc, Section: p.Hit.Section, Sections: p.Hit.Sections,
			Span: corpus.Span{Start: p.Hit.Start, End: p.Hit.End}, Score: p.Hit.Score, Text: p.Text}
	}
	return out
}

// NewRecord returns the record of one answer, for grading.
func NewRecord(r Request, a Answer) evalanswer.Record {
	rec := evalanswer.Record{Question: r.ID, Asked: r.Question, Passages: delivered(r.Passages)}
	Fill(&rec, a)
	return rec
}

// Fill copies an answer into a record.
func Fill(rec *evalanswer.Record, a Answer) {
	rec.Answer, rec.Citations = a.Text, a.Citations
	if a.RefusedField {
		rec.Refused = new(a.Refused)
	}
	if a.Model == extractiveRevision {
		rec.Confidence = new(a.Confidence)
	}
	rec.Model, rec.PromptRevision, rec.Settings = a.Model, a.PromptRevision, a.Settings
	rec.Raw, rec.Thinking, rec.Notes = a.Raw, a.Thinking, a.Notes
	rec.Usage = evalanswer.Usage{}
	addUsage(&rec.Usage, a.Usage)
}
