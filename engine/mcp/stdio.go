package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// drainTime is how long the end of the input waits for the answers that are still owed.
const drainTime = 30 * time.Second

// pipe stands between standard input and output and the protocol library. A line that is no JSON
// is answered and passed over, where the library would end the session; and the end of the input
// is passed on only when every request has been answered, where the library would drop them.
type pipe struct {
	ctx  context.Context
	in   *bufio.Reader
	rest []byte // of the line being handed on

	mu   sync.Mutex
	out  io.Writer
	half []byte              // of a message being written
	owed map[string]struct{} // ids of requests without an answer
	done chan struct{}       // closed and replaced whenever an answer was written
}

func newPipe(ctx context.Context, in io.Reader, out io.Writer) *pipe {
	return &pipe{ctx: ctx, in: bufio.NewReader(in), out: out, owed: map[string]struct{}{}, done: make(chan struct{})}
}

// header is what tells a request from an answer.
type header struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// parseError is JSON-RPC's answer to a line that is no JSON.
const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error: each line must be one JSON-RPC message"}}` + "\n"

func (p *pipe) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		line, err := p.in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if !json.Valid(line) {
				p.mu.Lock()
				_, werr := io.WriteString(p.out, parseError)
				p.mu.Unlock()
				if werr != nil {
					return 0, werr
				}
			} else {
				p.note(line)
				p.rest = append(bytes.TrimRight(line, "\r\n"), '\n')
			}
		}
		if err != nil && len(p.rest) == 0 {
			p.drain()
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// note remembers the id of a request.
func (p *pipe) note(line []byte) {
	var h header
	if json.Unmarshal(line, &h) != nil || h.Method == "" || len(h.ID) == 0 || string(h.ID) == "null" {
		return // a notification, an answer or a batch
	}
	p.mu.Lock()
	p.owed[string(h.ID)] = struct{}{}
	p.mu.Unlock()
}

// drain waits until nothing is owed.
func (p *pipe) drain() {
	timeout := time.After(drainTime)
	for {
		p.mu.Lock()
		owed, done := len(p.owed), p.done
		p.mu.Unlock()
		if owed == 0 {
			return
		}
		select {
		case <-done:
		case <-p.ctx.Done():
			return
		case <-timeout:
			return
		}
	}
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.out.Write(b)
	if err != nil {
		return n, err
	}
	p.half = append(p.half, b...)
	for {
		i := bytes.IndexByte(p.half, '\n')
		if i < 0 {
			return n, nil
		}
		var h header
		if json.Unmarshal(p.half[:i], &h) == nil && h.Method == "" {
			delete(p.owed, string(h.ID))
			close(p.done)
			p.done = make(chan struct{})
		}
		p.half = p.half[i+1:]
	}
}
