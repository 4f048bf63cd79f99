package clockify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// enoughDoubts is how many faults of a record are told at once.
const enoughDoubts = 5

// fault returns why a record cannot be read; nil if it can.
func (r *record) fault() error {
	for _, q := range r.requests {
		if err := q.fault(); err != nil {
			return fmt.Errorf("approval request %s: %w", q.Approval.ID, err)
		}
	}
	if r.zone == nil {
		return fmt.Errorf("%s has the time zone %q, which is unknown: set another in the member's Clockify preferences", r.member().Label(), r.named)
	}
	return nil
}

// state returns how the requests of a record stand together.
func (r *record) state() tracker.State {
	approves, waits := slices.ContainsFunc(r.requests, request.approves), slices.ContainsFunc(r.requests, request.waits)
	switch {
	case approves && waits:
		return tracker.Growing
	case approves:
		return tracker.Approved
	case waits:
		return tracker.Pending
	}
	return tracker.Withdrawn
}

func (r *record) member() tracker.Ref {
	last := r.requests[len(r.requests)-1]
	return tracker.Ref{ID: r.user, Name: last.Approval.Owner.UserName}
}

// week returns what a record says. Its version counts approvals and withdrawals alone: a request that waits may
// be rejected, and then it vanishes.
func (r *record) week(s Settings) tracker.Week {
	slices.SortFunc(r.requests, func(a, b request) int {
		return cmp.Or(a.Approval.Status.UpdatedAt.Compare(b.Approval.Status.UpdatedAt.Time.Time), cmp.Compare(a.Approval.ID, b.Approval.ID))
	})
	w := tracker.Week{ID: r.id(), Version: tracker.Version{Kind: tracker.Stamp}, State: r.state(), Period: r.period, Member: r.member()}
	for _, q := range r.requests {
		at := q.Approval.Status.UpdatedAt.Time.Time
		w.Changed = at
		if q.approves() || q.Approval.Status.State == withdrawnApproval {
			w.Version.Number = at.UnixNano()
		}
		if q.Approval.Status.State == approved {
			w.Approved = at
		}
	}
	entries, doubts := r.entries(w.State)
	for _, e := range entries {
		one, left, doubt := r.entry(e, s)
		if doubt != "" {
			doubts = append(doubts, doubt)
		}
		if !left {
			w.Entries = append(w.Entries, one)
		}
	}
	if !w.State.Approves() {
		return w
	}
	w.Remarks = r.remarks(s)
	if more := len(doubts) - enoughDoubts; more > 0 {
		doubts = append(doubts[:enoughDoubts], fmt.Sprintf("and %d more", more))
	}
	if len(doubts) > 0 {
		w.Trouble = &tracker.Trouble{Kind: tracker.Incomplete, Text: strings.Join(doubts, "; ")}
	}
	return w
}

// entries returns the entries of a record by which it is what it is: the approved ones, or else those that wait.
// Of an entry that several requests hold, the one that was updated last counts.
func (r *record) entries(state tracker.State) (all []entry, doubts []string) {
	at := map[string]int{}
	for _, q := range r.requests {
		if r.kind == expenses || state.Approves() && !q.approves() || !state.Approves() && !q.waits() {
			continue
		}
		some, doubt := q.Entries, ""
		switch {
		case state.Approves() && q.mixed():
			some, doubt = q.locked()
		case state.Approves():
			doubt = q.hidden()
		}
		if doubt != "" {
			doubts = append(doubts, doubt)
		}
		for _, e := range some {
			if i, there := at[string(e.ID)]; there {
				all[i] = e
				continue
			}
			at[string(e.ID)] = len(all)
			all = append(all, e)
		}
	}
	return all, doubts
}

// hidden says that an approved request shows less time than Clockify counts as approved.
func (q request) hidden() string {
	var shown time.Duration
	for _, e := range q.Entries {
		shown += e.Interval.Duration.Duration
	}
	if shown >= q.ApprovedTime.Duration {
		return ""
	}
	return fmt.Sprintf("Clockify counts %s of approval request %s as approved and shows entries of %s: look whether the owner of the key sees them all", q.ApprovedTime.Duration, q.Approval.ID, shown)
}

// locked returns the entries of a request of which only a part is approved: approved entries are locked. Others
// may be for another reason, so that their time must be what Clockify counts as approved. Whether it counts
// breaks is not documented; either is right.
func (q request) locked() (some []entry, doubt string) {
	var sum, breaks time.Duration
	for _, e := range q.Entries {
		if !e.IsLocked {
			continue
		}
		some = append(some, e)
		sum += e.Interval.Duration.Duration
		if e.Type == breakEntry {
			breaks += e.Interval.Duration.Duration
		}
	}
	if counted := q.ApprovedTime; sum != counted.Duration && sum-breaks != counted.Duration {
		doubt = fmt.Sprintf("a part of approval request %s waits for approval, Clockify counts %s of it as approved and shows %s as locked: approve or reject in Clockify what waits", q.Approval.ID, counted.Duration, sum)
	}
	return some, doubt
}

