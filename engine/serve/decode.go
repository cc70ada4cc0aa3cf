package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed792a4543/assay/engine"
)

// object is a JSON object whose keys have been checked and whose values have not.
type object map[string]json.RawMessage

// readObject reads the body of r as one JSON object with no key but those known, none of them
// twice. encoding/json alone would take unknown, repeated and differently cased keys.
func readObject(r *http.Request, known ...string) (object, error) {
	data, err := readBody(r)
	if err != nil {
		return nil, err
	}
	return parseObject(data, known...)
}

func readBody(r *http.Request) ([]byte, error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		// A form of another site can send every type but this one without asking first.
		sent := "the request has no Content-Type"
		if h := r.Header.Get("Content-Type"); h != "" {
			sent = "it came as " + strconv.QuoteToASCII(clip(h))
		}
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_type",
			Message: "the body must be sent as JSON, " + sent + ": add the header `Content-Type: application/json` (curl: -H 'Content-Type: application/json', or --json in place of -d)"}
	}
	data, err := io.ReadAll(r.Body)
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Error{Status: http.StatusRequestTimeout, Code: "slow_client", Message: "the body did not arrive in time"}
	default:
		var tooBig *http.MaxBytesError
		if errors.As(err, &tooBig) {
			return nil, err
		}
		return nil, invalid("", "the body could not be read")
	}
	if !utf8.Valid(data) {
		return nil, invalid("", "the body is not valid UTF-8")
	}
	return data, nil
}

// parseObject is readObject on bytes. Without known keys every key is accepted.
func parseObject(data []byte, known ...string) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	notJSON := invalid("", "the body is not one JSON object")
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, notJSON
	}
	o := object{}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, notJSON
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, notJSON
		}
		if len(known) > 0 && !slices.Contains(known, name) {
			return nil, unknownField(name, known)
		}
		if _, twice := o[name]; twice {
			return nil, invalid(clip(name), "field %q is given twice", clip(name))
		}
		o[name] = raw
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('}') {
		return nil, notJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, notJSON
	}
	return o, nil
}

func unknownField(name string, known []string) *Error {
	if name == "as" {
		return invalid("as", "field \"as\" is not accepted: a caller's labels come from its token")
	}
	return invalid(clip(name), "field %q is not known: use %s", clip(name), strings.Join(known, ", "))
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// kind names the type of a JSON value.
func kind(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func (o object) has(name string) bool {
	raw, ok := o[name]
	return ok && string(raw) != "null"
}

// text returns a string field; one that is required must hold more than white space.
func (o object) text(name string, required bool, maxRunes int) (string, error) {
	if !o.has(name) {
		if required {
			return "", outOfRange(name, 1, maxRunes, "%s is missing: it is a string of characters", name)
		}
		return "", nil
	}
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return "", invalid(name, "%s is %s: it must be a string of 1 to %d characters", name, kind(o[name]), maxRunes)
	}
	n := utf8.RuneCountInString(s)
	if strings.TrimSpace(s) == "" {
		if !required && n == 0 {
			return "", nil
		}
		return "", outOfRange(name, 1, maxRunes, "%s is empty: its length is counted in characters", name)
	}
	if n > maxRunes {
		return "", outOfRange(name, 1, maxRunes, "%s has %d characters", name, n)
	}
	return s, nil
}

// integer returns a whole number from lo to hi, or def if the field is absent.
func (o object) integer(name string, lo, hi, def int) (int, error) {
	if !o.has(name) {
		return def, nil
	}
	raw := string(o[name])
	n, err := strconv.Atoi(raw)
	if err != nil {
		what := kind(o[name])
		if what == "a number" {
			what = raw[:min(20, len(raw))]
			if f, err := strconv.ParseFloat(raw, 64); err == nil && f == math.Trunc(f) {
				what += ", not written as a whole number"
			}
		}
		return 0, outOfRange(name, lo, hi, "%s is %s: it must be a whole number", name, what)
	}
	if n < lo || n > hi {
		return 0, outOfRange(name, lo, hi, "%s is %d", name, n)
	}
	return n, nil
}

// boolean returns a field that is true or false, false if it is absent.
func (o object) boolean(name string) (v bool, err error) {
	if o.has(name) && json.Unmarshal(o[name], &v) != nil {
		return false, invalid(name, "%s is %s: it must be true or false", name, kind(o[name]))
	}
	return v, nil
}

// oneOf returns a string field that is one of the values, "" if it is absent.
func (o object) oneOf(name string, values ...string) (string, error) {
	if !o.has(name) {
		return "", nil
	}
	var s string
	if json.Unmarshal(o[name], &s) != nil || !slices.Contains(values, s) {
		return "", invalid(name, "%s must be one of %s", name, strings.Join(values, ", "))
	}
	return s, nil
}

// ParseQuery reads the JSON of a search or of a question: an object with the text under
// textField, and optionally k and mode. Nothing is embedded before it has passed. A k that is
// absent stays 0, the engine's default.
func ParseQuery(data []byte, textField string, maxK int) (engine.Query, error) {
	var q engine.Query
	o, err := parseObject(data, textField, "k", "mode")
	if err != nil {
		return q, err
	}
	if q.Text, err = o.text(textField, true, engine.MaxQueryRunes); err != nil {
		return q, err
	}
	if q.K, err = o.integer("k", 1, maxK, 0); err != nil {
		return q, err
	}
	q.Mode, err = o.oneOf("mode", "hybrid", "vector", "lexical")
	return q, err
}

// ParseSection reads the JSON of a request for one section: an object with doc and section.
func ParseSection(data []byte) (doc, section string, err error) {
	const longest = 4096
	o, err := parseObject(data, "doc", "section")
	if err != nil {
		return "", "", err
	}
	if doc, err = o.text("doc", true, longest); err != nil {
		return "", "", err
	}
	section, err = o.text("section", false, longest)
	return doc, section, err
}

// query reads a search or answer request of a caller.
func (s *Server) query(r *http.Request, c Caller, textField string) (engine.Query, error) {
	data, err := readBody(r)
	if err != nil {
		return engine.Query{}, err
	}
	q, err := ParseQuery(data, textField, s.o.MaxK)
	if err != nil {
		return q, err
	}
	q.As, err = c.Labels(s.e)
	return q, err
}
