package judge

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// Options configure Calibrate. The zero value is valid.
type Options struct {
	// Detection is the rate a judge must be shown to detect of every kind, by the exact
	// one-sided bound at Confidence; 0 means 0.9. With 0.95 that takes 29 errors of the kind
	// with none missed.
	Detection float64
	// Acceptance is the rate of faithful answers it must be shown to accept, by the same
	// bound; 0 means 0.8.
	Acceptance float64
	Confidence float64 // 0 means 0.95
	// MaxUnparsed is the share of unparsed replies above which the result is invalid; 0 means
	// 0.05, negative allows none.
	MaxUnparsed float64
	// Required are the kinds a gating judge must detect; nil means all kinds in the set.
	Required []Kind
	// Generator is the model whose answers are judged; "" is unknown.
	Generator string
	Progress  func(done, total int)
}

// Rate is a count with its Wilson interval at 95 %.
type Rate struct {
	Count    int             `json:"count"`
	N        int             `json:"n"`
	Interval *stats.Interval `json:"interval"` // nil if N is 0
	Lower    float64         `json:"lower"`    // exact one-sided bound at the confidence asked for
}

func newRate(count, n int, conf float64) Rate {
	r := Rate{Count: count, N: n}
	if iv, ok := stats.Wilson(count, n, 0.95); ok {
		r.Interval = &iv
	}
	if iv, ok := stats.ClopperPearson(count, n, 2*conf-1); ok {
		r.Lower = iv.Lo
	}
	return r
}

func (r Rate) String() string {
	if r.Interval == nil {
		return fmt.Sprintf("%d/%d n/a", r.Count, r.N)
	}
	return fmt.Sprintf("%d/%d [%.3f, %.3f]", r.Count, r.N, r.Interval.Lo, r.Interval.Hi)
}

// Miss is an item a judge got wrong or left unparsed.
type Miss struct {
	Item    string  `json:"item"`
	Kind    Kind    `json:"kind"`
	Note    string  `json:"note,omitempty"`
	Verdict Verdict `json:"verdict"`
	Answer  string  `json:"answer"`
	Raw     string  `json:"raw,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// KindRate is the detection of one kind of error.
type KindRate struct {
	Kind Kind `json:"kind"`
	Rate Rate `json:"caught"`
}

// Result is the calibration of one judge.
type Result struct {
	Judge    string          `json:"judge"`
	Model    string          `json:"model,omitempty"`
	Accepted Rate            `json:"accepted_faithful"`
	Caught   Rate            `json:"caught_altered"`
	Kinds    []KindRate      `json:"kinds"`
	Untested []Kind          `json:"untested,omitempty"` // kinds of error that no answer of the set could be altered by
	Table    stats.Confusion `json:"confusion"`
	// Accuracy, Balanced and Kappa are nil when they have no value.
	Accuracy *float64 `json:"accuracy"`
	Balanced *float64 `json:"balanced_accuracy"`
	Kappa    *float64 `json:"kappa"`
	Unparsed int      `json:"unparsed"` // counted as wrong in the rates above
	Errors   int      `json:"errors"`   // items without any reply: not in the rates
	// Qualified judges may gate; the others are advisory, for the Reasons given.
	Qualified bool     `json:"qualified"`
	Usable    bool     `json:"usable"` // better than chance and valid
	Reasons   []string `json:"reasons,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Misses    []Miss   `json:"misses"`
}

