package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
)

func anyContains(lines []string, fragment string) bool {
	for _, l := range lines {
		if strings.Contains(l, fragment) {
			return true
		}
	}
	return false
}

// TestVerdictTable is the table of the acceptance contract, row by row.
func TestVerdictTable(t *testing.T) {
	for _, row := range []struct {
		n, g, l  int
		lo, hi   float64
		m05, m10 Outcome
		say05    string
		say10    string
	}{
		{27, 0, 0, -.0911, .0911, Inconclusive, Accept, "proves a margin of 0.0911 now", "no detectable difference"},
		{27, 1, 2, -.1721, .0903, Inconclusive, Inconclusive, "not excluded", "proves a margin of 0.1722 now"}, // rounded up: −.17214
		{27, 0, 3, -.2478, -.0099, Inconclusive, Inconclusive, "q001, q002, q003", "q001, q002, q003"},
		{27, 0, 5, -.3345, -.0772, Reject, Reject, "p 0.0312 ≤ alpha 0.05", "p 0.0312 ≤ alpha 0.05"},
		{100, 5, 3, -.0304, .0739, Accept, Accept, "no detectable difference", "no detectable difference"},
		{100, 3, 5, -.0739, .0304, Inconclusive, Accept, "not excluded", "no detectable difference"},
		{300, 9, 12, -.0369, .0160, Accept, Accept, "excluded", "excluded"},
		{300, 6, 18, -.0692, -.0139, Inconclusive, Accept, "difference -0.0400", "a loss of about 0.0400 is real"},
	} {
		cand, live := flips(row.n, row.g, row.l)
		for _, m := range []struct {
			margin float64
			want   Outcome
			say    string
		}{{.05, row.m05, row.say05}, {.10, row.m10, row.say10}} {
			t.Run(fmt.Sprintf("%d, %d–%d, M=%.2f", row.n, row.g, row.l, m.margin), func(t *testing.T) {
				v := decide(cand, live, m.margin)
				wantOutcome(t, v, m.want, m.say)
				if math.Abs(v.Lower.V-row.lo) > .00005 || math.Abs(v.Upper.V-row.hi) > .00005 {
					t.Errorf("interval %.5f, %.5f; want %.4f, %.4f", v.Lower.V, v.Upper.V, row.lo, row.hi)
				}
				if len(v.Gained) != row.g || len(v.Lost) != row.l {
					t.Errorf("gained %v, lost %v; want %d and %d", v.Gained, v.Lost, row.g, row.l)
				}
				if m.want == Inconclusive && v.NeededQuestions <= row.n {
					t.Errorf("inconclusive with %d questions, but %d are said to be enough", row.n, v.NeededQuestions)
				}
			})
		}
	}
}

