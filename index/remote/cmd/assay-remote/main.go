// Command assay-remote puts the builds of a store on a Weaviate cluster and stands the gate in
// front of it: build, eval, promote, rollback. Builds are made by assay; documents, golden sets,
// policies, verdicts and the ledger stay in the store.
//
// Results go to standard output, progress and warnings to standard error. Exit codes are those
// of assay: 0 done or accepted, 1 failed, 2 usage or bad input, 3 rejected, 4 inconclusive, 5
// invalid.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/report"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/remote"
	"github.com/seed792a4543/assay/index/remote/gate"
	"github.com/seed792a4543/assay/internal/command"
)

type cli struct {
	Store   string `help:"Folder of the store." default:".assay" placeholder:"DIR" env:"ASSAY_STORE"`
	Config  string `help:"Settings file of the project." short:"c" default:"assay.yaml" placeholder:"FILE"`
	Cluster string `help:"Settings file of the cluster: nodes, replication, shards, index." default:"cluster.yaml" placeholder:"FILE"`
	JSON    bool   `name:"json" help:"Print one JSON document instead of text."`
	Quiet   bool   `help:"No progress." short:"q"`

	Build    buildCmd    `cmd:"" help:"Put a build of the store on the cluster; nothing becomes live."`
	Eval     evalCmd     `cmd:"" help:"Ask the golden questions of a build on the cluster and decide whether it may go live."`
	Promote  promoteCmd  `cmd:"" help:"Make an accepted build live, in the store and by the cluster's alias."`
	Rollback rollbackCmd `cmd:"" help:"Make the build live again that was live before."`
	Search   searchCmd   `cmd:"" help:"Search the live build on the cluster."`
	Status   statusCmd   `cmd:"" help:"Members, builds, the live one, and whether its counts are right."`
	Drop     dropCmd     `cmd:"" help:"Remove a build from the cluster; the store keeps it."`
}

// settings is the cluster's file.
type settings struct {
	remote.Options `yaml:",inline"`
	KeyEnv         string `yaml:"key_env"` // name of the environment variable with the API key
	// Degraded is what a search does when members are missing: refuse (default), or mark, which
	// answers and says so. An evaluation always refuses.
	Degraded string `yaml:"degraded"`
}

type app struct {
	ctx            context.Context
	stdout, stderr io.Writer
	cli            *cli
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	type helped int
	c := &cli{}
	parser, err := kong.New(c,
		kong.Name("assay-remote"),
		kong.Description("The gate of assay in front of a Weaviate cluster."),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(helped(code)) }),
	)
	if err != nil {
		fmt.Fprintln(stderr, "assay-remote:", err)
		return command.Failed
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case helped:
			code = int(p)
		default:
			panic(p)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		err = command.Usage("%v: see `assay-remote --help`", err)
	} else {
		if c.Store == "" { // an empty ASSAY_STORE
			c.Store = ".assay"
		}
		err = kctx.Run(&app{ctx: ctx, stdout: stdout, stderr: stderr, cli: c})
	}
	return command.Finish(stderr, "assay-remote", err, exitCode)
}

// exitCode is the exit code of a failed command.
func exitCode(err error) int {
	var path *fs.PathError
	switch {
	case errors.Is(err, engine.ErrInput), errors.Is(err, engine.ErrNoBuild), errors.As(err, &path) && errors.Is(err, fs.ErrNotExist),
		errors.Is(err, remote.ErrNoCollection), errors.Is(err, remote.ErrMismatch):
		return command.BadUsage
	case errors.Is(err, engine.ErrNotAccepted):
		return command.Rejected
	case errors.Is(err, engine.ErrInvalid):
		return command.Invalid
	}
	return command.Failed
}

