// Package rank holds the one total order of ranked lists: score descending, then id
// descending byte-wise. It is trec_eval's order, so the list shown, the list evaluated and
// the list another tool recomputes from an exported run file are the same.
package rank

import "cmp"

// Compare orders a before b (negative) when a scores higher, or when both score the same and
// a's id is byte-wise greater. Scores must not be NaN: a NaN sorts last, but equals no score.
func Compare[ID ~string](aScore float64, aID ID, bScore float64, bID ID) int {
	return cmp.Or(cmp.Compare(bScore, aScore), cmp.Compare(bID, aID))
}

// CompareOrdinals is Compare for items numbered in ascending order of their ids.
func CompareOrdinals(aScore float64, a uint32, bScore float64, b uint32) int {
	// Inlined, unlike what follows: searches compare many scores, and few are equal.
	if aScore > bScore {
		return -1
	}
	if aScore < bScore {
		return 1
	}
	return compareTied(aScore, a, bScore, b)
}

// compareTied compares where neither score is the larger: they are equal, or one is no number.
func compareTied(aScore float64, a uint32, bScore float64, b uint32) int {
	return cmp.Or(cmp.Compare(bScore, aScore), cmp.Compare(b, a))
}
