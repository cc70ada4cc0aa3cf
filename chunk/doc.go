// Package chunk cuts documents into the passages that are embedded, indexed and returned.
//
// A chunk is a span of the document's normalised text: its Text is that slice, byte for byte.
// What helps to find it without being part of it (the heading path, a table's header, the
// sentences around) is its Context, which is embedded and indexed with it and never shown.
//
// Four ways of cutting are provided: section follows the headings and is the default; fixed,
// recursive and sentence are the usual baselines. Whatever the way, starts strictly increase,
// every non-blank character of the document's content lies in a chunk, no chunk is longer than
// the limit, and no cut falls inside a character.
package chunk
