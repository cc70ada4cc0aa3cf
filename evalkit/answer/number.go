package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind tells what a number in a text is.
type Kind string

// The kinds of number.
const (
	Quantity   Kind = "number"
	Date       Kind = "date"       // one unit: 1 April 2026
	Clock      Kind = "time"       // 08:30, 5 pm
	Identifier Kind = "identifier" // A5, QX-310, v2.10.3: compared whole
)

// Number is a number, date, time of day or identifier in a text.
type Number struct {
	Text  string `json:"text"`
	Start int    `json:"start"` // byte offsets into the text
	End   int    `json:"end"`
	Kind  Kind   `json:"kind"`
	// Readings are the values it may stand for, in one spelling: plain decimals without
	// needless zeros, dates as 2026-04-01, times as 08:30, identifiers in lower case. The
	// first is the likely one; "1.250" reads as 1250, and as 1.25.
	Readings []string `json:"readings"`
	Unit     string   `json:"unit,omitempty"` // day, vnd, %; "" if none was recognised
	Noun     string   `json:"noun,omitempty"` // the word after it, if that is no known unit
	Range    bool     `json:"range,omitempty"`
	Weak     bool     `json:"weak,omitempty"`    // an article, ordinal or list number that need not be a quantity
	Ordinal  bool     `json:"ordinal,omitempty"` // 3rd, 3.
	head     int      // where the digits end, magnitudes included, the unit excluded
	power    int      // of ten, of the magnitudes written after it
}

// Numbers returns the numbers of a text in order. Without lang the languages are guessed; en,
// vi and de are known. Digits inside longer digits or identifiers are never numbers of their
// own. Citation markers are numbers like others here: blank them first (BlankCitations).
func Numbers(text string, lang ...string) []Number {
	p := &numberParser{text: text, langs: languages(text, lang)}
	p.run()
	return p.out
}

type numberParser struct {
	text  string
	langs map[string]bool
	out   []Number
}

func (p *numberParser) at(i int) (rune, int) {
	if i < 0 || i >= len(p.text) {
		return 0, 0
	}
	return utf8.DecodeRuneInString(p.text[i:])
}

func (p *numberParser) before(i int) rune {
	r, n := utf8.DecodeLastRuneInString(p.text[:i])
	if n == 0 {
		return 0
	}
	return r
}

