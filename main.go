// Tidemark bills each approved week of a time tracker exactly once in effect.
package main

import (
	"os"

	"tidemark/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
