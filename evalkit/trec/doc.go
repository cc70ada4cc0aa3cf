// Package trec reads and writes the files other evaluation tools use (TREC qrels and runs, BEIR
// folders, ranx JSON, ragas JSONL) and scores TREC files as trec_eval -c does.
//
// Readers are strict: a malformed line, a repeated document, a score that is no finite number
// or a second run tag is an error with file and line, because a reader that skips a bad line
// has changed the score. Every conversion returns what it loses.
//
// Use Score for runs in memory and ScoreStream for runs too large for it. Ranks in run files
// are ignored: the order is score descending, then document id descending byte-wise.
package trec
