// Package config reads the config file: what the admin wrote, checked, with every fault and its place.
//
// Its one hard rule: a config that could be misread is refused. Nothing is guessed, nothing unknown is
// skipped, and no secret ever stands in it.
package config

import (
	"time"
	_ "time/tzdata" // so that every zone is known, whatever the machine has installed

	"go.yaml.in/yaml/v4"
)

// Config is a config file.
type Config struct {
	State Path `yaml:"state" jsonschema:"required" jsonschema_description:"The state file. Its folder is made if it is missing."`
	// Socket is where the daemon answers the other commands; without it the state file with .sock added.
	Socket Path     `yaml:"socket" jsonschema_description:"Where the daemon answers the other commands, and shows its health; at most 107 bytes. Default: the state file with .sock added."`
	Keys   Keys     `yaml:"keys" jsonschema_description:"How long keys live."`
	Sweep  Schedule `yaml:"sweep" jsonschema_description:"When keys that have lived are deleted, in UTC. Default 17 * * * *."`
	Backup Backup   `yaml:"backup" jsonschema_description:"Copies of the state that the daemon makes by itself."`
	Audit  Audit    `yaml:"audit" jsonschema_description:"Comparing both ends and the state by itself."`
	Log    Log      `yaml:"log" jsonschema_description:"What is logged, and how."`
	Syncs  []Sync   `yaml:"-"`

	source *source
}

// Keys says how long a key lives: the sum of both.
type Keys struct {
	ResendWindow Duration `yaml:"resend_window" jsonschema_description:"How long the sender may deliver the same change again. Default 48h."`
	Margin       Duration `yaml:"margin" jsonschema_description:"Added to it. Default 24h."`
}

// TTL returns how long a key lives.
func (k Keys) TTL() time.Duration { return time.Duration(k.ResendWindow) + time.Duration(k.Margin) }

// Backup says when the daemon copies the state, and where to.
type Backup struct {
	Schedule Schedule `yaml:"schedule" jsonschema_description:"When a copy of the state is made, in UTC, such as 5 3 * * *. Without it only tidemark state backup makes one."`
	Keep     int      `yaml:"keep" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"How many copies are kept. Default 14."`
	Folder   Path     `yaml:"folder" jsonschema_description:"Where the copies are. Default: backups, beside the state."`
}

// Audit says when both ends and the state are compared.
type Audit struct {
	Schedule Schedule `yaml:"schedule" jsonschema_description:"When the weeks of the calendar month before are compared, in the zone of each sync, such as 0 6 1 * *. Without it only tidemark audit does so."`
}

// Log says what is logged.
type Log struct {
	Level  string `yaml:"level" jsonschema:"enum=debug,enum=info,enum=warn,enum=warning,enum=error" jsonschema_description:"The least level that is logged. Default info."`
	Format string `yaml:"format" jsonschema:"enum=auto,enum=json,enum=console" jsonschema_description:"auto is console on a terminal and json elsewhere. Default auto."`
}

// Sync ties a tracker account to an accounting account.
type Sync struct {
	Name           string   `yaml:"-"`
	Schedule       Schedule `yaml:"schedule" jsonschema:"required" jsonschema_description:"When a pass runs: five cron fields, @hourly, @daily or @every 15m."`
	Timezone       Zone     `yaml:"timezone" jsonschema_description:"The zone of the schedule and of today. Default UTC."`
	Jitter         Duration `yaml:"jitter" jsonschema_description:"Up to this much is added to each start. Default 0s."`
	Deadline       Duration `yaml:"deadline" jsonschema_description:"How long a pass may take. Default 1h."`
	Overlap        Duration `yaml:"overlap" jsonschema_description:"How far behind the newest change a pass reads again; shorter than a key lives. Default 48h."`
	Lookback       Duration `yaml:"lookback" jsonschema_description:"How far a tracker without a change feed is read again, in each pass. Default 70d."`
	Reread         Duration `yaml:"reread" jsonschema_description:"How far a tracker with a change feed is read again whatever its feed says: some changes show nowhere else. Default 35d."`
	RereadEvery    Duration `yaml:"reread_every" jsonschema_description:"How often that is done. A tracker that needs it oftener does it oftener. Default 7d."`
	Start          Date     `yaml:"start" jsonschema:"required" jsonschema_description:"Weeks that end before this day are never billed."`
	Tracker        Section  `yaml:"tracker" jsonschema:"required" jsonschema_description:"Where weeks come from."`
	Accounting     Section  `yaml:"accounting" jsonschema:"required" jsonschema_description:"Where invoices are made."`
	Invoice        Invoice  `yaml:"invoice" jsonschema_description:"What becomes an invoice, and what it says."`
	Corrections    string   `yaml:"corrections" jsonschema:"enum=window,enum=review,enum=update-drafts" jsonschema_description:"A billed group that has changed: window (default) is a person's while its key lives, and updates the draft after; review is always a person's; update-drafts updates at once."`
	Late           string   `yaml:"late" jsonschema:"enum=review,enum=second-invoice" jsonschema_description:"Work that was approved after the invoice was made: review (default), or a second invoice."`
	MaxNewInvoices int      `yaml:"max_new_invoices" jsonschema:"minimum=1" jsonschema_description:"A pass that wants to create more creates none and asks. Default 200."`
	Workers        int      `yaml:"workers" jsonschema:"minimum=1,maximum=32" jsonschema_description:"Requests at a time. Default 4."`

	node   *yaml.Node
	source *source
}

