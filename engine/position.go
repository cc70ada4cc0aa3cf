package engine

import (
	"context"
	"fmt"

	"github.com/seed792a4543/assay/corpus"
)

// Position returns the line and the column, both from 1, of the original file at which an offset
// into a document's normalised text stands, such as the start of a hit. The document is that of
// the live build; one that the caller may not see, or an offset outside it, is ErrNoSection.
func (e *Engine) Position(_ context.Context, doc corpus.DocumentID, offset int, as []string) (line, column int, err error) {
	r, err := e.acquire()
	if err != nil {
		return 0, 0, err
	}
	defer e.done(r)
	missing := fmt.Errorf("%w: document and offset must be as in search results", ErrNoSection)
	i := r.findDoc(corpus.DocumentID(corpus.Normalize(string(doc))))
	if i < 0 || !r.docVisible(i, as) {
		return 0, 0, missing
	}
	d, err := r.document(i)
	if err != nil {
		return 0, 0, err
	}
	if offset < 0 || offset > len(d.Text) {
		return 0, 0, missing
	}
	line, column = d.Position(offset)
	return line, column, nil
}
