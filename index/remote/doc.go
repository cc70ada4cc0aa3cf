// Package remote keeps the index of a build on a Weaviate cluster, behind the same contracts
// as the index in the build's folder: index.VectorSearcher and index.TextSearcher.
//
// A build is one collection, named by the build's id and never changed once its counts are
// verified. An alias names the live one; Cluster.SetLive alone moves it. Every chunk is one
// object whose UUID follows from build and chunk id, so that writing twice changes nothing. It
// holds the vector (given, never computed by the cluster), the words as package lexical
// analyses them joined by spaces, the chunk's ordinal and id, and its permissions.
//
// Permissions are a filter of both searches: documents with the same labels share a class, and
// a caller's filter becomes the list of classes it may see. Fusion is not the cluster's: package
// engine fuses the two lists as it fuses its own, so depth, order and scores keep their meaning.
//
// What differs from the index in the folder, and is recorded in Settings: word statistics are
// those of each shard, a word's variants count towards a chunk's length, scores have the
// precision of float32, and beyond AutoFlat chunks vectors are searched approximately unless
// index "flat" is asked for.
//
// The package is a module of its own: its client brings several hundred modules that users of
// the embedded index must not inherit.
package remote
