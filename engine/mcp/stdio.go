package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// drainTime is how long the end of the input waits for the answers that are still owed.
const drainTime = 30 * time.Second

// pipe stands between standard input and output and the protocol library. A line that is no message
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

// fault is what is wrong with a message, in the words of JSON-RPC 2.0.
type fault struct {
	code    int
	message string
	id      json.RawMessage // nil where it is not known
}

// check returns what is wrong with a line, nil if the library can take it.
func check(line []byte) *fault {
	if !json.Valid(line) {
		return &fault{-32700, "parse error: each line must be one JSON-RPC message", nil}
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil || m == nil {
		return &fault{-32600, "invalid request: each line must be one object", nil}
	}
	// kind is the first byte of a value, 0 of a missing one.
	kind := func(key string) byte {
		if v := bytes.TrimSpace(m[key]); len(v) > 0 {
			return v[0]
		}
		return 0
	}
	var id json.RawMessage
	switch k := kind("id"); {
	case k == '"', k == '-', k >= '0' && k <= '9':
		id = m["id"]
		if json.Unmarshal(id, new(float64)) != nil && k != '"' { // as the library holds it
			return &fault{-32600, "invalid request: id is too large", nil}
		}
	case k != 0 && k != 'n':
		return &fault{-32600, "invalid request: id must be a string or a number", nil}
	}
	switch {
	case string(bytes.TrimSpace(m["jsonrpc"])) != `"2.0"`:
		return &fault{-32600, `invalid request: jsonrpc must be "2.0"`, id}
	case kind("method") == 0 && (id == nil || kind("result") == 0 && kind("error") == 0):
		return &fault{-32600, "invalid request: method is missing", id}
	case kind("method") != 0 && kind("method") != '"':
		return &fault{-32600, "invalid request: method must be a string", id}
	case kind("error") != 0 && kind("error") != '{' && kind("error") != 'n':
		return &fault{-32600, "invalid request: error must be an object", id}
	case kind("params") != 0 && kind("params") != '{' && kind("params") != '[':
		return &fault{-32602, "invalid params: they must be an object", id}
	}
	return nil
}

// line is the answer to f.
func (f *fault) line() []byte {
	id := f.id
	if id == nil {
		id = json.RawMessage("null")
	}
	message, _ := json.Marshal(f.message) // a string always encodes
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, f.code, message)
}

func (p *pipe) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		line, err := p.in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if f := check(line); f != nil {
				p.mu.Lock()
				_, werr := p.out.Write(f.line())
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
