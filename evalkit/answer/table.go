package answer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// Keys of the lines of a Table. They are never averaged.
const (
	LineRetrieved       = "retrieved"
	LineAllRetrieved    = "all_retrieved"
	LineFacts           = "facts"
	LineFactsRetrieved  = "facts_retrieved"
	LineWrongRefusal    = "wrong_refusal"
	LineWrongHad        = "wrong_refusal_gold_delivered"
	LineWrongHadNot     = "wrong_refusal_gold_missing"
	LineCitationAnswer  = "citation_answer"
	LineCitationStrict  = "citation_strict"
	LineCitationFacts   = "citation_of_facts"
	LineCitations       = "citations"
	LineFabricated      = "fabricated"
	LineNumbers         = "numbers"
	LineUnsure          = "numbers_unsure"
	LineFaithful        = "faithful"
	LineCorrectRefusal  = "correct_refusal"
	LineInventedNumbers = "invented_numbers"
	LineLeaks           = "leaks"
)

// Line is one line of the table: Count of N, with its Wilson interval at 95 %.
type Line struct {
	Key   string `json:"key"`
	Name  string `json:"name"`
	Of    string `json:"of"`    // what N counts: questions, answers, citations, numbers
	Fault bool   `json:"fault"` // the line counts faults: low is good
	Count int    `json:"count"`
	N     int    `json:"n"`
	// Interval is nil when N is 0; the rate is then n/a, not 0.
	Interval *stats.Interval `json:"interval"`
	// Before is the count before reviews, Reviewed and Overturned are the reviewed cases of
	// the line and those whose outcome the person changed.
	Before     int `json:"before"`
	Reviewed   int `json:"reviewed"`
	Overturned int `json:"overturned"`
	// Errors is the interval of Overturned of Reviewed, the error rate of the rules on this line;
	// nil without a review.
	Errors *stats.Interval `json:"errors,omitempty"`
	// Estimate is the line's rate from the reviewed cases alone, and from them together with what
	// the rules say of the others. Both take the reviewed cases for a random sample. It is nil for
	// lines of more than one case an answer, and without two reviewed and two other cases.
	Estimate *stats.Powered `json:"estimate,omitempty"`
	// Spread is over repeats, nil without any.
	Spread *Spread `json:"spread,omitempty"`
}

// Rate is Count/N; ok is false when N is 0.
func (l Line) Rate() (rate float64, ok bool) {
	if l.N == 0 {
		return 0, false
	}
	return float64(l.Count) / float64(l.N), true
}

// Spread says how a line moves over repeated answers to the same questions.
type Spread struct {
	Repeats   int     `json:"repeats"`
	Min       float64 `json:"min"` // rates over the repeats
	Max       float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Different int     `json:"different"` // questions whose outcome on this line is not the same in all repeats
}

// Case is an answer that a person should read.
type Case struct {
	Question string `json:"question"`
	Repeat   int    `json:"repeat"`
	Line     string `json:"line"`
	Why      string `json:"why"`
	Answer   string `json:"answer"`
	Digest   string `json:"digest"` // AnswerDigest
	Reviewed bool   `json:"reviewed,omitempty"`
}

// Table is the layered table of an answer run.
type Table struct {
	Schema    string `json:"schema"` // assay.answers/v1
	Set       string `json:"set"`
	Version   int    `json:"version"`
	Digest    string `json:"digest"`
	Split     string `json:"split"`
	Questions int    `json:"questions"` // of the split
	Answers   int    `json:"answers"`   // recorded answers, repeats included
	Lines     []Line `json:"lines"`
	// SystemErrors and EmptyAnswers count against the system; with EmptyAnswers on
	// unanswerable questions the refusal rate is incomplete. HarnessErrors and questions
	// without a record make the table incomplete: it can pass no gate and become no baseline.
	SystemErrors  int      `json:"system_errors"`
	EmptyAnswers  int      `json:"empty_answers"`
	HarnessErrors int      `json:"harness_errors"`
	Unrecorded    []string `json:"unrecorded,omitempty"`
	Complete      bool     `json:"complete"`
	// Reviewed cases over all lines, and those overturned: the rules' own error rate.
	Reviewed   int      `json:"reviewed"`
	Overturned int      `json:"overturned"`
	Stale      []Review `json:"stale_reviews,omitempty"` // reviews of answers that are not among the records
	Refusals   string   `json:"refusal_phrases"`         // revision of the phrase list
	NumberRule string   `json:"number_rule"`             // NumberRevision
	Warnings   []string `json:"warnings,omitempty"`
	Cases      []Case   `json:"cases"`
	Graded     []Graded `json:"graded"`
	Usage      Usage    `json:"usage"`
}

