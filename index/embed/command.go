package embed

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// CommandOptions say which program makes the vectors. Command is required.
//
// The program is started at the first call and kept. For every batch it reads one line
//
//	{"kind":"document","texts":["…","…"]}
//
// from its standard input and writes one line
//
//	{"embeddings":[[0.1,…],[…]]}
//
// to its standard output, one vector per text in order, null for a text it has nothing to say
// about; or {"error":"…"}, optionally with "index", the text to blame. It must flush after
// each line. What it writes to standard error goes to Log. It should end when its input does.
type CommandOptions struct {
	Command []string // program and arguments; no shell is involved
	Dir     string   // working directory; "" is the current one
	Env     []string // added to the environment, as NAME=value

	Model     string // for the fingerprint; "" means the program's name
	Revision  string
	Dimension int // expected; 0 learns it from the first reply

	DocumentPrefix, QueryPrefix string

	Batch   int           // most texts per line; 0 means 64
	Timeout time.Duration // for one line, the program's start included; 0 means 10 minutes, < 0 none
	Log     *slog.Logger  // nil discards
}

// Command embeds texts with a program. Calls are served one after another. Safe for
// concurrent use; Close ends the program.
type Command struct {
	o CommandOptions

	turn chan struct{} // holds a token while a call talks to the program
	run  *process      // nil: not started; owned by the holder of the turn

	mu  sync.Mutex // guards dim
	dim int
}

// NewCommand returns an embedder that runs o.Command. It does not start it yet.
func NewCommand(o CommandOptions) (*Command, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, errors.New("command embedder: no command: give the program and its arguments")
	}
	if o.Dimension < 0 || o.Batch < 0 {
		return nil, fmt.Errorf("command embedder: dimension %d, batch %d: must not be negative", o.Dimension, o.Batch)
	}
	o.Model = cmp.Or(o.Model, o.Command[0])
	o.Batch, o.Timeout = cmp.Or(o.Batch, 64), cmp.Or(o.Timeout, 10*time.Minute)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Command{o: o, dim: o.Dimension, turn: make(chan struct{}, 1)}, nil
}

// Fingerprint implements index.Embedder. Dimension is 0 until Prepare has succeeded, unless
// the options give it.
func (c *Command) Fingerprint() index.Fingerprint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return index.Fingerprint{Kind: "command", Model: c.o.Model, Revision: c.o.Revision, Dimension: c.dim,
		DocumentPrefix: c.o.DocumentPrefix, QueryPrefix: c.o.QueryPrefix}
}

// Prepare learns the dimension if the options do not give it.
func (c *Command) Prepare(ctx context.Context) error {
	if c.Fingerprint().Dimension > 0 {
		return ctx.Err()
	}
	if _, err := c.Embed(ctx, []string{"dimension"}, index.KindDocument); err != nil {
		return err
	}
	if c.Fingerprint().Dimension == 0 {
		return fmt.Errorf("command embedder %s: it has no vector for the text %q, so its dimension is unknown: set dimension", c.o.Command[0], "dimension")
	}
	return nil
}

// Close ends the program, which gets five seconds to do so by itself. The embedder may be used
// again; the program is then started anew.
func (c *Command) Close() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.run == nil {
		return nil
	}
	p := c.run
	c.run = nil
	_ = p.stdin.Close()
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
	}
	p.kill()
	return nil
}

type commandRequest struct {
	Kind  string   `json:"kind"`
	Texts []string `json:"texts"`
}

type commandReply struct {
	Embeddings []json.RawMessage `json:"embeddings"`
	Error      string            `json:"error"`
	Index      *int              `json:"index"`
}

// Embed implements index.Embedder.
func (c *Command) Embed(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	prefix := c.o.DocumentPrefix
	if kind == index.KindQuery {
		prefix = c.o.QueryPrefix
	}
	rows := make([][]float32, 0, len(texts))
	for from := 0; from < len(texts); from += c.o.Batch {
		part := texts[from:min(from+c.o.Batch, len(texts))]
		send := make([]string, len(part))
		for i, t := range part {
			send[i] = prefix + t
		}
		got, err := c.exchange(ctx, send, kind)
		rows = append(rows, got...)
		if err != nil {
			var t *TextError
			if errors.As(err, &t) {
				err = unit.NewTextError(from+t.Index, texts[from+t.Index], t.Err)
			}
			return rows, err
		}
	}
	return rows, ctx.Err()
}

