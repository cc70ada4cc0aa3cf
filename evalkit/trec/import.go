package trec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// ImportQrels returns a golden set with gold on whole documents: every relevant document is a
// group of its own, so recall divides by their number as it does in IR. Judgments of grade 0
// become labels. Queries without a relevant document are left out and reported in lost, since
// nobody judged that the corpus cannot answer them; so are judgments for unknown queries.
func ImportQrels(name string, queries []Query, q *Qrels) (set *golden.Set, lost []string, err error) {
	set = &golden.Set{Schema: golden.Schema, Name: name, Version: 1}
	var l losses
	known := map[string]bool{}
	for _, query := range queries {
		known[query.ID] = true
		t := q.topics[query.ID]
		if t == nil || len(t.ideal) == 0 {
			l.add("queries without a relevant document", 1)
			continue
		}
		out := golden.Question{ID: query.ID, Question: corpus.Normalize(query.Text), Answerable: true, Split: golden.Dev, State: golden.Accepted}
		for _, doc := range sortedKeys(t.grades) {
			g := t.grades[doc]
			id := corpus.DocumentID(corpus.Normalize(doc))
			switch {
			case g > 0:
				if g > 100 {
					return nil, nil, fmt.Errorf("query %s, document %s: grade %d is above 100, the highest a golden set holds", query.ID, doc, g)
				}
				out.Gold = append(out.Gold, golden.Group{{Doc: id, Grade: g}})
			case g == 0:
				out.Labels = append(out.Labels, golden.Label{By: "qrels", Doc: id})
			default:
				l.add("judgments of negative grade (unjudged)", 1)
			}
		}
		set.Questions = append(set.Questions, out)
	}
	for _, topic := range q.Topics() {
		if !known[topic] {
			l.add("judged topics without a query text", 1)
		}
	}
	if len(set.Questions) == 0 {
		return nil, l.list(), errors.New("import: no query has a relevant document")
	}
	return set, l.list(), nil
}

// ImportRagas returns a golden set of drafts: gold is where a row's reference contexts stand in
// the documents, as section and quote. A context that cannot be found is reported in lost, as
// is a row that loses all its gold that way; rows without reference contexts become
// unanswerable drafts for a person to check.
func ImportRagas(name string, rows []RagasRow, docs *corpus.Collection) (set *golden.Set, lost []string) {
	set = &golden.Set{Schema: golden.Schema, Name: name, Version: 1}
	var l losses
	for i, row := range rows {
		q := golden.Question{
			ID: fmt.Sprintf("r%03d", i+1), Question: corpus.Normalize(strings.TrimSpace(row.UserInput)),
			Split: golden.Dev, State: golden.Draft, Notes: corpus.Normalize(row.Reference),
		}
		for _, context := range row.ReferenceContexts {
			m, ok := findContext(docs, context)
			if !ok {
				l.add("reference contexts that the documents do not hold word for word", 1)
				continue
			}
			q.Gold = append(q.Gold, golden.Group{m})
		}
		q.Answerable = len(q.Gold) > 0
		if !q.Answerable && len(row.ReferenceContexts) > 0 {
			l.add("rows none of whose reference contexts was found", 1)
			continue
		}
		l.add("answers and retrieved contexts", oneIf(row.Response != "" || len(row.RetrievedContexts) > 0))
		set.Questions = append(set.Questions, q)
	}
	return set, l.list()
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func findContext(docs *corpus.Collection, context string) (golden.Member, bool) {
	for i := range docs.Documents {
		d := &docs.Documents[i]
		span, ok := corpus.FindQuote(d, -1, context)
		if !ok {
			continue
		}
		section := corpus.FormatPath(d.Sections[d.SectionAt(span.Start)].Path)
		return golden.Member{Doc: d.ID, Section: &section, Quote: strings.TrimSpace(d.Text[span.Start:span.End]), Grade: 1}, true
	}
	return golden.Member{}, false
}

// ImportRun returns a run that Evaluate accepts, from ids as ExportRun writes them: each
// document or section becomes one hit, named by the decoded id, without a span. It is how a
// TREC run is scored against a golden set.
func ImportRun(run *Run, level Level) *evalkit.Run {
	out := &evalkit.Run{Tag: run.Tag}
	for _, topic := range run.Topics() {
		r := evalkit.Result{Question: DecodeID(topic), Hits: []evalkit.Hit{}}
		for i, d := range run.Docs(topic) {
			id := DecodeID(d.Doc)
			h := evalkit.Hit{Chunk: corpus.ChunkID(id), Doc: corpus.DocumentID(id), Score: d.Score, Rank: i + 1}
			if doc, section, ok := strings.Cut(id, "#"); ok && level == BySection {
				h.Doc, h.Section = corpus.DocumentID(doc), section
			}
			r.Hits = append(r.Hits, h)
		}
		out.Results = append(out.Results, r)
	}
	return out
}
