package trec

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed792a4543/assay/internal/disk"
)

// Query is one line of a BEIR folder's queries.jsonl.
type Query struct {
	ID   string
	Text string
}

// ReadBEIRQueries reads a BEIR queries.jsonl: one object a line with _id and text. Repeated and
// empty ids are errors. Order is that of the file.
func ReadBEIRQueries(file string, r io.Reader) ([]Query, error) {
	l := newLines(file, r)
	first := map[string]int{}
	var out []Query
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		var q struct {
			ID   *string `json:"_id"`
			Text *string `json:"text"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, l.fail("not a query: %w", err)
		}
		if q.ID == nil || *q.ID == "" || q.Text == nil {
			return nil, l.fail("a query needs _id and text")
		}
		if at := first[*q.ID]; at > 0 {
			return nil, l.fail("query %s again (first in line %d)", *q.ID, at)
		}
		first[*q.ID] = l.n
		out = append(out, Query{*q.ID, *q.Text})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no queries", file)
	}
	return out, nil
}

// ReadBEIRQrels reads a BEIR qrels table: a heading line, then query id, document id and grade
// separated by tabs.
func ReadBEIRQrels(file string, r io.Reader) (*Qrels, error) {
	q := &Qrels{topics: map[string]*topicQrels{}}
	l := newLines(file, r)
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		f := strings.Split(string(line), "\t")
		if l.n == 1 {
			if len(f) < 3 || f[0] != "query-id" {
				return nil, l.fail("the heading line is missing: query-id, corpus-id, score")
			}
			continue
		}
		if strings.TrimSpace(string(line)) == "" {
			continue
		}
		if len(f) != 3 {
			return nil, l.fail("%d fields: a line is query id, document id, grade, separated by tabs", len(f))
		}
		g, err := grade([]byte(f[2]))
		if err == nil {
			err = q.add(Judgment{f[0], f[1], g})
		}
		if err != nil {
			return nil, &LineError{file, l.n, err}
		}
	}
	if len(q.topics) == 0 {
		return nil, fmt.Errorf("%s: no judgments", file)
	}
	q.finish()
	return q, nil
}

// BEIR is a BEIR folder without its documents, which corpus.BEIR reads.
type BEIR struct {
	Queries []Query
	Qrels   *Qrels
	Split   string // which qrels were read
}

// ReadBEIR reads queries.jsonl and qrels/<split>.tsv of the folder. split "" means test, else
// the first there is.
func ReadBEIR(dir, split string) (*BEIR, error) {
	if split == "" {
		names, err := filepath.Glob(filepath.Join(dir, "qrels", "*.tsv"))
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		test := filepath.Join(dir, "qrels", "test.tsv")
		switch {
		case slices.Contains(names, test):
			split = "test"
		case len(names) > 0:
			split = strings.TrimSuffix(filepath.Base(names[0]), ".tsv")
		default:
			return nil, fmt.Errorf("%s: no qrels/*.tsv: a BEIR folder holds corpus.jsonl, queries.jsonl and qrels", dir)
		}
	}
	b := &BEIR{Split: split}
	err := readFile(filepath.Join(dir, "queries.jsonl"), func(name string, r io.Reader) (err error) {
		b.Queries, err = ReadBEIRQueries(name, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = readFile(filepath.Join(dir, "qrels", split+".tsv"), func(name string, r io.Reader) (err error) {
		b.Qrels, err = ReadBEIRQrels(name, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func readFile(path string, read func(name string, r io.Reader) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: a BEIR folder holds corpus.jsonl, queries.jsonl and qrels", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(read(path, f), f.Close())
}

// BEIRDocument is one line of a BEIR corpus.jsonl.
type BEIRDocument struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// WriteBEIR writes a BEIR folder: corpus.jsonl, queries.jsonl and qrels/<split>.tsv.
func WriteBEIR(fsys *disk.FS, dir, split string, docs []BEIRDocument, queries []Query, qrels *Qrels) error {
	if err := fsys.MkdirAll(filepath.Join(dir, "qrels")); err != nil {
		return err
	}
	if err := fsys.WriteTo(filepath.Join(dir, "corpus.jsonl"), func(w io.Writer) error {
		return writeJSONL(w, docs)
	}); err != nil {
		return err
	}
	type query struct {
		ID   string `json:"_id"`
		Text string `json:"text"`
	}
	rows := make([]query, len(queries))
	for i, q := range queries {
		rows[i] = query(q)
	}
	if err := fsys.WriteTo(filepath.Join(dir, "queries.jsonl"), func(w io.Writer) error {
		return writeJSONL(w, rows)
	}); err != nil {
		return err
	}
	return fsys.WriteTo(filepath.Join(dir, "qrels", split+".tsv"), qrels.WriteBEIR)
}

// WriteBEIR writes the judgments as a BEIR table. An id that holds a tab or a line break is an
// error: the format cannot say it.
func (q *Qrels) WriteBEIR(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("query-id\tcorpus-id\tscore\n")
	for _, j := range q.Judgments() {
		if strings.ContainsAny(j.Topic+j.Doc, "\t\r\n") {
			return fmt.Errorf("id %q or %q holds a tab or a line break: encode it first (EncodeID)", j.Topic, j.Doc)
		}
		b.WriteString(j.Topic + "\t" + j.Doc + "\t" + strconv.Itoa(j.Grade) + "\n")
	}
	return b.Flush()
}

func writeJSONL[T any](w io.Writer, rows []T) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return b.Flush()
}
