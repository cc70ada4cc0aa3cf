package golden

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/internal/disk"
)

// documents reads files given as name, text, name, text …
func documents(t testing.TB, pairs ...string) *corpus.Collection {
	t.Helper()
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	c, err := corpus.FS("test", fsys, corpus.Options{}).Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask returns a set of one answerable question with the given gold and further fields.
func ask(t testing.TB, gold, more string) *Set {
	t.Helper()
	return mustParse(t, "g.yaml", header+"  - id: q1\n    question: When may goods come back?\n    answerable: true\n    gold: "+gold+"\n"+more)
}

func codes(r *Report, s Severity) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Severity == s {
			out = append(out, f.Code)
		}
	}
	return out
}

// TestPreflight holds the cases about labels that do not fit the documents. want are the codes
// of the errors, text a part of the report.
func TestPreflight(t *testing.T) {
	phones := documents(t, "p.md", "# Phone\n## Warranty\n12 months\n## Notes\na\n## Notes\nb\n# Laptop\n## Warranty\n24 months\n")
	for _, tt := range []struct {
		name       string
		docs       *corpus.Collection
		gold, more string
		o          PreflightOptions
		want       []string
		text       string
	}{
		{"fine", phones, "[{doc: p.md, section: Phone > Warranty, quote: 12 months}]", "", PreflightOptions{}, nil, ""},
		{"ID-01 ambiguous", phones, "[{doc: p.md, section: Warranty}]", "", PreflightOptions{}, []string{CodeSectionAmbiguous}, `"Phone > Warranty"`},
		{"ID-01 twin", phones, "[{doc: p.md, section: Phone > Notes}]", "", PreflightOptions{}, nil, `write "Phone > Notes (2)" for the second`},
		{"ID-01 second", phones, "[{doc: p.md, section: Phone > Notes (2)}]", "", PreflightOptions{}, nil, ""},
		{"ID-02 exact titles", documents(t, "a.md", "## C\na\n## C++\nb\n## C#\nc\n## Tasks\nd\n## TASKS\ne\n"), "[{doc: a.md, section: C++, quote: b}, {doc: a.md, section: C#, quote: c}, {doc: a.md, section: TASKS, quote: e}, {doc: a.md, section: Tasks, quote: d}]", "", PreflightOptions{}, nil, ""},
		{"ID-03 case", documents(t, "faq.md", "# A\nx\n"), "[{doc: Faq.md, section: A}]", "", PreflightOptions{}, []string{CodeDocumentMissing}, `did you mean "faq.md"?`},
		{"ID-03 composed", documents(t, "cafe\u0301.md", "# A\nx\n"), "[{doc: caf\u00e9.md, section: A}]", "", PreflightOptions{}, nil, ""},
		{"GO-01 heading renamed", documents(t, "returns.md", "## Returns policy\nx\n"), "[{doc: returns.md, section: Return policy}]", "", PreflightOptions{}, []string{CodeSectionMissing}, `did you mean "Returns policy"?`},
		{"GO-01 document misspelt", documents(t, "returns.md", "## Returns policy\nx\n"), "[{doc: retruns.md, section: Returns policy}]", "", PreflightOptions{}, []string{CodeDocumentMissing}, `did you mean "returns.md"?`},
		{"EN-05 heading decomposed", documents(t, "a.md", "# Be\u0323\u0302nh viện\nx\n"), "[{doc: a.md, section: B\u1ec7nh viện, quote: x}]", "", PreflightOptions{}, nil, ""},
		{"quote missing", phones, "[{doc: p.md, section: Phone > Warranty, quote: 36 months}]", "", PreflightOptions{}, []string{CodeQuoteMissing}, "36 months"},
		{"quote in another section", phones, "[{doc: p.md, section: Phone > Warranty, quote: 24 months}]", "", PreflightOptions{}, []string{CodeQuoteElsewhere}, `"Laptop > Warranty"`},
		{"quote twice", documents(t, "a.md", "# A\nx y\nx y\n"), "[{doc: a.md, section: A, quote: x y}]", "", PreflightOptions{}, nil, "occurs 2 times"},
		{"not readable", documents(t, "a.md", "---\nacl: [staff]\n---\n# A\nx\n"), "[{doc: a.md, section: A}]", "", PreflightOptions{}, []string{CodeNotReadable}, "may read none"},
		{"readable with label", documents(t, "a.md", "---\nacl: [staff]\n---\n# A\nx\n"), "[{doc: a.md, section: A}]", "    as: [staff]\n", PreflightOptions{}, nil, ""},
		{"one readable alternative", documents(t, "a.md", "---\nacl: [staff]\n---\n# A\nx\n", "b.md", "# A\nx\n"), "[{any: [{doc: a.md, section: A}, {doc: b.md, section: A}]}]", "", PreflightOptions{}, nil, ""},
		{"forbidden gold", phones, "[{doc: p.md, section: Phone > Warranty}]", "    forbidden: [p.md]\n", PreflightOptions{}, []string{CodeForbiddenGold}, ""},
		{"more groups than k", phones, "[{doc: p.md, section: Phone > Warranty}, {doc: p.md, section: Laptop > Warranty}]", "", PreflightOptions{K: 1}, []string{CodeTooManyGroups}, "needs 2 gold groups"},
		{"more documents than k", documents(t, "a.md", "x\n", "b.md", "y\n"), "[{doc: a.md}, {doc: b.md}]", "", PreflightOptions{K: 1}, nil, "1 questions have more gold documents than the cutoff 1"},
		{"own section without text", documents(t, "a.md", "# A\nx\n"), "[{doc: a.md, section: ''}]", "", PreflightOptions{}, []string{CodeSectionEmpty}, ""},
		{"fact not in gold", phones, "[{doc: p.md, section: Phone > Warranty}]", "    facts: [[36 months, three years]]\n", PreflightOptions{}, nil, `no gold section contains the fact "36 months" or "three years"`},
		{"fact in another form", documents(t, "a.md", "# A\nThe fee is 30,000 VND.\n"), "[{doc: a.md, section: A}]", "    facts: [{number: 30000, unit: vnd}]\n", PreflightOptions{}, nil, ""},
		{"ID-05 question in corpus", documents(t, "a.md", "# A\nx\n", "questions.md", "# Q\nWhen may goods\ncome back?\n"), "[{doc: a.md, section: A}]", "", PreflightOptions{}, []string{CodeInCorpus}, "questions.md holds golden questions word for word (q1)"},
		{"ID-05 allowed", documents(t, "a.md", "# A\nx\n", "questions.md", "When may goods come back?\n"), "[{doc: a.md, section: A}]", "", PreflightOptions{AllowInCorpus: true}, nil, "word for word"},
		{"gold twice", phones, "[{doc: p.md, section: Laptop}, {doc: p.md, section: Laptop}]", "", PreflightOptions{}, nil, "stands twice"},
		{"high overlap", documents(t, "a.md", "# A\nWhen goods may come back to us\n"), "[{doc: a.md, section: A}]", "", PreflightOptions{}, nil, "on average 100 % of a question's words"},
		{"near-duplicates", phones, "[{doc: p.md, section: Laptop}]", "  - {id: q2, question: When may goods come back, answerable: false}\n", PreflightOptions{}, nil, "nearly repeats question q1 in line 5"},
		{"ST-06 across the split", phones, "[{doc: p.md, section: Laptop}]", "  - {id: q2, question: When may goods come back, answerable: false, split: holdout}\n", PreflightOptions{}, nil, CodeAcrossSplit},
		{"labels disagree", phones, "[{doc: p.md, section: Laptop}]", "    labels: [{by: a, doc: p.md, section: Phone, grade: 0}, {by: b, doc: p.md, section: Phone, grade: 2}]\n", PreflightOptions{}, nil, "a says grade 0, b says grade 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Preflight(ask(t, tt.gold, tt.more), tt.docs, tt.o)
			if diff := cmp.Diff(tt.want, codes(r, Error)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, r.Findings)
			}
			if (r.Err() == nil) != (tt.want == nil) || r.Errors() != len(tt.want) {
				t.Errorf("Err = %v, Errors = %d", r.Err(), r.Errors())
			}
			all := fmt.Sprint(r.Findings)
			if !strings.Contains(all, tt.text) {
				t.Errorf("report lacks %q:\n%s", tt.text, all)
			}
			for _, f := range r.Findings {
				if f.Question != "" && f.Line == 0 {
					t.Errorf("no line: %v", f)
				}
			}
		})
	}
}