func TestDecideInvalid(t *testing.T) {
	cand, live := flips(100, 5, 3)
	policy := &Policy{Primary: "hit@3", Margin: ptr(.10)}
	for _, row := range []struct {
		name  string
		spoil func(in *Input, cand, live *evalkit.Evaluation)
		say   string
	}{
		{"ST-05 golden digest", func(in *Input, c, l *evalkit.Evaluation) { l.Golden.Digest = "bb" }, "golden set differs"},
		{"ST-05 corpus digest", func(in *Input, c, l *evalkit.Evaluation) { l.Corpus = "22" }, "corpus changed"},
		{"ST-05 cutoffs", func(in *Input, c, l *evalkit.Evaluation) { l.Cutoffs = []int{1, 3} }, "cutoffs [1 3]"},
		{"rule", func(in *Input, c, l *evalkit.Evaluation) { l.Rule = "span" }, "relevance rule span"},
		{"view", func(in *Input, c, l *evalkit.Evaluation) { l.View = "sections" }, "view sections"},
		{"split", func(in *Input, c, l *evalkit.Evaluation) { l.Split = "dev" }, "split dev"},
		{"failed query", func(in *Input, c, l *evalkit.Evaluation) {
			c.Questions[7].Status, c.Questions[7].Error = evalkit.StatusError, "timeout"
		}, "failed on 1 queries (q008)"},
		{"failed query of the live build", func(in *Input, c, l *evalkit.Evaluation) { l.Counts.Error = 2 }, "The live build failed on 2"},
		{"nothing scored", func(in *Input, c, l *evalkit.Evaluation) {
			c.Measures["hit@3"] = &evalkit.Summary{NNA: 100}
		}, "Nothing was scored"},
		{"primary not evaluated", func(in *Input, c, l *evalkit.Evaluation) { delete(c.Measures, "hit@3") }, "has no hit@3"},
		{"question missing on one side", func(in *Input, c, l *evalkit.Evaluation) { l.Questions = l.Questions[1:] }, "lacks 1 questions"},
		{"A/A flip", func(in *Input, c, l *evalkit.Evaluation) { in.SelfTest.AA.Flips = []string{"q005"} }, "differs from itself on 1 questions (q005)"},
		{"fault not caught", func(in *Input, c, l *evalkit.Evaluation) {
			in.SelfTest.Faults = append(in.SelfTest.Faults, FaultTest{Name: "vectors shuffled"})
		}, `"vectors shuffled" was not caught`},
		{"self-test required", func(in *Input, c, l *evalkit.Evaluation) {
			in.SelfTest = nil
			in.Policy = &Policy{Primary: "hit@3", SelfTest: SelfTestRequired}
		}, "requires a self-test"},
		{"policy's rule", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy = &Policy{Primary: "hit@3", Rule: "span"}
		}, "asks for rule span"},
		{"policy's reference missing", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy = &Policy{Primary: "hit@3", Reference: "0123456789ab"}
		}, "reference build 0123456789ab"},
		{"floor not measured", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy = &Policy{Primary: "hit@3", Floor: map[string]float64{"rr@5": .5}}
		}, "floor for rr@5, which was not measured"},
		{"guardrail not measured", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy = &Policy{Primary: "hit@3", Guardrails: map[string]float64{"unsupported_claims": 0}}
		}, "guardrail unsupported_claims, which was not measured"},
		{"statistics not known", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy = &Policy{Primary: "hit@3", Statistics: StatisticsPerLabel}
		}, "how this system takes them is not known"},
		{"no policy", func(in *Input, c, l *evalkit.Evaluation) { in.Policy = nil }, "no policy"},
		{"faulty policy", func(in *Input, c, l *evalkit.Evaluation) { in.Policy = &Policy{Primary: "hit"} }, "no cutoff"},
		{"no candidate", func(in *Input, c, l *evalkit.Evaluation) { in.Candidate = nil }, "no evaluation of the candidate"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, l := clone(cand), clone(live)
			in := Input{Policy: policy, Candidate: c, Live: l, SelfTest: sure()}
			if v := Decide(in); v.Verdict != Accept {
				t.Fatalf("unspoilt: %s %q", v.Verdict, v.Reasons)
			}
			row.spoil(&in, c, l)
			v := Decide(in)
			wantOutcome(t, v, Invalid, row.say)
			if v.ExitCode() != ExitInvalid {
				t.Errorf("exit code %d", v.ExitCode())
			}
		})
	}
	t.Run("PM-05 statistics that tell of hidden documents", func(t *testing.T) {
		demands := &Policy{Primary: "hit@3", Statistics: StatisticsPerLabel}
		for statistics, want := range map[string]Outcome{StatisticsPerLabel: Accept, StatisticsUnused: Accept, StatisticsGlobal: Reject} {
			v := Decide(Input{Policy: demands, Candidate: cand, Live: live, SelfTest: sure(), Statistics: statistics})
			if v.Verdict != want || want == Reject && !anyContains(v.Reasons, "set lexical.statistics to per-label") {
				t.Errorf("%s: %s %q, want %s", statistics, v.Verdict, v.Reasons, want)
			}
			if v := Decide(Input{Policy: policy, Candidate: cand, Live: live, SelfTest: sure(), Statistics: statistics}); v.Verdict != Accept {
				t.Errorf("%s without the demand: %s %q", statistics, v.Verdict, v.Reasons)
			}
		}
		if v := Decide(Input{Policy: demands, Candidate: cand, Live: live, NoSelfTest: true}); v.Verdict != Accept {
			t.Errorf("two systems side by side: %s %q", v.Verdict, v.Reasons)
		}
	})
	t.Run("a live build without one before it", func(t *testing.T) {
		v := Decide(Input{Policy: policy, Candidate: cand, SelfTest: sure(), IsLive: true})
		if anyContains(v.Reasons, "First build") || !anyContains(v.Reasons, "The live build itself, with none before it to compare it with: hit@3 is") {
			t.Errorf("%s %q", v.Verdict, v.Reasons)
		}
	})
	t.Run("ST-05 corpus digest with a stated cause", func(t *testing.T) {
		l := clone(live)
		l.Corpus = "22"
		v := Decide(Input{Policy: policy, Candidate: cand, Live: l, CorpusCause: "3 documents added", SelfTest: sure()})
		wantOutcome(t, v, Accept)
		if !anyContains(v.Warnings, "3 documents added") {
			t.Errorf("the cause is not named: %q", v.Warnings)
		}
	})
	t.Run("invalid comes before a leak", func(t *testing.T) {
		c, l := clone(cand), clone(live)
		c.Questions[0].Leaks = []evalkit.Leak{{Rank: 9, Doc: "x.md", Reason: "forbidden"}}
		l.Golden.Digest = "bb"
		wantOutcome(t, Decide(Input{Policy: policy, Candidate: c, Live: l, SelfTest: sure()}), Invalid)
	})
}

