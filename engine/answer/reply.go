package answer

import (
	"encoding/json"
	"strings"

	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
)

// parseReply reads a model's reply: the last JSON object with a field answer or refused, if
// there is one, else plain text. Reasoning is taken out first and is never parsed. A reply may
// repeat an object it was shown before it gives its own, hence the last.
func parseReply(raw string, shown int) Answer {
	text, thinking := evalanswer.StripThinking(raw)
	a := Answer{Raw: raw, Thinking: thinking}
	fields, ok := lastObject(text)
	a.Structured = ok
	if !ok {
		// A reply that the limit of tokens cut off is read as far as it goes.
		fields = map[string]json.RawMessage{}
		fieldsSoFar(text, func(key string, value json.RawMessage) bool {
			fields[key] = value
			return true
		})
		ok = stringField(fields, "answer", "response") != ""
	}
	if !ok {
		a.Text = strings.TrimSpace(text)
		a.Citations = evalanswer.Citations(a.Text, shown).Markers
		a.Refused, _ = evalanswer.Refusal(a.Text)
	} else {
		a.Text = stringField(fields, "answer", "response", "text")
		a.Citations = evalanswer.Citations(a.Text, shown).Markers
		if raw, ok := anyField(fields, "sources", "citations", "source"); ok && len(a.Citations) == 0 {
			if c, ok := evalanswer.ParseSources(raw, shown); ok {
				a.Citations = c.Markers
			}
		}
		if refused, ok := boolField(fields, "refused", "refusal", "unanswerable"); ok {
			a.Refused, a.RefusedField = refused, true
		} else {
			a.Refused, _ = evalanswer.Refusal(a.Text)
		}
	}
	if a.Citations == nil {
		a.Citations = []int{}
	}
	return a
}

// lastObject finds the last JSON object at top level of a text that has one of the fields of a
// reply. Code fences and words around it do not matter.
func lastObject(text string) (fields map[string]json.RawMessage, ok bool) {
	for i := 0; i < len(text); {
		if text[i] != '{' {
			i++
			continue
		}
		var m map[string]json.RawMessage
		d := json.NewDecoder(strings.NewReader(text[i:]))
		if err := d.Decode(&m); err != nil {
			i++
			continue
		}
		lower := make(map[string]json.RawMessage, len(m))
		for k, v := range m {
			lower[strings.ToLower(k)] = v
		}
		for _, k := range []string{"answer", "response", "refused", "refusal"} {
			if _, has := lower[k]; has {
				fields, ok = lower, true
			}
		}
		i += int(d.InputOffset())
	}
	return fields, ok
}

func anyField(m map[string]json.RawMessage, names ...string) (json.RawMessage, bool) {
	for _, n := range names {
		if v, ok := m[n]; ok {
			return v, true
		}
	}
	return nil, false
}

func stringField(m map[string]json.RawMessage, names ...string) string {
	raw, ok := anyField(m, names...)
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	if string(raw) == "null" {
		return ""
	}
	return strings.TrimSpace(string(raw)) // a number or a list instead of a text
}

func boolField(m map[string]json.RawMessage, names ...string) (v, ok bool) {
	raw, found := anyField(m, names...)
	if !found {
		return false, false
	}
	if json.Unmarshal(raw, &v) == nil && string(raw) != "null" {
		return v, true
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "true", "yes":
			return true, true
		case "false", "no", "":
			return false, true
		}
	}
	return false, false
}
