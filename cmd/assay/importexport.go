package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/trec"
)

// wroteJSON says what a command that converts has written.
type wroteJSON struct {
	Schema    string   `json:"schema"`
	Path      string   `json:"path"`
	Questions int      `json:"questions"`
	Lost      []string `json:"lost"` // what the target cannot hold
}

type importCmd struct {
	Beir importBEIRCmd `cmd:"" help:"Make a project from a BEIR folder (corpus.jsonl, queries.jsonl, qrels/)."`
	Trec importTRECCmd `cmd:"" help:"Make a project from a folder with documents, topics and TREC judgments."`
}

// importTarget is where the project goes; it must not be there yet, or be empty.
type importTarget struct {
	Dir string `arg:"" help:"Folder to import." type:"existingdir"`
	Out string `required:"" help:"Folder of the new project." placeholder:"PROJECT"`
}

const importedSettings = `# Settings of assay for an imported collection. Gold is on whole documents, so the view is
# sections: each document counts once.
# Published collections repeat questions in their texts: allow_golden lets them.
corpus: {path: docs, include: [%q], allow_golden: true}
chunk: {kind: section, max: 2000}
golden: golden.yaml
policy: {primary: hit@3, margin: 0.05, view: sections}
`

type importBEIRCmd struct {
	importTarget
	Split string `help:"Which qrels (default: test, else the first there is)." placeholder:"NAME"`
}

func (c *importBEIRCmd) Run(a *app) error {
	data, err := trec.ReadBEIR(c.Dir, c.Split)
	if err != nil {
		return fileError(err)
	}
	set, lost, err := trec.ImportQrels(projectName(c.Dir), data.Queries, data.Qrels)
	if err != nil {
		return usageError("%v", err)
	}
	return c.write(a, set, lost, "**/*.jsonl", func(docs string) error {
		return copyFile(filepath.Join(c.Dir, "corpus.jsonl"), filepath.Join(docs, "corpus.jsonl"))
	})
}

type importTRECCmd struct {
	importTarget
	Qrels  string `default:"qrels.txt" help:"Judgments, within the folder." placeholder:"FILE"`
	Topics string `default:"topics.tsv" help:"Topics, within the folder: id, tab, text; or a BEIR queries.jsonl." placeholder:"FILE"`
	Docs   string `default:"docs" help:"Documents, within the folder: a folder of files, or a .jsonl file." placeholder:"PATH"`
}

func (c *importTRECCmd) Run(a *app) error {
	qrels, err := readFile(filepath.Join(c.Dir, c.Qrels), trec.ReadQrels)
	if err != nil {
		return fileError(err)
	}
	read := readTopics
	if filepath.Ext(c.Topics) == ".jsonl" {
		read = trec.ReadBEIRQueries
	}
	queries, err := readFile(filepath.Join(c.Dir, c.Topics), read)
	if err != nil {
		return fileError(err)
	}
	set, lost, err := trec.ImportQrels(projectName(c.Dir), queries, qrels)
	if err != nil {
		return usageError("%v", err)
	}
	from := filepath.Join(c.Dir, c.Docs)
	if filepath.Ext(from) == ".jsonl" {
		return c.write(a, set, lost, "**/*.jsonl", func(docs string) error {
			return copyFile(from, filepath.Join(docs, filepath.Base(from)))
		})
	}
	return c.write(a, set, lost, "**", func(docs string) error { return os.CopyFS(docs, os.DirFS(from)) })
}

func projectName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return goldenName(filepath.Base(abs))
}

func readFile[T any](path string, read func(file string, r io.Reader) (T, error)) (T, error) {
	f, err := os.Open(path)
	if err != nil {
		var zero T
		return zero, err
	}
	v, err := read(path, f)
	return v, errors.Join(err, f.Close())
}

