# make check is everything CI runs.
GO       ?= go
FUZZTIME ?= 10s
RACE     := ./engine/... ./index/... ./internal/... ./evalkit ./evalkit/endpoint/... ./corpus
TOOL     := $(GO) tool -modfile=tools/go.mod

.PHONY: check fmt vet tidy test race fuzz demo cross pages bench

check: fmt vet tidy test race fuzz demo cross

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

# Every fuzz target for FUZZTIME.
fuzz:
	tools/fuzz.sh $(FUZZTIME)

demo:
	$(GO) run ./cmd/assay demo

cross:
	@set -e; for os in linux darwin windows; do for arch in amd64 arm64; do \
	  echo "build $$os/$$arch"; CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build ./...; done; done

# Ratios against the peers; takes several minutes.
bench:
	cd bench && $(GO) run ./cmd/ratios
