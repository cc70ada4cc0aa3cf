package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// maxReply bounds the memory one reply may take.
const maxReply = 256 << 20

// captured is what came back for one request, before the client library interprets it.
type captured struct {
	status int
	header http.Header
	body   []byte
	err    error // reading the body
}

type captureKey struct{}

// doer performs requests for the client library and keeps the raw reply in the captured that
// the request's context holds.
type doer struct{ client *http.Client }

func (d doer) Do(req *http.Request) (*http.Response, error) {
	res, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err == nil && len(body) > maxReply {
		err = fmt.Errorf("more than %d bytes", maxReply)
	}
	if c, ok := req.Context().Value(captureKey{}).(*captured); ok {
		*c = captured{res.StatusCode, res.Header, body, err}
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// try sends inputs once.
func (e *Embedder) try(ctx context.Context, inputs []string) (reply, []json.RawMessage, *failure) {
	var c captured
	rctx := context.WithValue(ctx, captureKey{}, &c)
	if e.o.Timeout > 0 {
		var cancel context.CancelFunc
		rctx, cancel = context.WithTimeout(rctx, e.o.Timeout)
		defer cancel()
	}
	_, err := e.client.CreateEmbeddings(rctx, goopenai.EmbeddingRequestStrings{
		Input: inputs, Model: goopenai.EmbeddingModel(e.o.Model), Dimensions: e.o.Dimensions})
	f := &failure{ServerError: ServerError{URL: e.url, Status: c.status}, retryAfter: -1}
	if c.status == 0 { // no reply
		f.Err, f.retry = transportError(err), true
		f.Message = e.scrub(f.Err.Error())
		switch {
		case ctx.Err() != nil:
			f.Err, f.retry = ctx.Err(), false
		case errors.Is(err, context.DeadlineExceeded):
			f.Message = fmt.Sprintf("no reply within %s", e.o.Timeout)
			f.Hint = "raise the timeout or lower the batch size"
		default:
			f.Hint = "is it running, and is the url right?"
		}
		return reply{}, nil, f
	}
	if c.status != http.StatusOK {
		f.Message = e.scrub(strconv.Quote(serverWords(c.body)))
		f.retryAfter = retryAfter(c.header, e.o.Now())
		e.classify(f, c)
		return reply{}, nil, f
	}
	if c.err != nil {
		f.Message = fmt.Sprintf("the reply broke off after %d bytes (%v): %s", len(c.body), transportError(c.err), e.scrub(clip(string(c.body))))
		f.retry = ctx.Err() == nil
		if !f.retry {
			f.Err = ctx.Err()
		}
		return reply{}, nil, f
	}
	r, vectors, err := parseReply(c.body, len(inputs))
	if err != nil {
		f.Message = e.scrub(err.Error())
		var said errMessage
		if errors.As(err, &said) {
			f.Message = e.scrub("an error in place of vectors: " + strconv.Quote(string(said)))
			f.retry = loading(string(said))
			f.single = !f.retry
		} else if errors.Is(err, errNotFinite) {
			f.single = true
		}
		return r, nil, f
	}
	return r, vectors, nil
}

// classify decides what to do about a status other than 200.
func (e *Embedder) classify(f *failure, c captured) {
	words := strings.ToLower(f.Message)
	switch s := f.Status; {
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s >= 501:
		f.retry = s != http.StatusNotImplemented
	case s == http.StatusInternalServerError:
		// A number that JSON cannot hold, or a text beyond the context, fails again however
		// often it is sent.
		stuck := strings.Contains(words, "nan") || strings.Contains(words, "unsupported value") || tooLong(words)
		f.retry, f.single = !stuck, true
	case s == http.StatusBadRequest, s == http.StatusRequestEntityTooLarge, s == http.StatusUnprocessableEntity:
		f.single = true
	}
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if e.o.KeyEnv == "" {
			f.Hint = "name the environment variable that holds the API key in key_env"
		} else {
			f.Hint = "check the API key in $" + e.o.KeyEnv
		}
	case http.StatusNotFound:
		f.Hint = fmt.Sprintf("is model %q on the server, and does the url end in /v1?", e.o.Model)
	default:
		if f.Status >= 300 && f.Status < 400 {
			f.Hint = "it redirects; set the url to the new place"
		}
	}
	if tooLong(words) {
		f.Hint = "set max_tokens so that longer texts are split"
	}
}

func tooLong(words string) bool {
	return strings.Contains(words, "context length") || strings.Contains(words, "too large") ||
		strings.Contains(words, "too long") || strings.Contains(words, "maximum context") || strings.Contains(words, "must have less than")
}

// transportError strips what the HTTP client adds, the URL above all.
func transportError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if err == nil {
		return errors.New("no reply")
	}
	return err
}

// scrub removes the key and the URL's credentials from s: servers echo them.
func (e *Embedder) scrub(s string) string {
	for _, secret := range e.secrets {
		s = strings.ReplaceAll(s, secret, "[removed]")
	}
	return s
}

// retryAfter returns how long the server asks to wait, or -1 if it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return -1
}

// send sends inputs, trying again where that can help.
func (e *Embedder) send(ctx context.Context, inputs []string) (reply, []json.RawMessage, *failure) {
	start := e.o.Now()
	for tries := 1; ; tries++ {
		e.count(func(s *Stats) { s.Requests++ })
		r, vectors, f := e.try(ctx, inputs)
		if f == nil {
			return r, vectors, nil
		}
		f.Tries, f.Elapsed = tries, e.o.Now().Sub(start)
		if !f.retry || tries >= e.o.Tries {
			return r, nil, f
		}
		wait := e.backoff(tries)
		if f.retryAfter >= 0 {
			if f.retryAfter > e.o.MaxWait {
				f.Hint = fmt.Sprintf("it asks to wait %s, more than the limit of %s; try later", f.retryAfter, e.o.MaxWait)
				return r, nil, f
			}
			wait = f.retryAfter
		}
		e.count(func(s *Stats) { s.Retries++ })
		e.o.Log.InfoContext(ctx, "embedding request failed, waiting to try again", "error", f.ServerError.Error(), "wait", wait)
		if err := e.o.Sleep(ctx, wait); err != nil {
			f.Err = err
			return r, nil, f
		}
	}
}

// backoff returns the wait before the try after the given one: half a second, doubled each
// time, between half of that and all of it at random, MaxWait at most.
func (e *Embedder) backoff(tries int) time.Duration {
	d := min(500*time.Millisecond<<min(tries-1, 16), e.o.MaxWait)
	return d/2 + time.Duration(e.o.Jitter()*float64(d/2))
}

func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirected POST becomes a GET without a body
	}}
}
