package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weaviate/weaviate-go-client/v5/weaviate"
	"github.com/weaviate/weaviate-go-client/v5/weaviate/alias"
	"github.com/weaviate/weaviate-go-client/v5/weaviate/fault"
	"github.com/weaviate/weaviate-go-client/v5/weaviate/graphql"
	wgrpc "github.com/weaviate/weaviate-go-client/v5/weaviate/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Errors that a caller can act on.
var (
	// ErrUnavailable says that no node answered within the tries and deadlines of the options.
	ErrUnavailable = errors.New("cluster does not answer")
	// ErrDegraded says that members are missing, so that lists may lack their chunks.
	ErrDegraded = errors.New("cluster is degraded")
	// ErrNoCollection says that the cluster does not hold the build: build it there first.
	ErrNoCollection = errors.New("build is not on the cluster")
	// ErrMismatch says that the cluster's collection was made from another build or with other
	// options: drop it, or use the options it was made with.
	ErrMismatch = errors.New("collection does not fit the build")
	// ErrConflict says that the live alias was moved by somebody else meanwhile.
	ErrConflict = errors.New("live alias was moved meanwhile")
)

// Cluster is a connection to the members of a Weaviate cluster. It is safe for concurrent use.
type Cluster struct {
	o       Options
	clients []*weaviate.Client
	turn    atomic.Uint32 // the node that the next request tries first

	mu      sync.Mutex
	looked  time.Time
	members []Member
	silent  []string // addresses of the options that do not answer
	lookErr error
}

// Connect prepares a client for each node; nothing is sent yet, so that a node that is down now
// can join later.
func Connect(o Options) (*Cluster, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	c := &Cluster{o: o}
	headers := map[string]string{}
	if o.Key != "" {
		headers["authorization"] = "Bearer " + o.Key
	}
	for _, n := range o.Nodes {
		client, err := weaviate.NewClient(weaviate.Config{
			Scheme: "http", Host: n.HTTP, Headers: headers, Timeout: o.Timeout,
			ConnectionClient: &http.Client{Timeout: o.Timeout},
			GrpcConfig:       &wgrpc.Config{Host: n.GRPC},
		})
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.HTTP, err)
		}
		c.clients = append(c.clients, client)
	}
	return c, nil
}

// Options are those in force, defaults written out.
func (c *Cluster) Options() Options { return c.o }

// Collection returns the name of a build's collection.
func (c *Cluster) Collection(build string) string { return c.o.Prefix + "_" + build }

// Alias returns the name of the alias of the live build.
func (c *Cluster) Alias() string { return c.o.Prefix + "_live" }

// do runs one request against the nodes in turn until one answers, each attempt under its own
// deadline. An error that another node would give as well ends it at once.
func (c *Cluster) do(ctx context.Context, what string, request func(ctx context.Context, client *weaviate.Client) error) error {
	start := int(c.turn.Add(1))
	var last error
	for try := range c.o.Tries {
		if try >= len(c.clients) {
			// Every node was asked: an election or a restart takes a while.
			if err := pause(ctx, min(100*time.Millisecond<<min(try-len(c.clients), 5), 2*time.Second)); err != nil {
				return err
			}
		}
		n := (start + try) % len(c.clients)
		attempt, cancel := context.WithTimeout(ctx, c.o.Timeout)
		err := request(attempt, c.clients[n])
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err) {
			return fmt.Errorf("%s: node %s: %w", what, c.o.Nodes[n].HTTP, err)
		}
		last = fmt.Errorf("node %s: %w", c.o.Nodes[n].HTTP, err)
	}
	return fmt.Errorf("%s: %w after %d tries, the last at %w", what, ErrUnavailable, c.o.Tries, last)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// final reports whether asking again, or another node, is pointless.
func final(err error) bool {
	if code := statusCode(err); code > 0 {
		return code >= 400 && code < 500 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
	}
	if s, ok := status.FromError(err); ok {
		switch s.Code() {
		case codes.InvalidArgument, codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied:
			return true
		case codes.Unknown:
			return unknownIsFinal(s.Message())
		}
	}
	return errors.Is(err, errAnswer) || errors.Is(err, ErrNoCollection) || errors.Is(err, ErrMismatch)
}

