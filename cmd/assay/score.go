package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/trec"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

type scoreCmd struct {
	Qrels    string   `required:"" help:"Judgments in TREC format." placeholder:"FILE"`
	Run_     string   `name:"run" required:"" help:"Ranked lists in TREC format." placeholder:"FILE"`
	Measure  []string `short:"m" help:"Measures in assay's, ir_measures' or trec_eval's spelling." placeholder:"NAME,..."`
	PerQuery bool     `help:"Print every topic before the means."`
	Names    string   `default:"assay" enum:"assay,trec,ir" help:"Spelling of the measures: assay, trec or ir."`
	NA       bool     `name:"na" help:"Leave topics without relevant documents out of the means, in place of counting them as 0."`
	Rel      int      `default:"1" help:"Lowest grade that counts as relevant."`
	Depth    int      `help:"Cut every ranking first." placeholder:"N"`
}

// parseMeasures reads measure names in any of the three spellings.
func parseMeasures(names []string) ([]measure.Measure, error) {
	out := make([]measure.Measure, 0, len(names))
	for _, n := range names {
		m, err := measure.Parse(strings.TrimSpace(n))
		if err != nil {
			return nil, usageError("%v", err)
		}
		out = append(out, m)
	}
	return out, nil
}

func (c *scoreCmd) Run(a *app) error {
	measures := trec.DefaultMeasures()
	if len(c.Measure) > 0 {
		var err error
		if measures, err = parseMeasures(c.Measure); err != nil {
			return err
		}
	}
	s, err := trec.ScoreFiles(c.Qrels, c.Run_, measures, trec.ScoreOptions{NA: c.NA, Rel: c.Rel, Depth: c.Depth})
	if err != nil {
		return fileError(err)
	}
	for _, w := range s.Warnings() {
		a.warnf("warning: %s\n", shown(w))
	}
	if !a.cli.JSON {
		return s.WriteText(a.stdout, trec.Names(c.Names), c.PerQuery)
	}
	type topic struct {
		Topic  string                   `json:"topic"`
		Values map[string]measure.Value `json:"values"`
	}
	type mean struct {
		Mean    measure.Value `json:"mean"`
		NScored int           `json:"n_scored"`
		NNA     int           `json:"n_na"`
	}
	out := struct {
		Schema   string          `json:"schema"`
		Run      string          `json:"run"`
		Measures map[string]mean `json:"measures"`
		Topics   []topic         `json:"topics,omitempty"`
		Missing  []string        `json:"missing"`
		Ignored  []string        `json:"ignored"`
		NoGold   []string        `json:"no_relevant"`
	}{Schema: "assay.score/v1", Run: s.Tag, Measures: map[string]mean{}, Missing: none(s.Missing), Ignored: none(s.Ignored), NoGold: none(s.NoRelevant)}
	for i, m := range s.Measures {
		out.Measures[m.String()] = mean{s.Means[i].Mean, s.Means[i].NScored, s.Means[i].NNA}
	}
	if c.PerQuery {
		for _, t := range s.Topics {
			values := map[string]measure.Value{}
			for i, m := range s.Measures {
				values[m.String()] = t.Values[i]
			}
			out.Topics = append(out.Topics, topic{t.Topic, values})
		}
	}
	return a.printJSON(out)
}

func none(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// fileError marks an error in the content of a file named by the user as bad input.
func fileError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return usageError("%v", err)
}

// compareRuns puts two TREC runs side by side.
func compareRuns(qrels, a, b string, policy *verdict.Policy) (*verdict.Comparison, error) {
	data, err := os.ReadFile(qrels)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	var warnings []string
	side := func(path string) (verdict.Side, error) {
		ev, warns, err := runEvaluation(qrels, path, policy.Primary, hex.EncodeToString(sum[:]))
		for _, w := range warns {
			warnings = append(warnings, filepath.Base(path)+": "+w)
		}
		return verdict.Side{Name: filepath.Base(path), Evaluation: ev}, err
	}
	left, err := side(a)
	if err != nil {
		return nil, fileError(err)
	}
	right, err := side(b)
	if err != nil {
		return nil, fileError(err)
	}
	return verdict.Compare(left, right, policy, verdict.CompareOptions{NoPromotion: true, Warnings: warnings}), nil
}

// runEvaluation scores a run as an evaluation whose questions are the judged topics; warnings name
// the topics that the run lacks and those that it alone has.
func runEvaluation(qrels, run, primary, digest string) (ev *evalkit.Evaluation, warnings []string, err error) {
	measures, err := parseMeasures([]string{primary})
	if err != nil {
		return nil, nil, err
	}
	for _, m := range trec.DefaultMeasures() {
		if m.Cutoff > 0 && m.String() != measures[0].String() {
			measures = append(measures, m)
		}
	}
	s, err := trec.ScoreFiles(qrels, run, measures, trec.ScoreOptions{})
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(run)
	if err != nil {
		return nil, nil, err
	}
	lists, err := trec.ReadRun(run, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, err
	}
	ev = &evalkit.Evaluation{
		Schema: evalkit.EvaluationSchema, Run: s.Tag, Build: filepath.Base(run), Rule: "trec", View: evalkit.ViewSections, Split: "all",
		Golden:   evalkit.GoldenRef{Name: filepath.Base(qrels), Digest: digest},
		Measures: map[string]*evalkit.Summary{}, Random: map[string]evalkit.Value{}, Slices: map[string]*evalkit.Slice{},
	}
	for i, m := range s.Measures {
		ev.Measures[m.String()] = &evalkit.Summary{Mean: s.Means[i].Mean, NScored: s.Means[i].NScored, NNA: s.Means[i].NNA}
	}
	for _, t := range s.Topics {
		q := evalkit.QuestionResult{
			ID: t.Topic, Answerable: true, Status: evalkit.StatusOK, Split: "all", Slice: []string{},
			Measures: map[string]evalkit.Value{}, Evidence: t.Evidence, FirstRank: t.Evidence.FirstRank(),
		}
		for i, m := range s.Measures {
			q.Measures[m.String()] = t.Values[i]
		}
		for i, d := range lists.Docs(t.Topic) {
			if i == 100 {
				break // enough to show beside the other list
			}
			q.Hits = append(q.Hits, corpus.ChunkID(d.Doc))
			q.Sections = append(q.Sections, d.Doc)
		}
		ev.Questions = append(ev.Questions, q)
		ev.Counts.Questions++
		ev.Counts.Answerable++
	}
	return ev, s.Warnings(), nil
}
