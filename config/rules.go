package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"tidemark/sync/civil"
)

// top are the settings of the file, in the order in which they are named to an admin.
type top struct {
	State Path      `yaml:"state"`
	Keys  Keys      `yaml:"keys"`
	Sweep Schedule  `yaml:"sweep"`
	Log   Log       `yaml:"log"`
	Syncs yaml.Node `yaml:"syncs"`
}

// config decodes the whole file.
func (d *decoding) config(root *yaml.Node) *Config {
	c := defaults()
	t := top{Keys: c.Keys, Sweep: c.Sweep, Log: c.Log}
	d.strict(root, &t)
	if root.Kind != yaml.MappingNode {
		return &c
	}
	c.State, c.Keys, c.Sweep, c.Log = t.State, t.Keys, t.Sweep, t.Log
	d.need(root, "state", "the path of the state file, such as /var/lib/tidemark/tidemark.db")
	d.checkLog(root, c.Log)
	d.syncs(root, &c)
	return &c
}

// need demands a setting.
func (d *decoding) need(n *yaml.Node, key, what string) {
	if v, there := child(n, key); !there || isNull(v) || (v.Kind == yaml.ScalarNode && v.Value == "") {
		d.add(v, "%s is missing: %s", key, what)
	}
}

func (d *decoding) checkLog(root *yaml.Node, l Log) {
	n, _ := child(root, "log")
	d.oneOf(n, "level", l.Level, "debug", "info", "warn", "warning", "error")
	d.oneOf(n, "format", l.Format, "auto", "json", "console")
}

// oneOf demands one of a few words.
func (d *decoding) oneOf(n *yaml.Node, key, value string, known ...string) {
	if !slices.Contains(known, value) {
		v, _ := child(n, key)
		d.add(v, "%s", unknown(key, value, known))
	}
}

var syncName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func (d *decoding) syncs(root *yaml.Node, c *Config) {
	n, there := child(root, "syncs")
	if !there || n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		d.add(n, "syncs is missing: at least one sync, by its name")
		return
	}
	d.repeats(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !syncName.MatchString(key.Value) {
			d.add(key, "%q is no name for a sync: use a–z, 0–9 and -, at most 32 characters", key.Value)
		}
		s := defaultSync(key.Value)
		d.strict(value, &s)
		s.Tracker.source, s.Accounting.source = d.source, d.source
		if value.Kind == yaml.MappingNode {
			d.checkSync(value, s, c.Keys)
		}
		c.Syncs = append(c.Syncs, s)
	}
}

// checkSync holds the rules of one sync.
func (d *decoding) checkSync(n *yaml.Node, s Sync, keys Keys) {
	d.need(n, "schedule", `when a pass runs, such as "*/15 * * * *"`)
	d.need(n, "start", "weeks that end before this day are never billed, such as 2026-11-02")
	d.need(n, "tracker", "where weeks come from")
	d.need(n, "accounting", "where invoices are made")
	d.oneOf(n, "corrections", s.Corrections, "window", "review", "update-drafts")
	d.oneOf(n, "late", s.Late, "review", "second-invoice")
	if ttl := keys.TTL(); time.Duration(s.Overlap) >= ttl {
		v, _ := child(n, "overlap")
		d.add(v, "overlap is %s, and a key lives %s (keys.resend_window + keys.margin): overlap must be shorter, or a change that is delivered again would be new", s.Overlap, Duration(ttl))
	}
	d.within(n, "max_new_invoices", s.MaxNewInvoices, 1, 1_000_000)
	d.within(n, "workers", s.Workers, 1, 32)
	if time.Duration(s.Deadline) < time.Minute {
		v, _ := child(n, "deadline")
		d.add(v, "deadline is %s: a pass needs a minute at least", s.Deadline)
	}
	if day := 24 * time.Hour; time.Duration(s.Lookback) < day {
		v, _ := child(n, "lookback")
		d.add(v, "lookback is %s: a day at least", s.Lookback)
	}
	if civil.Date(s.Start).Year > 2200 {
		v, _ := child(n, "start")
		d.add(v, "start is in the year %d: nothing would ever be billed", civil.Date(s.Start).Year)
	}
	invoice, _ := child(n, "invoice")
	d.checkInvoice(invoice, s.Invoice)
}

func (d *decoding) within(n *yaml.Node, key string, value, least, most int) {
	if value < least || value > most {
		v, _ := child(n, key)
		d.add(v, "%s is %d: it must be %d to %d", key, value, least, most)
	}
}

var prefix = regexp.MustCompile(`^[a-z][a-z0-9-]{0,2}$`)

