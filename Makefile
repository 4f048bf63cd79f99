# The version of the linter is pinned: a new one brings new opinions.
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: build test lint bench quickstart

build:
	go build -o tidemark .

test:
	go vet ./... && go test -race -timeout 12m ./...

lint:
	go run $(LINT) run

bench:
	go test -run '^$$' -bench . ./state ./sync

quickstart:
	go run . --once --config examples/quickstart/tidemark.yaml
