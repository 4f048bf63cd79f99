package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"tidemark/daemon"
	"tidemark/sync"
	"tidemark/sync/civil"
)

// runFlags are the flags of the command without a name.
type runFlags struct {
	once, backfill, dryRun bool
	sync, from, to         string
}

func (r *runFlags) define(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&r.once, "once", false, "run one pass, then end")
	f.BoolVar(&r.backfill, "backfill", false, "catch up over the weeks whose first day is from --from to --to, then end")
	f.BoolVar(&r.dryRun, "dry-run", false, "with --backfill: show what it would do, and write nothing")
	f.StringVar(&r.from, "from", "", "first `day` of a backfill, such as 2026-11-02")
	f.StringVar(&r.to, "to", "", "last `day` of a backfill")
	f.StringVar(&r.sync, "sync", "", "only the sync of this `name`")
}

// runRoot does what the flags ask for.
func (a *app) runRoot(cmd *cobra.Command, r runFlags) error {
	switch {
	case r.once && r.backfill:
		return usage("--once and --backfill are two things: choose one")
	case r.backfill:
		days, err := daysOf("--backfill", r.from, r.to)
		if err != nil {
			return err
		}
		return a.overState(cmd, func(ctx context.Context, s *session, _ []string) error { return a.runBackfill(ctx, s, r, days) }).RunE(cmd, nil)
	case r.from != "" || r.to != "" || r.dryRun:
		return usage("--from, --to and --dry-run belong to --backfill")
	case r.once:
		return a.overState(cmd, func(ctx context.Context, s *session, _ []string) error { return a.runOnce(ctx, s, r.sync) }).RunE(cmd, nil)
	case r.sync != "":
		return usage("--sync belongs to --once or --backfill: the daemon runs every sync")
	}
	return a.runDaemon(cmd.Context())
}

// daysOf reads the range that a command needs.
func daysOf(command, from, to string) (days civil.Period, err error) {
	if from == "" || to == "" {
		return days, usage("%s needs --from and --to, such as --from 2026-11-02 --to 2026-11-29", command)
	}
	first, err1 := civil.Parse(from)
	last, err2 := civil.Parse(to)
	if err := errors.Join(err1, err2); err != nil {
		return days, usage("%v", err)
	}
	return civil.Period{First: first, Last: last}, nil
}

// runOnce runs one pass of each sync and shows what was done.
func (a *app) runOnce(ctx context.Context, s *session, name string) error {
	s, err := s.only(name)
	if err != nil {
		return err
	}
	return a.eachEngine(s, func(e *sync.Engine) (sync.Report, error) { return e.Pass(ctx, a.now()) })
}

// eachEngine lets every engine do one thing, one after another, and shows their reports. An error of
// one sync does not keep the others from their turn, unless the state cannot be relied on.
func (a *app) eachEngine(s *session, do func(*sync.Engine) (sync.Report, error)) error {
	var reports []sync.Report
	var errs []error
	for _, e := range s.engines {
		report, err := do(e)
		reports = append(reports, report)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
		}
		if errors.Is(ending(err), daemon.ErrFatal) {
			break
		}
	}
	return errors.Join(append(errs, a.showReports(reports, "done"))...)
}

// runBackfill catches up over a range and shows what was done.
func (a *app) runBackfill(ctx context.Context, s *session, r runFlags, days civil.Period) error {
	s, err := s.only(r.sync)
	if err != nil {
		return err
	}
	for _, e := range s.engines {
		if err := e.CheckRange(days); err != nil {
			return err
		}
	}
	if r.dryRun {
		return a.plan(ctx, s, days)
	}
	return a.eachEngine(s, func(e *sync.Engine) (sync.Report, error) {
		show := a.progress(e.Name())
		defer show.end()
		return e.Backfill(ctx, a.now(), days, show.slice)
	})
}

// progress shows how far a backfill is: a bar on a terminal, a line now and then elsewhere.
type progress struct {
	name string
	bar  *progressbar.ProgressBar
	out  io.Writer
	said time.Time
	now  func() time.Time
}

func (a *app) progress(name string) *progress {
	p := &progress{name: name, out: a.err, now: a.now}
	if isTerminal(a.err) {
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription(name),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	}
	return p
}

// between is how often a line is written where there is no bar.
const between = 10 * time.Second

func (p *progress) slice(done, total int, s sync.Slice) {
	if p.bar != nil {
		p.bar.ChangeMax(total)
		_ = p.bar.Set(done)
		return
	}
	if now := p.now(); s.Error != "" || done == total || now.Sub(p.said) >= between {
		p.said = now
		fmt.Fprintf(p.out, "%s: %d of %d weeks read (%s)%s\n", p.name, done, total, s.Days, failed(s))
	}
}

func failed(s sync.Slice) string {
	if s.Error == "" {
		return ""
	}
	return ": failed: " + s.Error
}

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
