package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/seed792a4543/assay/evalkit/stats"
	"github.com/seed792a4543/assay/internal/disk"
)

// Review is a person's verdict on one case: on one line of the table for one recorded answer.
type Review struct {
	Question string `json:"question"`
	Line     string `json:"line"`   // key of the line, such as facts
	Answer   string `json:"answer"` // AnswerDigest of the text that was read
	Pass     bool   `json:"pass"`   // what the case counts as; for a line of faults true means a fault
	By       string `json:"by"`
	Reason   string `json:"reason"`
}

// Reviews is a review file. It lies in the repository beside the golden set.
type Reviews struct {
	Schema  string   `json:"schema"` // assay.reviews/v1
	Reviews []Review `json:"reviews"`
}

// ReviewSchema is the value of Reviews.Schema.
const ReviewSchema = "assay.reviews/v1"

// AnswerDigest names an answer's text in a review: a verdict on one text says nothing of
// another.
func AnswerDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// ParseReviews reads a review file strictly: unknown fields, missing reasons and two verdicts
// on one case are errors.
func ParseReviews(data []byte) (*Reviews, error) {
	var r Reviews
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("reviews: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("reviews: something follows the document: keep one object in the file")
	}
	if r.Schema != ReviewSchema {
		return nil, fmt.Errorf("reviews: schema is %q, this version reads %q", r.Schema, ReviewSchema)
	}
	seen := map[[3]string]int{}
	for i, v := range r.Reviews {
		if v.Question == "" || v.Line == "" || v.Answer == "" || v.By == "" || v.Reason == "" {
			return nil, fmt.Errorf("reviews: entry %d: question, line, answer, by and reason are required", i+1)
		}
		key := [3]string{v.Question, v.Line, v.Answer}
		if j, ok := seen[key]; ok {
			return nil, fmt.Errorf("reviews: entries %d and %d judge the same case: keep one", j, i+1)
		}
		seen[key] = i + 1
	}
	return &r, nil
}

// Encode returns the file, sorted by question, line and answer.
func (r *Reviews) Encode() ([]byte, error) {
	out := Reviews{Schema: ReviewSchema, Reviews: slices.Clone(r.Reviews)}
	slices.SortFunc(out.Reviews, func(a, b Review) int {
		return bytes.Compare([]byte(a.Question+"\x00"+a.Line+"\x00"+a.Answer), []byte(b.Question+"\x00"+b.Line+"\x00"+b.Answer))
	})
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("reviews: %w", err)
	}
	return append(data, '\n'), nil
}

// Add appends the verdicts of one person on one answer; an earlier verdict on the same case gives
// way. What ParseReviews would refuse is an error, and nothing is added.
func (r *Reviews) Add(verdicts ...Review) error {
	out := slices.Clone(r.Reviews)
	for _, v := range verdicts {
		if v.Question == "" || v.Line == "" || v.Answer == "" || v.By == "" || v.Reason == "" {
			return fmt.Errorf("review of %s: question, line, answer, by and reason are required", v.Question)
		}
		out = slices.DeleteFunc(out, func(o Review) bool {
			return o.Question == v.Question && o.Line == v.Line && o.Answer == v.Answer
		})
		out = append(out, v)
	}
	r.Reviews = out
	return nil
}