// ReportOptions configure Report. The zero value is valid.
type ReportOptions struct {
	Documents *corpus.Collection // nil compares gold by section paths
	Split     string             // golden.Dev, golden.Holdout or golden.All; "" is All
	Lang      []string           // languages of answers; none: guessed
	Reviews   *Reviews
}

// TableSchema is the value of Table.Schema.
const TableSchema = "assay.answers/v1"

// lineInfo describes the lines in the order they are printed.
var lineInfo = []Line{ // read only
	{Key: LineRetrieved, Name: "right section retrieved", Of: "answerable questions"},
	{Key: LineAllRetrieved, Name: "all gold sections retrieved", Of: "answerable questions"},
	{Key: LineFacts, Name: "all facts present", Of: "answerable questions with facts"},
	{Key: LineFactsRetrieved, Name: "facts among correctly retrieved", Of: "of them, right section retrieved"},
	{Key: LineWrongRefusal, Name: "wrongly refused", Of: "answerable questions", Fault: true},
	{Key: LineWrongHad, Name: "  gold was in the context", Of: "answerable, gold delivered", Fault: true},
	{Key: LineWrongHadNot, Name: "  gold was not retrieved", Of: "answerable, gold not delivered", Fault: true},
	{Key: LineCitationAnswer, Name: "a citation hits the right section", Of: "answers, right section retrieved"},
	{Key: LineCitationStrict, Name: "every citation hits the right section", Of: "answers, right section retrieved"},
	{Key: LineCitationFacts, Name: "a citation hits it, facts present", Of: "answers with all facts, section retrieved"},
	{Key: LineCitations, Name: "citations on the right section", Of: "citations, right section retrieved"},
	{Key: LineFabricated, Name: "fabricated citations", Of: "citations", Fault: true},
	{Key: LineNumbers, Name: "numbers not in the context", Of: "numbers of answers", Fault: true},
	{Key: LineUnsure, Name: "numbers with another unit there", Of: "numbers of answers", Fault: true},
	{Key: LineFaithful, Name: "faithful by the number rule", Of: "answers"},
	{Key: LineCorrectRefusal, Name: "correct refusals", Of: "unanswerable questions"},
	{Key: LineInventedNumbers, Name: "answers with invented numbers", Of: "unanswerable questions", Fault: true},
	{Key: LineLeaks, Name: "questions with a leak", Of: "questions", Fault: true},
}

// partOf names the line whose review also decides a line that looks at a part of its cases.
var partOf = map[string]string{ // read only
	LineFactsRetrieved: LineFacts,
	LineWrongHad:       LineWrongRefusal,
	LineWrongHadNot:    LineWrongRefusal,
}

// tally is what one recorded answer adds to a line.
type tally struct{ count, n int }

// tallies returns what one graded answer adds to each line; lines it does not touch are absent.
func tallies(g *Graded) map[string]tally {
	out := map[string]tally{}
	if g.Outcome == HarnessError {
		return out
	}
	yes := func(key string, ok bool) {
		t := tally{n: 1}
		if ok {
			t.count = 1
		}
		out[key] = t
	}
	yes(LineLeaks, g.Leaks > 0)
	refused := g.Outcome == Refused
	if g.Answerable {
		if g.Groups > 0 {
			yes(LineRetrieved, g.Retrieved())
			yes(LineAllRetrieved, g.Held == g.Groups)
		}
		if len(g.Facts) > 0 {
			yes(LineFacts, g.AllFacts())
			if g.Retrieved() {
				yes(LineFactsRetrieved, g.AllFacts())
			}
		}
		yes(LineWrongRefusal, refused)
		if g.Groups > 0 {
			if g.Retrieved() {
				yes(LineWrongHad, refused)
			} else {
				yes(LineWrongHadNot, refused)
			}
		}
	} else if g.Outcome != Empty && g.Outcome != SystemError {
		yes(LineCorrectRefusal, refused)
	} else {
		yes(LineCorrectRefusal, false)
	}
	cited := len(g.Cited.Valid) + len(g.Cited.Invalid)
	if g.Outcome == Answered {
		if g.Answerable && g.Retrieved() {
			yes(LineCitationAnswer, g.RightCited > 0)
			yes(LineCitationStrict, g.Citation == CitationRight)
			if g.AllFacts() {
				yes(LineCitationFacts, g.RightCited > 0)
			}
			out[LineCitations] = tally{g.RightCited, cited}
		}
		out[LineFabricated] = tally{len(g.Cited.Invalid), cited}
		invented, unsure := len(g.Ungrounded()), 0
		for _, f := range g.Numbers {
			if f.Source == Unsure {
				unsure++
			}
		}
		out[LineNumbers] = tally{invented, len(g.Numbers)}
		out[LineUnsure] = tally{unsure, len(g.Numbers)}
		yes(LineFaithful, invented+unsure == 0)
	}
	if !g.Answerable {
		yes(LineInventedNumbers, g.Outcome == Answered && len(g.Ungrounded()) > 0)
	}
	return out
}