// errAnswer marks an answer that was understood and is wrong.
var errAnswer = errors.New("unexpected answer")

// unknownIsFinal tells requests that no node will accept from failures of one node: the server
// gives both the code Unknown.
func unknownIsFinal(msg string) bool {
	for _, part := range []string{"could not find class", "no such prop", "query maximum results exceeded", "vector lengths don't match", "dimension mismatch"} {
		if strings.Contains(msg, part) {
			return true
		}
	}
	return false
}

// statusCode returns the HTTP status an error stands for, 0 if none.
func statusCode(err error) int {
	var f *fault.WeaviateClientError
	if errors.As(err, &f) {
		return f.StatusCode
	}
	return 0
}

func missing(err error) bool { return statusCode(err) == http.StatusNotFound }

// Member is one node as the cluster sees it.
type Member struct {
	Name    string `json:"name"`
	Healthy bool   `json:"healthy"`
	Status  string `json:"status"` // the server's word
}

// Members returns the nodes, sorted by name, as one of them reports them.
func (c *Cluster) Members(ctx context.Context) ([]Member, error) {
	var out []Member
	err := c.do(ctx, "nodes", func(ctx context.Context, client *weaviate.Client) error {
		resp, err := client.Cluster().NodesStatusGetter().Do(ctx)
		if err != nil {
			return err
		}
		out = nil
		for _, n := range resp.Nodes {
			m := Member{Name: n.Name}
			if n.Status != nil {
				m.Status = *n.Status
			}
			m.Healthy = m.Status == "HEALTHY"
			out = append(out, m)
		}
		if len(out) == 0 {
			return fmt.Errorf("no nodes: %w", errAnswer)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// seen returns the members and the addresses that do not answer, as of Options.Health ago at most.
// The members' own list takes seconds to notice that one died, during which searches silently
// lack its chunks; a refused connection is noticed at once.
func (c *Cluster) seen(ctx context.Context) (members []Member, silent []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Health > 0 && !c.looked.IsZero() && time.Since(c.looked) < c.o.Health {
		return c.members, c.silent, c.lookErr
	}
	answers := make([]bool, len(c.clients))
	var wg sync.WaitGroup
	for i, client := range c.clients {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, min(c.o.Timeout, 2*time.Second))
			defer cancel()
			ok, err := client.Misc().LiveChecker().Do(ctx)
			answers[i] = ok && err == nil
		})
	}
	// Asking a node that waits for a dead one takes seconds: searches do not wait that long.
	look, cancel := context.WithTimeout(ctx, min(c.o.Timeout, 2*time.Second))
	members, err = c.Members(look)
	cancel()
	wg.Wait()
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	for i, ok := range answers {
		if !ok {
			silent = append(silent, c.o.Nodes[i].HTTP)
		}
	}
	c.members, c.silent, c.lookErr, c.looked = members, silent, err, time.Now()
	return members, silent, err
}

// missingMembers names those of expected that are not healthy.
func missingMembers(expected []string, members []Member) []string {
	var out []string
	for _, name := range expected {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Name == name && m.Healthy }) {
			out = append(out, name)
		}
	}
	return out
}

// Live returns the build that the alias names, "" if there is no alias yet.
func (c *Cluster) Live(ctx context.Context) (string, error) {
	var build string
	err := c.do(ctx, "alias "+c.Alias(), func(ctx context.Context, client *weaviate.Client) error {
		a, err := client.Alias().AliasGetter().WithAliasName(c.Alias()).Do(ctx)
		if missing(err) {
			build = ""
			return nil
		}
		if err != nil {
			return err
		}
		var ok bool
		if build, ok = strings.CutPrefix(a.Class, c.o.Prefix+"_"); !ok {
			return fmt.Errorf("alias %s names %q, which is no build: %w", c.Alias(), a.Class, errAnswer)
		}
		return nil
	})
	return build, err
}

