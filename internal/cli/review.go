package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"tidemark/state"
	"tidemark/sync"
	"tidemark/sync/civil"
)

func (a *app) reviewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "review", Short: "Show what a person must decide, and decide it", Args: noSuchCommand, RunE: func(*cobra.Command, []string) error {
		return usage("review needs a command: list, show, settle, skip, hold, retry or release")
	}}
	cmd.AddCommand(a.reviewList(), a.reviewShow(),
		a.reviewAct(sync.Settle, "Say that it was handled by hand: nothing is written for these contents"),
		a.reviewAct(sync.Skip, "Never bill it"),
		a.reviewAct(sync.Postpone, "Leave it alone until a day"),
		a.reviewAct(sync.Retry, "Decide it anew, after the cause was mended"),
		a.reviewAct(sync.Release, "Create the invoices of a limit or lost list, exactly as they are listed"))
	return cmd
}

func (a *app) reviewList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Short: "List what a person must decide, the oldest first", Args: exactly(0, "no arguments")}
	cmd.Flags().BoolVar(&all, "all", false, "also what was decided: held, settled and skipped")
	return a.overState(cmd, func(_ context.Context, s *session, _ []string) error {
		items, err := s.store.Items("")
		if err != nil {
			return err
		}
		items = slices.DeleteFunc(items, func(i state.Item) bool { return i.Status != state.Undecided && !all })
		slices.SortStableFunc(items, func(x, y state.Item) int { return x.Opened.Compare(y.Opened) })
		return a.showItems(items)
	})
}

// itemRow is an item for programs: with its difference.
type itemRow struct {
	state.Item
	Difference string `json:"difference"`
}

func (a *app) showItems(items []state.Item) error {
	if a.json {
		rows := make([]itemRow, len(items))
		for n, i := range items {
			rows[n] = itemRow{i, i.Difference().String()}
		}
		return a.printJSON(rows)
	}
	if len(items) == 0 {
		fmt.Fprintln(a.out, "Nothing to review.")
		return nil
	}
	t := grid("Review", "Sync", "Kind", "What", "Billed", "Wanted", "Difference", "Since", "")
	right(t, 5, 6, 7)
	for _, i := range items {
		status := ""
		if i.Status != state.Undecided {
			status = string(i.Status)
		}
		t.AppendRow(table.Row{i.Subject, i.Sync, string(i.Kind), short(i.Title, 44), amount(i.Billed), amount(i.Wanted), signed(i.Difference(), i.Wanted.Currency), i.Opened.Format("2006-01-02"), status})
	}
	render(a.out, t)
	return nil
}

func (a *app) reviewShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show REF", Short: "Show one item: what was billed, what is wanted, and what can be done", Args: exactly(1, "one reference")}
	return a.overState(cmd, func(_ context.Context, s *session, args []string) error {
		for n, e := range s.engines {
			item, err := s.store.Item(e.Channel().Account, args[0])
			if err != nil {
				return err
			}
			if item != nil && item.Channel == e.Channel() {
				return a.showItem(*item, s.ends[n].sync.Timezone.Location())
			}
		}
		return fmt.Errorf("%s: %w; see `tidemark review list --all`", args[0], state.ErrNoItem)
	})
}

func (a *app) showItem(i state.Item, zone *time.Location) error {
	if a.json {
		return a.printJSON(itemRow{i, i.Difference().String()})
	}
	fmt.Fprintf(a.out, "%s  %s\n", i.Subject, clean(i.Title))
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(a.out, "  %-10s  %s\n", label, value)
		}
	}
	since := i.Opened
	if since.IsZero() {
		since = i.Decided
	}
	line("kind", fmt.Sprintf("%s, %s since %s", i.Kind, i.Status, when(since, zone)))
	line("why", clean(i.Text))
	if i.Wanted.Currency != "" {
		line("billed", hours(i.Billed.Seconds)+" h, "+amount(i.Billed))
		line("wanted", hours(i.Wanted.Seconds)+" h, "+amount(i.Wanted))
		line("difference", plus(i.Wanted.Seconds-i.Billed.Seconds)+" h, "+signed(i.Difference(), i.Wanted.Currency))
	}
	if i.Who != "" {
		line("decided", fmt.Sprintf("%s by %s: %s", when(i.Decided, zone), clean(i.Who), clean(i.Note)))
	}
	if len(i.List) > 0 {
		t := grid("Reference", "What", "Hours", "Amount")
		right(t, 3, 4)
		for _, l := range i.List {
			t.AppendRow(table.Row{l.Reference, short(l.Title, 60), hours(l.Totals.Seconds), amount(l.Totals)})
		}
		fmt.Fprintln(a.out)
		render(a.out, t)
	}
	fmt.Fprintln(a.out, "\n  You can:")
	for _, p := range possible(i) {
		fmt.Fprintf(a.out, "    tidemark review %-52s %s\n", p.command, p.does)
	}
	fmt.Fprintf(a.out, "  The whole story: tidemark explain %s\n", i.Subject)
	return nil
}

