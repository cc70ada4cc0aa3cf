package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed792a4543/assay/corpus"
)

const header = "schema: assay.golden/v1\nname: t\nversion: 1\nquestions:\n"

func mustParse(t testing.TB, name, data string) *Set {
	t.Helper()
	s, err := Parse(name, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseWhole(t *testing.T) {
	yaml := `schema: assay.golden/v1
name: shop
version: 3
questions:
  - id: q001
    question: Can I send back a rice cooker?
    answerable: true
    slice: [paraphrase, short]
    split: holdout
    critical: true
    as: [public]
    forbidden: [price.md]
    gold:
      - {doc: returns.md, section: Returns > Conditions, quote: "within 7 days", grade: 2}
      - any: [{doc: north.md, section: ""}, {doc: south.md}]
    facts:
      - [7 days, seven days]
      - {number: 30000, unit: VND}
      - [{date: 2026-04-01}, {regex: 'first\s+of'}, {text: soon}]
    claims:
      monday: [{doc: launch.md}]
      bonus: []
    state: accepted
    labels:
      - {by: anna, doc: returns.md, section: Returns, grade: 0, note: too broad}
      - {by: ben, answerable: true}
    notes: checked
`
	own, conditions, returns := "", "Returns > Conditions", "Returns"
	yes := true
	want := &Set{Schema: Schema, Name: "shop", Version: 3, Path: "g.yaml", Questions: []Question{{
		ID: "q001", Question: "Can I send back a rice cooker?", Answerable: true, Slice: []string{"paraphrase", "short"},
		Split: Holdout, Critical: true, As: []string{"public"}, Forbidden: []corpus.DocumentID{"price.md"},
		Gold: []Group{
			{{Doc: "returns.md", Section: &conditions, Quote: "within 7 days", Grade: 2, Line: 14}},
			{{Doc: "north.md", Section: &own, Grade: 1, Line: 15}, {Doc: "south.md", Grade: 1, Line: 15}},
		},
		Facts: []Fact{
			{Any: []Phrasing{{Text: "7 days"}, {Text: "seven days"}}, Line: 17},
			{Any: []Phrasing{{Number: "30000", Unit: "VND"}}, Line: 18},
			{Any: []Phrasing{{Date: "2026-04-01"}, {Regex: `first\s+of`}, {Text: "soon"}}, Line: 19},
		},
		Claims: []Claim{{ID: "monday", Support: []Member{{Doc: "launch.md", Grade: 1, Line: 21}}, Line: 21}, {ID: "bonus", Line: 22}},
		State:  Accepted,
		Labels: []Label{
			{By: "anna", Doc: "returns.md", Section: &returns, Note: "too broad", Line: 25},
			{By: "ben", Answerable: &yes, Line: 26},
		},
		Notes: "checked", Line: 5,
	}}}
	got := mustParse(t, "g.yaml", yaml)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	for _, format := range []string{"yaml", "json", "jsonl"} {
		data, err := got.Encode(format)
		if err != nil {
			t.Fatal(err)
		}
		again := mustParse(t, "g."+format, string(data))
		if again.Digest() != got.Digest() {
			t.Errorf("%s: digest changed:\n%s", format, data)
		}
	}
}

// TestGolden holds the cases GO that the loader decides. Each fault must be named with its
// line; want are parts of the message, "line: text".
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name, file, data string
		want             []string
	}{
		{"GO-02 answerable without gold", "g.jsonl", `{"id":"q1","question":"a","answerable":true,"gold":[]}`, []string{"1: question q1 is answerable but has no gold"}},
		{"GO-02 unanswerable with gold", "g.jsonl", `{"id":"q2","question":"a","answerable":false,"gold":[{"doc":"a.md","section":"X"}]}`, []string{"1: question q2 has gold but answerable is false"}},

		{"GO-03 JSONL", "g.jsonl", `{"id":"q1","question":"a","answerable":true,"gols":[{"doc":"a"}]}
{"id":"q2","question":"a","answerable":true,"answerable":false}
{"id":"q3","question":"a","answerable":false}

{"id":"q3","question":"b","answerable":false}
{"ID":"q4","question":"b","answerable":false}`, []string{
			`1: unknown key "gols" in the question: did you mean "gold"?`, `2: repeated key "answerable" in the question (first in line 2)`,
			`5: repeated id "q3" (first in line 3)`, `6: unknown key "ID" in the question: did you mean "id"?`, "6: id is missing",
		}},
		{"GO-03 JSON", "g.json", `{"schema":"assay.golden/v1","questions":[
{"id":"q1","question":"a","answerable":true,
 "gols":[]},
{"id":"q2","question":"a","answerable":true,
 "answerable":false},
{"id":"q2","question":"a","answerable":false}]}`, []string{
			`3: unknown key "gols"`, `5: repeated key "answerable" in the question (first in line 4)`, `6: repeated id "q2" (first in line 4)`,
		}},
		{"GO-03 YAML", "g.yaml", header + `  - id: q1
    question: a
    answerable: false
    gols: []
  - id: q1
    question: a
    answerable: true
    answerable: false
  - ID: q4
`, []string{`8: unknown key "gols"`, `9: repeated id "q1" (first in line 5)`, `12: repeated key "answerable" in the question (first in line 11)`, `13: unknown key "ID"`}},
		{"missing answerable", "g.yaml", header + "  - id: q1\n    question: a\n", []string{"5: question q1: answerable is missing: write true or false"}},
		{"missing schema", "g.yaml", "questions: []\n", []string{"1: schema is missing"}},
		{"unknown schema", "g.yaml", "schema: assay.golden/v9\nquestions: []\n", []string{`1: schema "assay.golden/v9" is not known`}},
		{"unknown key at the top", "g.yaml", header + "  - {id: a, question: b, answerable: false}\nquestion: 1\n", []string{`6: unknown key "question" in the golden set: did you mean "questions"?`}},

		{"GO-06 null in facts", "g.yaml", header + "  - id: a\n    question: b\n    answerable: false\n    facts:\n      - no\n      - ~\n", []string{"10: an entry of question a: facts is null"}},
		{"GO-06 colon", "g.yaml", header + "  - id: a\n    question: Free? Yes: always\n    answerable: false\n", []string{"6: not valid YAML", "put quotes around"}},
		{"GO-06 comment in id", "g.yaml", header + "  - id: q #1\n    question: a\n    answerable: false\n  - id: q #2\n    question: b\n    answerable: false\n", []string{`8: repeated id "q" (first in line 5): text after a blank and # is a comment`}},

		{"GO-07 typo in member", "g.yaml", header + "  - id: a\n    question: b\n    answerable: true\n    gold:\n      - doc: a.md\n        secton: X\n", []string{`10: unknown key "secton" in question a: gold: did you mean "section"?`}},
		{"GO-07 typo in fact", "g.yaml", header + "  - id: a\n    question: b\n    answerable: false\n    facts:\n      - {number: 3, unti: VND}\n", []string{`9: unknown key "unti" in question a: facts: did you mean "unit"?`}},
		{"GO-07 grade 1.5", "g.yaml", header + "  - {id: a, question: b, answerable: true, gold: [{doc: a.md, grade: 1.5}]}\n", []string{"5: question a: gold: grade must be a whole number from 1 to 100, not 1.5"}},
		{"GO-07 grade 0", "g.json", `{"schema":"assay.golden/v1","questions":[{"id":"a","question":"b","answerable":true,"gold":[{"doc":"a.md","grade":0}]}]}`, []string{"1: question a: gold: grade must be a whole number from 1 to 100, not 0"}},
		{"GO-07 grade 1.0 in JSON", "g.json", `{"schema":"assay.golden/v1","questions":[{"id":"a","question":"b","answerable":true,"gold":[{"doc":"a.md","grade":1.0}]}]}`, []string{"not 1.0"}},
		{"GO-07 grade quoted", "g.yaml", header + "  - {id: a, question: b, answerable: true, gold: [{doc: a.md, grade: '2'}]}\n", []string{`not "2"`}},
		{"GO-07 null in list", "g.yaml", header + "  - id: a\n    question: b\n    answerable: false\n    facts: [a, ~, b]\n", []string{"8: an entry of question a: facts is null"}},
		{"GO-07 null in JSON list", "g.jsonl", `{"id":"a","question":"b","answerable":false,"slice":["x",null]}`, []string{"1: an entry of question a: slice is null"}},
		{"GO-07 anchor", "g.yaml", "schema: assay.golden/v1\nquestions:\n  - &x {id: a, question: b, answerable: false}\n  - <<: *x\n    id: c\n", []string{"3: anchors and aliases are not supported"}},
		{"GO-07 merge key", "g.yaml", "schema: assay.golden/v1\nquestions:\n  - id: c\n    <<: {question: b}\n", []string{"4: merge keys (<<) are not supported"}},
		{"tag", "g.yaml", header + "  - {id: !!str 1, question: b, answerable: false}\n", []string{"5: tags are not supported"}},

		{"wrong types", "g.yaml", header + `  - id: [a]
    question: {a: b}
    answerable: 'true'
    slice: one
    critical: yes
    gold: a.md
    claims: [a]
    labels: x
`, []string{
			"5: id must be a single value, not a list", "6: question must be a single value, not a mapping", `7: answerable must be true or false, not "true"`,
			"8: slice must be a list, not a single value", `9: critical must be true or false, not "yes"`, "10: gold must be a list",
			"11: claims must be a mapping", "12: labels must be a list",
		}},
		{"question is text", "g.yaml", header + "  - hello\n", []string{"5: a question must be a mapping, not a single value"}},
		{"unknown split", "g.yaml", header + "  - {id: a, question: b, answerable: false, split: holdut}\n", []string{`split must be one of dev, holdout, not "holdut": did you mean "holdout"?`}},
		{"empty any", "g.yaml", header + "  - {id: a, question: b, answerable: true, gold: [{any: []}]}\n", []string{"any is empty"}},
		{"any beside doc", "g.yaml", header + "  - {id: a, question: b, answerable: true, gold: [{any: [{doc: a}], doc: b}]}\n", []string{`unknown key "doc"`}},
		{"path outside", "g.yaml", header + "  - {id: a, question: b, answerable: true, gold: [{doc: ../a.md}]}\n", []string{"must be a path relative to the corpus"}},
		{"two forms of fact", "g.yaml", header + "  - {id: a, question: b, answerable: false, facts: [{text: x, number: 3}]}\n", []string{"exactly one of text, number, date and regex"}},
		{"bad regex", "g.yaml", header + "  - {id: a, question: b, answerable: false, facts: [{regex: '('}]}\n", []string{"missing closing )"}},
		{"bad number", "g.yaml", header + "  - {id: a, question: b, answerable: false, facts: [{number: three}]}\n", []string{`"three" is no number`}},
		{"bad date", "g.yaml", header + "  - {id: a, question: b, answerable: false, facts: [{date: 2026-13-01}]}\n", []string{`"2026-13-01" is no date`}},
		{"claim id", "g.yaml", header + "  - {id: a, question: b, answerable: false, claims: {Monday: []}}\n", []string{`claim id "Monday" must be lower-case`}},
		{"label about nothing", "g.yaml", header + "  - {id: a, question: b, answerable: false, labels: [{by: x}]}\n", []string{"a label is about a place"}},
		{"repeated slice", "g.yaml", header + "  - {id: a, question: b, answerable: false, slice: [x, x]}\n", []string{`"x" stands twice`}},
		{"blank question", "g.yaml", header + "  - {id: a, question: '  ', answerable: false}\n", []string{"question is empty"}},
		{"not UTF-8", "g.yaml", header + "  - {id: a, question: \"\xff\", answerable: false}\n", []string{"5: not valid UTF-8"}},
		{"two documents", "g.yaml", header + "  - {id: a, question: b, answerable: false}\n---\nschema: x\n", []string{"a second YAML document"}},
		{"broken JSON", "g.json", "{\"schema\":\"assay.golden/v1\",\n\"questions\":[\n{\"id\":}]}", []string{"3: not valid JSON"}},
		{"JSON goes on", "g.json", `{"schema":"assay.golden/v1","questions":[]} {}`, []string{"more text after the end"}},
		{"half surrogate", "g.jsonl", `{"id":"a","question":"\ud83d","answerable":false}`, []string{"half a surrogate pair"}},
		{"empty", "g.yaml", "", []string{"1: a golden set is a mapping"}},
		{"deep", "g.yaml", strings.Repeat("[", 5000), []string{"brackets nest"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := Parse(tt.file, []byte(tt.data))
			var pe *ParseError
			if !errors.As(err, &pe) || set != nil {
				t.Fatalf("Parse = %v, %v; want a ParseError", set, err)
			}
			for _, want := range tt.want {
				text := want
				if before, _, ok := strings.Cut(want, ":"); ok && strings.Trim(before, "0123456789") == "" {
					text = tt.file + ":" + want
				}
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error lacks %q:\n%v", text, err)
				}
			}
		})
	}
}

