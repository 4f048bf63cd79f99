package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"tidemark/daemon"
	"tidemark/sync"
	"tidemark/sync/civil"
)

// auditCommand compares both ends and the state over a range of weeks.
func (a *app) auditCommand() *cobra.Command {
	var from, to, name string
	var csv bool
	cmd := &cobra.Command{
		Use: "audit", Short: "Compare tracker, state and accounting system over a range of weeks; change nothing", Args: exactly(0, "no arguments"),
		Long: "Compare what is approved at the tracker, what is recorded in the state, and what stands in the accounting system, for the\n" +
			"weeks whose first day is from --from to --to. It changes nothing. It exits with 3 if anything is off.",
	}
	cmd.Flags().StringVar(&from, "from", "", "first `day`, such as 2026-11-01")
	cmd.Flags().StringVar(&to, "to", "", "last `day`")
	cmd.Flags().StringVar(&name, "sync", "", "only the sync of this `name`")
	cmd.Flags().BoolVar(&csv, "csv", false, "print CSV, a line for each finding")
	return a.overState(cmd, func(ctx context.Context, s *session, _ []string) error {
		days, err := daysOf("audit", from, to)
		switch {
		case err != nil:
			return err
		case days.Last.Before(days.First):
			return usage("--to %s comes before --from %s", days.Last, days.First)
		case csv && a.json:
			return usage("--csv and --json are two things: choose one")
		}
		if s, err = s.only(name); err != nil {
			return err
		}
		return a.auditAll(ctx, s, days, csv)
	})
}

// auditAll audits each sync and shows what was found. One that could not be compared is an error, whatever the others
// have come to.
func (a *app) auditAll(ctx context.Context, s *session, days civil.Period, csv bool) error {
	var audits []sync.Audit
	var errs []error
	found := false
	for _, e := range s.engines {
		audit, err := e.Audit(ctx, a.now(), days)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: not compared: %w", e.Name(), err))
			continue
		}
		audits = append(audits, audit)
		found = found || len(audit.Findings) > 0
	}
	show := a.showAudits
	if csv {
		show = a.printFindings
	}
	if err := errors.Join(append(errs, show(audits))...); err != nil {
		return err
	}
	if found {
		return errFound
	}
	return nil
}

// audit compares the weeks of one sync that began in the calendar month before now.
func (s *session) audit(ctx context.Context, name string, now time.Time) (sync.Audit, error) {
	one, err := s.only(name)
	if err != nil {
		return sync.Audit{}, err
	}
	return one.engines[0].Audit(ctx, now, monthBefore(now.In(one.ends[0].sync.Timezone.Location())))
}

// monthBefore returns the calendar month before the one in which a moment falls, where it is.
func monthBefore(now time.Time) civil.Period {
	today := civil.DateOf(now)
	last := today.AddDays(-today.Day)
	return civil.Period{First: civil.Date{Year: last.Year, Month: last.Month, Day: 1}, Last: last}
}

// auditJobs returns the audits of a config that are made by themselves, each in the zone of its sync.
func (a *app) auditJobs(h *home, w *work) (jobs []daemon.Job) {
	if w.config.Audit.Schedule.String() == "" {
		return nil
	}
	for _, e := range w.ends {
		c := e.sync
		jobs = append(jobs, daemon.Job{
			Name: "(audit) " + c.Name, Schedule: w.config.Audit.Schedule, Location: c.Timezone.Location(), Deadline: time.Duration(c.Deadline),
			Run: func(ctx context.Context, now time.Time) (daemon.Outcome, error) {
				audit, err := over(h, func(s *session) (sync.Audit, error) { return s.audit(ctx, c.Name, now) })
				logFindings(*a.log, audit)
				return audit, err
			},
		})
	}
	return jobs
}

// logFindings writes a line for each finding that no person has decided.
func logFindings(log zerolog.Logger, audit sync.Audit) {
	for _, f := range audit.Findings {
		line := log.Warn().Str("sync", audit.Sync).Str("finding", string(f.Kind)).Str("reference", f.Reference).Str("client", f.Client)
		if f.Review != "" {
			line.Str("review", string(f.Review))
		}
		line.Str("what", f.Text).Msg("audit")
	}
}