// entry returns what an entry says, whether it is of a type that is left out, and what is wrong with it.
func (r *record) entry(e entry, s Settings) (one tracker.Entry, left bool, doubt string) {
	one = tracker.Entry{
		ID: string(e.ID), Billable: e.Billable, Note: e.Description,
		Client:  tracker.Ref{ID: string(e.Project.ClientID), Name: e.Project.ClientName},
		Project: tracker.Ref{ID: string(e.Project.ID), Name: e.Project.Name},
		Task:    tracker.Ref{ID: string(e.Task.ID), Name: e.Task.Name},
	}
	for _, ref := range []*tracker.Ref{&one.Client, &one.Project, &one.Task} {
		if ref.ID == "" {
			*ref = tracker.Ref{}
		}
	}
	kind := cmp.Or(e.Type, regular)
	at, length := e.Interval, e.Interval.Duration
	one.Running = at.End.IsZero() && at.End.wrong == nil
	if !length.there && length.wrong == nil && !one.Running {
		length.Duration = at.End.Sub(at.Start.Time.Time)
	}
	one.Seconds = int64(length.Round(time.Second) / time.Second)
	one.Date = r.day(at.Start.Time.Time)
	one.Rate, one.Currency, doubt = e.rate(s.MinorUnits)
	switch {
	case kind != regular && !slices.Contains([]string{breakEntry, "HOLIDAY", "TIME_OFF"}, kind):
		doubt = fmt.Sprintf("it is of the type %q, which is unknown", kind)
	case kind != regular && !slices.Contains(s.Include, strings.ToLower(kind)):
		return one, true, ""
	case e.ID == "":
		doubt = "it has no id"
	case at.Start.missing() || at.End.wrong != nil:
		doubt = "its beginning or end cannot be read"
	case length.wrong != nil:
		doubt = length.wrong.Error()
	case length.Duration < 0:
		doubt = "it lasts less than no time"
	}
	if doubt != "" {
		doubt = fmt.Sprintf("entry %s: %s: withdraw the approval in Clockify and mend it", e.ID, doubt)
	}
	return one, false, doubt
}

// day returns the day on which an entry begins where its owner lives. It can be a day beside the period where the
// owner moved to another zone since; then it is the nearest of the period.
func (r *record) day(start time.Time) civil.Date {
	d := civil.DateOf(start.In(r.zone))
	switch r.period {
	case civil.Period{First: d.AddDays(1), Last: r.period.Last}:
		return r.period.First
	case civil.Period{First: r.period.First, Last: d.AddDays(-1)}:
		return r.period.Last
	}
	return d
}

// rate returns an hour's price. Clockify writes it as a whole number of small units.
func (e entry) rate(units string) (rate decimal.NullDecimal, code money.Currency, doubt string) {
	given := e.HourlyRate.Amount
	if !given.Valid || e.Billable && given.Decimal.IsZero() { // Nobody set a price, which is not a price of nothing.
		return rate, "", ""
	}
	code, err := money.ParseCurrency(e.HourlyRate.Currency)
	switch exponent := given.Decimal.Exponent(); {
	case err != nil && !e.Billable:
		return rate, "", ""
	case err != nil:
		return rate, "", "its rate has no currency: " + err.Error()
	case given.Decimal.IsNegative() || exponent < -9 || exponent > 9:
		return rate, code, "its rate is not one that can be meant"
	}
	return decimal.NewNullDecimal(major(given.Decimal, code, units)), code, ""
}

// major turns a count of small units into an amount.
func major(minor decimal.Decimal, code money.Currency, units string) decimal.Decimal {
	if units == iso {
		return minor.Shift(-code.Digits())
	}
	return minor.Shift(-2)
}

// remarks says which expenses are approved and not billed.
func (r *record) remarks(s Settings) []string {
	sums, seen := map[money.Currency]decimal.Decimal{}, map[string]bool{}
	for _, q := range r.requests {
		for _, x := range q.Expenses {
			if !q.approves() || !x.Billable || seen[string(x.ID)] {
				continue
			}
			seen[string(x.ID)] = true
			if e := x.Total.Decimal.Exponent(); x.Total.Valid && e > -9 && e < 9 {
				code := money.Currency(x.Currency)
				sums[code] = sums[code].Add(major(x.Total.Decimal, code, s.MinorUnits))
			}
		}
	}
	var texts []string
	for _, code := range slices.Sorted(maps.Keys(sums)) {
		texts = append(texts, code.Format(sums[code]))
	}
	switch n := len(seen); n {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("1 expense of %s is not billed", strings.Join(texts, " and "))}
	default:
		return []string{fmt.Sprintf("%d expenses of %s are not billed", n, strings.Join(texts, " and "))}
	}
}
