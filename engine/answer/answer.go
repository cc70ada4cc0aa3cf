package answer

import (
	"context"
	"time"

	"github.com/seed792a4543/assay/index"
)

// Passage is one piece of context as an answerer is shown it.
type Passage struct {
	Marker int       `json:"marker"` // from 1, dense, in the order shown
	Hit    index.Hit `json:"hit"`
	Text   string    `json:"text"` // exactly what is delivered: Hit.Text, or more after a merge of neighbours
}

// Request is a question with its context.
type Request struct {
	ID       string    // of the question, for messages; may be empty
	Question string    // as the user asked it
	Passages []Passage // in the order shown
	Seed     int64     // for models that take one; repeats of a question differ in it
	// Stream, if set, is handed the answer's text as it arrives, from one goroutine and before
	// Answer returns; an answerer need not call it. The returned Answer counts: its text mostly
	// begins with the pieces joined, but a call that was repeated may have come out differently.
	Stream func(piece string)
}

// Usage counts what an answer cost.
type Usage struct {
	Requests         int           `json:"requests,omitempty"` // calls that were sent
	Retries          int           `json:"retries,omitempty"`  // of them, repeats after a failure
	PromptTokens     int           `json:"prompt_tokens,omitempty"`
	CompletionTokens int           `json:"completion_tokens,omitempty"`
	Cost             float64       `json:"cost,omitempty"` // in the currency of ChatOptions.Price; 0 if unknown
	Latency          time.Duration `json:"-"`              // of the whole call; kept out of records, which hold no clocks
}

// Answer is what an answerer said.
type Answer struct {
	Text           string            `json:"text"`                    // without reasoning; holds the citation markers
	Refused        bool              `json:"refused"`                 // the answerer says that the context holds no answer
	RefusedField   bool              `json:"refused_field,omitempty"` // Refused was said by an explicit field, not concluded
	Citations      []int             `json:"citations"`               // markers in order of the text, with repeats, also those never shown
	Model          string            `json:"model"`
	PromptRevision string            `json:"prompt_revision,omitempty"` // digest of the prompt files
	Raw            string            `json:"raw,omitempty"`             // what came back, verbatim
	Thinking       string            `json:"thinking,omitempty"`        // reasoning taken out of it
	Structured     bool              `json:"structured,omitempty"`      // the reply had the requested JSON form
	Confidence     float64           `json:"confidence,omitempty"`      // extractive only: score compared with the threshold, in [0,1]
	Usage          Usage             `json:"usage"`
	Notes          []string          `json:"notes,omitempty"`    // that the prompt or the reply was cut
	Settings       map[string]string `json:"settings,omitempty"` // what was sent, not what was meant
}

// Fingerprint names everything about an answerer that can change its answers.
type Fingerprint struct {
	Kind           string            `json:"kind"` // extractive or chat
	Model          string            `json:"model"`
	PromptRevision string            `json:"prompt_revision,omitempty"`
	Settings       map[string]string `json:"settings,omitempty"`
}

// Answerer answers a question from passages.
//
// Answer returns an error only if no answer could be had; a refusal is an answer. It returns
// ctx.Err() when the context is cancelled, never a short answer with a nil error. It changes
// nothing of the request and is safe for concurrent use. Fingerprint is constant.
type Answerer interface {
	Answer(ctx context.Context, r Request) (Answer, error)
	Fingerprint() Fingerprint
}
