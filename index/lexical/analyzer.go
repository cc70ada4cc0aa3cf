package lexical

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// maxTermBytes bounds a term; longer words are cut at a rune boundary, in documents and queries
// alike.
const maxTermBytes = 255

// Analyzer cuts text into terms. It is immutable and safe for concurrent use.
//
// Words are those of Unicode text segmentation (UAX #29, bleve's segmenter) after NFC
// normalisation, in lower case and, for a language with a stemmer, stemmed. At the same place may
// stand variants: the spelling without diacritics (Settings.Fold), a product code or identifier
// as a whole and in parts ("QX-310/B": qx, 310, b, and qx-310/b, qx310, 310b, qx310b), a word
// with its trailing plus or hash signs ("C++": c and c++), and for the analyzer cjk pairs of
// neighbouring characters beside the single ones. Nothing in a text is syntax.
type Analyzer struct {
	name  string
	lang  language
	fold  bool
	stop  map[string]bool // nil: keep all words
	trim  map[string]bool // left out of long queries
	elide map[string]bool
}

// NewAnalyzer returns the analyzer that s names. "auto" needs a corpus, which Build has; here it
// is the same as standard.
func NewAnalyzer(s Settings) (*Analyzer, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.WithDefaults()
	if s.Analyzer == "auto" {
		s.Analyzer = "standard"
	}
	a := &Analyzer{name: s.Analyzer, lang: languages()[s.Analyzer], fold: *s.Fold}
	a.elide = prefixes(a.lang.elide)
	words, err := stopWords(a.lang.stop)
	if err != nil { // unreachable unless bleve's list is broken
		return nil, fmt.Errorf("stop words of analyzer %s: %w", s.Analyzer, err)
	}
	switch {
	case s.Stopwords:
		a.stop = words
	case s.LongQueries == longTrim:
		a.trim = words
		for w := range negations() {
			delete(a.trim, w)
		}
	}
	return a, nil
}

// Name returns the analyzer's name, never "auto".
func (a *Analyzer) Name() string { return a.name }

// Terms returns the terms of text in reading order, repeated ones repeated, variants after the
// word they stand beside or, for codes, after the code's last word. Text without letters or
// digits has none.
func (a *Analyzer) Terms(text string) []string {
	var terms []string
	s := scanner{a: a}
	s.scan(text, func(term string, _ bool) { terms = append(terms, term) })
	return terms
}

// QueryTerms returns the terms a query is searched for: those of Terms, but without the stop words
// of a long query, see Settings.LongQueries.
func (a *Analyzer) QueryTerms(query string) []string {
	s := scanner{a: a}
	if len(a.trim) > 0 {
		others := 0
		s.scan(query, func(string, bool) {})
		for _, t := range s.tokens {
			if !a.trim[strings.ToLower(string(s.buf[t.start:t.end]))] {
				others++
			}
		}
		s.trim = others >= longWords
	}
	var terms []string
	s.scan(query, func(term string, _ bool) { terms = append(terms, term) })
	return terms
}

// HasWords reports whether text holds any word, stop words included.
func (a *Analyzer) HasWords(text string) bool {
	seg := segment.NewWordSegmenterDirect([]byte(text))
	for seg.Segment() {
		if seg.Type() != segment.None {
			return true
		}
	}
	return false
}

// forms are the terms of one word: itself and its folded spelling, "" where there is none.
type forms struct {
	term, folded string
	stop         bool
}

// scanner runs an Analyzer over many texts and remembers the words it met. Not for concurrent
// use.
type scanner struct {
	a      *Analyzer
	words  map[string]forms // by surface form; nil remembers nothing
	trim   bool             // leave out Analyzer.trim
	buf    []byte
	tokens []token
	code   coder
	at     token // place of the term that is being emitted
}

type token struct{ start, end int }

// maxRemembered bounds scanner.words.
const maxRemembered = 1 << 16