// clone copies what the tests change.
func clone(e *evalkit.Evaluation) *evalkit.Evaluation {
	c := *e
	c.Measures = map[string]*evalkit.Summary{}
	for k, v := range e.Measures {
		s := *v
		c.Measures[k] = &s
	}
	c.Questions = append([]evalkit.QuestionResult{}, e.Questions...)
	return &c
}

func TestDecideReject(t *testing.T) {
	cand, live := flips(100, 5, 3)
	base := Policy{Primary: "hit@3", Margin: ptr(.10)}
	for _, row := range []struct {
		name  string
		spoil func(in *Input, c, l *evalkit.Evaluation)
		say   string
	}{
		{"leak at rank 40", func(in *Input, c, l *evalkit.Evaluation) {
			c.Questions[2].Leaks = []evalkit.Leak{{Rank: 40, Doc: "payroll.md", Reason: "acl"}}
		}, "question q003, rank 40: payroll.md (acl)"},
		{"critical question lost", func(in *Input, c, l *evalkit.Evaluation) {
			c.Questions[5].Critical, l.Questions[5].Critical = true, true // q006 is the first lost
		}, "1 critical questions are lost against the live build, 0 may be: q006"},
		{"floor broken", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy.Floor = map[string]float64{"hit@3": .95}
		}, "below the floor 0.95"},
		{"guardrail from the evaluation", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy.Guardrails = map[string]float64{"n_no_result": 1}
			c.Counts.NoResult = 2
		}, "guardrail n_no_result is above the limit: 2, limit 1"},
		{"guardrail with a lower limit", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy.Guardrails = map[string]float64{"judged": .9}
			c.Measures["judged@3"] = &evalkit.Summary{Mean: evalkit.Num(.8), NScored: 100}
		}, "guardrail judged is below the limit"},
		{"guardrail measured outside", func(in *Input, c, l *evalkit.Evaluation) {
			in.Policy.Guardrails = map[string]float64{"latency_p95_ratio": 1.5}
			in.Measured = map[string]float64{"latency_p95_ratio": 2}
		}, "latency_p95_ratio is above"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, l, p := clone(cand), clone(live), base
			in := Input{Policy: &p, Candidate: c, Live: l, SelfTest: sure()}
			row.spoil(&in, c, l)
			v := Decide(in)
			wantOutcome(t, v, Reject, row.say)
			if v.ExitCode() != ExitReject {
				t.Errorf("exit code %d", v.ExitCode())
			}
		})
	}
	t.Run("critical questions that may be lost", func(t *testing.T) {
		c, l, p := clone(cand), clone(live), base
		c.Questions[5].Critical = true
		p.Critical = 1
		wantOutcome(t, Decide(Input{Policy: &p, Candidate: c, Live: l, SelfTest: sure()}), Accept)
	})
	t.Run("a floor met exactly holds", func(t *testing.T) {
		c, l, p := clone(cand), clone(live), base
		p.Floor = map[string]float64{"hit@3": c.Measures["hit@3"].Mean.V}
		wantOutcome(t, Decide(Input{Policy: &p, Candidate: c, Live: l, SelfTest: sure()}), Accept)
	})
	t.Run("leaks that are allowed", func(t *testing.T) {
		c, l, p := clone(cand), clone(live), base
		c.Questions[2].Leaks = []evalkit.Leak{{Rank: 1, Doc: "x.md", Reason: "forbidden"}}
		p.Leaks = 1
		wantOutcome(t, Decide(Input{Policy: &p, Candidate: c, Live: l, SelfTest: sure()}), Accept)
	})
	t.Run("a loss of exactly min_effect rejects", func(t *testing.T) {
		// 30 of 300 is .1 whatever the doubles say; 29 is not.
		p := Policy{Primary: "hit@3", Margin: ptr(.10)}
		c, l := flips(300, 0, 30)
		wantOutcome(t, Decide(Input{Policy: &p, Candidate: c, Live: l, SelfTest: sure()}), Reject)
		c, l = flips(300, 0, 29)
		wantOutcome(t, Decide(Input{Policy: &p, Candidate: c, Live: l, SelfTest: sure()}), Inconclusive)
	})
}