// digit returns the value of a decimal digit of any script, -1 for other runes.
func digit(r rune) int {
	if r >= '0' && r <= '9' {
		return int(r - '0')
	}
	if r < 128 || !unicode.Is(unicode.Nd, r) {
		return -1
	}
	// Unicode keeps the ten digits of a script together, in order: count back to its zero.
	n := 0
	for n < 9 && unicode.Is(unicode.Nd, r-rune(n)-1) {
		n++
	}
	if r >= 0x1D7CE && r <= 0x1D7FF { // mathematical digits stand in five rows of ten
		n = int(r-0x1D7CE) % 10
	}
	return n
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

func isDash(r rune) bool {
	return r == '-' || r == 0x2212 || unicode.Is(unicode.Pd, r)
}

func (p *numberParser) run() {
	for i := 0; i < len(p.text); {
		r, n := p.at(i)
		switch {
		case digit(r) >= 0:
			i = p.number(i)
		case r == '½' || r == '¼' || r == '¾':
			v := map[rune]string{'½': "0.5", '¼': "0.25", '¾': "0.75"}[r]
			p.add(Number{Start: i, End: i + n, Kind: Quantity, Readings: []string{v}})
			i += n
		case isWord(r):
			i = p.word(i)
		default:
			i += n
		}
	}
	p.finish()
}

// wordEnd returns the end of the letters that begin at i.
func (p *numberParser) wordEnd(i int) int {
	for {
		r, n := p.at(i)
		if n == 0 || !isWord(r) {
			return i
		}
		i += n
	}
}

// identifierEnd returns the end of the run of letters, digits and inner joiners from i.
func (p *numberParser) identifierEnd(i int) int {
	for {
		r, n := p.at(i)
		if n == 0 {
			return i
		}
		if isWord(r) || digit(r) >= 0 {
			i += n
			continue
		}
		next, _ := p.at(i + n)
		if (r == '-' || r == '.' || r == '_' || r == '/') && (digit(next) >= 0 || r != '/' && r != '.' && isWord(next) && next < 128) {
			i += n
			continue
		}
		return i
	}
}

func (p *numberParser) identifier(i, end int) int {
	p.add(Number{Start: i, End: end, Kind: Identifier, Readings: []string{strings.ToLower(p.text[i:end])}})
	return end
}

// word handles letters at i: a number word, a date that begins with a month, or an identifier
// such as A5 and QX-310.
func (p *numberParser) word(i int) int {
	end := p.wordEnd(i)
	w := p.text[i:end]
	lower := strings.ToLower(w)
	r, n := p.at(end)
	if units[lower] != "" && currency(units[lower]) && (digit(r) >= 0 || isDash(r)) {
		return end // VND30000, EUR-5
	}
	if digit(r) >= 0 {
		return p.identifier(i, p.identifierEnd(i))
	}
	if isDash(r) {
		if next, _ := p.at(end + n); digit(next) >= 0 && w == strings.ToUpper(w) && utf8.RuneCountInString(w) <= 6 && r == '-' {
			return p.identifier(i, p.identifierEnd(i))
		}
	}
	if m := months[lower]; m > 0 {
		if d := p.monthFirst(i, end, m); d > 0 {
			return d
		}
	}
	for _, l := range []string{English, German, Vietnamese} {
		v, ok := numberWords[l][lower]
		if !ok || !p.langs[l] {
			continue
		}
		if lower == "năm" && !p.countsYears(end) {
			return end // also "year"
		}
		num := Number{Start: i, End: end, Kind: Quantity, Readings: []string{v.value}, Weak: v.weak}
		// Compounds: twenty-five, hai mươi.
		if t, ok := p.compound(l, v.value, end); ok {
			num.End, num.Readings, num.Weak = t.end, []string{t.value}, false
		}
		p.suffix(&num)
		return p.add(num)
	}
	return end
}

type compound struct {
	value string
	end   int
}

func (p *numberParser) compound(lang, value string, end int) (compound, bool) {
	r, n := p.at(end)
	if r != ' ' && r != '-' {
		return compound{}, false
	}
	next := p.wordEnd(end + n)
	w := strings.ToLower(p.text[end+n : next])
	tens, _ := strconv.Atoi(value)
	switch lang {
	case English:
		unit, ok := numberWords[English][w]
		u, _ := strconv.Atoi(unit.value)
		if ok && tens >= 20 && tens%10 == 0 && u >= 1 && u <= 9 {
			return compound{strconv.Itoa(tens + u), next}, true
		}
	case Vietnamese:
		if w == "mươi" && tens >= 2 && tens <= 9 {
			return compound{strconv.Itoa(tens * 10), next}, true
		}
		unit, ok := numberWords[Vietnamese][w]
		u, _ := strconv.Atoi(unit.value)
		if ok && tens == 10 && u >= 1 && u <= 9 && w != "năm" {
			return compound{strconv.Itoa(10 + u), next}, true
		}
	}
	return compound{}, false
}

// countsYears reports whether "năm" is the number five here: a unit follows it.
func (p *numberParser) countsYears(end int) bool {
	r, n := p.at(end)
	if r != ' ' {
		return false
	}
	next := p.wordEnd(end + n)
	w := strings.ToLower(p.text[end+n : next])
	return units[w] != "" || magnitudes[w].power > 0
}

// groups are runs of digits with the separators between them.
type groups struct {
	digits []string
	seps   []rune
	end    int
}

// scan reads digits with separators from i: comma, point, apostrophes, and blanks before
// exactly three digits.
func (p *numberParser) scan(i int) groups {
	var g groups
	for {
		start, j := i, i
		var b strings.Builder
		for {
			r, n := p.at(j)
			d := digit(r)
			if n == 0 || d < 0 {
				break
			}
			b.WriteByte(byte('0' + d))
			j += n
		}
		if j == start {
			return g
		}
		g.digits, g.end = append(g.digits, b.String()), j
		r, n := p.at(j)
		next, _ := p.at(j + n)
		if digit(next) < 0 {
			return g
		}
		switch r {
		case ',', '.', '\'', '’', '٫', '٬':
		case ' ', '\u00a0', '\u2009', '\u202f':
			if len(g.digits[0]) > 3 || !p.three(j+n) || r == ' ' && len(g.seps) > 0 && g.seps[0] != ' ' {
				return g
			}
		default:
			return g
		}
		g.seps = append(g.seps, r)
		i = j + n
	}
}

// three reports whether exactly three digits begin at i.
func (p *numberParser) three(i int) bool {
	for k := 0; ; k++ {
		r, n := p.at(i)
		if digit(r) < 0 {
			return k == 3
		}
		i += n
	}
}

// value is digits before and after the point.
type value struct{ whole, frac string }

// values returns the possible readings of grouped digits, none if they are no number.
func (g groups) values() []value {
	d := g.digits
	grouped := func(parts []string) bool {
		if len(parts[0]) < 1 || len(parts[0]) > 3 || len(parts) > 1 && parts[0][0] == '0' {
			return false
		}
		for _, s := range parts[1:] {
			if len(s) != 3 {
				return false
			}
		}
		return true
	}
	if len(g.seps) == 0 {
		return []value{{d[0], ""}}
	}
	point := func(r rune) bool { return r == ',' || r == '.' || r == '٫' }
	last := g.seps[len(g.seps)-1]
	same := true
	for _, s := range g.seps {
		same = same && s == g.seps[0]
	}
	switch {
	case same && len(g.seps) == 1 && point(last):
		if grouped(d) && d[1] == "000" {
			return []value{{d[0] + d[1], ""}} // nobody writes 30 to three places
		}
		if grouped(d) {
			return []value{{d[0] + d[1], ""}, {d[0], d[1]}}
		}
		return []value{{d[0], d[1]}}
	case same:
		if grouped(d) {
			return []value{{strings.Join(d, ""), ""}}
		}
		return nil
	}
	head := d[:len(d)-1]
	headSame := true
	for _, s := range g.seps[:len(g.seps)-1] {
		headSame = headSame && s == g.seps[0]
	}
	if point(last) && headSame && grouped(head) {
		return []value{{strings.Join(head, ""), d[len(d)-1]}}
	}
	return nil
}

// decimal spells a value times ten to the power in the one spelling used for readings.
func decimal(v value, power int, negative bool) string {
	digits, dot := v.whole+v.frac, len(v.whole)+power
	for len(digits) < dot {
		digits += "0"
	}
	whole, frac := strings.TrimLeft(digits[:dot], "0"), strings.TrimRight(digits[dot:], "0")
	if whole == "" {
		whole = "0"
	}
	s := whole
	if frac != "" {
		s += "." + frac
	}
	if negative && s != "0" {
		s = "-" + s
	}
	return s
}

// number handles digits at i and returns where reading goes on.
func (p *numberParser) number(i int) int {
	if end := p.date(i); end > 0 {
		return end
	}
	if end := p.clock(i); end > 0 {
		return end
	}
	g := p.scan(i)
	vals := g.values()
	// A separator at the end of one number and the start of the next ("in 2024, 30 days") was
	// not scanned; groups that make no number are a version or a list without blanks.
	if vals == nil {
		if len(g.seps) > 0 && (strings.ContainsRune(" \u00a0\u2009\u202f", g.seps[len(g.seps)-1]) || allCommas(g.seps)) {
			end := i
			for {
				r, n := p.at(end)
				if digit(r) < 0 {
					break
				}
				end += n
			}
			g = groups{digits: g.digits[:1], end: end}
			vals = g.values()
		} else {
			return p.identifier(i, max(p.identifierEnd(i), g.end))
		}
	}
	num := Number{Start: i, End: g.end, Kind: Quantity}
	for _, v := range vals {
		num.Readings = append(num.Readings, decimal(v, 0, false))
	}
	if len(g.seps) == 0 && len(g.digits[0]) > 2 && g.digits[0][0] == '0' {
		num.Kind, num.Readings = Identifier, []string{g.digits[0]} // 0042: a code or part of a telephone number
	}
	// Letters directly behind: a magnitude or a unit, an ordinal, else an identifier.
	if r, _ := p.at(g.end); isWord(r) {
		w := strings.ToLower(p.text[g.end:p.wordEnd(g.end)])
		after, _ := p.at(g.end + len(w))
		switch {
		case digit(after) >= 0 && units[w] == "":
			return p.identifier(i, p.identifierEnd(i))
		case w == "st" || w == "nd" || w == "rd" || w == "th":
			num.Ordinal, num.End, num.head = true, g.end+len(w), g.end+len(w)
			return p.add(num)
		case magnitudes[w].power > 0, units[w] != "", p.short(i, g.end, g.end+len(w), true) > 0, w == "am", w == "pm", w == "x":
		case len(g.seps) == 0:
			return p.identifier(i, p.identifierEnd(i))
		}
	}
	p.sign(&num)
	p.suffix(&num)
	return p.add(num)
}

func allCommas(seps []rune) bool {
	for _, s := range seps {
		if s != ',' {
			return false
		}
	}
	return true
}

// sign looks for a minus before the number: a dash after a blank, a bracket, a currency or
// nothing. A dash after a number or a letter joins a range or a word.
func (p *numberParser) sign(num *Number) {
	r, n := utf8.DecodeLastRuneInString(p.text[:num.Start])
	if n == 0 || !isDash(r) || r == '—' {
		return
	}
	prev := p.before(num.Start - n)
	if prev != 0 && !unicode.IsSpace(prev) && !strings.ContainsRune("([{:=<>|~≈\"“'", prev) {
		return
	}
	num.Start -= n
	for i, s := range num.Readings {
		if s != "0" {
			num.Readings[i] = "-" + s
		}
	}
}

// suffix reads magnitudes and the unit behind a number and the currency before it.
func (p *numberParser) suffix(num *Number) {
	at := num.End
	num.head = at
	for range 2 { // "5 trăm nghìn"
		i, attached := at, true
		for {
			r, n := p.at(i)
			if r != ' ' && r != '\u00a0' && r != '-' && r != '\u202f' || n == 0 {
				break
			}
			i, attached = i+n, false
		}
		end := p.wordEnd(i)
		w := p.text[i:end]
		m, ok := magnitudes[strings.ToLower(w)]
		if !ok {
			m.power = p.short(num.Start, i, end, attached)
			ok = m.power > 0
		}
		if !ok || m.attached && !attached {
			break
		}
		num.power += m.power
		readings := make([]string, 0, 2*len(num.Readings))
		for _, s := range num.Readings {
			readings = append(readings, shift(s, m.power))
		}
		if m.other > 0 && (p.langs[German] || !p.langs[English]) {
			for _, s := range num.Readings {
				readings = append(readings, shift(s, m.other))
			}
		}
		num.Readings, num.Weak = readings, false
		at = end
	}
	num.End, num.head = at, at
	num.Unit, num.Noun = p.unit(at)
	if num.Unit == "" {
		num.Unit = p.unitBefore(num.Start)
	}
}

// short returns the power of ten of a magnitude in one or two letters that stands at i behind the
// number that begins at start, 0 if the letters mean something else there: "m" is a metre, "b" a
// byte or the second part of a section. An amount of money makes them magnitudes ("$8m", "3 m EUR");
// without one only a capital M directly behind the number is one ("8M"), a capital B if the number
// has a fraction ("1.5B"), and an abbreviation with its full stop ("2 Mill.").
func (p *numberParser) short(start, i, end int, attached bool) (power int) {
	w := p.text[i:end]
	power = shortMagnitudes[strings.ToLower(w)]
	next, _ := p.at(end)
	switch {
	case power == 0 || digit(next) >= 0 || strings.ContainsRune("-/²³", next):
		return 0
	case attached && p.unitBefore(start) != "" || currency(p.unitDirectly(end)):
		return power
	case w == "M" && attached:
		return power
	case w == "B" && attached && strings.ContainsAny(p.text[start:i], ".,"):
		return power
	case len(w) > 1 && w != strings.ToUpper(w) && next == '.' && !strings.EqualFold(w, "mm"):
		return power
	}
	return 0
}

// unitDirectly returns the unit of the word or sign that follows at i, blanks passed over.
func (p *numberParser) unitDirectly(i int) string {
	for {
		r, n := p.at(i)
		switch {
		case r == ' ' || r == '\u00a0' || r == '\u202f':
			i += n
			continue
		case n == 0:
			return ""
		case !isWord(r):
			return units[string(r)]
		}
		return units[strings.ToLower(p.text[i:p.wordEnd(i)])]
	}
}

func shift(s string, power int) string {
	neg := strings.HasPrefix(s, "-")
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return decimal(value{whole, frac}, power, neg)
}

// unit returns the unit of the number that ends at i: the first known unit among the next
// words of the clause, three at most; else the next word itself as noun.
func (p *numberParser) unit(i int) (unit, noun string) {
	for k := range 3 {
		blank := false
		for {
			r, n := p.at(i)
			if n == 0 || r == '\n' || !unicode.IsSpace(r) && r != '-' {
				break
			}
			blank, i = true, i+n
		}
		r, n := p.at(i)
		if n == 0 {
			break
		}
		if u := units[string(r)]; u != "" && !isWord(r) {
			if r == '°' {
				if next, _ := p.at(i + n); next == 'F' {
					return "°f", ""
				}
			}
			if k == 0 {
				return u, ""
			}
			break
		}
		end := p.wordEnd(i)
		if end == i || k > 0 && !blank {
			break
		}
		w := strings.ToLower(p.text[i:end])
		if w == "per" && strings.HasPrefix(p.text[end:], " cent") || w == "phần" && strings.HasPrefix(p.text[end:], " trăm") {
			return "%", noun
		}
		if stops[w] {
			break
		}
		if u := units[w]; u != "" {
			// One-letter units count only directly at the number: "7 a day".
			if len(w) > 1 || k == 0 {
				return u, noun
			}
		}
		if k == 0 {
			noun = w
		}
		i = end
	}
	return "", noun
}

// unitBefore returns a currency written before the number.
func (p *numberParser) unitBefore(i int) string {
	for i > 0 && (p.text[i-1] == ' ') {
		i--
	}
	if r := p.before(i); r != 0 && !isWord(r) {
		if u := units[string(r)]; currency(u) {
			return u
		}
		return ""
	}
	start := i
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(p.text[:start])
		if !isWord(r) {
			break
		}
		start -= n
	}
	if u := units[strings.ToLower(p.text[start:i])]; i-start >= 3 && currency(u) {
		return u
	}
	return ""
}