// open opens the store in front of the cluster.
func (a *app) open() (*gate.Gate, engine.Settings, *settings, error) {
	var s engine.Settings
	loaded, err := engine.LoadSettings(a.cli.Config)
	switch {
	case err == nil:
		s = loaded
	case !errors.Is(err, fs.ErrNotExist) || a.cli.Config != "assay.yaml":
		return nil, s, nil, command.Usage("%v", err)
	}
	data, err := os.ReadFile(a.cli.Cluster)
	if err != nil {
		return nil, s, nil, fmt.Errorf("settings of the cluster: %w", err)
	}
	cs := &settings{}
	if err := yaml.UnmarshalWithOptions(data, cs, yaml.Strict()); err != nil {
		return nil, s, nil, command.Usage("%s:%s", a.cli.Cluster, strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if cs.Degraded != "" && cs.Degraded != "refuse" && cs.Degraded != "mark" {
		return nil, s, nil, command.Usage("%s: degraded is %q: use refuse or mark", a.cli.Cluster, cs.Degraded)
	}
	if cs.KeyEnv != "" {
		if cs.Key = os.Getenv(cs.KeyEnv); cs.Key == "" {
			return nil, s, nil, command.Usage("%s: key_env: environment variable %s is not set", a.cli.Cluster, cs.KeyEnv)
		}
	}
	if !a.cli.Quiet {
		var last atomic.Int64
		cs.Progress = func(done, total int) {
			if tenth := int64(done * 10 / max(total, 1)); last.Swap(tenth) != tenth {
				fmt.Fprintf(a.stderr, "written %d of %d chunks\n", done, total)
			}
		}
	}
	cluster, err := remote.Connect(cs.Options)
	if err != nil {
		return nil, s, nil, command.Usage("%s: %v", a.cli.Cluster, err)
	}
	o := engine.Options{Getenv: os.Getenv, Embed: &s.Embed, Degrade: cs.Degraded == "mark"}
	g, err := gate.Open(a.ctx, a.cli.Store, cluster, o)
	return g, s, cs, err
}

func (a *app) printf(format string, args ...any) {
	fmt.Fprint(a.stdout, command.Shown(fmt.Sprintf(format, args...)))
}

// with opens the gate, runs f and closes it.
func (a *app) with(f func(g *gate.Gate, s engine.Settings) error) error {
	g, s, _, err := a.open()
	if err != nil {
		return err
	}
	return errors.Join(f(g, s), g.Close())
}

type buildCmd struct {
	Build string `arg:"" optional:"" help:"Build of the store (default: the newest)."`
}

func (c *buildCmd) Run(a *app) error {
	return a.with(func(g *gate.Gate, _ engine.Settings) error {
		id, err := g.Engine.DefaultBuild(c.Build)
		if err != nil {
			return err
		}
		id, res, err := g.Build(a.ctx, id)
		if err != nil {
			return err
		}
		if a.cli.JSON {
			return command.WriteJSON(a.stdout, struct {
				Schema  string `json:"schema"`
				Build   string `json:"build"`
				Chunks  int    `json:"chunks"`
				Existed bool   `json:"existed"`
				Retried int    `json:"retried"`
			}{"assay.remote.build/v1", id, res.Chunks, res.Existed, res.Retried})
		}
		note := ""
		if res.Existed {
			note = ", which was complete before"
		}
		a.printf("build %s: %d chunks in collection %s%s\nnext: assay-remote eval %s\n", id, res.Chunks, g.Cluster.Collection(id), note, id)
		return nil
	})
}

type evalCmd struct {
	Build      string `arg:"" optional:"" help:"Build to evaluate (default: the newest)."`
	Golden     string `help:"Golden set (default: the one the settings name)." placeholder:"FILE"`
	Split      string `default:"dev" help:"dev, holdout or all. Looks at the holdout are recorded."`
	NoSelfTest bool   `help:"Do not test whether the gate would notice a broken build."`
}

func (c *evalCmd) Run(a *app) error {
	return a.with(func(g *gate.Gate, s engine.Settings) error {
		path := c.Golden
		if path == "" {
			path = s.Golden
		}
		if path == "" {
			path = "golden.yaml"
		}
		set, err := golden.Load(path)
		if err != nil {
			return command.Usage("%v", err)
		}
		id, err := g.Engine.DefaultBuild(c.Build)
		if err != nil {
			return err
		}
		policy := s.Policy
		if policy == nil {
			policy = engine.DefaultPolicy()
		}
		val, err := g.Validate(a.ctx, id, set, policy, engine.ValidateOptions{
			EvalOptions: engine.EvalOptions{Split: c.Split, AllowInCorpus: s.Corpus.AllowGolden},
			NoSelfTest:  c.NoSelfTest, Who: command.Who(""), Questions: a.cli.JSON,
		})
		if err != nil {
			return err
		}
		if a.cli.JSON {
			err = command.WriteJSON(a.stdout, struct {
				Schema   string            `json:"schema"`
				Settings map[string]string `json:"settings"`
				Run      string            `json:"run"`
				Verdict  any               `json:"verdict"`
				Eval     any               `json:"evaluation"`
			}{"assay.remote.eval/v1", val.Record.Settings, val.Run, val.Verdict, val.Candidate.Evaluation})
		} else {
			a.printf("on the cluster: %s index, shards %s, replication %s\n",
				val.Record.Settings["external.index"], val.Record.Settings["external.shards"], val.Record.Settings["external.replication"])
			err = report.Text(a.stdout, report.Data{Verdict: val.Verdict, Evaluation: val.Candidate.Evaluation, Golden: set})
		}
		if err == nil {
			if code := val.Verdict.ExitCode(); code != 0 {
				return &command.Exit{Code: code}
			}
		}
		return err
	})
}

type promoteCmd struct {
	Build    string `arg:"" optional:"" help:"Build to make live (default: the newest)."`
	Override bool   `help:"Make it live without an acceptance; needs --why."`
	Who      string `help:"Who decides (default: the user name)." placeholder:"NAME"`
	Why      string `help:"The reason, kept in the ledger." placeholder:"TEXT"`
}

func (c *promoteCmd) Run(a *app) error {
	return a.with(func(g *gate.Gate, _ engine.Settings) error {
		id, err := g.Engine.DefaultBuild(c.Build)
		if err != nil {
			return err
		}
		changed, err := g.Promote(a.ctx, id, engine.PromoteOptions{Override: c.Override, Reason: engine.Reason{Who: command.Who(c.Who), Why: c.Why}})
		if err != nil {
			return err
		}
		return a.printLive(g, id, changed)
	})
}

func (a *app) printLive(g *gate.Gate, id string, changed bool) error {
	if a.cli.JSON {
		return command.WriteJSON(a.stdout, struct {
			Schema  string `json:"schema"`
			Live    string `json:"live"`
			Alias   string `json:"alias"`
			Changed bool   `json:"changed"`
		}{"assay.remote.live/v1", id, g.Cluster.Alias(), changed})
	}
	a.printf("live build is now %s: alias %s names %s\n", id, g.Cluster.Alias(), g.Cluster.Collection(id))
	return nil
}

type rollbackCmd struct {
	To  string `help:"Build to make live; default: the one that was live before." placeholder:"ID"`
	Who string `help:"Who decides (default: the user name)." placeholder:"NAME"`
	Why string `help:"The reason, kept in the ledger." placeholder:"TEXT"`
}

func (c *rollbackCmd) Run(a *app) error {
	return a.with(func(g *gate.Gate, _ engine.Settings) error {
		id, err := g.Rollback(a.ctx, c.To, engine.Reason{Who: command.Who(c.Who), Why: c.Why})
		if err != nil {
			return err
		}
		return a.printLive(g, id, true)
	})
}

type searchCmd struct {
	Query []string `arg:"" help:"What to search for."`
	K     int      `short:"k" default:"10" help:"Hits."`
	As    []string `help:"Permission labels of the caller." placeholder:"LABEL,..."`
	Mode  string   `help:"hybrid, vector or lexical (default: the build's)."`
}

func (c *searchCmd) Run(a *app) error {
	if c.K < 1 {
		return command.Usage("-k is %d: it must be at least 1", c.K)
	}
	return a.with(func(g *gate.Gate, _ engine.Settings) error {
		resp, err := g.Engine.Query(a.ctx, engine.Query{Text: strings.Join(c.Query, " "), K: c.K, As: c.As, Mode: c.Mode})
		if err != nil {
			return err
		}
		for _, n := range resp.Notes {
			fmt.Fprintln(a.stderr, command.Shown("note: "+n))
		}
		if a.cli.JSON {
			hits := resp.Hits
			if hits == nil {
				hits = []index.Hit{}
			}
			return command.WriteJSON(a.stdout, struct {
				Schema   string      `json:"schema"`
				Build    string      `json:"build"`
				Query    string      `json:"query"`
				Degraded bool        `json:"degraded"`
				Hits     []index.Hit `json:"hits"`
			}{"assay.search/v1", resp.Build, resp.Query, resp.Degraded, hits})
		}
		for _, h := range resp.Hits {
			a.printf("%2d  %.4f  %s\n", h.Rank, h.Score, command.OneLine(string(h.Chunk)+"  "+h.Section, 120))
		}
		if len(resp.Hits) == 0 {
			a.printf("no hits\n")
		}
		return nil
	})
}

type statusCmd struct{}

func (c *statusCmd) Run(a *app) error {
	return a.with(func(g *gate.Gate, _ engine.Settings) error {
		members, err := g.Cluster.Members(a.ctx)
		if err != nil {
			return err
		}
		builds, err := g.Cluster.Builds(a.ctx)
		if err != nil {
			return err
		}
		live, err := g.Cluster.Live(a.ctx)
		if err != nil {
			return err
		}
		here, err := g.Engine.LiveID()
		if err != nil {
			return err
		}
		var fault string
		if live != "" {
			if err := g.Sound(a.ctx, live); err != nil {
				fault = err.Error()
			}
		}
		if live != here {
			fault = strings.TrimPrefix(fault+"; the store's live build is "+here+": `assay-remote promote` completes an interrupted promotion; a build promoted by assay alone needs `assay-remote build` and `eval` first", "; ")
		}
		if a.cli.JSON {
			err = command.WriteJSON(a.stdout, struct {
				Schema  string          `json:"schema"`
				Members []remote.Member `json:"members"`
				Builds  []string        `json:"builds"`
				Live    string          `json:"live"`
				Fault   string          `json:"fault"`
			}{"assay.remote.status/v1", members, builds, live, fault})
		} else {
			for _, m := range members {
				a.printf("node %s %s\n", m.Name, strings.ToLower(m.Status))
			}
			for _, b := range builds {
				mark := ""
				if b == live {
					mark = " live"
				}
				a.printf("build %s%s\n", b, mark)
			}
		}
		if err == nil && fault != "" {
			return &command.Exit{Code: command.Failed, Message: fault}
		}
		return err
	})
}

type dropCmd struct {
	Build string `arg:"" help:"Build to remove from the cluster."`
}

func (c *dropCmd) Run(a *app) error {
	return a.with(func(g *gate.Gate, _ engine.Settings) error {
		if err := g.Cluster.Drop(a.ctx, c.Build); err != nil {
			return err
		}
		a.printf("build %s is no longer on the cluster\n", c.Build)
		return nil
	})
}
