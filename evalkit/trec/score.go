package trec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed792a4543/assay/evalkit/measure"
)

// ScoreOptions tunes Score. The zero value agrees with trec_eval -c.
type ScoreOptions struct {
	// NA makes the values of a topic without relevant documents n/a, left out of means and
	// counted; otherwise they are 0, as trec_eval has it.
	NA bool
	// Rel is the lowest grade that counts as relevant for measures that name none, trec_eval's
	// -l; 0 means 1. ndcg ignores it.
	Rel int
	// Depth, if positive, cuts every ranking first, trec_eval's -M.
	Depth   int
	Workers int // GOMAXPROCS if < 1; the result does not depend on it
}

// Scores are the values of one run.
type Scores struct {
	Tag      string
	Measures []measure.Measure
	Topics   []TopicScores // every topic of the qrels, by id
	Means    []Summary     // beside Measures
	// Missing are topics of the qrels that the run lacks; they count as 0.
	Missing []string
	// NoRelevant are topics without a relevant document.
	NoRelevant []string
	// Ignored are topics of the run that the qrels lack.
	Ignored []string
}

// TopicScores are the values of one topic.
type TopicScores struct {
	Topic    string
	Values   []measure.Value // beside Measures
	Evidence measure.Evidence
}

// Summary is the mean of one measure over topics; for counts (num_ret and the like) the sum,
// for gm_map the geometric mean.
type Summary struct {
	Mean    measure.Value
	NScored int
	NNA     int
}

// Score scores a run against judgments. Means are over every topic of the qrels: one that the
// run lacks counts as 0. Topics that the qrels lack are ignored and listed.
func Score(q *Qrels, run *Run, measures []measure.Measure, o ScoreOptions) (*Scores, error) {
	out, err := newScores(q, run.Tag, measures, o)
	if err != nil {
		return nil, err
	}
	for _, topic := range run.Topics() {
		if q.topics[topic] == nil {
			out.Ignored = append(out.Ignored, topic)
		}
	}
	workers := o.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(out.Topics)) {
		wg.Go(func() {
			var s measure.Scorer
			for {
				i := int(next.Add(1)) - 1
				if i >= len(out.Topics) {
					return
				}
				out.score(&s, q, i, run.topics[out.Topics[i].Topic], o)
			}
		})
	}
	wg.Wait()
	for i := range out.Topics {
		if run.topics[out.Topics[i].Topic] == nil {
			out.Missing = append(out.Missing, out.Topics[i].Topic)
		}
	}
	out.average()
	return out, nil
}

// ScoreStream is Score for a run read from r, one topic at a time: memory is bounded by the
// qrels and the longest ranking. The lines of a topic must stand together.
func ScoreStream(q *Qrels, file string, r io.Reader, measures []measure.Measure, o ScoreOptions) (*Scores, error) {
	out, err := newScores(q, "", measures, o)
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(out.Topics))
	for i := range out.Topics {
		at[out.Topics[i].Topic] = i
	}
	seen := make([]bool, len(out.Topics))
	var s measure.Scorer
	for ranking, err := range Rankings(file, r) {
		if err != nil {
			return nil, err
		}
		out.Tag = ranking.Tag
		i, ok := at[ranking.Topic]
		if !ok {
			out.Ignored = append(out.Ignored, ranking.Topic)
			continue
		}
		seen[i] = true
		out.score(&s, q, i, ranking.Docs, o)
	}
	if out.Tag == "" {
		return nil, fmt.Errorf("%s: no results", file)
	}
	slices.Sort(out.Ignored)
	for i := range out.Topics {
		if !seen[i] {
			out.Missing = append(out.Missing, out.Topics[i].Topic)
			out.score(&s, q, i, nil, o)
		}
	}
	out.average()
	return out, nil
}

