package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
)

// amount is the kind of number that a question asks for.
type amount int

const (
	noAmount amount = iota
	anyAmount
	moneyAmount
	timeAmount // a span of time, a date or a time of day
)

// asksFor says what kind of number a question asks for, by its words, in English, German and
// Vietnamese.
func asksFor(question string) amount {
	q := " " + strings.Join(words(question), " ") + " "
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(q, w) })
	}
	switch {
	case has(" how long ", " how soon ", " how fast ", " how quick", " how often ", " how late ", " how old ", " when ", " what time ", " what hour ",
		" which hour ", " until ", " how many days ", " how many hours ", " how many weeks ", " how many months ", " how many years ", " how many minutes ",
		" how many working ", " how many calendar ", " deadline ", " which day", " what day",
		" wie lange ", " wann ", " wie oft ", " wie schnell ", " bis wann ", " wie viele tage ", " bao lâu ", " khi nào ", " mấy giờ ", " mấy ngày ", " bao nhiêu ngày "):
		return timeAmount
	case has(" price ", " prices ", " cost ", " costs ", " costing ", " fee ", " fees ", " pay ", " charge ", " charged ", " expensive ",
		" kosten ", " kostet ", " preis ", " gebühr ", " teuer ", " giá ", " phí ", " tiền "):
		return moneyAmount
	case has(" how much ", " how many ", " how far ", " how big ", " how hot ", " how high ", " how heavy ", " how low ", " percent", " share ", " mutch ",
		" wie viel ", " wie viele ", " wie groß ", " wie weit ", " bao nhiêu ", " mấy "):
		return anyAmount
	}
	return noAmount
}

// fits says in [0,1] how well the numbers of a text fit what is asked for: 1 if one is of the
// kind asked for, 0.5 if there are only others, 0 if there are none or none is asked for.
func (a amount) fits(text string) float64 {
	if a == noAmount {
		return 0
	}
	best := 0.0
	for _, n := range evalanswer.Numbers(text) {
		if n.Kind == evalanswer.Identifier || n.Weak {
			continue
		}
		kind := anyAmount
		switch {
		case n.Kind == evalanswer.Date || n.Kind == evalanswer.Clock:
			kind = timeAmount
		case slices.Contains([]string{"minute", "hour", "day", "week", "month", "year"}, n.Unit):
			kind = timeAmount
		case slices.Contains([]string{"vnd", "usd", "eur", "gbp", "jpy", "%"}, n.Unit):
			kind = moneyAmount
		}
		if a == anyAmount || kind == a {
			return 1
		}
		best = 0.5
	}
	return best
}

// identifiers returns the codes and model numbers of a text, such as E-04 or RC-18, in one
// spelling.
func identifiers(text string) []string {
	if !strings.ContainsFunc(text, unicode.IsDigit) {
		return nil
	}
	var out []string
	for _, n := range evalanswer.Numbers(text) {
		if n.Kind == evalanswer.Identifier {
			out = append(out, n.Readings...)
		}
	}
	return out
}

// names returns the words of a question's names, in lower case: those with a capital letter or a
// digit that do not open a sentence, and those in capitals wherever they stand. In a text without
// a small letter, and in a language that writes every noun with a capital, nothing can be told
// from capitals: then there are none.
func names(question string) []string {
	if !strings.ContainsFunc(question, unicode.IsLower) || len(germanWords(question)) > 0 {
		return nil
	}
	var out []string
	opens := true
	for i := 0; i < len(question); {
		r, n := utf8.DecodeRuneInString(question[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			if strings.ContainsRune(".!?:\n", r) {
				opens = true
			}
			i += n
			continue
		}
		end, capitals, digits := i, 0, 0
		for end < len(question) {
			r, n := utf8.DecodeRuneInString(question[end:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’", r) {
				break
			}
			if unicode.IsUpper(r) {
				capitals++
			} else if unicode.IsDigit(r) {
				digits++
			}
			end += n
		}
		if capitals > 1 || capitals == 1 && (!opens || digits > 0) {
			out = append(out, words(question[i:end])...)
		}
		opens, i = false, end
	}
	return out
}

// germanWords returns the words of a text that only a German text has.
func germanWords(text string) []string {
	var out []string
	for _, w := range words(text) {
		switch w {
		case "der", "das", "und", "nicht", "ist", "für", "mit", "ein", "eine", "einen", "wie", "ich", "wird", "kann", "sind", "bei", "zu", "auf":
			out = append(out, w)
		}
	}
	return out
}

// looksBack reports whether a question is about an earlier time, in which a document that was
// replaced since may be the right one: it names a year or says so.
func looksBack(q string) bool {
	for _, w := range words(q) {
		switch w {
		case "old", "older", "former", "formerly", "previous", "previously", "earlier", "alt", "alten", "früher", "cũ", "trước":
			return true
		}
		if len(w) == 4 && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20")) && strings.Trim(w, "0123456789") == "" {
			return true
		}
	}
	return false
}

// parts splits a text that asks several things: at question marks, before "and" with a question
// word, and before a comma with "and" and a verb that asks. A text that asks one thing has no
// parts. What stands before the first question stays with it.
func parts(question string) []string {
	var out []string
	start := 0
	add := func(end int) {
		if s := strings.Trim(question[start:end], ", "); len(words(s)) > 1 {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range question {
		switch {
		case i < start:
		case r == '?' || r == '？':
			add(i + len(string(r)))
		case r == ' ' && i > 0:
			w := words(question[i:min(len(question), i+40)])
			if len(w) < 2 || w[0] != "and" && w[0] != "und" && w[0] != "và" {
				continue
			}
			if slices.Contains(askingWords, w[1]) || question[i-1] == ',' && slices.Contains(askingVerbs, w[1]) {
				add(i)
			}
		}
	}
	if len(out) == 0 || len(out) == 1 && !strings.Contains(question[start:], "?") {
		return nil
	}
	add(len(question))
	if len(out) < 2 {
		return nil
	}
	return out
}

var askingWords = []string{ // read only
	"what", "what's", "where", "when", "who", "which", "how", "why", "wo", "wann", "wer", "was", "welche", "wie", "warum",
}

var askingVerbs = []string{ // read only
	"does", "do", "did", "is", "are", "can", "could", "may", "must", "will", "would", "kann", "darf", "muss", "ist",
}
