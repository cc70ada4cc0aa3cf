package main

import (
	"testing"
	"time"
)

// TestLoad asks a small store while builds are swapped many times a second.
func TestLoad(t *testing.T) {
	t.Run("PE-05", func(t *testing.T) {
		ok, err := run(t.Context(), options{chunks: 60, clients: 8, queries: 40, k: 5, duration: time.Second, promote: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			t.Error("requests failed, or responses mixed two builds")
		}
	})
}
