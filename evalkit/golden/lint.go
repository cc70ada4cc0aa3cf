package golden

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
)

// Severity says what a finding does.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // nothing may be scored
	Warning Severity = "warning" // scores may mislead
)

// Codes of findings, for filters and SARIF rules.
const (
	CodeDocumentMissing  = "gold-document-missing"
	CodeSectionMissing   = "gold-section-missing"
	CodeSectionAmbiguous = "gold-section-ambiguous"
	CodeSectionTwin      = "gold-section-twin"
	CodeSectionEmpty     = "gold-section-empty"
	CodeQuoteMissing     = "quote-missing"
	CodeQuoteElsewhere   = "quote-elsewhere"
	CodeQuoteAmbiguous   = "quote-ambiguous"
	CodeNotReadable      = "gold-not-readable"
	CodeForbiddenGold    = "gold-forbidden"
	CodeForbiddenMissing = "forbidden-missing"
	CodeSuperseded       = "gold-superseded"
	CodeTooManyGroups    = "more-groups-than-cutoff"
	CodeNearDuplicate    = "near-duplicate"
	CodeAcrossSplit      = "near-duplicate-across-split"
	CodeInCorpus         = "question-in-corpus"
	CodeUnanswerable     = "unanswerable-share"
	CodeOverlap          = "word-overlap"
	CodeFactMissing      = "fact-not-in-gold"
	CodeNoFacts          = "no-facts"
	CodeRepeatedGold     = "repeated-gold"
	CodeDisagreement     = "label-disagreement"
	CodeDraft            = "draft"
	CodePlaceholder      = "placeholder"
	CodeFrozenChanged    = "changed-since-freeze"
	CodeFrozenSection    = "section-edited-since-freeze"
	CodeFrozenMoved      = "section-moved-since-freeze"
	CodeEmpty            = "nothing-to-score"
)

// Placeholder begins the questions of a template that nobody has filled in yet.
const Placeholder = "Replace this with "

// Finding is one thing that lint has to say.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Path     string   `json:"path"`
	Line     int      `json:"line"` // 0: about the set as a whole
	Question string   `json:"question,omitempty"`
	Message  string   `json:"message"`
}

// String returns path:line: severity: message (code).
func (f Finding) String() string {
	at := f.Path
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	return fmt.Sprintf("%s: %s: %s (%s)", at, f.Severity, f.Message, f.Code)
}

// Report is what Preflight found.
type Report struct {
	Findings []Finding `json:"findings"` // by line, then code
	Remaps   []Remap   `json:"remaps,omitempty"`
	// Overlap is the mean share of a question's words that its gold holds, over the questions
	// with gold; n/a (OK false) without any.
	Overlap   float64 `json:"overlap"`
	OverlapOK bool    `json:"overlap_ok"`
}

// Errors returns how many findings stop scoring.
func (r *Report) Errors() int { return r.count(Error) }

// Warnings returns how many findings do not.
func (r *Report) Warnings() int { return r.count(Warning) }

func (r *Report) count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Err returns an error that holds every finding of severity Error, nil if there is none.
func (r *Report) Err() error {
	var errs []error
	for _, f := range r.Findings {
		if f.Severity == Error {
			errs = append(errs, errors.New(f.String()))
		}
	}
	return errors.Join(errs...)
}

// PreflightOptions tunes Preflight. The zero value checks against cutoff 5.
type PreflightOptions struct {
	// K is the cutoff that questions must be winnable at; 5 if 0.
	K int
	// Lock is the freeze to compare with; nil compares nothing.
	Lock *Lock
	// AllowInCorpus turns documents that hold golden questions word for word from an error
	// into a warning.
	AllowInCorpus bool
	// NearDuplicate is the word similarity (Jaccard, 0 to 1) from which two questions are near
	// duplicates; 0.8 if 0.
	NearDuplicate float64
}

// maxOverlap is the mean share of question words found in the gold from which a set looks
// written by looking at the documents, which inflates scores.
const maxOverlap = 0.6

// InCorpus returns a warning for each document that holds questions of the set word for word. It
// is part of Preflight, where it is an error; here it serves those who only build.
func InCorpus(set *Set, docs *corpus.Collection) []Finding {
	l := &linter{set: set, docs: docs, o: PreflightOptions{AllowInCorpus: true}, report: &Report{}}
	l.inCorpus()
	return l.report.Findings
}

