package lexical

// IDF returns the inverse document frequency of a term as Terms gives it, by the formula and
// the global statistics of the score: ln(1 + (N − df + 0.5) / (df + 0.5)), greater than 0. A
// term that no chunk holds has the highest value. A closed index returns 0.
func (x *Index) IDF(term string) float64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return 0
	}
	df := 0
	if n := x.p.find(term); n >= 0 {
		df = int(x.p.postEnds[n])
		if n > 0 {
			df -= int(x.p.postEnds[n-1])
		}
	}
	return x.m.idf(df)
}
