package answer

import (
	"github.com/seed792a4543/assay/corpus"
)

// Delivered is one passage as the answerer was shown it.
type Delivered struct {
	Marker   int               `json:"marker"` // from 1
	Chunk    corpus.ChunkID    `json:"chunk"`
	Doc      corpus.DocumentID `json:"doc"`
	Section  string            `json:"section"`
	Sections []string          `json:"sections,omitempty"` // further sections that begin inside
	Span     corpus.Span       `json:"span"`               // of the document; zero if unknown
	Score    float64           `json:"score"`
	Text     string            `json:"text"` // verbatim
}

// Record is one answer as it was recorded: what was shown, what came back, and what was read
// from it. Times are kept elsewhere.
type Record struct {
	Question string `json:"question"` // id
	Repeat   int    `json:"repeat"`   // from 0
	// Asked is the question's text as the answerer saw it; "" stands for the golden set's.
	Asked    string      `json:"asked,omitempty"`
	Passages []Delivered `json:"passages"`
	Answer   string      `json:"answer"` // without reasoning
	// Refused is the explicit field of the reply, nil if it had none.
	Refused *bool `json:"refused,omitempty"`
	// Confidence is what the answerer says of its answer, in [0,1]; nil if it says nothing.
	Confidence *float64 `json:"confidence,omitempty"`
	// Citations are the markers in order; nil reads them from Answer.
	Citations      []int             `json:"citations,omitempty"`
	Model          string            `json:"model,omitempty"`
	PromptRevision string            `json:"prompt_revision,omitempty"`
	Settings       map[string]string `json:"settings,omitempty"`
	Raw            string            `json:"raw,omitempty"`
	Thinking       string            `json:"thinking,omitempty"`
	Notes          []string          `json:"notes,omitempty"`         // what is wrong with the exchange although there is an answer, such as a cut prompt
	Error          string            `json:"error,omitempty"`         // the answerer failed; the question stays in every denominator
	Harness        string            `json:"harness_error,omitempty"` // grading or retrieval failed: the result is incomplete
	Usage          Usage             `json:"usage"`
}

// Usage counts what an answer cost.
type Usage struct {
	Requests         int     `json:"requests,omitempty"`
	Retries          int     `json:"retries,omitempty"`
	PromptTokens     int     `json:"prompt_tokens,omitempty"`
	CompletionTokens int     `json:"completion_tokens,omitempty"`
	Cost             float64 `json:"cost,omitempty"`
}

// Context returns the text of the passages delivered, which is all the number rule may look at.
func (r *Record) Context() string {
	n := 0
	for i := range r.Passages {
		n += len(r.Passages[i].Text) + 2
	}
	b := make([]byte, 0, n)
	for i := range r.Passages {
		b = append(b, r.Passages[i].Text...)
		b = append(b, "\n\n"...)
	}
	return string(b)
}
