package engine

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// ValidateOptions add to Validate. The zero value compares with the live build and the store's
// reference on the dev questions.
type ValidateOptions struct {
	EvalOptions
	NoSelfTest bool   // leave out the injected faults: faster, and the verdict says so
	Who        string // for the ledgers when the holdout is looked at
	Questions  bool   // the caller will show single questions, which spends a holdout
}

// Validation is a verdict with everything it was made from.
type Validation struct {
	*verdict.Verdict
	Run        string // id of the stored record
	Candidate  *Outcome
	Live       *Outcome // nil for the first build
	Reference  *Outcome // nil without one
	Record     *evalkit.Record
	LiveRecord *evalkit.Record // nil for the first build
}

// Validate asks the golden questions of b, of the live build and of the reference, tests
// whether the gate would notice a broken build, decides by the policy, and stores the record
// beside the build. A verdict is returned for every outcome; an error means that none could be
// reached.
func (e *Engine) Validate(ctx context.Context, b *Build, set *golden.Set, policy *verdict.Policy) (*verdict.Verdict, error) {
	v, err := e.ValidateWith(ctx, b.ID, set, policy, ValidateOptions{})
	if err != nil {
		return nil, err
	}
	return v.Verdict, nil
}

// ValidateWith is Validate with options and the whole evidence.
func (e *Engine) ValidateWith(ctx context.Context, build string, set *golden.Set, policy *verdict.Policy, o ValidateOptions) (*Validation, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.EvalOptions = o.withDefaults()
	if policy == nil {
		policy = DefaultPolicy()
	}
	if err := policy.Validate(); err != nil {
		return nil, badInput("%v", err)
	}
	if err := o.applyPolicy(policy); err != nil {
		return nil, err
	}
	id, err := e.resolve(build)
	if err != nil {
		return nil, err
	}
	rs, err := e.openCompared(id, policy)
	if err != nil {
		return nil, err
	}
	val, err := e.validate(ctx, rs, set, policy, o)
	return val, errors.Join(err, rs.close())
}

// applyPolicy makes the evaluation measure what the policy decides by.
func (o *ValidateOptions) applyPolicy(p *verdict.Policy) error {
	if p.Rule != "" && o.Rule == "" {
		o.Rule = p.Rule
	}
	if p.View != "" {
		o.View = p.View
	}
	if p.Cutoffs != nil {
		o.Cutoffs = p.Cutoffs
	}
	if o.Seed == 0 {
		o.Seed = p.Resolved().Seed
	}
	need := []string{p.Primary}
	for name := range p.Floor {
		need = append(need, name)
	}
	slices.Sort(need)
	for _, name := range need {
		family, at, _ := strings.Cut(name, "@")
		var k int
		if _, err := fmt.Sscanf(at, "%d", &k); err != nil {
			return badInput("measure %q of the policy has no cutoff", name)
		}
		if !slices.Contains(o.Cutoffs, k) {
			if p.Cutoffs != nil {
				return badInput("the policy decides by %s but its cutoffs are %v: add %d", name, p.Cutoffs, k)
			}
			o.Cutoffs = append(o.Cutoffs, k)
		}
		if len(o.Measures) > 0 && !slices.Contains(o.Measures, name) && !slices.Contains(o.Measures, family) {
			o.Measures = append(o.Measures, name)
		}
	}
	slices.Sort(o.Cutoffs)
	o.Cutoffs = slices.Compact(o.Cutoffs)
	return nil
}

// compared are the opened builds of one validation.
type compared struct {
	candidate, live, reference *reader
	isLive                     bool // the candidate is live itself; live is then the build before it
}

