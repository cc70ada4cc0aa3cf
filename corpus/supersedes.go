package corpus

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// checkSupersedes resolves the names of superseded documents and reports those that are
// unknown and those that form a circle. A name is an id, or a path relative to the document's
// own folder; the id comes first.
func (c *Collection) checkSupersedes() []error {
	var errs []error
	for i := range c.Documents {
		d := &c.Documents[i]
		var ids []DocumentID
		for _, name := range d.Supersedes {
			old := c.Find(name)
			if old == nil {
				old = c.Find(DocumentID(path.Join(path.Dir(string(d.ID)), string(name))))
			}
			if old == nil {
				msg := fmt.Sprintf("supersedes %q, which is not in the collection", name)
				if near := c.Nearest(name); near != "" {
					msg += fmt.Sprintf(": did you mean %q?", near)
				} else if slices.ContainsFunc(c.Skipped, func(s Skipped) bool { return s.Path == string(name) }) {
					msg += ", since that file was skipped"
				} else {
					msg += ": write the path as it is below the corpus root"
				}
				errs = append(errs, &FileError{Path: string(d.ID), Line: d.keyLine("supersedes"), Msg: msg})
				continue
			}
			if !slices.Contains(ids, old.ID) {
				ids = append(ids, old.ID)
			}
		}
		slices.Sort(ids)
		d.Supersedes = ids
	}
	if len(errs) == 0 {
		errs = c.supersedesCircles()
	}
	return errs
}

// supersedesCircles reports each circle once, at its first document by id. The walk keeps its
// own stack, so that a long chain cannot exhaust the goroutine's.
func (c *Collection) supersedesCircles() []error {
	const (
		unseen = iota
		open
		done
	)
	index := make(map[DocumentID]int, len(c.Documents))
	for i := range c.Documents {
		index[c.Documents[i].ID] = i
	}
	state := make([]uint8, len(c.Documents))
	type frame struct{ doc, next int }
	var errs []error
	for i := range c.Documents {
		if state[i] != unseen {
			continue
		}
		state[i] = open
		stack := []frame{{doc: i}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			old := c.Documents[top.doc].Supersedes
			if top.next == len(old) {
				state[top.doc] = done
				stack = stack[:len(stack)-1]
				continue
			}
			j := index[old[top.next]]
			top.next++
			switch state[j] {
			case unseen:
				state[j] = open
				stack = append(stack, frame{doc: j})
			case open:
				var names []string
				for k := range stack {
					if stack[k].doc == j {
						for _, f := range stack[k:] {
							names = append(names, string(c.Documents[f.doc].ID))
						}
					}
				}
				names = append(names, string(c.Documents[j].ID))
				errs = append(errs, &FileError{Path: names[0], Line: c.Documents[j].keyLine("supersedes"),
					Msg: "documents supersede each other in a circle: " + strings.Join(names, " → ") + ": remove one of the entries"})
			}
		}
	}
	return errs
}

// keyLine returns the line of a front matter key, 0 if it is not found.
func (d *Document) keyLine(key string) int {
	for i, line := range strings.Split(d.Text[:d.frontMatterEnd()], "\n") {
		if rest, ok := strings.CutPrefix(line, key); ok {
			if rest = strings.TrimLeft(rest, " \t"); strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") {
				return i + 1
			}
		}
	}
	return 0
}
