package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// Input is everything a decision is made from.
type Input struct {
	Policy    *Policy             // must be valid
	Candidate *evalkit.Evaluation // of the build under test
	Live      *evalkit.Evaluation // of the live build, nil for the first build
	// LiveName is what reasons call the build of Live; "" means "live".
	LiveName string
	// IsLive says that the candidate is live itself. Without Live there was then none before it.
	IsLive bool
	// NoPromotion says that Live is no live build but a system to compare with, under LiveName, and
	// that nothing is to be promoted: reasons then do not speak of a live build.
	NoPromotion bool
	// Reference is the frozen build that many small accepted losses are measured against; nil if
	// there is none. The margin must hold against it as well.
	Reference *evalkit.Evaluation
	// CorpusCause says why the documents of the builds differ, such as "3 documents added"; empty
	// means that no difference was declared, and then one is invalid.
	CorpusCause string
	SelfTest    *SelfTest // nil: not run
	// NoSelfTest says that none is expected: two systems are compared and nobody is promoted.
	NoSelfTest bool
	// Statistics says how the candidate takes the statistics of words; "" is not known, and then a
	// policy that demands them per label makes the verdict invalid, unless NoSelfTest is set.
	Statistics string
	// Measured holds what this package cannot read from an evaluation, by guardrail name.
	Measured map[string]float64
	// PolicyDigest is Policy.Digest() if empty.
	PolicyDigest string
	RecordDigest string // of the run's record
}

// Decide returns the sealed verdict on the candidate. The rules are tried in this order, and all
// reasons of the first that applies are given:
//
//  1. invalid: evaluations that cannot be compared, a failed query, nothing scored, a self-test
//     that differs or misses an injected fault, a floor or guardrail that was not measured;
//  2. reject: a leak, a critical question lost, a floor or guardrail broken, or a difference of
//     −min_effect or worse with an exact p of at most alpha, against the live build or the reference;
//  3. accept: a loss of the margin is excluded against both, or rankings are identical; for a
//     first build, the interval of the primary lies above its floor and the random baseline;
//  4. inconclusive: everything else.
func Decide(in Input) *Verdict {
	d := &decision{in: in}
	if in.Policy != nil {
		d.policy = in.Policy.Resolved()
		d.policy.Path = in.Policy.Path
	}
	v := &d.v
	*v = Verdict{
		Schema: Schema, Primary: d.policy.Primary, Alpha: d.policy.Alpha,
		Gained: []string{}, Lost: []string{}, Leaks: []string{}, Floors: []Check{}, Guardrails: []Check{}, Warnings: []string{},
		CorpusCause: in.CorpusCause, SelfTest: in.SelfTest,
		PolicyDigest: in.PolicyDigest, RecordDigest: in.RecordDigest,
	}
	if v.PolicyDigest == "" && in.Policy != nil {
		v.PolicyDigest = in.Policy.Digest()
	}
	if c := in.Candidate; c != nil {
		v.Build, v.GoldenDigest = c.Build, c.Golden.Digest
	}
	if in.Live != nil {
		v.LiveBuild = in.Live.Build
	}
	v.FirstBuild = in.Live == nil

	v.Verdict, v.Reasons = d.outcome()
	for _, a := range []*Difference{v.AgainstLive, v.AgainstRef} {
		if v.Verdict == Inconclusive && a != nil && !a.Identical && !a.Excluded {
			n, _ := a.needed(&d.policy)
			v.NeededQuestions = max(v.NeededQuestions, n)
		}
	}
	if v.Verdict == Inconclusive && d.policy.Inconclusive == RejectDoubts {
		v.Verdict = Reject
		v.Reasons = append(v.Reasons, "The policy says inconclusive: reject.")
	}
	v.Seal()
	return v
}

// decision is one call of Decide.
type decision struct {
	in     Input
	policy Policy
	v      Verdict
}

func (d *decision) warn(format string, args ...any) {
	d.v.Warnings = append(d.v.Warnings, fmt.Sprintf(format, args...))
}