// plus writes hours with their sign.
func plus(seconds int64) string {
	if seconds > 0 {
		return "+" + hours(seconds)
	}
	return hours(seconds)
}

// choice is something that can be done about an item.
type choice struct{ command, does string }

func possible(i state.Item) []choice {
	ref := i.Subject
	hold := choice{"hold " + ref + " --until DAY", "leave it alone until a day"}
	if i.Kind == state.Limit || i.Kind == state.Lost {
		return []choice{{"release " + ref, "create exactly these"}, hold}
	}
	return []choice{
		{"settle " + ref + " --note TEXT", "it was handled by hand"},
		{"skip " + ref + " --note TEXT", "never bill it"},
		hold,
		{"retry " + ref, "the cause was mended: decide anew"},
	}
}

// reviewAct is a command that decides about one or more subjects.
func (a *app) reviewAct(action sync.Action, what string) *cobra.Command {
	var note, who, until string
	cmd := &cobra.Command{
		Use: string(action) + " REF…", Short: what,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("%s needs a reference; see `tidemark review list`", cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "why, or how it was handled")
	cmd.Flags().StringVar(&who, "as", "", "who decides; without it, the one who runs the command")
	if action == sync.Postpone {
		cmd.Flags().StringVar(&until, "until", "", "the `day` on which it opens again, such as 2026-12-24")
	}
	return a.overState(cmd, func(_ context.Context, s *session, args []string) error {
		day, err := holdUntil(action, until)
		if err != nil {
			return err
		}
		return a.rule(s, sync.Ruling{Action: action, Who: a.who(who), Note: note, Until: day}, args)
	})
}

func holdUntil(action sync.Action, until string) (day civil.Date, err error) {
	if action != sync.Postpone {
		return day, nil
	}
	if until == "" {
		return day, usage("review hold needs --until, the day on which it opens again")
	}
	if day, err = civil.Parse(until); err != nil {
		return day, usage("--until: %v", err)
	}
	return day, nil
}

// person is who runs the command, also behind sudo.
func person() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// rule does one thing about each subject. A subject that is refused does not keep the others from theirs.
func (a *app) rule(s *session, r sync.Ruling, subjects []string) error {
	var errs []error
	for _, subject := range subjects {
		r.Subject = subject
		e, err := owner(s, subject)
		if err == nil {
			err = e.Rule(r, a.now())
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(a.out, "%s: %s by %s. %s\n", subject, past(r), clean(r.Who), consequence(r.Action))
	}
	return errors.Join(errs...)
}

func owner(s *session, subject string) (*sync.Engine, error) {
	for _, e := range s.engines {
		owns, err := e.Owns(subject)
		if err != nil {
			return nil, err
		}
		if owns {
			return e, nil
		}
	}
	return nil, fmt.Errorf("%s: %w; see `tidemark review list --all`", subject, state.ErrNoItem)
}

func past(r sync.Ruling) string {
	switch r.Action {
	case sync.Settle:
		return "settled"
	case sync.Skip:
		return "skipped"
	case sync.Postpone:
		return "held until " + r.Until.String()
	case sync.Retry:
		return "to be decided anew"
	case sync.Release:
		return "released"
	}
	return string(r.Action)
}

func consequence(action sync.Action) string {
	switch action {
	case sync.Settle, sync.Skip:
		return "It opens again only if it changes once more."
	case sync.Postpone:
		return "Nothing is written for it before that day."
	case sync.Retry:
		return "The next pass decides it."
	case sync.Release:
		return "The next pass creates what was listed, unless it has changed."
	}
	return ""
}
