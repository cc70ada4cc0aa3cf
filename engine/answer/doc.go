// Package answer produces answers from delivered context: Extractive picks and cites sentences
// without any model, Chat asks a model behind an OpenAI-compatible server. Deliver makes the
// exact ordered passages an answerer is shown, and RunAll answers many questions with a limit
// on concurrency and a file from which an interrupted run goes on.
//
// An answerer sees the passages and the question and nothing else. What it was shown, and what
// it said, verbatim, is in the Answer, so that package evalkit/answer can grade it later.
package answer