// Invoice says what becomes an invoice.
type Invoice struct {
	Per        string     `yaml:"per" jsonschema:"enum=project,enum=week,enum=client" jsonschema_description:"What one invoice is about, besides client, currency and period. Default project."`
	Settle     Duration   `yaml:"settle" jsonschema_description:"How long after a group's last approval it is billed. Default 1h."`
	WaitAtMost Duration   `yaml:"wait_at_most" jsonschema_description:"How long a group may wait to be complete before a person is asked. Default 14d."`
	Lines      string     `yaml:"lines" jsonschema:"enum=member,enum=entry,enum=task,enum=single" jsonschema_description:"What one line is about. Default member."`
	Date       string     `yaml:"date" jsonschema:"enum=period_end,enum=period_start" jsonschema_description:"The day that an invoice bears. Default period_end."`
	Due        *Duration  `yaml:"due" jsonschema_description:"Whole days until it is due, such as 14d. Without it the accounting system decides."`
	Prefix     string     `yaml:"prefix" jsonschema:"pattern=^[a-z][a-z0-9-]{0\\,2}$" jsonschema_description:"Of references; at most 3 characters, and different for syncs on one accounting account. Default ts-."`
	Customers  []Customer `yaml:"customers" jsonschema_description:"Which customer each client is."`
	Rates      []Rate     `yaml:"rates" jsonschema_description:"Hourly prices where the tracker gives none; the first that fits counts."`
	Ignore     Ignore     `yaml:"ignore" jsonschema_description:"What is never billed."`
}

// Customer ties a client to a customer.
type Customer struct {
	Client   string `yaml:"client" jsonschema:"required" jsonschema_description:"The tracker's id of the client, or its exact name."`
	Customer string `yaml:"customer" jsonschema:"required" jsonschema_description:"The accounting system's id of the customer."`
	Tax      string `yaml:"tax" jsonschema_description:"The accounting system's tax code or rate."`
}

// Rate is an hourly price. An empty selector fits everything.
type Rate struct {
	Client   string   `yaml:"client" jsonschema_description:"By id or exact name."`
	Project  string   `yaml:"project" jsonschema_description:"By id or exact name."`
	Task     string   `yaml:"task" jsonschema_description:"By id or exact name."`
	Member   string   `yaml:"member" jsonschema_description:"By id or exact name."`
	Rate     Decimal  `yaml:"rate" jsonschema:"required" jsonschema_description:"The price of an hour."`
	Currency Currency `yaml:"currency" jsonschema:"required" jsonschema_description:"ISO 4217, such as EUR."`
}

// Ignore names clients and projects, by id or exact name.
type Ignore struct {
	Clients  []string `yaml:"clients" jsonschema_description:"By id or exact name."`
	Projects []string `yaml:"projects" jsonschema_description:"By id or exact name."`
}

const (
	hour = Duration(time.Hour)
	day  = 24 * hour
)

// defaults returns a config in which everything that may be left out is said.
func defaults() Config {
	sweep, err := ParseSchedule("17 * * * *")
	if err != nil {
		panic(err) // a constant
	}
	return Config{Keys: Keys{48 * hour, 24 * hour}, Sweep: sweep, Backup: Backup{Keep: 14}, Log: Log{"info", "auto"}}
}

func defaultSync(name string) Sync {
	return Sync{
		Name: name, Deadline: hour, Overlap: 48 * hour, Lookback: 70 * day, Reread: 35 * day, RereadEvery: 7 * day, Corrections: "window", Late: "review", MaxNewInvoices: 200, Workers: 4,
		Invoice: Invoice{Per: "project", Settle: hour, WaitAtMost: 14 * day, Lines: "member", Date: "period_end", Prefix: "ts-"},
	}
}
