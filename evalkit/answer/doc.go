// Package answer grades answers apart from retrieval, without a model: which facts an answer
// holds, whether its numbers occur in the context it was given, what it cites, whether it
// refuses. Report puts the results into one table whose lines are never averaged; the claims
// contract scores recorded answers whose claims a person has annotated; Thresholds shows where
// the scores of answerable and unanswerable questions mix.
//
// Everything here is a deterministic rule over text, for English, Vietnamese and German. Rules
// err: a number rule cannot see that a right number stands beside the wrong subject, and a
// phrase list does not know every refusal. Cases near the edge are therefore listed for a
// person, whose verdicts (Review) are applied in the open, with the rule's own error rate.
// Models that judge text are in package judge.
package answer
