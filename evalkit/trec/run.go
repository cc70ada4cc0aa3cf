package trec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/internal/rank"
)

// Scored is one document of a ranked list.
type Scored struct {
	Doc   string
	Score float64
}

// Ranking is one topic's ranked list, best first.
type Ranking struct {
	Topic string
	Tag   string
	Docs  []Scored
	line  int // of its first line
}

// Run is one system's rankings.
type Run struct {
	Tag    string
	topics map[string][]Scored
}

// ErrSplitTopic says that the lines of a topic do not stand together, which a streaming reader
// needs: sort the file by topic, or read it whole.
var ErrSplitTopic = errors.New("the lines of the topic do not stand together")

// NewRun returns the run that holds the rankings; Docs are put in order and kept. A repeated
// topic or document, an empty id and a score that is no finite number are errors.
func NewRun(tag string, rankings []Ranking) (*Run, error) {
	run := &Run{Tag: tag, topics: map[string][]Scored{}}
	seen := map[string]bool{}
	for _, r := range rankings {
		if _, ok := run.topics[r.Topic]; ok {
			return nil, fmt.Errorf("run %s: topic %q has two rankings", tag, r.Topic)
		}
		if r.Topic == "" {
			return nil, fmt.Errorf("run %s: a ranking without topic", tag)
		}
		clear(seen)
		for _, d := range r.Docs {
			if _, err := number([]byte(strconv.FormatFloat(d.Score, 'g', -1, 64))); err != nil || d.Doc == "" {
				return nil, fmt.Errorf("run %s: topic %s: document %q with score %v", tag, r.Topic, d.Doc, d.Score)
			}
			if seen[d.Doc] {
				return nil, fmt.Errorf("run %s: topic %s: document %s is returned twice", tag, r.Topic, d.Doc)
			}
			seen[d.Doc] = true
		}
		order(r.Docs)
		run.topics[r.Topic] = r.Docs
	}
	return run, nil
}

func compareScored(a, b Scored) int { return rank.Compare(a.Score, a.Doc, b.Score, b.Doc) }

// order puts docs in the order that counts.
func order(docs []Scored) {
	if !slices.IsSortedFunc(docs, compareScored) {
		slices.SortFunc(docs, compareScored)
	}
}

// Topics returns the topic ids, sorted byte-wise.
func (r *Run) Topics() []string { return slices.Sorted(maps.Keys(r.topics)) }

// Docs returns a topic's ranked list, nil if it has none. The caller must not change it.
func (r *Run) Docs(topic string) []Scored { return r.topics[topic] }

// Rankings reads a run in TREC format (topic, Q0, document, rank, score, tag) one topic at a
// time, holding only that topic in memory. Docs are in the order that counts; they may be kept.
// A topic whose lines do not stand together ends with an error that wraps ErrSplitTopic. file
// stands in messages. The sequence ends after the first error.
func Rankings(file string, r io.Reader) iter.Seq2[Ranking, error] {
	return func(yield func(Ranking, error) bool) {
		rd := newRunReader(file, r)
		done := map[string]bool{}
		for {
			ranking, err := rd.block()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && done[ranking.Topic] {
				err = &LineError{file, ranking.line, fmt.Errorf("topic %s: %w: sort the file by topic", ranking.Topic, ErrSplitTopic)}
			}
			if err == nil {
				done[ranking.Topic] = true
				order(ranking.Docs)
			}
			if !yield(ranking, err) || err != nil {
				return
			}
		}
	}
}

// runReader reads blocks of lines that share a topic.
type runReader struct {
	l       *lines
	fields  [6][]byte
	pending bool // fields hold a line that begins the next block
	score   float64
	tag     string
	text    []byte // document ids of the block, one after the other
	ends    []int
	scores  []float64
	seen    map[string]int // document → line
}

func newRunReader(file string, r io.Reader) *runReader {
	return &runReader{l: newLines(file, r), seen: map[string]int{}}
}

// line reads the next line into fields and score.
func (r *runReader) line() error {
	n, err := r.l.record(r.fields[:])
	if err != nil {
		return err
	}
	if n < 6 {
		return r.l.fail("%d fields: a run line is topic, Q0, document, rank, score, tag", n)
	}
	// trec_eval reserves what follows the tag for later use and ignores it.
	if _, err := strconv.Atoi(string(r.fields[3])); err != nil {
		return r.l.fail("rank %q is no whole number", r.fields[3])
	}
	if r.score, err = number(r.fields[4]); err != nil {
		return &LineError{r.l.file, r.l.n, err}
	}
	switch {
	case r.tag == "":
		r.tag = string(r.fields[5])
	case r.tag != string(r.fields[5]):
		return r.l.fail("a second tag %q after %q: keep one run to a file", r.fields[5], r.tag)
	}
	return nil
}

