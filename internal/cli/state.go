package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"tidemark/state"
)

func (a *app) stateCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "state", Short: "Take care of the state file", Args: noSuchCommand, RunE: func(*cobra.Command, []string) error {
		return usage("state needs a command: check, backup, restore, export, compact, rebuild or init")
	}}
	cmd.AddCommand(a.stateCheck(), a.stateBackup(), a.stateRestore(), a.stateExport(), a.stateCompact(), a.stateRebuild(), a.stateInit())
	return cmd
}

func (a *app) stateCheck() *cobra.Command {
	cmd := &cobra.Command{Use: "check", Short: "Look at every page and every value of the file", Args: exactly(0, "no arguments")}
	return a.here(cmd, func(context.Context, []string) error {
		report, err := a.look()
		if err != nil {
			return err
		}
		if a.json {
			err = a.printJSON(report)
		} else {
			a.showCheck(report)
		}
		return errors.Join(err, report.Err())
	})
}

// look looks at the state: at the open one of a daemon while passes go on, and at the closed file otherwise, since one
// that is damaged does not open. A daemon whose state is damaged ends.
func (a *app) look() (r state.Report, err error) {
	if a.home != nil {
		err = a.inState(func(s *session) error { r, err = s.store.Check(); return err })
		if errors.Is(r.Err(), state.ErrDamaged) {
			a.home.stop(ending(r.Err()))
		}
		return r, err
	}
	w, err := a.load()
	if err != nil {
		return r, err
	}
	return state.Check(string(w.config.State))
}

func (a *app) showCheck(r state.Report) {
	fmt.Fprintf(a.out, "%s: %s, %s free\n", r.Path, bytesOf(r.Size), bytesOf(r.Free))
	if r.Wasteful() {
		fmt.Fprintln(a.out, "  More than half of it is free: `tidemark state compact` gives that back to the disk.")
	}
	t := grid("Kind", "Rows")
	right(t, 2)
	for _, name := range slices.Sorted(maps.Keys(r.Rows)) {
		t.AppendRow(table.Row{name, r.Rows[name]})
	}
	if len(r.Rows) > 0 {
		render(a.out, t)
	}
	for _, f := range r.Faults[min(1, len(r.Faults)):] { // the first one is the error
		fmt.Fprintf(a.out, "  fault: %s\n", clean(f))
	}
	if len(r.Faults) == 0 {
		fmt.Fprintln(a.out, "  Every page and every value is as it was written.")
	}
}

func bytesOf(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func (a *app) stateBackup() *cobra.Command {
	cmd := &cobra.Command{Use: "backup FILE", Short: "Write a checked copy of the state", Args: exactly(1, "the name of the copy")}
	return a.overState(cmd, func(_ context.Context, s *session, args []string) error {
		path, err := a.file(args[0])
		if err != nil {
			return err
		}
		if err := s.store.Backup(path); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s: written and checked\n", path)
		return nil
	})
}

func (a *app) stateRestore() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of the state", Args: exactly(1, "the name of the copy"),
		Long: "Put a copy of the state, such as a backup, in its place. The copy is checked first and stays where it is; what\n" +
			"was there before is kept under another name. What was billed since the copy was made stands in the accounting\n" +
			"system: the next pass looks everything up, adopts what it finds and creates nothing. What persons decided\n" +
			"since then is not known any more.",
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return a.here(cmd, func(_ context.Context, args []string) error {
		if !yes {
			return usage("state restore forgets what was decided since the copy was made: say --yes")
		}
		backup, err := a.file(args[0])
		if err != nil {
			return err
		}
		return a.whileClosed(func(w *work) error { return a.restore(string(w.config.State), backup) })
	})
}

