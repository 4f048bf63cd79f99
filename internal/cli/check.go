package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/daemon"
	"tidemark/sync/accounting"
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
	Kind    string   `json:"kind"`
	Account string   `json:"account"`
	User    string   `json:"user,omitempty"`
	Into    string   `json:"into,omitempty"` // what the sign-in was let into
	Plan    string   `json:"plan,omitempty"`
	Does    []string `json:"does,omitempty"` // what is read there, or made
	Notes   []string `json:"notes,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// visited is an accounting system that tells of itself.
type visited interface {
	Access(ctx context.Context) (accounting.Access, error)
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
	fromErr := c.Tracker.askTracker(ctx, e)
	toErr := c.Accounting.askBooks(ctx, e)
	job := daemon.Job{Schedule: e.sync.Schedule, Location: e.sync.Timezone.Location()}
	for at := a.now(); len(c.Next) < 5; {
		at = job.Next(at)
		c.Next = append(c.Next, at)
	}
	return c, errors.Join(fromErr, toErr)
}

func (c *checkedEnd) askTracker(ctx context.Context, e ends) error {
	a, err := e.tracker.Access(ctx)
	if err != nil {
		c.Error = err.Error()
		return err
	}
	c.User, c.Into, c.Plan, c.Does, c.Notes = a.User, a.Account, a.Plan, a.Reads, a.Notes
	return nil
}

// askBooks asks a system of itself, or where it cannot tell, for an invoice that nobody has.
func (c *checkedEnd) askBooks(ctx context.Context, e ends) (err error) {
	defer func() {
		if err != nil {
			c.Error = err.Error()
		}
	}()
	v, tells := e.books.(visited)
	if !tells {
		_, err = e.books.Find(ctx, e.sync.Invoice.Prefix+"check")
		return err
	}
	a, err := v.Access(ctx)
	if err == nil {
		c.User, c.Into, c.Plan, c.Does, c.Notes = a.User, a.Account, a.Plan, []string{a.Makes}, a.Notes
	}
	return err
}

func (a *app) showChecked(c checked, zone *time.Location) {
	fmt.Fprintf(a.out, "\n%s\n", c.Sync)
	line := func(label, text string) { fmt.Fprintf(a.out, "  %-12s %s\n", label, text) }
	for _, end := range []struct {
		checkedEnd
		does string
	}{{c.Tracker, "reads"}, {c.Accounting, "makes"}} {
		line(end.Kind, end.Account+": "+end.answer("can be read"))
		for i, text := range end.Does {
			line(first(i, end.does), clean(text))
		}
		for i, text := range end.Notes {
			line(first(i, "note"), clean(text))
		}
	}
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
	case c.User == "" && c.Plan == "" && len(c.Does) < 2:
		return good
	}
	parts := slices.DeleteFunc([]string{c.User, c.Into, c.Plan}, func(s string) bool { return s == "" })
	return "signed in: " + clean(strings.Join(parts, ", "))
}
