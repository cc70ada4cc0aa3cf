package report

import (
	"fmt"
	"io"
	"strings"
)

// Formats returns the names that Write takes.
func Formats() []string { return []string{"text", "markdown", "junit", "sarif"} }

// Write writes d in the named format, one of Formats; an unknown name is an error that lists them.
func Write(w io.Writer, format string, d Data) error {
	switch format {
	case "text":
		return Text(w, d)
	case "markdown":
		return Markdown(w, d)
	case "junit":
		return JUnit(w, d)
	case "sarif":
		return SARIF(w, d)
	}
	return fmt.Errorf("report format %q is not known: use %s", format, strings.Join(Formats(), ", "))
}
