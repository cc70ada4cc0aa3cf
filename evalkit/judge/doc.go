// Package judge marks recorded answers as faithful to their context or not, and calibrates
// whoever does the marking. A judge is a rule or a model; before it may gate anything it is
// run on answers that are known to be faithful and on versions of them with injected errors,
// by kind (Mutants), and qualifies only if it catches enough of every kind (Calibrate). What
// it could not be read as is a third outcome, never yes and never no.
//
// The package talks to no server: a chat judge is given a function that sends a prompt.
package judge
