// Package corpus reads documents: text, sections, versions and permissions. Every offset it
// hands out is a byte offset into the normalised text (UTF-8, LF, NFC). Splitting documents
// is package chunk's task.
//
// A Source loads a Collection: Dir and FS read files, BEIR and JSONL the layouts of public
// collections. Which formats are read is a table, DefaultReaders, that Options.Readers replaces;
// nothing registers itself. What cannot be read is either listed in Collection.Skipped with a
// reason or fails the load with file and line: unreadable permissions always fail it.
//
// Readers are bounded: their time grows with the size of a file, not with its nesting, and the
// memory at the peak is about fifteen times the largest file for Markdown. A collection is held
// in memory as a whole; corpora larger than that are not what this package is for.
package corpus
