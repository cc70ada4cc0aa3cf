// Package workbook is a bundled fixture for grounded answers: five notes, four questions and
// the recorded outputs of two systems, A and B. The questions' labels say which notes are
// relevant and which note supports which claim, so that every number follows by arithmetic and
// no model is asked. At k = 2 the fixture must give exactly the table in TableFile.
//
// The package holds data only; scoring is the task of evalkit/answer.
package workbook

import (
	"embed"
	"io/fs"
)

// Names of the parts of Files.
const (
	Name      = "workbook"          // name of the collection
	Schema    = "assay.workbook/v1" // value of the key "schema" in DataFile
	NotesDir  = "notes"             // folder of the notes; note "launch" is notes/launch.md
	DataFile  = "workbook.json"     // questions, labels and recorded outputs
	TableFile = "expected.txt"      // the table they give at Cutoff, one line a case and system
	Cutoff    = 2                   // the k of the table
)

// Files holds the notes, the data and the expected table.
//
//go:embed notes workbook.json expected.txt
var Files embed.FS

// Notes returns the notes alone, with paths relative to their folder ("launch.md").
func Notes() fs.FS {
	sub, err := fs.Sub(Files, NotesDir)
	if err != nil {
		panic("workbook: " + err.Error()) // unreachable: NotesDir is a valid path
	}
	return sub
}

// Data returns the questions with their labels and recorded outputs: one JSON document.
// The caller owns the slice.
func Data() []byte { return read(DataFile) }

// Table returns the table that the data must give at Cutoff: a header line, then
// "case system | P@2 R@2 RR@2 support coverage abstention". The caller owns the slice.
func Table() []byte { return read(TableFile) }

func read(name string) []byte {
	data, err := Files.ReadFile(name)
	if err != nil {
		panic("workbook: " + err.Error()) // unreachable: the file is embedded
	}
	return data
}
