package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/mcp"
	"github.com/seed792a4543/assay/engine/pages"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/evalkit/golden"
)

type serveCmd struct {
	Run   serveRunCmd   `cmd:"" default:"withargs" help:"Serve the live build: JSON API, chat, MCP at /mcp, review pages at /."`
	Token serveTokenCmd `cmd:"" help:"Make a token and the entry of the tokens file that admits it."`
}

// callerFlags say what a caller without a token may see.
type callerFlags struct {
	As        []string `help:"Permission labels of callers without a token." placeholder:"LABEL,..."`
	AllLabels bool     `help:"Callers without a token hold every label there is: for the owner of the documents, on this machine."`
}

func (f callerFlags) caller(name string) serve.Caller {
	return serve.Caller{Name: name, As: f.As, All: f.AllLabels}
}

type serveRunCmd struct {
	Addr string `help:"Address to listen on. Beyond loopback --tokens is needed." default:"127.0.0.1:8080" placeholder:"HOST:PORT"`
	callerFlags
	Tokens        string        `help:"File of tokens; every request then needs one." placeholder:"FILE"`
	Host          []string      `help:"Further names by which clients may call the server." placeholder:"NAME,..."`
	Golden        string        `help:"Golden set (default: the settings')." placeholder:"FILE"`
	Review        string        `help:"File that review decisions are saved to." default:"review.yaml" placeholder:"FILE"`
	Who           string        `help:"Who reviews, where no token names a person; default: the user name." placeholder:"NAME"`
	Degrade       bool          `help:"Answer from words alone when the embedding server fails; such responses say so."`
	MaxInFlight   int           `help:"Requests at work at a time; more get 503." default:"256" placeholder:"N"`
	SearchTimeout time.Duration `help:"Of one search." default:"10s"`
	AnswerTimeout time.Duration `help:"Of one answer." default:"2m"`
	LogFormat     string        `help:"text or json, on standard error." enum:"text,json" default:"text"`
	LogQueries    bool          `help:"Log the text of queries too."`
}

func (c *serveRunCmd) Run(a *app) error {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return usageError("--addr %s is no address: write HOST:PORT, such as 127.0.0.1:8080", c.Addr)
	}
	local := c.caller("local")
	auth := serve.AuthOptions{}
	if c.Tokens != "" {
		if len(c.As) > 0 || c.AllLabels {
			return usageError("--as and --all-labels are for callers without a token, and with --tokens there are none: give the labels to the tokens")
		}
	} else {
		if !serve.Loopback(c.Addr) {
			return usageError("--addr %s can be reached from other machines: that needs --tokens FILE (make one with `assay serve token NAME --tokens FILE`)", c.Addr)
		}
		session, _, err := serve.NewToken("session", nil, false, true)
		if err != nil {
			return err
		}
		local.Name = who(c.Who)
		auth.Local, auth.Session = &local, session
	}
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	var handler slog.Handler = slog.NewTextHandler(a.stderr, nil)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(a.stderr, nil)
	}
	log := slog.New(handler)
	o := a.options(s)
	o.Degrade, o.Log, o.Progress, o.WatchModel = c.Degrade, log, nil, true
	e, err := engine.Open(a.cli.Store, o)
	if err != nil {
		return err
	}
	return errors.Join(c.serve(a, e, s, auth, log), e.Close())
}

// admission makes the Auth of a server: by the tokens file, if there is one, which is read again
// when it changes and when the process is told to by SIGHUP.
func admission(ctx context.Context, file string, o serve.AuthOptions, log *slog.Logger) (*serve.Auth, error) {
	if file == "" {
		return serve.NewAuth(o), nil
	}
	auth, err := serve.OpenAuth(file, o, log)
	if err != nil {
		return nil, usageError("tokens: %v", err)
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hup)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				_ = auth.Reload() // what is wrong is logged
			}
		}
	}()
	return auth, nil
}

func (c *serveRunCmd) serve(a *app, e *engine.Engine, s engine.Settings, auth serve.AuthOptions, log *slog.Logger) error {
	who, err := admission(a.ctx, c.Tokens, auth, log)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return err
	}
	srv := serve.New(e, serve.Options{
		Auth: who, Hosts: c.Host, MaxInFlight: c.MaxInFlight,
		SearchTimeout: c.SearchTimeout, AnswerTimeout: c.AnswerTimeout,
		Log: log, LogQueries: c.LogQueries,
		Digests: func() (string, string, error) { return digests(a, c.Golden, s) },
		MCP:     mcp.Handler(e, mcp.Options{Log: slog.New(slog.DiscardHandler)}),
		Pages:   pages.New(e, pages.Options{Auth: who, Golden: func() (*golden.Set, error) { return optionalGolden(a, c.Golden, s) }, Policy: policyOf(s), Review: c.Review, Log: log}),
	})
	if err := a.storeExists(); err != nil { // serving goes on: nothing is lost by it
		a.warnf("warning: %v\n", err)
	}
	url := "http://" + l.Addr().String()
	a.warnf("serving %s at %s\n", relative(a.cli.Store), url)
	if auth.Session != "" {
		a.warnf("to review and promote, open %s/login?token=%s\n", url, auth.Session)
	}
	if !serve.Loopback(c.Addr) {
		a.warnf("warning: requests travel unencrypted: put a proxy with TLS in front\n")
	}
	return srv.Serve(a.ctx, l)
}

// optionalGolden loads the golden set that the settings name; nil if there is none.
func optionalGolden(a *app, flag string, s engine.Settings) (*golden.Set, error) {
	if flag == "" && s.Golden == "" {
		if _, err := os.Stat("golden.yaml"); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return a.goldenSet(flag, s)
}

// digests are those a promotion must match.
func digests(a *app, flag string, s engine.Settings) (goldenDigest, policyDigest string, err error) {
	set, err := optionalGolden(a, flag, s)
	if err != nil || set == nil {
		return "", "", err
	}
	return set.Digest(), policyOf(s).Digest(), nil
}

type serveTokenCmd struct {
	Name      string   `arg:"" help:"Whom the token is for; logs and the ledger show it."`
	As        []string `help:"Permission labels of its holder." placeholder:"LABEL,..."`
	AllLabels bool     `help:"Its holder has every label there is."`
	Admin     bool     `help:"Its holder may promote builds and save review decisions."`
	Tokens    string   `help:"File to add the entry to." required:"" placeholder:"FILE"`
}

func (c *serveTokenCmd) Run(a *app) error {
	var entries []serve.Token
	data, err := os.ReadFile(c.Tokens)
	switch {
	case err == nil:
		if entries, err = serve.ParseTokens(c.Tokens, data); err != nil {
			return usageError("%v", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	token, entry, err := serve.NewToken(strings.TrimSpace(c.Name), c.As, c.AllLabels, c.Admin)
	if err != nil {
		return usageError("%v", err)
	}
	out, err := serve.EncodeTokens(append(entries, entry))
	if err != nil {
		return err
	}
	if _, err := serve.ParseTokens(c.Tokens, out); err != nil {
		return usageError("%v", err)
	}
	// Hashes of random tokens give nothing away, but who may see what is nobody else's business.
	if err := replaceFile(c.Tokens, func(f *os.File) error { _, err := f.Write(out); return err }); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	a.warnf("added %s to %s; the token is shown this once:\n", entry.Name, c.Tokens)
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema string `json:"schema"`
			Name   string `json:"name"`
			Token  string `json:"token"`
		}{"assay.token/v1", entry.Name, token})
	}
	a.printf("%s\n", token)
	return nil
}