// readTopics reads lines of topic id, tab, text.
func readTopics(file string, r io.Reader) ([]trec.Query, error) {
	var out []trec.Query
	seen := map[string]bool{}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		id, text, ok := strings.Cut(strings.TrimPrefix(sc.Text(), "\ufeff"), "\t")
		id, text = strings.TrimSpace(id), strings.TrimSpace(text)
		switch {
		case id == "" && !ok:
			continue
		case !ok || id == "" || text == "":
			return nil, fmt.Errorf("%s:%d: not a topic: write the id, a tab, and the text", file, n)
		case seen[id]:
			return nil, fmt.Errorf("%s:%d: topic %s stands twice", file, n, id)
		}
		seen[id] = true
		out = append(out, trec.Query{ID: id, Text: text})
	}
	return out, sc.Err()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), in.Close())
}

// write makes the project beside its target and renames it in, so that a failed import leaves
// nothing behind.
func (t *importTarget) write(a *app, set *golden.Set, lost []string, include string, documents func(docs string) error) error {
	entries, err := os.ReadDir(t.Out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usageError("%s: %v", t.Out, err)
	}
	if len(entries) > 0 {
		return usageError("%s is not empty: name a new folder with --out", t.Out)
	}
	parent := filepath.Dir(filepath.Clean(t.Out))
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".assay-import-")
	if err != nil {
		return err
	}
	var dropped []string
	dropped, err = t.fill(a, tmp, set, include, documents)
	lost = append(lost, dropped...)
	if err == nil && entries != nil {
		err = os.Remove(t.Out) // empty
	}
	if err == nil {
		err = os.Rename(tmp, t.Out)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	for _, l := range lost {
		a.warnf("not carried over: %s\n", shown(l))
	}
	if a.cli.JSON {
		return a.printJSON(wroteJSON{"assay.import/v1", t.Out, len(set.Questions), append([]string{}, lost...)})
	}
	a.printf("wrote %s: %d questions\n", t.Out, len(set.Questions))
	a.printf("next:\n  cd %s\n  assay up\n", quoteArg(t.Out))
	return nil
}

func (t *importTarget) fill(a *app, dir string, set *golden.Set, include string, documents func(docs string) error) (lost []string, err error) {
	docs := filepath.Join(dir, "docs")
	if err := os.Mkdir(docs, 0o777); err != nil {
		return nil, err
	}
	if err := documents(docs); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, engine.ConfigName)
	if err := writeNew(path, []byte(fmt.Sprintf(importedSettings, include))); err != nil {
		return nil, err
	}
	s, err := engine.LoadSettings(path)
	if err != nil {
		return nil, err
	}
	read, err := s.Source().Load(a.ctx)
	if err != nil {
		return nil, err
	}
	lost = dropGold(set, read)
	if err := writeGolden(set, filepath.Join(dir, "golden.yaml")); err != nil {
		return nil, err
	}
	return lost, os.Chmod(dir, 0o755) // MkdirTemp made it private
}

// dropGold removes gold that no build can find: documents that the collection lacks or that
// hold no text. A question that loses all of its gold goes with it.
func dropGold(set *golden.Set, docs *corpus.Collection) (lost []string) {
	kept := set.Questions[:0]
	for _, q := range set.Questions {
		had := len(q.Gold)
		groups := q.Gold[:0]
		for _, g := range q.Gold {
			members := g[:0]
			for _, m := range g {
				if d := docs.Find(m.Doc); d != nil && strings.TrimSpace(d.Text) != "" {
					members = append(members, m)
				} else {
					lost = append(lost, fmt.Sprintf("question %s: gold %s, which is missing or has no text", q.ID, m.Doc))
				}
			}
			if len(members) > 0 {
				groups = append(groups, members)
			}
		}
		q.Gold = groups
		if had > 0 && len(groups) == 0 {
			lost = append(lost, fmt.Sprintf("question %s: none of its gold can be found", q.ID))
			continue
		}
		kept = append(kept, q)
	}
	set.Questions = kept
	return lost
}

type goldenImportCmd struct {
	Ragas string `arg:"" help:"Ragas JSONL file."`
	corpusFlags
	Out  string `short:"o" required:"" help:"Golden file to write (.yaml, .json or .jsonl); it must not be there yet." placeholder:"FILE"`
	Name string `default:"imported" help:"Name of the set."`
}

