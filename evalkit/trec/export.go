package trec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// Level says what stands for a document in an exported file.
type Level string

// The levels.
const (
	ByDocument Level = "document" // the document id
	BySection  Level = "section"  // document id, '#', section path: "returns.md#Returns > Conditions"
)

// id returns the exported id, encoded so that every format can hold it.
func (l Level) id(doc corpus.DocumentID, section string) string {
	if l == BySection {
		return EncodeID(string(doc) + "#" + section)
	}
	return EncodeID(string(doc))
}

// losses counts what a conversion leaves behind and lists it in a fixed order.
type losses struct {
	order []string
	n     map[string]int
}

func (l *losses) add(what string, n int) {
	if n == 0 {
		return
	}
	if l.n == nil {
		l.n = map[string]int{}
	}
	if l.n[what] == 0 {
		l.order = append(l.order, what)
	}
	l.n[what] += n
}

func (l *losses) list() []string {
	out := make([]string, 0, len(l.order))
	for _, what := range l.order {
		out = append(out, fmt.Sprintf("%s (%d)", what, l.n[what]))
	}
	slices.Sort(out)
	return out
}

// ExportQrels returns the accepted questions' gold as judgments, labels of grade 0 included,
// and one line for each kind of thing that qrels cannot say. Of several members that fall on
// one id the highest grade is kept.
func ExportQrels(set *golden.Set, level Level) (q *Qrels, lost []string) {
	q = &Qrels{topics: map[string]*topicQrels{}}
	var l losses
	selected := set.Select(golden.All)
	l.add("questions that are drafts or retired", len(set.Questions)-len(selected))
	for _, question := range selected {
		countLosses(&l, question)
		topic := EncodeID(question.ID)
		if topic != question.ID {
			l.add("spelling of question ids (percent-encoded)", 1)
		}
		if len(question.Gold) == 0 {
			l.add("questions without gold (unanswerable)", 1)
			continue
		}
		t := &topicQrels{grades: map[string]int{}}
		q.topics[topic] = t
		for _, g := range question.Gold {
			if len(g) > 1 {
				l.add("alternatives (any): each becomes a document that must be found", 1)
			}
			for _, m := range g {
				id := exportMember(&l, level, m)
				if old, ok := t.grades[id]; ok {
					l.add("gold that falls on one id", 1)
					t.grades[id] = max(old, m.Grade)
					continue
				}
				t.grades[id] = m.Grade
			}
		}
		for _, label := range question.Labels {
			if label.Doc == "" {
				continue
			}
			section := ""
			if label.Section != nil {
				section = *label.Section
			}
			id := level.id(label.Doc, section)
			if _, ok := t.grades[id]; !ok && label.Grade == 0 {
				t.grades[id] = 0
			}
		}
	}
	q.finish()
	return q, l.list()
}

func exportMember(l *losses, level Level, m golden.Member) string {
	if m.Quote != "" {
		l.add("quotes", 1)
	}
	section := ""
	switch {
	case m.Section != nil && level == BySection:
		section = *m.Section
	case m.Section != nil:
		l.add("gold sections (only the document is kept)", 1)
	case level == BySection:
		l.add("gold on whole documents (exported as the document's own section)", 1)
	}
	return level.id(m.Doc, section)
}

func countLosses(l *losses, q *golden.Question) {
	l.add("question texts", 1)
	l.add("facts", len(q.Facts))
	l.add("claims", len(q.Claims))
	l.add("slices", len(q.Slice))
	l.add("permissions (as)", len(q.As))
	l.add("forbidden documents", len(q.Forbidden))
	if q.Critical {
		l.add("critical marks", 1)
	}
	if q.Split == golden.Holdout {
		l.add("holdout marks", 1)
	}
	who := 0
	for _, label := range q.Labels {
		if label.Answerable != nil || label.Grade > 0 {
			who++
		}
	}
	l.add("labels by person", who)
}

// ExportRun returns the run folded to documents or sections and what that loses. The best chunk
// speaks for its document or section (known as MaxP): its score is kept, the others are
// dropped.
func ExportRun(run *evalkit.Run, level Level) (out *Run, lost []string, err error) {
	var l losses
	var rankings []Ranking
	for i := range run.Results {
		r := &run.Results[i]
		if r.Err != "" {
			l.add("failed queries (exported without results)", 1)
			continue
		}
		ranking := Ranking{Topic: EncodeID(r.Question)}
		at := map[string]int{}
		for k := range r.Hits {
			h := &r.Hits[k]
			id := level.id(h.Doc, h.Section)
			if n, ok := at[id]; ok {
				l.add("chunks below the best of their "+string(level), 1)
				ranking.Docs[n].Score = max(ranking.Docs[n].Score, h.Score)
				continue
			}
			at[id] = len(ranking.Docs)
			ranking.Docs = append(ranking.Docs, Scored{id, h.Score})
		}
		for k, d := range ranking.Docs {
			if k > 0 && d.Score == ranking.Docs[k-1].Score {
				l.add("order within ties (by "+string(level)+" id instead of chunk id)", 1)
			}
		}
		l.add("spans and scores by retriever", len(r.Hits))
		if len(ranking.Docs) > 0 {
			rankings = append(rankings, ranking)
		} else {
			l.add("empty results", 1)
		}
	}
	out, err = NewRun(cmp.Or(EncodeID(run.Tag), "run"), rankings)
	return out, l.list(), err
}

