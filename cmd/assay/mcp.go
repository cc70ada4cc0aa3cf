package main

import (
	"errors"
	"io"
	"log/slog"
	"net"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/mcp"
	"github.com/seed792a4543/assay/engine/serve"
)

type mcpCmd struct {
	callerFlags
	HTTP   string `name:"http" help:"Serve the streamable HTTP transport at /mcp of this address in place of standard input and output." placeholder:"HOST:PORT"`
	Tokens string `help:"File of tokens, for --http; every request then needs one." placeholder:"FILE"`
	Log    bool   `help:"Log to standard error."`
}

func (c *mcpCmd) Run(a *app) error {
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	if c.Log {
		log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	o := a.options(s)
	o.Log, o.Progress, o.WatchModel = log, nil, true
	caller := c.caller("mcp")
	auth := serve.AuthOptions{Local: &caller}
	if c.Tokens != "" {
		if c.HTTP == "" || len(c.As) > 0 || c.AllLabels {
			return usageError("--tokens goes with --http and without --as or --all-labels")
		}
		auth.Local = nil
	}
	if c.HTTP != "" && c.Tokens == "" && !serve.Loopback(c.HTTP) {
		return usageError("--http %s can be reached from other machines: that needs --tokens FILE", c.HTTP)
	}
	e, err := engine.Open(a.cli.Store, o)
	if err != nil {
		return err
	}
	if c.HTTP == "" {
		err = mcp.Stdio(a.ctx, e, caller, io.NopCloser(a.stdin), nopCloser{a.stdout}, mcp.Options{Log: log})
		return errors.Join(err, e.Close())
	}
	who, err := admission(a.ctx, c.Tokens, auth, log)
	if err != nil {
		return errors.Join(err, e.Close())
	}
	l, err := net.Listen("tcp", c.HTTP)
	if err == nil {
		a.warnf("serving MCP at http://%s/mcp\n", l.Addr())
		err = serve.New(e, serve.Options{Auth: who, Log: log, MCP: mcp.Handler(e, mcp.Options{Log: log})}).Serve(a.ctx, l)
	}
	return errors.Join(err, e.Close())
}

// nopCloser leaves standard output open for what closes after a session.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