func TestReachesEffect(t *testing.T) {
	for _, row := range []struct {
		n, g, l int
		margin  float64
		effect  *float64
		want    bool
	}{
		{300, 0, 30, .1, nil, true},
		{300, 0, 29, .1, nil, false},
		{300, 6, 18, .04, nil, true},  // 12/300 = .04
		{300, 6, 18, .05, nil, false}, // the contract's last row
		{10, 0, 1, .05, nil, false},   // min_effect is 2/n
		{10, 0, 2, .05, nil, true},    //
		{70, 0, 7, .1, nil, true},     // 7/70 < .1 in doubles is a coin toss
		{3, 0, 1, .9, ptr(.333333333), true},
		{100, 0, 7, .9, ptr(.07), true}, // .07·100 is 7.000000000000001
		{100, 9, 2, .05, ptr(0), false}, // a gain
	} {
		p := Policy{Primary: "hit@3", Margin: ptr(row.margin), MinEffect: row.effect}
		if got := p.reachesEffect(row.n, row.g, row.l); got != row.want {
			t.Errorf("reachesEffect(%d, %d, %d) with margin %v, effect %v = %v", row.n, row.g, row.l, row.margin, row.effect, got)
		}
	}
}

func TestDecideAccept(t *testing.T) {
	t.Run("identical rankings", func(t *testing.T) {
		_, live := flips(27, 0, 0)
		v := decide(live, live, .05) // with other rankings this row is inconclusive
		wantOutcome(t, v, Accept, "nothing new was shown")
		if v.ExitCode() != ExitDone {
			t.Errorf("exit code %d", v.ExitCode())
		}
	})
	t.Run("ST-01", func(t *testing.T) {
		cand := evaluation("cand", 27, func(i int) bool { return i < 20 })
		live := evaluation("live", 27, func(i int) bool { return i < 19 })
		for _, m := range []float64{.05, .10, .20} {
			v := decide(cand, live, m)
			for _, r := range v.Reasons {
				if strings.Contains(r, "better") || strings.Contains(r, "improve") || strings.Contains(r, "gain is real") {
					t.Errorf("margin %v: one flip is sold as an improvement: %s", m, r)
				}
			}
			if d := cmp.Diff([]string{"q020"}, v.Gained); d != "" {
				t.Errorf("gained (-want +got):\n%s", d)
			}
		}
		wantOutcome(t, decide(cand, live, .10), Accept, "no detectable difference")
	})
	t.Run("the same chunk ids with other values are not identical", func(t *testing.T) {
		a, b := evaluation("x", 27, func(i int) bool { return true }), evaluation("x", 27, func(i int) bool { return i > 1 })
		wantOutcome(t, decide(b, a, .10), Inconclusive, "not excluded")
		c := evaluation("x", 27, func(i int) bool { return true })
		c.Questions[0].Sections = []string{"a.md > Renamed", "b.md > B", "c.md > C", "d.md > D"}
		wantOutcome(t, decide(c, a, .05), Inconclusive, "proves a margin of 0.0911")
	})
	t.Run("ST-01 minimum number of questions", func(t *testing.T) {
		p := &Policy{Primary: "hit@3", MinQuestions: 50}
		c, l := flips(27, 0, 0)
		wantOutcome(t, Decide(Input{Policy: p, Candidate: c, Live: l}), Inconclusive, "wants 50 scored questions")
		wantOutcome(t, Decide(Input{Policy: p, Candidate: l, Live: l}), Accept, "nothing new was shown")
		wantOutcome(t, Decide(Input{Policy: p, Candidate: c}), Inconclusive, "wants 50 scored questions")
		c, l = flips(50, 0, 0)
		wantOutcome(t, Decide(Input{Policy: p, Candidate: c, Live: l}), Accept)
	})
	t.Run("a real gain is called one", func(t *testing.T) {
		c, l := flips(100, 12, 1)
		wantOutcome(t, decide(c, l, .10), Accept, "the gain is real")
	})
	t.Run("first build", func(t *testing.T) {
		for _, row := range []struct {
			name  string
			hits  int
			n     int
			floor float64
			want  Outcome
			say   string
		}{
			{"above floor and chance", 23, 27, .60, Accept, "above the floor 0.6"}, // Wilson .675
			{"lower end below the floor", 23, 27, .70, Inconclusive, "not above the floor 0.7"},
			{"mean below the floor", 23, 27, .90, Reject, "below the floor 0.9"},
			{"no floor", 23, 27, 0, Accept, "above the random baseline"},
			{"not above chance", 2, 27, 0, Inconclusive, "not above the random baseline"}, // Wilson .02
			{"one question", 1, 1, 0, Accept, "above the random baseline"},                // Wilson .207
		} {
			t.Run(row.name, func(t *testing.T) {
				p := &Policy{Primary: "hit@3"}
				if row.floor > 0 {
					p.Floor = map[string]float64{"hit@3": row.floor}
				}
				v := Decide(Input{Policy: p, Candidate: evaluation("first", row.n, func(i int) bool { return i < row.hits }), SelfTest: sure()})
				wantOutcome(t, v, row.want, row.say)
				if !v.FirstBuild || v.Delta.OK {
					t.Errorf("first_build %v, delta %v", v.FirstBuild, v.Delta)
				}
			})
		}
	})
	t.Run("inconclusive turned into reject by the policy", func(t *testing.T) {
		c, l := flips(27, 1, 2)
		v := Decide(Input{Policy: &Policy{Primary: "hit@3", Inconclusive: RejectDoubts}, Candidate: c, Live: l})
		wantOutcome(t, v, Reject, "inconclusive: reject")
	})
	t.Run("default margin by questions", func(t *testing.T) {
		if DefaultMargin(199) != .10 || DefaultMargin(200) != .05 {
			t.Errorf("DefaultMargin(199) = %v, (200) = %v", DefaultMargin(199), DefaultMargin(200))
		}
		c, l := flips(100, 3, 5)
		if v := Decide(Input{Policy: &Policy{Primary: "hit@3"}, Candidate: c, Live: l}); v.Margin != .10 || v.Verdict != Accept {
			t.Errorf("100 questions: margin %v, %s", v.Margin, v.Verdict)
		}
	})
}

