// Package bench makes the data and holds the peers that the engine's speed is compared with.
// It is a module of its own, so that programs that use the engine do not inherit the peers.
// Run it with `make bench`; docs/performance.md says what is measured and how.
package bench
