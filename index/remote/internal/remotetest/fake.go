// Package remotetest has the clusters that tests run against: one in memory that speaks as much of
// the server's two interfaces as the adaptor uses, and nodes of the real server.
package remotetest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed792a4543/assay/index/remote"
)

// Fake is a cluster in memory. It has the server's bad manners: hits tied at the cut come in no
// fixed order, a shard without a live copy is left out of an answer without a word, batches fail
// object by object. Its fields may be used while it is locked, or while nothing is asked of it.
type Fake struct {
	nodes []*fakeNode

	sync.Mutex
	Classes map[string]*models.Class
	Objects map[string]map[string]*Object // by collection and UUID
	Aliases map[string]string

	// Refuse is asked for every object written; an error is reported for that object alone.
	Refuse     func(uuid string) error
	MaxResults int // of one search
	Unflushed  int // searches for words to come that return the first written hits
	Writes     int // objects written, those that replaced one included
	Searches   []*pb.SearchRequest
}

type fakeNode struct {
	pb.UnimplementedWeaviateServer
	f    *Fake
	name string
	addr remote.Node
	down bool // guarded by f
}

// Object is one object of a collection.
type Object struct {
	UUID   string
	vector []float32
	Props  map[string]any // string, float64, []string
	tf     map[string]int
	length int // words
}

// NewFake starts a cluster and ends it with the test.
func NewFake(t testing.TB, nodes int) *Fake {
	t.Helper()
	f := &Fake{
		Classes: map[string]*models.Class{}, Objects: map[string]map[string]*Object{}, Aliases: map[string]string{},
		MaxResults: 100_000,
	}
	for i := range nodes {
		n := &fakeNode{f: f, name: fmt.Sprintf("node-%d", i)}
		rest := httptest.NewServer(n)
		t.Cleanup(rest.Close)
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
		pb.RegisterWeaviateServer(g, n)
		go g.Serve(lis) //nolint:errcheck // ends with Stop
		t.Cleanup(g.Stop)
		n.addr = remote.Node{HTTP: strings.TrimPrefix(rest.URL, "http://"), GRPC: lis.Addr().String()}
		f.nodes = append(f.nodes, n)
	}
	return f
}

// Nodes returns the addresses of all nodes.
func (f *Fake) Nodes() []remote.Node {
	var out []remote.Node
	for _, n := range f.nodes {
		out = append(out, n.addr)
	}
	return out
}

// SetDown makes node i answer nothing, or as before.
func (f *Fake) SetDown(i int, down bool) {
	f.Lock()
	defer f.Unlock()
	f.nodes[i].down = down
}

// reachable reports whether a node that is up holds a copy of an object. The caller holds the lock.
func (f *Fake) reachable(class *models.Class, uuid string) bool {
	h := fnv.New32a()
	h.Write([]byte(uuid))
	first := int(h.Sum32() % uint32(len(f.nodes)))
	for r := range int(class.ReplicationConfig.Factor) {
		if !f.nodes[(first+r)%len(f.nodes)].down {
			return true
		}
	}
	return false
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // a test's own connection
}

var aggregate = regexp.MustCompile(`Aggregate\s*\{\s*(\w+)\s*\{\s*meta\s*\{\s*count\s*\}`)

