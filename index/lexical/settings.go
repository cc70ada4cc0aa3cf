package lexical

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Settings are what changes the terms or the scores of a lexical index. They are stored in the
// manifest. The zero value is valid.
type Settings struct {
	// Analyzer cuts text into terms: auto (default), standard, en, de, vi, cjk, code, or another
	// language of Analyzers. auto looks at the whole corpus once and takes cjk, vi, en, de or
	// standard; the choice is in Stats.Analyzer.
	Analyzer string `yaml:"analyzer,omitempty" json:"analyzer,omitempty"`
	// K1 saturates the term frequency, 0 to 10; nil means 1.2. 0 ignores frequencies.
	K1 *float64 `yaml:"k1,omitempty" json:"k1,omitempty"`
	// B normalises by length, 0 to 1; nil means 0.75. 0 ignores lengths.
	B *float64 `yaml:"b,omitempty" json:"b,omitempty"`
	// Stopwords removes the stop words of the analyzer's language; off by default, because short
	// questions consist of them and idf already takes care of common words. standard, vi, cjk and
	// code have no list, so nothing is removed there.
	Stopwords bool `yaml:"stopwords,omitempty" json:"stopwords,omitempty"`
	// LongQueries is what happens to the stop words of a query with at least 4 other words: "trim"
	// (default) leaves them out of the search, because repeated common words drown the rest;
	// "keep" searches them too. Shorter queries are searched as they are, negations are always
	// kept, and the index holds every word either way. Measured nDCG@10, analyzer en, keep against
	// trim: cranfield .3668/.3718, cisi .3584/.3939, scifact .6929/.6910.
	LongQueries string `yaml:"long_queries,omitempty" json:"long_queries,omitempty"`
	// Fold indexes a word with diacritics also in its form without them (đ as d, ß as ss), so
	// that "dien thoai" finds "điện thoại" while the exact spelling still scores higher; nil means
	// true. Without folding a query typed without marks finds only text written without marks.
	Fold *bool `yaml:"fold,omitempty" json:"fold,omitempty"`
	// Statistics says over which chunks document frequencies and lengths are taken: "global"
	// (default) over all, so that scores let a patient caller estimate how often a word stands in
	// chunks it may not read; "per-label" over the chunks that the query's filter admits, so that
	// hidden chunks change nothing, at the cost of one pass over the admitted chunks and over the
	// postings of the query's terms.
	Statistics string `yaml:"statistics,omitempty" json:"statistics,omitempty"`
	// Title is the weight of the document's title, 0 to 16; nil means 1. See Fields in the package
	// comment.
	Title *int `yaml:"title,omitempty" json:"title,omitempty"`
	// Heading is the weight of the heading (the context put before a chunk), 0 to 16; nil means 1.
	Heading *int `yaml:"heading,omitempty" json:"heading,omitempty"`
}

const (
	maxWeight = 16

	statisticsGlobal   = "global"
	statisticsPerLabel = "per-label"

	longTrim = "trim"
	longKeep = "keep"
	// longWords is the number of words other than stop words that makes a query long.
	longWords = 4
)

// Analyzers returns the names Settings.Analyzer accepts, sorted.
func Analyzers() []string {
	names := []string{"auto"}
	for name := range languages() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Validate refuses values out of range, naming the setting, the value and the accepted range.
func (s Settings) Validate() error {
	if s.Analyzer != "" && !slices.Contains(Analyzers(), s.Analyzer) {
		return fmt.Errorf("lexical.analyzer %q is unknown: use one of %s", s.Analyzer, strings.Join(Analyzers(), ", "))
	}
	if s.LongQueries != "" && s.LongQueries != longTrim && s.LongQueries != longKeep {
		return fmt.Errorf("lexical.long_queries %q is unknown: use %s or %s", s.LongQueries, longTrim, longKeep)
	}
	if s.Statistics != "" && s.Statistics != statisticsGlobal && s.Statistics != statisticsPerLabel {
		return fmt.Errorf("lexical.statistics %q is unknown: use %s or %s", s.Statistics, statisticsGlobal, statisticsPerLabel)
	}
	// Written so that NaN is refused too.
	if s.K1 != nil && !(*s.K1 >= 0 && *s.K1 <= 10) {
		return fmt.Errorf("lexical.k1 %v is out of range: use 0 to 10 (default 1.2)", *s.K1)
	}
	if s.B != nil && !(*s.B >= 0 && *s.B <= 1) {
		return fmt.Errorf("lexical.b %v is out of range: use 0 to 1 (default 0.75)", *s.B)
	}
	if s.Title != nil && (*s.Title < 0 || *s.Title > maxWeight) {
		return fmt.Errorf("lexical.title %d is out of range: use a whole number from 0 to %d (default 1)", *s.Title, maxWeight)
	}
	if s.Heading != nil && (*s.Heading < 0 || *s.Heading > maxWeight) {
		return fmt.Errorf("lexical.heading %d is out of range: use a whole number from 0 to %d (default 1)", *s.Heading, maxWeight)
	}
	return nil
}

// WithDefaults returns s with every default written out. The pointers are new: the caller's
// values do not change.
func (s Settings) WithDefaults() Settings {
	s.Analyzer = cmp.Or(s.Analyzer, "auto")
	s.K1 = orDefault(s.K1, 1.2)
	s.B = orDefault(s.B, 0.75)
	s.LongQueries = cmp.Or(s.LongQueries, longTrim)
	s.Statistics = cmp.Or(s.Statistics, statisticsGlobal)
	s.Fold = orDefault(s.Fold, true)
	s.Title = orDefault(s.Title, 1)
	s.Heading = orDefault(s.Heading, 1)
	return s
}

func orDefault[T any](p *T, value T) *T {
	if p != nil {
		value = *p
	}
	return &value
}

// Stats describe a built index. They belong into the manifest and are given back to Open.
type Stats struct {
	Model    string `json:"model"`    // name of the scoring formula, "bm25-okapi"
	Library  string `json:"library"`  // inverted index and its version
	Analyzer string `json:"analyzer"` // the one used, never "auto"
	// Settings are the resolved ones: every default written out, auto replaced.
	Settings Settings `json:"settings"`

	Chunks        int     `json:"chunks"`         // N, empty ones included
	Empty         int     `json:"empty"`          // chunks without any term
	Terms         int     `json:"terms"`          // distinct
	Postings      int64   `json:"postings"`       // pairs of term and chunk
	TotalLength   int64   `json:"total_length"`   // weighted words of all chunks
	AverageLength float64 `json:"average_length"` // TotalLength / Chunks, 0 without chunks

	// Words of each field before weighting.
	TitleWords   int64 `json:"title_words"`
	HeadingWords int64 `json:"heading_words"`
	BodyWords    int64 `json:"body_words"`

	// CJK is the share of Han, Kana and Hangul among the letters, 0 to 1.
	CJK float64 `json:"cjk"`
	// Warnings name what will make search worse than it could be.
	Warnings []string `json:"warnings,omitempty"`
}

// Model is the name of the scoring formula in Stats.
const Model = "bm25-okapi"

// Doc is one chunk as it is indexed. The document number is its position, from 0.
type Doc struct {
	ID      string // chunk id, unique, ascending byte-wise
	Title   string // of the document
	Heading string // context put before the chunk, such as the heading path
	Body    string
}
