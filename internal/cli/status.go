package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/daemon"
)

func (a *app) statusCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{Use: "status", Short: "Show where each sync stands, and what somebody has to do", Args: exactly(0, "no arguments")}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every two seconds, until it is interrupted")
	once := a.overState(cmd, func(_ context.Context, s *session, _ []string) error {
		o, err := a.overview(s)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(o)
		}
		a.showOverview(o)
		return nil
	}).RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if watch {
			return a.watch(cmd.Context(), func() error { return once(cmd, args) })
		}
		return once(cmd, args)
	}
	return cmd
}

// watch shows something again and again. Each time is a call of its own: in between, a daemon can start and stop.
func (a *app) watch(ctx context.Context, show func() error) error {
	const every = 2 * time.Second
	if !isTerminal(a.out) || a.json {
		return usage("--watch is for people: it needs a terminal, and prints no JSON")
	}
	a.args = slices.DeleteFunc(slices.Clone(a.args), func(arg string) bool { return strings.HasPrefix(arg, "--watch") })
	screen := a.out
	for {
		page := &page{}
		a.out = page
		err := show()
		a.out = screen
		if ctx.Err() != nil {
			return nil //nolint:nilerr // To interrupt it is how it ends.
		}
		fmt.Fprintf(screen, "\x1b[H\x1b[2J%s", page)
		if err != nil {
			fmt.Fprintf(screen, "%v\n", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// page gathers what is to be shown at once.
type page struct{ bytes.Buffer }

// Terminal: it is shown on one.
func (*page) Terminal() bool { return true }

// overview is where everything stands now.
func (a *app) overview(s *session) (o daemon.Overview, err error) {
	o.At = a.now()
	if a.home != nil {
		o.Daemon = &daemon.Process{PID: os.Getpid(), Since: a.home.began}
	}
	o.State.Path = string(s.config.State)
	if o.State.Space, err = s.store.Space(); err != nil {
		return o, err
	}
	o.State.Compact = o.State.Wasteful()
	for i := range s.engines {
		st, err := s.standing(i, o)
		if err != nil {
			return o, err
		}
		o.Syncs = append(o.Syncs, st)
	}
	return o, nil
}

// standing is where one sync stands.
func (s *session) standing(i int, o daemon.Overview) (st daemon.Standing, err error) {
	c := s.ends[i].sync
	job := daemon.Job{Schedule: c.Schedule, Location: c.Timezone.Location()}
	if st.Status, err = s.engines[i].Status(o.At); err != nil {
		return st, err
	}
	st.Zone, st.Schedule = c.Timezone.Location().String(), c.Schedule.String()
	if st.Halted == nil {
		st.Next = job.Next(o.At)
	}
	good := st.Last.Good
	if o.Daemon != nil && good.Before(o.Daemon.Since) { // a daemon that has just started is given its time
		good = o.Daemon.Since
	}
	if stale := job.Stale(good); !good.IsZero() && !stale.IsZero() && !stale.After(o.At) {
		st.Stale = stale
	}
	if grant := s.ends[i].grant; grant != nil {
		until, err := grant.Ends()
		st.SignIn = &daemon.SignIn{Ends: until}
		if err != nil {
			st.SignIn.Error = err.Error() + " (" + c.Name + ")"
		}
	}
	inZone(&st, c.Timezone.Location())
	return st, nil
}

// inZone lets all times of a standing be read by one clock.
func inZone(st *daemon.Standing, zone *time.Location) {
	for _, t := range []*time.Time{
		&st.Last.Began, &st.Last.Ended, &st.Last.Good, &st.Last.Previous, &st.Watermark, &st.Oldest, &st.Empty, &st.Parked, &st.Paused, &st.Next, &st.Stale,
	} {
		if !t.IsZero() {
			*t = t.In(zone)
		}
	}
}

// showOverview prints one screen.
func (a *app) showOverview(o daemon.Overview) {
	running := "none is running: passes run only when somebody starts them"
	if o.Daemon != nil {
		running = fmt.Sprintf("process %d since %s", o.Daemon.PID, when(o.Daemon.Since, time.Local))
	}
	fmt.Fprintf(a.out, "daemon        %s\n", running)
	room := ""
	if o.State.Compact {
		room = "; tidemark state compact gives the free room back"
	}
	fmt.Fprintf(a.out, "state         %s: %s, %s free%s\n", o.State.Path, bytesOf(o.State.Size), bytesOf(o.State.Free), room)
	for _, s := range o.Syncs {
		fmt.Fprintln(a.out)
		a.showStanding(s, o)
	}
}

func (a *app) showStanding(s daemon.Standing, o daemon.Overview) {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		zone = time.UTC
	}
	fmt.Fprintln(a.out, s.Sync)
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(a.out, "  %-11s %s\n", label, value)
		}
	}
	line("last pass", when(s.Last.Ended, zone)+ago(s.Last.Ended, o.At))
	line("", clean(s.Last.Summary))
	if s.Last.Error != "" {
		line("failed", clean(s.Last.Error))
		line("last good", when(s.Last.Good, zone)+ago(s.Last.Good, o.At))
	}
	line("next run", nextRun(s, o, zone))
	line("mode", map[bool]string{true: string(s.Mode)}[s.Mode != "normal"])
	line("watermark", when(s.Watermark, zone))
	line("read back", s.Horizon)
	if !s.Parked.IsZero() {
		line("parked", "until "+when(s.Parked, zone)+", as the tracker asked")
	}
	if !s.Paused.IsZero() {
		line("parked", "until "+when(s.Paused, zone)+", as the accounting system asked")
	}
	line("due", many(s.Due, "group"))
	if s.Unread > 0 {
		line("unread", many(s.Unread, "record"))
	}
	if s.SignIn != nil && s.SignIn.Error == "" {
		line("sign-in", signedIn(*s.SignIn, o.At))
	}
	needs := s.Needs(o.At)
	for i, n := range needs {
		line(first(i, "to do"), a.red(clean(n.Text)))
	}
	if len(needs) == 0 {
		line("to do", "nothing")
	}
}

func nextRun(s daemon.Standing, o daemon.Overview, zone *time.Location) string {
	switch h := s.Halted; {
	case h != nil:
		return "none: paused by " + clean(h.Who) + " since " + when(h.At, zone) + because(h.Note)
	case o.Daemon == nil:
		return when(s.Next, zone) + ", if a daemon runs"
	}
	return when(s.Next, zone)
}

// signedIn says how long a sign-in lasts if it is not used any more.
func signedIn(in daemon.SignIn, now time.Time) string {
	switch left := in.Ends.Sub(now); {
	case in.Ends.IsZero():
		return "good"
	case left <= 0:
		return "has ended"
	default:
		return "good for " + many(int(left.Hours()/24), "day") + ", and longer when it is used"
	}
}

// ago says how long ago something was, in the largest unit that fits.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero() || d < 0:
		return ""
	case d < time.Minute:
		return ", just now"
	case d < time.Hour:
		return ", " + many(int(d.Minutes()), "minute") + " ago"
	case d < 48*time.Hour:
		return ", " + many(int(d.Hours()), "hour") + " ago"
	default:
		return ", " + many(int(d.Hours()/24), "day") + " ago"
	}
}

// red marks what somebody has to act on, where that can be seen.
func (a *app) red(text string) string {
	if !a.color() {
		return text
	}
	return "\x1b[31m" + text + "\x1b[0m"
}

// color reports whether the standard output shows colours: a terminal whose owner has not said NO_COLOR.
func (a *app) color() bool {
	if a.call != nil {
		return a.call.OutTerm && !a.call.NoColor
	}
	return isTerminal(a.out) && os.Getenv("NO_COLOR") == ""
}