func (d *decision) outcome() (Outcome, []string) {
	if reasons := d.invalid(); len(reasons) > 0 {
		return Invalid, reasons
	}
	d.measure()
	if reasons := d.unmeasured(); len(reasons) > 0 {
		return Invalid, reasons
	}
	if reasons := d.reject(); len(reasons) > 0 {
		return Reject, reasons
	}
	if d.v.FirstBuild {
		return d.firstBuild()
	}
	return d.accept()
}

// invalid returns the causes that make any number meaningless, before numbers are looked at.
func (d *decision) invalid() (reasons []string) {
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	in, p := d.in, &d.policy
	if in.Policy == nil {
		add("There is no policy: declare one before looking, with at least `primary: hit@3`.")
		return reasons
	}
	if err := in.Policy.Validate(); err != nil {
		add("The policy is faulty: %s.", strings.ReplaceAll(err.Error(), "\n", "; "))
		return reasons
	}
	if in.Candidate == nil {
		add("There is no evaluation of the candidate: run the golden questions against it.")
		return reasons
	}
	sides := []struct {
		name string
		e    *evalkit.Evaluation
	}{{"the candidate", in.Candidate}, {in.base(), in.Live}, {"the reference build", in.Reference}}
	for _, s := range sides {
		if s.e == nil {
			continue
		}
		var failed []string
		for i := range s.e.Questions {
			if q := &s.e.Questions[i]; q.Status == evalkit.StatusError || q.Error != "" {
				failed = append(failed, q.ID)
			}
		}
		if n := max(len(failed), s.e.Counts.Error); n > 0 {
			add("%s failed on %d queries (%s): mend the cause and evaluate again, a failed query is not a miss.", capital(s.name), n, orNone(list(failed)))
		}
		if sum := s.e.Measures[p.Primary]; sum == nil {
			add("%s has no %s: evaluate it with this measure among the measures.", capital(s.name), p.Primary)
		} else if sum.NScored == 0 || !sum.Mean.OK {
			add("Nothing was scored with %s for %s: the golden set needs accepted, answerable questions with gold on side %q.", p.Primary, s.name, s.e.Split)
		}
	}
	if p.Rule != "" && p.Rule != in.Candidate.Rule {
		add("The policy asks for rule %s, the candidate was scored with %s: evaluate with the policy's rule.", p.Rule, orNone(in.Candidate.Rule))
	}
	if p.View != "" && p.View != in.Candidate.View {
		add("The policy asks for view %s, the candidate was scored with %s: evaluate with the policy's view.", p.View, orNone(in.Candidate.View))
	}
	if p.Cutoffs != nil && !slices.Equal(p.Cutoffs, in.Candidate.Cutoffs) {
		add("The policy asks for cutoffs %v, the candidate was scored with %v: evaluate with the policy's cutoffs.", p.Cutoffs, in.Candidate.Cutoffs)
	}
	for _, s := range sides[1:] {
		if s.e != nil {
			for _, cause := range incomparable(s.name, s.e, "the candidate", in.Candidate, in.CorpusCause) {
				add("%s.", capital(cause))
			}
		}
	}
	switch {
	case p.Reference == "":
	case in.Reference == nil:
		add("The policy names the reference build %s, which was not evaluated: evaluate it, or move the reference.", p.Reference)
	case in.Reference.Build != p.Reference:
		add("The policy names the reference build %s, the one evaluated is %s: evaluate the one named, or change the policy.", p.Reference, orNone(in.Reference.Build))
	}
	reasons = append(reasons, d.selfTest()...)
	return reasons
}

// selfTest returns why the self-test makes the verdict invalid and warns of what it leaves open.
func (d *decision) selfTest() (reasons []string) {
	st := d.in.SelfTest
	if st == nil || !st.AA.Ran {
		if d.policy.SelfTest == SelfTestRequired {
			return []string{"The policy requires a self-test and none was run: run it with the evaluation."}
		}
		if st == nil && d.in.NoSelfTest {
			return nil
		}
		if st == nil {
			d.warn("the self-test was not run: nothing shows that this gate would notice a broken build")
			return nil
		}
		d.warn("the candidate was not compared with itself")
	}
	if n := len(st.AA.Flips); n > 0 {
		reasons = append(reasons, fmt.Sprintf("The candidate differs from itself on %d questions (%s): two runs of one build must agree, so find what is random before comparing builds.", n, list(st.AA.Flips)))
	}
	for _, f := range st.Faults {
		switch {
		case f.Caught:
		case f.TooSmall:
			d.warn("this golden set is too small to notice %s%s", f.Name, note(f.Note))
		default:
			reasons = append(reasons, fmt.Sprintf("The injected fault %q was not caught%s: a gate that misses it cannot be trusted; add questions that it would break.", f.Name, note(f.Note)))
		}
	}
	return reasons
}

