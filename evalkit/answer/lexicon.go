package answer

import (
	"strings"
	"unicode"
)

// NumberRevision names the rules and tables by which numbers are read; it is raised with every
// change that can change a finding. A table of answers records it.
const NumberRevision = "numbers/2"

// Languages of the tables.
const (
	English    = "en"
	Vietnamese = "vi"
	German     = "de"
)

// languages returns the languages whose tables apply: those named, else English, German, and
// Vietnamese if the text has letters that only Vietnamese uses. German number words are left
// out of texts without a sign of German, because "elf" and "acht" are words elsewhere.
func languages(text string, lang []string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lang {
		base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(l)), "-")
		switch base {
		case English, Vietnamese, German:
			out[base] = true
		}
	}
	if len(out) > 0 {
		return out
	}
	out[English] = true
	for _, r := range text {
		switch {
		case strings.ContainsRune("đĐơƠưƯăĂ₫", r), r >= 0x1EA0 && r <= 0x1EF9:
			out[Vietnamese] = true
		case strings.ContainsRune("äöüßÄÖÜ", r):
			out[German] = true
		}
	}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch w {
		case "der", "das", "und", "nicht", "ist", "innerhalb", "tage", "tagen", "für", "mit", "keine", "von", "bis", "nach":
			out[German] = true
		}
	}
	return out
}

// numberWord is the value of a number word. Weak words are articles and pronouns as well
// ("one", "ein", "một"): they ground other numbers and are not checked themselves.
type numberWord struct {
	value string
	weak  bool
}

var numberWords = map[string]map[string]numberWord{ // read only
	English: wordTable(
		"zero 0* one 1* two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 " +
			"twelve 12 thirteen 13 fourteen 14 fifteen 15 sixteen 16 seventeen 17 eighteen 18 nineteen 19 " +
			"twenty 20 thirty 30 forty 40 fifty 50 sixty 60 seventy 70 eighty 80 ninety 90 " +
			"first 1* second 2* third 3 fourth 4 fifth 5 sixth 6 seventh 7 eighth 8 ninth 9 tenth 10 " +
			"eleventh 11 twelfth 12 thirteenth 13 fourteenth 14 fifteenth 15 sixteenth 16 seventeenth 17 " +
			"eighteenth 18 nineteenth 19 twentieth 20 dozen 12*"),
	German: wordTable(
		"null 0* ein 1* eine 1* einen 1* einem 1* einer 1* eines 1* eins 1* zwei 2 drei 3 vier 4 fünf 5 " +
			"sechs 6 sieben 7 acht 8 neun 9 zehn 10 elf 11 zwölf 12 dreizehn 13 vierzehn 14 fünfzehn 15 " +
			"sechzehn 16 siebzehn 17 achtzehn 18 neunzehn 19 zwanzig 20 dreißig 30 erste 1* ersten 1* " +
			"zweite 2* zweiten 2* dritte 3 dritten 3 vierte 4 vierten 4 fünfte 5 fünften 5"),
	Vietnamese: wordTable(
		"một 1* hai 2 ba 3 bốn 4 năm 5 sáu 6 bảy 7 tám 8 chín 9 mười 10"),
}

func wordTable(s string) map[string]numberWord {
	f := strings.Fields(s)
	t := make(map[string]numberWord, len(f)/2)
	for i := 0; i+1 < len(f); i += 2 {
		v, weak := strings.CutSuffix(f[i+1], "*")
		t[f[i]] = numberWord{v, weak}
	}
	return t
}

// magnitude is a power of ten written after a number. An attached one counts only without a
// blank between: "5tr" and "30k", never "5 tr." or "5 km".
type magnitude struct {
	power, other int // other is a second reading, 0 for none
	attached     bool
}

