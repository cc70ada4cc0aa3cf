package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/internal/disk"
)

// LockSchema is the schema key of a lock file.
const LockSchema = "assay.golden-lock/v1"

// Lock pins a set as it was frozen: the digest of every question and of every gold section's
// text. Questions are sorted by id.
type Lock struct {
	Schema    string         `json:"schema"`
	Name      string         `json:"name"`
	Version   int            `json:"version"`
	Digest    string         `json:"digest"` // of the whole set
	Questions []LockQuestion `json:"questions"`
}

// LockQuestion pins one question.
type LockQuestion struct {
	ID     string       `json:"id"`
	Digest string       `json:"digest"`
	Gold   []LockMember `json:"gold,omitempty"` // in the order of the groups and their members
}

// LockMember pins the text that one gold member names.
type LockMember struct {
	Doc     corpus.DocumentID `json:"doc"`
	Section *string           `json:"section,omitempty"`
	Quote   string            `json:"quote,omitempty"`
	Digest  string            `json:"digest"` // SHA-256 of the section's normalised text without blank space at its ends
	Start   string            `json:"start"`  // its first words, to find it again after an edit
}

// Remap proposes a new place for a gold member whose section was renamed, moved or edited away.
type Remap struct {
	Question string            `json:"question"`
	Line     int               `json:"line"`
	From     string            `json:"from"` // as messages write a member
	OldDoc   corpus.DocumentID `json:"old_doc"`
	OldPath  *string           `json:"old_section,omitempty"` // nil: the whole document
	Doc      corpus.DocumentID `json:"doc"`
	Section  string            `json:"section"`
	Reason   string            `json:"reason"` // why this place: same text, quote found, similar text
	Match    float64           `json:"match"`  // 1: the same text or quote; below: share of words in common
}

// String returns the proposal as a two-line diff.
func (r Remap) String() string {
	return fmt.Sprintf("question %s: %s\n- %s\n+ %s > %s", r.Question, r.Reason, r.From, r.Doc, r.Section)
}

// Freeze returns the lock of the set against the documents. Gold that the documents lack is an
// error that names it.
func Freeze(set *Set, docs *corpus.Collection) (*Lock, error) {
	if err := Preflight(set, docs, PreflightOptions{K: 1 << 30, AllowInCorpus: true}).missing(); err != nil {
		return nil, fmt.Errorf("freeze: %w", err)
	}
	lock := &Lock{Schema: LockSchema, Name: set.Name, Version: set.Version, Digest: set.Digest()}
	for i := range set.Questions {
		q := &set.Questions[i]
		lq := LockQuestion{ID: q.ID, Digest: q.Digest()}
		for _, g := range q.Gold {
			for _, m := range g {
				text, ok := memberText(docs, m)
				if !ok {
					continue // a retired question may name what is gone
				}
				lq.Gold = append(lq.Gold, LockMember{m.Doc, m.Section, m.Quote, textDigest(text), opening(text)})
			}
		}
		lock.Questions = append(lock.Questions, lq)
	}
	slices.SortFunc(lock.Questions, func(a, b LockQuestion) int { return strings.Compare(a.ID, b.ID) })
	return lock, nil
}

// missing returns the errors about gold that does not exist.
func (r *Report) missing() error {
	kept := &Report{}
	for _, f := range r.Findings {
		switch f.Code {
		case CodeDocumentMissing, CodeSectionMissing, CodeSectionAmbiguous, CodeQuoteMissing, CodeQuoteElsewhere:
			kept.Findings = append(kept.Findings, f)
		}
	}
	return kept.Err()
}

func memberText(docs *corpus.Collection, m Member) (string, bool) {
	doc := docs.Find(m.Doc)
	if doc == nil {
		return "", false
	}
	section := -1
	if m.Section != nil {
		i, err := doc.Resolve(*m.Section)
		if err != nil {
			return "", false
		}
		section = i
	}
	return strings.TrimSpace(sectionText(doc, section)), true
}

func textDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// openingWords is how much of a section's start the lock keeps: enough to tell it from others.
const openingWords = 40