// ExportBEIR returns the documents, questions and judgments of a BEIR folder and what it loses.
// Unanswerable questions keep their text and have no judgment.
func ExportBEIR(set *golden.Set, docs *corpus.Collection) (documents []BEIRDocument, queries []Query, qrels *Qrels, lost []string) {
	var l losses
	for i := range docs.Documents {
		d := &docs.Documents[i]
		documents = append(documents, BEIRDocument{string(level0(d.ID)), d.Title, d.Text[d.Body:]})
		l.add("permissions of documents (acl)", len(d.ACL))
		l.add("supersedes", len(d.Supersedes))
		l.add("metadata", len(d.Metadata))
	}
	for _, q := range set.Select(golden.All) {
		queries = append(queries, Query{EncodeID(q.ID), q.Question})
	}
	qrels, more := ExportQrels(set, ByDocument)
	more = slices.DeleteFunc(more, func(s string) bool { return strings.HasPrefix(s, "question texts") })
	lost = append(l.list(), more...)
	slices.Sort(lost)
	return documents, queries, qrels, lost
}

func level0(id corpus.DocumentID) string { return ByDocument.id(id, "") }

// ExportRagas returns one row for each accepted question: the texts of its gold as references,
// those of the run's first k hits as retrieved contexts, and what that loses. run may be nil.
func ExportRagas(set *golden.Set, docs *corpus.Collection, run *evalkit.Run, k int) (rows []RagasRow, lost []string) {
	var l losses
	hits := map[string][]evalkit.Hit{}
	if run != nil {
		for i := range run.Results {
			hits[run.Results[i].Question] = run.Results[i].Hits
		}
	}
	for _, q := range set.Select(golden.All) {
		countLosses(&l, q)
		l.add("question ids", 1)
		row := RagasRow{UserInput: q.Question, Reference: reference(q)}
		if !q.Answerable {
			l.add("unanswerable marks", 1)
		}
		for _, g := range q.Gold {
			if len(g) > 1 {
				l.add("alternatives (any): only the first is kept", 1)
			}
			m := g[0]
			if m.Grade > 1 {
				l.add("grades", 1)
			}
			if text, ok := goldText(docs, m); ok {
				row.ReferenceContexts = append(row.ReferenceContexts, text)
				row.ReferenceContextIDs = append(row.ReferenceContextIDs, m.String())
			} else {
				l.add("gold that the documents lack", 1)
			}
		}
		for _, h := range hits[q.ID][:min(max(k, 0), len(hits[q.ID]))] {
			text := h.Text
			if d := docs.Find(h.Doc); text == "" && d != nil && h.Span.Start >= 0 && h.Span.End <= len(d.Text) && h.Span.Len() > 0 {
				text = d.Text[h.Span.Start:h.Span.End]
			}
			row.RetrievedContexts = append(row.RetrievedContexts, text)
			row.RetrievedContextIDs = append(row.RetrievedContextIDs, string(h.Chunk))
			l.add("scores and spans of hits", 1)
		}
		rows = append(rows, row)
	}
	lost = slices.DeleteFunc(l.list(), func(s string) bool { return strings.HasPrefix(s, "question texts") })
	return rows, lost
}

// reference joins the first phrasing of every fact, which is all a golden set knows of the
// wording of an answer.
func reference(q *golden.Question) string {
	var parts []string
	for _, f := range q.Facts {
		if len(f.Any) > 0 {
			parts = append(parts, f.Any[0].String())
		}
	}
	return strings.Join(parts, "; ")
}

func goldText(docs *corpus.Collection, m golden.Member) (string, bool) {
	d := docs.Find(m.Doc)
	if d == nil {
		return "", false
	}
	span := corpus.Span{Start: d.Body, End: len(d.Text)}
	section := -1
	if m.Section != nil {
		i, err := d.Resolve(*m.Section)
		if err != nil {
			return "", false
		}
		section, span = i, d.Sections[i].Span
	}
	if m.Quote != "" {
		q, ok := corpus.FindQuote(d, section, m.Quote)
		if !ok {
			return "", false
		}
		span = q
	}
	return strings.TrimSpace(d.Text[span.Start:span.End]), true
}
