package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/index"
)

type buildCmd struct {
	corpusFlags
	Fresh bool `help:"Take nothing over from the build made before; the result is the same, later."`
}

// corpusFlags choose the documents; they override the settings file.
type corpusFlags struct {
	Corpus string `help:"Folder of documents." placeholder:"DIR"`
}

// configured returns the settings with the flags applied, and the documents they name.
func (f *corpusFlags) configured(a *app) (engine.Settings, corpus.Source, error) {
	s, found, err := a.settings()
	if err != nil {
		return s, nil, err
	}
	if f.Corpus != "" {
		s.Corpus.Path = f.Corpus
	}
	if s.Corpus.Path == "" {
		if !found {
			return s, nil, usageError("there is no %s here and no --corpus: run `assay init` in your folder of documents, or name it with --corpus DIR", engine.ConfigName)
		}
		return s, nil, usageError("the settings name no corpus: set corpus.path, or pass --corpus DIR")
	}
	return s, s.Source(), nil
}

type buildJSON struct {
	Schema   string          `json:"schema"`
	Build    string          `json:"build"`
	Existed  bool            `json:"existed"`
	Reused   int             `json:"reused"` // documents taken over from the build made before
	Manifest *index.Manifest `json:"manifest"`
}

func (c *buildCmd) Run(a *app) error {
	s, source, err := c.configured(a)
	if err != nil {
		return err
	}
	a.fresh = c.Fresh
	e, err := a.open(s)
	if err != nil && !recoverable(err) {
		return err
	}
	if err != nil {
		a.warnf("assay: warning: %v\n", err)
		if e, err = a.openWithoutLive(s); err != nil {
			return err
		}
	}
	b, err := e.Build(a.ctx, source, s)
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	a.warnGoldenInCorpus(s, b.Documents)
	if a.cli.JSON {
		return a.printJSON(buildJSON{"assay.build/v1", b.ID, b.Existed, b.Reused, b.Manifest})
	}
	a.printBuild(b)
	a.printf("next: %s\n", a.command("eval", b.ID))
	return nil
}

// warnGoldenInCorpus warns of documents that hold golden questions word for word: the evaluation
// will refuse them, and who only builds should learn of it now.
func (a *app) warnGoldenInCorpus(s engine.Settings, docs *corpus.Collection) {
	path := s.Golden
	if path == "" {
		path = "golden.yaml"
	}
	set, err := golden.Load(path)
	if err != nil || docs == nil {
		return // the evaluation says what is wrong with the set
	}
	for _, f := range golden.InCorpus(set, docs) {
		a.warnf("warning: %s\n", shown(f.Message))
	}
}

// recoverable reports whether a store whose live build cannot be opened can still be built in.
func recoverable(err error) bool {
	return errors.Is(err, index.ErrCorrupt) || errors.Is(err, index.ErrEmbedder) || errors.Is(err, index.ErrFormat)
}

func (a *app) printBuild(b *engine.Build) {
	c := b.Manifest.Counts
	state := "built"
	if b.Existed {
		state = "already there, nothing to do"
	}
	kept := ""
	if b.Reused > 0 && !b.Existed {
		kept = fmt.Sprintf(" (%d as they were)", b.Reused)
	}
	a.printf("build %s: %s: %d documents%s, %d chunks\n", b.ID, state, c.Documents, kept, c.Chunks)
	for _, sk := range b.Manifest.Corpus.Skipped {
		a.warnf("skipped %s: %s\n", shown(sk.Path), shown(sk.Reason))
	}
	for _, w := range b.Manifest.Warnings {
		a.warnf("warning: %s\n", shown(w))
	}
}

// command is a command line of this program as the user can type it, with the flags that this
// call was given.
func (a *app) command(args ...string) string {
	out := "assay"
	if a.cli.Store != defaultStore {
		out += " --store " + quoteArg(a.cli.Store)
	}
	if a.cli.Config != "" {
		out += " --config " + quoteArg(a.cli.Config)
	}
	for _, arg := range args {
		out += " " + quoteArg(arg)
	}
	return out
}

