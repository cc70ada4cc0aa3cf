// Package measure holds the retrieval measures: their names, which carry the definition and
// parse back, and their arithmetic. Every value is computed from Evidence, a handful of
// integers about one ranked list, so a stored record can be checked by anybody. Package evalkit
// makes evidence from golden sets, package trec from qrels.
//
// All values lie in [0,1] or are n/a, except the counts and gm_map's per-topic logarithm,
// which only trec_eval's names ask for.
package measure
