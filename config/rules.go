package config

import (
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
	State  Path      `yaml:"state"`
	Socket Path      `yaml:"socket"`
	Keys   Keys      `yaml:"keys"`
	Sweep  Schedule  `yaml:"sweep"`
	Backup Backup    `yaml:"backup"`
	Audit  Audit     `yaml:"audit"`
	Log    Log       `yaml:"log"`
	Syncs  yaml.Node `yaml:"syncs"`
}

// config decodes the whole file.
func (d *decoding) config(root *yaml.Node) *Config {
	c := defaults()
	t := top{Keys: c.Keys, Sweep: c.Sweep, Backup: c.Backup, Log: c.Log}
	d.strict(root, &t)
	if root.Kind != yaml.MappingNode {
		return &c
	}
	c.State, c.Socket, c.Keys, c.Sweep, c.Audit, c.Log = t.State, socketOf(t.State, t.Socket), t.Keys, t.Sweep, t.Audit, t.Log
	c.Backup = t.Backup.beside(c.State)
	d.need(root, "state", "the path of the state file, such as /var/lib/tidemark/tidemark.db")
	if c.source = d.source; c.State != "" && real(string(c.State)) == real(d.path()) {
		d.addAt(root, "state", "state is this config itself: name another file, such as /var/lib/tidemark/tidemark.db")
	}
	d.checkSocket(root, c)
	d.checkLog(root, c.Log)
	d.checkBackup(root, c.Backup)
	if n, there := child(root, "audit"); there && followed(n).Kind == yaml.MappingNode {
		d.need(n, "schedule", `when the month before is compared, such as "0 6 1 * *"`)
	}
	d.syncs(root, &c)
	return &c
}

// longestSocket is how many bytes the name of a unix socket may have: unix(7).
const longestSocket = 107

// socketOf returns where the daemon listens.
func socketOf(state, socket Path) Path {
	if socket == "" && state != "" {
		return state + ".sock"
	}
	return socket
}

// beside returns where copies of a state go that are to be beside it.
func (b Backup) beside(state Path) Backup {
	if b.Folder == "" && state != "" {
		b.Folder = Path(filepath.Join(filepath.Dir(string(state)), "backups"))
	}
	return b
}

func (d *decoding) checkBackup(root *yaml.Node, b Backup) {
	n, there := child(root, "backup")
	if !there || followed(n).Kind != yaml.MappingNode {
		return
	}
	d.need(n, "schedule", `when a copy of the state is made, such as "5 3 * * *"`)
	d.within(n, "keep", b.Keep, 1, 1000)
}

func (d *decoding) checkSocket(root *yaml.Node, c Config) {
	switch {
	case len(c.Socket) > longestSocket:
		d.addAt(root, "socket", "socket is %s, and that has %d bytes: no socket can have more than %d; name another file, such as /run/tidemark/tidemark.sock", c.Socket, len(c.Socket), longestSocket)
	case c.Socket != "" && (c.Socket == c.State || real(string(c.Socket)) == real(d.path())):
		d.addAt(root, "socket", "socket is the state or this config: name another file, such as /run/tidemark/tidemark.sock")
	}
}

// need demands a setting.
func (d *decoding) need(n *yaml.Node, key, what string) {
	if v, _ := child(n, key); !has(n, key) || (followed(v).Kind == yaml.ScalarNode && followed(v).Value == "") {
		d.addAt(n, key, "%s is missing: %s", key, what)
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
		d.addAt(n, key, "%s", unknown(key, value, known))
	}
}

var syncName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func (d *decoding) syncs(root *yaml.Node, c *Config) {
	n, there := child(root, "syncs")
	if !there || n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		d.addAt(root, "syncs", "syncs is missing: at least one sync, by its name")
		return
	}
	d.repeats(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], followed(n.Content[i+1])
		if isMerge(key) {
			continue
		}
		if !syncName.MatchString(key.Value) {
			d.add(key, "%q is no name for a sync: use a–z, 0–9 and -, at most 32 characters", key.Value)
		}
		s := defaultSync(key.Value)
		d.strict(value, &s)
		s.node, s.source, s.Tracker.source, s.Accounting.source = value, d.source, d.source, d.source
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
		d.addAt(n, "overlap", "overlap is %s, and a key lives %s (keys.resend_window + keys.margin): overlap must be shorter, or a change that is delivered again would be new", s.Overlap, Duration(ttl))
	}
	d.within(n, "max_new_invoices", s.MaxNewInvoices, 1, 1_000_000)
	d.within(n, "workers", s.Workers, 1, 32)
	if time.Duration(s.Deadline) < time.Minute {
		d.addAt(n, "deadline", "deadline is %s: a pass needs a minute at least", s.Deadline)
	}
	d.aDay(n, "lookback", s.Lookback)
	d.aDay(n, "reread", s.Reread)
	if time.Duration(s.RereadEvery) < time.Hour {
		d.addAt(n, "reread_every", "reread_every is %s: an hour at least", s.RereadEvery)
	}
	if civil.Date(s.Start).Year > 2200 {
		d.addAt(n, "start", "start is in the year %d: nothing would ever be billed", civil.Date(s.Start).Year)
	}
	invoice, _ := child(n, "invoice")
	d.checkInvoice(invoice, s.Invoice)
}