// block returns the next lines that share a topic, io.EOF after the last.
func (r *runReader) block() (Ranking, error) {
	if !r.pending {
		if err := r.line(); err != nil {
			return Ranking{}, err
		}
	}
	r.pending = false
	out := Ranking{Topic: string(r.fields[0]), Tag: r.tag, line: r.l.n}
	r.text, r.ends, r.scores = r.text[:0], r.ends[:0], r.scores[:0]
	first := r.l.n
	var lineNumbers []int // only filled once lines are not consecutive (comments, blanks)
	for {
		if r.l.n != first+len(r.ends) && lineNumbers == nil {
			lineNumbers = make([]int, 0, len(r.ends)+16)
			for i := range r.ends {
				lineNumbers = append(lineNumbers, first+i)
			}
		}
		if lineNumbers != nil {
			lineNumbers = append(lineNumbers, r.l.n)
		}
		r.text = append(r.text, r.fields[2]...)
		r.ends = append(r.ends, len(r.text))
		r.scores = append(r.scores, r.score)
		err := r.line()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Ranking{}, err
		}
		if string(r.fields[0]) != out.Topic {
			r.pending = true
			break
		}
	}
	// One string holds all ids of the block.
	text := string(r.text)
	out.Docs = make([]Scored, len(r.ends))
	clear(r.seen)
	start := 0
	for i, end := range r.ends {
		doc := text[start:end]
		start = end
		line := first + i
		if lineNumbers != nil {
			line = lineNumbers[i]
		}
		if at, ok := r.seen[doc]; ok {
			return Ranking{}, &LineError{r.l.file, line, fmt.Errorf("topic %s: document %s again (first in line %d)", out.Topic, doc, at)}
		}
		r.seen[doc] = line
		out.Docs[i] = Scored{doc, r.scores[i]}
	}
	return out, nil
}

// ReadRun reads a run in TREC format whole; the lines of a topic need not stand together. A
// file without lines is an error.
func ReadRun(file string, r io.Reader) (*Run, error) {
	run := &Run{topics: map[string][]Scored{}}
	rd := newRunReader(file, r)
	for {
		block, err := rd.block()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		docs, again := run.topics[block.Topic]
		if again {
			seen := make(map[string]bool, len(docs))
			for _, d := range docs {
				seen[d.Doc] = true
			}
			for _, d := range block.Docs {
				if seen[d.Doc] {
					return nil, &LineError{file, block.line, fmt.Errorf("topic %s: document %s again in the lines from here", block.Topic, d.Doc)}
				}
			}
		}
		run.topics[block.Topic] = append(docs, block.Docs...)
	}
	if len(run.topics) == 0 {
		return nil, fmt.Errorf("%s: no results", file)
	}
	run.Tag = rd.tag
	for _, docs := range run.topics {
		order(docs)
	}
	return run, nil
}

// Write writes the run in TREC format by topic, with ranks from 1 and scores in as many digits
// as they need. An id or tag that holds white space is an error: the format cannot say it.
func (r *Run) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	tag := r.Tag
	if tag == "" {
		tag = "run"
	}
	if err := checkIDs(tag); err != nil {
		return err
	}
	for _, topic := range r.Topics() {
		for i, d := range r.topics[topic] {
			if err := checkIDs(topic, d.Doc); err != nil {
				return err
			}
			fmt.Fprintf(b, "%s Q0 %s %d %s %s\n", topic, d.Doc, i+1, strconv.FormatFloat(d.Score, 'g', -1, 64), tag)
		}
	}
	return b.Flush()
}

func checkIDs(ids ...string) error {
	for i, id := range ids {
		if id == "" || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsSpace) || i == 0 && id[0] == '#' {
			return fmt.Errorf("id %q is empty, holds white space or begins a comment: TREC files cannot say it, encode it first (EncodeID)", id)
		}
	}
	return nil
}

// EncodeID returns id with white space, control characters, a leading # and % written as %XX,
// so that it can stand in a TREC file; DecodeID reads it back.
func EncodeID(id string) string {
	var b strings.Builder
	for i, r := range id {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '%' || i == 0 && r == '#' || r == utf8.RuneError {
			_, n := utf8.DecodeRuneInString(id[i:])
			for _, c := range []byte(id[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// DecodeID reads what EncodeID wrote; other text comes back unchanged.
func DecodeID(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