// stateExport writes what the state holds for other programs. A file is written by the process of the person who wants
// it, with their rights and for them alone.
func (a *app) stateExport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write every row of the state as a line of JSON", Args: atMostOne("the name of a file"),
		Long: "Write every row of the state as a line of JSON with its kind, key and value, in the order of the file: to FILE,\n" +
			"which must not exist and is its owner's alone, or to standard output. It holds names, texts and prices, and\n" +
			"no secrets.",
	}
	a.overState(cmd, func(_ context.Context, s *session, _ []string) error { return s.store.Export(a.out) })
	export := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.home != nil || len(args) == 0 {
			return export(cmd, args)
		}
		return a.intoFile(args[0], func() error { return export(cmd, args) })
	}
	return cmd
}

// intoFile lets something be printed into a new file, which is complete or not there.
func (a *app) intoFile(path string, write func() error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already: name another file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	out := a.out
	a.out = f
	err = write()
	a.out = out
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: written\n", path)
	return nil
}

func (a *app) restore(path, backup string) error {
	r, err := state.Restore(path, backup, a.now())
	a.sayMoved(r.Moved)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: restored from %s\n", path, backup)
	fmt.Fprintf(a.out, "  The last pass that it knows of ended: %s\n", when(r.Last, time.UTC))
	fmt.Fprintln(a.out, "  The next pass looks everything up in the accounting system: it adopts what it finds, and creates nothing.")
	fmt.Fprintln(a.out, "  What it does not find waits for a person: `tidemark review list`. Pauses, and what was settled, skipped or held")
	fmt.Fprintln(a.out, "  since then, have to be said again.")
	return nil
}

// sayMoved says where files are that were in the way.
func (a *app) sayMoved(moved []string) {
	for _, old := range moved {
		fmt.Fprintf(a.err, "moved aside: %s\n", old)
	}
}

func (a *app) stateCompact() *cobra.Command {
	cmd := &cobra.Command{Use: "compact", Short: "Give the free pages of the file back to the disk", Args: exactly(0, "no arguments")}
	return a.here(cmd, func(context.Context, []string) error {
		return a.whileClosed(func(w *work) error {
			path := string(w.config.State)
			before, after, err := state.Compact(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s: %s before, %s now\n", path, bytesOf(before), bytesOf(after))
			return nil
		})
	})
}

// stateRebuild begins a new state that adopts what stands in the accounting systems, and runs its first pass.
func (a *app) stateRebuild() *cobra.Command {
	cmd := &cobra.Command{Use: "rebuild", Short: "Begin a new state that adopts what stands in the accounting system, and creates nothing", Args: exactly(0, "no arguments")}
	return a.here(cmd, func(ctx context.Context, _ []string) error {
		err := a.whileClosed(func(w *work) error { return a.begin(w, w.channels()) })
		if err != nil {
			return err
		}
		return a.inState(func(s *session) error { return a.runOnce(ctx, s, "") })
	})
}

func (w *work) channels() []state.Channel {
	channels := make([]state.Channel, len(w.ends))
	for i, e := range w.ends {
		channels[i] = state.Channel{Tracker: e.tracker.Account(), Account: e.books.Account(), Prefix: e.sync.Invoice.Prefix}
	}
	return channels
}

// begin makes a new state, and says where the old one is.
func (a *app) begin(w *work, rebuild []state.Channel) error {
	moved, err := state.Init(string(w.config.State), a.now(), rebuild)
	a.sayMoved(moved)
	return err
}

func (a *app) stateInit() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "init", Short: "Begin a new, empty state, as in a first run", Args: exactly(0, "no arguments"),
		Long: "Begin a new, empty state. What was billed is looked up in the accounting system by its reference before anything\n" +
			"is created; items, notes and what was settled or skipped are not known any more. After a loss, `tidemark state rebuild`\n" +
			"is the careful way: it creates nothing that it does not find.",
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return a.here(cmd, func(context.Context, []string) error {
		if !yes {
			return usage("state init forgets what was settled and skipped: say --yes, or use `tidemark state rebuild`")
		}
		return a.whileClosed(func(w *work) error {
			if err := a.begin(w, nil); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s: new and empty; the next pass looks everything up before it creates anything\n", w.config.State)
			return nil
		})
	})
}
