package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"tidemark/config"
	"tidemark/daemon"
	"tidemark/internal/fault"
	"tidemark/internal/grant"
	"tidemark/internal/remote"
	"tidemark/state"
	"tidemark/sync"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/systemd"
)

// work is a config with everything that it names, built.
type work struct {
	config *config.Config
	ends   []ends
	net    *remote.Network
}

// ends are the two sides of one sync.
type ends struct {
	sync    config.Sync
	tracker source
	books   sync.Accounting
	grant   *grant.Grant // the sign-in that a person gives with connect; nil where there is none
	paths   []string     // files and folders that they use
}

// load reads the config and builds both ends of every sync. All faults are reported at once.
func (a *app) load() (*work, error) {
	w := &work{net: a.net}
	c, err := config.Load(a.path, w.build)
	if err != nil {
		return nil, err
	}
	w.config = c
	return w, w.check()
}

// build builds both ends of a sync. A sign-in is kept beside the state.
func (w *work) build(c *config.Config, s config.Sync) error {
	from, fromPaths, fromErr := newTracker(s.Tracker, w.net)
	tokens := filepath.Join(filepath.Dir(string(c.State)), "tokens", s.Name+".json")
	to, signIn, toPaths, toErr := newAccounting(s.Accounting, w.net, tokens)
	w.ends = append(w.ends, ends{s, from, to, signIn, append(fromPaths, toPaths...)})
	return config.Join(fromErr, toErr)
}

// check holds the rules that only both ends together can break.
func (w *work) check() error {
	of := func(s config.Sync) ends {
		for _, e := range w.ends {
			if e.sync.Name == s.Name {
				return e
			}
		}
		return ends{}
	}
	return config.Join(
		config.CheckAccounts(w.config, func(s config.Sync) string { return of(s).books.Account() }),
		config.CheckGuards(w.config, func(s config.Sync) bool { return of(s).books.Traits().GuardsDrafts }),
		config.CheckPaths(w.config, func(s config.Sync) []string { return of(s).paths }),
	)
}

// settings turns the config of a sync into the rules of its engine.
func settings(c *config.Config, s config.Sync) sync.Settings {
	i := s.Invoice
	r := sync.Settings{
		Name: s.Name, Prefix: i.Prefix, Location: s.Timezone.Location(), Overlap: time.Duration(s.Overlap), TTL: c.Keys.TTL(),
		Lookback: time.Duration(s.Lookback), Reread: time.Duration(s.Reread), RereadEvery: time.Duration(s.RereadEvery), Start: civil.Date(s.Start), Per: sync.Per(i.Per), Settle: time.Duration(i.Settle),
		WaitAtMost: time.Duration(i.WaitAtMost), Lines: sync.Lines(i.Lines), Dated: sync.Dated(i.Date), DueDays: -1,
		IgnoreClients: i.Ignore.Clients, IgnoreProjects: i.Ignore.Projects,
		Corrections: sync.Corrections(s.Corrections), Late: sync.Late(s.Late), MaxNew: s.MaxNewInvoices, Workers: s.Workers,
	}
	if i.Due != nil {
		r.DueDays = int(time.Duration(*i.Due).Hours() / 24)
	}
	for _, c := range i.Customers {
		r.Customers = append(r.Customers, sync.Customer{Client: c.Client, Customer: c.Customer, Tax: c.Tax})
	}
	for _, rate := range i.Rates {
		r.Rates = append(r.Rates, sync.Rate{
			Client: rate.Client, Project: rate.Project, Task: rate.Task, Member: rate.Member,
			Rate: rate.Rate.Decimal, Currency: money.Currency(rate.Currency),
		})
	}
	return r
}

// session is an open state with the engines over it, one for each of the ends.
type session struct {
	*work
	store   *state.Store
	engines []*sync.Engine
}

// over builds the engines of the syncs over an open state.
func (w *work) over(store *state.Store, now func() time.Time, log zerolog.Logger) *session {
	s := &session{work: w, store: store}
	faults := fault.FromEnvironment()
	for _, e := range w.ends {
		s.engines = append(s.engines, sync.New(store, e.tracker, e.books, settings(w.config, e.sync), now, log, faults))
	}
	return s
}

// only returns the session with the one sync of a name; with all of them for none.
func (s *session) only(name string) (*session, error) {
	if name == "" {
		return s, nil
	}
	var names []string
	for i, e := range s.ends {
		if e.sync.Name == name {
			w := *s.work
			w.ends = s.ends[i : i+1]
			return &session{&w, s.store, s.engines[i : i+1]}, nil
		}
		names = append(names, e.sync.Name)
	}
	return nil, usage("no sync is called %q: the config has %s", name, strings.Join(names, ", "))
}

// open loads the config, opens the state and builds the engines.
func (a *app) open() (*session, error) {
	w, err := a.load()
	if err != nil {
		return nil, err
	}
	return a.openWork(w)
}

// openWork opens the state of a config. A daemon logs what its passes do; a command prints it.
func (a *app) openWork(w *work) (*session, error) {
	store, err := state.Open(string(w.config.State), state.Options{Faults: fault.FromEnvironment()})
	if err != nil {
		return nil, err
	}
	log := a.log
	if log == nil {
		quiet, err := a.quietLogger(w.config)
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		log = &quiet
	}
	a.net.LogTo(*log)
	if err := a.greet(w, store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return w.over(store, a.now, *log), nil
}

// greet says what an admin should know of the state. One that is older than it once was begins a rebuild,
// for channels too that it does not know.
func (a *app) greet(w *work, store *state.Store) error {
	for _, note := range store.Notes() {
		fmt.Fprintf(a.err, "note: %s\n", note)
	}
	if !store.Older() {
		return nil
	}
	fmt.Fprintf(a.err, "note: %s is older than it once was: what stands in the accounting system is adopted, the rest waits for a person\n", w.config.State)
	return store.SetRebuild(w.channels(), a.now())
}

// quietLogger logs for a command that prints a table: what needs attention, and all with --verbose.
func (a *app) quietLogger(c *config.Config) (zerolog.Logger, error) {
	level := "warn"
	if a.verbose {
		level = c.Log.Level
	}
	return a.logger(level, c.Log.Format)
}

// logger returns a log to the standard error. Where that is the journal of systemd, each line says how loud it is.
func (a *app) logger(level, format string) (zerolog.Logger, error) {
	w := a.err
	if f, is := w.(*os.File); is && (format == "" || format == "auto") && systemd.Journal(f) {
		w = daemon.ForJournal(f)
	}
	return daemon.NewLogger(w, isTerminal(a.err), level, format)
}

func isTerminal(w io.Writer) bool {
	if far, is := w.(interface{ Terminal() bool }); is {
		return far.Terminal()
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