// Calibrate runs a judge over the set. Without faithful or without altered items there is no
// result but an error: a judge that always says yes would look perfect.
func Calibrate(ctx context.Context, j Judge, set []Labelled, o Options) (*Result, error) {
	o.Detection, o.Acceptance = cmp.Or(o.Detection, 0.9), cmp.Or(o.Acceptance, 0.8)
	o.Confidence, o.MaxUnparsed = cmp.Or(o.Confidence, 0.95), cmp.Or(o.MaxUnparsed, 0.05)
	faithful := 0
	for _, it := range set {
		if it.Kind == Faithful {
			faithful++
		}
	}
	if faithful == 0 || faithful == len(set) {
		return nil, fmt.Errorf("calibrate: %d faithful and %d altered answers: both are needed, add verified answers with numbers and names", faithful, len(set)-faithful)
	}
	r := &Result{Judge: j.Name(), Model: j.Model(), Misses: []Miss{}}
	byKind := map[Kind][2]int{}
	for i, it := range set {
		d, err := j.Judge(ctx, it.Item)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if o.Progress != nil {
			o.Progress(i+1, len(set))
		}
		miss := Miss{Item: it.ID, Kind: it.Kind, Note: it.Note, Verdict: d.Verdict, Answer: it.Answer, Raw: d.Raw}
		if err != nil {
			r.Errors++
			miss.Verdict, miss.Error = Unparsed, err.Error()
			r.Misses = append(r.Misses, miss)
			continue
		}
		if d.Verdict == Unparsed {
			r.Unparsed++
		}
		right := it.Kind == Faithful && d.Verdict == Yes || it.Kind != Faithful && d.Verdict == No
		switch {
		case it.Kind == Faithful && right:
			r.Table.TruePositive++
		case it.Kind == Faithful:
			r.Table.FalseNegative++
		case right:
			r.Table.TrueNegative++
		default:
			r.Table.FalsePositive++
		}
		n := byKind[it.Kind]
		n[1]++
		if right {
			n[0]++
		} else {
			r.Misses = append(r.Misses, miss)
		}
		byKind[it.Kind] = n
	}
	c := r.Table
	r.Accepted = newRate(c.TruePositive, c.TruePositive+c.FalseNegative, o.Confidence)
	r.Caught = newRate(c.TrueNegative, c.TrueNegative+c.FalsePositive, o.Confidence)
	for _, k := range Kinds() {
		if n, ok := byKind[k]; ok {
			r.Kinds = append(r.Kinds, KindRate{k, newRate(n[0], n[1], o.Confidence)})
		} else {
			r.Untested = append(r.Untested, k)
		}
	}
	r.Accuracy, r.Balanced, r.Kappa = optional(c.Accuracy()), optional(c.BalancedAccuracy()), optional(c.Kappa())
	r.qualify(len(set), o)
	if w := SameModel(j, o.Generator); w != "" {
		r.Warnings = append(r.Warnings, w)
	}
	return r, nil
}

func optional(v float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &v
}

func (r *Result) qualify(n int, o Options) {
	no := func(format string, args ...any) { r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...)) }
	r.Usable = true
	if r.Balanced == nil || *r.Balanced <= 0.5 || r.Kappa == nil || *r.Kappa <= 0 {
		r.Usable = false
		no("not usable: no better than chance")
	}
	if r.Errors > 0 {
		r.Usable = false
		no("not usable: %d items got no reply, the calibration is incomplete", r.Errors)
	}
	if limit := max(o.MaxUnparsed, 0); float64(r.Unparsed) > limit*float64(n) {
		r.Usable = false
		no("not usable: %d of %d replies could not be read, the limit is %.0f %%", r.Unparsed, n, 100*limit)
	}
	if r.Accepted.Lower < o.Acceptance {
		no("accepts faithful answers at a rate shown to be only %.3f, %.2f is asked", r.Accepted.Lower, o.Acceptance)
	}
	required := o.Required
	if required == nil {
		for _, k := range r.Kinds {
			required = append(required, k.Kind)
		}
	}
	for _, want := range required {
		found := false
		for _, k := range r.Kinds {
			if k.Kind != want {
				continue
			}
			found = true
			if k.Rate.Lower < o.Detection {
				no("catches %s at a rate shown to be only %.3f (%s), %.2f is asked", want, k.Rate.Lower, k.Rate, o.Detection)
			}
		}
		if !found {
			no("was not tested on errors of kind %s", want)
		}
	}
	r.Qualified = len(r.Reasons) == 0
}

// Line returns the calibration in one line.
func (r *Result) Line() string {
	accuracy, kappa, balanced := "n/a", "n/a", "n/a"
	if r.Accuracy != nil {
		accuracy = fmt.Sprintf("%.3f", *r.Accuracy)
	}
	if r.Balanced != nil {
		balanced = fmt.Sprintf("%.2f", *r.Balanced)
	}
	if r.Kappa != nil {
		kappa = fmt.Sprintf("%.2f", *r.Kappa)
	}
	return fmt.Sprintf("judge %s: accepted faithful %s, caught altered %s, accuracy %s, balanced %s, kappa %s", r.Judge, r.Accepted, r.Caught, accuracy, balanced, kappa)
}

