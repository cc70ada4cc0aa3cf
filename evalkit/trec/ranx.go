package trec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// jsonPairs reads an object of objects, {"topic": {"doc": number}}, in file order. A repeated
// key at either level is an error with its line; so is anything that is no number.
func jsonPairs(file string, data []byte, visit func(topic, doc string, number string) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	line := func() int { return 1 + bytes.Count(data[:min(int(dec.InputOffset()), len(data))], []byte{'\n'}) }
	fail := func(format string, args ...any) error {
		return &LineError{file, line(), fmt.Errorf(format, args...)}
	}
	expect := func(d json.Delim) error {
		tok, err := dec.Token()
		if err != nil {
			return fail("not valid JSON: %w", unexpected(err))
		}
		if tok != d {
			return fail(`%v where %v is expected: the shape is {"topic": {"document": number}}`, tok, d)
		}
		return nil
	}
	if err := expect('{'); err != nil {
		return err
	}
	topics := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return fail("not valid JSON: %w", unexpected(err))
		}
		topic, _ := tok.(string)
		if topics[topic] {
			return fail("topic %q again", topic)
		}
		topics[topic] = true
		if err := expect('{'); err != nil {
			return err
		}
		docs := map[string]bool{}
		for dec.More() {
			tok, err := dec.Token()
			if err != nil {
				return fail("not valid JSON: %w", unexpected(err))
			}
			doc, _ := tok.(string)
			if docs[doc] {
				return fail("topic %s: document %q again", topic, doc)
			}
			docs[doc] = true
			tok, err = dec.Token()
			if err != nil {
				return fail("not valid JSON: %w", unexpected(err))
			}
			n, ok := tok.(json.Number)
			if !ok {
				return fail("topic %s, document %s: %v is no number", topic, doc, tok)
			}
			if err := visit(topic, doc, n.String()); err != nil {
				return &LineError{file, line(), err}
			}
		}
		if err := expect('}'); err != nil {
			return err
		}
	}
	if err := expect('}'); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail("more text after the end of the JSON value")
	}
	if len(topics) == 0 {
		return fail("no topics")
	}
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ReadRanxQrels reads judgments in ranx's JSON: {"topic": {"document": grade}}.
func ReadRanxQrels(file string, data []byte) (*Qrels, error) {
	q := &Qrels{topics: map[string]*topicQrels{}}
	err := jsonPairs(file, data, func(topic, doc, n string) error {
		g, err := grade([]byte(n))
		if err != nil {
			return err
		}
		return q.add(Judgment{topic, doc, g})
	})
	if err != nil {
		return nil, err
	}
	if len(q.topics) == 0 {
		return nil, fmt.Errorf("%s: no judgments", file)
	}
	q.finish()
	return q, nil
}

// ReadRanxRun reads a run in ranx's JSON: {"topic": {"document": score}}; tag names it, since
// the format does not.
func ReadRanxRun(file, tag string, data []byte) (*Run, error) {
	run := &Run{Tag: tag, topics: map[string][]Scored{}}
	err := jsonPairs(file, data, func(topic, doc, n string) error {
		v, err := number([]byte(n))
		if err != nil {
			return err
		}
		if topic == "" || doc == "" {
			return errors.New("an empty topic or document id")
		}
		run.topics[topic] = append(run.topics[topic], Scored{doc, v})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, docs := range run.topics {
		order(docs)
	}
	return run, nil
}

// WriteRanx writes the judgments in ranx's JSON, keys sorted.
func (q *Qrels) WriteRanx(w io.Writer) error {
	return writePairs(w, q.Topics(), func(topic string, pair func(doc, number string)) {
		grades := q.topics[topic].grades
		for _, doc := range sortedKeys(grades) {
			pair(doc, strconv.Itoa(grades[doc]))
		}
	})
}

// WriteRanx writes the run in ranx's JSON, documents in ranked order. ranx orders by score
// alone, so ties may come out otherwise there.
func (r *Run) WriteRanx(w io.Writer) error {
	return writePairs(w, r.Topics(), func(topic string, pair func(doc, number string)) {
		for _, d := range r.topics[topic] {
			pair(d.Doc, jsonNumber(d.Score))
		}
	})
}

// jsonNumber writes a finite float so that JSON readers see a number.
func jsonNumber(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0" // ranx insists on floats
	}
	return s
}

func writePairs(w io.Writer, topics []string, each func(topic string, pair func(doc, number string))) error {
	var b bytes.Buffer
	quote := func(s string) {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(s) // a string always encodes
		b.Truncate(b.Len() - 1)
	}
	b.WriteString("{")
	for i, topic := range topics {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		quote(topic)
		b.WriteString(": {")
		first := true
		each(topic, func(doc, number string) {
			if !first {
				b.WriteString(", ")
			}
			first = false
			quote(doc)
			b.WriteString(": " + number)
		})
		b.WriteByte('}')
	}
	b.WriteString("\n}\n")
	_, err := w.Write(b.Bytes())
	return err
}
