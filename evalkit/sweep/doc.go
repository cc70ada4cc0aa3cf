// Package sweep turns the evaluations of many variants of one system into a report that says which
// of them is worth having: an order by the primary measure, paired intervals and corrected tests
// against a baseline, what choosing the best of many costs in optimism, what each variant costs to
// run, and the simplest variant that nothing shows to be worse.
//
// Use it when several settings were tried on the same questions. Reduce keeps of each evaluation
// what the report needs, so that hundreds of variants fit in memory; Analyse makes the report from
// the rows; Text, HTML and the chart functions print it. The package runs nothing and reads no
// files: engine.Sweep produces the evaluations, but any evaluations of the same questions will do.
//
// Everything compares with the baseline question by question. Means of two variants are never
// compared by whether their own intervals overlap: that throws the pairing away.
//
// # What is recommended
//
// A variant replaces the baseline only with proof, see Recommendation: that it is better or, if it
// has fewer parts, that it loses less than a margin. So a sweep in which all variants are equally
// good and none has fewer parts recommends the baseline in at least 95 of 100 cases, whatever
// number of variants was tried.
package sweep
