package serve

import (
	"slices"
	"strings"
	"unicode"
)

// A message of a chat leans on the one before it if it is short and points back, or is nothing but
// words that ask. The lists are of English, German and Vietnamese; messages in other languages lean
// on nothing. To take too many for leaning costs little: the earlier question is searched for too.
const (
	maxLeaningWords = 8 // longer messages stand for themselves
	maxLeaning      = 3 // earlier messages that are looked at
)

// openings begin a message that goes on from the one before.
var openings = [][]string{
	{"and"}, {"but"}, {"or"}, {"so"}, {"also"}, {"then"}, {"what", "about"}, {"how", "about"}, {"what", "if"}, {"what", "else"},
	{"und"}, {"aber"}, {"oder"}, {"auch"}, {"was", "ist", "mit"}, {"wie", "ist", "es", "mit"},
	{"còn"}, {"thế", "còn"}, {"vậy"}, {"và"}, {"nhưng"},
}

// pointing are words that stand for something said before. Words that as often do not (there, one,
// the German es) are left out.
var pointing = strings.Fields(`it its it's they them their theirs he him she hers ihn ihm ihnen davon dafür damit dazu daran dort
deren dessen nó đó chúng họ`)

// showing are words that stand for something said before at the beginning or end of a message; in
// its middle they mostly belong to what follows: "a mixer that I have opened".
var showing = []string{"this", "that", "these", "those"}

// asking are words that ask and name nothing.
var asking = strings.Fields(`why how when where who which what much many long often exactly really sure more else please then so is are was
do does did can could the a for me you tell explain this that ok okay yes no warum wieso wie wann wo wer was viel lange genau mehr bitte
ja nein denn tại sao thế nào khi bao giờ nhiêu lâu ở đâu ai`)

// leans reports whether a message asks about what was said before it.
func leans(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
	})
	if len(words) > maxLeaningWords {
		return false
	}
	if len(words) == 0 {
		return strings.TrimSpace(text) != "" // such as a question mark alone
	}
	for _, o := range openings {
		if len(words) >= len(o) && slices.Equal(words[:len(o)], o) {
			return true
		}
	}
	for i, w := range words {
		if slices.Contains(pointing, w) || slices.Contains(showing, w) && (i < 3 || i == len(words)-1) {
			return true
		}
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(asking, w) })
}