// ServeHTTP is the REST interface.
func (n *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := n.f
	f.Lock()
	defer f.Unlock()
	if n.down {
		panic(http.ErrAbortHandler)
	}
	fail := func(code int, format string, args ...any) {
		reply(w, code, map[string]any{"error": []map[string]string{{"message": fmt.Sprintf(format, args...)}}})
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case path == "/.well-known/live":
		w.WriteHeader(200)
	case path == "/meta":
		reply(w, 200, map[string]any{"version": "1.35.2"})
	case path == "/nodes":
		var out models.NodesStatusResponse
		for _, m := range f.nodes {
			status := "HEALTHY"
			if m.down {
				status = "UNAVAILABLE"
			}
			out.Nodes = append(out.Nodes, &models.NodeStatus{Name: m.name, Status: &status})
		}
		reply(w, 200, out)
	case path == "/schema" && r.Method == http.MethodGet:
		var out models.Schema
		for _, c := range slices.Sorted(maps.Keys(f.Classes)) {
			out.Classes = append(out.Classes, f.Classes[c])
		}
		reply(w, 200, out)
	case path == "/schema" && r.Method == http.MethodPost:
		var c models.Class
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			fail(422, "%v", err)
		} else if f.Classes[c.Class] != nil {
			fail(422, "class name %s already exists", c.Class)
		} else {
			f.Classes[c.Class], f.Objects[c.Class] = &c, map[string]*Object{}
			reply(w, 200, c)
		}
	case strings.HasPrefix(path, "/schema/") && r.Method == http.MethodGet:
		if c := f.Classes[name]; c != nil {
			reply(w, 200, c)
		} else {
			w.WriteHeader(404)
		}
	case strings.HasPrefix(path, "/schema/") && r.Method == http.MethodDelete:
		delete(f.Classes, name)
		delete(f.Objects, name)
		w.WriteHeader(200)
	case path == "/aliases" && r.Method == http.MethodPost:
		var a models.Alias
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil || f.Aliases[a.Alias] != "" || f.Classes[a.Class] == nil {
			fail(422, "alias %v: %v", a, err)
		} else {
			f.Aliases[a.Alias] = a.Class
			reply(w, 200, a)
		}
	case strings.HasPrefix(path, "/aliases/"):
		if f.Aliases[name] == "" {
			fail(404, "no alias %s", name)
			return
		}
		if r.Method == http.MethodPut {
			var a models.Alias
			if err := json.NewDecoder(r.Body).Decode(&a); err != nil || f.Classes[a.Class] == nil {
				fail(422, "alias %v: %v", a, err)
				return
			}
			f.Aliases[name] = a.Class
		}
		reply(w, 200, models.Alias{Alias: name, Class: f.Aliases[name]})
	case path == "/graphql":
		var q struct{ Query string }
		err := json.NewDecoder(r.Body).Decode(&q)
		m := aggregate.FindStringSubmatch(q.Query)
		if err != nil || m == nil || f.Classes[m[1]] == nil {
			reply(w, 200, map[string]any{"errors": []map[string]string{{"message": "bad query " + q.Query}}})
			return
		}
		count := 0
		for uuid := range f.Objects[m[1]] {
			if f.reachable(f.Classes[m[1]], uuid) {
				count++
			}
		}
		reply(w, 200, map[string]any{"data": map[string]any{"Aggregate": map[string]any{
			m[1]: []any{map[string]any{"meta": map[string]any{"count": count}}},
		}}})
	default:
		fail(404, "%s %s", r.Method, r.URL.Path)
	}
}

// BatchObjects writes objects, each by itself.
func (n *fakeNode) BatchObjects(_ context.Context, req *pb.BatchObjectsRequest) (*pb.BatchObjectsReply, error) {
	f := n.f
	f.Lock()
	defer f.Unlock()
	if n.down {
		return nil, status.Error(codes.Unavailable, "node is down")
	}
	out := &pb.BatchObjectsReply{}
	for i, o := range req.Objects {
		err := func() error {
			if f.Refuse != nil {
				if err := f.Refuse(o.Uuid); err != nil {
					return err
				}
			}
			if f.Classes[o.Collection] == nil {
				return errors.New("could not find class")
			}
			obj := &Object{UUID: o.Uuid, vector: floats(o.VectorBytes), Props: map[string]any{}}
			for k, v := range o.Properties.GetNonRefProperties().AsMap() {
				obj.Props[k] = v
			}
			for _, p := range o.Properties.GetTextArrayProperties() {
				obj.Props[p.PropName] = p.Values
			}
			obj.tf = map[string]int{}
			for _, t := range strings.Fields(obj.Props["terms"].(string)) {
				obj.tf[t]++
				obj.length++
			}
			f.Objects[o.Collection][o.Uuid] = obj
			f.Writes++
			return nil
		}()
		if err != nil {
			out.Errors = append(out.Errors, &pb.BatchObjectsReply_BatchError{Index: int32(i), Error: err.Error()})
		}
	}
	return out, nil
}