// LoadReviews reads the review file at path; one that does not exist is empty.
func LoadReviews(path string) (*Reviews, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &Reviews{Schema: ReviewSchema}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reviews: %w", err)
	}
	r, err := ParseReviews(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Write replaces the file at path durably, through fsys (nil: the plain file system).
func (r *Reviews) Write(fsys *disk.FS, path string) error {
	data, err := r.Encode()
	if err != nil {
		return err
	}
	return fsys.WriteFile(path, data)
}

// Opinion is what a person says of a whole answer; Verdicts turns it into verdicts on lines.
type Opinion string

// The opinions.
const (
	Right        Opinion = "right"         // faithful to its context, and answers the question
	Incomplete   Opinion = "incomplete"    // faithful, but lacks what was asked for
	Unfaithful   Opinion = "wrong"         // says what the context does not say
	RightRefusal Opinion = "refusal_right" // says that there is no answer, and the context holds none
	WrongRefusal Opinion = "refusal_wrong" // says so although the context holds one
)

// Verdicts returns what an opinion of a graded answer means for the lines of the table on which
// the answer counts: whether it is faithful, has its facts, and rightly answers or refuses. An
// answer to an unanswerable question that a person finds right stays one that should have been a
// refusal: the label is to be mended, not the number.
//
// An answer that has said by its explicit field that it is a refusal, or none, cannot be judged as
// the other: that is an error.
func (o Opinion) Verdicts(g *Graded, answer, by, reason string) ([]Review, error) {
	adds := tallies(g)
	var out []Review
	say := func(line string, pass bool) {
		if _, ok := adds[line]; ok {
			out = append(out, Review{Question: g.Question, Line: line, Answer: AnswerDigest(answer), Pass: pass, By: by, Reason: reason})
		}
	}
	refusal := o == RightRefusal || o == WrongRefusal
	if g.How == "field" && refusal != (g.Outcome == Refused) {
		return nil, fmt.Errorf("review of %s: the answer says itself that it is %s: judge it as that", g.Question, g.Outcome)
	}
	if !refusal {
		say(LineFaithful, o != Unfaithful)
	}
	if g.Answerable {
		say(LineFacts, o == Right)
		say(LineWrongRefusal, o == WrongRefusal)
	} else {
		say(LineCorrectRefusal, o == RightRefusal)
	}
	return out, nil
}

// Pending returns the graded answers (first repeats) that nobody has reviewed, in an order that
// depends on seed and question ids alone, so that those reviewed so far are a random sample of all.
// flagged keeps only answers with a case to read, which are no such sample.
func (t *Table) Pending(flagged bool, seed uint64) []Graded {
	type entry struct {
		g    *Graded
		rank [sha256.Size]byte
	}
	var open []entry
	for i := range t.Graded {
		g := &t.Graded[i]
		cases := slices.ContainsFunc(t.Cases, func(c Case) bool { return c.Question == g.Question && c.Repeat == g.Repeat })
		if g.Repeat > 0 || g.reviewed || g.Outcome == HarnessError || g.Outcome == SystemError || flagged && !cases {
			continue
		}
		open = append(open, entry{g, sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, g.Question))})
	}
	slices.SortFunc(open, func(a, b entry) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	out := make([]Graded, len(open))
	for i, e := range open {
		out[i] = *e.g
	}
	return out
}

// estimateFrom is the number of reviewed cases from which ReviewText estimates a rate: of fewer,
// no interval says anything.
const estimateFrom = 10

// ReviewText renders the lines on which persons have judged cases: before and after, the error
// rate of the rules, and the estimates from the reviewed cases. It is empty without any.
func (t *Table) ReviewText() string {
	if t.Reviewed == 0 {
		return ""
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "line\tbefore\tafter\treviewed\toverturned\terror rate of the rules")
	for _, l := range t.Lines {
		if l.Reviewed == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%d/%d\t%d/%d\t%d\t%d\t%.3f [%.3f, %.3f]\n", strings.TrimSpace(l.Name), l.Before, l.N, l.Count, l.N,
			l.Reviewed, l.Overturned, float64(l.Overturned)/float64(l.Reviewed), l.Errors.Lo, l.Errors.Hi)
	}
	w.Flush() //nolint:errcheck // a strings.Builder never fails
	short, descriptive := false, false
	for _, l := range t.Lines {
		switch e := l.Estimate; {
		case l.Reviewed > 0 && l.Reviewed < estimateFrom:
			short = true
		case e != nil:
			alone, _ := stats.Wilson(int(math.Round(e.LabelledMean*float64(l.Reviewed))), l.Reviewed, 0.95)
			fmt.Fprintf(&b, "%s: from the %d reviewed alone %.3f [%.3f, %.3f], with the rules on the others %.3f [%.3f, %.3f]\n",
				strings.TrimSpace(l.Name), l.Reviewed, e.LabelledMean, alone.Lo, alone.Hi,
				min(max(e.Mean, 0), 1), max(e.Interval.Lo, 0), min(e.Interval.Hi, 1))
			descriptive = descriptive || e.Descriptive
		}
	}
	if short {
		fmt.Fprintf(&b, "a line with %d reviewed cases and more also gets an estimate of its rate over all answers\n", estimateFrom)
	}
	if descriptive {
		b.WriteString("below 30 reviewed or 10 overturned the second interval is descriptive; both take the reviewed for a random sample\n")
	}
	return b.String()
}

func (r *Reviews) find(question, line, digest string) *Review {
	if r == nil {
		return nil
	}
	for i := range r.Reviews {
		v := &r.Reviews[i]
		if v.Question == question && v.Line == line && v.Answer == digest {
			return v
		}
	}
	return nil
}

// any reports whether there is a verdict on the answer, on whatever line.
func (r *Reviews) any(question, digest string) bool {
	return r != nil && slices.ContainsFunc(r.Reviews, func(v Review) bool { return v.Question == question && v.Answer == digest })
}
