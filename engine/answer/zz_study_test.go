package answer

func StudyFeatures(e *Extractive, r Request) any {
	s := e.score(r)
	return map[string]any{"f": s.features, "order": s.order, "best": s.best}
}

func StudySet(e *Extractive, name string, v float64) (old float64) {
	w := &e.w
	f := map[string]*float64{"similarFrom": &w.similarFrom, "similar": &w.similar, "heading": &w.heading, "title": &w.title, "neighbour": &w.neighbour, "passage": &w.passage, "number": &w.number, "whole": &w.whole, "rank": &w.rank, "relative": &w.relative, "superseded": &w.superseded, "second": &w.second}[name]
	if name == "sentences" {
		old = float64(e.o.Sentences)
		e.o.Sentences = int(v)
		return old
	}
	if name == "runes" {
		old = float64(e.o.Runes)
		e.o.Runes = int(v)
		return old
	}
	if name == "of2" {
		old = float64(w.of2)
		w.of2 = int(v)
		return old
	}
	if name == "unseen" {
		old = e.o.Unseen
		e.o.Unseen = v
		return old
	}
	old = *f
	*f = v
	return old
}