// ScoreFiles scores the TREC files at the two paths. The run is streamed; if its topics do not
// stand together it is read whole.
func ScoreFiles(qrelsPath, runPath string, measures []measure.Measure, o ScoreOptions) (s *Scores, err error) {
	qf, err := os.Open(qrelsPath)
	if err != nil {
		return nil, err
	}
	q, err := ReadQrels(qrelsPath, qf)
	if err := errors.Join(err, qf.Close()); err != nil {
		return nil, err
	}
	rf, err := os.Open(runPath)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rf.Close()) }()
	s, err = ScoreStream(q, runPath, rf, measures, o)
	if !errors.Is(err, ErrSplitTopic) {
		return s, err
	}
	if _, err := rf.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	run, err := ReadRun(runPath, rf)
	if err != nil {
		return nil, err
	}
	return Score(q, run, measures, o)
}

func newScores(q *Qrels, tag string, measures []measure.Measure, o ScoreOptions) (*Scores, error) {
	if len(measures) == 0 {
		return nil, errors.New("score: no measures: name some, such as ndcg@10")
	}
	out := &Scores{Tag: tag, Measures: slices.Clone(measures)}
	for i := range out.Measures {
		m := &out.Measures[i]
		switch m.Family {
		case measure.Dup, measure.CharRecall, measure.CharPrecision, measure.CharIoU:
			return nil, fmt.Errorf("score: %s needs sections and spans, which TREC files lack: use eval", m)
		case measure.NDCG, measure.NDCGExp:
		default:
			if m.Rel == 0 && o.Rel > 1 {
				m.Rel = o.Rel
			}
		}
	}
	for _, topic := range q.Topics() {
		out.Topics = append(out.Topics, TopicScores{Topic: topic})
		if t := q.topics[topic]; len(t.ideal) == 0 || t.ideal[0] < max(o.Rel, 1) {
			out.NoRelevant = append(out.NoRelevant, topic)
		}
	}
	return out, nil
}

// score fills in one topic.
func (s *Scores) score(scorer *measure.Scorer, q *Qrels, i int, docs []Scored, o ScoreOptions) {
	t := &s.Topics[i]
	qrels := q.topics[t.Topic]
	if o.Depth > 0 {
		docs = docs[:min(o.Depth, len(docs))]
	}
	e := measure.Evidence{Returned: len(docs), Ideal: qrels.ideal, NonrelTotal: qrels.nonrel}
	for k := range docs {
		g, judged := qrels.grades[docs[k].Doc]
		switch {
		case !judged || g < 0:
		case g == 0:
			e.Nonrel = append(e.Nonrel, k+1)
		default:
			if e.Found == nil {
				n := min(len(qrels.ideal), len(docs))
				e.Found = make([]measure.Found, 0, n)
				e.Relevant = make([]int, 0, n)
				e.Grades = make([]int, 0, n)
			}
			e.Found = append(e.Found, measure.Found{Group: len(e.Found), Rank: k + 1, Gain: g})
			e.Relevant = append(e.Relevant, k+1)
			e.Grades = append(e.Grades, g)
		}
	}
	t.Evidence = e
	t.Values = make([]measure.Value, len(s.Measures))
	for k, m := range s.Measures {
		if o.NA {
			t.Values[k] = scorer.Value(&t.Evidence, m)
		} else {
			t.Values[k] = scorer.Raw(&t.Evidence, m)
		}
	}
}

// average fills in Means, in topic order.
func (s *Scores) average() {
	s.Means = make([]Summary, len(s.Measures))
	for k, m := range s.Measures {
		sum := 0.0
		out := &s.Means[k]
		for i := range s.Topics {
			v := s.Topics[i].Values[k]
			if !v.OK {
				out.NNA++
				continue
			}
			out.NScored++
			sum += v.V
		}
		if out.NScored == 0 {
			continue
		}
		switch {
		case m.Family.Sums():
			out.Mean = measure.Value{V: sum, OK: true}
		case m.Family == measure.GMAP:
			out.Mean = measure.Value{V: math.Exp(sum / float64(out.NScored)), OK: true}
		default:
			out.Mean = measure.Value{V: sum / float64(out.NScored), OK: true}
		}
	}
}

