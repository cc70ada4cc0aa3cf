//go:build !race

package engine_test

// raced says that the race detector slows everything down.
const raced = false
