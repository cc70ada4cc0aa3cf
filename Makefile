# make check is everything CI runs.
GO       ?= go
FUZZTIME ?= 10s
# What runs concurrently, under the race detector: whole packages, and of the large ones the tests
# with more than one goroutine or process.
RACE     := ./engine/serve/... ./engine/mcp ./engine/answer ./index/embed/... ./internal/... ./evalkit ./evalkit/endpoint/... ./corpus
RACE_RUN := SideBySide|Swap|TwoProcesses|TwoWriters|SecondWriter|ReaderKeeps|Evaluated|Promote|SweepShares|Hidden|Conformance|Cancel|Close|Allocations|External
TOOL     := $(GO) tool -modfile=tools/go.mod

.PHONY: check fmt vet tidy test modules race fuzz demo cross reproducible cluster failover bench

check: fmt tidy vet test modules race fuzz demo cross reproducible

fmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

tidy:
	$(GO) mod tidy -diff
	$(GO) mod verify

test:
	$(GO) test ./...

race:
	$(GO) test -race -short $(RACE)
	$(GO) test -race -short -run '$(RACE_RUN)' ./engine ./index/dense ./index/lexical

# The modules beside the main one: index/remote without its server, and the measurements.
modules:
	cd index/remote && $(GO) vet ./... && $(GO) test -short ./...
	cd bench && $(GO) vet ./...

# Every fuzz target for FUZZTIME.
fuzz:
	tools/fuzz.sh $(FUZZTIME)

demo:
	$(GO) run ./cmd/assay demo

cross:
	@set -e; for os in linux darwin windows; do for arch in amd64 arm64; do \
	  echo "build $$os/$$arch"; CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build ./...; done; done

# The same sources give the same binary, wherever they stand.
reproducible:
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	git archive HEAD | (mkdir $$dir/copy && tar -x -C $$dir/copy); \
	for at in . $$dir/copy; do (cd $$at && CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o $$dir/bin$$(basename $$at) ./cmd/assay); done; \
	cmp $$dir/bin. $$dir/bincopy; echo "reproducible: $$(sha256sum < $$dir/bin.)"

# The tests against a real cluster, which index/remote/testdata/cluster.sh installs and starts: one
# node for conformance, three for failover.
cluster failover: export ASSAY_WEAVIATE ?= $(CURDIR)/index/remote/.cluster/bin/weaviate-server
cluster:
	cd index/remote && $(GO) test -count=1 -timeout 5m -run 'TestLiveConformance$$' .

failover:
	cd index/remote && $(GO) test -count=1 -timeout 5m -run 'TestLive(Replicated|Unreplicated)$$' .

# Ratios against the peers; takes several minutes.
bench:
	cd bench && $(GO) run ./cmd/ratios
