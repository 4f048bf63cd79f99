package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/daemon"
	"tidemark/sync/tracker"
)

// checked is what a check found of one sync, for programs.
type checked struct {
	Sync       string      `json:"sync"`
	Tracker    checkedEnd  `json:"tracker"`
	Accounting checkedEnd  `json:"accounting"`
	Next       []time.Time `json:"next"` // the next five runs
}

// checkedEnd is one side of a sync.
type checkedEnd struct {
	Kind    string          `json:"kind"`
	Account string          `json:"account"`
	Access  *tracker.Access `json:"access,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// checkCommand checks everything that a pass needs, and changes nothing.
func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the config, sign in to both ends of each sync, and show the next five runs", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.load()
			if err != nil {
				return err
			}
			if !a.json {
				fmt.Fprintf(a.out, "%s: good\n", a.path)
			}
			var all []checked
			var errs []error
			for _, e := range w.ends {
				c, err := a.checkEnds(cmd.Context(), e)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", e.sync.Name, err))
				}
				if all = append(all, c); !a.json {
					a.showChecked(c, e.sync.Timezone.Location())
				}
			}
			if a.json {
				errs = append(errs, a.printJSON(all))
			}
			if err := errors.Join(errs...); err != nil {
				return temporaryError{err}
			}
			return nil
		},
	}
}

// checkEnds signs in to the tracker, asks the books for something harmless, and looks for the next runs.
func (a *app) checkEnds(ctx context.Context, e ends) (checked, error) {
	c := checked{
		Sync:       e.sync.Name,
		Tracker:    checkedEnd{Kind: e.sync.Tracker.Kind, Account: e.tracker.Account()},
		Accounting: checkedEnd{Kind: e.sync.Accounting.Kind, Account: e.books.Account()},
	}
	access, fromErr := e.tracker.Access(ctx)
	if fromErr == nil {
		c.Tracker.Access = &access
	} else {
		c.Tracker.Error = fromErr.Error()
	}
	_, toErr := e.books.Find(ctx, e.sync.Invoice.Prefix+"check")
	if toErr != nil {
		c.Accounting.Error = toErr.Error()
	}
	job := daemon.Job{Schedule: e.sync.Schedule, Location: e.sync.Timezone.Location()}
	for at := a.now(); len(c.Next) < 5; {
		at = job.Next(at)
		c.Next = append(c.Next, at)
	}
	return c, errors.Join(fromErr, toErr)
}

func (a *app) showChecked(c checked, zone *time.Location) {
	fmt.Fprintf(a.out, "\n%s\n", c.Sync)
	line := func(label, text string) { fmt.Fprintf(a.out, "  %-11s %s\n", label, text) }
	line(c.Tracker.Kind, c.Tracker.Account+": "+c.Tracker.answer("can be read"))
	if access := c.Tracker.Access; access != nil {
		for i, text := range access.Reads {
			line(first(i, "reads"), clean(text))
		}
		for i, text := range access.Notes {
			line(first(i, "note"), clean(text))
		}
	}
	line(c.Accounting.Kind, c.Accounting.Account+": "+c.Accounting.answer("can be read"))
	for i, at := range c.Next {
		line(first(i, "next runs"), at.In(zone).Format("Mon 2006-01-02 15:04 MST"))
	}
}

// first labels the first line of several.
func first(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

// answer says how a sign-in went.
func (c checkedEnd) answer(good string) string {
	switch {
	case c.Error != "":
		return "failed: " + clean(c.Error)
	case c.Access == nil || c.Access.User == "":
		return good
	}
	parts := []string{"signed in as " + c.Access.User, c.Access.Account}
	if c.Access.Plan != "" {
		parts = append(parts, c.Access.Plan)
	}
	return clean(strings.Join(parts, ", "))
}