func opening(text string) string {
	f := strings.Fields(text)
	return strings.Join(f[:min(len(f), openingWords)], " ")
}

// Check compares the set and the documents with the freeze. A question changed, added or
// removed under an unchanged version is an error: give the set a new version and freeze it. An
// edited gold section is an error as well. Sections that are gone come with a proposal where
// the documents hold their text, quote or a similar section.
func (l *Lock) Check(set *Set, docs *corpus.Collection) ([]Finding, []Remap) {
	c := &lockCheck{lock: l, set: set, docs: docs}
	c.questions()
	for i := range set.Questions {
		q := &set.Questions[i]
		if at, ok := l.find(q.ID); ok && q.State != Retired {
			c.gold(q, &l.Questions[at])
		}
	}
	return c.findings, c.remaps
}

func (l *Lock) find(id string) (int, bool) {
	return slices.BinarySearchFunc(l.Questions, id, func(q LockQuestion, id string) int { return strings.Compare(q.ID, id) })
}

type lockCheck struct {
	lock     *Lock
	set      *Set
	docs     *corpus.Collection
	findings []Finding
	remaps   []Remap
}

func (c *lockCheck) add(s Severity, code, id string, line int, format string, args ...any) {
	c.findings = append(c.findings, Finding{s, code, c.set.Path, line, id, fmt.Sprintf(format, args...)})
}

func (c *lockCheck) questions() {
	l := c.lock
	if l.Name != c.set.Name {
		c.add(Error, CodeFrozenChanged, "", 0, "the lock is of set %q, this is %q: freeze it with `assay golden freeze`", l.Name, c.set.Name)
		return
	}
	if c.set.Digest() == l.Digest {
		return
	}
	if c.set.Version != l.Version {
		c.add(Error, CodeFrozenChanged, "", 0, "the set is version %d, the lock version %d: freeze it with `assay golden freeze`", c.set.Version, l.Version)
		return
	}
	next := fmt.Sprintf("raise version to %d and run `assay golden freeze`", c.set.Version+1)
	found := false
	for i := range c.set.Questions {
		q := &c.set.Questions[i]
		at, ok := l.find(q.ID)
		switch {
		case !ok:
			c.add(Error, CodeFrozenChanged, q.ID, q.Line, "question %s was added after the freeze of version %d: %s", q.ID, l.Version, next)
			found = true
		case l.Questions[at].Digest != q.Digest():
			c.add(Error, CodeFrozenChanged, q.ID, q.Line, "question %s was edited after the freeze of version %d: %s", q.ID, l.Version, next)
			found = true
		}
	}
	for _, q := range l.Questions {
		if c.set.Find(q.ID) == nil {
			c.add(Error, CodeFrozenChanged, q.ID, 0, "question %s was removed after the freeze of version %d: %s", q.ID, l.Version, next)
			found = true
		}
	}
	if !found {
		c.add(Error, CodeFrozenChanged, "", 0, "the set differs from the freeze of version %d: %s", l.Version, next)
	}
}

func (c *lockCheck) gold(q *Question, lq *LockQuestion) {
	lines := map[string]int{}
	for _, g := range q.Gold {
		for _, m := range g {
			lines[m.String()] = m.Line
		}
	}
	for _, m := range lq.Gold {
		member := Member{Doc: m.Doc, Section: m.Section, Quote: m.Quote}
		line, still := lines[member.String()]
		if !still {
			continue // the label itself was changed; questions reports that
		}
		text, ok := memberText(c.docs, member)
		if ok && textDigest(text) == m.Digest {
			continue
		}
		remap, proposed := c.propose(q, m, line)
		if ok {
			c.add(Error, CodeFrozenSection, q.ID, line, "question %s: the text of gold %s was edited since the freeze: check that it still answers, then freeze again", q.ID, member)
			if proposed && remap.Match == 1 && (string(remap.Doc) != string(m.Doc) || m.Section == nil || remap.Section != *m.Section) {
				c.remaps = append(c.remaps, remap)
			}
			continue
		}
		hint := ""
		if proposed {
			hint = fmt.Sprintf(": it may be %s > %s now (%s)", remap.Doc, remap.Section, remap.Reason)
			c.remaps = append(c.remaps, remap)
		}
		c.add(Error, CodeFrozenMoved, q.ID, line, "question %s: gold %s is gone since the freeze%s", q.ID, member, hint)
	}
}

