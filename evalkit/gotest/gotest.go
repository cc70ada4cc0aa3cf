// Package gotest lets `go test` guard retrieval quality: a test evaluates a build, hands the
// evaluations to Check, and fails with the lost questions and both ranked lists when the build
// regresses.
//
// It is the only package of the module outside tests that imports testing; production code must
// not import it.
package gotest

import (
	"testing"

	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// Options of Check; the zero value is valid.
type Options struct {
	// AllowInconclusive skips the test on an inconclusive verdict in place of failing it. Either
	// way it does not pass.
	AllowInconclusive bool
	Golden            *golden.Set // for the questions' text in the message
	// Settings of live build and candidate; what differs is named in the message.
	LiveSettings, Settings map[string]string
}

// Check decides on in and reports to t: an accepted build passes and logs its reasons, any other
// verdict fails with the comparison's table and the flips. It returns the verdict for further
// checks; t.FailNow is called on failure, so it returns only if the build may go on.
func Check(t testing.TB, in verdict.Input, o Options) *verdict.Verdict {
	t.Helper()
	v := verdict.Decide(in)
	message := v.Text()
	if in.Live != nil && in.Candidate != nil {
		c := verdict.CompareWith(
			verdict.Side{Name: "live", Evaluation: in.Live, Settings: o.LiveSettings},
			verdict.Side{Name: "candidate", Evaluation: in.Candidate, Settings: o.Settings},
			in.Policy, v, verdict.CompareOptions{Golden: o.Golden, CorpusCause: in.CorpusCause})
		message = c.FlipText() + "\n" + c.Table()
	}
	switch {
	case v.Verdict == verdict.Accept:
		t.Log(v.Text())
	case v.Verdict == verdict.Inconclusive && o.AllowInconclusive:
		t.Skip("inconclusive, not a pass\n" + message)
	default:
		t.Fatal("the build may not go live\n" + message)
	}
	return v
}
