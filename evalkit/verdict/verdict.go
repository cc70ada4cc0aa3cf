package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed792a4543/assay/evalkit"
)

// Schema is the schema key of a Verdict.
const Schema = "assay.verdict/v1"

// Verdict is the decision on one build, with everything needed to understand and to check it.
// Values that do not exist, such as the difference of a first build, are null in JSON.
type Verdict struct {
	Schema  string   `json:"schema"`
	Verdict Outcome  `json:"verdict"`
	Reasons []string `json:"reasons"` // whole sentences: what, where, what next; never empty

	Primary string        `json:"primary"`
	N       int           `json:"n"`     // questions scored in both builds
	Mean    evalkit.Value `json:"mean"`  // of the candidate
	Live    evalkit.Value `json:"live"`  // mean of the live build
	Delta   evalkit.Value `json:"delta"` // Mean − Live
	Lower   evalkit.Value `json:"lower"` // ends of the 90 % interval of Delta; of a first build, of the 95 % interval of Mean
	Upper   evalkit.Value `json:"upper"`
	Method  string        `json:"method"` // tango or wilson; bca or bootstrap with resamples and seed
	Margin  float64       `json:"margin"`
	// MinEffect is the smallest loss that rejects.
	MinEffect float64       `json:"min_effect"`
	Alpha     float64       `json:"alpha"`
	PReject   evalkit.Value `json:"p_reject"` // exact one-sided p of a loss against the live build
	Gained    []string      `json:"gained"`   // questions that hit only now
	Lost      []string      `json:"lost"`     // questions that no longer hit
	// NeededQuestions of an inconclusive verdict is about how many questions would decide with a
	// chance of 80 %: prove the margin if nothing changed and flips stayed as frequent as here;
	// where the flips contradict that, accept or reject if they go on as here. 0 means that no
	// number would, or that the verdict is not inconclusive.
	NeededQuestions int `json:"needed_questions"`
	// ProvableMargin is the smallest margin this comparison proves now.
	ProvableMargin evalkit.Value `json:"provable_margin"`

	FirstBuild  bool          `json:"first_build"`
	AgainstLive *Difference   `json:"against_live,omitempty"`
	AgainstRef  *Difference   `json:"against_reference,omitempty"`
	CorpusCause string        `json:"corpus_cause,omitempty"` // why the corpus digests may differ
	Leaks       []string      `json:"leaks"`                  // one line per leaked hit
	Floors      []Check       `json:"floors"`
	Guardrails  []Check       `json:"guardrails"`
	SelfTest    *SelfTest     `json:"self_test,omitempty"`
	Random      evalkit.Value `json:"random"` // baseline of the primary measure
	Warnings    []string      `json:"warnings"`

	Build        string `json:"build"`
	LiveBuild    string `json:"live_build,omitempty"`
	GoldenDigest string `json:"golden_digest"`
	PolicyDigest string `json:"policy_digest"`
	RecordDigest string `json:"record_digest"`
	Digest       string `json:"digest"` // of all the above, set by Seal
}

// Check is one floor or guardrail with what was found.
type Check struct {
	Name  string        `json:"name"`
	Limit float64       `json:"limit"`
	Value evalkit.Value `json:"value"`
	OK    bool          `json:"ok"`
}

