package golden

import (
	"math"
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
// least the given Jaccard similarity (above 0), in file order. Equal questions of callers with different
// permissions are no duplicates: they test what each may see.
//
// Two sets can only be that similar if they share one of the rarest words of each, as many as
// may be missing plus one (prefix filtering: Chaudhuri et al., ICDE 2006), so that common words
// need not be looked up.
func NearDuplicates(s *Set, similarity float64) []Pair {
	bags := wordBags(s)
	index := map[int][]int{} // rare word → questions that hold it, ascending
	var out []Pair
	for i, bag := range bags {
		if len(bag) == 0 {
			continue
		}
		candidates := map[int]bool{}
		for _, w := range bag[:len(bag)-int(math.Ceil(similarity*float64(len(bag))-1e-9))+1] {
			for _, j := range index[w] {
				candidates[j] = true
			}
			index[w] = append(index[w], i)
		}
		for j := range candidates {
			n := 0
			for _, w := range bags[j] {
				if slices.Contains(bag, w) {
					n++
				}
			}
			v := float64(n) / float64(len(bag)+len(bags[j])-n)
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

// wordBags returns the distinct words of each question as numbers, rarest first; nil for
// retired questions.
func wordBags(s *Set) [][]int {
	ids := map[string]int{}
	var df []int
	bags := make([][]int, len(s.Questions))
	for i := range s.Questions {
		if s.Questions[i].State == Retired {
			continue
		}
		for _, w := range words(s.Questions[i].Question) {
			id, ok := ids[w]
			if !ok {
				id = len(df)
				ids[w] = id
				df = append(df, 0)
			}
			df[id]++
			bags[i] = append(bags[i], id)
		}
	}
	for _, bag := range bags {
		slices.SortFunc(bag, func(a, b int) int {
			if df[a] != df[b] {
				return df[a] - df[b]
			}
			return a - b
		})
	}
	return bags
}

func sameCallers(a, b *Question) bool {
	x, y := slices.Clone(a.As), slices.Clone(b.As)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
