package measure

// bpref returns the share of preferences kept of relevant over judged not relevant documents:
// Buckley & Voorhees, SIGIR 2004, in trec_eval's form (m_bpref.c). Without a judgment of grade
// 0 every relevant document found counts 1, so the value is the recall of the whole list.
func bpref(e *Evidence, m Measure) float64 {
	n := e.groups(m.Rel)
	if n == 0 {
		return 0
	}
	nonrel := e.NonrelTotal + len(e.Ideal) - n
	bound := min(nonrel, n)
	sum, above, below := 0.0, 0, 0
	for i := range e.Found {
		f := &e.Found[i]
		for above < len(e.Nonrel) && e.Nonrel[above] < f.Rank {
			above++
		}
		if m.Rel > 1 && f.Gain < m.Rel {
			below++ // judged, but not relevant at this level
			continue
		}
		if seen := above + below; seen > 0 {
			sum += 1 - float64(min(seen, n))/float64(bound)
		} else {
			sum++
		}
	}
	return sum / float64(n)
}