func note(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// measure fills the verdict with every number that later rules and the reader need.
func (d *decision) measure() {
	v, p, c := &d.v, &d.policy, d.in.Candidate
	sum := c.Measures[p.Primary]
	v.N, v.Mean, v.Random = sum.NScored, sum.Mean, c.Random[p.Primary]
	if d.in.Live != nil {
		v.AgainstLive = difference(p, cmp.Or(d.in.LiveName, "live"), c, d.in.Live)
		a := v.AgainstLive
		v.N, v.Mean, v.Live, v.Delta, v.Lower, v.Upper = a.N, a.Mean, a.BaseMean, a.Delta, a.Lower, a.Upper
		v.Method, v.PReject, v.Gained, v.Lost = a.Method, a.PReject, a.Gained, a.Lost
	}
	if d.in.Reference != nil {
		v.AgainstRef = difference(p, "reference", c, d.in.Reference)
	}
	v.Margin, v.MinEffect = p.MarginFor(max(v.N, 1)), p.MinEffectFor(max(v.N, 1))
	if a := v.AgainstLive; a != nil {
		v.ProvableMargin = a.provable()
	}
	for i := range c.Questions {
		for _, leak := range c.Questions[i].Leaks {
			v.Leaks = append(v.Leaks, fmt.Sprintf("question %s, rank %d: %s (%s)", c.Questions[i].ID, leak.Rank, leak.Doc, leak.Reason))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Floor)) {
		check := Check{Name: name, Limit: p.Floor[name], Value: d.mean(name)}
		check.OK = check.Value.OK && check.Value.V >= check.Limit-1e-9
		v.Floors = append(v.Floors, check)
	}
	for _, g := range Guardrails() {
		limit, set := p.Guardrails[g.Name]
		if !set {
			continue
		}
		check := Check{Name: g.Name, Limit: limit, Value: d.guardrail(g.Name)}
		if g.Lower {
			check.OK = check.Value.OK && check.Value.V >= limit-1e-9
		} else {
			check.OK = check.Value.OK && check.Value.V <= limit+1e-9
		}
		v.Guardrails = append(v.Guardrails, check)
	}
	d.remarks()
}

// mean returns the candidate's mean of a measure, n/a if it was not evaluated.
func (d *decision) mean(name string) evalkit.Value {
	if sum := d.in.Candidate.Measures[name]; sum != nil {
		return sum.Mean
	}
	return evalkit.Value{}
}

// guardrail returns what was measured for a guardrail, n/a if nothing was.
func (d *decision) guardrail(name string) evalkit.Value {
	c := d.in.Candidate
	if v, ok := d.in.Measured[name]; ok {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return evalkit.Value{}
		}
		return evalkit.Num(v)
	}
	switch name {
	case "n_na":
		return evalkit.Num(float64(c.Measures[d.policy.Primary].NNA))
	case "n_no_result":
		return evalkit.Num(float64(max(c.Counts.NoResult, c.Measures[d.policy.Primary].NNoResult)))
	case "judged", "dup":
		return d.mean(fmt.Sprintf("%s@%d", name, cutoffOf(d.policy.Primary)))
	}
	return evalkit.Value{}
}

