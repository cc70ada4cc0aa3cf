package corpus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rules give documents permissions and successors by their path, for formats that cannot carry
// them and for whole folders.
type rules struct {
	acl        map[string][]string // pattern → labels, sorted and unique
	supersedes map[DocumentID][]DocumentID
	used       map[string]bool // patterns that matched a file
}

// rules reads the rules of o; Validate has found nothing wrong with them.
func (o Options) rules() *rules {
	r := &rules{acl: map[string][]string{}, supersedes: map[DocumentID][]DocumentID{}, used: map[string]bool{}}
	for pattern, labels := range o.ACL {
		r.acl[pattern], _ = aclLabels(labels)
	}
	for doc, olds := range o.Supersedes {
		id := DocumentID(Normalize(doc))
		for _, old := range olds {
			r.supersedes[id] = append(r.supersedes[id], DocumentID(Normalize(old)))
		}
	}
	return r
}

// checkRules reports rules that cannot be meant.
func (o Options) checkRules() []error {
	var errs []error
	for _, pattern := range slices.Sorted(maps.Keys(o.ACL)) {
		errs = append(errs, checkGlobs("acl", []string{pattern}))
		if labels, problem := aclLabels(o.ACL[pattern]); problem != "" {
			errs = append(errs, fmt.Errorf("acl of %q %s", pattern, problem))
		} else if len(labels) == 0 {
			errs = append(errs, fmt.Errorf("acl of %q has no labels: name those who may read the files, or remove the rule", pattern))
		}
	}
	for _, doc := range slices.Sorted(maps.Keys(o.Supersedes)) {
		olds := o.Supersedes[doc]
		if doc == "" || len(olds) == 0 || slices.Contains(olds, "") {
			errs = append(errs, fmt.Errorf("supersedes of %q names no document: write the path of the older one, or remove the rule", doc))
		}
	}
	return errs
}

// aclLabels returns the labels of a permission, normalised, sorted and unique, or what is wrong
// with them.
func aclLabels(labels []string) (acl []string, problem string) {
	for _, label := range labels {
		label = Normalize(label)
		switch {
		case strings.TrimSpace(label) == "":
			return nil, "holds an empty label: remove it"
		case strings.TrimSpace(label) != label:
			return nil, fmt.Sprintf("label %q begins or ends with white space: remove it", label)
		case strings.Contains(label, ","):
			// Most likely two labels; nobody could hold this one.
			return nil, fmt.Sprintf("label %q holds a comma: write a list, such as acl: [board, staff]", label)
		}
		acl = append(acl, label)
	}
	slices.Sort(acl)
	return slices.Compact(acl), ""
}

// see notes that there is a file of this path.
func (r *rules) see(path string) {
	for pattern := range r.acl {
		if !r.used[pattern] && matchGlob(pattern, path) {
			r.used[pattern] = true
		}
	}
}

// narrow applies the permissions of a file's path to a document that was read from it. Rules only
// take readers away: with labels of its own, and under several rules, a document keeps those
// labels that all of them name.
func (r *rules) narrow(path string, d *Document) error {
	for _, pattern := range slices.Sorted(maps.Keys(r.acl)) {
		if !matchGlob(pattern, path) {
			continue
		}
		labels := r.acl[pattern]
		if len(d.ACL) == 0 {
			d.ACL = slices.Clone(labels)
			continue
		}
		both := make([]string, 0, len(d.ACL))
		for _, label := range d.ACL {
			if slices.Contains(labels, label) {
				both = append(both, label)
			}
		}
		if len(both) == 0 {
			return &FileError{Path: path, Line: d.keyLine("acl"),
				Msg: fmt.Sprintf("acl %s has no label in common with the rule for %q, which admits %s: nobody could read it; add a label to one of them", strings.Join(d.ACL, ", "), pattern, strings.Join(labels, ", "))}
		}
		d.ACL = both
	}
	return nil
}

// finish names the superseded documents of c, whose documents are sorted, and reports rules that
// concern no file or no document: a misspelt one would leave documents public.
func (r *rules) finish(c *Collection) error {
	var errs []error
	for _, pattern := range slices.Sorted(maps.Keys(r.acl)) {
		if !r.used[pattern] {
			errs = append(errs, fmt.Errorf("acl: the pattern %q matches no file of the corpus, so the rule protects nothing: correct it, or remove it", pattern))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.supersedes)) {
		d := c.Find(id)
		if d == nil {
			msg := fmt.Sprintf("supersedes: the document %q is not in the collection", id)
			if near := c.Nearest(id); near != "" {
				msg += fmt.Sprintf(": did you mean %q?", near)
			} else {
				msg += ": write the path as it is below the corpus root"
			}
			errs = append(errs, errors.New(msg))
			continue
		}
		d.Supersedes = append(slices.Clip(d.Supersedes), r.supersedes[id]...)
	}
	return errors.Join(errs...)
}
