package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Review is a person's verdict on one case: on one line of the table for one recorded answer.
type Review struct {
	Question string `json:"question"`
	Line     string `json:"line"`   // key of the line, such as facts
	Answer   string `json:"answer"` // AnswerDigest of the text that was read
	Pass     bool   `json:"pass"`   // what the case counts as; for a line of faults true means a fault
	By       string `json:"by"`
	Reason   string `json:"reason"`
}

// Reviews is a review file. It lies in the repository beside the golden set.
type Reviews struct {
	Schema  string   `json:"schema"` // assay.reviews/v1
	Reviews []Review `json:"reviews"`
}

// ReviewSchema is the value of Reviews.Schema.
const ReviewSchema = "assay.reviews/v1"

// AnswerDigest names an answer's text in a review: a verdict on one text says nothing of
// another.
func AnswerDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// ParseReviews reads a review file strictly: unknown fields, missing reasons and two verdicts
// on one case are errors.
func ParseReviews(data []byte) (*Reviews, error) {
	var r Reviews
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("reviews: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("reviews: something follows the document: keep one object in the file")
	}
	if r.Schema != ReviewSchema {
		return nil, fmt.Errorf("reviews: schema is %q, this version reads %q", r.Schema, ReviewSchema)
	}
	seen := map[[3]string]int{}
	for i, v := range r.Reviews {
		if v.Question == "" || v.Line == "" || v.Answer == "" || v.By == "" || v.Reason == "" {
			return nil, fmt.Errorf("reviews: entry %d: question, line, answer, by and reason are required", i+1)
		}
		key := [3]string{v.Question, v.Line, v.Answer}
		if j, ok := seen[key]; ok {
			return nil, fmt.Errorf("reviews: entries %d and %d judge the same case: keep one", j, i+1)
		}
		seen[key] = i + 1
	}
	return &r, nil
}

// Encode returns the file, sorted by question, line and answer.
func (r *Reviews) Encode() ([]byte, error) {
	out := Reviews{Schema: ReviewSchema, Reviews: slices.Clone(r.Reviews)}
	slices.SortFunc(out.Reviews, func(a, b Review) int {
		return bytes.Compare([]byte(a.Question+"\x00"+a.Line+"\x00"+a.Answer), []byte(b.Question+"\x00"+b.Line+"\x00"+b.Answer))
	})
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("reviews: %w", err)
	}
	return append(data, '\n'), nil
}

func (r *Reviews) find(question, line, digest string) *Review {
	if r == nil {
		return nil
	}
	for i := range r.Reviews {
		v := &r.Reviews[i]
		if v.Question == question && v.Line == line && v.Answer == digest {
			return v
		}
	}
	return nil
}