func currency(u string) bool {
	switch u {
	case "vnd", "usd", "eur", "gbp", "jpy":
		return true
	}
	return false
}

func (p *numberParser) add(num Number) int {
	num.Text = p.text[num.Start:num.End]
	if num.head == 0 {
		num.head = num.End
	}
	seen := num.Readings[:0]
	for _, s := range num.Readings {
		if !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
	}
	num.Readings = seen
	p.out = append(p.out, num)
	return num.End
}

// finish joins ranges, hands their unit to the first end, and marks list numbers.
func (p *numberParser) finish() {
	for i := range p.out {
		n := &p.out[i]
		if n.Kind == Quantity && p.listNumber(n) {
			n.Weak = true
		}
		if i == 0 {
			continue
		}
		prev := &p.out[i-1]
		if prev.Kind != Quantity || n.Kind != Quantity && n.Kind != Clock {
			continue
		}
		if joinsRange(p.text[prev.End:n.Start]) && !strings.HasPrefix(n.Readings[0], "-") {
			prev.Range, n.Range = true, true
			if prev.Unit == "" {
				prev.Unit, prev.Noun = n.Unit, n.Noun
			}
			// "5 to 7 million": the magnitude belongs to both.
			if m := n.power; m > 0 && prev.power == 0 && len(prev.Readings) == 1 && len(prev.Readings[0]) <= 3 {
				prev.Readings = append(prev.Readings, shift(prev.Readings[0], m))
			}
		}
	}
}

