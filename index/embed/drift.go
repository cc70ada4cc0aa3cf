package embed

// Drift says how far a collection has moved from the one a Builtin was fitted on.
type Drift struct {
	Texts   int   // in the collection now
	Tokens  int64 // occurrences of terms in the texts measured
	Unknown int64 // of which the model knows none
}

// The bounds of NeedsRefit; docs/embedders.md has the measurement.
const (
	refitGrowth  = 1.25
	refitUnknown = 0.005
)

// Measure counts how many of the terms of texts the model knows. Texts is len(texts).
func (b *Builtin) Measure(texts []string) Drift {
	d := Drift{Texts: len(texts)}
	if b.model == nil {
		return d
	}
	for _, text := range texts {
		for _, t := range b.o.Tokenize(text) {
			d.Tokens++
			if _, ok := b.model.index[t]; !ok {
				d.Unknown++
			}
		}
	}
	return d
}

// NeedsRefit reports whether the model should be fitted again rather than new texts folded
// into it: the collection is more than 1.25 times as large as at the fit or less than 0.8
// times, or the share of term occurrences unknown to the model exceeds its share at the fit by
// more than half a point, or the collection has crossed MinTexts.
func (b *Builtin) NeedsRefit(d Drift) bool {
	if b.o.Parts == "words" {
		return false
	}
	if b.model == nil {
		return d.Texts >= b.o.MinTexts
	}
	if d.Texts < b.o.MinTexts {
		return true
	}
	n, fitted := float64(d.Texts), float64(b.model.texts)
	if n > fitted*refitGrowth || n*refitGrowth < fitted {
		return true
	}
	return share(d.Unknown, d.Tokens)-share(b.model.unknown, b.model.tokens) > refitUnknown
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
