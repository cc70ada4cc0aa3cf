package stats

import "math"

// EachFlips calls f with every outcome (gained, lost) of n paired questions that has a probability
// worth counting, when a question is gained with rate gain and lost with rate loss, and with that
// probability. What is left out sums to less than 1e-9. gain+loss must be at most 1.
func EachFlips(n int, gain, loss float64, f func(gained, lost int, prob float64)) {
	flips := gain + loss
	if n <= 0 || gain < 0 || loss < 0 || flips > 1+1e-12 {
		return
	}
	flips = math.Min(flips, 1)
	share := 0.0 // of losses among flips
	if flips > 0 {
		share = loss / flips
	}
	mLo, mHi := likely(n, flips)
	for m := mLo; m <= mHi; m++ {
		pm := binomialPMF(n, m, flips)
		if share >= 1 { // the ratio below would divide by 0
			f(0, m, pm)
			continue
		}
		lLo, lHi := likely(m, share)
		pl := binomialPMF(m, lLo, share)
		for l := lLo; l <= lHi; l++ {
			f(m-l, l, pm*pl)
			pl *= float64(m-l) / float64(l+1) * (share / (1 - share))
		}
	}
}

// likely returns a range of Bin(n, p) that holds all but about 1e-10 of it. The bounds are
// Bernstein's, which hold in the tails as well.
func likely(n int, p float64) (lo, hi int) {
	centre := float64(n) * p
	const t = 24 // exp(−24) ≈ 4e−11 per side
	d := t/3 + math.Sqrt(t*t/9+2*t*centre*(1-p))
	return max(0, int(math.Floor(centre-d))), min(n, int(math.Ceil(centre+d)))
}

// AcceptChance returns the probability, in [0,1], that n questions prove a margin (Tango's lower
// end at conf above −margin) when questions are truly gained with rate gain and lost with rate
// loss. With gain = loss it is the chance of accept when nothing changed: below one half, a
// policy turns away more good builds than it lets through.
func AcceptChance(n int, margin, gain, loss, conf float64) float64 {
	z := Z(conf)
	if z == 0 || !(margin >= 0) {
		return 0
	}
	var sum float64
	EachFlips(n, gain, loss, func(g, l int, p float64) {
		if tangoAbove(n, g, l, margin, z) {
			sum += p
		}
	})
	return math.Min(1, sum)
}

// RejectChance returns the probability, in [0,1], that n questions show a loss: a difference of
// −minEffect or worse with an exact one-sided p of at most alpha.
func RejectChance(n int, minEffect, alpha, gain, loss float64) float64 {
	var sum float64
	EachFlips(n, gain, loss, func(g, l int, p float64) {
		if float64(l-g) >= minEffect*float64(n)-1e-9 && McNemar(g, l) <= alpha {
			sum += p
		}
	})
	return math.Min(1, sum)
}

// MinimumDetectableEffect returns the smallest true loss, in (0,1], that n questions show with
// probability power: RejectChance with losses at rate gain+d and gains at rate gain, where gain
// is how often a change that is neutral on the whole wins a question. It is searched in steps of
// 0.001; ok is false when not even a loss of every question would do.
func MinimumDetectableEffect(n int, minEffect, alpha, gain, power float64) (effect float64, ok bool) {
	if n <= 0 || gain < 0 || gain >= 1 || !(power > 0 && power < 1) {
		return 0, false
	}
	limit := int(math.Floor((1 - 2*gain) * 1000))
	enough := func(i int) bool {
		d := float64(i) / 1000
		return RejectChance(n, minEffect, alpha, gain, gain+d) >= power
	}
	if limit < 1 || !enough(limit) {
		return 0, false
	}
	lo, hi := 0, limit // the chance rises with the loss
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return float64(hi) / 1000, true
}

// NeededQuestions returns about how many questions it takes to prove a margin with probability
// power when nothing changed on the whole and a share flips of the questions moves, half up and
// half down. See NeededToAccept.
func NeededQuestions(margin, flips, power, conf float64) (n int, ok bool) {
	return NeededToAccept(margin, flips/2, flips/2, power, conf)
}

// exactQuestions is the number of questions up to which chances are summed exactly when searching
// for a needed number; beyond it normal theory is right to a few percent and sums take seconds.
const exactQuestions = 2000

// NeededToAccept returns about how many questions it takes to prove a margin with probability
// power when questions are truly gained with rate gain and lost with rate loss. The chance saws
// up and down by a little as n grows, so the answer is good to a few percent.
//
// ok is false for a margin outside (0,1), rates that are negative or sum to 1 or more, a true loss
// of the margin or more, which no number of questions makes acceptable, and when more than a
// million questions would be needed.
func NeededToAccept(margin, gain, loss, power, conf float64) (n int, ok bool) {
	z := Z(conf)
	if !(margin > 0 && margin < 1) || !validRates(gain, loss) || !(power > 0 && power < 1) || z == 0 || loss-gain >= margin {
		return 0, false
	}
	// Without a flip the interval is ±z²/(n+z²), so fewer can never do.
	least := int(math.Floor(z*z*(1-margin)/margin)) + 1
	if gain+loss == 0 {
		return least, true
	}
	d := gain - loss
	zp := z + normalQuantile(power)
	guess := zp * zp * (gain + loss - d*d) / ((margin + d) * (margin + d))
	return search(least, guess, func(n int) bool { return AcceptChance(n, margin, gain, loss, conf) >= power })
}

// NeededToReject returns about how many questions it takes to show a loss with probability power,
// see RejectChance, at these true rates. ok is false when the true loss is not above minEffect and
// in the cases of NeededToAccept.
func NeededToReject(minEffect, alpha, gain, loss, power float64) (n int, ok bool) {
	if !(minEffect >= 0 && minEffect < 1) || !validRates(gain, loss) || !(power > 0 && power < 1) ||
		!(alpha > 0 && alpha < 1) || loss-gain <= minEffect {
		return 0, false
	}
	d, zp := loss-gain, normalQuantile(power)
	sd := math.Sqrt(gain + loss - d*d)
	bySize := zp * sd / (d - minEffect)                                  // the observed loss reaches minEffect
	byTest := (normalQuantile(1-alpha)*math.Sqrt(gain+loss) + zp*sd) / d // the test is significant
	guess := math.Max(bySize*bySize, byTest*byTest)
	return search(LossesNeeded(0, alpha), guess, func(n int) bool { return RejectChance(n, minEffect, alpha, gain, loss) >= power })
}

func validRates(gain, loss float64) bool { return gain >= 0 && loss >= 0 && gain+loss < 1 }

// search returns about the smallest n ≥ least that is enough, looking first at a guess.
func search(least int, guess float64, enough func(n int) bool) (n int, ok bool) {
	switch {
	case guess > 1e6:
		return 0, false
	case guess > exactQuestions:
		return max(least, int(math.Ceil(guess))), true
	}
	// The bracket moves by tenths until the chance crosses, then halves to one percent.
	hi := max(least, int(guess))
	for !enough(hi) {
		if hi > 4*exactQuestions+least { // unreachable unless the guess is far off
			return 0, false
		}
		hi += max(1, hi/10)
	}
	lo := hi
	for lo > least && enough(lo) {
		hi = lo
		lo = max(least, lo-max(1, lo/10))
	}
	if enough(lo) {
		return lo, true
	}
	for hi-lo > max(1, hi/100) {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}
