package verdict

// Outcome is one of the four verdicts.
type Outcome string

// The verdicts, in the order in which they are tried.
const (
	Invalid      Outcome = "invalid"      // the comparison says nothing; repeat it as the reasons say
	Reject       Outcome = "reject"       // a rule is broken or a loss is shown
	Accept       Outcome = "accept"       // a loss of the margin is excluded
	Inconclusive Outcome = "inconclusive" // neither; never a pass
)

// The exit codes of every command; see ExitCode.
const (
	ExitDone         = 0 // done or accepted
	ExitFailed       = 1
	ExitUsage        = 2 // usage or bad input
	ExitReject       = 3
	ExitInconclusive = 4
	ExitInvalid      = 5
)

// ExitCode returns the process exit code of an outcome; an unknown one is ExitFailed, so that a
// damaged record never looks accepted.
func (o Outcome) ExitCode() int {
	switch o {
	case Accept:
		return ExitDone
	case Reject:
		return ExitReject
	case Inconclusive:
		return ExitInconclusive
	case Invalid:
		return ExitInvalid
	}
	return ExitFailed
}
