package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tidemark/daemon/control"
	"tidemark/sync"
)

func (a *app) pauseCommand() *cobra.Command {
	var note, who string
	cmd := &cobra.Command{
		Use: "pause [SYNC…]", Short: "Let no pass and no backfill begin, of all syncs or of some, until they are resumed",
		Long: "Let no pass and no backfill begin until the sync is resumed, also after a restart. A pass that is under way ends as it\n" +
			"would. Plans, and what a person decides about items, go on.",
	}
	cmd.Flags().StringVar(&note, "note", "", "why")
	cmd.Flags().StringVar(&who, "as", "", "who wants it; without it, the one who runs the command")
	return a.overState(cmd, func(_ context.Context, s *session, names []string) error {
		return a.eachNamed(s, names, func(e *sync.Engine) (string, error) {
			changed, err := e.Pause(a.who(who), note, a.now())
			return map[bool]string{true: "paused; `tidemark resume` lets it go on", false: "was paused already"}[changed], err
		})
	})
}

func (a *app) resumeCommand() *cobra.Command {
	var who string
	cmd := &cobra.Command{Use: "resume [SYNC…]", Short: "Let paused syncs go on, all or some"}
	cmd.Flags().StringVar(&who, "as", "", "who wants it; without it, the one who runs the command")
	return a.overState(cmd, func(_ context.Context, s *session, names []string) error {
		return a.eachNamed(s, names, func(e *sync.Engine) (string, error) {
			changed, err := e.Resume(a.who(who), a.now())
			return map[bool]string{true: "goes on with its next run", false: "was not paused"}[changed], err
		})
	})
}

// eachNamed does something to the syncs of some names, all of them for none, and prints what came of it. Before
// anything is done, every name has to be known.
func (a *app) eachNamed(s *session, names []string, do func(*sync.Engine) (string, error)) error {
	for _, name := range names {
		if _, err := s.only(name); err != nil {
			return err
		}
	}
	for _, e := range s.engines {
		if len(names) > 0 && !slices.Contains(names, e.Name()) {
			continue
		}
		done, err := do(e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		fmt.Fprintf(a.out, "%s: %s\n", e.Name(), done)
	}
	return nil
}

// reloadCommand lets the daemon read its config again, and unlike SIGHUP says what came of it.
func (a *app) reloadCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "reload", Short: "Let the daemon read its config again, and show what is wrong with it", Args: exactly(0, "no arguments")}
	return a.here(cmd, func(ctx context.Context, _ []string) error {
		if a.home == nil {
			w, err := a.load()
			if err != nil {
				return err
			}
			return fmt.Errorf("%w: nobody listens on %s", control.ErrNobody, w.config.Socket)
		}
		if err := a.home.again(ctx); err != nil {
			return errors.Join(err, errors.New("the daemon goes on with the config that it has"))
		}
		fmt.Fprintln(a.out, "reloaded")
		return nil
	})
}