// Report grades the records against the set and returns the layered table: separate lines,
// each a count with its denominator and interval, and the cases a person should read. Lines
// count the first answer to each question; further repeats show in Spread. Records must be of
// questions of the set and unique by question and repeat.
func Report(set *golden.Set, records []Record, o ReportOptions) (*Table, error) {
	split := o.Split
	if split == "" {
		split = golden.All
	}
	questions := set.Select(split)
	t := &Table{Schema: TableSchema, Set: set.Name, Version: set.Version, Digest: set.Digest(), Split: split,
		Questions: len(questions), Refusals: RefusalRevision(), NumberRule: NumberRevision, Cases: []Case{}, Graded: []Graded{}}
	byQuestion := map[string][]*Record{}
	for i := range records {
		r := &records[i]
		if set.Find(r.Question) == nil {
			return nil, fmt.Errorf("answers: record %d is of question %q, which the golden set %s does not have", i+1, r.Question, set.Name)
		}
		for _, other := range byQuestion[r.Question] {
			if other.Repeat == r.Repeat {
				return nil, fmt.Errorf("answers: question %s has two records of repeat %d: keep one", r.Question, r.Repeat)
			}
		}
		byQuestion[r.Question] = append(byQuestion[r.Question], r)
	}
	lines := slices.Clone(lineInfo)
	at := map[string]*Line{}
	for i := range lines {
		at[lines[i].Key] = &lines[i]
	}
	used := map[*Review]bool{}
	outcomes := map[string]map[string][]float64{} // line, question: rates in order of repeats
	perRepeat := map[string]map[int]tally{}
	samples := map[string]*sample{}
	for i := range lines {
		samples[lines[i].Key] = &sample{}
		outcomes[lines[i].Key], perRepeat[lines[i].Key] = map[string][]float64{}, map[int]tally{}
	}
	for _, q := range questions {
		recs := byQuestion[q.ID]
		if len(recs) == 0 {
			t.Unrecorded = append(t.Unrecorded, q.ID)
			continue
		}
		slices.SortFunc(recs, func(a, b *Record) int { return a.Repeat - b.Repeat })
		for k, r := range recs {
			g, err := Grade(q, r, o.Documents, o.Lang...)
			if err != nil {
				return nil, fmt.Errorf("answers: %w", err)
			}
			t.Answers++
			t.addUsage(r.Usage)
			t.Graded = append(t.Graded, g)
			switch g.Outcome {
			case SystemError:
				t.SystemErrors++
			case Empty:
				t.EmptyAnswers++
			case HarnessError:
				t.HarnessErrors++
			}
			digest := AnswerDigest(r.Answer)
			adds := tallies(&g)
			t.Graded[len(t.Graded)-1].reviewed = o.Reviews.any(q.ID, digest)
			for i := range lines {
				l := &lines[i]
				add, ok := adds[l.Key]
				if !ok {
					continue
				}
				if k == 0 {
					l.Before += add.count
				}
				own := o.Reviews.find(q.ID, l.Key, digest)
				v := own
				if v == nil {
					v = o.Reviews.find(q.ID, partOf[l.Key], digest)
				}
				if v != nil {
					used[v] = true
					want := 0
					if v.Pass {
						want = add.n
					}
					if k == 0 {
						l.Reviewed++
						samples[l.Key].reviewed(add, want)
						overturned := add.count != want
						if overturned {
							l.Overturned++
						}
						if own != nil {
							t.Reviewed++
							if overturned {
								t.Overturned++
							}
						}
					}
					add.count = want
				} else if k == 0 {
					samples[l.Key].other(add)
				}
				if k == 0 {
					l.Count, l.N = l.Count+add.count, l.N+add.n
				}
				total := perRepeat[l.Key][r.Repeat]
				perRepeat[l.Key][r.Repeat] = tally{total.count + add.count, total.n + add.n}
				if add.n > 0 {
					outcomes[l.Key][q.ID] = append(outcomes[l.Key][q.ID], float64(add.count)/float64(add.n))
				}
			}
			t.Cases = append(t.Cases, casesOf(q, r, &g, digest, o.Reviews)...)
		}
	}
	for i := range lines {
		l := &lines[i]
		if iv, ok := stats.Wilson(l.Count, l.N, 0.95); ok {
			l.Interval = &iv
		}
		if iv, ok := stats.Wilson(l.Overturned, l.Reviewed, 0.95); ok {
			l.Errors = &iv
		}
		l.Estimate = samples[l.Key].estimate()
		l.Spread = spread(perRepeat[l.Key], outcomes[l.Key])
	}
	if o.Reviews != nil {
		for i := range o.Reviews.Reviews {
			if v := &o.Reviews.Reviews[i]; !used[v] && slices.ContainsFunc(questions, func(q *golden.Question) bool { return q.ID == v.Question }) {
				t.Stale = append(t.Stale, *v)
			}
		}
	}
	t.Lines = lines
	t.Complete = t.HarnessErrors == 0 && len(t.Unrecorded) == 0
	t.warn()
	return t, nil
}

