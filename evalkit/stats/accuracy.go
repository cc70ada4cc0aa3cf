package stats

// Confusion counts the decisions of a judge against labels. Positive is "faithful".
type Confusion struct {
	TruePositive  int `json:"true_positive"`  // faithful and accepted
	FalseNegative int `json:"false_negative"` // faithful and refused
	TrueNegative  int `json:"true_negative"`  // unfaithful and caught
	FalsePositive int `json:"false_positive"` // unfaithful and accepted
}

// Count returns the confusion table of said against labels, which must be equally long.
func Count(labels, said []bool) (c Confusion, ok bool) {
	if len(labels) != len(said) {
		return Confusion{}, false
	}
	for i, l := range labels {
		switch {
		case l && said[i]:
			c.TruePositive++
		case l:
			c.FalseNegative++
		case said[i]:
			c.FalsePositive++
		default:
			c.TrueNegative++
		}
	}
	return c, true
}

// Accuracy is the share of right decisions, in [0,1]; ok is false without any. It hides a judge
// that always says yes: print BalancedAccuracy beside it.
func (c Confusion) Accuracy() (v float64, ok bool) {
	n := c.TruePositive + c.FalseNegative + c.TrueNegative + c.FalsePositive
	if n == 0 {
		return 0, false
	}
	return float64(c.TruePositive+c.TrueNegative) / float64(n), true
}

// BalancedAccuracy is the mean of the two rates, faithful accepted and unfaithful caught, in
// [0,1]; 0.5 is chance. ok is false when either class has no case.
func (c Confusion) BalancedAccuracy() (v float64, ok bool) {
	pos, neg := c.TruePositive+c.FalseNegative, c.TrueNegative+c.FalsePositive
	if pos == 0 || neg == 0 {
		return 0, false
	}
	return (float64(c.TruePositive)/float64(pos) + float64(c.TrueNegative)/float64(neg)) / 2, true
}

// Kappa is Cohen's kappa between labels and judge; see the function Kappa.
func (c Confusion) Kappa() (v float64, ok bool) {
	pos, neg := c.TruePositive+c.FalseNegative, c.TrueNegative+c.FalsePositive
	yes, no := c.TruePositive+c.FalsePositive, c.TrueNegative+c.FalseNegative
	n := pos + neg
	chance := pos*yes + neg*no
	if n == 0 || n*n == chance {
		return 0, false
	}
	return float64(n*(c.TruePositive+c.TrueNegative)-chance) / float64(n*n-chance), true
}