func joinsRange(between string) bool {
	s := strings.TrimSpace(between)
	if r, n := utf8.DecodeRuneInString(s); n == len(s) && n > 0 && isDash(r) {
		return true
	}
	switch strings.ToLower(s) {
	case "to", "bis", "đến", "tới", "till", "until":
		return true
	}
	return false
}

// listNumber reports whether the number only counts an item: it begins a line and a point or
// bracket follows.
func (p *numberParser) listNumber(n *Number) bool {
	if n.End >= len(p.text) || n.End-n.Start > 2 || p.text[n.End] != '.' && p.text[n.End] != ')' {
		return false
	}
	if n.End+1 < len(p.text) && p.text[n.End+1] != ' ' {
		return false
	}
	line := p.text[strings.LastIndexByte(p.text[:n.Start], '\n')+1 : n.Start]
	return strings.TrimSpace(line) == "" && n.End+1 < len(p.text)
}

// clock reads 08:30, 8:30 pm, 5 pm, 17h30, 17 Uhr.
func (p *numberParser) clock(i int) int {
	h, j := p.small(i, 2)
	if j == 0 || h > 24 {
		return 0
	}
	r, n := p.at(j)
	m, end := 0, j
	if r == ':' || r == 'h' {
		mm, k := p.small(j+n, 2)
		if k == 0 || k-(j+n) != 2 || mm > 59 {
			return 0
		}
		if next, _ := p.at(k); isWord(next) {
			return 0
		}
		m, end = mm, k
	}
	// am and pm, with or without a blank; a time of day only with one of them or with minutes.
	k := end
	for p.blank(k) {
		k++
	}
	w := strings.ToLower(p.text[k:p.wordEnd(k)])
	switch {
	case w == "pm" || w == "am" || (w == "p" || w == "a") && strings.HasPrefix(strings.ToLower(p.text[k+1:]), ".m"):
		if h > 12 || h == 0 {
			return 0
		}
		h %= 12
		if w[0] == 'p' {
			h += 12
		}
		end = k + len(w)
		if len(w) == 1 {
			end = min(k+len("p.m."), len(p.text))
		}
	case w == "uhr":
		end = k + len(w)
	case end == j:
		return 0
	}
	p.add(Number{Start: i, End: end, Kind: Clock, Readings: []string{fmt.Sprintf("%02d:%02d", h, m)}})
	return end
}

