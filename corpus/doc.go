// Package corpus reads documents: text, sections, versions and permissions. Every offset it
// hands out is a byte offset into the normalised text (UTF-8, LF, NFC). Splitting documents
// is package chunk's task.
package corpus