func TestSpelling(t *testing.T) {
	t.Run("GO-06", func(t *testing.T) {
		want := []string{"no", "3.10", "1_000", "012", "007", "1e3", "2026-04-01", "12:30", "50%", "yes", "0x1F", ".inf", "1.0"}
		plain := header + "  - id: 012\n    question: b\n    answerable: false\n    facts: [" + strings.Join(want, ", ") + "]\n"
		quoted := header + "  - id: \"012\"\n    question: b\n    answerable: false\n    facts: ['" + strings.Join(want, "', '") + "']\n"
		a, b := mustParse(t, "g.yaml", plain), mustParse(t, "g.yaml", quoted)
		var got []string
		for _, f := range a.Questions[0].Facts {
			got = append(got, f.Any[0].Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("facts (-want +got):\n%s", diff)
		}
		if a.Questions[0].ID != "012" {
			t.Errorf("id = %q", a.Questions[0].ID)
		}
		if a.Digest() != b.Digest() {
			t.Error("quoted and plain differ")
		}
		for _, format := range []string{"yaml", "json", "jsonl"} {
			data, err := a.Encode(format)
			if err != nil {
				t.Fatal(err)
			}
			if mustParse(t, "t."+format, string(data)).Digest() != a.Digest() {
				t.Errorf("%s does not keep the spelling:\n%s", format, data)
			}
		}
	})
	t.Run("EN-05", func(t *testing.T) {
		nfc := mustParse(t, "g.yaml", header+"  - {id: a, question: b\u1ec7nh viện, answerable: true, gold: [{doc: b\u1ec7nh.md, section: B\u1ec7nh}]}\n")
		nfd := mustParse(t, "g.yaml", header+"  - {id: a, question: be\u0323\u0302nh viện, answerable: true, gold: [{doc: be\u0323\u0302nh.md, section: Be\u0323\u0302nh}]}\n")
		if nfc.Digest() != nfd.Digest() {
			t.Error("composed and decomposed labels differ")
		}
	})
	t.Run("JSON numbers", func(t *testing.T) {
		s := mustParse(t, "g.jsonl", `{"id":3.10,"question":"a","answerable":false,"facts":[1e3]}`)
		if s.Questions[0].ID != "3.10" || s.Questions[0].Facts[0].Any[0].Text != "1e3" {
			t.Errorf("got %+v", s.Questions[0])
		}
	})
	t.Run("BOM", func(t *testing.T) {
		mustParse(t, "g.yaml", "\ufeff"+header+"  - {id: a, question: b, answerable: false}\n")
	})
}

func TestDigest(t *testing.T) {
	a := `{"schema":"assay.golden/v1","name":"n","version":1}
{"id":"q1","question":"a","answerable":true,"gold":[{"doc":"a.md","section":"X"}],"slice":["x","y"]}
{"id":"q2","question":"b","answerable":false}
`
	base := mustParse(t, "g.jsonl", a).Digest()
	lines := strings.SplitAfter(a, "\n")
	for _, tt := range []struct {
		name, file, data string
		same             bool
	}{
		{"GO-04 CRLF", "g.jsonl", strings.ReplaceAll(a, "\n", "\r\n"), true},
		{"GO-04 reordered", "g.jsonl", lines[0] + lines[2] + lines[1], true},
		{"GO-04 label corrected", "g.jsonl", strings.Replace(a, `"X"`, `"Y"`, 1), false},
		{"slices reordered", "g.jsonl", strings.Replace(a, `"x","y"`, `"y","x"`, 1), true},
		{"grade 1 written out", "g.jsonl", strings.Replace(a, `"X"}`, `"X","grade":1}`, 1), true},
		{"split dev written out", "g.jsonl", strings.Replace(a, `"answerable":false`, `"answerable":false,"split":"dev","state":"accepted"`, 1), true},
		{"notes", "g.jsonl", strings.Replace(a, `"answerable":false`, `"answerable":false,"notes":"n"`, 1), true},
		{"whole document is not its own section", "g.jsonl", strings.Replace(a, `,"section":"X"`, ``, 1), false},
		{"new version", "g.jsonl", strings.Replace(a, `"version":1`, `"version":2`, 1), false},
		{"as YAML", "g.yaml", "schema: assay.golden/v1\nname: n\nversion: 1\nquestions:\n  - {id: q2, question: b, answerable: false}\n  - {id: q1, question: a, answerable: true, slice: [x, y], gold: [{doc: a.md, section: X}]}\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustParse(t, tt.file, tt.data).Digest() == base; got != tt.same {
				t.Errorf("same digest: %v, want %v", got, tt.same)
			}
		})
	}
	own := mustParse(t, "g.jsonl", strings.Replace(a, `"X"`, `""`, 1)).Digest()
	whole := mustParse(t, "g.jsonl", strings.Replace(a, `,"section":"X"`, ``, 1)).Digest()
	if own == whole {
		t.Error("the document's own section and the whole document have one digest")
	}
}

