package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/index/remote"
	"github.com/seed792a4543/assay/index/remote/internal/remotetest"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay-remote": main})
}

// assayBinary builds the command that makes builds and returns its folder.
func assayBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./cmd/assay")
	cmd.Dir = "../../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestScripts runs the transcripts against the cluster in memory, those of testdata/fake only
// there.
func TestScripts(t *testing.T) {
	bin := assayBinary(t)
	for _, dir := range []string{"testdata/script", "testdata/fake"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			runScripts(t, bin, dir, func() cluster {
				f := remotetest.NewFake(t, 2)
				return cluster{f.Nodes(), func(i int) { f.SetDown(i, true) }, func(i int) { f.SetDown(i, false) }}
			})
		})
	}
}

// TestLiveScripts runs the same transcripts against a node of the real server.
func TestLiveScripts(t *testing.T) {
	s := remotetest.Start(t, 1, 22000)
	runScripts(t, assayBinary(t), "testdata/script", func() cluster { return cluster{nodes: s.Nodes()} })
}

// cluster is what a transcript runs against.
type cluster struct {
	nodes    []remote.Node
	down, up func(i int) // of one node; only in memory
}

type clusterKey struct{}

// runScripts runs every transcript of dir in a folder with the bundled project and cluster.yaml,
// each with a prefix of its own. $FAR is an address where nothing answers. Commands are added:
//
//	exitcode N command...   the command must end with that code
//	setting FILE LINE       adds a line to a settings file
//	liveid NAME             sets a variable to the id of the store's live build
//	lose BUILD              removes a build's collection behind the store's back
//	alias BUILD             moves the live alias behind the store's back
//	down I, up I            ends a node, starts it again
func runScripts(t *testing.T, bin, dir string, start func() cluster) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			c := start()
			env.Values[clusterKey{}] = c
			name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"), ".")
			prefix := "S" + strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
					return r
				}
				return -1
			}, name)
			env.Setenv("PREFIX", prefix)
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			yaml := "prefix: " + prefix + "\ntries: 4\nmax_results: 100000\nnodes:\n"
			for _, n := range c.nodes {
				yaml += fmt.Sprintf("  - {http: '%s', grpc: '%s'}\n", n.HTTP, n.GRPC)
			}
			return errors.Join(os.CopyFS(env.WorkDir, homestore.Files), os.WriteFile(filepath.Join(env.WorkDir, "cluster.yaml"), []byte(yaml), 0o666))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				var exit *exec.ExitError
				code := 0
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if strconv.Itoa(code) != args[0] {
					ts.Fatalf("exit code %d, want %s", code, args[0])
				}
			},
			"setting": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+args[1]+"\n"), 0o666))
			},
			"liveid": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(".assay/LIVE")))
			},
			"lose": func(ts *testscript.TestScript, _ bool, args []string) {
				ask(ts, http.MethodDelete, "/schema/"+ts.Getenv("PREFIX")+"_"+args[0], "")
			},
			"alias": func(ts *testscript.TestScript, _ bool, args []string) {
				ask(ts, http.MethodPut, "/aliases/"+ts.Getenv("PREFIX")+"_live", fmt.Sprintf(`{"class": "%s_%s"}`, ts.Getenv("PREFIX"), args[0]))
			},
			"down": func(ts *testscript.TestScript, _ bool, args []string) { node(ts, args, clusterOf(ts).down) },
			"up":   func(ts *testscript.TestScript, _ bool, args []string) { node(ts, args, clusterOf(ts).up) },
		},
	})
}

func clusterOf(ts *testscript.TestScript) cluster {
	c, ok := ts.Value(clusterKey{}).(cluster)
	if !ok {
		ts.Fatalf("no cluster")
	}
	return c
}

func node(ts *testscript.TestScript, args []string, f func(int)) {
	i, err := strconv.Atoi(args[0])
	ts.Check(err)
	f(i)
}

// ask sends a request to the cluster's first node, past the command.
func ask(ts *testscript.TestScript, method, path, body string) {
	req, err := http.NewRequest(method, "http://"+clusterOf(ts).nodes[0].HTTP+"/v1"+path, strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	out, err := io.ReadAll(resp.Body)
	ts.Check(errors.Join(err, resp.Body.Close()))
	if resp.StatusCode >= 300 {
		ts.Fatalf("%s %s: %s %s", method, path, resp.Status, out)
	}
}