// remarks collects warnings that do not decide.
func (d *decision) remarks() {
	v, p := &d.v, &d.policy
	if d.in.CorpusCause != "" {
		for _, b := range []*evalkit.Evaluation{d.in.Live, d.in.Reference} {
			if b != nil && b.Corpus != d.in.Candidate.Corpus {
				d.warn("the corpus changed (%s): the difference is that of documents and build together", d.in.CorpusCause)
				break
			}
		}
	}
	if v.AgainstRef == nil && len(p.Floor) == 0 && !v.FirstBuild {
		d.warn("the policy has neither a floor nor a frozen reference: many small accepted losses would add up unnoticed")
	}
	if a, r := v.AgainstLive, v.AgainstRef; a != nil && r != nil && a.N > 0 && r.N > 0 {
		if slack := a.BaseMean.V - r.BaseMean.V; slack > v.Margin+1e-9 {
			d.warn("the reference %s stands %.4f below the live build: a real loss of that size could hide in this slack; move the reference", short(r.Build), slack)
		}
	}
	if a := v.AgainstLive; a != nil {
		flips := len(a.Gained) + len(a.Lost)
		if least := stats.LossesNeeded(0, p.Alpha); binary(p.Primary) && flips > 0 && flips < least {
			d.warn("%d flips are too few to conclude anything: without gains it takes %d losses for p ≤ %g", flips, least, p.Alpha)
		}
		if a.Descriptive {
			d.warn("the interval is descriptive only: fewer than 10 changed questions or 30 questions")
		}
	}
	if v.FirstBuild {
		var missed []string
		for i := range d.in.Candidate.Questions {
			q := &d.in.Candidate.Questions[i]
			if value := q.Measures[p.Primary]; q.Critical && value.OK && value.V == 0 {
				missed = append(missed, q.ID)
			}
		}
		if len(missed) > 0 {
			d.warn("critical questions score 0 in this first build: %s", list(missed))
		}
	}
	d.v.Warnings = append(d.v.Warnings, d.in.Candidate.Warnings...)
}

// unmeasured returns the floors and guardrails that the policy sets and nobody measured.
func (d *decision) unmeasured() (reasons []string) {
	for _, c := range d.v.Floors {
		if !c.Value.OK {
			reasons = append(reasons, fmt.Sprintf("The policy has a floor for %s, which was not measured: evaluate with this measure, or remove the floor.", c.Name))
		}
	}
	for i, c := range d.v.Guardrails {
		if c.Value.OK {
			continue
		}
		if c.Name == "latency_p95_ratio" && d.v.FirstBuild {
			d.v.Guardrails[i].OK = true // there is nothing to divide by
			d.warn("latency_p95_ratio does not apply to a first build")
			continue
		}
		reasons = append(reasons, fmt.Sprintf("The policy has the guardrail %s, which was not measured: measure it, or remove the guardrail.", c.Name))
	}
	if d.policy.Statistics != "" && d.in.Statistics == "" && !d.in.NoSelfTest {
		reasons = append(reasons, "The policy demands word statistics per label, and how this system takes them is not known: evaluate a build of assay, or remove statistics from the policy.")
	}
	return reasons
}

// reject returns every rule that the candidate breaks.
func (d *decision) reject() (reasons []string) {
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	v, p := &d.v, &d.policy
	if p.Statistics == StatisticsPerLabel && d.in.Statistics == StatisticsGlobal {
		add("The policy demands word statistics per label: documents carry permission labels, and scores over all documents tell callers of those that they may not read; set lexical.statistics to per-label and build again.")
	}
	if leaks := max(len(v.Leaks), d.in.Candidate.Counts.Leaks); leaks > p.Leaks {
		add("%d hits show documents that the caller must never see, %d are allowed: %s; mend the permissions of these documents before anything else.", leaks, p.Leaks, orNone(list(v.Leaks)))
	}
	for _, a := range []*Difference{v.AgainstLive, v.AgainstRef} {
		if a != nil && len(a.CriticalLost) > p.Critical {
			add("%d critical questions are lost against %s, %d may be: %s; read their rankings%s.", len(a.CriticalLost), d.against(a), p.Critical, list(a.CriticalLost), d.mend())
		}
	}
	for _, c := range v.Floors {
		if !c.OK {
			add("%s is %.4f, below the floor %g of the policy; read the missed questions.", c.Name, c.Value.V, c.Limit)
		}
	}
	for _, c := range v.Guardrails {
		if !c.OK {
			side := "above"
			if i := slices.IndexFunc(Guardrails(), func(g Guardrail) bool { return g.Name == c.Name }); Guardrails()[i].Lower {
				side = "below"
			}
			add("The guardrail %s is %s the limit: %g, limit %g.", c.Name, side, c.Value.V, c.Limit)
		}
	}
	for _, a := range []*Difference{v.AgainstLive, v.AgainstRef} {
		if a != nil && a.LossShown {
			add("%s: a loss of at least the min_effect %.4g with p %.4f ≤ alpha %g; read the lost questions (%s)%s.",
				d.sentence(a), p.MinEffectFor(a.N), a.PReject.V, p.Alpha, list(d.losses(a)), d.mend())
		}
	}
	return reasons
}