// scan calls emit for each term of text; variant says that the term stands beside a word and
// does not count towards the length.
func (s *scanner) scan(text string, emit func(term string, variant bool)) {
	if s.a.lang.cjk {
		text = width.Fold.String(text) // before NFC: a half-width sound mark joins its letter
	}
	if !norm.NFC.IsNormalString(text) {
		text = norm.NFC.String(text)
	}
	s.buf = append(s.buf[:0], text...)
	s.tokens = s.tokens[:0]
	seg := segment.NewWordSegmenterDirect(s.buf)
	at := 0
	for seg.Segment() {
		n := len(seg.Bytes())
		if seg.Type() != segment.None {
			s.split(text, at, at+n)
		}
		at += n
	}
	s.code.reset(text, s.a.lang.identifiers)
	var lastCJK token // the CJK character before, to pair with
	for i, t := range s.tokens {
		word := text[t.start:t.end]
		if s.a.lang.cjk && startsCJK(word) {
			lastCJK = s.characters(text, t, lastCJK, emit)
		} else {
			f := s.forms(word)
			if s.at = t; !f.stop {
				emit(f.term, false)
				if f.folded != "" {
					emit(f.folded, true)
				}
			}
		}
		// Codes may span several words: their variants follow the last word inside.
		next := len(text)
		if i+1 < len(s.tokens) {
			next = s.tokens[i+1].start
		}
		s.code.variants(t.start, t.end, next, func(v string, whole bool) {
			s.at = token{s.code.start, s.code.end}
			if whole {
				emit(cut(v), true)
				return
			}
			if f := s.forms(v); !f.stop {
				emit(f.term, true)
				if f.folded != "" {
					emit(f.folded, true)
				}
			}
		})
	}
}

// split adds the tokens of one segment. Unicode keeps "field:value" in one piece, for the sake
// of Swedish abbreviations; to readers it is two words.
func (s *scanner) split(text string, start, end int) {
	for {
		i := strings.IndexByte(text[start:end], ':')
		if i < 0 {
			break
		}
		if i > 0 {
			s.tokens = append(s.tokens, token{start, start + i})
		}
		start += i + 1
	}
	if start < end {
		s.tokens = append(s.tokens, token{start, end})
	}
}

// characters emits the runes of one CJK token and their pairs, the pair with the token before
// included if the two touch. It returns the last character.
func (s *scanner) characters(text string, t, last token, emit func(string, bool)) token {
	for i, r := range text[t.start:t.end] {
		start := t.start + i
		this := token{start: start, end: start + utf8.RuneLen(r)}
		if r == utf8.RuneError { // unreachable: the text was normalised and starts with a CJK rune
			continue
		}
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		s.at = this
		emit(text[this.start:this.end], false)
		if last.end == this.start && last.end > 0 {
			s.at = token{last.start, this.end}
			emit(text[last.start:this.end], true)
		}
		last = this
	}
	return last
}

func (s *scanner) forms(word string) forms {
	if f, ok := s.words[word]; ok {
		return f
	}
	if s.trim && s.a.trim[strings.ToLower(word)] {
		return forms{stop: true}
	}
	if s.words == nil || len(s.words) >= maxRemembered {
		return s.a.forms(word)
	}
	word = strings.Clone(word) // or what is remembered would keep whole texts alive
	f := s.a.forms(word)
	s.words[word] = f
	return f
}

func (a *Analyzer) forms(word string) forms {
	w := strings.ToLower(word)
	if a.lang.possessive {
		w = trimPossessive(w)
	}
	if len(a.elide) > 0 {
		if i := strings.IndexAny(w, "'’"); i > 0 && a.elide[w[:i]] {
			_, n := utf8.DecodeRuneInString(w[i:])
			if i+n < len(w) {
				w = w[i+n:]
			}
		}
	}
	if a.stop[w] {
		return forms{stop: true}
	}
	f := forms{term: cut(a.stem(w))}
	if a.fold {
		folded := Fold(w)
		if a.lang.normalise != nil {
			folded = a.lang.normalise(folded)
		}
		if folded != w {
			if folded = cut(a.stem(folded)); folded != f.term {
				f.folded = folded
			}
		}
	}
	return f
}

func (a *Analyzer) stem(w string) string {
	if a.lang.stem == nil {
		return w
	}
	if s := a.lang.stem(w); s != "" {
		return s
	}
	return w
}

func trimPossessive(w string) string {
	for _, suffix := range []string{"'s", "’s", "＇s"} {
		if t, ok := strings.CutSuffix(w, suffix); ok && t != "" {
			return t
		}
	}
	return w
}

func cut(term string) string {
	if len(term) <= maxTermBytes {
		return term
	}
	n := maxTermBytes
	for n > 0 && !utf8.RuneStart(term[n]) {
		n--
	}
	return term[:n]
}

func startsCJK(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return isCJK(r)
}

// isCJK reports whether r is written without spaces between words and so is indexed by character
// and pair. Hangul has spaces, but its endings make pairs the usual choice there too.
func isCJK(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) ||
		r == 'ー' || r == 'ｰ'
}
