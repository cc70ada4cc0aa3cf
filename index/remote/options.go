package remote

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Node is one member of the cluster as a client reaches it.
type Node struct {
	HTTP string `yaml:"http"` // host:port of the REST interface
	GRPC string `yaml:"grpc"` // host:port of the gRPC interface
}

// Options configure a Cluster. Nodes are required, everything else has a default.
type Options struct {
	// Nodes are tried in turn: a request that one does not answer goes to the next.
	Nodes []Node `yaml:"nodes"`
	// Prefix begins the names of collections and of the alias, so that several projects can share
	// a cluster; default "Assay". A capital letter, then letters and digits.
	Prefix string `yaml:"prefix"`
	// Shards of a collection; 0 leaves it to the server, which takes one for each node.
	Shards int `yaml:"shards"`
	// Replication is the number of copies of each shard; default 1. With 1, a node that is down
	// takes its chunks with it; with 3, one of three may fail at any moment.
	Replication int `yaml:"replication"`
	// Index is flat (exact), hnsw (approximate) or auto (default): flat up to AutoFlat chunks.
	Index string `yaml:"index"`
	// Batch is the number of chunks in one write; default 200.
	Batch int `yaml:"batch"`
	// Concurrency is the number of writes at once; default 2.
	Concurrency int `yaml:"concurrency"`
	// Timeout ends one attempt of a request, whatever the caller's context allows; default 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// Tries is the number of attempts of one request over all nodes; default 6.
	Tries int `yaml:"tries"`
	// Health is how old the last look at the members may be when a search relies on it; default
	// 1 s, negative looks at every search.
	Health time.Duration `yaml:"health"`
	// MaxResults is the server's QUERY_MAXIMUM_RESULTS; default 10,000.
	MaxResults int `yaml:"max_results"`
	// Key is sent as a bearer token, "" for a cluster without authentication.
	Key string `yaml:"-"`
	// Progress is told how many chunks a build has written; nil is silent.
	Progress func(done, total int) `yaml:"-"`
}

// AutoFlat is the number of chunks up to which index auto searches exactly.
const AutoFlat = 50_000

// The kinds of vector index.
const (
	IndexAuto = "auto"
	IndexFlat = "flat"
	IndexHNSW = "hnsw"
)

var prefixPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,40}$`)

// Validate refuses options that cannot work, naming the option and what it accepts.
func (o Options) Validate() error {
	if len(o.Nodes) == 0 {
		return fmt.Errorf("nodes: none given: name the http and grpc address of each node")
	}
	seen := map[string]bool{}
	for i, n := range o.Nodes {
		for _, a := range []struct{ what, addr string }{{"http", n.HTTP}, {"grpc", n.GRPC}} {
			switch {
			case a.addr == "":
				return fmt.Errorf("nodes[%d].%s: no address: give host:port", i, a.what)
			case strings.Contains(a.addr, "://"):
				// The client's gRPC connection accepts any certificate, which would promise what it
				// does not keep.
				return fmt.Errorf("nodes[%d].%s: %q: give host:port without a scheme; connections are not encrypted, so keep them inside a private network or a mesh that encrypts", i, a.what, a.addr)
			case seen[a.addr]:
				return fmt.Errorf("nodes[%d].%s: %s is given twice", i, a.what, a.addr)
			}
			seen[a.addr] = true
		}
	}
	if o.Prefix != "" && !prefixPattern.MatchString(o.Prefix) {
		return fmt.Errorf("prefix %q: use a capital letter, then up to 40 letters and digits", o.Prefix)
	}
	if o.Index != "" && !slices.Contains([]string{IndexAuto, IndexFlat, IndexHNSW}, o.Index) {
		return fmt.Errorf("index %q: use flat, hnsw or auto", o.Index)
	}
	for _, c := range []struct {
		name     string
		have, hi int
	}{
		{"shards", o.Shards, 100_000}, {"replication", o.Replication, 100}, {"batch", o.Batch, 10_000},
		{"concurrency", o.Concurrency, 256}, {"tries", o.Tries, 1000}, {"max_results", o.MaxResults, 1 << 30},
	} {
		if c.have < 0 || c.have > c.hi {
			return fmt.Errorf("%s is %d: use 1 to %d, or leave it out", c.name, c.have, c.hi)
		}
	}
	if o.Timeout < 0 {
		return fmt.Errorf("timeout is %v: use a positive duration", o.Timeout)
	}
	return nil
}

// WithDefaults returns o with every default written out.
func (o Options) WithDefaults() Options {
	o.Prefix = cmp.Or(o.Prefix, "Assay")
	o.Replication = cmp.Or(o.Replication, 1)
	o.Index = cmp.Or(o.Index, IndexAuto)
	o.Batch = cmp.Or(o.Batch, 200)
	o.Concurrency = cmp.Or(o.Concurrency, 2)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Tries = cmp.Or(o.Tries, 6)
	o.Health = cmp.Or(o.Health, time.Second)
	o.MaxResults = cmp.Or(o.MaxResults, 10_000)
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	return o
}
