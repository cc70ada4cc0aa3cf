package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
)

// Reading is a build as one caller may read it. Documents that the caller may not see do not
// exist in it. It is safe for concurrent use until it is closed.
type Reading struct {
	r     *reader
	as    []string
	all   bool
	owned bool // opened for this reading alone
	done  func()
}

// Read opens a build for reading documents with the given labels; all stands for every label
// there is. "" and "live" are the live build. The caller closes the reading.
func (e *Engine) Read(build string, as []string, all bool) (*Reading, error) {
	if build == "" || strings.EqualFold(build, "live") {
		r, err := e.acquire()
		if err != nil {
			return nil, err
		}
		return &Reading{r: r, as: as, all: all, done: func() { e.done(r) }}, nil
	}
	id, err := e.resolve(build)
	if err != nil {
		return nil, err
	}
	unuse, err := e.use(id)
	if err != nil {
		return nil, err
	}
	// Reading needs no model, so a build whose embedder is not at hand can still be read.
	r := &reader{id: id, dir: e.buildDir(id), unuse: unuse, filters: map[string]*index.Filter{}}
	if err := r.openFiles(e.o); err != nil {
		return nil, errors.Join(err, r.closeFiles())
	}
	return &Reading{r: r, as: as, all: all, owned: true}, nil
}

// Close ends the reading.
func (v *Reading) Close() error {
	if v.owned {
		return v.r.close()
	}
	v.done()
	return nil
}

// Build returns the id of the build.
func (v *Reading) Build() string { return v.r.id }

// Manifest describes the build. It holds counts and names of the whole build: show it only to a
// caller that sees everything.
func (v *Reading) Manifest() *index.Manifest { return v.r.manifest }

// Everything reports whether the caller may see every document of the build.
func (v *Reading) Everything() bool {
	if v.all {
		return true
	}
	return !slices.ContainsFunc(v.r.acls, func(acl []string) bool { return !corpus.Visible(acl, v.as) })
}

// Visible reports whether the document exists for the caller.
func (v *Reading) Visible(id corpus.DocumentID) bool {
	i := v.r.findDoc(id)
	return i >= 0 && (v.all || v.r.docVisible(i, v.as))
}

// Document returns a document as it was read. One that does not exist and one that the caller
// may not see are the same ErrNoSection.
func (v *Reading) Document(id corpus.DocumentID) (*corpus.Document, error) {
	i := v.r.findDoc(id)
	if i < 0 || !v.all && !v.r.docVisible(i, v.as) {
		return nil, ErrNoSection
	}
	d, err := v.r.document(i)
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// Terms returns the words of a text as the build's word index reduces them, in order, with
// repeats.
func (v *Reading) Terms(text string) []string { return v.r.lexical.Terms(text) }

// Spans returns the words of a text as Terms does, each with its place in it.
func (v *Reading) Spans(text string) []lexical.Span { return v.r.lexical.Analyzer().Spans(text) }

// Common reports whether a term, as Terms returns it, stands in more than about a quarter of the
// build's chunks, so that finding it says little. Where statistics are kept by label it is
// false for every term.
func (v *Reading) Common(term string) bool {
	if v.r.settings.Lexical.Statistics == "per-label" {
		return false // frequencies of the whole build are not to be told from
	}
	const quarter = 1.386 // log(1+3), BM25's weight of a term in one chunk of four
	return v.r.lexical.IDF(term) < quarter
}