var magnitudes = map[string]magnitude{ // read only; lower case
	"thousand": {power: 3}, "k": {power: 3, attached: true}, "hundred": {power: 2},
	"million": {power: 6}, "millions": {power: 6}, "mn": {power: 6}, "mio": {power: 6}, "mil": {power: 6, attached: true},
	"billion": {power: 9, other: 12}, "bn": {power: 9}, "trillion": {power: 12}, "tn": {power: 12, attached: true},
	"nghìn": {power: 3}, "ngàn": {power: 3}, "trăm": {power: 2}, "triệu": {power: 6}, "tr": {power: 6, attached: true},
	"tỷ": {power: 9}, "tỉ": {power: 9},
	"tausend": {power: 3}, "tsd": {power: 3}, "millionen": {power: 6}, "milliarde": {power: 9},
	"milliarden": {power: 9}, "mrd": {power: 9}, "billionen": {power: 12},
	"hundert": {power: 2}, "lakh": {power: 5}, "crore": {power: 7},
}

// shortMagnitudes are magnitudes in so few letters that what stands around them has to say that
// they are: see numberParser.short.
var shortMagnitudes = map[string]int{ // read only; lower case
	"m": 6, "mm": 6, "mill": 6, "b": 9, "md": 9, "t": 12,
}

// units maps spellings, in lower case, to one name each.
var units = unitTable(map[string]string{ // read only
	"vnd": "vnd đ ₫ đồng dong vnđ", "usd": "$ usd us$ dollar dollars đô", "eur": "€ eur euro euros",
	"gbp": "£ gbp pounds", "jpy": "¥ jpy yen", "cent": "ct cents",
	"%":  "% percent prozent",
	"ms": "ms millisecond milliseconds", "second": "s sec secs second seconds sekunde sekunden giây",
	"minute": "min mins minute minutes minuten phút", "hour": "h hr hrs hour hours stunde stunden giờ tiếng",
	"day": "day days tag tage tagen ngày", "week": "week weeks woche wochen tuần",
	"month": "month months monat monate monaten tháng", "year": "year years jahr jahre jahren năm",
	"kg": "kg kilo kilos kilogram kilograms kilogramm", "g": "g gram grams gramm", "mg": "mg",
	"tonne": "t tonne tonnes ton tons tấn tonnen", "lb": "lb lbs", "oz": "oz",
	"km": "km kilometre kilometres kilometer kilometers", "m": "m metre metres meter meters mét",
	"cm": "cm", "mm": "mm", "inch": "inch inches",
	"l": "l litre litres liter liters lít", "ml": "ml",
	"kwh": "kwh", "watt": "w watt watts", "kw": "kw", "volt": "v volt volts", "amp": "a ampere amp amps",
	"hz": "hz", "db": "db", "rpm": "rpm",
	"°c": "°c celsius ℃ °", "°f": "°f fahrenheit ℉",
	"piece": "piece pieces pcs stück stk cái chiếc", "point": "point points điểm punkte",
	"cup": "cup cups", "person": "person persons people personen người",
	"time": "times mal lần", "gb": "gb", "mb": "mb", "kb": "kb", "tb": "tb",
})

func unitTable(m map[string]string) map[string]string {
	out := map[string]string{}
	for name, spellings := range m {
		for s := range strings.FieldsSeq(spellings) {
			out[s] = name
		}
	}
	return out
}

// stops are the words at which the search for a number's unit ends.
var stops = wordSet("a an and or per for in to of at on by from if is are with than until till after before the " + // read only
	"und oder pro für in zu von bei auf ab wenn ist sind mit als bis nach vor der die das " +
	"và hoặc mỗi cho trong từ đến nếu là với khi sau trước")

func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

var months = func() map[string]int { // read only
	out := map[string]int{}
	for _, s := range []string{
		"january february march april may june july august september october november december",
		"jan feb mar apr may jun jul aug sep oct nov dec",
		"januar februar märz april mai juni juli august september oktober november dezember",
	} {
		for i, w := range strings.Fields(s) {
			out[w] = i + 1
		}
	}
	out["sept"], out["okt"], out["dez"] = 9, 10, 12
	return out
}()
