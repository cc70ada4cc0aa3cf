package unit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// TextError says which text could not be embedded.
type TextError struct {
	Index  int    // position in the texts given to Embed
	Text   string // first 60 runes, white space collapsed
	Digest string // hex SHA-256 of the whole text
	Err    error
}

// NewTextError describes text, which stands at index of the texts given to Embed.
func NewTextError(index int, text string, err error) *TextError {
	return &TextError{Index: index, Text: Head(text), Digest: Digest(text), Err: err}
}

func (e *TextError) Unwrap() error { return e.Err }
func (e *TextError) Error() string {
	return fmt.Sprintf("embed text %d (%q): %v", e.Index, e.Text, e.Err)
}

// Head returns the first 60 runes of text with white space collapsed.
func Head(text string) string {
	if len(text) > 600 {
		text = strings.ToValidUTF8(text[:600], "")
	}
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return string(r)
}

// Digest returns the hex SHA-256 of text.
func Digest(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}