// base is what the candidate is compared with.
func (in *Input) base() string {
	if in.NoPromotion {
		return cmp.Or(in.LiveName, "the other system")
	}
	return "the live build"
}

// against names the other side of a difference within a sentence.
func (d *decision) against(a *Difference) string {
	if d.in.NoPromotion {
		return a.Against
	}
	return "the " + a.Against + " build"
}

// stays says what becomes of the live build, if there is one.
func (d *decision) stays() string {
	if d.in.NoPromotion {
		return ""
	}
	return " The live build stays."
}

// mend says what to do with a build that lost.
func (d *decision) mend() string {
	if d.in.NoPromotion {
		return ""
	}
	return " and mend the build"
}

// losses lists the questions that got worse.
func (d *decision) losses(a *Difference) []string {
	if binary(d.policy.Primary) {
		return a.Lost
	}
	return a.Worsened
}

// sentence states the difference in words, without judging it.
func (d *decision) sentence(a *Difference) string {
	changed := fmt.Sprintf("%d gained, %d lost", len(a.Gained), len(a.Lost))
	if !binary(d.policy.Primary) {
		changed = fmt.Sprintf("%d better, %d worse", len(a.Improved), len(a.Worsened))
	}
	return fmt.Sprintf("%s went from %.4f (%s) to %.4f on %d questions (%s; difference %+.4f, 90 %% interval %.4f to %.4f)",
		d.policy.Primary, a.BaseMean.V, a.Against, a.Mean.V, a.N, changed, a.Delta.V, a.Lower.V, a.Upper.V)
}

// accept applies rules 3 and 4 to a build that has a live one before it.
func (d *decision) accept() (Outcome, []string) {
	var yes, no []string
	for _, a := range []*Difference{d.v.AgainstLive, d.v.AgainstRef} {
		if a == nil {
			continue
		}
		margin := d.policy.MarginFor(a.N)
		switch {
		case a.Identical:
			yes = append(yes, fmt.Sprintf("Every question gets the same chunks in the same order as from %s: nothing new was shown.", d.against(a)))
		case a.N < d.policy.MinQuestions:
			no = append(no, fmt.Sprintf("%s: the policy wants %d scored questions for an accept. Add questions.%s", d.sentence(a), d.policy.MinQuestions, d.stays()))
		case a.Excluded:
			yes = append(yes, fmt.Sprintf("%s: a loss of the margin %.4g or more is excluded%s.", d.sentence(a), margin, d.reading(a)))
		default:
			no = append(no, d.doubt(a, margin))
		}
	}
	if len(no) == 0 {
		return Accept, yes
	}
	return Inconclusive, append(no, yes...)
}

// reading says what an accepted difference may be called.
func (d *decision) reading(a *Difference) string {
	switch {
	case a.Upper.V < 0:
		return fmt.Sprintf(", but a loss of about %.4f is real; read the lost questions (%s)", -a.Delta.V, list(d.losses(a)))
	case a.Lower.V > 0 && d.gainShown(a):
		return "; the gain is real"
	case a.Lower.V > 0:
		return fmt.Sprintf("; a gain is likely, but a two-sided test at %g does not show it", d.policy.Alpha)
	}
	return "; no detectable difference"
}

