package golden

import (
	"fmt"
	"slices"
)

// Agreement is how far two people agree who labelled the same things.
type Agreement struct {
	A    string `json:"a"` // names in alphabetical order
	B    string `json:"b"`
	N    int    `json:"n"`    // things both labelled
	Same int    `json:"same"` // labels that agree
	// Kappa is Cohen's kappa, −1 to 1; n/a (OK false) where both gave one and the same label
	// throughout, since chance agreement is then certain.
	Kappa float64 `json:"kappa"`
	OK    bool    `json:"ok"`
}

// labelKey names what a label is about.
func labelKey(q *Question, l Label) string {
	if l.Doc == "" {
		return q.ID + "\x00answerable"
	}
	return q.ID + "\x00" + Member{Doc: l.Doc, Section: l.Section}.String()
}

func labelValue(l Label) string {
	if l.Answerable != nil {
		return fmt.Sprintf("answerable: %v", *l.Answerable)
	}
	return fmt.Sprintf("grade %d", l.Grade)
}

// Kappa returns the agreement of every two people with at least one thing labelled by both,
// ordered by name. Grades are categories: 1 against 2 is as much a disagreement as 0 against 2
// (Cohen, Educational and Psychological Measurement, 1960).
func Kappa(s *Set) []Agreement {
	by := map[string]map[string]string{} // person → thing → label
	var people []string
	for i := range s.Questions {
		for _, l := range s.Questions[i].Labels {
			if by[l.By] == nil {
				by[l.By] = map[string]string{}
				people = append(people, l.By)
			}
			by[l.By][labelKey(&s.Questions[i], l)] = labelValue(l)
		}
	}
	slices.Sort(people)
	var out []Agreement
	for i, a := range people {
		for _, b := range people[i+1:] {
			if g := agreement(by[a], by[b]); g.N > 0 {
				g.A, g.B = a, b
				out = append(out, g)
			}
		}
	}
	return out
}

func agreement(a, b map[string]string) Agreement {
	var g Agreement
	countA, countB := map[string]int{}, map[string]int{}
	for thing, x := range a {
		y, ok := b[thing]
		if !ok {
			continue
		}
		g.N++
		countA[x]++
		countB[y]++
		if x == y {
			g.Same++
		}
	}
	// In integers until the end, so that map order cannot show: kappa = (n·same − e)/(n² − e).
	chance := 0
	for x, n := range countA {
		chance += n * countB[x]
	}
	if g.N > 0 && chance < g.N*g.N {
		g.Kappa, g.OK = float64(g.N*g.Same-chance)/float64(g.N*g.N-chance), true
	}
	return g
}

type disagreement struct {
	line int
	text string
}

// disagreements lists the labels of a question that contradict an earlier one.
func disagreements(q *Question) []disagreement {
	first := map[string]Label{}
	var out []disagreement
	for _, l := range q.Labels {
		key := labelKey(q, l)
		o, seen := first[key]
		if !seen {
			first[key] = l
			continue
		}
		if x, y := labelValue(o), labelValue(l); x != y {
			out = append(out, disagreement{l.Line, fmt.Sprintf("%s says %s, %s says %s: both are kept, settle it in gold", o.By, x, l.By, y)})
		}
	}
	return out
}