func TestPreflightSkippedFile(t *testing.T) {
	docs := documents(t, "old.txt", "Gr\xf6\xdfe 5", "a.md", "# A\nx\n")
	r := Preflight(ask(t, "[{doc: old.txt}]", ""), docs, PreflightOptions{})
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "the file was skipped") {
		t.Errorf("EN-04: %v", err)
	}
}

// GO-02: a question without facts loads, and lint counts it.
func TestPreflightNoFacts(t *testing.T) {
	docs := documents(t, "a.md", "# A\nx\n")
	r := Preflight(ask(t, "[{doc: a.md, section: A}]", "    facts: []\n"), docs, PreflightOptions{})
	if !slices.Contains(codes(r, Warning), CodeNoFacts) || r.Errors() > 0 {
		t.Errorf("GO-02: %v", r.Findings)
	}
}

func TestFreeze(t *testing.T) {
	before := documents(t, "a.md", "# A\nGoods come back within seven days of the purchase.\n# B\nother words entirely here\n", "c.md", "# C\nc\n")
	set := ask(t, `[{doc: a.md, section: A, quote: seven days}]`, "  - {id: q2, question: x, answerable: false}\n")
	lock, err := Freeze(set, before)
	if err != nil {
		t.Fatal(err)
	}
	data, err := lock.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseLock("g.lock", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lock, again); diff != "" {
		t.Errorf("lock does not round-trip (-want +got):\n%s", diff)
	}

	for _, tt := range []struct {
		name  string
		set   *Set
		docs  *corpus.Collection
		want  []string
		remap string
	}{
		{"unchanged", set, before, nil, ""},
		{"EN-02 CRLF", set, documents(t, "a.md", "# A\r\nGoods come back within seven days of the purchase.\r\n# B\r\nother words entirely here\r\n", "c.md", "# C\nc\n"), nil, ""},
		{"another section edited", set, documents(t, "a.md", "# A\nGoods come back within seven days of the purchase.\n# B\nnew\n"), nil, ""},
		{"gold edited", set, documents(t, "a.md", "# A\nGoods come back within eight days of the purchase.\n"), []string{CodeFrozenSection}, ""},
		{"heading renamed", set, documents(t, "a.md", "# Returns\nGoods come back within seven days of the purchase.\n"), []string{CodeFrozenMoved}, "a.md > Returns"},
		{"section moved to another document", set, documents(t, "a.md", "# X\ny\n", "z.md", "# Top\n## A\nGoods come back within seven days of the purchase.\n"), []string{CodeFrozenMoved}, "z.md > Top > A"},
		{"document renamed", set, documents(t, "b.md", "# A\nGoods come back within seven days of the purchase.\n"), []string{CodeFrozenMoved}, "b.md > A"},
		{"reworded and renamed", set, documents(t, "b.md", "# Returns\nGoods come back within six days of the purchase.\n# Z\nnothing alike\n"), []string{CodeFrozenMoved}, "b.md > Returns"},
		{"gone", set, documents(t, "b.md", "# Z\nnothing alike\n"), []string{CodeFrozenMoved}, ""},
		{"label edited", ask(t, `[{doc: a.md, section: B}]`, "  - {id: q2, question: x, answerable: false}\n"), before, []string{CodeFrozenChanged}, ""},
		{"question added", ask(t, `[{doc: a.md, section: A, quote: seven days}]`, "  - {id: q2, question: x, answerable: false}\n  - {id: q3, question: y, answerable: false}\n"), before, []string{CodeFrozenChanged}, ""},
		{"question removed", ask(t, `[{doc: a.md, section: A, quote: seven days}]`, ""), before, []string{CodeFrozenChanged}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, remaps := lock.Check(tt.set, tt.docs)
			var got []string
			for _, f := range findings {
				got = append(got, f.Code)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%v", diff, findings)
			}
			var to string
			if len(remaps) > 0 {
				to = string(remaps[0].Doc) + " > " + remaps[0].Section
				if s := remaps[0].String(); !strings.Contains(s, "\n- ") || !strings.Contains(s, "\n+ "+to) {
					t.Errorf("proposal is no diff: %s", s)
				}
			}
			if to != tt.remap {
				t.Errorf("remap to %q, want %q", to, tt.remap)
			}
		})
	}

	newer := *set
	newer.Version = 2
	if findings, _ := lock.Check(&newer, before); len(findings) != 1 || !strings.Contains(findings[0].Message, "version 2, the lock version 1") {
		t.Errorf("new version without a freeze: %v", findings)
	}
	if _, err := Freeze(ask(t, "[{doc: no.md}]", ""), before); err == nil {
		t.Error("froze a set whose gold is missing")
	}
	if _, err := ParseLock("g.lock", []byte(`{"schema":"x"}`)); err == nil {
		t.Error("read a lock of an unknown schema")
	}
	if got := LockPath("a/golden.yaml"); got != "a/golden.lock" {
		t.Errorf("LockPath = %s", got)
	}
}