// gainShown reports whether a two-sided test at alpha also calls the gain real: one flipped
// question never is.
func (d *decision) gainShown(a *Difference) bool {
	if binary(d.policy.Primary) {
		return stats.McNemarTwoSided(len(a.Gained), len(a.Lost)) <= d.policy.Alpha
	}
	return !a.Descriptive
}

// doubt explains an inconclusive difference and what would resolve it.
func (d *decision) doubt(a *Difference, margin float64) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: a loss of the margin %.4g is not excluded", d.sentence(a), margin)
	if a.Descriptive {
		fmt.Fprintf(&s, " (worst case %.4f)", a.WorstCase.V)
	}
	fmt.Fprintf(&s, ". This set proves a margin of %.4f now", a.provable().V)
	if n, why := a.needed(&d.policy); n > 0 {
		fmt.Fprintf(&s, "; about %d questions %s", n, why)
	}
	if ids := d.losses(a); len(ids) > 0 {
		fmt.Fprintf(&s, "; read the lost questions (%s)", list(ids))
	}
	s.WriteString("." + d.stays())
	return s.String()
}

// firstBuild applies rules 3 and 4 to a build that nothing is live before.
func (d *decision) firstBuild() (Outcome, []string) {
	v, p := &d.v, &d.policy
	var values []float64
	for i := range d.in.Candidate.Questions {
		if x := d.in.Candidate.Questions[i].Measures[p.Primary]; x.OK {
			values = append(values, x.V)
		}
	}
	const conf = 0.95
	var iv stats.Interval
	informative := false
	if binary(p.Primary) {
		hits := 0
		for _, x := range values {
			if x > 0.5 {
				hits++
			}
		}
		iv, informative = stats.Wilson(hits, len(values), conf)
		v.Method = "wilson"
	} else {
		b, ok := stats.BootstrapPercentile(values, 0, p.Seed, conf)
		iv, informative = b.Interval, ok && !b.Uninformative
		v.Method = fmt.Sprintf("bootstrap, %d resamples, seed %d", b.Resamples, b.Seed)
	}
	v.N = len(values)
	v.Lower, v.Upper = evalkit.Num(iv.Lo), evalkit.Num(iv.Hi)
	what := "First build"
	if d.in.IsLive {
		what = "The live build itself, with none before it to compare it with"
	}
	head := fmt.Sprintf("%s: %s is %.4f on %d questions (95 %% interval %.4f to %.4f)", what, p.Primary, v.Mean.V, v.N, iv.Lo, iv.Hi)

	var doubts []string
	if v.N < p.MinQuestions {
		doubts = append(doubts, fmt.Sprintf("the policy wants %d scored questions for an accept", p.MinQuestions))
	}
	if !informative {
		doubts = append(doubts, "the sample is constant, so its interval says nothing")
	}
	if floor, set := p.Floor[p.Primary]; set && !(iv.Lo > floor) {
		doubts = append(doubts, fmt.Sprintf("the lower end is not above the floor %g", floor))
	}
	switch {
	case !v.Random.OK:
		doubts = append(doubts, "the random baseline is not known (evaluate with a simulated one)")
	case !(iv.Lo > v.Random.V):
		doubts = append(doubts, fmt.Sprintf("the lower end is not above the random baseline %.4f", v.Random.V))
	}
	if len(doubts) > 0 {
		return Inconclusive, []string{head + ": " + strings.Join(doubts, ", and ") + ". Add questions, improve the build, or promote it with an override that says who and why."}
	}
	ok := head + fmt.Sprintf(": above the random baseline %.4f", v.Random.V)
	if floor, set := p.Floor[p.Primary]; set {
		ok += fmt.Sprintf(" and above the floor %g", floor)
	} else {
		d.warn("the policy has no floor for %s: a first build then only has to beat chance", p.Primary)
	}
	if d.in.Reference != nil {
		// Without a live build the reference still must not be undercut.
		if a := v.AgainstRef; !a.Identical && !a.Excluded {
			return Inconclusive, []string{d.doubt(a, p.MarginFor(a.N)), ok + "."}
		}
	}
	return Accept, []string{ok + "."}
}

// capital writes the first letter of a sentence large.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
