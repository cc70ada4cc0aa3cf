// Package lexical ranks chunks by BM25 over their words.
//
// bleve is the inverted index on disk: Build cuts texts into terms (see Analyzer), hands them to
// bleve's segment writer in chunk order, and leaves one segment that bleve itself can open. The
// scores are ours, because bleve's model of that name is not BM25. From the segment Build
// derives a flat file of postings that Open maps: no list is decoded, copied or searched through
// bleve at query time, and Verify compares the two.
//
// # Score
//
// The canonical Okapi formula with the idf that cannot turn negative (Robertson & Zaragoza, "The
// Probabilistic Relevance Framework", 2009; idf as in Lucene):
//
//	score(q, d) = Σ over terms t of q:  idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·|d|/avg))
//	idf(t)      = ln(1 + (N − df + 0.5) / (df + 0.5))
//
// N is the number of chunks, empty ones included, avg the mean length. A term that the query
// holds twice counts twice. Statistics are those of the whole build, also under a filter, unless
// Settings.Statistics says otherwise.
//
// # Fields
//
// Title, heading and body form one field. Their weights are whole numbers: a term in a field of
// weight w counts w times, in the term frequency and in the length (linear combination before
// saturation, as the simple BM25F of Robertson, Zaragoza & Taylor, CIKM 2004, asks for). With
// the default weight of 1 a term that stands once in the heading and once in the body has a term
// frequency of 2, exactly as if the heading were written above the body. Weight 0 leaves a field
// out.
//
// # Length
//
// A chunk's length is the number of its words. Variants that stand at the same place (a folded
// spelling, a product code kept whole, a pair of CJK characters) are terms like any other but add
// nothing to the length, as in Lucene's discountOverlaps.
package lexical