// many returns a set of n questions: every fifth unanswerable, two slices, near-duplicates in
// pairs at the start.
func many(n int) *Set {
	s := &Set{Name: "many", Version: 1}
	for i := range n {
		q := Question{ID: fmt.Sprintf("q%03d", i), Question: fmt.Sprintf("question %d about thing%d and matter%d", i, i*7, i*13), Answerable: i%5 != 0, State: Accepted, Split: Dev}
		q.Slice = []string{[]string{"a", "b"}[i%2]}
		if i < 10 {
			q.Question = fmt.Sprintf("how many days may a customer keep item number%d", i/2)
		}
		if q.Answerable {
			q.Gold = []Group{{{Doc: "a.md", Grade: 1}}}
		}
		s.Questions = append(s.Questions, q)
	}
	return s
}

func TestSplit(t *testing.T) {
	set := many(100)
	out, err := Split(set, SplitOptions{Holdout: .4, Seed: 3, NearDuplicate: .95})
	if err != nil {
		t.Fatal(err)
	}
	d := Describe(out, nil)
	if got := d.Splits[1]; got.Name != Holdout || got.N < 37 || got.N > 43 {
		t.Errorf("holdout has %d of 100, want about 40", got.N)
	}
	no := 0
	for _, q := range out.Select(Holdout) {
		if !q.Answerable {
			no++
		}
	}
	if no < 7 || no > 9 {
		t.Errorf("%d of 20 unanswerable questions on the holdout, want 8", no)
	}
	for _, s := range d.Slices {
		if s.Holdout < 17 || s.Holdout > 23 {
			t.Errorf("slice %s has %d of 50 on the holdout", s.Name, s.Holdout)
		}
	}
	for _, p := range NearDuplicates(out, .95) {
		if a, b := out.Questions[p.A], out.Questions[p.B]; a.Split != b.Split {
			t.Errorf("near-duplicates %s and %s are on two sides", a.ID, b.ID)
		}
	}
	if len(NearDuplicates(out, .95)) == 0 {
		t.Error("the set has no near-duplicates: the test proves nothing")
	}

	// The file's order does not matter, the seed does.
	reversed := many(100)
	slices.Reverse(reversed.Questions)
	again, err := Split(reversed, SplitOptions{Holdout: .4, Seed: 3, NearDuplicate: .95})
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest() != out.Digest() {
		t.Error("another order of questions gives other sides")
	}
	other, err := Split(set, SplitOptions{Holdout: .4, Seed: 4, NearDuplicate: .95})
	if err != nil {
		t.Fatal(err)
	}
	if other.Digest() == out.Digest() {
		t.Error("another seed gives the same sides")
	}
	if set.Questions[0].Split != Dev || len(set.Select(Holdout)) != 0 {
		t.Error("Split changed its argument")
	}
	if _, err := Split(set, SplitOptions{Holdout: 1.5}); err == nil {
		t.Error("a share above 1 is accepted")
	}
}

