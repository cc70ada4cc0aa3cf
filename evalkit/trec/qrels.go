package trec

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Qrels are judgments. Grade 0 is judged not relevant; a negative one is unjudged.
type Qrels struct {
	topics map[string]*topicQrels
}

type topicQrels struct {
	grades map[string]int
	ideal  []int // grades of at least 1, descending
	nonrel int   // judgments of grade 0
}

// Judgment is one line of a qrels file.
type Judgment struct {
	Topic string
	Doc   string
	Grade int
}

// NewQrels returns the qrels that hold the judgments. A document judged twice for one topic, an
// empty id and a grade outside −1000 to 1000 are errors.
func NewQrels(judgments []Judgment) (*Qrels, error) {
	q := &Qrels{topics: map[string]*topicQrels{}}
	for _, j := range judgments {
		if err := q.add(j); err != nil {
			return nil, err
		}
	}
	q.finish()
	return q, nil
}

func (q *Qrels) add(j Judgment) error {
	if j.Topic == "" || j.Doc == "" {
		return errors.New("a judgment without topic or document id")
	}
	if j.Grade < -maxGrade || j.Grade > maxGrade {
		return fmt.Errorf("topic %s, document %s: grade %d is outside %d to %d", j.Topic, j.Doc, j.Grade, -maxGrade, maxGrade)
	}
	t := q.topics[j.Topic]
	if t == nil {
		t = &topicQrels{grades: map[string]int{}}
		q.topics[j.Topic] = t
	}
	if _, ok := t.grades[j.Doc]; ok {
		return fmt.Errorf("topic %s: document %s is judged twice", j.Topic, j.Doc)
	}
	t.grades[j.Doc] = j.Grade
	return nil
}

func (q *Qrels) finish() {
	for _, t := range q.topics {
		t.ideal, t.nonrel = nil, 0
		for _, g := range t.grades {
			if g > 0 {
				t.ideal = append(t.ideal, g)
			} else if g == 0 {
				t.nonrel++
			}
		}
		slices.SortFunc(t.ideal, func(a, b int) int { return cmp.Compare(b, a) })
	}
}

// Topics returns the topic ids, sorted byte-wise.
func (q *Qrels) Topics() []string { return slices.Sorted(maps.Keys(q.topics)) }

// Grade returns the grade of a document; ok is false if nobody judged it.
func (q *Qrels) Grade(topic, doc string) (grade int, ok bool) {
	t := q.topics[topic]
	if t == nil {
		return 0, false
	}
	grade, ok = t.grades[doc]
	return grade, ok
}

// Judgments returns all judgments by topic, then document id.
func (q *Qrels) Judgments() []Judgment {
	var out []Judgment
	for _, topic := range q.Topics() {
		grades := q.topics[topic].grades
		for _, doc := range slices.Sorted(maps.Keys(grades)) {
			out = append(out, Judgment{topic, doc, grades[doc]})
		}
	}
	return out
}

// ReadQrels reads judgments in TREC format: topic, iteration (ignored), document, grade. file
// stands in messages. A file without judgments is an error.
func ReadQrels(file string, r io.Reader) (*Qrels, error) {
	q := &Qrels{topics: map[string]*topicQrels{}}
	l := newLines(file, r)
	var f [4][]byte
	for {
		n, err := l.record(f[:])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n != 4 {
			return nil, l.fail("%d fields: a qrels line is topic, iteration, document, grade", n)
		}
		g, err := grade(f[3])
		if err == nil {
			err = q.add(Judgment{string(f[0]), string(f[2]), g})
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

// Write writes the judgments in TREC format by topic, then document id. An id that holds white
// space is an error: the format cannot say it.
func (q *Qrels) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, j := range q.Judgments() {
		if err := checkIDs(j.Topic, j.Doc); err != nil {
			return err
		}
		fmt.Fprintf(b, "%s 0 %s %d\n", j.Topic, j.Doc, j.Grade)
	}
	return b.Flush()
}
