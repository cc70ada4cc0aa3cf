package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// questionJSON is a question as it stands in a JSON file.
type questionJSON struct {
	ID         string      `json:"id"`
	Question   string      `json:"question"`
	Answerable bool        `json:"answerable"`
	Slice      []string    `json:"slice,omitempty"`
	Split      string      `json:"split,omitempty"`
	Critical   bool        `json:"critical,omitempty"`
	As         []string    `json:"as,omitempty"`
	Forbidden  []string    `json:"forbidden,omitempty"`
	Gold       []any       `json:"gold,omitempty"`
	Facts      []any       `json:"facts,omitempty"`
	Claims     claimsJSON  `json:"claims,omitempty"`
	State      string      `json:"state,omitempty"`
	Labels     []labelJSON `json:"labels,omitempty"`
	Notes      string      `json:"notes,omitempty"`
}

type memberJSON struct {
	Doc     string  `json:"doc"`
	Section *string `json:"section,omitempty"`
	Quote   string  `json:"quote,omitempty"`
	Grade   int     `json:"grade,omitempty"`
}

type anyJSON struct {
	Any []memberJSON `json:"any"`
}

type phrasingJSON struct {
	Text   string `json:"text,omitempty"`
	Number string `json:"number,omitempty"`
	Unit   string `json:"unit,omitempty"`
	Date   string `json:"date,omitempty"`
	Regex  string `json:"regex,omitempty"`
}

type labelJSON struct {
	By         string  `json:"by"`
	Doc        string  `json:"doc,omitempty"`
	Section    *string `json:"section,omitempty"`
	Grade      *int    `json:"grade,omitempty"`
	Answerable *bool   `json:"answerable,omitempty"`
	Note       string  `json:"note,omitempty"`
}

// claimsJSON keeps the order of claims, which a map would lose.
type claimsJSON []Claim

// MarshalJSON writes an object from claim id to members.
func (c claimsJSON) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, claim := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := marshal(claim.ID)
		if err != nil {
			return nil, err
		}
		value, err := marshal(members(claim.Support))
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func members(ms []Member) []memberJSON {
	out := make([]memberJSON, len(ms))
	for i, m := range ms {
		out[i] = memberJSON{string(m.Doc), m.Section, m.Quote, m.Grade}
		if m.Grade == 1 {
			out[i].Grade = 0 // the default is not written
		}
	}
	return out
}

// MarshalJSON writes the set as Encode("json") does; read it back with Parse.
func (s *Set) MarshalJSON() ([]byte, error) { return s.encodeJSON() }

// MarshalJSON writes the question as a line of Encode("jsonl") does.
func (q Question) MarshalJSON() ([]byte, error) { return marshal(q.json()) }

func (q *Question) json() questionJSON {
	j := questionJSON{
		ID: q.ID, Question: q.Question, Answerable: q.Answerable, Slice: slices.Clone(q.Slice),
		Critical: q.Critical, As: slices.Clone(q.As), Claims: q.Claims, Notes: q.Notes,
	}
	if q.Split != Dev {
		j.Split = q.Split
	}
	if q.State != Accepted {
		j.State = q.State
	}
	for _, id := range q.Forbidden {
		j.Forbidden = append(j.Forbidden, string(id))
	}
	for _, g := range q.Gold {
		if ms := members(g); len(ms) == 1 {
			j.Gold = append(j.Gold, ms[0])
		} else {
			j.Gold = append(j.Gold, anyJSON{ms})
		}
	}
	for _, f := range q.Facts {
		forms := make([]any, len(f.Any))
		for i, p := range f.Any {
			if forms[i] = any(p.Text); p.Text == "" {
				forms[i] = phrasingJSON(p)
			}
		}
		if len(forms) == 1 {
			j.Facts = append(j.Facts, forms[0])
		} else {
			j.Facts = append(j.Facts, forms)
		}
	}
	for _, l := range q.Labels {
		lj := labelJSON{By: l.By, Doc: string(l.Doc), Section: l.Section, Answerable: l.Answerable, Note: l.Note}
		if l.Answerable == nil {
			grade := l.Grade
			lj.Grade = &grade
		}
		j.Labels = append(j.Labels, lj)
	}
	return j
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Encode writes the set as "yaml", "json" or "jsonl"; Parse reads it back with the same
// digest. Defaults are left out. Comments of a file it was read from are lost.
func (s *Set) Encode(format string) ([]byte, error) {
	switch format {
	case "yaml":
		return s.encodeYAML()
	case "json":
		return s.encodeJSON()
	case "jsonl":
		return s.encodeJSONL()
	}
	return nil, fmt.Errorf("golden set format %q is not known: use yaml, json or jsonl", format)
}

type headerJSON struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Version int    `json:"version"`
	Notes   string `json:"notes,omitempty"`
}

func (s *Set) header() headerJSON { return headerJSON{Schema, s.Name, s.Version, s.Notes} }

func (s *Set) encodeJSON() ([]byte, error) {
	questions := make([]questionJSON, len(s.Questions))
	for i := range s.Questions {
		questions[i] = s.Questions[i].json()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(struct {
		headerJSON
		Questions []questionJSON `json:"questions"`
	}{s.header(), questions})
	return b.Bytes(), err
}

func (s *Set) encodeJSONL() ([]byte, error) {
	var b bytes.Buffer
	head, err := marshal(s.header())
	if err != nil {
		return nil, err
	}
	b.Write(append(head, '\n'))
	for i := range s.Questions {
		data, err := marshal(s.Questions[i].json())
		if err != nil {
			return nil, err
		}
		b.Write(append(data, '\n'))
	}
	return b.Bytes(), nil
}

// encodeYAML writes one block of keys for each question, with values in flow style: JSON is
// YAML, and a quoted value cannot change its type.
func (s *Set) encodeYAML() ([]byte, error) {
	var b bytes.Buffer
	if err := yamlFields(&b, "", s.header()); err != nil {
		return nil, err
	}
	if len(s.Questions) == 0 {
		b.WriteString("questions: []\n")
		return b.Bytes(), nil
	}
	b.WriteString("questions:\n")
	for i := range s.Questions {
		var item bytes.Buffer
		if err := yamlFields(&item, "    ", s.Questions[i].json()); err != nil {
			return nil, err
		}
		b.WriteString("  - ")
		b.Write(bytes.TrimPrefix(item.Bytes(), []byte("    ")))
	}
	return b.Bytes(), nil
}

var plainYAML = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

var reservedYAML = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}

// yamlFields writes the fields of v, a struct with JSON tags, in their order.
func yamlFields(b *bytes.Buffer, indent string, v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		var text string
		if json.Unmarshal(raw, &text) == nil && plainYAML.MatchString(text) && !slices.Contains(reservedYAML, strings.ToLower(text)) {
			raw = []byte(text)
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, key, raw)
	}
	return nil
}
