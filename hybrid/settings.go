package hybrid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The modes, fusions and normalisations.
const (
	ModeHybrid  = "hybrid"
	ModeVector  = "vector"
	ModeLexical = "lexical"

	FusionWeighted = "weighted"
	FusionRRF      = "rrf"

	NormaliseMinMax = "minmax"
	NormaliseZScore = "zscore"
	NormaliseTMM    = "tmm"
)

// Settings say how two lists become one. They are stored in the manifest. The zero value is
// valid.
type Settings struct {
	// Mode is hybrid (default), vector or lexical; the latter two return one list as it is.
	Mode string `yaml:"mode,omitempty" json:"mode,omitempty"`
	// Fusion is weighted (default) or rrf.
	Fusion string `yaml:"fusion,omitempty" json:"fusion,omitempty"`
	// Normalise is how weighted fusion makes scores comparable: minmax (default), zscore or tmm.
	Normalise string `yaml:"normalise,omitempty" json:"normalise,omitempty"`
	// Dense is the weight of the vector list in weighted fusion, 0 to 1; the lexical list has
	// 1 − Dense. nil means 0.3. 1 gives exactly the vector list, 0 the lexical one. rrf has no
	// weights.
	Dense *float64 `yaml:"dense,omitempty" json:"dense,omitempty"`
	// K is the constant of reciprocal rank fusion, 1 or more; 0 means 60.
	K int `yaml:"k,omitempty" json:"k,omitempty"`
	// Depth is how many hits of each list are fused, whatever number is asked for; 0 means 100.
	// Lists longer than Depth are cut before fusion.
	Depth int `yaml:"depth,omitempty" json:"depth,omitempty"`
}

// MaxDepth is the largest accepted Depth.
const MaxDepth = 100_000

// Validate refuses values out of range, naming the setting, the value and what is accepted.
func (s Settings) Validate() error {
	for _, c := range []struct {
		name, value string
		accepted    []string
	}{
		{"mode", s.Mode, []string{ModeHybrid, ModeVector, ModeLexical}},
		{"fusion", s.Fusion, []string{FusionWeighted, FusionRRF}},
		{"normalise", s.Normalise, []string{NormaliseMinMax, NormaliseZScore, NormaliseTMM}},
	} {
		if c.value != "" && !slices.Contains(c.accepted, c.value) {
			return fmt.Errorf("hybrid.%s %q is unknown: use one of %s", c.name, c.value, strings.Join(c.accepted, ", "))
		}
	}
	// Written so that NaN is refused too.
	if s.Dense != nil && !(*s.Dense >= 0 && *s.Dense <= 1) {
		return fmt.Errorf("hybrid.dense %v is out of range: use 0 (lexical alone) to 1 (vectors alone)", *s.Dense)
	}
	if s.K < 0 {
		return fmt.Errorf("hybrid.k %d is out of range: use 1 or more (default 60)", s.K)
	}
	if s.Depth < 0 || s.Depth > MaxDepth {
		return fmt.Errorf("hybrid.depth %d is out of range: use 1 to %d (default 100)", s.Depth, MaxDepth)
	}
	return nil
}

// WithDefaults returns s with every default written out. The pointer is new.
func (s Settings) WithDefaults() Settings {
	s.Mode = cmp.Or(s.Mode, ModeHybrid)
	s.Fusion = cmp.Or(s.Fusion, FusionWeighted)
	s.Normalise = cmp.Or(s.Normalise, NormaliseMinMax)
	s.K = cmp.Or(s.K, 60)
	s.Depth = cmp.Or(s.Depth, 100)
	dense := 0.3
	if s.Dense != nil {
		dense = *s.Dense
	}
	s.Dense = &dense
	return s
}

// DepthFor returns how many hits to ask each retriever for when k fused hits are wanted: Depth,
// or k where that is more. A list for a smaller k is the beginning of the list for a larger one
// as long as both are at most Depth.
func (s Settings) DepthFor(k int) int { return max(s.WithDefaults().Depth, k) }

// legs reports which lists can change the result.
func (s Settings) legs() (vector, lexical bool) {
	switch s.Mode {
	case ModeVector:
		return true, false
	case ModeLexical:
		return false, true
	}
	if s.Fusion == FusionWeighted {
		return *s.Dense > 0, *s.Dense < 1
	}
	return true, true
}

// NeedsVector reports whether the vector list can change the result.
func (s Settings) NeedsVector() bool {
	vector, _ := s.WithDefaults().legs()
	return vector
}

// NeedsLexical reports whether the lexical list can change the result.
func (s Settings) NeedsLexical() bool {
	_, lexical := s.WithDefaults().legs()
	return lexical
}
