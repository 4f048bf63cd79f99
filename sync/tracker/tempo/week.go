package tempo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// enough is how many faults of a timesheet are told at once.
const enough = 5

// week puts a timesheet together.
func (r *reading) week(ctx context.Context, s sheet, a approval, logs []worklog) (tracker.Week, error) {
	w := tracker.Week{
		ID: s.id(), Version: a.Status.version(), State: a.Status.state(), Period: s.days,
		Member: tracker.Ref{ID: s.user, Name: r.members[s.user]}, Changed: a.Status.UpdatedAt.Time.Time,
	}
	var doubts []string
	if w.State == tracker.Approved {
		w.Approved = w.Changed
		w.Remarks, doubts = hidden(a, logs)
	}
	for _, log := range logs {
		e, doubt := r.entry(log)
		client, key, more, err := r.client(ctx, log, r.issues[log.Issue.ID])
		if err != nil {
			return w, err
		}
		e.Client = client
		if more == "" {
			err = r.price(ctx, &w, &e, key)
		}
		if err != nil {
			return w, err
		}
		w.Entries = append(w.Entries, e)
		for _, text := range []string{doubt, more} {
			if text != "" && !slices.Contains(doubts, text) {
				doubts = append(doubts, text)
			}
		}
	}
	if more := len(doubts) - enough; more > 0 {
		doubts = append(doubts[:enough], fmt.Sprintf("and %d more", more))
	}
	if len(doubts) > 0 {
		w.Trouble = &tracker.Trouble{Kind: tracker.Incomplete, Text: strings.Join(doubts, "; ")}
	}
	return w, nil
}

// hidden compares the time of the worklogs with the time that Tempo counts for the timesheet. A bit less is worth
// a remark; nothing at all says that they are hidden from us, and that the timesheet cannot be billed.
func hidden(a approval, logs []worklog) (remarks, doubts []string) {
	var shown int64
	for _, w := range logs {
		shown += w.TimeSpentSeconds
	}
	if shown >= a.TimeSpentSeconds {
		return nil, nil
	}
	text := fmt.Sprintf("Tempo counts %s for this timesheet and shows worklogs of %s: let the owner of the Tempo token view the worklogs of the member's teams",
		time.Duration(a.TimeSpentSeconds)*time.Second, time.Duration(shown)*time.Second)
	if len(logs) == 0 {
		return nil, []string{text}
	}
	return []string{text}, nil
}

// entry returns what a worklog says without its client, and what is wrong with it.
func (r *reading) entry(w worklog) (e tracker.Entry, doubt string) {
	e = tracker.Entry{ID: string(w.ID), Seconds: w.TimeSpentSeconds, Billable: true, Note: w.Description, Currency: money.Currency(r.settings.Currency)}
	day, err := civil.Parse(w.StartDate)
	e.Date = day
	i := r.issues[w.Issue.ID]
	e.Task.ID = string(w.Issue.ID)
	if i.Fields.Project.ID != "" {
		e.Task.Name = strings.TrimSpace(i.Key + " " + i.Fields.Summary)
		e.Project = tracker.Ref{ID: string(i.Fields.Project.ID), Name: i.Fields.Project.Name}
	}
	switch seconds := w.BillableSeconds; {
	case seconds == nil:
		doubt = fmt.Sprintf("worklog %s does not say how much of it is billable: save it once more in Tempo with its billable time", w.ID)
	case *seconds > 0:
		e.Seconds = *seconds
	default:
		e.Billable = false
	}
	switch {
	case err != nil:
		doubt = fmt.Sprintf("worklog %s has no date that can be read: %v: mend it in Tempo", w.ID, err)
	case w.TimeSpentSeconds < 0 || w.BillableSeconds != nil && *w.BillableSeconds < 0:
		doubt = fmt.Sprintf("worklog %s has less than no time: mend it in Tempo", w.ID)
	case e.Task.ID != "" && e.Project.ID == "":
		doubt = fmt.Sprintf("issue %s of worklog %s cannot be read in Jira: give the user of the Jira token access to its project, or move the work to another issue if it was deleted", w.Issue.ID, w.ID)
	}
	return e, doubt
}
