package workbook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus/workbook"
)

type data struct {
	Schema string   `json:"schema"`
	Notes  []string `json:"notes"`
	Cases  []struct {
		ID         string              `json:"id"`
		Question   string              `json:"question"`
		Answerable bool                `json:"answerable"`
		Relevant   []string            `json:"relevant"`
		Claims     map[string][]string `json:"claims"`
		Expected   []string            `json:"expected"`
		Systems    map[string]struct {
			Retrieved []string `json:"retrieved"`
			Claims    []struct {
				ID        string   `json:"id"`
				Citations []string `json:"citations"`
			} `json:"claims"`
		} `json:"systems"`
	} `json:"cases"`
}

func load(t *testing.T) data {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(workbook.Data()))
	dec.DisallowUnknownFields()
	var d data
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%s: %v", workbook.DataFile, err)
	}
	return d
}

// Labels, claims and recorded outputs refer only to what exists.
func TestLabels(t *testing.T) {
	d := load(t)
	if d.Schema != workbook.Schema {
		t.Errorf("schema %q, want %q", d.Schema, workbook.Schema)
	}
	var files []string
	err := fs.WalkDir(workbook.Notes(), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, strings.TrimSuffix(path, ".md"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(d.Notes)), files); diff != "" {
		t.Errorf("notes listed against notes in the folder (-listed +files):\n%s", diff)
	}
	for _, c := range d.Cases {
		if c.Answerable == (len(c.Relevant) == 0) {
			t.Errorf("case %s: answerable %v with %d relevant notes", c.ID, c.Answerable, len(c.Relevant))
		}
		supporting := map[string]bool{}
		for claim, notes := range c.Claims {
			for _, n := range notes {
				supporting[n] = true
				if !slices.Contains(c.Relevant, n) {
					t.Errorf("case %s: claim %s is supported by %s, which is not relevant", c.ID, claim, n)
				}
			}
		}
		for _, n := range c.Relevant {
			if !supporting[n] {
				t.Errorf("case %s: relevant note %s supports no claim", c.ID, n)
			}
			if !slices.Contains(d.Notes, n) {
				t.Errorf("case %s: unknown note %s", c.ID, n)
			}
		}
		for _, e := range c.Expected {
			if len(c.Claims[e]) == 0 {
				t.Errorf("case %s: expected claim %s has no support label", c.ID, e)
			}
		}
		for name, s := range c.Systems {
			for _, n := range s.Retrieved {
				if !slices.Contains(d.Notes, n) {
					t.Errorf("case %s, system %s: unknown retrieved note %s", c.ID, name, n)
				}
			}
		}
	}
}

// The table follows from the data. This is a second, deliberately plain computation beside the
// scorer's: it reads each rule of the contract literally.
func TestTable(t *testing.T) {
	var got strings.Builder
	fmt.Fprintln(&got, "case system | P@2 R@2 RR@2 support coverage abstention")
	for _, c := range load(t).Cases {
		for _, name := range []string{"A", "B"} {
			s := c.Systems[name]
			shown := s.Retrieved[:min(len(s.Retrieved), workbook.Cutoff)]
			p, r, rr := "n/a", "n/a", "n/a"
			if len(c.Relevant) > 0 {
				found, first := 0, 0.0
				for i, n := range shown {
					if slices.Contains(c.Relevant, n) {
						found++
						if first == 0 {
							first = 1 / float64(i+1)
						}
					}
				}
				p = fmt.Sprintf("%.2f", float64(found)/workbook.Cutoff)
				r = fmt.Sprintf("%.2f", float64(found)/float64(len(c.Relevant)))
				rr = fmt.Sprintf("%.2f", first)
			}
			supported, covered := 0, 0
			for _, claim := range s.Claims {
				ok := len(claim.Citations) > 0
				for _, n := range claim.Citations {
					ok = ok && slices.Contains(c.Claims[claim.ID], n) && slices.Contains(shown, n)
				}
				if ok {
					supported++
					if slices.Contains(c.Expected, claim.ID) {
						covered++
					}
				}
			}
			support, coverage, abstention := "n/a", "n/a", "n/a"
			if len(s.Claims) > 0 {
				support = fmt.Sprintf("%.2f", float64(supported)/float64(len(s.Claims)))
			}
			if len(c.Expected) > 0 {
				coverage = fmt.Sprintf("%.2f", float64(covered)/float64(len(c.Expected)))
			}
			if !c.Answerable {
				abstention = "no"
				if len(s.Claims) == 0 {
					abstention = "yes"
				}
			}
			fmt.Fprintf(&got, "%s %s | %s %s %s %s %s %s\n", c.ID, name, p, r, rr, support, coverage, abstention)
		}
	}
	if diff := cmp.Diff(string(workbook.Table()), got.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
