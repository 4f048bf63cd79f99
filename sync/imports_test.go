package sync

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is how every import of this project begins.
const module = "tidemark"

// layer says which packages of the project a package may import. A name that ends in /... stands for all
// packages below it; the first layer that fits counts.
type layer struct {
	of  string
	may []string
}

// layers is the import graph of docs/design.md: imports run one way, from main to civil and money.
func layers() []layer {
	adaptor := []string{"config", "internal/fault", "internal/grant", "internal/remote", "internal/remote/remotetest", "internal/described", "sync/civil", "sync/money"}
	return []layer{
		{"sync/civil", nil},
		{"sync/money", nil},
		{"sync/tracker", []string{"sync/civil", "sync/money"}},
		{"sync/accounting", []string{"sync/civil", "sync/money"}},
		{"sync/tracker/...", append([]string{"sync/tracker", "sync/tracker/..."}, adaptor...)},
		{"sync/accounting/...", append([]string{"sync/accounting", "sync/accounting/..."}, adaptor...)},
		{"state", []string{"sync/tracker", "sync/accounting", "sync/civil", "sync/money", "internal/fault"}},
		{"state/...", []string{"state", "sync/tracker", "sync/accounting", "sync/civil", "sync/money", "internal/fault"}},
		{"sync", []string{"state", "sync/tracker", "sync/accounting", "sync/civil", "sync/money", "internal/fault"}},
		{"config", []string{"sync/civil", "sync/money"}},
		{"systemd", nil},
		{"internal/fault", nil},
		{"internal/perf", nil},
		{"internal/described", nil},
		{"internal/grant", nil},
		{"internal/remote", nil},
		{"internal/remote/remotetest", nil},
		{"internal/histories", []string{
			"sync", "state", "sync/tracker", "sync/tracker/trackertest", "sync/accounting", "sync/accounting/accountingtest", "sync/civil", "sync/money", "internal/remote", "internal/remote/remotetest",
		}},
		{"daemon", []string{"sync", "state", "sync/tracker", "sync/accounting", "sync/civil", "sync/money", "config", "systemd", "internal/fault"}},
		{"daemon/control", nil},
		{"internal/cli", []string{
			"daemon", "daemon/...", "sync", "state", "config", "systemd", "sync/tracker", "sync/tracker/...", "sync/accounting", "sync/accounting/...",
			"sync/civil", "sync/money", "internal/fault", "internal/grant", "internal/remote",
		}},
		{".", []string{"internal/cli"}},
	}
}

func TestImportsRunOneWay(t *testing.T) {
	root := moduleRoot(t)
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "var"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		checkImports(t, root, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("no file was looked at")
	}
}

// moduleRoot is the folder that holds go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// checkImports compares the imports of a file with what its package may import.
func checkImports(t *testing.T, root, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	of := filepath.ToSlash(filepath.Dir(rel))
	i := slices.IndexFunc(layers(), func(l layer) bool { return fits(l.of, of) })
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imported, ours := strings.CutPrefix(name, module+"/")
		switch {
		case !ours:
		case i < 0:
			t.Errorf("%s imports %s, and the graph does not say what %s may import", rel, name, of)
		case !slices.ContainsFunc(layers()[i].may, func(may string) bool { return fits(may, imported) }):
			t.Errorf("%s imports %s, and %s may import only %v", rel, name, of, layers()[i].may)
		}
	}
}

// fits reports whether a package is the one that a pattern names, or is below it where it ends in /... .
func fits(pattern, name string) bool {
	if above, all := strings.CutSuffix(pattern, "/..."); all {
		return strings.HasPrefix(name, above+"/")
	}
	return pattern == name
}

func TestPatternsOfTheGraph(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"sync", "sync", true},
		{"sync", "sync/civil", false},
		{"sync/tracker/...", "sync/tracker/folder", true},
		{"sync/tracker/...", "sync/tracker", false},
		{"sync/tracker/...", "sync/trackers/folder", false},
	}
	for _, tt := range tests {
		if got := fits(tt.pattern, tt.name); got != tt.want {
			t.Errorf("fits(%q, %q) = %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}