// Warnings returns what a reader of the numbers must know, one sentence each.
func (s *Scores) Warnings() []string {
	var out []string
	if len(s.Missing) > 0 {
		out = append(out, "no results, counted as 0: "+strings.Join(s.Missing, ", "))
	}
	if len(s.NoRelevant) > 0 {
		verb := "counted as 0"
		for _, m := range s.Means {
			if m.NNA > 0 {
				verb = "left out as n/a"
			}
		}
		out = append(out, "no relevant document, "+verb+": "+strings.Join(s.NoRelevant, ", "))
	}
	if len(s.Ignored) > 0 {
		out = append(out, fmt.Sprintf("%d topics of the run are not judged and were ignored: %s", len(s.Ignored), strings.Join(s.Ignored, ", ")))
	}
	return out
}

// Names says how measures are printed.
type Names string

// The spellings.
const (
	NamesAssay Names = "assay" // ndcg@10
	NamesTREC  Names = "trec"  // ndcg_cut_10
	NamesIR    Names = "ir"    // nDCG@10
)

func (n Names) of(m measure.Measure) string {
	switch n {
	case NamesTREC:
		return m.TREC()
	case NamesIR:
		return m.IR()
	}
	return m.String()
}

// FormatValue returns a value as score prints it: four decimals, whole numbers for counts,
// "n/a" without a value.
func FormatValue(m measure.Measure, v measure.Value) string {
	if v.OK && m.Family.Sums() {
		return strconv.FormatFloat(v.V, 'f', 0, 64)
	}
	return v.String()
}

// WriteText writes one line for each measure: name, topic or "all", value, separated by tabs.
// perQuery puts the topics before the means; num_q and gm_map have no value of one topic.
func (s *Scores) WriteText(w io.Writer, names Names, perQuery bool) error {
	b := bufio.NewWriter(w)
	if perQuery {
		for i := range s.Topics {
			t := &s.Topics[i]
			for k, m := range s.Measures {
				if m.Family != measure.NumQ && m.Family != measure.GMAP {
					fmt.Fprintf(b, "%s\t%s\t%s\n", names.of(m), t.Topic, FormatValue(m, t.Values[k]))
				}
			}
		}
	}
	for k, m := range s.Measures {
		fmt.Fprintf(b, "%s\tall\t%s\n", names.of(m), FormatValue(m, s.Means[k].Mean))
	}
	return b.Flush()
}

// ByTopic returns the values of one measure by topic id, for comparisons; ok is false if the
// measure was not scored.
func (s *Scores) ByTopic(m measure.Measure) (values map[string]measure.Value, ok bool) {
	k := slices.Index(s.Measures, m)
	if k < 0 {
		return nil, false
	}
	values = make(map[string]measure.Value, len(s.Topics))
	for i := range s.Topics {
		values[s.Topics[i].Topic] = s.Topics[i].Values[k]
	}
	return values, true
}

// DefaultMeasures returns trec_eval's official measures, in its order.
func DefaultMeasures() []measure.Measure {
	out := []measure.Measure{
		{Family: measure.NumQ}, {Family: measure.NumRet}, {Family: measure.NumRel}, {Family: measure.NumRelRet},
		{Family: measure.AP}, {Family: measure.GMAP}, {Family: measure.RPrec}, {Family: measure.BPref}, {Family: measure.RR},
	}
	for i := range 11 {
		out = append(out, measure.Measure{Family: measure.IPrec, Level: float64(i) / 10})
	}
	for _, k := range []int{5, 10, 15, 20, 30, 100, 200, 500, 1000} {
		out = append(out, measure.Measure{Family: measure.P, Cutoff: k})
	}
	return out
}

// sortedKeys is used where a map of ids must be visited in a fixed order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