func (c *goldenImportCmd) Run(a *app) error {
	_, source, err := c.configured(a)
	if err != nil {
		return err
	}
	docs, err := source.Load(a.ctx)
	if err != nil {
		return err
	}
	rows, err := readFile(c.Ragas, trec.ReadRagas)
	if err != nil {
		return fileError(err)
	}
	set, lost := trec.ImportRagas(c.Name, rows, docs)
	for _, l := range lost {
		a.warnf("not carried over: %s\n", shown(l))
	}
	if err := writeGolden(set, c.Out); err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(wroteJSON{"assay.golden-import/v1", c.Out, len(set.Questions), append([]string{}, lost...)})
	}
	a.printf("wrote %s: %d draft questions: check each, then set its state to accepted\n", c.Out, len(set.Questions))
	return nil
}

type goldenExportCmd struct {
	Golden string `arg:"" optional:"" help:"Golden set (default: the one the settings name)."`
	Out    string `short:"o" required:"" help:"File to write (.yaml, .json or .jsonl); it must not be there yet." placeholder:"FILE"`
}

func (c *goldenExportCmd) Run(a *app) error {
	s, _, err := a.settings()
	if err != nil {
		return err
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return err
	}
	if err := writeGolden(set, c.Out); err != nil {
		return err
	}
	if a.cli.JSON {
		return a.printJSON(wroteJSON{"assay.golden-export/v1", c.Out, len(set.Questions), []string{}})
	}
	a.printf("wrote %s: %d questions\n", c.Out, len(set.Questions))
	return nil
}

type exportCmd struct {
	Format string `arg:"" enum:"trec,beir,ranx,ragas" help:"trec, beir, ranx or ragas."`
	Build  string `arg:"" optional:"" help:"Build whose newest evaluation gives the run (default: the live one)."`
	corpusFlags
	Golden string `help:"Golden set (default: the one the settings name)." placeholder:"FILE"`
	Level  string `default:"document" enum:"document,section" help:"What stands for a document: document or section."`
	K      int    `short:"k" default:"10" help:"ragas: retrieved contexts per question."`
	Out    string `required:"" help:"Folder to write; it must not be there yet." placeholder:"DIR"`

	AllLabels bool `help:"Write documents that carry an acl too; the other formats cannot protect them."`
}

func (c *exportCmd) Run(a *app) error {
	s, source, err := c.configured(a)
	if err != nil {
		return err
	}
	set, err := a.goldenSet(c.Golden, s)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.Out); err == nil {
		return usageError("%s is already there: name a new folder with --out", c.Out)
	}
	run, err := c.run(a, set)
	if err != nil {
		return err
	}
	var docs *corpus.Collection
	if c.Format == "beir" || c.Format == "ragas" {
		if docs, err = source.Load(a.ctx); err != nil {
			return err
		}
	}
	hidden := c.dropHidden(docs)
	withheld := 0
	if c.Format == "ragas" && len(hidden) > 0 {
		n := len(set.Questions)
		set = withoutHidden(set, run, hidden)
		withheld = n - len(set.Questions)
	}
	if run != nil && (c.Format == "trec" || c.Format == "ranx") {
		set = asked(set, run)
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return err
	}
	lost, err := c.write(set, docs, run)
	if err != nil {
		return errors.Join(err, os.RemoveAll(c.Out))
	}
	if len(hidden) > 0 {
		lost = append(lost, fmt.Sprintf("%d documents that carry an acl (--all-labels writes them)", len(hidden)))
	}
	if withheld > 0 {
		lost = append(lost, fmt.Sprintf("%d questions whose gold or passages stand in them", withheld))
	}
	for _, l := range lost {
		a.warnf("lost: %s\n", shown(l))
	}
	if a.cli.JSON {
		return a.printJSON(wroteJSON{"assay.export/v1", c.Out, len(set.Questions), append([]string{}, lost...)})
	}
	a.printf("wrote %s\n", c.Out)
	return nil
}

