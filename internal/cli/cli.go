// Package cli is the command line: it reads the config, builds the engines, and shows people what they
// did.
//
// Its one hard rule: what is printed is what happened. A table comes from the report of the engine, an exit
// code from its error, and nothing else.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"tidemark/daemon/control"
	"tidemark/internal/remote"
	"tidemark/state"
)

// app is what every command shares.
type app struct {
	in       io.Reader
	out, err io.Writer
	args     []string // as they were given
	path     string   // of the config
	json     bool
	verbose  bool
	now      func() time.Time
	log      *zerolog.Logger // of the daemon; nil: the command's own, which is quiet
	net      *remote.Network // lives as long as the process, so that a reload forgets no limit

	// Of a command that a daemon runs for somebody; nil in a process of its own.
	home *home
	call *control.Call
}

// Run runs the program with its arguments and returns the exit code.
func Run(args []string, in io.Reader, out, errOut io.Writer) int {
	if handled, code := state.Probe(args); handled {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	a := &app{in: in, out: out, err: errOut, args: args, now: time.Now, net: remote.New(remote.Options{Agent: agent()})}
	return a.execute(ctx)
}

// execute runs the command that the arguments name, prints its error, and returns the exit code.
func (a *app) execute(ctx context.Context) int {
	root := a.root()
	root.SetArgs(slices.Concat(a.args)) // never nil: cobra would take those of the process
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	var ended endedError
	if err != nil && !errors.Is(err, errFound) && !errors.As(err, &ended) {
		fmt.Fprintf(a.err, "tidemark: %v\n", err)
	}
	return exitCode(err)
}

// root is the command without a name: the daemon, one pass, or a backfill.
func (a *app) root() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "tidemark",
		Short: "Bill each approved week exactly once in effect",
		Long: "Tidemark asks a time tracker for the weeks that were approved, and sees to it that each is billed exactly\n" +
			"once in effect in an accounting system. Without flags it runs as a daemon, on the schedules of its config.",
		Version:           version(),
		Args:              noSuchCommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		PersistentPreRunE: a.onlyServed,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.runRoot(cmd, r) },
		Annotations:       map[string]string{served: "yes"},
	}
	r.define(cmd)
	cmd.PersistentFlags().StringVar(&a.path, "config", "/etc/tidemark/tidemark.yaml", "the config `file`")
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON where a table is printed")
	cmd.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "log what is done, not only what needs attention")
	cmd.SetVersionTemplate("tidemark {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v; see tidemark --help", err) })
	cmd.AddCommand(a.checkCommand(), a.planCommand(), a.auditCommand(), a.statusCommand(), a.explainCommand(), a.reviewCommand(), a.stateCommand(), a.connectCommand(), a.customersCommand(),
		a.pauseCommand(), a.resumeCommand(), a.reloadCommand())
	return cmd
}

// noSuchCommand refuses what is no command, and proposes one that is like it.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command `%s %s`", cmd.CommandPath(), args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usage("%s; did you mean %s?", text, strings.Join(near, " or "))
	}
	return usage("%s; see %s --help", text, cmd.CommandPath())
}

// version tells which build this is.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}

// agent is how the program names itself to vendors.
func agent() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "tidemark"
	}
	return "tidemark/" + strings.Trim(info.Main.Version, "()")
}

// atMostOne allows one argument, and says what it is.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage("%s takes no more than %s; see %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// exactly wants a number of arguments, and says what is missing.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s needs %s; see %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}
