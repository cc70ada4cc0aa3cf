// Package index holds the contracts of one immutable build: hits, retrievers, embedders, and
// the errors all layers share. The retrievers are in the packages below it: dense for
// vectors, lexical for words; embed makes the vectors. Package engine wires them; package
// hybrid fuses their lists.
package index
