package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/seed792a4543/assay/corpus"
)

// Formats returns the names that Write takes.
func Formats() []string { return []string{"text", "markdown", "junit", "sarif"} }

// Write writes d in the named format, one of Formats; an unknown name is an error that lists them.
func Write(w io.Writer, format string, d Data) error {
	switch format {
	case "text":
		return marked(w, Text(w, d), "[%s]")
	case "markdown":
		return marked(w, Markdown(w, d), "<!-- %s -->")
	case "junit":
		return JUnit(w, d)
	case "sarif":
		return SARIF(w, d)
	}
	return fmt.Errorf("report format %q is not known: use %s", format, strings.Join(Formats(), ", "))
}

// marked writes the mark of a report behind it unless err says that it is not whole.
func marked(w io.Writer, err error, form string) error {
	if err == nil {
		_, err = fmt.Fprintf(w, "\n"+form+"\n", corpus.ReportMark)
	}
	return err
}
