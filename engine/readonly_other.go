//go:build !unix

package engine

func isReadOnly(error) bool { return false }