func (d *decoding) checkInvoice(n *yaml.Node, i Invoice) {
	d.oneOf(n, "per", i.Per, "project", "week", "client")
	d.oneOf(n, "lines", i.Lines, "member", "entry", "task", "single")
	d.oneOf(n, "date", i.Date, "period_end", "period_start")
	if !prefix.MatchString(i.Prefix) {
		v, _ := child(n, "prefix")
		d.add(v, "prefix is %q: a letter a–z, then at most two of a–z, 0–9 and -", i.Prefix)
	}
	if i.Due != nil && time.Duration(*i.Due)%(24*time.Hour) != 0 {
		v, _ := child(n, "due")
		d.add(v, "due is %s: whole days, such as 14d", i.Due)
	}
	d.checkCustomers(n, i.Customers)
	d.checkRates(n, i.Rates)
}

func (d *decoding) checkCustomers(n *yaml.Node, customers []Customer) {
	list, _ := child(n, "customers")
	seen := map[string]bool{}
	for k, c := range customers {
		place := element(list, k)
		switch {
		case c.Client == "":
			d.add(place, "client is missing: the tracker's id of the client, or its exact name")
		case c.Customer == "":
			d.add(place, "customer is missing: the accounting system's id of %q", c.Client)
		case seen[c.Client]:
			d.add(place, "the client %q stands here a second time", c.Client)
		}
		seen[c.Client] = true
	}
}

func (d *decoding) checkRates(n *yaml.Node, rates []Rate) {
	list, _ := child(n, "rates")
	type selector struct {
		client, project, task, member string
		currency                      Currency
	}
	seen := map[selector]bool{}
	for k, r := range rates {
		place := element(list, k)
		what := selector{r.Client, r.Project, r.Task, r.Member, r.Currency}
		switch {
		case place.Kind == yaml.MappingNode && !has(place, "rate"):
			d.add(place, "rate is missing: the price of an hour, such as 95.00")
		case r.Currency == "":
			d.add(place, "currency is missing, such as EUR")
		case r.Rate.IsNegative():
			d.add(place, "the rate is negative")
		case seen[what]:
			d.add(place, "a rate for the same stands here a second time: only the first would count")
		}
		seen[what] = true
	}
}

func has(n *yaml.Node, key string) bool {
	v, there := child(n, key)
	return there && !isNull(v)
}

// element returns an element of a list, and the list where there is none.
func element(list *yaml.Node, n int) *yaml.Node {
	if list.Kind == yaml.SequenceNode && n < len(list.Content) {
		return list.Content[n]
	}
	return list
}

// place is where a rule that only the caller can hold is broken.
func (s Section) place(format string, args ...any) Fault {
	return s.source.fault(s.node.Line, s.node.Column, format, args...)
}

// CheckAccounts holds that two syncs on one accounting account have different prefixes. Account tells the
// account of a sync.
func CheckAccounts(c *Config, account func(Sync) string) error {
	first := map[string]string{}
	faults := &Faults{}
	for _, s := range c.Syncs {
		key := s.Accounting.Kind + "\x00" + account(s) + "\x00" + s.Invoice.Prefix
		if other, taken := first[key]; taken {
			faults.All = append(faults.All, s.Accounting.place("the syncs %s and %s bill to one account (%s) with one prefix (%s): their references could be the same; give one of them another invoice.prefix", other, s.Name, account(s), s.Invoice.Prefix))
			continue
		}
		first[key] = s.Name
	}
	return faults.orNil()
}

// CheckGuards holds that drafts are updated at once only where the accounting system guards them.
func CheckGuards(c *Config, guards func(Sync) bool) error {
	faults := &Faults{}
	for _, s := range c.Syncs {
		if s.Corrections == "update-drafts" && !guards(s) {
			faults.All = append(faults.All, s.Accounting.place("corrections: update-drafts is not possible with %s: it would change an invoice that somebody else has just changed; use window or review", s.Accounting.Kind))
		}
	}
	return faults.orNil()
}

// CheckPaths holds that no file is used for two things. Paths tells the files and folders of a sync.
func CheckPaths(c *Config, paths func(Sync) []string) error {
	used := map[string]string{real(string(c.State)): "the state"}
	for _, extra := range []string{".lock", ".id", ".new"} {
		used[real(string(c.State)+extra)] = "a file beside the state"
	}
	faults := &Faults{}
	for _, s := range c.Syncs {
		for _, path := range paths(s) {
			what := fmt.Sprintf("the sync %s", s.Name)
			other, taken := used[real(path)]
			if taken && !strings.HasPrefix(other, "the sync") {
				faults.All = append(faults.All, s.Accounting.place("%s is used by %s and by %s: name another file", path, other, what))
			}
			used[real(path)] = what
		}
	}
	return faults.orNil()
}

// real follows links as far as there is something to follow.
func real(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return filepath.Clean(path)
}

func (f *Faults) orNil() error {
	if len(f.All) == 0 {
		return nil
	}
	return f
}