// TestEncodeRoundTrip writes random sets and reads them back.
func TestEncodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[A-Za-z0-9#:'"~&*!%@,\[\]{} é\n_.-]{1,12}`).Filter(func(s string) bool {
			return strings.TrimSpace(s) == s && s != ""
		})
		s := &Set{Schema: Schema, Name: text.Draw(t, "name"), Version: rapid.IntRange(1, 9).Draw(t, "version")}
		for i := range rapid.IntRange(0, 4).Draw(t, "n") {
			q := Question{ID: fmt.Sprintf("q%d", i), Question: text.Draw(t, "question"), State: Accepted, Split: Dev}
			if rapid.Bool().Draw(t, "answerable") {
				section := strings.TrimSpace(text.Draw(t, "section"))
				q.Answerable = true
				q.Gold = []Group{{{Doc: "a.md", Section: &section, Quote: text.Draw(t, "quote"), Grade: rapid.IntRange(1, 3).Draw(t, "grade")}, {Doc: "b.md", Grade: 1}}}
			}
			for range rapid.IntRange(0, 2).Draw(t, "facts") {
				q.Facts = append(q.Facts, Fact{Any: []Phrasing{{Text: text.Draw(t, "fact")}, {Number: "3.10", Unit: text.Draw(t, "unit")}}})
			}
			s.Questions = append(s.Questions, q)
		}
		for _, format := range []string{"yaml", "json", "jsonl"} {
			data, err := s.Encode(format)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse("g."+format, data)
			if err != nil {
				t.Fatalf("%s: %v\n%s", format, err, data)
			}
			if again.Digest() != s.Digest() {
				t.Fatalf("%s changes the set:\n%s", format, data)
			}
		}
	})
}