func TestDecideGraded(t *testing.T) {
	policy := func() *Policy {
		return &Policy{Primary: "rr@5", Margin: ptr(.10), Tolerance: .2, Floor: map[string]float64{"rr@5": .1}}
	}
	half := func(int) float64 { return .5 }
	t.Run("ST-02 constant gain", func(t *testing.T) {
		v := Decide(Input{Policy: policy(), SelfTest: sure(),
			Candidate: graded("cand", "rr@5", 4, func(i int) float64 { return .2*float64(i+1) + .05 }),
			Live:      graded("live", "rr@5", 4, func(i int) float64 { return .2 * float64(i+1) })})
		for _, x := range []evalkit.Value{v.Delta, v.Lower, v.Upper} {
			if math.Abs(x.V-.05) > 1e-9 {
				t.Errorf("delta %v, interval %v, %v; want .05 throughout", v.Delta, v.Lower, v.Upper)
			}
		}
		// Four questions prove nothing, however constant they are.
		wantOutcome(t, v, Inconclusive)
		if !v.AgainstLive.Descriptive || len(v.Gained)+len(v.Lost) != 0 {
			t.Errorf("descriptive %v, gained %v, lost %v", v.AgainstLive.Descriptive, v.Gained, v.Lost)
		}
	})
	t.Run("ST-02 joined by id", func(t *testing.T) {
		l := graded("live", "rr@5", 40, func(i int) float64 { return float64(i) / 40 })
		c := graded("cand", "rr@5", 40, func(i int) float64 { return float64(i) / 40 })
		for i := range 20 { // same values, other order of questions
			c.Questions[i], c.Questions[39-i] = c.Questions[39-i], c.Questions[i]
		}
		v := Decide(Input{Policy: policy(), Candidate: c, Live: l, SelfTest: sure()})
		if v.Delta.V != 0 || len(v.AgainstLive.Improved)+len(v.AgainstLive.Worsened) != 0 {
			t.Errorf("shuffled questions give delta %v", v.Delta)
		}
		wantOutcome(t, v, Accept)
	})
	t.Run("accept by the interval", func(t *testing.T) {
		v := Decide(Input{Policy: policy(), SelfTest: sure(),
			Candidate: graded("cand", "rr@5", 60, func(i int) float64 { return []float64{.5, .45, .6}[i%3] }),
			Live:      graded("live", "rr@5", 60, half)})
		wantOutcome(t, v, Accept, "20 better, 20 worse")
	})
	t.Run("reject by the sign-flip test", func(t *testing.T) {
		v := Decide(Input{Policy: policy(), SelfTest: sure(),
			Candidate: graded("cand", "rr@5", 40, func(i int) float64 { return .5 - .2*float64(i%3) }),
			Live:      graded("live", "rr@5", 40, half)})
		wantOutcome(t, v, Reject, "min_effect")
		if !strings.HasPrefix(v.Method, "bca, 2000 resamples, seed 1") || !strings.HasPrefix(v.AgainstLive.Test, "sign-flip") {
			t.Errorf("method %s, test %s", v.Method, v.AgainstLive.Test)
		}
	})
	t.Run("few small losses in many questions: the worst case decides", func(t *testing.T) {
		v := Decide(Input{Policy: policy(), SelfTest: sure(),
			Candidate: graded("cand", "rr@5", 300, func(i int) float64 {
				if i < 5 {
					return .4
				}
				return .5
			}),
			Live: graded("live", "rr@5", 300, half)})
		wantOutcome(t, v, Accept)
		if !v.AgainstLive.Descriptive || v.AgainstLive.WorstCase.V > -5./300 {
			t.Errorf("%+v", v.AgainstLive)
		}
	})
	t.Run("critical question falls by more than the tolerance", func(t *testing.T) {
		for _, row := range []struct {
			value float64
			want  Outcome
		}{{.30, Accept}, {.29, Reject}} {
			c := graded("cand", "rr@5", 300, func(i int) float64 {
				if i == 7 {
					return row.value
				}
				return .5
			})
			c.Questions[7].Critical = true
			wantOutcome(t, Decide(Input{Policy: policy(), Candidate: c, Live: graded("live", "rr@5", 300, half), SelfTest: sure()}), row.want)
		}
	})
}

