package corpus

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Normalize returns s with LF line ends and in Unicode normalisation form C: the one spelling
// that documents, ids, labels, quotes, facts and queries are compared in. A byte order mark is
// kept, since only the start of a file may drop one. Strings longer than 30 combining marks in
// a row get a joiner every 30 (Unicode Standard Annex 15, stream-safe text format). Applying it
// twice changes nothing.
func Normalize(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	if isASCII(s) || norm.NFC.IsNormalString(s) {
		return s
	}
	return norm.NFC.String(s)
}

// foldSpace returns s with every run of white space as one space and none at the ends.
func foldSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
