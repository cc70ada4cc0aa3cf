// Command assay builds, evaluates, promotes and serves hybrid search indexes. A build goes
// live only after it has passed an evaluation against a golden question set.
//
// Results go to standard output, progress and warnings to standard error. Exit codes: 0 done
// or accepted, 1 failed, 2 usage or bad input, 3 rejected, 4 inconclusive, 5 invalid.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/pdf"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/internal/command"
)

// Exit codes, the same in every output format.
const (
	exitOK           = command.OK
	exitFailed       = command.Failed
	exitUsage        = command.BadUsage
	exitRejected     = command.Rejected
	exitInconclusive = command.Inconclusive
	exitInvalid      = command.Invalid
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// defaultStore is the folder of the store unless the user names another.
const defaultStore = ".assay"

// cli is the whole command line.
type cli struct {
	Store  string `help:"Folder of the store." default:".assay" placeholder:"DIR" env:"ASSAY_STORE"`
	Config string `help:"Settings file (default: assay.yaml, if it is there)." short:"c" placeholder:"FILE"`
	JSON   bool   `name:"json" help:"Print one JSON document instead of text."`
	Quiet  bool   `help:"No progress." short:"q"`

	commands
}

// app is what every command works with.
type app struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	cli            *cli
	fresh          bool // build --fresh
}

// exitError is an outcome that is no failure of the program.
type exitError = command.Exit

func usageError(format string, args ...any) error { return command.Usage(format, args...) }

// errKongExit is how kong's --help ends a run without ending the process.
type errKongExit int

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	c := &cli{}
	parser, err := kong.New(c,
		kong.Name("assay"),
		kong.Description("Hybrid search whose index builds go live only after they pass your golden questions."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(errKongExit(code)) }),
	)
	if err != nil {
		fmt.Fprintln(stderr, "assay:", err)
		return exitFailed
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case errKongExit:
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
		hint := "see `assay --help`"
		if strings.HasPrefix(err.Error(), "unexpected argument") {
			hint = "put words that belong together in quotes, or " + hint
		}
		fmt.Fprintf(stderr, "assay: %s: %s\n", shown(err.Error()), hint)
		return exitUsage
	}
	if c.Store == "" { // an empty ASSAY_STORE
		c.Store = defaultStore
	}
	out := &command.Output{W: stdout}
	a := &app{ctx: ctx, stdin: stdin, stdout: out, stderr: stderr, cli: c}
	err = kctx.Run(a)
	var exit *exitError
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, &exit) {
		err = &exitError{Code: exitFailed, Message: "interrupted: the live build is what it was; run the command again"}
	}
	if out.Err != nil {
		unwritten := fmt.Errorf("the result could not be written: %w", out.Err)
		if err == nil {
			return finish(stderr, unwritten)
		}
		a.warnf("assay: %v\n", unwritten)
	}
	return finish(stderr, err)
}

// finish prints err, if it has something to say, and returns the exit code it stands for.
func finish(stderr io.Writer, err error) int {
	return command.Finish(stderr, "assay", err, func(err error) int {
		var path *fs.PathError
		switch {
		case errors.Is(err, engine.ErrInput), errors.Is(err, engine.ErrNoBuild),
			errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
			return exitUsage
		case errors.Is(err, engine.ErrInvalid):
			return exitInvalid
		}
		return exitFailed
	})
}

// settings reads the settings file: the one named by --config, else assay.yaml in the working
// folder. Without either it returns the defaults and found is false.
func (a *app) settings() (s engine.Settings, found bool, err error) {
	path := a.cli.Config
	if path == "" {
		path = engine.ConfigName
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			s.Corpus.Readers = moreReaders()
			return s, false, nil
		}
	}
	s, err = engine.LoadSettings(path)
	s.Corpus.Readers = moreReaders()
	return s, true, err
}

// moreReaders returns the readers of formats that the library does not carry by itself. What they
// hold is given back when the process ends.
func moreReaders() []corpus.Reader {
	var o pdf.Options
	if dir, err := os.UserCacheDir(); err == nil {
		o.CacheDir = filepath.Join(dir, "assay", "pdfium")
	}
	return []corpus.Reader{pdf.New(o).Reader()}
}

// open opens the store with what the settings say about embedding servers.
func (a *app) open(s engine.Settings) (*engine.Engine, error) {
	return engine.Open(a.cli.Store, a.options(s))
}

// openFor opens the store for a question to the named build, or to the live one. A live build
// that cannot be opened does not stand in the way of another.
func (a *app) openFor(build string) (*engine.Engine, error) {
	s, _, err := a.settings()
	if err != nil {
		return nil, err
	}
	e, err := a.open(s)
	if err != nil && build != "" && recoverable(err) {
		return a.openWithoutLive(s)
	}
	return e, err
}

func (a *app) options(s engine.Settings) engine.Options {
	o := engine.Options{Getenv: os.Getenv, Progress: a.progress(), Log: a.log(), Answer: &s.Answer, Fresh: a.fresh}
	if s.Embed.Kind != "" {
		o.Embed = &s.Embed
	}
	return o
}

// storeExists returns a usage error if there is no store yet.
func (a *app) storeExists() error {
	if _, err := os.Stat(a.cli.Store); errors.Is(err, fs.ErrNotExist) {
		return usageError("there is no store %s: make one with `%s`", a.cli.Store, a.command("build"))
	}
	return nil
}

// existing opens a store that must be there, without its live build.
func (a *app) existing() (*engine.Engine, error) {
	if err := a.storeExists(); err != nil {
		return nil, err
	}
	s, _, err := a.settings()
	if err != nil {
		return nil, err
	}
	return a.openWithoutLive(s)
}

// who names the person responsible: the flag, else the user of the system.
func who(flag string) string { return command.Who(flag) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// printJSON writes one JSON document; it is encoded whole before the first byte is written.
func (a *app) printJSON(v any) error { return command.WriteJSON(a.stdout, v) }

func (a *app) printf(format string, args ...any) {
	fmt.Fprint(a.stdout, shown(fmt.Sprintf(format, args...)))
}

func (a *app) warnf(format string, args ...any) {
	fmt.Fprint(a.stderr, shown(fmt.Sprintf(format, args...)))
}

// shown makes text from documents safe for a terminal.
func shown(s string) string { return command.Shown(s) }

// oneLine is shown on a single line of at most n characters.
func oneLine(s string, n int) string { return command.OneLine(s, n) }

// relative shortens a path below the working folder for printing.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}

// writeLines writes one JSON document a line to a new file.
func writeLines[T any](path string, items []T) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usageError("%s is already there: name another file", filepath.Base(path))
	}
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	for _, it := range items {
		if err := enc.Encode(it); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
