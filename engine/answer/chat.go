package answer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
)

// ChatOptions configure a Chat. URL and Model are required.
type ChatOptions struct {
	URL   string // base of the API, such as http://localhost:11434/v1
	Model string
	Key   string // sent as bearer token; "" sends none. It is in no message, record or setting.

	// Temperature is sent always, also when it is 0, the default.
	Temperature float64
	Seed        int64 // added to a request's own; always sent
	MaxTokens   int   // 0 means 512
	// Timeout limits one try, reading included; 0 means 2 minutes.
	Timeout time.Duration
	// Retries is how often a call is repeated after 429, 5xx, a time-out, a lost connection or
	// a model that is still loading; 0 means 3, negative never.
	Retries int
	// Wait is the first pause between tries, doubled each time; 0 means 500 ms. A server's
	// Retry-After counts instead if it is longer, up to MaxWait.
	Wait    time.Duration
	MaxWait time.Duration // 0 means 30 s
	// Stream asks for the reply in pieces.
	Stream bool
	// PlainText leaves out the request for a JSON schema, for servers that refuse it. A
	// refusal is noticed anyway, and the call repeated without.
	PlainText bool
	Prompts   Prompts
	// Price is the cost of a million tokens, of the prompt and of the reply; 0 is unknown.
	PromptPrice, CompletionPrice float64
	HTTP                         *http.Client // nil means one of its own
}

// Validate refuses options that cannot work.
func (o ChatOptions) Validate() error {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("chat: url must be http://host/v1 or https://host/v1")
	case o.Model == "":
		return errors.New("chat: model is missing: name one that the server has")
	case o.Temperature < 0 || o.Temperature > 2:
		return fmt.Errorf("chat: temperature %g is outside 0 to 2", o.Temperature)
	case o.MaxTokens < 0:
		return fmt.Errorf("chat: max tokens %d is negative", o.MaxTokens)
	}
	return nil
}

// Errors of a chat server that a caller can act on; errors.Is finds them.
var (
	// ErrModel: the server does not have the model. Pull it or name another.
	ErrModel = errors.New("model not found")
	// ErrTooLong: the prompt does not fit the model. Deliver less context.
	ErrTooLong = errors.New("prompt is longer than the model's context")
	// ErrReply: the server answered with something that is no chat completion.
	ErrReply = errors.New("not a chat completion")
)

// Chat answers with a model behind an OpenAI-compatible server. It is safe for concurrent use.
type Chat struct {
	o    ChatOptions
	base string // without credentials, for messages
	post string
	user *url.Userinfo
}

// NewChat returns a chat answerer; it sends nothing yet.
func NewChat(o ChatOptions) (*Chat, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.MaxTokens = cmp.Or(o.MaxTokens, 512)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	o.Retries = cmp.Or(o.Retries, 3)
	o.Wait = cmp.Or(o.Wait, 500*time.Millisecond)
	o.MaxWait = cmp.Or(o.MaxWait, 30*time.Second)
	o.Prompts = o.Prompts.WithDefaults()
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	u, _ := url.Parse(o.URL) // Validate has parsed it
	c := &Chat{o: o, user: u.User}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	c.base = strings.TrimRight(u.String(), "/")
	c.post = c.base + "/chat/completions"
	return c, nil
}

// Fingerprint implements Answerer.
func (c *Chat) Fingerprint() Fingerprint {
	return Fingerprint{Kind: "chat", Model: c.o.Model, PromptRevision: c.o.Prompts.Revision(), Settings: map[string]string{
		"url":         c.base,
		"temperature": strconv.FormatFloat(c.o.Temperature, 'g', -1, 64),
		"seed":        strconv.FormatInt(c.o.Seed, 10),
		"max_tokens":  strconv.Itoa(c.o.MaxTokens),
		"format":      c.format(),
		"stream":      strconv.FormatBool(c.o.Stream),
	}}
}

func (c *Chat) format() string {
	if c.o.PlainText {
		return "text"
	}
	return "json_schema"
}