func quoteArg(s string) string {
	for _, r := range s {
		if !(r == '-' || r == '.' || r == '/' || r == '_' || r == ':' || r == '\\' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

type initCmd struct {
	Dir string `arg:"" optional:"" default:"." help:"Folder of documents." type:"path"`
}

const starterSettings = `# Settings of assay. Every key may be left out; the values shown are the defaults.
corpus:
  path: .
  include: ["**/*.md", "**/*.txt"]
  exclude: ["README.md"]

# How documents are cut. kind: section (by heading) or fixed (by size). Sizes are in runes.
chunk: {kind: section, max: 900, level: 2}

# The built-in embedder needs no network. For an OpenAI-compatible server:
# embed: {kind: openai, url: "http://localhost:11434/v1", model: nomic-embed-text}
embed: {kind: builtin}

lexical: {analyzer: auto, k1: 1.2, b: 0.75}

# mode: hybrid, vector or lexical. fusion: weighted (by scores) or rrf (by ranks).
hybrid: {mode: hybrid, fusion: weighted, dense: 0.3, depth: 100}

# The questions that a build must answer before it may go live.
golden: golden.yaml

# When a build is accepted: not worse than the live one by more than the margin.
policy: {primary: hit@3, margin: 0.10, critical: 0, leaks: 0}
`

const starterGolden = `# Golden questions: what your users ask, and where the answer stands.
# Write them as your users would, not with the words of the documents.
# Then check them with: assay golden lint
schema: assay.golden/v1
name: %s
version: 1
questions:
  - id: q001
    question: ` + golden.Placeholder + `a question that your documents answer
    answerable: true
    gold:
      - {doc: %q, section: %q}
  - id: q002
    question: ` + golden.Placeholder + `a second question
    answerable: true
    gold:
      - {doc: %q, section: %q}
  - id: q003
    question: ` + golden.Placeholder + `a question that your documents do not answer
    answerable: false
`

func (c *initCmd) Run(a *app) error {
	info, err := os.Stat(c.Dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return usageError("%s is a file: name a folder of documents", c.Dir)
	}
	config, questions := filepath.Join(c.Dir, engine.ConfigName), filepath.Join(c.Dir, "golden.yaml")
	for _, path := range []string{config, questions} {
		if _, err := os.Stat(path); err == nil {
			return usageError("%s is already there: nothing was changed", relative(path))
		}
	}
	s, err := engine.ParseSettings(config, []byte(starterSettings))
	if err != nil {
		return err
	}
	s.Corpus.Path = c.Dir
	docs, err := s.Source().Load(a.ctx)
	if err != nil {
		return err
	}
	if len(docs.Documents) == 0 {
		return usageError("%s holds no Markdown or text files (README.md does not count): put your documents there first", c.Dir)
	}
	var places [2][2]string
	n := 0
	for _, d := range docs.Documents {
		if len(d.ACL) > 0 {
			continue // the starter questions are asked without labels
		}
		for i := len(d.Sections) - 1; i >= 0 && n < len(places); i-- {
			if i == 0 && len(d.Sections) > 1 {
				continue
			}
			places[n] = [2]string{string(d.ID), corpus.FormatPath(d.Sections[i].Path)}
			n++
		}
	}
	switch n {
	case 0:
		return usageError("every document in %s carries an acl: write %s by hand, with `as` in each question", c.Dir, relative(questions))
	case 1:
		places[1] = places[0]
	}
	abs, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(starterGolden, goldenName(filepath.Base(abs)), places[0][0], places[0][1], places[1][0], places[1][1])
	if err := writeNew(config, []byte(starterSettings)); err != nil {
		return err
	}
	if err := writeNew(questions, []byte(text)); err != nil {
		return err
	}
	others, err := leftOutOf(c.Dir, s, docs)
	if err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema     string           `json:"schema"`
			Settings   string           `json:"settings"`
			Golden     string           `json:"golden"`
			Documents  int              `json:"documents"`
			Skipped    []corpus.Skipped `json:"skipped"`     // by the reader of their format
			NotCounted []leftOut        `json:"not_counted"` // read by none
		}{"assay.init/v1", relative(config), relative(questions), len(docs.Documents), append([]corpus.Skipped{}, docs.Skipped...), others})
	}
	a.printf("wrote %s and %s for %d documents\n", relative(config), relative(questions), len(docs.Documents))
	for _, sk := range docs.Skipped {
		a.warnf("skipped %s: %s\n", shown(sk.Path), shown(sk.Reason))
	}
	for _, l := range others {
		l.print(a)
	}
	a.printf("Fill in the three questions of %s, then run:\n", relative(questions))
	if rel := relative(c.Dir); rel != "." {
		a.printf("  cd %s\n", quoteArg(rel))
	}
	a.printf("  assay up\n")
	return nil
}

func goldenName(base string) string {
	out := []rune{}
	for _, r := range base {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			out = append(out, r)
		} else if r >= 'A' && r <= 'Z' {
			out = append(out, r+'a'-'A')
		}
	}
	if len(out) == 0 {
		return "golden"
	}
	return string(out)
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
