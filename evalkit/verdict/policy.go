package verdict

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/internal/suggest"
)

// PolicySchema is the value of a policy file's optional schema key.
const PolicySchema = "assay.policy/v1"

// What a policy may say about inconclusive verdicts.
const (
	Keep         = "keep"   // the live build stays; promotion needs an override (default)
	RejectDoubts = "reject" // an inconclusive verdict is turned into a rejection
)

// What a policy may say about the self-test.
const (
	SelfTestOptional = "optional" // a verdict without one carries a warning (default)
	SelfTestRequired = "required" // a verdict without one is invalid
)

// How statistics of words may be taken, for Policy.Statistics and Input.Statistics.
const (
	StatisticsPerLabel = "per-label" // over what each caller may read
	StatisticsGlobal   = "global"    // over all documents, so that scores tell of hidden ones
	StatisticsUnused   = "unused"    // the build searches without words, or no document has labels
)

// Policy says, before anybody looks, what a build must show to go live. The zero value with a
// Primary is usable: margin by the number of questions, alpha .05, no critical question may be
// lost, no leak, no floor.
type Policy struct {
	Primary      string             `json:"primary"`                 // measure with cutoff, such as hit@3
	Margin       *float64           `json:"margin,omitempty"`        // largest loss that would be acceptable, in [0,1); nil: DefaultMargin(n). 0 asks for a proven gain
	MinEffect    *float64           `json:"min_effect,omitempty"`    // smallest loss that rejects, in [0,1]; nil: max(margin, 2/n)
	Alpha        float64            `json:"alpha,omitempty"`         // of the exact test, in (0, .5]; 0 means .05
	Floor        map[string]float64 `json:"floor,omitempty"`         // measure → lowest mean allowed
	Critical     int                `json:"critical"`                // critical questions that may be lost
	Tolerance    float64            `json:"tolerance"`               // fall of a graded measure on one question that does not count as lost, in [0,1)
	MinQuestions int                `json:"min_questions,omitempty"` // fewer scored questions never accept, unless rankings are identical
	Leaks        int                `json:"leaks"`                   // hits of forbidden documents that are allowed
	Guardrails   map[string]float64 `json:"guardrails,omitempty"`    // see Guardrails
	Seed         uint64             `json:"seed,omitempty"`          // of randomisation and bootstrap; 0 means 1
	Inconclusive string             `json:"inconclusive,omitempty"`  // Keep or RejectDoubts; "" means Keep
	Reference    string             `json:"reference,omitempty"`     // build id of the frozen reference; "" leaves the choice to the store
	SelfTest     string             `json:"self_test,omitempty"`     // SelfTestOptional or SelfTestRequired; "" means optional
	Statistics   string             `json:"statistics,omitempty"`    // StatisticsPerLabel: a build whose documents carry permission labels must take them so; "" allows both
	Rule         string             `json:"rule,omitempty"`          // section, span or facts; "" takes the evaluation's
	View         string             `json:"view,omitempty"`          // slots or sections; "" takes the evaluation's
	Cutoffs      []int              `json:"cutoffs,omitempty"`       // nil takes the evaluation's

	Path string `json:"-"` // file it was read from
}

// Guardrail is a limit a policy can set beside its measures.
type Guardrail struct {
	Name  string
	Lower bool   // the limit is the lowest value allowed, else the highest
	Doc   string // what is measured
}

// Guardrails returns the guardrails a policy may name, sorted. n_na, n_no_result, judged and dup
// are read from the evaluation; the others must be measured by the caller (Input.Measured).
func Guardrails() []Guardrail {
	return []Guardrail{
		{"dup", false, "mean share of repeated sections above the primary's cutoff"},
		{"fabricated_citations", false, "citations of sources that were not delivered"},
		{"judged", true, "mean share of judged documents above the primary's cutoff"},
		{"latency_p95_ratio", false, "95th percentile of query latency, candidate over live"},
		{"n_na", false, "questions for which the primary measure does not exist"},
		{"n_no_result", false, "answerable questions with an empty result"},
		{"unsupported_claims", false, "claims without support in the delivered context"},
		{"unsupported_numbers", false, "numbers that occur neither in the context nor in the question"},
		{"wrongful_refusals", false, "answerable questions that were refused"},
	}
}