// Answer implements Answerer.
func (c *Chat) Answer(ctx context.Context, r Request) (Answer, error) {
	system, user := c.o.Prompts.messages(r)
	in := Completion{System: system, User: user, Seed: r.Seed, Schema: answerSchema}
	if r.Stream != nil {
		pieces := textStream{out: r.Stream}
		in.Stream, in.Again = pieces.write, pieces.again
	}
	reply, err := c.Complete(ctx, in)
	if err != nil {
		if r.ID != "" {
			err = fmt.Errorf("question %s: %w", r.ID, err)
		}
		return Answer{Usage: reply.Usage}, err
	}
	if strings.TrimSpace(reply.Text) == "" && reply.Thinking == "" {
		return Answer{Usage: reply.Usage}, fmt.Errorf("chat: %s: %w: an empty reply", c.base, ErrReply)
	}
	a := parseReply(reply.Text, len(r.Passages))
	if reply.Thinking != "" {
		a.Thinking = strings.TrimSpace(reply.Thinking + "\n" + a.Thinking)
	}
	a.Model, a.PromptRevision = reply.Model, c.o.Prompts.Revision()
	a.Usage, a.Settings, a.Notes = reply.Usage, reply.Settings, reply.Notes
	return a, nil
}

// answerSchema is the form asked of an answer.
var answerSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["answer","refused","sources"],` + // read only
	`"properties":{"answer":{"type":"string"},"refused":{"type":"boolean"},"sources":{"type":"array","items":{"type":"integer"}}}}`)

// Completion is one exchange with the model.
type Completion struct {
	System, User string
	Seed         int64              // added to the options'
	Schema       json.RawMessage    // JSON schema of the reply; nil asks for text
	Stream       func(piece string) // is handed the reply as it arrives, if the options ask for that
	Again        func()             // is told before a repeated call, whose pieces begin anew; may be nil
}

// Reply is what came back of a Completion.
type Reply struct {
	Text     string
	Thinking string // from a field of its own; what stands in Text stays there
	Model    string // as the server names it
	Usage    Usage
	Settings map[string]string // what was sent
	Notes    []string          // that the prompt or the reply was cut
}

// Complete sends one exchange, with retries and time limit, for answers, judges and rewriting.
// An empty reply is no error.
func (c *Chat) Complete(ctx context.Context, in Completion) (Reply, error) {
	start := time.Now()
	plain := c.o.PlainText || in.Schema == nil
	var reply Reply
	usage := Usage{}
	wait := c.o.Wait
	for try := 0; ; try++ {
		usage.Requests++
		if in.Again != nil && usage.Requests > 1 {
			in.Again()
		}
		var err error
		reply, err = c.try(ctx, in, plain)
		usage.PromptTokens += reply.Usage.PromptTokens
		usage.CompletionTokens += reply.Usage.CompletionTokens
		usage.Latency = time.Since(start)
		usage.Cost = (float64(usage.PromptTokens)*c.o.PromptPrice + float64(usage.CompletionTokens)*c.o.CompletionPrice) / 1e6
		reply.Usage = usage
		if err == nil {
			return reply, nil
		}
		if ctx.Err() != nil {
			return reply, ctx.Err()
		}
		var status *statusError
		if !plain && errors.As(err, &status) && status.rejectsFormat() {
			plain = true // a server without structured output; not counted as a retry
			continue
		}
		if !retryable(err) || usage.Retries >= c.o.Retries {
			if usage.Requests > 1 {
				err = fmt.Errorf("%w (gave up after %d requests in %s)", err, usage.Requests, time.Since(start).Round(time.Millisecond))
			}
			return reply, err
		}
		pause := wait
		if errors.As(err, &status) && status.after > pause {
			pause = min(status.after, c.o.MaxWait)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return reply, ctx.Err()
		case <-timer.C:
		}
		wait = min(2*wait, c.o.MaxWait)
		usage.Retries++
	}
}

// statusError is an error the server reported, by status or in a body.
type statusError struct {
	status int
	said   string // first 200 characters
	base   string
	after  time.Duration
	kind   error
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("chat: %s answered %d: %s", e.base, e.status, e.said)
	if e.kind != nil {
		s += ": " + e.kind.Error()
	}
	return s
}

func (e *statusError) Unwrap() error { return e.kind }

func (e *statusError) rejectsFormat() bool {
	s := strings.ToLower(e.said)
	return (e.status == 400 || e.status == 422 || e.status == 501) &&
		(strings.Contains(s, "response_format") || strings.Contains(s, "json_schema") || strings.Contains(s, "structured output"))
}

// errLost is a connection that broke off or a try that ran out of time.
var errLost = errors.New("no complete reply")

func retryable(err error) bool {
	var s *statusError
	if errors.As(err, &s) {
		if s.kind != nil && !errors.Is(s.kind, ErrReply) {
			return false
		}
		return s.status == 429 || s.status == 408 || s.status >= 500 || strings.Contains(strings.ToLower(s.said), "loading")
	}
	return errors.Is(err, errLost)
}

// body is the request as it is sent. The library's own type leaves out a temperature of 0 and
// an empty content, which are meant here.
type body struct {
	openai.ChatCompletionRequest
	Messages       []message       `json:"messages"`
	Temperature    float64         `json:"temperature"`
	Seed           int64           `json:"seed"`
	ResponseFormat json.RawMessage `json:"response_format,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (c *Chat) try(ctx context.Context, in Completion, plain bool) (Reply, error) {
	b := body{
		Messages:    []message{{openai.ChatMessageRoleSystem, in.System}, {openai.ChatMessageRoleUser, in.User}},
		Temperature: c.o.Temperature,
		Seed:        c.o.Seed + in.Seed,
	}
	b.Model, b.Stream = c.o.Model, c.o.Stream
	//lint:ignore SA1019 the name that every server knows; its successor is the hosted models' own
	b.MaxTokens = c.o.MaxTokens
	if b.Stream {
		b.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	format := "text"
	if !plain {
		format = "json_schema"
		b.ResponseFormat = json.RawMessage(`{"type":"json_schema","json_schema":{"name":"reply","strict":true,"schema":` + string(in.Schema) + `}}`)
	}
	data, err := json.Marshal(b)
	if err != nil {
		return Reply{}, fmt.Errorf("chat: encode request: %w", err)
	}
	tryCtx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(tryCtx, http.MethodPost, c.post, bytes.NewReader(data))
	if err != nil {
		return Reply{}, fmt.Errorf("chat: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Key)
	} else if c.user != nil {
		password, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), password)
	}
	resp, err := c.o.HTTP.Do(req)
	if err != nil {
		return Reply{}, c.lost(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // the body was read or given up
	var reply Reply
	if c.o.Stream && resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		reply, err = c.readStream(ctx, resp, in.Stream)
	} else {
		reply, err = c.readWhole(ctx, resp)
	}
	// Servers cut a long prompt without a word, the rules and the passages first.
	if n, words := reply.Usage.PromptTokens, len(strings.Fields(in.System))+len(strings.Fields(in.User)); err == nil && n > 0 && n < words {
		reply.Notes = append(reply.Notes, fmt.Sprintf("the server read %d tokens of a prompt of %d words, so it cut the prompt: deliver less (answer.k, answer.budget) or raise the server's context length", n, words))
	}
	reply.Model = cmp.Or(reply.Model, c.o.Model)
	reply.Settings = map[string]string{
		"model": c.o.Model, "temperature": strconv.FormatFloat(b.Temperature, 'g', -1, 64), "seed": strconv.FormatInt(b.Seed, 10),
		"max_tokens": strconv.Itoa(c.o.MaxTokens), "format": format, "stream": strconv.FormatBool(b.Stream),
	}
	return reply, err
}

