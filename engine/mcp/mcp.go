// Package mcp offers the live build of a store to agents and editors by the Model Context
// Protocol: the tools search, answer and get_section, over standard input and output or over
// HTTP. It is the adaptor of the official SDK; requests are read, answered and filtered by
// permission exactly as package serve does.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
)

// Options of a server. The zero value is valid.
type Options struct {
	MaxK int          // hits of one call; 0 means 100
	Log  *slog.Logger // nil discards; it must not write to standard output under Stdio
}

func (o Options) withDefaults() Options {
	if o.MaxK == 0 {
		o.MaxK = 100
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// door answers the calls of one caller.
type door struct {
	e serve.Engine
	c serve.Caller
	o Options
}

const text = `{"type":"string","minLength":1,"maxLength":10000,"description":%q}`

func schema(field, about string, maxK int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":[%q],"properties":{%q:`+text+
		`,"k":{"type":"integer","minimum":1,"maximum":%d,"description":"How many passages to use."}`+
		`,"mode":{"type":"string","enum":["hybrid","vector","lexical"],"description":"Default: the build's setting."}}}`, field, field, about, maxK))
}

// NewServer returns a server whose every call comes from c.
func NewServer(e serve.Engine, c serve.Caller, o Options) *sdk.Server {
	o = o.withDefaults()
	d := &door{e, c, o}
	s := sdk.NewServer(&sdk.Implementation{Name: "assay", Version: engine.Version()}, &sdk.ServerOptions{
		Instructions: "Search the documents of this knowledge base, ask it for an answer with sources, or read a section that a search has named. Cite documents by the doc and section of the results.",
		Logger:       o.Log,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}
	add := func(name, about string, input json.RawMessage, call func(context.Context, json.RawMessage) (any, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: about, InputSchema: input, Annotations: readOnly},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				out, err := call(ctx, r.Params.Arguments)
				return d.result(name, out, err)
			})
	}
	add("search", "Find the passages that fit a query best, with document, section and scores.",
		schema("query", "What to search for, in plain words.", o.MaxK), d.search)
	add("answer", "Answer a question from the documents, with the passages it rests on; says so if they hold no answer.",
		schema("question", "The question, in plain words.", o.MaxK), d.answer)
	add("get_section", "Read a whole section of a document, named as in search results.",
		json.RawMessage(`{"type":"object","additionalProperties":false,"required":["doc"],"properties":{`+
			`"doc":{"type":"string","minLength":1,"maxLength":4096,"description":"Document, as in search results."},`+
			`"section":{"type":"string","maxLength":4096,"description":"Section path, as in search results; leave it out for the text before the first heading."}}}`), d.section)
	return s
}

// result turns what a call gave into what the client is sent: a refusal or failure is a tool
// error that the model can read and act on.
func (d *door) result(tool string, v any, err error) (*sdk.CallToolResult, error) {
	if err == nil {
		var data []byte
		if data, err = json.Marshal(v); err == nil {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}, nil
		}
	}
	told := serve.Describe(err)
	if told.Status >= 500 {
		d.o.Log.Error("tool failed", "tool", tool, "caller", d.c.Name, "code", told.Code)
		d.o.Log.Debug("tool failed", "tool", tool, "error", err.Error())
	}
	data, merr := json.Marshal(told)
	if merr != nil {
		return nil, merr
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}}, nil
}

func arguments(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return raw
}

func (d *door) query(raw json.RawMessage, field string) (engine.Query, error) {
	q, err := serve.ParseQuery(arguments(raw), field, d.o.MaxK)
	if err != nil {
		return q, err
	}
	q.As, err = d.c.Labels(d.e)
	return q, err
}

func (d *door) search(ctx context.Context, raw json.RawMessage) (any, error) {
	q, err := d.query(raw, "query")
	if err != nil {
		return nil, err
	}
	resp, err := d.e.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	return serve.NewSearchBody(resp), nil
}

func (d *door) answer(ctx context.Context, raw json.RawMessage) (any, error) {
	q, err := d.query(raw, "question")
	if err != nil {
		return nil, err
	}
	res, err := d.e.Ask(ctx, engine.AskQuery{Query: q})
	if err != nil {
		return nil, err
	}
	return serve.NewAnswerBody(res), nil
}

// SectionBody is a section as get_section returns it.
type SectionBody struct {
	Schema  string            `json:"schema"`
	Build   string            `json:"build"`
	Doc     corpus.DocumentID `json:"doc"`
	Section string            `json:"section"`
	Start   int               `json:"start"`
	End     int               `json:"end"`
	Text    string            `json:"text"`
}

func (d *door) section(ctx context.Context, raw json.RawMessage) (any, error) {
	doc, label, err := serve.ParseSection(arguments(raw))
	if err != nil {
		return nil, err
	}
	as, err := d.c.Labels(d.e)
	if err != nil {
		return nil, err
	}
	s, err := d.e.Section(ctx, corpus.DocumentID(doc), label, as)
	if err != nil {
		return nil, err
	}
	return SectionBody{"assay.section/v1", s.Build, s.Doc, s.Path, s.Start, s.End, s.Text}, nil
}

// Handler returns a handler of the streamable HTTP transport, to be mounted in a serve.Server:
// each request is answered with the labels of its own caller, since no session outlives it.
func Handler(e serve.Engine, o Options) http.Handler {
	o = o.withDefaults()
	return sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		return NewServer(e, serve.CallerFrom(r.Context()), o)
	}, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: o.Log,
		// The server around it checks Host and Origin, also for names that are not loopback's.
		DisableLocalhostProtection: true,
	})
}

// Stdio serves one client over in and out until it closes in or ctx ends. Nothing but messages
// of the protocol is written to out.
func Stdio(ctx context.Context, e serve.Engine, c serve.Caller, in io.ReadCloser, out io.WriteCloser, o Options) error {
	p := newPipe(ctx, in, out)
	err := NewServer(e, c, o).Run(ctx, &sdk.IOTransport{
		Reader: struct {
			io.Reader
			io.Closer
		}{p, in},
		Writer: struct {
			io.Writer
			io.Closer
		}{p, out},
	})
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