func TestReference(t *testing.T) {
	// 10,000 questions; builds of .900, .885, .870 … by losing the first ones.
	build := func(name string, hits int) *evalkit.Evaluation {
		return evaluation(name, 10000, func(i int) bool { return i >= 10000-hits })
	}
	t.Run("ST-04", func(t *testing.T) {
		p := &Policy{Primary: "hit@3", Margin: ptr(.02)}
		frozen := build("b1", 9000)
		live := frozen
		for i, row := range []struct {
			hits         int
			step, frozen Outcome // against the live build alone, against both
		}{
			{8850, Accept, Accept},
			{8700, Accept, Reject},
			{8550, Accept, Reject},
			{8400, Accept, Reject},
		} {
			cand := build(fmt.Sprintf("b%d", i+2), row.hits)
			wantOutcome(t, Decide(Input{Policy: p, Candidate: cand, Live: live, SelfTest: sure()}), row.step)
			v := Decide(Input{Policy: p, Candidate: cand, Live: live, Reference: frozen, SelfTest: sure()})
			wantOutcome(t, v, row.frozen)
			if v.AgainstLive == nil || v.AgainstRef == nil {
				t.Fatal("both differences must be reported")
			}
			if row.frozen == Reject && !anyContains(v.Reasons, "(reference)") {
				t.Errorf("the reference is not named: %q", v.Reasons)
			}
			if row.frozen == Accept && (!anyContains(v.Reasons, "(live)") || !anyContains(v.Reasons, "(reference)")) {
				t.Errorf("both differences must be printed: %q", v.Reasons)
			}
			live = cand // promoting does not move the reference
		}
	})
	t.Run("ST-04 slack", func(t *testing.T) {
		v := Decide(Input{Policy: &Policy{Primary: "hit@3", Margin: ptr(.02)},
			Candidate: build("c", 9000), Live: build("l", 9000), Reference: build("r", 8500), SelfTest: sure()})
		if !anyContains(v.Warnings, "slack") {
			t.Errorf("a reference 5 points below the live build is not reported: %q", v.Warnings)
		}
	})
	t.Run("neither floor nor reference", func(t *testing.T) {
		c, l := flips(100, 5, 3)
		v := Decide(Input{Policy: &Policy{Primary: "hit@3"}, Candidate: c, Live: l, SelfTest: sure()})
		if !anyContains(v.Warnings, "neither a floor nor a frozen reference") {
			t.Errorf("warnings %q", v.Warnings)
		}
	})
}

