// Package licencetest confirms that docs/licences.md lists the licence of every module that is
// compiled into the program, and that each licence is one the project accepts.
package licencetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// update asks for docs/licences.md to be written anew.
const update = "ASSAY_UPDATE_LICENCES"

// licences are the accepted ones, each with words that only its text holds, blanks made single.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"BSD-3-Clause", "contributors may be used to endorse or promote products"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"CC0-1.0", "CC0 1.0 Universal"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
}

type module struct{ path, licence string }

func TestLicences(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	var modules []module
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Main}}\t{{.Dir}}{{end}}", "./...")
		list.Dir = root
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		var stderr bytes.Buffer
		list.Stderr = &stderr
		out, err := list.Output()
		if err != nil {
			t.Skipf("the module cache is not at hand: %v: %s", err, stderr.String())
		}
		for line := range strings.Lines(string(out)) {
			path, rest, ok := strings.Cut(strings.TrimSpace(line), "\t")
			main, dir, _ := strings.Cut(rest, "\t")
			if !ok || main == "true" || seen[path] {
				continue
			}
			seen[path] = true
			name, err := licenceOf(dir)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			modules = append(modules, module{path, name})
		}
	}
	if len(modules) < 10 {
		t.Fatalf("only %d modules", len(modules))
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	var want strings.Builder
	fmt.Fprintf(&want, "# Licences of the modules compiled into assay\n\nOn Linux, macOS and Windows, the packages of this module together. Written by `%s=1 go test ./internal/licencetest`; the test fails when the list is out of date.\n\n| module | licence |\n|---|---|\n", update)
	for _, m := range modules {
		fmt.Fprintf(&want, "| %s | %s |\n", m.path, m.licence)
	}
	file := filepath.Join(root, "docs", "licences.md")
	if os.Getenv(update) == "1" {
		if err := os.WriteFile(file, []byte(want.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(have), "\r\n", "\n") != want.String() {
		t.Errorf("docs/licences.md is out of date: run %s=1 go test ./internal/licencetest", update)
	}
}

// licenceOf names the licence in a module's folder.
func licenceOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "UNLICENSE") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		text := strings.Join(strings.Fields(string(data)), " ")
		for _, l := range licences {
			if strings.Contains(strings.ToLower(text), strings.ToLower(l.words)) {
				return l.name, nil
			}
		}
		return "", fmt.Errorf("%s is no licence the project knows", e.Name())
	}
	return "", fmt.Errorf("no licence in its folder")
}
