package corpus

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/unicode/norm"
)

// Treatments of bytes that are not text in the file's charset, for Options.Invalid.
const (
	InvalidSkip    = "skip"    // leave the file out and list it in Skipped (default)
	InvalidReplace = "replace" // put U+FFFD for each, and warn with their number
	InvalidError   = "error"   // fail the load
)

// encodingError tells why bytes are not text.
type encodingError struct{ reason string }

func (e *encodingError) Error() string { return e.reason }

// lookupCharset returns the decoder for a declared charset; nil stands for UTF-8.
func lookupCharset(name string) (encoding.Encoding, error) {
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8":
		return nil, nil
	case "latin1", "latin-1", "iso-8859-1": // not windows-1252, which the web makes of it
		return charmap.ISO8859_1, nil
	case "utf-16", "utf16":
		return unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM), nil
	case "utf-16le", "utf16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), nil
	case "utf-16be", "utf16be":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM), nil
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return nil, fmt.Errorf("charset %q is unknown: use utf-8, utf-16, latin1, windows-1252 or another name of the WHATWG encoding standard", name)
	}
	return enc, nil
}

// decode turns the bytes of a file into normalised text. charset "" is UTF-8. Anchors tell
// where normalisation shifted columns; replaced counts the places that became U+FFFD, which
// only happens when replace is set. The error is an *encodingError.
func decode(raw []byte, charset encoding.Encoding, replace bool) (text string, anchors []Anchor, replaced int, err error) {
	if charset != nil {
		out, err := charset.NewDecoder().Bytes(raw)
		if err != nil {
			return "", nil, 0, &encodingError{fmt.Sprintf("not in the declared charset: %v", err)}
		}
		// A decoder writes U+FFFD for what it cannot read; the charset itself may hold one.
		if n := bytes.Count(out, []byte("\uFFFD")); n > 0 && charset != encoding.Replacement {
			if !replace {
				return "", nil, 0, &encodingError{fmt.Sprintf("not in the declared charset at %d places", n)}
			}
			replaced = n
		}
		raw = out
	} else if len(raw) >= 2 && (raw[0] == 0xFF && raw[1] == 0xFE || raw[0] == 0xFE && raw[1] == 0xFF) && !replace {
		return "", nil, 0, &encodingError{"starts with a UTF-16 byte order mark: declare charset utf-16 for it"}
	}
	raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
	if bad := firstInvalid(raw); bad >= 0 {
		if !replace {
			return "", nil, 0, &encodingError{fmt.Sprintf("not valid UTF-8 at byte %d", bad)}
		}
		var n int
		raw, n = replaceInvalid(raw)
		replaced += n
	}
	if i := bytes.IndexByte(raw, 0); i >= 0 {
		if !replace {
			return "", nil, 0, &encodingError{fmt.Sprintf("contains NUL at byte %d", i)}
		}
		replaced += bytes.Count(raw, []byte{0})
		raw = bytes.ReplaceAll(raw, []byte{0}, []byte("\uFFFD"))
	}
	text = string(raw)
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	if isASCII(text) || norm.NFC.IsNormalString(text) {
		return text, nil, replaced, nil
	}
	text, anchors = composeText(text)
	return text, anchors, replaced, nil
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalid(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1 // unreachable: utf8.Valid and DecodeRune agree
}

// replaceInvalid puts U+FFFD for every byte that is not UTF-8 and counts them.
func replaceInvalid(b []byte) ([]byte, int) {
	out := make([]byte, 0, len(b)+len(b)/8)
	n := 0
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			n++
			out = append(out, "\uFFFD"...)
		} else {
			out = append(out, b[i:i+size]...)
		}
		i += size
	}
	return out, n
}

// composeText returns s in NFC, and an anchor behind every place where that changed the number
// of code points. Line ends are starters that compose with nothing, so lines stand alone.
func composeText(s string) (string, []Anchor) {
	var b strings.Builder
	b.Grow(len(s))
	var anchors []Anchor
	var it norm.Iter
	for line := 1; s != ""; line++ {
		end := strings.IndexByte(s, '\n') + 1
		if end == 0 {
			end = len(s)
		}
		cur := s[:end]
		s = s[end:]
		if norm.NFC.IsNormalString(cur) {
			b.WriteString(cur)
			continue
		}
		shifted := false
		column := 1
		it.InitString(norm.NFC, cur)
		for !it.Done() {
			from := it.Pos()
			composed := it.Next()
			n := utf8.RuneCountInString(cur[from:it.Pos()])
			b.Write(composed)
			column += n
			if n != utf8.RuneCount(composed) {
				anchors = append(anchors, Anchor{Offset: b.Len(), Line: line, Column: column})
				shifted = true
			}
		}
		if shifted && strings.HasSuffix(cur, "\n") {
			// The line end resets the column by itself; its own anchor would be wrong by
			// one line if the last segment held it.
			if last := &anchors[len(anchors)-1]; last.Offset == b.Len() {
				last.Line, last.Column = line+1, 1
			}
		}
	}
	return b.String(), anchors
}
