// Package dense searches the vectors of one build: exactly, from a memory-mapped file of its
// own, at the speed of memory.
//
// Row i of the file belongs to the chunk with ordinal i; a row may be missing, and is then
// never returned. The score of a row is the dot product of two vectors of length 1,
// accumulated in float32 in the order of the dimensions with every product rounded, which is
// the score chromem-go computes on amd64. It is computed in Go from the stored float32 rows and
// therefore has the same bits on every machine. Lists follow the one total order: score
// descending, then ordinal descending, also at the cut.
//
// # How a search stays exact
//
// Beside the float32 rows the file holds every row at 8 bits per dimension, split into two
// planes of 4 bits. A row x is stored as y = R(x-m), where m is the mean of all rows and R a
// fixed rotation, which leaves lengths and dot products alone and makes the values of a row
// alike in size, so that one scale per row serves all its dimensions. With ŷ for the value that
// the codes of y stand for, q for the query, z = Rq and ẑ for the query at 8 bits,
//
//	|q·x - (q·m + ẑ·ŷ)| = |z·(y-ŷ) + (z-ẑ)·ŷ| ≤ ‖q‖ ‖y-ŷ‖ + ‖z-ẑ‖ ‖ŷ‖
//
// by Cauchy and Schwarz. ‖y-ŷ‖ is stored per row for either plane, rounded up, and the rounding
// errors of the computation itself are added (see bounds in search.go). The scan reads the high
// plane only; the best of its estimates are scored in full, which gives a score that k rows
// reach; rows whose upper bound is below it are out. For the others the low plane narrows the
// bound, and what is left is scored in full. Where the bounds cannot separate the rows, as
// among near copies, more rows are scored in full, up to all of them: slower, never different.
//
// The integer kernels exist in assembly (AVX-512 with VNNI, AVX2, NEON) chosen at run time and in Go;
// all give the same integers. They only decide what is scored in full, so no result depends on
// them.
//
// # Limits
//
// Little-endian machines only. The file must not be cut while it is mapped: the operating
// system would end the process, so builds are replaced whole and never rewritten in place.
package dense