func (p *numberParser) blank(i int) bool { return i < len(p.text) && p.text[i] == ' ' }

// small reads a number of at most width ASCII digits that no further digit follows; the end is
// 0 if there is none.
func (p *numberParser) small(i, width int) (v, end int) {
	j := i
	for j < len(p.text) && j-i <= width && p.text[j] >= '0' && p.text[j] <= '9' {
		v = v*10 + int(p.text[j]-'0')
		j++
	}
	if j == i || j-i > width {
		return 0, 0
	}
	return v, j
}

// date reads a date at i and returns its end, 0 if there is none: 2026-04-01, 1.4.2026,
// 01/04/2026 (day first, month first as second reading), 1 April 2026, 1. April, 1st of April
// 2026, "1 tháng 4 năm 2026".
func (p *numberParser) date(i int) int {
	if y, j := p.small(i, 4); j-i == 4 && j < len(p.text) && (p.text[j] == '-' || p.text[j] == '/') {
		sep := p.text[j]
		m, k := p.small(j+1, 2)
		if k > 0 && k < len(p.text) && p.text[k] == sep {
			if d, e := p.small(k+1, 2); e > 0 && day(y, m, d) {
				return p.addDate(i, e, iso(y, m, d))
			}
		}
	}
	d, j := p.small(i, 2)
	if j == 0 || d < 1 || d > 31 {
		return 0
	}
	if j < len(p.text) && (p.text[j] == '.' || p.text[j] == '/' || p.text[j] == '-') {
		sep := p.text[j]
		if m, k := p.small(j+1, 2); k > 0 && k < len(p.text) && p.text[k] == sep {
			if y, e := p.small(k+1, 4); e-(k+1) == 4 {
				var readings []string
				if day(y, m, d) {
					readings = append(readings, iso(y, m, d))
				}
				if sep == '/' && day(y, d, m) {
					readings = append(readings, iso(y, d, m))
				}
				if len(readings) > 0 {
					return p.addDate(i, e, readings...)
				}
			}
		}
	}
	// Words: the month follows.
	k := j
	for _, s := range []string{"st", "nd", "rd", "th", "."} {
		if strings.HasPrefix(p.text[k:], s) {
			k += len(s)
			break
		}
	}
	k = p.skip(k, " of")
	if !p.blank(k) {
		return 0
	}
	k++
	end := p.wordEnd(k)
	w := strings.ToLower(p.text[k:end])
	m := months[w]
	if w == "tháng" && p.blank(end) {
		m, end = p.small(end+1, 2)
	}
	if end == 0 || !day(2000, m, d) {
		return 0
	}
	if strings.HasPrefix(p.text[end:], ".") && len(w) <= 4 {
		end++
	}
	e := p.skip(end, ",")
	e = p.skip(e, " năm")
	if y, f := p.small(e+1, 4); p.blank(e) && f-(e+1) == 4 && day(y, m, d) {
		return p.addDate(i, f, iso(y, m, d))
	}
	return p.addDate(i, end, fmt.Sprintf("--%02d-%02d", m, d))
}

