package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

type goldenReviewCmd struct {
	A string `arg:"" optional:"" default:"live" help:"Base build."`
	B string `arg:"" optional:"" help:"Candidate (default: the newest build)."`
	evalFlags
	File string `help:"Review file (default: review.yaml beside the golden set)." placeholder:"FILE"`
	Who  string `help:"Who decides (default: the user name)." placeholder:"NAME"`
	List bool   `help:"Only list what is undecided, and the scores before and after."`

	Answers bool     `help:"Walk the answers of the base build in place of the flips, in an order drawn from --seed; the file is answers-review.json beside the golden set."`
	Flagged bool     `help:"With --answers: only answers that a metric doubts. They are no random sample."`
	Decide  []string `help:"With --answers: decide without being asked, ID=KEY with a key of the walk." placeholder:"ID=KEY,..."`
	Why     string   `help:"Reason of the decisions of --decide." placeholder:"TEXT"`
}

const reviewKeys = "[r]egression  [i]mprovement  [t]ie  [l]abel wrong  [m]etric wrong  [s]kip  [q]uit"

func (c *goldenReviewCmd) Run(a *app) error {
	s, o, set, err := c.load(a)
	if err != nil {
		return err
	}
	if c.Answers {
		return c.answers(a, s, set)
	}
	if c.Flagged || c.Decide != nil || c.Why != "" {
		return usageError("--flagged, --decide and --why belong to --answers")
	}
	path := c.File
	if path == "" {
		path = filepath.Join(filepath.Dir(set.Path), "review.yaml")
	}
	file, err := review.Load(path)
	if err != nil {
		return fileError(err)
	}
	file.Path = path
	e, err := a.existing()
	if err != nil {
		return err
	}
	return errors.Join(c.review(a, e, s, o, set, file), e.Close())
}

func (c *goldenReviewCmd) review(a *app, e *engine.Engine, s engine.Settings, o engine.EvalOptions, set *golden.Set, file *review.File) error {
	candidate, err := e.DefaultBuild(c.B)
	if err != nil {
		return err
	}
	base, err := e.Resolve(c.A)
	if err != nil {
		return err
	}
	policy := policyOf(s)
	cmp, err := e.Compare(a.ctx, base, candidate, set, policy, o, false)
	if err != nil {
		return err
	}
	pending := review.Pending(cmp, file)
	if c.List && a.cli.JSON {
		return a.printJSON(struct {
			Schema    string         `json:"schema"`
			A         string         `json:"a"`
			B         string         `json:"b"`
			Primary   string         `json:"primary"`
			Changed   int            `json:"changed"`
			Undecided []verdict.Flip `json:"undecided"`
		}{"assay.review/v1", base, candidate, policy.Primary, len(cmp.Flips), append([]verdict.Flip{}, pending...)})
	}
	a.printf("%d questions changed, %d undecided (review file %s)\n", len(cmp.Flips), len(pending), relative(file.Path))
	if c.List {
		for i := range pending {
			a.printf("  %s\n", oneLine(pending[i].Headline(), 500))
		}
	} else {
		w := &walk{app: a, file: file, in: bufio.NewReader(a.stdin), who: who(c.Who), builds: []string{base, candidate}, golden: set, primary: policy.Primary}
		if err := w.all(pending); err != nil {
			return err
		}
	}
	res, err := e.Rescore(a.ctx, base, candidate, set, o, file)
	if err != nil {
		return err
	}
	a.printf("\n%s", shown(res.Table(policy.Primary)))
	return nil
}

// walk asks a person about one flip after the other and saves each decision at once.
type walk struct {
	*app
	file    *review.File
	in      *bufio.Reader
	who     string
	builds  []string
	golden  *golden.Set
	primary string
}

// errQuit ends the walk; what was decided is kept.
var errQuit = errors.New("quit")

func (w *walk) all(flips []verdict.Flip) error {
	for i := range flips {
		one := verdict.Comparison{A: w.builds[0], B: w.builds[1], Primary: w.primary, Flips: flips[i : i+1]}
		w.printf("\n%s", shown(one.FlipText()))
		if err := w.decide(&flips[i]); errors.Is(err, errQuit) || errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) line(prompt string) (string, error) { return ask(w.app, w.in, prompt) }

// ask prints a prompt and reads a line.
func ask(a *app, in *bufio.Reader, prompt string) (string, error) {
	a.printf("%s ", prompt)
	text, err := in.ReadString('\n')
	if err != nil && text == "" {
		return "", err
	}
	return strings.TrimSpace(text), nil
}

func (w *walk) decide(f *verdict.Flip) error {
	for {
		key, err := w.line(reviewKeys + ":")
		if err != nil {
			return err
		}
		d := review.Decision{
			Question: f.Question, Author: w.who, Builds: w.builds,
			Golden: w.golden.Digest(), Date: time.Now().Format(time.DateOnly),
		}
		switch strings.ToLower(key) {
		case "r":
			d.Decision = review.Regression
		case "i":
			d.Decision = review.Improvement
		case "t":
			d.Decision = review.Tie
		case "l":
			d.Decision = review.LabelWrong
			err = w.label(&d)
		case "m":
			d.Decision = review.MetricWrong
			err = w.metric(&d)
		case "s", "":
			return nil
		case "q":
			return errQuit
		default:
			w.printf("%q is none of them\n", key)
			continue
		}
		if err != nil {
			return err
		}
		if d.Reason, err = w.line("reason:"); err != nil {
			return err
		}
		if err := w.file.Add(d); err != nil {
			w.printf("not kept: %v\n", err)
			continue
		}
		return w.file.Save(w.file.Path)
	}
}

// label asks how the golden set is to be mended.
func (w *walk) label(d *review.Decision) error {
	text, err := w.line("retire, add DOC > SECTION, or remove DOC > SECTION:")
	if err != nil {
		return err
	}
	verb, rest, _ := strings.Cut(text, " ")
	doc, section, has := strings.Cut(strings.TrimSpace(rest), " > ")
	place := review.Place{Doc: corpus.DocumentID(doc)}
	if has {
		place.Section = &section
	}
	switch verb {
	case "retire":
		d.Retire = true
	case "add":
		d.Add = []review.Place{place}
	case "remove":
		d.Remove = []review.Place{place}
	}
	return nil
}

// metric asks for the right values of the primary measure.
func (w *walk) metric(d *review.Decision) error {
	d.Measure, d.Values = w.primary, map[string]float64{}
	for _, b := range w.builds {
		text, err := w.line(fmt.Sprintf("right value of %s for build %s:", w.primary, b))
		if err != nil {
			return err
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			w.printf("%q is no number\n", text)
			continue
		}
		d.Values[b] = v
	}
	return nil
}