func (c *compared) close() error {
	var errs []error
	for _, r := range []*reader{c.candidate, c.live, c.reference} {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) openCompared(id string, policy *verdict.Policy) (*compared, error) {
	c := &compared{}
	open := func(to **reader, name, id string) (err error) {
		if id == "" {
			return nil
		}
		o := e.o
		o.ownEmbedder = to != &c.candidate
		if *to, err = e.openReader(id, o); err != nil {
			return fmt.Errorf("%s build %s: %w", name, id, err)
		}
		return nil
	}
	live, lost, err := e.standing()
	if err != nil {
		return nil, err
	}
	if lost != nil {
		e.o.Log.Warn("the build is compared with no live one", "error", lost.Error())
	}
	reference, err := e.pointer(referenceName)
	if err != nil {
		return nil, err
	}
	if policy.Reference != "" {
		if reference, err = e.resolve(policy.Reference); err != nil {
			return nil, fmt.Errorf("reference of the policy: %w", err)
		}
	}
	if live == id {
		c.isLive = true
		live = "" // a build is not compared with itself
		if before, err := e.ledger(); err == nil {
			live = previousLive(before, id)
		}
		if live != "" && !slices.Contains(mustBuilds(&e.store), live) {
			live = ""
		}
	}
	if reference == id || reference == live {
		reference = ""
	}
	err = errors.Join(open(&c.candidate, "candidate", id), open(&c.live, "live", live), open(&c.reference, "reference", reference))
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// mustBuilds lists the builds; a folder that cannot be read holds none that could be opened.
func mustBuilds(s *store) []string {
	ids, err := s.builds()
	if err != nil {
		return nil
	}
	return ids
}

func (e *Engine) validate(ctx context.Context, c *compared, set *golden.Set, policy *verdict.Policy, o ValidateOptions) (*Validation, error) {
	if o.Rule == "" {
		o.Rule = defaultRule(c.candidate, c.live, c.reference)
	}
	val := &Validation{}
	var err error
	if val.Candidate, err = e.evaluate(ctx, c.candidate, c.candidate.view(), set, o.EvalOptions); err != nil {
		return nil, err
	}
	other := o.EvalOptions
	other.otherCorpus = true
	if c.live != nil {
		if val.Live, err = e.evaluate(ctx, c.live, c.live.view(), set, other); err != nil {
			return nil, fmt.Errorf("live build %s: %w", c.live.id, err)
		}
	}
	if c.reference != nil {
		if val.Reference, err = e.evaluate(ctx, c.reference, c.reference.view(), set, other); err != nil {
			return nil, fmt.Errorf("reference build %s: %w", c.reference.id, err)
		}
	}
	// A failed query makes the verdict invalid whatever else is found, and what failed it would
	// fail the checks as well.
	failed := val.Candidate.Evaluation.Counts.Error > 0
	var integrity []string
	if !failed {
		if integrity, err = c.candidate.view().integrity(ctx, o.Seed); err != nil {
			return nil, err
		}
	}
	var self *verdict.SelfTest
	if !o.NoSelfTest && !failed {
		if self, err = e.selfTest(ctx, c.candidate, set, policy, o, val.Candidate.Evaluation); err != nil {
			return nil, err
		}
	}
	rec, err := e.record(c.candidate, val.Candidate, c, policy, o.Mode)
	if err != nil {
		return nil, err
	}
	if val.Live != nil {
		if val.LiveRecord, err = e.record(c.live, val.Live, c, policy, o.Mode); err != nil {
			return nil, err
		}
	}
	in := verdict.Input{
		Policy: policy, Candidate: val.Candidate.Evaluation, CorpusCause: corpusCause(c),
		SelfTest: self, RecordDigest: rec.Digest, Measured: map[string]float64{}, IsLive: c.isLive,
		Statistics: c.candidate.statistics(),
	}
	if val.Live != nil {
		in.Live = val.Live.Evaluation
		if c.isLive {
			in.LiveName = "previous"
		}
		if p := val.Live.Times.P95; p > 0 {
			in.Measured["latency_p95_ratio"] = float64(val.Candidate.Times.P95) / float64(p)
		}
	}
	if val.Reference != nil {
		in.Reference = val.Reference.Evaluation
	}
	val.Verdict = verdict.Decide(in)
	if len(integrity) > 0 {
		val.Verdict.Verdict = verdict.Reject
		reasons := make([]string, len(integrity))
		for i, msg := range integrity {
			reasons[i] = "Integrity: " + msg + "; rebuild it."
		}
		val.Verdict.Reasons = append(reasons, val.Verdict.Reasons...)
		val.Verdict.Seal()
	}
	notes := e.overrides(c)
	if o.Split != golden.Dev {
		note, err := wearNote(set, o.Questions)
		if err != nil {
			return nil, err
		}
		notes = append(notes, note)
	}
	if len(notes) > 0 {
		val.Verdict.Warnings = append(val.Verdict.Warnings, notes...)
		val.Verdict.Seal()
	}
	val.Run, val.Record = rec.Run, rec
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return nil, err
	}
	// The look comes first: an interruption may leave a look without a verdict, never a verdict
	// on the holdout that nobody is seen to have looked at.
	if o.Split != golden.Dev {
		err = e.recordLook(refOf(set), set.Path, c.candidate.id, rec.Digest, o.Who, o.Questions)
	}
	if err == nil {
		err = e.storeRecord(c.candidate.id, rec, val.LiveRecord, val.Verdict, val.Candidate.Times)
	}
	return val, errors.Join(err, unlock())
}

// overrides names the compared builds that went live without an acceptance, with who decided it
// and why, so that no later report hides it.
func (e *Engine) overrides(c *compared) []string {
	entries, err := e.ledger()
	if err != nil {
		return []string{"the ledger cannot be read: " + err.Error()}
	}
	var out []string
	for _, r := range []*reader{c.live, c.candidate, c.reference} {
		if r == nil {
			continue
		}
		for _, l := range slices.Backward(entries) {
			if l.Build != r.id || !l.madeLive() {
				continue
			}
			if l.Action == "override" {
				out = append(out, fmt.Sprintf("build %s went live by override of %s: %s", r.id, l.Who, strings.Join(strings.Fields(l.Why), " ")))
			}
			break
		}
	}
	return out
}

// wearNote says how much the holdout has been looked at, this time included.
func wearNote(set *golden.Set, questions bool) (string, error) {
	var w golden.Wear
	if set.Path != "" {
		ledger, err := golden.ReadLedger(golden.LedgerPath(set.Path))
		if err != nil {
			return "", badInput("%v", err)
		}
		w = ledger.Wear(set)
	}
	note := fmt.Sprintf("look %d at the holdout", w.Looks+1)
	switch {
	case w.Spent:
		note += ": it is spent, " + w.Reason + ", and no longer confirms anything; ask new questions"
	case questions:
		note += ": it shows single questions and spends it"
	}
	return note, nil
}

// recordLook notes a look at the holdout in the store's ledger and, for a set that was read
// from a file, in the ledger beside it.
func (e *Engine) recordLook(set evalkit.GoldenRef, path, build, record, who string, questions bool) error {
	revealed := golden.RevealedTotals
	if questions {
		revealed = golden.RevealedQuestions
	}
	now := e.o.Now().UTC()
	if err := e.appendLedger(LedgerEntry{
		Time: now, Action: "holdout", Build: build, Who: who, Golden: set.Digest, Record: record, Revealed: revealed,
	}); err != nil || path == "" {
		return err
	}
	return golden.RecordLook(e.fsys, golden.LedgerPath(path), golden.Look{
		When: now, Who: who, Build: build, Set: set.Name, Version: set.Version, Digest: set.Digest, Revealed: revealed,
	})
}

// questionsAlone is what of a policy the golden questions decide. What else it demands is not
// measured in a self-test, and a fault must not count as caught because of that.
func questionsAlone(policy *verdict.Policy) *verdict.Policy {
	p := *policy
	p.SelfTest, p.Statistics, p.Reference, p.Guardrails = "", "", "", nil
	for _, name := range []string{"n_na", "n_no_result", "judged", "dup"} { // read from the evaluation
		if limit, ok := policy.Guardrails[name]; ok {
			if p.Guardrails == nil {
				p.Guardrails = map[string]float64{}
			}
			p.Guardrails[name] = limit
		}
	}
	return &p
}

// statistics says how a search of the build takes the statistics of words.
func (r *reader) statistics() string {
	labelled := slices.ContainsFunc(r.acls, func(acl []string) bool { return len(acl) > 0 })
	switch {
	case !labelled || !r.settings.Hybrid.NeedsLexical():
		return verdict.StatisticsUnused
	case r.settings.Lexical.Statistics == verdict.StatisticsPerLabel:
		return verdict.StatisticsPerLabel
	}
	return verdict.StatisticsGlobal
}

// evaluatedMode is the key of a record's settings that holds the mode in which the questions were
// asked: a verdict on another mode than the one served would be about another system.
const evaluatedMode = "evaluation.mode"

// record collects what the verdict is made from.
func (e *Engine) record(r *reader, outcome *Outcome, c *compared, policy *verdict.Policy, mode string) (*evalkit.Record, error) {
	rec := evalkit.NewRecord(outcome.Evaluation, outcome.Run)
	rec.Code = Version()
	rec.Settings = r.recordedSettings()
	rec.Settings[evaluatedMode] = cmp.Or(mode, r.settings.Hybrid.Mode)
	rec.Manifest = r.manifest.Digest
	rec.PolicyDigest = policy.Digest()
	rec.Environment = map[string]string{"go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH}
	if fp := r.manifest.Embedder; fp != nil {
		rec.Models = map[string]string{"embedder": describe(*fp)}
	}
	for i := range r.ndocs {
		rec.Documents = append(rec.Documents, evalkit.DocumentVersion{
			ID: docIDOf(r, i), Version: hex.EncodeToString(r.doc(i)[48:80]),
		})
	}
	if c.live != nil && c.live != r {
		rec.Live = c.live.id
	}
	if c.reference != nil {
		rec.Reference = c.reference.id
	}
	if outcome.Preflight != nil {
		for _, f := range outcome.Preflight.Findings {
			if f.Code == golden.CodeNoFacts {
				continue // the evaluation counts them
			}
			f.Path = filepath.Base(f.Path) // a record names no folder of the machine
			rec.Warnings = append(rec.Warnings, f.String())
		}
	}
	_, _, err := rec.Encode() // sets run id and digests
	return rec, err
}

// corpusCause says how the documents of the builds differ, "" if they do not: a change of the
// documents is then the declared cause of a change in the numbers.
func corpusCause(c *compared) string {
	have := documentVersions(c.candidate)
	var parts []string
	for _, other := range []struct {
		name string
		r    *reader
	}{{"live", c.live}, {"reference", c.reference}} {
		if other.r == nil || other.r.manifest.Corpus.Digest == c.candidate.manifest.Corpus.Digest {
			continue
		}
		old := documentVersions(other.r)
		added, changed, removed := 0, 0, 0
		for id, v := range have {
			switch was, ok := old[id]; {
			case !ok:
				added++
			case was != v:
				changed++
			}
		}
		for id := range old {
			if _, ok := have[id]; !ok {
				removed++
			}
		}
		parts = append(parts, fmt.Sprintf("since the %s build: %d documents added, %d changed, %d removed, or their permissions changed", other.name, added, changed, removed))
	}
	return strings.Join(parts, "; ")
}

// selfTest asks the questions of the candidate again, which must give the same answers, and of
// the candidate with each fault injected, which must be noticed.
func (e *Engine) selfTest(ctx context.Context, r *reader, set *golden.Set, policy *verdict.Policy, o ValidateOptions, first *evalkit.Evaluation) (*verdict.SelfTest, error) {
	o.Resamples = -1 // intervals are no part of the comparison
	o.quiet = true
	again, err := e.evaluate(ctx, r, r.view(), set, o.EvalOptions)
	if err != nil {
		return nil, err
	}
	self := &verdict.SelfTest{AA: verdict.SelfCompare(first, again.Evaluation)}
	views, cannot := r.injections(o.Seed)
	names := []string{FaultDropped, FaultShuffled, FaultSwapped, FaultForeign, FaultStale, FaultACL}
	for i, name := range names {
		e.o.Progress(Progress{Stage: "self-test", Done: i + 1, Total: len(names)})
		v, ok := views[name]
		if !ok {
			self.AA.Note = strings.TrimPrefix(self.AA.Note+"; "+name+" cannot happen: "+cannot[name], "; ")
			continue
		}
		test, err := e.testFault(ctx, r, v, set, policy, o, first)
		if err != nil {
			return nil, fmt.Errorf("self-test, %s: %w", name, err)
		}
		test.Name = name
		self.Faults = append(self.Faults, test)
	}
	return self, nil
}

func (e *Engine) testFault(ctx context.Context, r *reader, v *view, set *golden.Set, policy *verdict.Policy, o ValidateOptions, sound *evalkit.Evaluation) (verdict.FaultTest, error) {
	found, err := v.integrity(ctx, o.Seed)
	if err != nil {
		return verdict.FaultTest{}, err
	}
	outcome, err := e.evaluate(ctx, r, v, set, o.EvalOptions)
	if err != nil {
		if ctx.Err() != nil {
			return verdict.FaultTest{}, err
		}
		line, _, _ := strings.Cut(err.Error(), "\n")
		return verdict.FaultTest{Caught: true, Note: "the answers cannot be scored: " + clip(line, 200)}, nil
	}
	measured := verdict.Decide(verdict.Input{Policy: questionsAlone(policy), Candidate: outcome.Evaluation, Live: sound, NoSelfTest: true})
	byQuestions := measured.Verdict != verdict.Accept
	test := verdict.FaultTest{Caught: len(found) > 0 || byQuestions}
	switch {
	case len(found) > 0 && byQuestions:
		test.Note = fmt.Sprintf("by the questions (%s) and by the integrity checks (%s)", measured.Verdict, found[0])
	case byQuestions:
		test.Note = fmt.Sprintf("by the questions (%s)", measured.Verdict)
	case len(found) > 0:
		test.Note = fmt.Sprintf("by the integrity checks (%s); this golden set alone is too small to notice it", found[0])
	default:
		test.Note = "neither the questions nor the integrity checks notice it"
	}
	return test, nil
}
