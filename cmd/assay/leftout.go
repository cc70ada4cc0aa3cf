package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
)

// leftOut are files of a folder of documents that are no documents, and why.
type leftOut struct {
	Ending string   `json:"ending"` // such as .html; "" for names without one
	Files  []string `json:"files"`
	Reason string   `json:"reason"`
}

// leftOutOf lists the files below dir that were neither read nor skipped with a reason of their
// own, by ending. Names that begin with a dot are nobody's documents and are passed over.
func leftOutOf(dir string, s engine.Settings, docs *corpus.Collection) ([]leftOut, error) {
	known := map[string]bool{engine.ConfigName: true, "golden.yaml": true}
	for i := range docs.Documents {
		known[string(docs.Documents[i].ID)] = true
	}
	for _, sk := range docs.Skipped {
		known[sk.Path] = true
	}
	byReason := map[string]*leftOut{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || known[name]:
			return nil
		}
		ending := strings.ToLower(path.Ext(name))
		reason := whyLeftOut(ending, d.Name(), s)
		key := ending + "\x00" + reason
		if byReason[key] == nil {
			byReason[key] = &leftOut{Ending: ending, Reason: reason}
		}
		byReason[key].Files = append(byReason[key].Files, name)
		return nil
	})
	out := []leftOut{}
	for _, key := range sortedKeys(byReason) {
		out = append(out, *byReason[key])
	}
	return out, err
}

func whyLeftOut(ending, base string, s engine.Settings) string {
	for _, pattern := range s.Corpus.Exclude {
		if ok, err := path.Match(pattern, base); ok && err == nil {
			return fmt.Sprintf("corpus.exclude names %q", pattern)
		}
	}
	pattern := "**/*" + ending
	if slices.ContainsFunc(append(corpus.DefaultReaders(), moreReaders()...), func(r corpus.Reader) bool { return slices.Contains(r.Extensions, ending) }) && !slices.Contains(s.Corpus.Include, pattern) {
		return fmt.Sprintf("corpus.include does not name them: add %q to read them", pattern)
	}
	return "no format that assay reads"
}

// print says it in one line for each ending and reason.
func (l leftOut) print(a *app) {
	what := "without an ending"
	if l.Ending != "" {
		what = l.Ending
	}
	n := fmt.Sprintf("%d files %s", len(l.Files), what)
	if len(l.Files) == 1 {
		n = "1 file " + what
	}
	shownFiles := l.Files[:min(3, len(l.Files))]
	more := ""
	if len(l.Files) > len(shownFiles) {
		more = ", …"
	}
	a.warnf("not counted: %s (%s%s): %s\n", n, strings.Join(shownFiles, ", "), more, l.Reason)
}
