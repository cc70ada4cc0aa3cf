// Package engine is the store of builds and what an application imports: it builds indexes,
// asks the golden questions of them, promotes the accepted ones, and searches the live one.
//
// A store is a folder. Its builds are immutable; one of them is live, named by a file that is
// replaced by a rename. Builds are made aside, so searches go on against the live build, and a
// crash at any moment leaves it untouched.
//
//	e, err := engine.Open("kb", engine.Options{})
//	b, err := e.Build(ctx, corpus.Dir("docs", corpus.Options{}), engine.Settings{})
//	v, err := e.Validate(ctx, b, golden, policy)
//	err = e.Promote(ctx, b, v) // refuses unless v accepts this very build
//	hits, err := e.Search(ctx, engine.Query{Text: "refund window", K: 3, As: []string{"public"}})
//
// Permissions are applied inside both retrievers before any cut, so a caller sees neither text,
// title, score nor count of what it may not read. Collection statistics (document frequencies,
// average length) are those of all documents; a patient caller can estimate from scores how
// common a word is in texts it may not read.
//
// The package does not read the environment, print, or exit; package main of cmd/assay does.
package engine
