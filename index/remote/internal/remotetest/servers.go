package remotetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/index/remote"
)

// Servers are nodes of a real cluster on the loopback interface.
type Servers struct {
	t    testing.TB
	n    int
	env  []string
	base int
}

// script is the path of cluster.sh, whichever package's test asks.
func script() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../testdata/cluster.sh")
}

// Start starts n nodes, with ports from base on, and stops them at the end. Tests that need the real server are skipped
// where it is not installed.
func Start(t testing.TB, n, base int) *Servers {
	t.Helper()
	server := os.Getenv("ASSAY_WEAVIATE")
	if server == "" {
		t.Skip("NOT TESTED AGAINST A REAL CLUSTER: ASSAY_WEAVIATE does not name the server; " +
			"install it with `testdata/cluster.sh install` and set ASSAY_WEAVIATE=$PWD/.cluster/bin/weaviate-server")
	}
	if testing.Short() {
		t.Skip("NOT TESTED AGAINST A REAL CLUSTER: -short")
	}
	dir, err := os.MkdirTemp("", "assay-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Servers{t: t, n: n, base: base, env: append(os.Environ(), "ASSAY_CLUSTER="+dir, "ASSAY_PORT="+strconv.Itoa(base), "ASSAY_WEAVIATE="+server)}
	t.Cleanup(func() {
		if t.Failed() {
			for i := range n {
				if log, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("node-%d", i), "log")); err == nil {
					lines := strings.Split(string(log), "\n")
					t.Logf("node %d:\n%s", i, strings.Join(lines[max(0, len(lines)-15):], "\n"))
				}
			}
		}
		s.run("stop")
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.run("start", strconv.Itoa(n))
	return s
}

func (s *Servers) run(args ...string) {
	s.t.Helper()
	cmd := exec.Command(script(), args...)
	cmd.Env = s.env
	// The nodes outlive the script, so they must not hold its output open.
	out, err := os.CreateTemp("", "assay-cluster-*.out")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	data, rerr := os.ReadFile(out.Name())
	if err = errors.Join(err, rerr, out.Close(), os.Remove(out.Name())); err != nil {
		s.t.Fatalf("cluster.sh %v: %v\n%s", args, err, data)
	}
}

// Kill ends a node with SIGKILL.
func (s *Servers) Kill(i int) { s.t.Helper(); s.run("kill", strconv.Itoa(i)) }

// Restart starts a node that was killed and waits until it answers.
func (s *Servers) Restart(i int) { s.t.Helper(); s.run("start", strconv.Itoa(s.n), strconv.Itoa(i)) }

// Nodes returns the addresses of all nodes.
func (s *Servers) Nodes() []remote.Node {
	var out []remote.Node
	for i := range s.n {
		out = append(out, remote.Node{
			HTTP: fmt.Sprintf("127.0.0.1:%d", s.base+10*i), GRPC: fmt.Sprintf("127.0.0.1:%d", s.base+10*i+1),
		})
	}
	return out
}

// Leader returns the number of the node that leads the cluster.
func (s *Servers) Leader() int {
	s.t.Helper()
	for i := range s.n {
		out, err := exec.Command("curl", "-fsS", fmt.Sprintf("http://127.0.0.1:%d/v1/cluster/statistics", s.base+10*i)).Output()
		if err != nil {
			continue
		}
		_, id, ok := strings.Cut(string(out), `"leaderId":"node-`)
		if n, err := strconv.Atoi(id[:min(1, len(id))]); ok && err == nil {
			return n
		}
	}
	s.t.Fatal("no node names the leader")
	return 0
}
