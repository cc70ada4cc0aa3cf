package lexical

import (
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
)

// language says how one analyzer treats a word; every field may be zero.
type language struct {
	stem        func(word string) string // lower-case word to its stem
	normalise   func(word string) string // further spelling folded to, when folding is on
	elide       string                   // space-separated prefixes dropped before an apostrophe
	possessive  bool                     // drop a final 's
	stop        []byte                   // stop words in bleve's notation
	cjk         bool                     // characters and pairs of neighbours for CJK runs
	identifiers bool                     // split camelCase
}

// languages returns the table of analyzers. It is a function because the package keeps no
// mutable state.
func languages() map[string]language {
	return map[string]language{
		"standard": {},
		"vi":       {},
		"cjk":      {cjk: true},
		"code":     {identifiers: true},
		"en":       {stem: porterStem, possessive: true, stop: en.EnglishStopWords},
		"de":       {stem: snowball(german.Stem), normalise: germanSpelling, stop: de.GermanStopWords},
		"fr": {stem: snowball(french.Stem), stop: fr.FrenchStopWords,
			elide: "l m t qu n s j d c jusqu quoiqu lorsqu puisqu"},
		"es": {stem: snowball(spanish.Stem), stop: es.SpanishStopWords},
		"it": {stem: snowball(italian.Stem), stop: it.ItalianStopWords,
			elide: "c l all dall dell nell sull coll pell gl agl dagl degl negl sugl un m t s v d"},
		"pt": {stem: snowball(portuguese.Stem), stop: pt.PortugueseStopWords},
		"nl": {stem: snowball(dutch.Stem), stop: nl.DutchStopWords},
		"sv": {stem: snowball(swedish.Stem), stop: sv.SwedishStopWords},
		"da": {stem: snowball(danish.Stem), stop: da.DanishStopWords},
		"no": {stem: snowball(norwegian.Stem), stop: no.NorwegianStopWords},
		"fi": {stem: snowball(finnish.Stem), stop: fi.FinnishStopWords},
		"hu": {stem: snowball(hungarian.Stem), stop: hu.HungarianStopWords},
		"ro": {stem: snowball(romanian.Stem), stop: ro.RomanianStopWords},
		"ru": {stem: snowball(russian.Stem), stop: ru.RussianStopWords},
	}
}

func snowball(stem func(*snowballstem.Env) bool) func(string) string {
	return func(word string) string {
		env := snowballstem.NewEnv(word)
		stem(env)
		return env.Current()
	}
}

// porterStem is bleve's English stemmer (Porter 1980).
func porterStem(word string) string { return filtered(porter.NewPorterStemmer(), word) }

// germanSpelling is bleve's normaliser: ä, ae to a, ß to ss and so on.
func germanSpelling(word string) string { return filtered(de.NewGermanNormalizeFilter(), word) }

func filtered(f analysis.TokenFilter, word string) string {
	return string(f.Filter(analysis.TokenStream{{Term: []byte(word)}})[0].Term)
}

func stopWords(list []byte) (map[string]bool, error) {
	if len(list) == 0 {
		return nil, nil
	}
	words := analysis.NewTokenMap()
	if err := words.LoadBytes(list); err != nil {
		return nil, err
	}
	return words, nil
}

func prefixes(list string) map[string]bool {
	m := map[string]bool{}
	for p := range strings.FieldsSeq(list) {
		m[p] = true
	}
	return m
}

// negations returns the stop words that turn the meaning of a query, in all languages of the
// table.
func negations() map[string]bool {
	return prefixes("no not nor never without nicht kein keine keinem keinen keiner keines ohne ne pas sans " +
		"non senza sin ni não nem sem niet geen zonder inte ej utan ikke uden uten ei eivät ilman nu fără не нет ни без")
}