// Difference is the candidate compared with one other build.
type Difference struct {
	Against  string        `json:"against"` // live or reference
	Build    string        `json:"build"`
	N        int           `json:"n"`
	Mean     evalkit.Value `json:"mean"`      // of the candidate over the N questions
	BaseMean evalkit.Value `json:"base_mean"` // of the other build
	Delta    evalkit.Value `json:"delta"`
	Lower    evalkit.Value `json:"lower"` // 90 % two-sided
	Upper    evalkit.Value `json:"upper"`
	Method   string        `json:"method"` // tango for measures that are 0 or 1, bca with resamples and seed for graded ones
	// Descriptive is true for graded measures with fewer than 10 non-zero differences or 30
	// questions: Lower and Upper then describe, and the margin must hold for WorstCase.
	Descriptive bool `json:"descriptive,omitempty"`
	// WorstCase is the lower end when every question that got worse counts as lost altogether
	// and none as gained; graded measures only.
	WorstCase evalkit.Value `json:"worst_case,omitzero"`
	PReject   evalkit.Value `json:"p_reject"`
	Test      string        `json:"test"` // mcnemar or sign-flip, exact or with draws and seed
	Gained    []string      `json:"gained"`
	Lost      []string      `json:"lost"`
	// Improved and Worsened list the questions whose graded value rose or fell; graded only.
	Improved []string `json:"improved,omitempty"`
	Worsened []string `json:"worsened,omitempty"`
	// CriticalLost lists the critical questions lost: no longer hit, or fallen by more than the
	// policy's tolerance.
	CriticalLost []string `json:"critical_lost"`
	// Identical is true when every question got the same chunks in the same order.
	Identical bool `json:"identical"`
	// Excluded says whether a loss of the margin is excluded.
	Excluded bool `json:"margin_excluded"`
	// LossShown says whether Delta is at most −min_effect with p at most alpha.
	LossShown bool `json:"loss_shown"`
}

// ExitCode returns the process exit code of the verdict.
func (v *Verdict) ExitCode() int { return v.Verdict.ExitCode() }

// What Check refuses. A caller that gets ErrNotAccepted can promote with an override that records
// who and why; the others need a new evaluation.
var (
	ErrNotAccepted = errors.New("verdict does not accept")
	ErrMismatch    = errors.New("verdict belongs to something else")
	ErrTampered    = errors.New("verdict was changed after it was made")
)

// MismatchError says what a verdict was made for and what it was used for.
type MismatchError struct {
	What string // build, golden set or policy
	Have string // in the verdict
	Want string // of what is to be promoted
}

// Unwrap makes errors.Is(err, ErrMismatch) hold.
func (e *MismatchError) Unwrap() error { return ErrMismatch }

// Error names both digests and the way out.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the verdict is for %s %s, this is %s %s: evaluate again", e.What, short(e.Have), e.What, short(e.Want))
}

// short cuts a digest to the twelve digits that build ids have.
func short(digest string) string {
	if digest == "" {
		return "(none)"
	}
	return digest[:min(12, len(digest))]
}

// Seal sets Digest over everything else. Decide has done so; seal again after filling in a field.
func (v *Verdict) Seal() {
	v.Digest = v.digest()
}

// digest is the hex SHA-256 of the verdict's JSON with an empty Digest.
func (v *Verdict) digest() string {
	c := *v
	c.Digest = ""
	data, err := json.Marshal(&c)
	if err != nil {
		return "" // only a NaN gets here, which no function of this package produces; "" never verifies
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Intact returns nil if the verdict is as it was sealed, else an error that is ErrTampered.
func (v *Verdict) Intact() error {
	if v.Digest == "" || v.Digest != v.digest() {
		return fmt.Errorf("%w (digest %s does not match its content): evaluate again", ErrTampered, short(v.Digest))
	}
	return nil
}

// Check returns nil if the verdict is intact and accepts this build under this golden set and
// this policy (their digests). Else the error is ErrTampered, ErrMismatch (a *MismatchError that
// names what differs) or ErrNotAccepted, in this order.
func (v *Verdict) Check(build, golden, policy string) error {
	if err := v.Intact(); err != nil {
		return err
	}
	for _, x := range []MismatchError{
		{"build", v.Build, build},
		{"golden set", v.GoldenDigest, golden},
		{"policy", v.PolicyDigest, policy},
	} {
		if x.Have != x.Want || x.Have == "" {
			return &x
		}
	}
	if v.Verdict != Accept {
		return fmt.Errorf("%w: build %s is %s; mend what its reasons name, or promote with an override that says who and why",
			ErrNotAccepted, short(v.Build), v.Verdict)
	}
	return nil
}

// Decode reads a stored verdict and checks its digest. A key it does not know is an error: it
// would not be covered by the digest.
func Decode(data []byte) (*Verdict, error) {
	v := &Verdict{}
	if err := strictJSON(data, v); err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	if v.Schema != Schema {
		return nil, fmt.Errorf("read verdict: schema is %q, this version reads %q", v.Schema, Schema)
	}
	return v, v.Intact()
}
