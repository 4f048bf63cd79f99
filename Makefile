# The version of the linter is pinned: a new one brings new opinions.
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Trackers that are reached over HTTP.
LIVE := $(addprefix ./sync/tracker/,clockify harvest kimai tempo)

.PHONY: build test lint bench quickstart

build:
	go build -o tidemark .

# With the race detector all tests and some random histories; without it, which is five times as fast, many more.
test:
	go vet ./... && go test -race -timeout 12m ./...
	go test ./sync -run RandomHistories -histories 2000
	go test $(LIVE) -run Histories -histories 500

lint:
	go run $(LINT) run

bench:
	go test -run '^$$' -bench . ./state ./sync ./sync/tracker/...

quickstart:
	go run . --once --config examples/quickstart/tidemark.yaml