// Preflight checks the set against the documents it will be scored on. Findings of severity
// Error must stop scoring; the rest is advice. Retired questions are not checked.
func Preflight(set *Set, docs *corpus.Collection, o PreflightOptions) *Report {
	if o.K < 1 {
		o.K = 5
	}
	if o.NearDuplicate <= 0 {
		o.NearDuplicate = 0.8
	}
	l := &linter{set: set, docs: docs, o: o, report: &Report{Findings: []Finding{}}}
	l.questions()
	l.duplicates()
	l.inCorpus()
	l.share()
	l.labels()
	if o.Lock != nil {
		findings, remaps := o.Lock.Check(set, docs)
		l.report.Findings = append(l.report.Findings, findings...)
		l.report.Remaps = remaps
	}
	slices.SortStableFunc(l.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return l.report
}

type linter struct {
	set    *Set
	docs   *corpus.Collection
	o      PreflightOptions
	report *Report

	newer map[corpus.DocumentID][]*corpus.Document // by the document they supersede; nil until asked for
	old   []string                                 // gold in superseded documents, for one warning

	noFacts int // answerable questions without facts
	deep    int // questions with more gold documents than the cutoff
}

// documentLevel reports whether all gold is whole documents, each a group of its own.
func documentLevel(q *Question) bool {
	for _, g := range q.Gold {
		if len(g) != 1 || g[0].Section != nil || g[0].Quote != "" {
			return false
		}
	}
	return true
}

func (l *linter) add(s Severity, code string, q *Question, line int, format string, args ...any) {
	f := Finding{Severity: s, Code: code, Path: l.set.Path, Line: line, Message: fmt.Sprintf(format, args...)}
	if q != nil {
		f.Question = q.ID
		f.Message = "question " + q.ID + ": " + f.Message
	}
	l.report.Findings = append(l.report.Findings, f)
}

func (l *linter) questions() {
	sum, n := 0.0, 0
	scored := 0
	for i := range l.set.Questions {
		q := &l.set.Questions[i]
		switch q.State {
		case Retired:
			continue
		case Draft:
			l.add(Warning, CodeDraft, q, q.Line, "is a draft and is not scored: set state: accepted once a person has checked it")
		default:
			scored++
		}
		if strings.HasPrefix(q.Question, Placeholder) {
			l.add(Warning, CodePlaceholder, q, q.Line, "is still the text of the template: write a question that your users ask")
		}
		if v, ok := l.question(q); ok {
			sum += v
			n++
		}
	}
	if l.noFacts > 0 {
		l.add(Warning, CodeNoFacts, nil, 0, "%d answerable questions have no facts: fact coverage is n/a for them", l.noFacts)
	}
	if l.deep > 0 {
		l.add(Warning, CodeTooManyGroups, nil, 0, "%d questions have more gold documents than the cutoff %d: all_hit@%d cannot be won for them", l.deep, l.o.K, l.o.K)
	}
	if len(l.old) > 0 {
		l.add(Warning, CodeSuperseded, nil, 0, "gold stands in superseded documents: %s: move it, list the newer document beside it, or tag questions about the past with the slice past", strings.Join(l.old, ", "))
	}
	if scored == 0 {
		l.add(Error, CodeEmpty, nil, 0, "the set has no accepted question")
	}
	if n > 0 {
		l.report.Overlap, l.report.OverlapOK = sum/float64(n), true
		if l.report.Overlap > maxOverlap {
			l.add(Warning, CodeOverlap, nil, 0, "on average %.0f %% of a question's words stand in its gold: questions written by looking at the documents inflate scores, reword them as a user would ask", 100*l.report.Overlap)
		}
	}
}

// question checks one question and returns the share of its words that its gold holds.
func (l *linter) question(q *Question) (overlap float64, ok bool) {
	switch {
	case len(q.Gold) <= l.o.K:
	case documentLevel(q):
		l.deep++ // judgments of a test collection: recall has many to find, by design
	default:
		l.add(Error, CodeTooManyGroups, q, q.Line, "needs %d gold groups and the cutoff is %d: it cannot be won, merge groups or raise the cutoff", len(q.Gold), l.o.K)
	}
	if q.Answerable && len(q.Facts) == 0 {
		l.noFacts++
	}
	for _, id := range q.Forbidden {
		if l.docs.Find(id) == nil {
			l.add(Warning, CodeForbiddenMissing, q, q.Line, "forbidden document %s is not in the corpus%s", id, didYouMean(string(id), l.ids()))
		}
	}
	var text strings.Builder
	seen := map[string]int{}
	for _, g := range q.Gold {
		found, readable := false, false
		for _, m := range g {
			key := m.String() + "\x00" + m.Quote
			if at := seen[key]; at > 0 {
				l.add(Warning, CodeRepeatedGold, q, m.Line, "gold %s stands twice (first in line %d)", m, at)
			}
			seen[key] = max(m.Line, 1)
			doc, section := l.member(q, m)
			if doc == nil {
				continue
			}
			found = true
			if slices.Contains(q.Forbidden, m.Doc) {
				l.add(Error, CodeForbiddenGold, q, m.Line, "gold %s is in a forbidden document", m)
			}
			if corpus.Visible(doc.ACL, q.As) {
				readable = true
			}
			text.WriteString(sectionText(doc, section))
			text.WriteByte('\n')
		}
		l.superseded(q, g)
		if found && !readable {
			l.add(Error, CodeNotReadable, q, g[0].Line, "its caller (as: %s) may read none of the gold %s: it cannot be won, add the label or change the gold", orNone(q.As), g[0])
		}
	}
	if text.Len() == 0 {
		return 0, false
	}
	l.facts(q, text.String())
	return WordOverlap(q.Question, text.String()), true
}

// superseded notes where all of a group's gold is in documents that a newer one replaces, as far
// as the question's caller can know: a right section of the wrong year is a wrong answer.
// A question tagged with one of PastSlices is meant so.
func (l *linter) superseded(q *Question, g Group) {
	if slices.ContainsFunc(q.Slice, func(tag string) bool { return slices.Contains(PastSlices(), tag) }) {
		return
	}
	var first *corpus.Document
	for _, m := range g {
		newer := l.replacement(m.Doc, q.As)
		if newer == nil {
			return
		}
		if first == nil {
			first = newer
		}
	}
	if first != nil {
		l.old = append(l.old, fmt.Sprintf("%s by %s (%s)", g[0].Doc, first.ID, q.ID))
	}
}

// PastSlices returns the slice tags that mark a question about the past: its gold may stand in
// superseded documents without a warning.
func PastSlices() []string { return []string{"history", "outdated", "past"} }

// replacement returns a document that supersedes id and that a caller with these labels may read.
func (l *linter) replacement(id corpus.DocumentID, as []string) *corpus.Document {
	if l.newer == nil {
		l.newer = map[corpus.DocumentID][]*corpus.Document{}
		for i := range l.docs.Documents {
			d := &l.docs.Documents[i]
			for _, old := range d.Supersedes {
				l.newer[old] = append(l.newer[old], d)
			}
		}
	}
	for _, d := range l.newer[id] {
		if corpus.Visible(d.ACL, as) {
			return d
		}
	}
	return nil
}

func orNone(as []string) string {
	if len(as) == 0 {
		return "none"
	}
	return strings.Join(as, ", ")
}

func (l *linter) facts(q *Question, text string) {
	for _, f := range q.Facts {
		if !f.In(text) {
			l.add(Warning, CodeFactMissing, q, f.Line, "no gold section contains the fact %s", f)
		}
	}
}

// String returns the phrasings for messages.
func (f Fact) String() string {
	forms := make([]string, len(f.Any))
	for i, p := range f.Any {
		forms[i] = fmt.Sprintf("%q", p.String())
	}
	return strings.Join(forms, " or ")
}

func (l *linter) ids() []string {
	ids := make([]string, len(l.docs.Documents))
	for i := range l.docs.Documents {
		ids[i] = string(l.docs.Documents[i].ID)
	}
	return ids
}

// sectionText returns the text of a section, of the whole document if section is negative.
func sectionText(doc *corpus.Document, section int) string {
	if section < 0 {
		return doc.Text[doc.Body:]
	}
	s := doc.Sections[section].Span
	return doc.Text[s.Start:s.End]
}

// member checks that a gold member exists; doc is nil if it does not.
func (l *linter) member(q *Question, m Member) (doc *corpus.Document, section int) {
	doc = l.docs.Find(m.Doc)
	if doc == nil {
		l.add(Error, CodeDocumentMissing, q, m.Line, "gold document %s is not in the corpus%s%s", m.Doc, l.skipped(m.Doc), nearestDocument(string(m.Doc), l.ids()))
		return nil, 0
	}
	section = -1
	if m.Section != nil {
		i, err := doc.Resolve(*m.Section)
		var label *corpus.LabelError
		switch {
		case errors.As(err, &label) && len(label.Candidates) > 0:
			l.add(Error, CodeSectionAmbiguous, q, m.Line, "%v", err)
			return nil, 0
		case err != nil:
			l.add(Error, CodeSectionMissing, q, m.Line, "%v", err)
			return nil, 0
		}
		section = i
		l.twin(q, m, doc, i)
	}
	if strings.TrimSpace(sectionText(doc, section)) == "" {
		l.add(Error, CodeSectionEmpty, q, m.Line, "gold %s has no text: no chunk can satisfy it", m)
	}
	if m.Quote != "" {
		l.quote(q, m, doc, section)
	}
	return doc, section
}

// skipped explains a document that was left out of the corpus.
func (l *linter) skipped(id corpus.DocumentID) string {
	for _, s := range l.docs.Skipped {
		if corpus.Normalize(s.Path) == string(id) {
			return ": the file was skipped, " + s.Reason
		}
	}
	return ""
}

// nearestDocument suggests an existing id: by spelling, else one with the same file name.
func nearestDocument(id string, ids []string) string {
	if hint := didYouMean(id, ids); hint != "" {
		return hint
	}
	for _, c := range ids {
		if path.Base(c) == path.Base(id) {
			return fmt.Sprintf(": did you mean %q?", c)
		}
	}
	return ""
}

// twin warns where a label means the first of equal siblings.
func (l *linter) twin(q *Question, m Member, doc *corpus.Document, section int) {
	s := &doc.Sections[section]
	if len(s.Path) == 0 {
		return
	}
	second := slices.Clone(s.Path)
	second[len(second)-1] += " (2)"
	for i := range doc.Sections {
		if slices.Equal(doc.Sections[i].Path, second) {
			l.add(Warning, CodeSectionTwin, q, m.Line, "gold %s means the first of two equal headings: write %q for the second", m, corpus.FormatPath(second))
			return
		}
	}
}

func (l *linter) quote(q *Question, m Member, doc *corpus.Document, section int) {
	at, ok := corpus.LocateQuote(doc, section, m.Quote)
	switch {
	case !ok:
		l.add(Error, CodeQuoteMissing, q, m.Line, "%s does not hold the quote %q: copy the words as the document shows them", m.Doc, m.Quote)
	case !at.InSection:
		where := corpus.FormatPath(doc.Sections[doc.SectionAt(at.Span.Start)].Path)
		l.add(Error, CodeQuoteElsewhere, q, m.Line, "the quote %q stands in section %q of %s, not in the gold section", m.Quote, where, m.Doc)
	case at.Count > 1:
		l.add(Warning, CodeQuoteAmbiguous, q, m.Line, "the quote %q occurs %d times in the gold: the first counts, make it longer", m.Quote, at.Count)
	}
}

func (l *linter) duplicates() {
	for _, p := range NearDuplicates(l.set, l.o.NearDuplicate) {
		a, b := &l.set.Questions[p.A], &l.set.Questions[p.B]
		code, hint := CodeNearDuplicate, "keep one of them"
		if a.side() != b.side() {
			code, hint = CodeAcrossSplit, "put both on one side of the split"
		}
		l.add(Warning, code, b, b.Line, "nearly repeats question %s in line %d (similarity %.2f): %s", a.ID, a.Line, p.Similarity, hint)
	}
}

// inCorpus finds documents that hold questions word for word. A question of fewer than four
// words may occur by chance and is not looked for.
func (l *linter) inCorpus() {
	type found struct {
		doc int
		ids []string
	}
	folded := make([]string, len(l.docs.Documents))
	for i := range l.docs.Documents {
		folded[i] = fold(l.docs.Documents[i].Text)
	}
	byDoc := map[int]*found{}
	var order []*found
	for i := range l.set.Questions {
		q := &l.set.Questions[i]
		want := fold(q.Question)
		if q.State == Retired || len(strings.Fields(want)) < 4 {
			continue
		}
		for d, text := range folded {
			if !strings.Contains(text, want) {
				continue
			}
			if byDoc[d] == nil {
				byDoc[d] = &found{doc: d}
				order = append(order, byDoc[d])
			}
			byDoc[d].ids = append(byDoc[d].ids, q.ID)
		}
	}
	slices.SortFunc(order, func(a, b *found) int { return cmp.Compare(a.doc, b.doc) })
	for _, f := range order {
		severity := Error
		if l.o.AllowInCorpus {
			severity = Warning
		}
		l.add(severity, CodeInCorpus, nil, 0, "document %s holds golden questions word for word (%s): every configuration will look perfect, exclude it from the corpus or allow it explicitly", l.docs.Documents[f.doc].ID, strings.Join(f.ids, ", "))
	}
}

// share warns where unanswerable questions are too few to measure refusals or too many.
func (l *linter) share() {
	n, no := 0, 0
	for _, q := range l.set.Select(All) {
		n++
		if !q.Answerable {
			no++
		}
	}
	if n > 0 && (10*no < n || 5*no > n) {
		l.add(Warning, CodeUnanswerable, nil, 0, "%d of %d questions (%.0f %%) are unanswerable: 10 to 20 %% is a sound share", no, n, 100*float64(no)/float64(n))
	}
}

func (l *linter) labels() {
	for i := range l.set.Questions {
		q := &l.set.Questions[i]
		for _, d := range disagreements(q) {
			l.add(Warning, CodeDisagreement, q, d.line, "%s", d.text)
		}
	}
}