// exchange sends one line and reads one. After any failure of the exchange itself the program
// is killed, since what it says next would answer another question.
func (c *Command) exchange(ctx context.Context, texts []string, kind index.Kind) ([][]float32, error) {
	name := c.o.Command[0]
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.run == nil {
		p, err := start(c.o)
		if err != nil {
			return nil, fmt.Errorf("command embedder: start %s: %w", name, err)
		}
		c.run = p
	}
	p := c.run
	limit := ctx
	if c.o.Timeout > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
	}
	line, err := json.Marshal(commandRequest{kind.String(), texts})
	if err != nil { // unreachable: strings marshal
		return nil, err
	}
	type answer struct {
		line []byte
		err  error
	}
	ch := make(chan answer, 1)
	go func() { // ends when the program answers or is killed
		if _, err := p.stdin.Write(append(line, '\n')); err != nil {
			ch <- answer{err: err}
			return
		}
		line, err := p.stdout.ReadBytes('\n')
		if err == io.EOF && len(bytes.TrimSpace(line)) > 0 {
			err = nil
		}
		ch <- answer{line, err}
	}()
	var a answer
	select {
	case a = <-ch:
	case <-limit.Done():
		p.kill()
		c.run = nil
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("command embedder: %s gave no reply to %d texts within %s: does it flush its output after each line?", name, len(texts), c.o.Timeout)
	}
	if a.err != nil {
		p.kill()
		c.run = nil
		return nil, fmt.Errorf("command embedder: %s ended without a reply (%v)%s", name, p.err(), p.lastWords())
	}
	rows, err := c.parse(a.line, texts)
	if err != nil {
		var t *TextError
		if !errors.As(err, &t) {
			p.kill()
			c.run = nil
		}
	}
	return rows, err
}

func (c *Command) parse(line []byte, texts []string) ([][]float32, error) {
	name := c.o.Command[0]
	var r commandReply
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("command embedder: %s wrote no JSON object (%v): %q", name, err, unit.Head(string(line)))
	}
	if r.Error != "" {
		err := fmt.Errorf("command embedder: %s reports: %s", name, r.Error)
		if r.Index != nil && *r.Index >= 0 && *r.Index < len(texts) {
			return nil, unit.NewTextError(*r.Index, texts[*r.Index], err)
		}
		return nil, err
	}
	if len(r.Embeddings) != len(texts) {
		return nil, fmt.Errorf("command embedder: %s returned %d vectors for %d texts", name, len(r.Embeddings), len(texts))
	}
	rows := make([][]float32, 0, len(texts))
	for i, raw := range r.Embeddings {
		row, err := jsonVector(raw)
		if err == nil && row != nil {
			err = c.checkDimension(len(row))
		}
		if err != nil {
			return rows, unit.NewTextError(i, texts[i], fmt.Errorf("command embedder: %s: %w", name, err))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (c *Command) checkDimension(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dim == 0 {
		c.dim = n
	}
	if n != c.dim {
		return fmt.Errorf("a vector of %d components, want %d: %w", n, c.dim, index.ErrDimension)
	}
	return nil
}

// jsonVector decodes a list of numbers and scales it to length 1; null and nothing give nil.
func jsonVector(raw json.RawMessage) ([]float32, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var parts []*float64
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("the vector is no list of finite numbers: %w", err)
	}
	if parts == nil {
		return nil, nil
	}
	v := make([]float64, len(parts))
	for i, p := range parts {
		if p == nil {
			return nil, fmt.Errorf("component %d of the vector is null", i)
		}
		v[i] = *p
	}
	row, err := unit.Scale(v)
	if err != nil {
		return nil, fmt.Errorf("useless vector: %w", err)
	}
	return row, nil
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	out    *os.File      // what stdout reads
	done   chan struct{} // closed when it has ended
	exit   error         // after done

	mu   sync.Mutex // guards last
	last string     // last line of standard error
}

func start(o CommandOptions) (*process, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.WaitDelay = 2 * time.Second // grandchildren may hold the pipes open
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: cmd.StdoutPipe would be closed by Wait before all is read.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: bufio.NewReaderSize(out, 1<<16), out: out, done: make(chan struct{})}
	cmd.Stdout = in
	cmd.Stderr = &lineWriter{p: p, log: o.Log, name: o.Command[0]}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	_ = in.Close() // the program has its own
	go func() {
		p.exit = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// kill ends the program without waiting for it to be gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // already ended, perhaps
	_ = p.stdin.Close()
	_ = p.out.Close()
}

func (p *process) err() error {
	<-p.done
	if p.exit != nil {
		return p.exit
	}
	return errors.New("exit status 0")
}

func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == "" {
		return ""
	}
	return ": " + p.last
}

// lineWriter passes standard error to the log, line by line, and remembers the last.
type lineWriter struct {
	p    *process
	log  *slog.Logger
	name string
	rest []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 && len(w.rest) > 1<<16 {
			i = len(w.rest) - 1
		}
		if i < 0 {
			return len(b), nil
		}
		if line := strings.TrimSpace(string(w.rest[:i])); line != "" {
			w.log.Info(line, "program", w.name)
			w.p.mu.Lock()
			w.p.last = line
			w.p.mu.Unlock()
		}
		w.rest = w.rest[i+1:]
	}
}
