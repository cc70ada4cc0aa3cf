package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// Window is what MeasureWindow found out about a model's input.
type Window struct {
	// Words is a length, in words of one token each, up to which texts are certainly read:
	// that of the longest probe whose end changed the vector, without that end.
	Words int
	// Tokens is the server's own count for a longer probe that it cut; 0 if it counts none
	// or cuts none.
	Tokens    int
	Truncates bool // it cuts longer texts without a word
	Refuses   bool // it answers longer texts with an error
}

// Limit returns the window in estimated tokens: the server's count if it gives one and the probe's
// words are one token each, as EstimateTokens has it; else Words; and 0 if neither cutting nor
// refusal was seen.
func (w Window) Limit() int {
	switch {
	case !w.Truncates && !w.Refuses:
		return 0
	case w.Truncates && w.Words+tailWords >= w.Tokens-w.Tokens/16:
		return max(w.Tokens, w.Words)
	}
	return w.Words
}

const (
	maxWindow = 32768 // longest probe, in words, unless Options.ProbeTokens says
	minWindow = 64    // shortest probe
	tailWords = 8     // in which two probes differ
)

// MeasureWindow finds the length at which the server cuts or refuses its input. It sends pairs
// of texts that differ only in their last words, doubling their length up to Options.ProbeTokens
// and then halving the interval to within 1/64: if the vectors are the same, the end was not
// read. Some 15 requests are made, fewer if nothing is cut.
func (e *Embedder) MeasureWindow(ctx context.Context) (Window, error) {
	var w Window
	read := func(n int) (bool, error) {
		ok, tokens, refused, err := e.readsTo(ctx, n)
		if ok {
			w.Words = max(w.Words, n-tailWords)
		} else if err == nil {
			w.Refuses = w.Refuses || refused
			w.Truncates = w.Truncates || !refused
			if !refused {
				w.Tokens = tokens
			}
		}
		return ok, err
	}
	longest := max(min(cmp.Or(e.o.ProbeTokens, maxWindow), maxWindow), minWindow)
	high := minWindow
	for {
		ok, err := read(high)
		if err != nil {
			return Window{}, err
		}
		if !ok {
			break
		}
		if high == longest {
			return w, nil
		}
		high = min(2*high, longest)
	}
	if w.Words == 0 && w.Refuses {
		return Window{}, fmt.Errorf("embedding server %s refuses even a text of %d words: check model %s", e.url, high, e.o.Model)
	}
	for low := max(w.Words, 1); high-low > max(1, high/64); {
		mid := low + (high-low)/2
		ok, err := read(mid)
		if err != nil {
			return Window{}, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return w, nil
}

// readsTo reports whether the last words of a probe of n words change its vector, the tokens
// that the server counted for one of the two probes, and whether it refused them.
func (e *Embedder) readsTo(ctx context.Context, n int) (ok bool, tokens int, refused bool, err error) {
	body := strings.Repeat("one ", n-tailWords)
	probes := []string{body + strings.Repeat("red ", tailWords), body + strings.Repeat("sea ", tailWords)}
	r, vectors, f := e.send(ctx, probes)
	if f != nil {
		if ctx.Err() != nil {
			return false, 0, false, ctx.Err()
		}
		if f.single { // the request arrived and was turned down
			return false, 0, true, nil
		}
		return false, 0, false, fmt.Errorf("measure the input window: %w", &f.ServerError)
	}
	rows := make([][]float32, 2)
	for i, raw := range vectors {
		if rows[i], err = parseVector(raw); err != nil {
			return false, 0, false, fmt.Errorf("measure the input window with %d words: %w", n, err)
		}
	}
	if len(rows[0]) != len(rows[1]) {
		return false, 0, false, errors.New("measure the input window: two vectors of different dimensions")
	}
	diff := 0.0
	for i := range rows[0] {
		diff = max(diff, math.Abs(float64(rows[0][i])-float64(rows[1][i])))
	}
	e.count(func(s *Stats) { s.Tokens += r.Usage.PromptTokens })
	// Not bit for bit: a server may round differently from row to row.
	return diff > 2e-6 || unit.Cosine(rows[0], rows[1]) < 1-1e-6, r.Usage.PromptTokens / 2, false, nil
}