// ST-06: what Select(Dev) returns does not depend on the holdout.
func TestSelect(t *testing.T) {
	set, err := Split(many(100), SplitOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	dev := set.Select(Dev)
	without := &Set{}
	for _, q := range set.Questions {
		if q.Split == Dev {
			without.Questions = append(without.Questions, q)
		}
	}
	if diff := cmp.Diff(without.Select(All), dev); diff != "" {
		t.Errorf("ST-06 (-want +got):\n%s", diff)
	}
	if n := len(dev) + len(set.Select(Holdout)); n != 100 {
		t.Errorf("sides hold %d of 100", n)
	}
	set.Questions[0].State, set.Questions[1].State = Draft, Retired
	if n := len(set.Select("")); n != 98 {
		t.Errorf("Select returns %d, want 98 without draft and retired", n)
	}
}

func TestKappa(t *testing.T) {
	// 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: kappa 0.4 (the example of Cohen's table).
	set := &Set{}
	for i := range 50 {
		a, b := i < 25, i < 20 || i >= 25 && i < 35
		set.Questions = append(set.Questions, Question{ID: fmt.Sprint(i), Labels: []Label{{By: "x", Answerable: &a}, {By: "y", Answerable: &b}}})
	}
	want := []Agreement{{A: "x", B: "y", N: 50, Same: 35, Kappa: .4, OK: true}}
	if diff := cmp.Diff(want, Kappa(set)); diff != "" {
		t.Errorf("Kappa (-want +got):\n%s", diff)
	}
	yes := true
	same := &Set{Questions: []Question{{Labels: []Label{{By: "x", Answerable: &yes}, {By: "y", Answerable: &yes}}}}}
	if got := Kappa(same); got[0].OK {
		t.Errorf("one label throughout: %+v, want n/a", got[0])
	}
	alone := &Set{Questions: []Question{{Labels: []Label{{By: "x", Answerable: &yes}}}}}
	if got := Kappa(alone); got != nil {
		t.Errorf("one person: %+v", got)
	}
}

func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "golden.looks.jsonl")
	set := &Set{Name: "s", Version: 1}
	l, err := ReadLedger(path)
	if err != nil || l.Wear(set) != (Wear{}) {
		t.Fatalf("no file: %+v, %v", l, err)
	}
	look := Look{When: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Who: "ann", Build: "b1", Set: "s", Version: 1, Revealed: RevealedTotals}
	if err := RecordLook(nil, path, look); err != nil {
		t.Fatal(err)
	}
	other := look
	other.Set = "other"
	if err := RecordLook(nil, path, other); err != nil {
		t.Fatal(err)
	}
	if l, err = ReadLedger(path); err != nil || l.Wear(set) != (Wear{Looks: 1}) {
		t.Errorf("after one look: %+v, %v", l, err)
	}
	look.Revealed = RevealedQuestions
	if err := RecordLook(nil, path, look); err != nil {
		t.Fatal(err)
	}
	want := Wear{Looks: 2, Spent: true, Reason: "ann saw results of single questions on 2026-03-04"}
	if l, err = ReadLedger(path); err != nil || l.Wear(set) != want {
		t.Errorf("ST-06: %+v, %v; want %+v", l.Wear(set), err, want)
	}
	if diff := cmp.Diff(look, l.Looks[2]); diff != "" {
		t.Errorf("look (-want +got):\n%s", diff)
	}

	// A write cut short is left out, and the next line does not run into it.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"when":"2026-`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = ReadLedger(path); err != nil || len(l.Looks) != 3 {
		t.Errorf("cut short: %d looks, %v", len(l.Looks), err)
	}
	if err := RecordLook(nil, path, Look{Revealed: "all"}); err == nil {
		t.Error("an unknown revelation is accepted")
	}
	if err := RecordLook(&disk.FS{Before: func(op disk.Op, _ string) error {
		if op == disk.OpSync {
			return os.ErrInvalid
		}
		return nil
	}}, path, look); err == nil {
		t.Error("a failed sync is no error")
	}
	if got := LedgerPath("a/golden.yaml"); got != "a/golden.looks.jsonl" {
		t.Errorf("LedgerPath = %s", got)
	}
}

