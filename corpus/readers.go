package corpus

// DefaultReaders returns the formats that are read if Options.Readers is nil. To add or change
// one, pass a table of your own made from it.
func DefaultReaders() []Reader {
	return []Reader{Markdown(), Text(), HTMLPage(), ReStructuredText(), AsciiDoc(), GoSource(), SourceCode(), JSONLines(), DOCX()}
}
