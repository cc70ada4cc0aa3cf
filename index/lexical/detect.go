package lexical

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
)

// profile counts what the choice of an analyzer rests on.
type profile struct {
	letters, cjk, vietnamese int
	words, english, german   int
	en, de                   map[string]bool
}

// profileBytes bounds how much of each chunk is looked at.
const profileBytes = 2048

func newProfile() *profile {
	return &profile{
		en: prefixes("the of and to is for that with are you be this not it as at by from or was"),
		de: prefixes("der die das und ist nicht ein eine mit für auf den von zu sich des dem im wird bei"),
	}
}

func (p *profile) add(text string) {
	if len(text) > profileBytes {
		text = text[:profileBytes] // a rune cut in two counts as no letter
	}
	start := -1
	for i, r := range text {
		if !unicode.IsLetter(r) {
			if start >= 0 {
				p.word(text[start:i])
				start = -1
			}
			continue
		}
		p.letters++
		switch {
		case isCJK(r):
			p.cjk++
		case r == 'đ' || r == 'Đ' || r == 'ơ' || r == 'Ơ' || r == 'ư' || r == 'Ư' || 0x1EA0 <= r && r <= 0x1EF9:
			p.vietnamese++
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		p.word(text[start:])
	}
}

func (p *profile) word(w string) {
	p.words++
	if len(w) > 5 {
		return
	}
	w = strings.ToLower(w)
	if p.en[w] {
		p.english++
	}
	if p.de[w] {
		p.german++
	}
}

func (p *profile) cjkShare() float64 { return share(p.cjk, p.letters) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// analyzer returns the analyzer for the corpus: cjk from one letter in five on, vi from one letter
// in twenty-five that only Vietnamese has, en or de from one word in ten that is a function word
// of the language, else standard. No choice removes words.
func (p *profile) analyzer() string {
	en, de := share(p.english, p.words), share(p.german, p.words)
	switch {
	case p.cjkShare() >= 0.2:
		return "cjk"
	case share(p.vietnamese, p.letters) >= 0.04:
		return "vi"
	case de >= 0.1 && de > en:
		return "de"
	case en >= 0.1:
		return "en"
	}
	return "standard"
}

// warnings names mismatches between the corpus and the analyzer.
func (p *profile) warnings(s Settings) (w []string) {
	if c := p.cjkShare(); c >= 0.05 && s.Analyzer != "cjk" {
		w = append(w, fmt.Sprintf("%.0f %% of the letters are Chinese, Japanese or Korean, but the analyzer is %s, which takes their characters one by one: set lexical.analyzer to cjk", 100*c, s.Analyzer))
	}
	if s.Stopwords && len(languages()[s.Analyzer].stop) == 0 {
		w = append(w, fmt.Sprintf("lexical.stopwords is on, but analyzer %s has no list of stop words: nothing is removed", s.Analyzer))
	}
	return w
}

func profileOf(docs iter.Seq[Doc]) *profile {
	p := newProfile()
	for d := range docs {
		p.add(d.Title)
		p.add(d.Heading)
		p.add(d.Body)
	}
	return p
}
