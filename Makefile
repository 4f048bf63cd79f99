# The version of the linter is pinned: a new one brings new opinions.
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: build test lint bench quickstart

build:
	go build -o tidemark .

# With the race detector all tests and some random histories; without it, which is five times as fast, all of them.
test:
	go vet ./... && go test -race -short -timeout 12m ./...
	go test ./sync ./sync/tracker/... ./sync/accounting/... -run 'Histories|WhateverIsLost'

lint:
	go run $(LINT) run

bench:
	go test -run '^$$' -bench . ./state ./sync ./sync/tracker/...

quickstart:
	go run . --once --config examples/quickstart/tidemark.yaml
