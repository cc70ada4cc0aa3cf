package chunk

import (
	"errors"
	"fmt"
)

// Ways of cutting, for Settings.Kind.
const (
	KindSection   = "section"   // along headings; long sections at paragraphs, sentences, words
	KindFixed     = "fixed"     // windows of equal size
	KindRecursive = "recursive" // paragraphs, lines, sentences, words, merged up to a size
	KindSentence  = "sentence"  // whole sentences up to a size, never across a heading
)

// Units of sizes, for Settings.Units.
const (
	UnitRunes  = "runes"
	UnitTokens = "tokens"
)

// What Context begins with, for Settings.Prefix.
const (
	PrefixBoth    = "both"    // document title, then heading path
	PrefixHeading = "heading" // heading path
	PrefixTitle   = "title"   // document title
	PrefixNone    = "none"
)

// Settings say how documents are cut. The zero value means the defaults. Settings that the
// kind does not use are ignored, and WithDefaults clears them, so that they make no
// difference to a build.
type Settings struct {
	Kind string `yaml:"kind,omitempty" json:"kind,omitempty"` // section (default), fixed, recursive, sentence

	// For section.
	Max   int `yaml:"max,omitempty" json:"max,omitempty"`     // longest chunk in units; 0 means 900
	Level int `yaml:"level,omitempty" json:"level,omitempty"` // headings up to this level always begin a chunk, deeper ones where the section is too long; 1 to 6, 0 means 2
	Min   int `yaml:"min,omitempty" json:"min,omitempty"`     // a shorter chunk is merged with the next of the same document while both fit Max; 0 merges nothing

	// For fixed, recursive and sentence.
	Size    int `yaml:"size,omitempty" json:"size,omitempty"`       // longest chunk in units; 0 means 400
	Overlap int `yaml:"overlap,omitempty" json:"overlap,omitempty"` // units that a chunk repeats of the one before; less than Size. fixed: exactly, else at most

	Units string `yaml:"units,omitempty" json:"units,omitempty"` // runes (default) or tokens, see Count

	// What is embedded and indexed with a chunk; its text never changes.
	Prefix     string `yaml:"prefix,omitempty" json:"prefix,omitempty"`         // both (default), heading, title, none; headings that the chunk shows are left out
	Neighbours int    `yaml:"neighbours,omitempty" json:"neighbours,omitempty"` // sentences before and after the chunk
}

// WithDefaults returns s with every setting that its kind uses filled in and all others zero.
func (s Settings) WithDefaults() Settings {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	if s.Kind == "" {
		s.Kind = KindSection
	}
	if s.Units == "" {
		s.Units = UnitRunes
	}
	if s.Prefix == "" {
		s.Prefix = PrefixBoth
	}
	if s.Kind == KindSection {
		def(&s.Max, 900)
		def(&s.Level, 2)
		s.Size, s.Overlap = 0, 0
	} else {
		def(&s.Size, 400)
		s.Max, s.Level, s.Min = 0, 0, 0
	}
	return s
}

// Limit returns the greatest length of a chunk in units.
func (s Settings) Limit() int {
	if s = s.WithDefaults(); s.Kind == KindSection {
		return s.Max
	}
	return s.Size
}

// Validate reports settings that no document can be cut by, all at once.
func (s Settings) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("chunk: "+format, args...)) }
	oneOf := func(name, have string, want ...string) {
		for _, w := range want {
			if have == w {
				return
			}
		}
		fail("%s is %q: use one of %v", name, have, want)
	}
	given := s
	s = s.WithDefaults()
	oneOf("kind", s.Kind, KindSection, KindFixed, KindRecursive, KindSentence)
	oneOf("units", s.Units, UnitRunes, UnitTokens)
	oneOf("prefix", s.Prefix, PrefixBoth, PrefixHeading, PrefixTitle, PrefixNone)
	if s.Neighbours < 0 || s.Neighbours > 10 {
		fail("neighbours is %d: use 0 to 10", s.Neighbours)
	}
	if s.Kind == KindSection {
		if s.Max < 1 {
			fail("max is %d: it must be at least 1", s.Max)
		}
		if s.Level < 1 || s.Level > 6 {
			fail("level is %d: use 1 to 6", s.Level)
		}
		if s.Min < 0 || s.Min > s.Max {
			fail("min is %d and max is %d: min must be from 0 to max", s.Min, s.Max)
		}
		return errors.Join(errs...)
	}
	switch {
	case s.Size < 1:
		fail("size is %d and overlap is %d: size must be at least 1", s.Size, s.Overlap)
	case s.Overlap < 0:
		fail("overlap is %d and size is %d: overlap must not be negative", s.Overlap, s.Size)
	case s.Overlap >= s.Size && given.Size == 0:
		fail("overlap is %d and size is %d (the default): overlap must be less than size", s.Overlap, s.Size)
	case s.Overlap >= s.Size:
		fail("overlap is %d and size is %d: overlap must be less than size", s.Overlap, s.Size)
	}
	return errors.Join(errs...)
}