// aDay demands a day at least.
func (d *decoding) aDay(n *yaml.Node, key string, value Duration) {
	if time.Duration(value) < 24*time.Hour {
		d.addAt(n, key, "%s is %s: a day at least", key, value)
	}
}

func (d *decoding) within(n *yaml.Node, key string, value, least, most int) {
	if value < least || value > most {
		d.addAt(n, key, "%s is %d: it must be %d to %d", key, value, least, most)
	}
}

var prefix = regexp.MustCompile(`^[a-z][a-z0-9-]{0,2}$`)

func (d *decoding) checkInvoice(n *yaml.Node, i Invoice) {
	d.oneOf(n, "per", i.Per, "project", "week", "client")
	d.oneOf(n, "lines", i.Lines, "member", "entry", "task", "single")
	d.oneOf(n, "date", i.Date, "period_end", "period_start")
	if !prefix.MatchString(i.Prefix) {
		d.addAt(n, "prefix", "prefix is %q: a letter a–z, then at most two of a–z, 0–9 and -", i.Prefix)
	}
	if i.Due != nil && time.Duration(*i.Due)%(24*time.Hour) != 0 {
		d.addAt(n, "due", "due is %s: whole days, such as 14d", i.Due)
	}
	d.checkCustomers(n, i.Customers)
	d.checkRates(n, i.Rates)
	d.checkIgnore(n, i.Ignore)
}

func (d *decoding) checkCustomers(n *yaml.Node, customers []Customer) {
	list, _ := child(n, "customers")
	seen := map[string]bool{}
	for k, c := range customers {
		row := element(list, k)
		if row.Kind != yaml.MappingNode {
			continue
		}
		d.need(row, "client", "the tracker's id of the client, or its exact name")
		d.need(row, "customer", "the accounting system's id of this client")
		if c.Client != "" && seen[c.Client] {
			d.addAt(row, "client", "the client %q stands here a second time", c.Client)
		}
		seen[c.Client] = true
	}
}

// selector is what a rate fits: a client, project, task, member, each empty for all, and a currency.
type selector struct {
	of       [4]string
	currency Currency
}

func (d *decoding) checkRates(n *yaml.Node, rates []Rate) {
	list, _ := child(n, "rates")
	lines := map[selector]int{}
	for k, r := range rates {
		row := element(list, k)
		if row.Kind != yaml.MappingNode {
			continue
		}
		d.need(row, "rate", "the price of an hour, such as 95.00")
		d.need(row, "currency", "such as EUR")
		if r.Rate.IsNegative() {
			d.addAt(row, "rate", "the rate is negative")
		}
		what := selector{[4]string{r.Client, r.Project, r.Task, r.Member}, r.Currency}
		if line, taken := covered(what, lines); taken && r.Currency != "" {
			d.add(row, "the rate in line %d fits wherever this one would: only the first would count, so the narrower one goes above it", line)
		}
		if _, there := lines[what]; !there {
			lines[what] = row.Line
		}
	}
}

// covered returns the line of an earlier rate that fits all that a rate would.
func covered(what selector, lines map[selector]int) (int, bool) {
	for wider := range 1 << len(what.of) {
		one := what
		for i := range one.of {
			if wider&(1<<i) != 0 {
				one.of[i] = ""
			}
		}
		if line, taken := lines[one]; taken {
			return line, true
		}
	}
	return 0, false
}

// checkIgnore refuses an empty name: to the engine it fits everything, and nothing would be billed.
func (d *decoding) checkIgnore(n *yaml.Node, i Ignore) {
	ignore, _ := child(n, "ignore")
	for _, named := range []struct {
		key   string
		names []string
	}{{"clients", i.Clients}, {"projects", i.Projects}} {
		list, _ := child(ignore, named.key)
		for k, name := range named.names {
			if v := element(list, k); strings.TrimSpace(name) == "" && !isNull(v) {
				d.add(v, "this name is empty: take it out")
			}
		}
	}
}
