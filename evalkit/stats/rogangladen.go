package stats

import "math"

// Corrected is a rate measured by an imperfect judge, corrected for the judge's own errors.
type Corrected struct {
	Rate float64 `json:"rate"` // in [0,1]
	Interval
	// Clipped is true when the correction left [0,1], a sign that the judge behaves differently
	// on these answers than on the ones it was calibrated on.
	Clipped bool `json:"clipped,omitempty"`
}

// RoganGladen returns the true rate of faithful answers behind a judge that accepted accepted of
// n, given its calibration: it accepted acceptedFaithful of faithful verified ones and caught
// caughtErrors of errors injected ones. The estimate is (apparent + spec − 1)/(sens + spec − 1).
//
// Rogan & Gladen, American Journal of Epidemiology 1978; interval of Lang & Reiczigel, Preventive
// Veterinary Medicine 2014, which counts the uncertainty of the calibration too.
// ok is false when a denominator is 0, a count exceeds its denominator, conf is outside (0,1), or
// the judge is no better than chance (sens + spec ≤ 1): then nothing can be corrected.
func RoganGladen(accepted, n, acceptedFaithful, faithful, caughtErrors, errors int, conf float64) (c Corrected, ok bool) {
	z := Z(conf)
	if n <= 0 || faithful <= 0 || errors <= 0 || z == 0 ||
		accepted < 0 || accepted > n || acceptedFaithful < 0 || acceptedFaithful > faithful ||
		caughtErrors < 0 || caughtErrors > errors {
		return Corrected{}, false
	}
	ap := float64(accepted) / float64(n)
	se := float64(acceptedFaithful) / float64(faithful)
	sp := float64(caughtErrors) / float64(errors)
	if se+sp <= 1 {
		return Corrected{}, false
	}
	raw := (ap + sp - 1) / (se + sp - 1)
	c.Rate = clip01(raw)
	c.Clipped = raw != c.Rate

	// Lang & Reiczigel: shrink the three rates (Agresti–Coull for the apparent one, one case more
	// on either side for the others), then a Wald interval with a shift for the calibration.
	zz := z * z
	nn, ns, np := float64(n)+zz, float64(faithful)+2, float64(errors)+2
	ap1 := (float64(accepted) + zz/2) / nn
	se1 := (float64(acceptedFaithful) + 1) / ns
	sp1 := (float64(caughtErrors) + 1) / np
	youden := se1 + sp1 - 1
	if youden <= 0 { // the shrunk judge is at chance: anything is possible
		c.Interval = Interval{Lo: 0, Hi: 1}
		return c, true
	}
	prev := clip01((ap1 + sp1 - 1) / youden)
	vs, vp := se1*(1-se1)/ns, sp1*(1-sp1)/np
	shift := 2 * zz * (prev*vs - (1-prev)*vp)
	half := z * math.Sqrt(ap1*(1-ap1)/nn+prev*prev*vs+(1-prev)*(1-prev)*vp) / youden
	c.Interval = Interval{Lo: clip01(prev + shift - half), Hi: clip01(prev + shift + half)}
	return c, true
}

func clip01(v float64) float64 { return math.Min(1, math.Max(0, v)) }