// SetLive makes the alias name build, in one step for all readers. from is the build that it must
// name until then, "" for none; another one is ErrConflict, unless it is build already. Only
// promotion and rollback call it.
func (c *Cluster) SetLive(ctx context.Context, build, from string) error {
	if _, err := c.describe(ctx, build); err != nil {
		return err
	}
	have, err := c.Live(ctx)
	if err != nil {
		return err
	}
	switch have {
	case build:
		return nil
	case from:
	default:
		return fmt.Errorf("%w: %s names %q, expected %q: look at what was promoted there, then promote again", ErrConflict, c.Alias(), have, from)
	}
	a := &alias.Alias{Alias: c.Alias(), Class: c.Collection(build)}
	err = c.do(ctx, "alias "+c.Alias(), func(ctx context.Context, client *weaviate.Client) error {
		var err error
		if have == "" {
			err = client.Alias().AliasCreator().WithAlias(a).Do(ctx)
		} else {
			err = client.Alias().AliasUpdater().WithAlias(a).Do(ctx)
		}
		// An attempt whose answer was lost may have succeeded: what counts is what stands there.
		if now, lerr := client.Alias().AliasGetter().WithAliasName(c.Alias()).Do(ctx); lerr == nil && now.Class == a.Class {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.await(ctx, "alias "+c.Alias(), func() (bool, error) {
		now, err := c.Live(ctx)
		return now == build, err
	})
}

// await asks until a change that the cluster agreed on is seen, at most the options' timeout.
func (c *Cluster) await(ctx context.Context, what string, seen func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	for {
		ok, err := seen()
		if ok || err != nil {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s: the change is not seen after %v: %w", what, c.o.Timeout, ErrUnavailable)
		}
	}
}

// Builds lists the builds whose collections the cluster holds, sorted.
func (c *Cluster) Builds(ctx context.Context) ([]string, error) {
	var out []string
	err := c.do(ctx, "schema", func(ctx context.Context, client *weaviate.Client) error {
		s, err := client.Schema().Getter().Do(ctx)
		if err != nil {
			return err
		}
		out = nil
		for _, class := range s.Classes {
			if build, ok := strings.CutPrefix(class.Class, c.o.Prefix+"_"); ok {
				out = append(out, build)
			}
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// Drop removes a build from the cluster. The live one is refused.
func (c *Cluster) Drop(ctx context.Context, build string) error {
	live, err := c.Live(ctx)
	if err != nil {
		return err
	}
	if live == build {
		return fmt.Errorf("build %s is live: promote another one first", build)
	}
	return c.do(ctx, "drop "+c.Collection(build), func(ctx context.Context, client *weaviate.Client) error {
		err := client.Schema().ClassDeleter().WithClassName(c.Collection(build)).Do(ctx)
		if missing(err) {
			return nil
		}
		return err
	})
}

// counts returns the number of objects that each node reports for a collection, those with a
// chunk's vector among them, in the order of Options.Nodes; -1 for a node that does not answer.
func (c *Cluster) counts(ctx context.Context, collection string) []nodeCount {
	out := make([]nodeCount, len(c.clients))
	var wg sync.WaitGroup
	for i, client := range c.clients {
		wg.Go(func() {
			out[i].node = c.o.Nodes[i].HTTP
			attempt, cancel := context.WithTimeout(ctx, c.o.Timeout)
			defer cancel()
			out[i].n, out[i].err = countAt(attempt, client, collection)
		})
	}
	wg.Wait()
	return out
}

type nodeCount struct {
	node string
	n    int
	err  error
}

func countAt(ctx context.Context, client *weaviate.Client, collection string) (int, error) {
	resp, err := client.GraphQL().Aggregate().WithClassName(collection).
		WithFields(graphql.Field{Name: "meta", Fields: []graphql.Field{{Name: "count"}}}).Do(ctx)
	if err != nil {
		return 0, err
	}
	if len(resp.Errors) > 0 {
		return 0, fmt.Errorf("count %s: %s: %w", collection, resp.Errors[0].Message, errAnswer)
	}
	data, err := json.Marshal(resp.Data)
	if err != nil {
		return 0, err
	}
	var parsed struct {
		Aggregate map[string][]struct {
			Meta struct {
				Count int `json:"count"`
			} `json:"meta"`
		}
	}
	if err := json.Unmarshal(data, &parsed); err != nil {
		return 0, fmt.Errorf("count %s: %v: %w", collection, err, errAnswer)
	}
	rows := parsed.Aggregate[collection]
	if len(rows) != 1 {
		return 0, fmt.Errorf("count %s: %d rows: %w", collection, len(rows), errAnswer)
	}
	return rows[0].Meta.Count, nil
}