// Resolved returns the policy with the defaults that do not depend on the number of questions
// filled in and measures in the spelling of evaluations. The receiver does not change.
func (p Policy) Resolved() Policy {
	p.Primary = canonical(p.Primary)
	if p.Floor != nil {
		floor := make(map[string]float64, len(p.Floor))
		for _, name := range slices.Sorted(maps.Keys(p.Floor)) {
			floor[canonical(name)] = p.Floor[name]
		}
		p.Floor = floor
	}
	p.Alpha = cmp.Or(p.Alpha, 0.05)
	p.Seed = cmp.Or(p.Seed, 1)
	p.Inconclusive = cmp.Or(p.Inconclusive, Keep)
	p.SelfTest = cmp.Or(p.SelfTest, SelfTestOptional)
	return p
}

// Digest returns the hex SHA-256 of the policy's content with its defaults filled in. Comments,
// key order and spelled-out defaults do not change it; any change that could change a verdict
// does.
func (p *Policy) Digest() string {
	data, err := json.Marshal(p.Resolved())
	if err != nil {
		// Only a NaN or an infinity in a policy made by hand gets here; Validate refuses both.
		data = []byte("invalid policy: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// DefaultMargin returns the margin for n scored questions when the policy has none: .10 below
// 200 questions, .05 from there on.
func DefaultMargin(n int) float64 {
	if n < 200 {
		return 0.10
	}
	return 0.05
}

// MarginFor returns the margin that applies to n scored questions.
func (p *Policy) MarginFor(n int) float64 {
	if p.Margin != nil {
		return *p.Margin
	}
	return DefaultMargin(n)
}

// MinEffectFor returns the smallest loss that rejects with n scored questions: the policy's, else
// max(margin, 2/n). n must be positive. It is for printing; decisions use integers.
func (p *Policy) MinEffectFor(n int) float64 {
	if p.MinEffect != nil {
		return *p.MinEffect
	}
	return math.Max(p.MarginFor(n), 2/float64(n))
}

// reachesEffect reports whether lost−gained flips of n are a loss of min_effect or more, compared
// in integers: 27 questions and min_effect 1/9 must not depend on how 3/27 rounds. Policies are
// read to nine decimals.
func (p *Policy) reachesEffect(n, gained, lost int) bool {
	const unit = 1_000_000_000
	loss := int64(lost-gained) * unit
	atLeast := func(effect float64) bool { return loss >= int64(n)*int64(math.Round(effect*unit)) }
	if p.MinEffect != nil {
		return atLeast(*p.MinEffect)
	}
	return atLeast(p.MarginFor(n)) && lost-gained >= 2
}

// problem is one fault of a policy, under the key that has it.
type problem struct{ key, msg string }

// Validate returns every fault of the policy in one error, nil if there is none. Parse has
// already done so for a policy from a file.
func (p *Policy) Validate() error {
	problems := p.problems()
	if len(problems) == 0 {
		return nil
	}
	e := &PolicyError{File: p.Path}
	for _, x := range problems {
		e.Faults = append(e.Faults, PolicyFault{Msg: x.key + ": " + x.msg})
	}
	return e
}

func (p *Policy) problems() (out []problem) {
	add := func(key, format string, args ...any) {
		out = append(out, problem{key, fmt.Sprintf(format, args...)})
	}
	in := func(key string, v, lo, hi float64, hint string) {
		if !(v >= lo && v <= hi) {
			add(key, "%v is not %s", v, hint)
		}
	}
	if p.Primary == "" {
		add("primary", "missing; name the measure that decides, such as hit@3")
	} else if msg := checkMeasure(p.Primary); msg != "" {
		add("primary", "%s", msg)
	}
	if p.Margin != nil {
		in("margin", *p.Margin, 0, 1-1e-9, "a share from 0 to below 1; write 10 points as 0.10")
	}
	if p.MinEffect != nil {
		in("min_effect", *p.MinEffect, 0, 1, "a share from 0 to 1; write 10 points as 0.10")
	}
	if p.Alpha != 0 {
		in("alpha", p.Alpha, 1e-9, 0.5, "above 0 and at most 0.5; the usual value is 0.05")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Floor)) {
		if msg := checkMeasure(name); msg != "" {
			add("floor."+name, "%s", msg)
		}
		in("floor."+name, p.Floor[name], 0, 1, "a mean from 0 to 1; write 80 % as 0.80")
	}
	if p.Critical < 0 {
		add("critical", "%d is negative; it counts the critical questions that may be lost", p.Critical)
	}
	in("tolerance", p.Tolerance, 0, 1-1e-9, "from 0 to below 1")
	if p.MinQuestions < 0 {
		add("min_questions", "%d is negative; it counts the scored questions that an accept needs", p.MinQuestions)
	}
	if p.Leaks < 0 {
		add("leaks", "%d is negative; it counts the leaks that are allowed, usually 0", p.Leaks)
	}
	known := Guardrails()
	for _, name := range slices.Sorted(maps.Keys(p.Guardrails)) {
		i := slices.IndexFunc(known, func(g Guardrail) bool { return g.Name == name })
		if i < 0 {
			names := make([]string, len(known))
			for j, g := range known {
				names[j] = g.Name
			}
			add("guardrails."+name, "%s", unknown("guardrail", name, names))
			continue
		}
		hi := math.MaxFloat64
		if name == "judged" || name == "dup" {
			hi = 1
		}
		in("guardrails."+name, p.Guardrails[name], 0, hi, "a limit of at least 0 (shares: at most 1)")
	}
	oneOf := func(key, v string, allowed ...string) {
		if v != "" && !slices.Contains(allowed, v) {
			add(key, "%s", unknown("value", v, allowed))
		}
	}
	oneOf("inconclusive", p.Inconclusive, Keep, RejectDoubts)
	oneOf("self_test", p.SelfTest, SelfTestOptional, SelfTestRequired)
	oneOf("statistics", p.Statistics, StatisticsPerLabel)
	oneOf("rule", p.Rule, "section", "span", "facts")
	oneOf("view", p.View, "slots", "sections")
	for _, k := range p.Cutoffs {
		if k < 1 {
			add("cutoffs", "%d is below 1", k)
		}
	}
	return out
}

// unknown words the refusal of a name, with what was probably meant or all that is allowed.
func unknown(kind, name string, allowed []string) string {
	s := suggest.Nearest(name, allowed)
	for _, a := range allowed { // what edit distance calls far: swapped letters, a part of the name
		if s == "" && name != "" && (strings.HasPrefix(a, name) || suggest.Distance(name, a) == 2 && sameLetters(name, a)) {
			s = a
		}
	}
	if s != "" {
		return fmt.Sprintf("unknown %s %q; did you mean %q?", kind, name, s)
	}
	return fmt.Sprintf("unknown %s %q; allowed are %s", kind, name, strings.Join(allowed, ", "))
}

func sameLetters(a, b string) bool {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// families are the measures a policy usually names; a misspelt one is compared with these.
func families() []string {
	return []string{"all_hit", "ap", "char_iou", "char_precision", "char_recall", "hit", "judged", "ndcg", "ndcg_exp", "p", "recall", "rr"}
}

// checkMeasure returns what is wrong with a measure's name, "" if it names a mean in [0,1] of
// which more is better.
func checkMeasure(name string) string {
	m, err := measure.Parse(name)
	if err != nil {
		base, _, hasCut := strings.Cut(name, "@")
		if !slices.Contains(families(), base) {
			return unknown("measure", base, families())
		}
		if !hasCut {
			return fmt.Sprintf("%q has no cutoff; write for example %s@3", name, base)
		}
		return err.Error()
	}
	switch {
	case m.Family.Sums(), m.Family == measure.GMAP:
		return fmt.Sprintf("%q is not a mean of values from 0 to 1; use for example hit@3", name)
	case m.Family == measure.Dup, m.Family == measure.Unjudged:
		return fmt.Sprintf("more %s is not better; use the guardrail dup or judged", name)
	}
	return ""
}

// canonical returns the spelling that evaluations use for a measure, the name itself if unknown.
func canonical(name string) string {
	if m, err := measure.Parse(name); err == nil {
		return m.String()
	}
	return name
}

// binary reports whether a measure is 0 or 1 on every question, so that its changes are flips.
func binary(name string) bool {
	m, err := measure.Parse(name)
	return err == nil && m.Family.Binary()
}

// cutoffOf returns the cutoff of a measure's name, 0 if it has none.
func cutoffOf(name string) int {
	m, _ := measure.Parse(name)
	return m.Cutoff
}