func TestWordOverlap(t *testing.T) {
	for _, tt := range []struct {
		question, text string
		want           float64
	}{
		{"Is it free?", "it IS free", 1},
		{"Is it free?", "paid", 0},
		{"fee of 3,000,000", "3000000 is the fee", 2.0 / 3},
		{"", "x", 0},
		{"?!", "x", 0},
	} {
		if got := WordOverlap(tt.question, tt.text); got != tt.want {
			t.Errorf("WordOverlap(%q, %q) = %v, want %v", tt.question, tt.text, got, tt.want)
		}
	}
}

func TestFactIn(t *testing.T) {
	text := "Fees: 3,000,000 VND, or 7.5% (from 1 April). NO exceptions; b\u1ec7nh viện. 0.125 l, 1.500 g."
	for _, tt := range []struct {
		fact Phrasing
		want bool
	}{
		{Phrasing{Number: "3000000", Unit: "VND"}, true},
		{Phrasing{Number: "3.000.000"}, true},
		{Phrasing{Number: "300000"}, false},
		{Phrasing{Text: "7.5%"}, true},
		{Phrasing{Text: "7,5%"}, true},
		{Phrasing{Text: "no exceptions"}, true},
		{Phrasing{Text: "exception"}, false},
		{Phrasing{Text: "be\u0323\u0302nh viện"}, true},
		{Phrasing{Regex: `(?i)no\s+exc`}, true},
		{Phrasing{Number: "0.125"}, true},
		{Phrasing{Number: "125"}, false},
		{Phrasing{Number: "1500"}, true},
		{Phrasing{Text: "?"}, false},
	} {
		if got := (Fact{Any: []Phrasing{tt.fact}}).In(text); got != tt.want {
			t.Errorf("%v in text = %v, want %v", tt.fact, got, tt.want)
		}
	}
	if (Fact{}).In(text) {
		t.Error("a fact without phrasing is found")
	}
}

