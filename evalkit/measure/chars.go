package measure

// chars returns the span measures at the cutoff: recall, precision and intersection over union
// of the delivered text against the evidence, in bytes of the normalised documents, every byte
// counted once however many chunks deliver it. Nothing delivered gives 0.
func chars(e *Evidence, m Measure) (float64, bool) {
	for _, c := range e.Chars {
		if c.Cutoff != m.Cutoff {
			continue
		}
		den := c.Gold
		switch m.Family {
		case CharPrecision:
			den = c.Delivered
		case CharIoU:
			den = c.Gold + c.Delivered - c.Inter
		}
		if den == 0 {
			return 0, true
		}
		return float64(c.Inter) / float64(den), true
	}
	return 0, false
}