func floats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// Search ranks by cosine distance or by BM25.
func (n *fakeNode) Search(_ context.Context, req *pb.SearchRequest) (*pb.SearchReply, error) {
	f := n.f
	f.Lock()
	defer f.Unlock()
	f.Searches = append(f.Searches, req)
	name := req.Collection
	if to, ok := f.Aliases[name]; ok {
		name = to
	}
	class := f.Classes[name]
	switch {
	case n.down:
		return nil, status.Error(codes.Unavailable, "node is down")
	case class == nil:
		return nil, status.Error(codes.Unknown, "could not find class "+name+" in schema")
	case int(req.Limit) > f.MaxResults:
		return nil, status.Error(codes.Unknown, "query maximum results exceeded")
	}
	type scored struct {
		o     *Object
		score float32
	}
	var all []scored
	var score func(o *Object) (float32, bool)
	switch {
	case req.NearVector != nil:
		q := floats(req.NearVector.Vectors[0].VectorBytes)
		score = func(o *Object) (float32, bool) {
			var dot float32
			for i, v := range o.vector {
				dot += v * q[i]
			}
			return dot, len(o.vector) > 0
		}
	case req.Bm25Search != nil:
		if !utf8.ValidString(req.Bm25Search.Query) {
			return nil, status.Error(codes.Internal, "invalid UTF-8")
		}
		if f.Unflushed > 0 && int(req.Limit) < len(f.Objects[name]) {
			f.Unflushed--
			bad := &pb.SearchReply{}
			for i := range req.Limit {
				bad.Results = append(bad.Results, &pb.SearchResult{Metadata: &pb.MetadataResult{Score: 1e-6 * float32(i), ScorePresent: true}})
			}
			return bad, nil
		}
		score = f.bm25(class, f.Objects[name], strings.Fields(req.Bm25Search.Query))
	default:
		return nil, status.Error(codes.Unimplemented, "neither vector nor text")
	}
	for uuid, o := range f.Objects[name] { // in no fixed order
		ok, err := admits(req.Filters, o)
		if err != nil {
			return nil, status.Error(codes.Unknown, err.Error())
		}
		if !ok || !f.reachable(class, uuid) {
			continue
		}
		if s, ok := score(o); ok {
			all = append(all, scored{o, s})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	out := &pb.SearchReply{}
	for _, s := range all[:min(int(req.Limit), len(all))] {
		out.Results = append(out.Results, &pb.SearchResult{
			Metadata: &pb.MetadataResult{
				Id: s.o.UUID, Distance: 1 - s.score, DistancePresent: true, Score: s.score, ScorePresent: true,
			},
			Properties: &pb.PropertiesResult{NonRefProps: &pb.Properties{Fields: map[string]*pb.Value{
				"ord": {Kind: &pb.Value_IntValue{IntValue: int64(s.o.Props["ord"].(float64))}},
			}}},
		})
	}
	return out, nil
}

func (f *Fake) bm25(class *models.Class, objects map[string]*Object, query []string) func(*Object) (float32, bool) {
	k1, b := float64(class.InvertedIndexConfig.Bm25.K1), float64(class.InvertedIndexConfig.Bm25.B)
	query = slices.Compact(slices.Sorted(slices.Values(query)))
	df, total := map[string]int{}, 0
	for _, o := range objects {
		total += o.length
		for _, t := range query {
			if o.tf[t] > 0 {
				df[t]++
			}
		}
	}
	n := float64(len(objects))
	return func(o *Object) (float32, bool) {
		tf := o.tf
		var sum float64
		hit := false
		for _, t := range query {
			if tf[t] == 0 {
				continue
			}
			hit = true
			idf := math.Log(1 + (n-float64(df[t])+.5)/(float64(df[t])+.5))
			freq := float64(tf[t])
			sum += idf * freq * (k1 + 1) / (freq + k1*(1-b+b*float64(o.length)*n/float64(total)))
		}
		return float32(sum), hit
	}
}

func admits(f *pb.Filters, o *Object) (bool, error) {
	if f == nil {
		return true, nil
	}
	if f.Operator == pb.Filters_OPERATOR_AND {
		for _, sub := range f.Filters {
			if ok, err := admits(sub, o); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	prop := f.GetTarget().GetProperty()
	if prop == "" && len(f.On) == 1 { //nolint:staticcheck // what the client sends
		prop = f.On[0] //nolint:staticcheck
	}
	have, ok := o.Props[prop].(float64)
	if !ok {
		return false, fmt.Errorf("no such prop with name %q", prop)
	}
	in := slices.Contains(f.GetValueIntArray().GetValues(), int64(have))
	switch f.Operator {
	case pb.Filters_OPERATOR_CONTAINS_ANY:
		return in, nil
	case pb.Filters_OPERATOR_CONTAINS_NONE:
		return !in, nil
	}
	return false, fmt.Errorf("operator %v is not understood", f.Operator)
}