// lost describes a failed exchange without the address, which may hold credentials.
func (c *Chat) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("chat: %s: %w within %s", c.base, errLost, c.o.Timeout)
	}
	return fmt.Errorf("chat: %s: %w: %w", c.base, errLost, err)
}

// finishLength is the finish reason of a reply that met the limit of tokens.
const finishLength = "length"

func (c *Chat) cutReply() string {
	return fmt.Sprintf("the reply was cut at %d tokens: raise answer.max_tokens", c.o.MaxTokens)
}

// maxReply bounds what is read of one reply.
const maxReply = 16 << 20

func (c *Chat) readWhole(ctx context.Context, resp *http.Response) (Reply, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return Reply{}, c.lost(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		return Reply{}, c.failed(resp, data)
	}
	if said := errorText(data); said != "" {
		return Reply{}, c.failed(resp, data)
	}
	var out struct {
		Model   string       `json:"model"`
		Usage   openai.Usage `json:"usage"`
		Choices []struct {
			Message struct {
				Content          *string `json:"content"`
				Refusal          string  `json:"refusal"`
				Reasoning        string  `json:"reasoning"`
				ReasoningContent string  `json:"reasoning_content"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &out); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(bytes.TrimRight(data, " \n"))) && len(data) > 0 && data[0] == '{' {
			return Reply{}, fmt.Errorf("chat: %s: %w: the body ends in the middle: %s", c.base, errLost, c.excerpt(string(data)))
		}
		return Reply{}, &statusError{status: resp.StatusCode, said: c.excerpt(string(data)), base: c.base, kind: ErrReply}
	}
	r := Reply{Model: out.Model, Usage: Usage{PromptTokens: out.Usage.PromptTokens, CompletionTokens: out.Usage.CompletionTokens}}
	if len(out.Choices) == 0 {
		return r, &statusError{status: resp.StatusCode, said: "no choices: " + c.excerpt(string(data)), base: c.base, kind: ErrReply}
	}
	m := out.Choices[0].Message
	r.Thinking = cmp.Or(m.ReasoningContent, m.Reasoning)
	if m.Content != nil {
		r.Text = *m.Content
	}
	if out.Choices[0].FinishReason == finishLength {
		r.Notes = append(r.Notes, c.cutReply())
	}
	if r.Text == "" && m.Refusal != "" {
		quoted, err := json.Marshal(m.Refusal)
		if err != nil {
			return r, fmt.Errorf("chat: %w", err)
		}
		r.Text = `{"answer":` + string(quoted) + `,"refused":true,"sources":[]}`
	}
	return r, nil
}

// readStream reads server-sent events. A stream that ends without [DONE] or a finish reason
// was cut off, and what came of it is no answer.
func (c *Chat) readStream(ctx context.Context, resp *http.Response, each func(string)) (Reply, error) {
	var r Reply
	var text, thinking strings.Builder
	finished := false
	in := bufio.NewScanner(io.LimitReader(resp.Body, maxReply))
	in.Buffer(make([]byte, 0, 64<<10), maxReply)
	for in.Scan() {
		data, ok := strings.CutPrefix(in.Text(), "data:")
		if !ok {
			continue
		}
		data = strings.TrimSpace(data)
		if data == "[DONE]" {
			finished = true
			break
		}
		if said := errorText([]byte(data)); said != "" {
			return r, c.failed(resp, []byte(data))
		}
		var ev struct {
			Model   string        `json:"model"`
			Usage   *openai.Usage `json:"usage"`
			Choices []struct {
				Delta struct {
					Content          string `json:"content"`
					Reasoning        string `json:"reasoning"`
					ReasoningContent string `json:"reasoning_content"`
				} `json:"delta"`
				FinishReason *string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return r, &statusError{status: resp.StatusCode, said: c.excerpt(data), base: c.base, kind: ErrReply}
		}
		r.Model = cmp.Or(ev.Model, r.Model)
		if ev.Usage != nil {
			r.Usage.PromptTokens, r.Usage.CompletionTokens = ev.Usage.PromptTokens, ev.Usage.CompletionTokens
		}
		if len(ev.Choices) == 0 {
			continue
		}
		d := ev.Choices[0].Delta
		thinking.WriteString(cmp.Or(d.ReasoningContent, d.Reasoning))
		if d.Content != "" {
			text.WriteString(d.Content)
			if each != nil {
				each(d.Content)
			}
		}
		if f := ev.Choices[0].FinishReason; f != nil && *f != "" {
			finished = true
			if *f == finishLength {
				r.Notes = append(r.Notes, c.cutReply())
			}
		}
	}
	r.Text, r.Thinking = text.String(), thinking.String()
	if err := in.Err(); err != nil {
		return r, c.lost(ctx, err)
	}
	if !finished {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		return r, fmt.Errorf("chat: %s: %w: the stream ended after %d characters without an end mark", c.base, errLost, utf8.RuneCountInString(r.Text))
	}
	return r, nil
}

// failed describes an error reply in the server's own words.
func (c *Chat) failed(resp *http.Response, data []byte) error {
	e := &statusError{status: resp.StatusCode, base: c.base, said: c.excerpt(cmp.Or(errorText(data), string(data)))}
	if after := resp.Header.Get("Retry-After"); after != "" {
		if s, err := strconv.Atoi(strings.TrimSpace(after)); err == nil && s >= 0 {
			e.after = time.Duration(s) * time.Second
		} else if t, err := http.ParseTime(after); err == nil {
			e.after = time.Until(t)
		}
	}
	said := strings.ToLower(e.said)
	switch {
	case strings.Contains(said, "context length"), strings.Contains(said, "context_length"), strings.Contains(said, "context size"),
		strings.Contains(said, "maximum context"), strings.Contains(said, "too many tokens"), strings.Contains(said, "exceeds the available context"):
		e.kind = ErrTooLong
	case strings.Contains(said, "model") && (resp.StatusCode == http.StatusNotFound || strings.Contains(said, "not found") || strings.Contains(said, "does not exist")):
		e.kind = ErrModel
	}
	return e
}

// errorText returns the message of an error body: an object with message, or a plain string.
func errorText(data []byte) string {
	var out struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &out) != nil || len(out.Error) == 0 || string(out.Error) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(out.Error, &s) == nil {
		return s
	}
	var o struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(out.Error, &o) == nil && o.Message != "" {
		return o.Message
	}
	return string(out.Error)
}

// excerpt returns the first 200 characters of what a server said, on one line and without the
// key or the address's password, which some echo.
func (c *Chat) excerpt(s string) string {
	secrets := []string{c.o.Key}
	if c.user != nil {
		password, _ := c.user.Password()
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[removed]")
		}
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if rs := []rune(s); len(rs) > 200 {
		return string(rs[:200]) + "…"
	}
	if s == "" {
		return "(nothing)"
	}
	return s
}

// Rewrite returns the question as a search query. A reply without words gives the question
// itself.
func (c *Chat) Rewrite(ctx context.Context, question string) (string, Reply, error) {
	lines, reply, err := c.lines(ctx, c.o.Prompts.Rewrite, question, 1)
	if err != nil {
		return "", reply, err
	}
	return lines[0], reply, nil
}

// Queries returns the question and up to n further wordings of it, without repeats, to be
// searched one by one and fused.
func (c *Chat) Queries(ctx context.Context, question string, n int) ([]string, Reply, error) {
	lines, reply, err := c.lines(ctx, c.o.Prompts.Queries, question, n)
	if err != nil {
		return nil, reply, err
	}
	out := []string{question}
	seen := map[string]bool{strings.ToLower(question): true}
	for _, l := range lines {
		if k := strings.ToLower(l); !seen[k] {
			seen[k] = true
			out = append(out, l)
		}
	}
	return out, reply, nil
}

func (c *Chat) lines(ctx context.Context, prompt, question string, n int) ([]string, Reply, error) {
	tag := borderTag(0, question)
	reply, err := c.Complete(ctx, Completion{
		System: fill(prompt, "{{tag}}", tag, "{{n}}", strconv.Itoa(n)),
		User:   fmt.Sprintf("<question-%s>\n%s\n</question-%s>", tag, question, tag),
	})
	if err != nil {
		return nil, reply, err
	}
	lines := queryLines(reply.Text, n)
	if len(lines) == 0 {
		lines = []string{question}
	}
	return lines, reply, nil
}
