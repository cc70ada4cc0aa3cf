package openai

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Options say where the server is and how to treat it. URL and Model are required; the zero
// value of every other field works.
type Options struct {
	URL   string // base URL, up to and including /v1
	Model string
	// Revision is put into the fingerprint. "" asks an Ollama server for the model's digest
	// and stays "" for others.
	Revision string
	// KeyEnv is the name of the environment variable that holds the API key; "" sends none.
	// The key itself is never an option, so that it cannot end in a settings file.
	KeyEnv string

	DocumentPrefix string // put before each document, for models that want it
	QueryPrefix    string // put before each query

	// Dimensions is sent to the server, for models that can shorten their vectors; 0 sends
	// nothing.
	Dimensions int
	// Dimension is what the vectors must have; 0 learns it from the first reply. Setting it
	// lets a build that is wholly in the cache do without the server.
	Dimension int

	Batch       int           // most texts per request; 0 means 64
	BatchTokens int           // most estimated tokens per request (one text may exceed it); 0 means 16384
	Concurrency int           // most requests at a time; 0 means 2
	Timeout     time.Duration // per request; 0 means 2 minutes, < 0 none
	Tries       int           // per request, the first included; 0 means 5
	MaxWait     time.Duration // longest single wait between tries; a longer Retry-After fails at once; 0 means 1 minute

	// MaxTokens is the longest text sent, in estimated tokens (EstimateTokens), prefix
	// included; 0 sends any length, or, with ProbeWindow, what the probe found.
	MaxTokens int
	// OverLong says what is done with a longer text: "split" (default; the parts' vectors
	// are averaged by length), "truncate" (counted in Stats) or "refuse" (an error that
	// names the text).
	OverLong string
	// ProbeWindow makes Prepare find the length at which the server cuts its input.
	ProbeWindow bool
	// ProbeTokens is how far the probe looks: the estimated tokens of the longest text there is;
	// 0 means 32768. A window that is larger is no limit.
	ProbeTokens int

	// SkipBad leaves texts that the server cannot embed without a vector and lists them in
	// Stats, instead of failing. A request that fails as a whole is still an error.
	SkipBad bool
	// StrictModel refuses replies that name another model than Model; otherwise that is a
	// warning in Stats.
	StrictModel bool

	Price float64 // per million tokens, for Stats.Cost; any currency

	// Progress is called after each finished request, one call at a time; nil calls nothing.
	Progress func(Progress)
	Log      *slog.Logger // nil discards

	Client *http.Client                                     // nil means one of its own with sane limits
	Getenv func(string) string                              // nil means os.Getenv
	Now    func() time.Time                                 // nil means time.Now
	Sleep  func(ctx context.Context, d time.Duration) error // nil means a timer
	Jitter func() float64                                   // in [0,1); nil means a random number
}

// Progress says how far one call of Embed is.
type Progress struct {
	Done, Total     int     // texts
	Tokens          int     // as the server counted them, else estimated
	TokensPerSecond float64 // since the call began; 0 until time has passed
	Cost            float64 // so far, in the unit of Price
}

// Stats count what an embedder did since it was made.
type Stats struct {
	Requests  int
	Retries   int
	Texts     int
	Tokens    int     // as the server counted them, else estimated
	Cost      float64 // Tokens × Price / 1e6
	Truncated int     // texts cut to MaxTokens
	Split     int     // texts split and averaged
	Excluded  []Excluded
	Warnings  []string // each once, in order of appearance
	Models    []string // the names the server gave its model, sorted
}

// Excluded is a text left without a vector because of Options.SkipBad.
type Excluded struct {
	Text   string // first 60 runes
	Digest string // hex SHA-256 of the text as given
	Reason string
}