// dropHidden leaves out the documents that carry an acl, unless asked for, and returns their ids.
func (c *exportCmd) dropHidden(docs *corpus.Collection) map[corpus.DocumentID]bool {
	if docs == nil || c.AllLabels {
		return nil
	}
	hidden := map[corpus.DocumentID]bool{}
	docs.Documents = slices.DeleteFunc(docs.Documents, func(d corpus.Document) bool {
		if len(d.ACL) > 0 {
			hidden[d.ID] = true
		}
		return len(d.ACL) > 0
	})
	return hidden
}

// withoutHidden is the set without the questions whose gold or passages stand in hidden documents: a row
// of samples would tell their places and what they answer.
func withoutHidden(set *golden.Set, run *evalkit.Run, hidden map[corpus.DocumentID]bool) *golden.Set {
	drop := map[string]bool{}
	for _, q := range set.Questions {
		for _, g := range q.Gold {
			drop[q.ID] = drop[q.ID] || slices.ContainsFunc(g, func(m golden.Member) bool { return hidden[m.Doc] })
		}
	}
	if run != nil {
		for _, r := range run.Results {
			drop[r.Question] = drop[r.Question] || slices.ContainsFunc(r.Hits, func(h evalkit.Hit) bool { return hidden[h.Doc] })
		}
	}
	out := *set
	out.Questions = slices.DeleteFunc(slices.Clone(set.Questions), func(q golden.Question) bool { return drop[q.ID] })
	return &out
}

// asked is the set with the questions of the run alone, so that scoring the exported pair does
// not count questions that nobody asked.
func asked(set *golden.Set, run *evalkit.Run) *golden.Set {
	in := map[string]bool{}
	for _, r := range run.Results {
		in[r.Question] = true
	}
	out := *set
	out.Questions = slices.DeleteFunc(slices.Clone(set.Questions), func(q golden.Question) bool { return !in[q.ID] })
	return &out
}

// run is the newest recorded run of the build; without a store there is none.
func (c *exportCmd) run(a *app, set *golden.Set) (*evalkit.Run, error) {
	if _, err := os.Stat(a.cli.Store); errors.Is(err, fs.ErrNotExist) && c.Build == "" {
		return nil, nil
	}
	e, err := a.existing()
	if err != nil {
		return nil, err
	}
	build := c.Build
	if build == "" {
		build = "live"
	}
	_, rec, err := e.Verdict(build, "")
	if err == nil {
		err = e.LookAtRecord(a.ctx, set, rec, who(""))
	}
	if err = errors.Join(err, e.Close()); err != nil {
		if c.Build == "" && (errors.Is(err, engine.ErrNoLive) || errors.Is(err, engine.ErrNotAccepted)) {
			return nil, nil
		}
		return nil, err
	}
	return engine.RecordRun(rec), nil
}

func (c *exportCmd) write(set *golden.Set, docs *corpus.Collection, run *evalkit.Run) (lost []string, err error) {
	create := func(name string, write func(io.Writer) error) error {
		f, err := os.Create(filepath.Join(c.Out, name))
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if c.Format == "beir" {
		documents, queries, qrels, lost := trec.ExportBEIR(set, docs)
		return lost, trec.WriteBEIR(nil, c.Out, "test", documents, queries, qrels)
	}
	if c.Format == "ragas" {
		rows, lost := trec.ExportRagas(set, docs, run, c.K)
		return lost, create("samples.jsonl", func(w io.Writer) error { return trec.WriteRagas(w, rows) })
	}
	qrels, lost := trec.ExportQrels(set, trec.Level(c.Level))
	names := [2]string{"qrels.txt", "run.txt"}
	writeQrels := qrels.Write
	if c.Format == "ranx" {
		names, writeQrels = [2]string{"qrels.json", "run.json"}, qrels.WriteRanx
	}
	if err := create(names[0], writeQrels); err != nil {
		return nil, err
	}
	if run == nil {
		return append(lost, "no run: no live build with an evaluation: name an evaluated build after the format"), nil
	}
	out, more, err := trec.ExportRun(run, trec.Level(c.Level))
	if err != nil {
		return nil, err
	}
	writeRun := out.Write
	if c.Format == "ranx" {
		writeRun = out.WriteRanx
	}
	return append(lost, more...), create(names[1], writeRun)
}
