// Package hybrid turns the ranked lists of two retrievers into one.
//
// Everything here is a pure function over ranked lists: the same lists give the same result,
// whatever the machine. Ordinals compare as chunk ids do, so that ties follow the one total
// order, score descending, then id descending.
package hybrid