func TestPreflightSuperseded(t *testing.T) {
	docs := documents(t,
		"returns-2024.md", "# Returns\n14 days to send goods back\n",
		"returns-2026.md", "---\nsupersedes: returns-2024.md\n---\n# Returns\n7 days to send goods back\n",
		"fees-2025.md", "# Fees\n30 to be paid\n",
		"fees-2026.md", "---\nsupersedes: fees-2025.md\nacl: [board]\n---\n# Fees\n40 to be paid\n")
	for _, tt := range []struct {
		name, gold, more string
		want             bool
	}{
		{"PM-07 whole document", "[{doc: returns-2024.md}]", "", true},
		{"PM-07 section", "[{doc: returns-2024.md, section: Returns}]", "", true},
		{"PM-07 the newer one", "[{doc: returns-2026.md}]", "", false},
		{"PM-07 either will do", "[{any: [{doc: returns-2024.md}, {doc: returns-2026.md}]}]", "", false},
		{"PM-07 about the past", "[{doc: returns-2024.md}]", "    slice: [past]\n", false},
		{"PM-07 replaced for the board alone", "[{doc: fees-2025.md}]", "", false},
		{"PM-07 asked by the board", "[{doc: fees-2025.md}]", "    as: [board]\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Preflight(ask(t, tt.gold, tt.more), docs, PreflightOptions{})
			if got := slices.Contains(codes(r, Warning), CodeSuperseded); got != tt.want {
				t.Errorf("warned: %v, want %v: %v", got, tt.want, r.Findings)
			}
		})
	}
}