// A set and a question inside other JSON keep the shape of the file.
func TestMarshalJSON(t *testing.T) {
	s := mustParse(t, "g.jsonl", `{"id":"a","question":"b","answerable":true,"gold":[{"doc":"a.md","section":""}]}`)
	data, err := json.Marshal(map[string]any{"set": s, "question": s.Questions[0]})
	if err != nil {
		t.Fatal(err)
	}
	q := `{"id":"a","question":"b","answerable":true,"gold":[{"doc":"a.md","section":""}]}`
	want := `{"question":` + q + `,"set":{"schema":"assay.golden/v1","name":"g","version":1,"questions":[` + q + `]}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set.yaml")
	if err := os.WriteFile(path, []byte(header+"  - {id: a, question: b, answerable: false}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path)
	if err != nil || s.Path != path || s.Name != "t" {
		t.Errorf("Load = %+v, %v", s, err)
	}
	if _, err := Load(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("g.yaml", header+"  - {id: a, question: b, answerable: true, gold: [{doc: a.md, section: X}], facts: [[a, {number: 3}]]}\n")
	f.Add("g.json", `{"schema":"assay.golden/v1","questions":[{"id":"a","question":"b","answerable":false}]}`)
	f.Add("g.jsonl", `{"id":"a","question":"b","answerable":false}`)
	f.Add("g.yaml", "a: &b\n  - *b\n")
	f.Add("g.yaml", "? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, name, data string) {
		s, err := Parse(name, []byte(data))
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || len(pe.Faults) == 0 {
				t.Fatalf("error %v is no ParseError with faults", err)
			}
			return
		}
		for _, format := range []string{"yaml", "json", "jsonl"} {
			out, err := s.Encode(format)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse("g."+format, out)
			if err != nil {
				t.Fatalf("%s does not read back: %v\n%s", format, err, out)
			}
			if again.Digest() != s.Digest() {
				t.Fatalf("%s changes the digest:\n%s", format, out)
			}
		}
	})
}
