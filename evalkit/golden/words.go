package golden

import (
	"slices"
	"strings"
)

// words returns the distinct folded words of s, sorted.
func words(s string) []string {
	w := strings.Fields(fold(s))
	slices.Sort(w)
	return slices.Compact(w)
}

// WordOverlap returns the share of the question's distinct words that the text holds, 0 to 1;
// 0 for a question without words. Words are compared folded, without stemming and with common
// words counted.
func WordOverlap(question, text string) float64 {
	q := words(question)
	if len(q) == 0 {
		return 0
	}
	t := words(text)
	n := 0
	for _, w := range q {
		if _, ok := slices.BinarySearch(t, w); ok {
			n++
		}
	}
	return float64(n) / float64(len(q))
}

// Pair is two questions that nearly say the same, as indexes of Set.Questions, A before B.
type Pair struct {
	A, B       int
	Similarity float64 // Jaccard similarity of their words, 0 to 1
}

// NearDuplicates returns the pairs of questions, retired ones left out, whose word sets have at
// least the given Jaccard similarity, in file order. Equal questions of callers with different
// permissions are no duplicates: they test what each may see.
func NearDuplicates(s *Set, similarity float64) []Pair {
	ids := map[string]int{}
	bags := make([][]int, len(s.Questions))
	index := map[int][]int{} // word → questions that hold it, ascending
	var out []Pair
	for i := range s.Questions {
		if s.Questions[i].State == Retired {
			continue
		}
		common := map[int]int{}
		for _, w := range words(s.Questions[i].Question) {
			id, ok := ids[w]
			if !ok {
				id = len(ids)
				ids[w] = id
			}
			bags[i] = append(bags[i], id)
			for _, j := range index[id] {
				common[j]++
			}
			index[id] = append(index[id], i)
		}
		for j, n := range common {
			v := float64(n) / float64(len(bags[i])+len(bags[j])-n)
			if v >= similarity && sameCallers(&s.Questions[i], &s.Questions[j]) {
				out = append(out, Pair{j, i, v})
			}
		}
	}
	slices.SortFunc(out, func(a, b Pair) int {
		if a.B != b.B {
			return a.B - b.B
		}
		return a.A - b.A
	})
	return out
}

func sameCallers(a, b *Question) bool {
	x, y := slices.Clone(a.As), slices.Clone(b.As)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
