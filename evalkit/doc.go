// Package evalkit scores ranked lists against a golden question set. It needs no engine: a Run
// holds what any system returned, Evaluate returns every measure with its counts, intervals and
// random baseline, and a Record keeps the run with integer evidence from which all aggregates
// can be recomputed.
//
// Values that do not exist are a type of their own (Value), never 0, 1 or NaN. Names and
// definitions of the measures are in package measure, TREC and other file formats in package
// trec, golden sets in package golden, the decision whether a build goes live in package
// verdict.
package evalkit
