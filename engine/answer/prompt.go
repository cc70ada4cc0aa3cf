package answer

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

//go:embed prompts/*.txt
var promptFiles embed.FS

// Prompts are the texts sent to a model. {{tag}}, {{passages}}, {{question}} and {{n}} are
// filled in. The zero value stands for the bundled files.
type Prompts struct {
	System  string // of an answer
	User    string // of an answer: the passages and the question
	Rewrite string // of Chat.Rewrite
	Queries string // of Chat.Queries
}

// WithDefaults returns p with the bundled text in every empty field.
func (p Prompts) WithDefaults() Prompts {
	for _, f := range []struct {
		to   *string
		file string
	}{{&p.System, "system"}, {&p.User, "user"}, {&p.Rewrite, "rewrite"}, {&p.Queries, "queries"}} {
		if *f.to == "" {
			data, err := promptFiles.ReadFile("prompts/" + f.file + ".txt")
			if err != nil {
				panic("engine/answer: " + err.Error()) // unreachable: the file is embedded
			}
			*f.to = string(data)
		}
	}
	return p
}

// Revision returns the SHA-256 of all prompts with their lengths, in hex: any change of a
// prompt is another revision.
func (p Prompts) Revision() string {
	p = p.WithDefaults()
	h := sha256.New()
	for _, s := range []string{p.System, p.User, p.Rewrite, p.Queries} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// borderTag returns a code for the borders around data in a prompt. It is the same for the
// same data and seed, so that a call can be repeated, and occurs nowhere in the data: whoever
// writes a document would have to put a digest of the document into it.
func borderTag(seed int64, data ...string) string {
	for n := 0; ; n++ {
		h := sha256.New()
		io.WriteString(h, strconv.FormatInt(seed, 10)+"/"+strconv.Itoa(n)) //nolint:errcheck // a hash never fails
		for _, d := range data {
			fmt.Fprintf(h, "/%d:%s", len(d), d)
		}
		tag := hex.EncodeToString(h.Sum(nil))[:16]
		held := false
		for _, d := range data {
			held = held || strings.Contains(strings.ToLower(d), tag)
		}
		if !held {
			return tag
		}
	}
}

// fill replaces the placeholders of a prompt in one pass, so that a placeholder inside data
// stays what it is.
func fill(prompt string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(prompt)
}

// messages returns the system and user messages of a request.
func (p Prompts) messages(r Request) (system, user string) {
	data := []string{r.Question}
	for i := range r.Passages {
		data = append(data, r.Passages[i].Text)
	}
	tag := borderTag(r.Seed, data...)
	var b strings.Builder
	for i := range r.Passages {
		ps := &r.Passages[i]
		fmt.Fprintf(&b, "<passage-%s marker=\"%d\">\n%s\n</passage-%s>\n", tag, ps.Marker, ps.Text, tag)
	}
	if len(r.Passages) == 0 {
		b.WriteString("(no passages were found)\n")
	}
	return fill(p.System, "{{tag}}", tag), fill(p.User, "{{tag}}", tag, "{{passages}}", b.String(), "{{question}}", r.Question)
}