// minSimilar is the share of words in common from which a section is proposed as the edited
// form of one that is gone.
const minSimilar = 0.5

// propose looks for the place a frozen member moved to: the same text anywhere, else its quote,
// else the section whose opening words are most alike. Documents are visited in their order,
// the member's own first, so that ties go to the nearest.
func (c *lockCheck) propose(q *Question, m LockMember, line int) (Remap, bool) {
	r := Remap{Question: q.ID, Line: line, From: Member{Doc: m.Doc, Section: m.Section}.String(), OldDoc: m.Doc, OldPath: m.Section}
	order := make([]*corpus.Document, 0, len(c.docs.Documents)+1)
	if own := c.docs.Find(m.Doc); own != nil {
		order = append(order, own)
	}
	for i := range c.docs.Documents {
		if c.docs.Documents[i].ID != m.Doc {
			order = append(order, &c.docs.Documents[i])
		}
	}
	place := func(d *corpus.Document, section int, reason string, match float64) (Remap, bool) {
		r.Doc, r.Section, r.Reason, r.Match = d.ID, corpus.FormatPath(d.Sections[section].Path), reason, match
		return r, true
	}
	for _, d := range order {
		for i := range d.Sections {
			if textDigest(strings.TrimSpace(sectionText(d, i))) == m.Digest {
				return place(d, i, "same text", 1)
			}
		}
	}
	if m.Quote != "" {
		for _, d := range order {
			if span, ok := corpus.FindQuote(d, -1, m.Quote); ok {
				return place(d, d.SectionAt(span.Start), "the quote stands there", 1)
			}
		}
	}
	best, bestAt, bestScore := (*corpus.Document)(nil), 0, minSimilar
	for _, d := range order {
		for i := range d.Sections {
			if v := similar(m.Start, opening(sectionText(d, i))); v > bestScore {
				best, bestAt, bestScore = d, i, v
			}
		}
	}
	if best == nil {
		return r, false
	}
	return place(best, bestAt, fmt.Sprintf("%.0f %% of the opening words agree", 100*bestScore), bestScore)
}

// similar returns the Jaccard similarity of the words of two texts.
func similar(a, b string) float64 {
	x, y := words(a), words(b)
	n := 0
	for _, w := range x {
		if _, ok := slices.BinarySearch(y, w); ok {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(n) / float64(len(x)+len(y)-n)
}

// Encode returns the lock file's bytes, the same for the same lock.
func (l *Lock) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(l)
	return b.Bytes(), err
}

// Write puts the lock at path.
func (l *Lock) Write(fsys *disk.FS, path string) error {
	data, err := l.Encode()
	if err != nil {
		return err
	}
	return fsys.WriteFile(path, data)
}

// LockPath returns where the lock of the golden file at path stands: beside it, with the ending
// .lock.
func LockPath(path string) string {
	for _, ext := range []string{".yaml", ".yml", ".json", ".jsonl", ".ndjson"} {
		if stem, ok := strings.CutSuffix(path, ext); ok {
			return stem + ".lock"
		}
	}
	return path + ".lock"
}

// ReadLock reads the lock at path; a missing one wraps fs.ErrNotExist.
func ReadLock(path string) (*Lock, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseLock(path, data)
}

// ParseLock reads a lock from data; name stands in messages.
func ParseLock(name string, data []byte) (*Lock, error) {
	var l Lock
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, fmt.Errorf("%s: not a lock file: %w: write it again with `assay golden freeze`", name, err)
	}
	if l.Schema != LockSchema {
		return nil, fmt.Errorf("%s: schema %q is not known: this version reads %s", name, l.Schema, LockSchema)
	}
	slices.SortFunc(l.Questions, func(a, b LockQuestion) int { return strings.Compare(a.ID, b.ID) })
	return &l, nil
}
