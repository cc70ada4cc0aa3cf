// Package golden holds golden question sets: versioned files of questions with the sections
// and quotes that answer them, the facts an answer must contain, and who labelled what.
//
// Load reads YAML, JSON and JSONL strictly: an unknown or repeated key, a null in a list, a
// grade that is no positive integer or a missing answerable is an error with file, line and a
// suggestion. Scalars keep their spelling, so the id 012 and the fact 3.10 stay what the
// author wrote. Gold names sections and quotes of documents, never chunks, so that chunking
// can change without relabelling. Scoring is package evalkit's task.
package golden
