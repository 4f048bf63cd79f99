package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"tidemark/state"
	"tidemark/sync"
	"tidemark/sync/civil"
)

// planCommand shows what a pass would do.
func (a *app) planCommand() *cobra.Command {
	var name string
	var exit bool
	cmd := &cobra.Command{Use: "plan", Short: "Show what a pass would do, with money; write nothing", Args: exactly(0, "no arguments")}
	cmd.Flags().StringVar(&name, "sync", "", "only the sync of this `name`")
	cmd.Flags().BoolVar(&exit, "exit-code", false, "exit with 3 if a pass would do something")
	return a.overState(cmd, func(ctx context.Context, s *session, _ []string) error {
		s, err := s.only(name)
		if err != nil {
			return err
		}
		reports, err := a.planAll(ctx, s, civil.Period{})
		if err != nil {
			return err
		}
		for _, r := range reports {
			if exit && len(r.Invoices)+len(r.Items) > 0 {
				return errFound
			}
		}
		return nil
	})
}

// plan shows what a backfill of days would do.
func (a *app) plan(ctx context.Context, s *session, days civil.Period) error {
	_, err := a.planAll(ctx, s, days)
	return err
}

func (a *app) planAll(ctx context.Context, s *session, days civil.Period) (reports []sync.Report, err error) {
	var errs []error
	for _, e := range s.engines {
		report, err := e.Plan(ctx, a.now(), days)
		reports = append(reports, report)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
		}
	}
	return reports, errors.Join(append(errs, a.showReports(reports, "planned"))...)
}

func (a *app) explainCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "explain REF", Short: "Tell the whole story of a reference, a week, an item or a sync", Args: exactly(1, "one reference, or the id of a week")}
	return a.overState(cmd, func(_ context.Context, s *session, args []string) error {
		for i, e := range s.engines {
			story, found, err := e.Explain(args[0], a.now())
			if err != nil {
				return err
			}
			if found {
				return a.showStory(story, s.ends[i].sync.Timezone.Location())
			}
		}
		return fmt.Errorf("%s: nothing is known under this reference; `tidemark review list` and the report of a pass show some", args[0])
	})
}

func (a *app) showStory(s sync.Story, zone *time.Location) error {
	if a.json {
		return a.printJSON(s)
	}
	switch {
	case s.Group != nil:
		a.showGroup(s, zone)
	case s.Week != nil:
		a.showWeek(s)
	default:
		fmt.Fprintln(a.out, clean(s.Subject))
	}
	if s.Item != nil {
		fmt.Fprintf(a.out, "  review      %s, %s: %s\n", s.Item.Kind, s.Item.Status, clean(s.Item.Text))
	}
	if len(s.History) > 0 {
		t := grid("When", "What", "Who", "")
		for _, e := range s.History {
			t.AppendRow(table.Row{when(e.At, zone), short(e.What, 70), short(e.Who, 16), short(e.Detail, 70)})
		}
		fmt.Fprintln(a.out)
		render(a.out, t)
	}
	return nil
}

func (a *app) showGroup(s sync.Story, zone *time.Location) {
	g := s.Group
	fmt.Fprintf(a.out, "%s  %s, %s, per %s, %s\n", s.Subject, clean(g.Client.Label()), g.Period, g.Per, g.Currency)
	fmt.Fprintf(a.out, "  now         %s h, %s; %s%s\n", hours(s.Wanted.Seconds), amount(s.Wanted), inWords(sync.Do(s.Decision)), because(s.Why))
	for _, d := range s.Documents {
		fmt.Fprintf(a.out, "  invoice     %s, %s, %s, recorded %s\n", d.Receipt.ID, d.Receipt.Status, d.Receipt.Currency.Format(d.Receipt.Net), when(d.At, zone))
	}
	if s.Key != nil {
		fmt.Fprintf(a.out, "  key         %s, %s, first seen %s, lives until %s\n", s.Key.Name, s.Key.Act, when(s.Key.First, zone), when(s.Expires, zone))
	}
	if len(s.Entries) > 0 {
		t := grid("Day", "Member", "Project", "Task", "Note", "Hours")
		right(t, 6)
		byDay := func(a, b state.Billed) int { return a.Entry.Date.Compare(b.Entry.Date) }
		for _, b := range slices.SortedStableFunc(slices.Values(s.Entries), byDay) {
			e := b.Entry
			t.AppendRow(table.Row{e.Date, short(b.Member.Label(), 20), short(e.Project.Label(), 24), short(e.Task.Label(), 20), short(e.Note, 40), hours(e.Seconds)})
		}
		fmt.Fprintln(a.out)
		render(a.out, t)
	}
}

// inWords says what the next pass would do.
func inWords(do sync.Do) string {
	switch do {
	case sync.Finish:
		return "nothing to do"
	case sync.Hold:
		return "waits"
	case sync.Leave:
		return "with a person"
	case sync.Ask:
		return "a person decides"
	case sync.Make, sync.Further:
		return "to be created"
	case sync.Mend:
		return "the draft is to be updated"
	case sync.Resolve, sync.Verify:
		return "an operation is to be looked up"
	}
	return string(do)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + clean(why)
}

func (a *app) showWeek(s sync.Story) {
	w := s.Week
	fmt.Fprintf(a.out, "%s  %s, %s, %s\n", clean(w.ID), clean(w.Member.Label()), w.Period, w.State)
	if w.Origin != "" {
		fmt.Fprintf(a.out, "  read from   %s\n", clean(w.Origin))
	}
	if w.Trouble != nil {
		fmt.Fprintf(a.out, "  trouble     %s: %s\n", w.Trouble.Kind, clean(w.Trouble.Text))
	}
	for _, g := range s.Groups {
		fmt.Fprintf(a.out, "  billed in   %s\n", g)
	}
	if len(s.Groups) == 0 {
		fmt.Fprintln(a.out, "  billed in   nothing: no entry of it is billable")
	}
	fmt.Fprintf(a.out, "  contents    %d entries, changed %s\n", len(w.Entries), times(len(s.Former)))
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
