package trec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// RagasRow is one sample of a ragas data set: names as in ragas 0.2 and later; the older
// question, contexts, answer and ground_truth are read as well.
type RagasRow struct {
	UserInput           string   `json:"user_input"`
	RetrievedContexts   []string `json:"retrieved_contexts,omitempty"`
	RetrievedContextIDs []string `json:"retrieved_context_ids,omitempty"`
	ReferenceContexts   []string `json:"reference_contexts,omitempty"`
	ReferenceContextIDs []string `json:"reference_context_ids,omitempty"`
	Response            string   `json:"response,omitempty"`
	Reference           string   `json:"reference,omitempty"`
	Line                int      `json:"-"`
}

// ReadRagas reads ragas JSONL. A row without a question, a field of the wrong type and a null
// in a list are errors with their line; unknown fields are ignored, since ragas users add
// columns of their own.
func ReadRagas(file string, r io.Reader) ([]RagasRow, error) {
	l := newLines(file, r)
	var out []RagasRow
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(line)) == "" {
			continue
		}
		var row struct {
			UserInput   *string   `json:"user_input"`
			Question    *string   `json:"question"`
			Contexts    []*string `json:"retrieved_contexts"`
			OldContexts []*string `json:"contexts"`
			IDs         []any     `json:"retrieved_context_ids"`
			References  []*string `json:"reference_contexts"`
			RefIDs      []any     `json:"reference_context_ids"`
			Response    *string   `json:"response"`
			Answer      *string   `json:"answer"`
			Reference   *string   `json:"reference"`
			GroundTruth *string   `json:"ground_truth"`
		}
		dec := json.NewDecoder(strings.NewReader(string(line)))
		dec.UseNumber()
		if err := dec.Decode(&row); err != nil {
			return nil, l.fail("not a ragas row: %w", err)
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return nil, l.fail("more text after the end of the row")
		}
		q := RagasRow{UserInput: either(row.UserInput, row.Question), Response: either(row.Response, row.Answer),
			Reference: either(row.Reference, row.GroundTruth), Line: l.n}
		if strings.TrimSpace(q.UserInput) == "" {
			return nil, l.fail("user_input is missing")
		}
		var errs [4]error
		q.RetrievedContexts, errs[0] = noNulls("retrieved_contexts", append(row.Contexts, row.OldContexts...))
		q.ReferenceContexts, errs[1] = noNulls("reference_contexts", row.References)
		q.RetrievedContextIDs, errs[2] = idStrings("retrieved_context_ids", row.IDs)
		q.ReferenceContextIDs, errs[3] = idStrings("reference_context_ids", row.RefIDs)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, l.fail("%w", err)
		}
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no rows", file)
	}
	return out, nil
}

func either(a, b *string) string {
	switch {
	case a != nil:
		return *a
	case b != nil:
		return *b
	}
	return ""
}

func noNulls(what string, in []*string) ([]string, error) {
	var out []string
	for i, s := range in {
		if s == nil {
			return nil, fmt.Errorf("%s: entry %d is null", what, i+1)
		}
		out = append(out, *s)
	}
	return out, nil
}

// idStrings reads ids, which ragas allows to be text or whole numbers.
func idStrings(what string, in []any) ([]string, error) {
	var out []string
	for i, v := range in {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, v.String())
		default:
			return nil, fmt.Errorf("%s: entry %d is neither text nor a number", what, i+1)
		}
	}
	return out, nil
}

// WriteRagas writes rows as ragas JSONL.
func WriteRagas(w io.Writer, rows []RagasRow) error { return writeJSONL(w, rows) }