// Report is a judge's calibration beside that of the number rule, which always runs with it.
type Report struct {
	Judge *Result `json:"judge"`
	Rule  *Result `json:"rule"`
	Bias  *Bias   `json:"bias,omitempty"`
}

// CalibrateBeside calibrates a judge and the number rule on the same set, and checks the judge
// for bias by position and length.
func CalibrateBeside(ctx context.Context, j Judge, set []Labelled, o Options) (*Report, error) {
	res, err := Calibrate(ctx, j, set, o)
	if err != nil {
		return nil, err
	}
	rule, err := Calibrate(ctx, Rule{}, set, Options{Detection: o.Detection, Acceptance: o.Acceptance, Confidence: o.Confidence})
	if err != nil {
		return nil, err
	}
	bias, err := CheckBias(ctx, j, set)
	if err != nil {
		return nil, err
	}
	return &Report{res, rule, bias}, nil
}

// Text renders the report: the line, detection by kind, whether the judge may gate, and every
// miss.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; number rule: accepted %s, caught %s\n", r.Judge.Line(), r.Rule.Accepted, r.Rule.Caught)
	for _, k := range r.Judge.Kinds {
		fmt.Fprintf(&b, "  %-10s caught %s", k.Kind, k.Rate)
		for _, k2 := range r.Rule.Kinds {
			if k2.Kind == k.Kind {
				fmt.Fprintf(&b, "; number rule %s", k2.Rate)
			}
		}
		b.WriteByte('\n')
	}
	for _, k := range r.Judge.Untested {
		fmt.Fprintf(&b, "  %-10s no case: no answer of this set could be altered so; nothing is known of it\n", k)
	}
	if r.Judge.Unparsed+r.Judge.Errors > 0 {
		fmt.Fprintf(&b, "  unparsed %d, without a reply %d\n", r.Judge.Unparsed, r.Judge.Errors)
	}
	if r.Bias != nil {
		fmt.Fprintf(&b, "  %s\n", r.Bias)
	}
	state := "advisory"
	switch {
	case r.Judge.Qualified:
		state = "qualified"
	case !r.Judge.Usable:
		state = "not usable"
	}
	fmt.Fprintf(&b, "verdict: %s\n", state)
	for _, s := range r.Judge.Reasons {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	for _, s := range r.Judge.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", s)
	}
	for _, m := range r.Judge.Misses {
		what := string(m.Verdict)
		if m.Error != "" {
			what = m.Error
		}
		fmt.Fprintf(&b, "miss: %s (%s) said %s: %s\n    %s\n", m.Item, m.Kind, what, m.Note, strings.ReplaceAll(m.Answer, "\n", " "))
	}
	return b.String()
}

// Gate returns an error if the judge must not gate.
func (r *Result) Gate() error {
	if r.Qualified {
		return nil
	}
	return fmt.Errorf("judge %s is not qualified and stays advisory: %s", r.Judge, strings.Join(r.Reasons, "; "))
}

// Bias says how a judge's verdicts depend on what should not matter.
type Bias struct {
	Swapped int `json:"swapped"` // items judged again with the order of the passages reversed
	Flips   int `json:"flips"`   // of them, with another verdict
	// Short and Long are acceptance among faithful answers of the shorter and longer half.
	Short Rate `json:"short"`
	Long  Rate `json:"long"`
}

func (b *Bias) String() string {
	return fmt.Sprintf("passages reversed: %d of %d verdicts change; accepted of short answers %s, of long ones %s", b.Flips, b.Swapped, b.Short, b.Long)
}

