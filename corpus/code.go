package corpus

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"unicode/utf8"
)

// GoSource returns the reader of Go. Each top-level declaration with its comment is a section:
// the name of a function, Type.Method, the first name of a type, const or var declaration. A
// file that does not parse is read as SourceCode reads it, with a warning.
func GoSource() Reader {
	return Reader{Name: "go", Extensions: []string{".go"}, Read: readGo}
}

// SourceCode returns the reader of program text in any language: no sections, and blocks that
// are separated by blank lines.
func SourceCode() Reader {
	return Reader{
		Name: "code",
		Extensions: []string{".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".js", ".jsx", ".ts", ".tsx", ".py", ".rb", ".rs", ".kt",
			".swift", ".scala", ".php", ".sh", ".sql", ".lua", ".pl", ".r", ".m", ".proto"},
		Read: func(_ context.Context, in *Input) ([]Document, error) {
			return []Document{codeDocument(in, nil)}, nil
		},
	}
}

func codeDocument(in *Input, headings []heading) Document {
	d := Document{Text: in.Text, Title: path.Base(in.Path)}
	d.Sections = outline(headings, 0, len(d.Text))
	d.Blocks = codeBlocks(d.Text, d.Sections)
	place(&d)
	return d
}

// codeBlocks are runs of non-blank lines; a section begins a new one.
func codeBlocks(text string, sections []Section) []Block {
	var blocks []Block
	open := false
	next := 1
	eachLine(text, 0, func(l textLine) {
		for next < len(sections) && sections[next].Span.Start <= l.start {
			open = false
			next++
		}
		if strings.TrimSpace(l.of(text)) == "" {
			open = false
			return
		}
		if !open {
			blocks = append(blocks, Block{Kind: Code, Span: Span{l.start, l.end}})
			open = true
		}
		blocks[len(blocks)-1].Span.End = l.end
	})
	return blocks
}

// maxGoSource bounds what is parsed: the tree takes many times the size of the file. The
// parser itself bounds nesting.
const maxGoSource = 8 << 20

func readGo(_ context.Context, in *Input) ([]Document, error) {
	if len(in.Text) > maxGoSource {
		in.Warn(0, "longer than %d bytes: read without sections", maxGoSource)
		return []Document{codeDocument(in, nil)}, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", in.Text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		in.Warn(0, "does not parse as Go, read without sections: %v", err)
		return []Document{codeDocument(in, nil)}, nil
	}
	base := fset.File(file.FileStart)
	var headings []heading
	last := -1
	for _, decl := range file.Decls {
		name := goName(decl)
		if name == "" {
			continue
		}
		pos := decl.Pos()
		if doc := goDoc(decl); doc != nil && doc.Pos() < pos {
			pos = doc.Pos()
		}
		start := base.Offset(pos)
		start = strings.LastIndexByte(in.Text[:start], '\n') + 1
		if start <= last || !utf8.ValidString(name) {
			continue // two declarations on one line
		}
		last = start
		headings = append(headings, heading{level: 1, start: start, body: start, title: name})
	}
	d := codeDocument(in, headings)
	return []Document{d}, nil
}

func goDoc(decl ast.Decl) *ast.CommentGroup {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

func goName(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && len(d.Recv.List) > 0 {
			if t := receiver(d.Recv.List[0].Type); t != "" {
				return t + "." + d.Name.Name
			}
		}
		return d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				return s.Name.Name
			case *ast.ValueSpec:
				return s.Names[0].Name
			}
		}
	}
	return ""
}

func receiver(t ast.Expr) string {
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.ParenExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