func (p *numberParser) skip(i int, s string) int {
	if strings.HasPrefix(p.text[i:], s) {
		return i + len(s)
	}
	return i
}

// monthFirst reads April 1, 2026 and April 2026.
func (p *numberParser) monthFirst(start, end, m int) int {
	if !p.blank(end) {
		return 0
	}
	if y, j := p.small(end+1, 4); j-(end+1) == 4 && y >= 1500 && y < 2200 {
		return p.addDate(start, j, fmt.Sprintf("%04d-%02d", y, m))
	}
	if w := p.text[start:end]; w[0] >= 'a' && w[0] <= 'z' {
		return 0 // "may 5 people": a verb
	}
	d, j := p.small(end+1, 2)
	if j == 0 || !day(2000, m, d) {
		return 0
	}
	for _, s := range []string{"st", "nd", "rd", "th"} {
		if strings.HasPrefix(p.text[j:], s) {
			j += len(s)
			break
		}
	}
	k := p.skip(j, ",")
	if y, e := p.small(k+1, 4); p.blank(k) && e-(k+1) == 4 && day(y, m, d) {
		return p.addDate(start, e, iso(y, m, d))
	}
	if r, _ := p.at(j); isWord(r) {
		return 0
	}
	return p.addDate(start, j, fmt.Sprintf("--%02d-%02d", m, d))
}

func (p *numberParser) addDate(start, end int, readings ...string) int {
	return p.add(Number{Start: start, End: end, Kind: Date, Readings: readings})
}

func iso(y, m, d int) string { return fmt.Sprintf("%04d-%02d-%02d", y, m, d) }

func day(y, m, d int) bool {
	if y < 1 || m < 1 || m > 12 || d < 1 {
		return false
	}
	n := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
	if m == 2 && y%4 == 0 && (y%100 != 0 || y%400 == 0) {
		n = 29
	}
	return d <= n
}