func (t *Table) addUsage(u Usage) {
	t.Usage.Requests += u.Requests
	t.Usage.Retries += u.Retries
	t.Usage.PromptTokens += u.PromptTokens
	t.Usage.CompletionTokens += u.CompletionTokens
	t.Usage.Cost += u.Cost
}

func (t *Table) warn() {
	if n := len(t.Unrecorded); n > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("incomplete: %d of %d questions have no recorded answer", n, t.Questions))
	}
	if t.HarnessErrors > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("incomplete: %d harness errors; such a run passes no gate and becomes no baseline", t.HarnessErrors))
	}
	if t.SystemErrors > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d answers failed and count against the system", t.SystemErrors))
	}
	if t.EmptyAnswers > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d answers are empty: neither answers nor refusals; refusal rates are incomplete", t.EmptyAnswers))
	}
	if len(t.Stale) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d reviews are of answers that are no longer given", len(t.Stale)))
	}
}

// sample is what persons and rules say of the cases of one line.
type sample struct {
	labels, predicted, rest []float64
	several                 bool // an answer has several cases: no person judged the single one
}

func (s *sample) reviewed(rule tally, want int) {
	s.several = s.several || rule.n != 1
	s.labels, s.predicted = append(s.labels, float64(want)), append(s.predicted, float64(rule.count))
}

func (s *sample) other(rule tally) {
	s.several = s.several || rule.n != 1
	s.rest = append(s.rest, float64(rule.count))
}

func (s *sample) estimate() *stats.Powered {
	if s.several {
		return nil
	}
	p, ok := stats.PredictionPowered(s.labels, s.predicted, s.rest, 0.95)
	if !ok {
		return nil
	}
	return &p
}

func spread(totals map[int]tally, outcomes map[string][]float64) *Spread {
	if len(totals) < 2 {
		return nil
	}
	s := &Spread{Repeats: len(totals), Min: 2, Max: -1}
	n := 0
	for _, r := range slices.Sorted(maps.Keys(totals)) {
		v := totals[r]
		if v.n == 0 {
			continue
		}
		rate := float64(v.count) / float64(v.n)
		s.Min, s.Max, s.Mean, n = min(s.Min, rate), max(s.Max, rate), s.Mean+rate, n+1
	}
	if n == 0 {
		return nil
	}
	s.Mean /= float64(n)
	for _, rates := range outcomes {
		if slices.Min(rates) != slices.Max(rates) {
			s.Different++
		}
	}
	return s
}