func TestSelfTest(t *testing.T) {
	c, l := flips(100, 5, 3)
	st := &SelfTest{AA: SelfCompare(c, c), Faults: []FaultTest{
		{Name: "chunks dropped", Caught: true}, {Name: "vectors shuffled", Caught: true},
		{Name: "ids swapped", TooSmall: true, Note: "no question asks for either document"},
	}}
	if got, want := st.Summary(), "A/A without flips; would catch 2/3; too small to tell: ids swapped"; got != want {
		t.Errorf("Summary() = %q, want %q", got, want)
	}
	v := Decide(Input{Policy: &Policy{Primary: "hit@3"}, Candidate: c, Live: l, SelfTest: st})
	wantOutcome(t, v, Accept)
	if !anyContains(v.Warnings, "too small to notice ids swapped (no question") {
		t.Errorf("warnings %q", v.Warnings)
	}
	t.Run("a changed order is a flip", func(t *testing.T) {
		d := clone(c)
		q := &d.Questions[3]
		q.Hits = append([]corpus.ChunkID{}, q.Hits...)
		q.Hits[2], q.Hits[3] = q.Hits[3], q.Hits[2]
		if diff := cmp.Diff([]string{"q004"}, SelfCompare(c, d).Flips); diff != "" {
			t.Errorf("flips (-want +got):\n%s", diff)
		}
	})
	t.Run("a missing question is a flip", func(t *testing.T) {
		d := clone(c)
		d.Questions = d.Questions[1:]
		if diff := cmp.Diff([]string{"q001"}, SelfCompare(c, d).Flips); diff != "" {
			t.Errorf("flips (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"q001"}, SelfCompare(d, c).Flips); diff != "" {
			t.Errorf("flips (-want +got):\n%s", diff)
		}
	})
	if got := (*SelfTest)(nil).Summary(); got != "not run" {
		t.Errorf("nil Summary() = %q", got)
	}
}

func TestDecideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		g := rapid.IntRange(0, n).Draw(t, "gained")
		l := rapid.IntRange(0, n-g).Draw(t, "lost")
		margin := rapid.SampledFrom([]float64{.02, .05, .1, .2}).Draw(t, "margin")
		c, live := flips(n, g, l)
		p := &Policy{Primary: "hit@3", Margin: &margin}
		v := Decide(Input{Policy: p, Candidate: c, Live: live})
		if v.Verdict == Invalid || len(v.Reasons) == 0 {
			t.Fatalf("%d, %d–%d: %s %q", n, g, l, v.Verdict, v.Reasons)
		}
		if v.Verdict == Accept && !(v.Lower.V > -margin) {
			t.Fatalf("accepts with lower end %v and margin %v", v.Lower, margin)
		}
		if v.Verdict == Reject && !(l > g && v.PReject.V <= .05) {
			t.Fatalf("rejects %d–%d with p %v", g, l, v.PReject)
		}
		// Swapping the builds never rejects both ways.
		if w := Decide(Input{Policy: p, Candidate: live, Live: c}); v.Verdict == Reject && w.Verdict == Reject {
			t.Fatalf("%d, %d–%d: each of the two builds is rejected in favour of the other", n, g, l)
		}
		// The same input gives the same bytes.
		a, _ := json.Marshal(v)
		b, _ := json.Marshal(Decide(Input{Policy: p, Candidate: c, Live: live}))
		if string(a) != string(b) {
			t.Fatal("two decisions on one input differ")
		}
	})
}

func TestVerdictJSON(t *testing.T) {
	c, l := flips(100, 5, 3)
	data, err := json.Marshal(decide(c, l, .10))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"verdict", "reasons", "primary", "delta", "lower", "upper", "margin", "p_reject", "gained", "lost",
		"needed_questions", "build", "golden_digest", "policy_digest", "record_digest", "digest"} {
		if _, ok := m[key]; !ok {
			t.Errorf("key %q is missing", key)
		}
	}
	// A first build has no difference: null, not 0.
	data, _ = json.Marshal(Decide(Input{Policy: &Policy{Primary: "hit@3"}, Candidate: c}))
	for _, want := range []string{`"delta":null`, `"p_reject":null`, `"gained":[]`, `"lost":[]`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("first build lacks %s: %s", want, data)
		}
	}
}
