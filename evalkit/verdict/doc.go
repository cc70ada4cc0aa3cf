// Package verdict decides whether a build may go live. A Policy is declared in a file before
// anybody looks; Decide applies it to the evaluations of the candidate, the live build and a
// frozen reference and returns one of four verdicts with its reasons; Compare shows any two
// systems side by side with the statistics of the verdict.
//
// A verdict is bound to the build, the golden set, the policy and the record it was made from,
// and carries its own digest, so that nobody promotes with somebody else's ticket: see Check.
//
// The package knows evaluations only. It does not run queries, time them or inject faults; who
// does hands the results in (Input.Measured, Input.SelfTest).
package verdict