// CheckBias judges every item once more with its passages (paragraphs of the context) in
// reverse order, and compares acceptance of short and long faithful answers.
func CheckBias(ctx context.Context, j Judge, set []Labelled) (*Bias, error) {
	b := &Bias{}
	var lengths []int
	for _, it := range set {
		if it.Kind == Faithful {
			lengths = append(lengths, len(it.Answer))
		}
	}
	median := medianOf(lengths)
	var short, long [2]int
	for _, it := range set {
		first, err := j.Judge(ctx, it.Item)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // counted by the calibration
		}
		if it.Kind == Faithful {
			half := &short
			if len(it.Answer) > median {
				half = &long
			}
			half[1]++
			if first.Verdict == Yes {
				half[0]++
			}
		}
		swapped := it.Item
		swapped.Context = reversed(it.Context)
		if swapped.Context == it.Context {
			continue
		}
		second, err := j.Judge(ctx, swapped)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue
		}
		b.Swapped++
		if first.Verdict != second.Verdict {
			b.Flips++
		}
	}
	b.Short, b.Long = newRate(short[0], short[1], 0.95), newRate(long[0], long[1], 0.95)
	return b, nil
}

// Faithfulness is the outcome of judging recorded answers. Failures keep their place in the
// denominators: a system error counts against the system, a harness error makes the result
// incomplete.
type Faithfulness struct {
	Faithful      int  `json:"faithful"`
	Judged        int  `json:"judged"` // with a verdict of yes or no
	Unparsed      int  `json:"unparsed"`
	SystemErrors  int  `json:"system_errors"`
	HarnessErrors int  `json:"harness_errors"`
	Skipped       int  `json:"skipped"`  // refusals and empty answers: nothing to judge
	Complete      bool `json:"complete"` // only then it may gate or become a baseline
	Advisory      bool `json:"advisory"` // the judge is not qualified
	// Estimate is prediction-powered, beside the estimate from labels alone; nil without labels.
	Estimate *stats.Powered `json:"estimate,omitempty"`
}

func (f Faithfulness) String() string {
	s := fmt.Sprintf("faithful %d of %d judged, %d system errors, %d harness errors, %d unparsed, %d refusals or empty", f.Faithful, f.Judged, f.SystemErrors, f.HarnessErrors, f.Unparsed, f.Skipped)
	if !f.Complete {
		s += "; incomplete: passes no gate"
	}
	if f.Advisory {
		s += "; advisory"
	}
	if e := f.Estimate; e != nil {
		s += fmt.Sprintf("; from labels alone %.3f [%.3f, %.3f], with the judge %.3f [%.3f, %.3f]", e.LabelledMean, e.LabelledOnly.Lo, e.LabelledOnly.Hi, e.Mean, e.Interval.Lo, e.Interval.Hi)
	}
	return s
}

// Run judges recorded answers. labels, by question id, are persons' verdicts for some of them;
// with two or more labelled and two or more other answers the prediction-powered estimate is
// added. calibration is the judge's, nil if it has none: then the result is advisory.
func Run(ctx context.Context, j Judge, records []answer.Record, labels map[string]bool, calibration *Result) (*Faithfulness, error) {
	f := &Faithfulness{Advisory: calibration == nil || !calibration.Qualified}
	var labelled, predicted, rest []float64
	for i := range records {
		r := &records[i]
		switch {
		case r.Harness != "":
			f.HarnessErrors++
			continue
		case r.Error != "":
			f.SystemErrors++
			continue
		}
		if out := answer.ClassifyRefusal(r.Refused, r.Answer).Outcome; out != answer.Answered {
			f.Skipped++
			continue
		}
		d, err := j.Judge(ctx, Item{ID: r.Question, Question: r.Asked, Context: r.Context(), Answer: r.Answer})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			f.HarnessErrors++
			continue
		}
		v := 0.0
		switch d.Verdict {
		case Yes:
			f.Faithful++
			f.Judged++
			v = 1
		case No:
			f.Judged++
		default:
			f.Unparsed++
			continue
		}
		if l, ok := labels[r.Question]; ok {
			y := 0.0
			if l {
				y = 1
			}
			labelled, predicted = append(labelled, y), append(predicted, v)
		} else {
			rest = append(rest, v)
		}
	}
	f.Complete = f.HarnessErrors == 0
	if p, ok := stats.PredictionPowered(labelled, predicted, rest, 0.95); ok {
		f.Estimate = &p
	}
	return f, nil
}
