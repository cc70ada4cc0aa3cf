package evalkit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// RunSchema is the schema key of a run file's optional first line.
const RunSchema = "assay.run/v1"

// maxRunLine bounds one line of a run file: the hits of one question, texts included.
const maxRunLine = 64 << 20

type runHeader struct {
	Schema string `json:"schema"`
	Tag    string `json:"tag"`
	Build  string `json:"build,omitempty"`
}

// ReadRun reads a run file: JSONL with one Result a line, best hit first or numbered by rank;
// an optional first line holds schema, tag and build. file stands in messages. Unknown keys, a
// repeated question or chunk, and a score that is missing or no finite number are errors with
// their line. It is how a system that assay does not run is evaluated with sections and spans;
// for TREC files see package trec.
func ReadRun(file string, r io.Reader) (*Run, error) {
	run := &Run{}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxRunLine)
	first := map[string]int{}
	n := 0
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d: %w", file, n, fmt.Errorf(format, args...))
	}
	for sc.Scan() {
		n++
		line := bytes.TrimSpace(bytes.TrimPrefix(sc.Bytes(), []byte("\xef\xbb\xbf")))
		if len(line) == 0 {
			continue
		}
		if n == 1 && bytes.Contains(line, []byte(`"schema"`)) {
			var h runHeader
			if err := strictJSON(line, &h); err != nil {
				return nil, fail("not the first line of a run: %w", err)
			}
			if h.Schema != RunSchema {
				return nil, fail("schema %q is not known: this version reads %s", h.Schema, RunSchema)
			}
			run.Tag, run.Build = h.Tag, h.Build
			continue
		}
		res, err := parseResult(line)
		if err != nil {
			return nil, fail("%w", err)
		}
		if at := first[res.Question]; at > 0 {
			return nil, fail("question %q again (first in line %d)", res.Question, at)
		}
		first[res.Question] = n
		run.Results = append(run.Results, res)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
	}
	return run, nil
}

func strictJSON(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more text after the end of the line's value")
	}
	return nil
}

func parseResult(line []byte) (Result, error) {
	// A missing score would read as 0 and turn the list into one tie.
	var raw struct {
		Question string `json:"question"`
		Err      string `json:"error"`
		Hits     []struct {
			Hit
			Score *float64 `json:"score"`
		} `json:"hits"`
	}
	if err := strictJSON(line, &raw); err != nil {
		return Result{}, fmt.Errorf("not a result: %w", err)
	}
	if raw.Question == "" {
		return Result{}, errors.New("question is missing")
	}
	res := Result{Question: raw.Question, Err: raw.Err, Hits: make([]Hit, 0, len(raw.Hits))}
	seen := make(map[string]bool, len(raw.Hits))
	for i := range raw.Hits {
		h := raw.Hits[i].Hit
		switch {
		case h.Chunk == "" || h.Doc == "":
			return Result{}, fmt.Errorf("question %s: hit %d has no chunk or no doc", res.Question, i+1)
		case raw.Hits[i].Score == nil:
			return Result{}, fmt.Errorf("question %s: hit %d, chunk %q, has no score", res.Question, i+1, h.Chunk)
		case seen[string(h.Chunk)]:
			return Result{}, fmt.Errorf("question %s: chunk %q is returned twice", res.Question, h.Chunk)
		}
		seen[string(h.Chunk)] = true
		h.Score = *raw.Hits[i].Score
		res.Hits = append(res.Hits, h)
	}
	return res, nil
}

// WriteRun writes a run as ReadRun reads it; Chunks are left out.
func WriteRun(w io.Writer, run *Run) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(runHeader{RunSchema, run.Tag, run.Build}); err != nil {
		return err
	}
	for i := range run.Results {
		r := run.Results[i]
		if r.Hits == nil {
			r.Hits = []Hit{}
		}
		if err := enc.Encode(&r); err != nil {
			return fmt.Errorf("question %s: %w", r.Question, err)
		}
	}
	return b.Flush()
}