// casesOf lists what a person should read of one answer.
func casesOf(q *golden.Question, r *Record, g *Graded, digest string, reviews *Reviews) (out []Case) {
	add := func(line, why string) {
		out = append(out, Case{Question: q.ID, Repeat: r.Repeat, Line: line, Why: why, Answer: r.Answer, Digest: digest,
			Reviewed: reviews.find(q.ID, line, digest) != nil})
	}
	switch g.Outcome {
	case SystemError:
		add("", "failed: "+r.Error)
		return out
	case HarnessError:
		add("", "not graded: "+r.Harness)
		return out
	case Empty:
		add("", "empty answer")
		return out
	}
	if g.Review {
		line := LineCorrectRefusal
		if q.Answerable {
			line = LineWrongRefusal
		}
		add(line, "near the edge of a refusal")
	}
	if g.Outcome == Answered && q.Answerable && g.Retrieved() {
		for i, f := range g.Facts {
			if f.Review {
				why := string(f.Status)
				if f.Note != "" {
					why += ", " + f.Note
				}
				add(LineFacts, fmt.Sprintf("fact %q: %s", q.Facts[i].Any[0], why))
			}
		}
		if g.Citation == CitationWrong || g.Citation == CitationPartial || g.Citation == CitationMissing {
			add(LineCitationStrict, "citation "+string(g.Citation))
		}
	}
	if g.Outcome == Refused && q.Answerable && g.Retrieved() {
		add(LineWrongRefusal, "refused, with the right section in the context")
	}
	if g.Outcome == Answered && !q.Answerable {
		add(LineCorrectRefusal, "answered, though the corpus holds no answer")
	}
	for _, f := range g.Numbers {
		switch f.Source {
		case Invented:
			add(LineNumbers, fmt.Sprintf("number %q is not in the context", f.Number.Text))
		case Unsure:
			add(LineUnsure, fmt.Sprintf("number %q: %s", f.Number.Text, f.Note))
		case FromQuestion, Ambiguous:
			add(LineNumbers, fmt.Sprintf("number %q: %s only", f.Number.Text, f.Source))
		}
	}
	if len(g.Cited.Invalid) > 0 {
		add(LineFabricated, fmt.Sprintf("cites %v, shown were 1 to %d", g.Cited.Invalid, len(r.Passages)))
	}
	if g.Leaks > 0 {
		add(LineLeaks, "a forbidden document was delivered")
	}
	return out
}

// Line returns the line with the key, nil if there is none.
func (t *Table) Line(key string) *Line {
	for i := range t.Lines {
		if t.Lines[i].Key == key {
			return &t.Lines[i]
		}
	}
	return nil
}

// JSON returns the table as indented JSON with a line end. The same table gives the same bytes.
func (t *Table) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	return append(data, '\n'), nil
}

// Text renders the table for a terminal. Lines without a case print n/a, never 0.
func (t *Table) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s version %d, %s: %d questions, %d answers\n", t.Set, t.Version, t.Split, t.Questions, t.Answers)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	reviewed := t.Reviewed > 0
	repeated := slices.ContainsFunc(t.Lines, func(l Line) bool { return l.Spread != nil })
	for _, l := range t.Lines {
		rate, iv := "n/a", ""
		if v, ok := l.Rate(); ok {
			rate = fmt.Sprintf("%.3f", v)
		}
		if l.Interval != nil {
			iv = fmt.Sprintf("[%.3f, %.3f]", l.Interval.Lo, l.Interval.Hi)
		}
		fmt.Fprintf(w, "%s\t%d/%d\t%s\t%s\t%s", l.Name, l.Count, l.N, rate, iv, l.Of)
		if reviewed {
			fmt.Fprintf(w, "\tbefore review %d/%d", l.Before, l.N)
		}
		if repeated {
			if s := l.Spread; s != nil {
				fmt.Fprintf(w, "\tover %d repeats %.3f–%.3f, %d differ", s.Repeats, s.Min, s.Max, s.Different)
			} else {
				fmt.Fprint(w, "\t")
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush() //nolint:errcheck // a strings.Builder never fails
	fmt.Fprintf(&b, "system errors %d, empty answers %d, harness errors %d, without a record %d\n", t.SystemErrors, t.EmptyAnswers, t.HarnessErrors, len(t.Unrecorded))
	if reviewed {
		fmt.Fprintf(&b, "reviews: %d cases, %d overturned: the rules' own error rate is %.3f of what was reviewed\n", t.Reviewed, t.Overturned, float64(t.Overturned)/float64(t.Reviewed))
	}
	for _, s := range t.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", s)
	}
	open := 0
	for _, c := range t.Cases {
		if !c.Reviewed {
			open++
		}
	}
	fmt.Fprintf(&b, "to read: %d cases\n", open)
	return b.String()
}

// CaseText renders the cases to read, one paragraph each.
func (t *Table) CaseText() string {
	var b strings.Builder
	for _, c := range t.Cases {
		state := ""
		if c.Reviewed {
			state = " (reviewed)"
		}
		fmt.Fprintf(&b, "%s %s: %s%s\n    %s\n", c.Question, c.Line, c.Why, state, strings.ReplaceAll(c.Answer, "\n", "\n    "))
	}
	return b.String()
}
