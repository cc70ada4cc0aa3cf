package stats

// BCa returns the bias-corrected and accelerated bootstrap interval of the mean paired difference
// differences[i] = candidate − live on question i. It corrects the skew that few large changes
// bring, which the percentile interval ignores. Below 10 non-zero differences or 30 questions it
// is marked Descriptive; a constant sample gives a point and is marked Uninformative.
//
// Efron, JASA 1987; acceleration from the jackknife as in Efron & Tibshirani 1993, 14.3.
// ok is false for no values, a NaN or infinite value, or conf outside (0,1).
func BCa(differences []float64, resamples int, seed uint64, conf float64) (b Bootstrap, ok bool) {
	b, ok = newBootstrap(differences, resamples, seed, conf)
	if !ok {
		return b, false
	}
	b.Descriptive = b.NonZero < 10 || b.N < 30
	if b.Uninformative {
		return b, true
	}
	means := resampledMeans(differences, b.Resamples, seed)

	// Bias: how many resampled means lie below the observed one; ties count half, so that a
	// lattice of few distinct means does not look biased.
	var below float64
	for _, m := range means {
		switch {
		case m < b.Mean-1e-12:
			below++
		case m <= b.Mean+1e-12:
			below += 0.5
		}
	}
	share := below / float64(len(means))
	share = min(max(share, 1/float64(2*len(means))), 1-1/float64(2*len(means)))
	z0 := normalQuantile(share)

	// Acceleration: for a mean the jackknife deviations are proportional to value − mean, so it
	// is the sample skewness over 6·√n.
	var m2, m3 float64
	for _, d := range differences {
		u := d - b.Mean
		m2 += u * u
		m3 += u * u * u
	}
	var accel float64
	if m2 > 0 {
		accel = m3 / (6 * pow15(m2))
	}
	tail := (1 - conf) / 2
	adjust := func(p float64) float64 {
		z := z0 + normalQuantile(p)
		return normalCDF(z0 + z/(1-accel*z))
	}
	b.Interval = Interval{Lo: quantile(means, adjust(tail)), Hi: quantile(means, adjust(1-tail))}
	return b, true
}
