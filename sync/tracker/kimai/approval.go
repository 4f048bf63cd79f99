package kimai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
)

// status is what the plugin says of a user's week; empty where it says nothing of the user any more.
type status string

// The statuses, by the plugin's own keys.
const (
	approved     status = "approved"
	submitted    status = "submitted"
	denied       status = "denied"
	notSubmitted status = "not_submitted"
)

// spoken is what weekly_overtime says of a user's week.
type spoken struct {
	status  status
	counted json.Number // seconds of work when the week was submitted; empty where it is not told
}

const (
	overtimePath = "/approval-bundle/weekly_overtime"
	statusPath   = "/approval-bundle/week-status"
)

// errOff means that the plugin's overtime is switched off.
var errOff = errors.New("overtime is switched off in the settings of the plugin ApprovalBundle: switch it on, or set approval: week_status")

// known returns the status that a key or one of the plugin's own translations stands for.
func known(label string) (status, bool) {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "approved", "angenommen", "odobreno":
		return approved, true
	case "submitted", "abgeschickt", "podneseno":
		return submitted, true
	case "denied", "abgelehnt", "odbijeno":
		return denied, true
	case "not_submitted", "not submitted", "nicht abgeschickt", "nepodneseno":
		return notSubmitted, true
	}
	return "", false
}

// meaning is known, where the settings do not say more.
func (s Settings) meaning(label string) (status, bool) {
	for one, means := range s.Labels {
		if strings.EqualFold(strings.TrimSpace(one), strings.TrimSpace(label)) {
			return known(means)
		}
	}
	return known(label)
}

// status returns what the plugin says of one week of a user. What weekly_overtime said is remembered.
func (r *reading) status(ctx context.Context, u user, monday civil.Date) (status, error) {
	rows, asked := r.rows[u.ID]
	if !asked && r.form != weekStatus {
		var err error
		rows, err = r.overtime(ctx, u)
		switch {
		case errors.Is(err, errOff) && r.form == auto:
			r.form = weekStatus
		case err != nil:
			return "", err
		default:
			r.rows[u.ID], asked = rows, true
		}
	}
	switch w, there := rows[monday]; {
	case asked && rows == nil:
		return "", nil
	case there:
		return w.status, nil
	case asked:
		return notSubmitted, nil
	}
	s, err := r.weekStatus(ctx, u, monday)
	if s == "" && err == nil {
		r.rows[u.ID] = nil
	}
	return s, err
}

// overtime returns the weeks of a user that were submitted, from the first of the reading on; nil where the
// plugin says nothing of the user.
func (r *reading) overtime(ctx context.Context, u user) (map[civil.Date]spoken, error) {
	var weeks overtime
	silent, err := r.ask(ctx, overtimePath, u, r.first, &weeks)
	switch {
	case err != nil:
		return nil, err
	case silent: // There is no week, or the user is disabled: of a week the plugin would say nothing then either.
		if disabled, err := r.ask(ctx, statusPath, u, r.first, new(string)); disabled || err != nil {
			return nil, err
		}
	case weeks.off:
		return nil, fmt.Errorf("kimai: %w", errOff)
	}
	rows := map[civil.Date]spoken{}
	for _, row := range weeks.rows {
		if row.StartDate == "" && row.Status == "" {
			continue // A hole, where a week was not submitted.
		}
		first, err := civil.Parse(row.StartDate)
		if err != nil {
			return nil, r.client.Misread("GET "+overtimePath, fmt.Errorf("a week of user %s: startDate: %w", u.ID, err))
		}
		s, err := r.read(row.Status, u, first)
		if err != nil {
			return nil, err
		}
		rows[first] = spoken{s, row.ActualDuration}
	}
	return rows, nil
}

// weekStatus asks for one week of a user.
func (r *reading) weekStatus(ctx context.Context, u user, monday civil.Date) (status, error) {
	var label string
	silent, err := r.ask(ctx, statusPath, u, monday, &label)
	if silent || err != nil {
		return "", err
	}
	return r.read(label, u, monday)
}

// read returns the status that a label means.
func (r *reading) read(label string, u user, monday civil.Date) (status, error) {
	s, is := r.settings.meaning(label)
	if !is {
		return "", fmt.Errorf("kimai: the week of %s of %s (user %s) has the status %q, which is not known: say what it means under labels", monday, u.name(), u.ID, label)
	}
	return s, nil
}

// ask asks the plugin about a user. It is silent, with a sentence, about whoever is disabled or has no week.
func (r *reading) ask(ctx context.Context, path string, u user, day civil.Date, into any) (silent bool, err error) {
	answer, err := r.client.Get(ctx, path, url.Values{"user": {string(u.ID)}, "date": {day.String()}}, into)
	spoke := bytes.HasPrefix(bytes.TrimSpace(answer.Body), []byte{'"'}) // Kimai itself answers with objects.
	switch {
	case errors.Is(err, remote.NotFound) && spoke:
		return true, nil
	case errors.Is(err, remote.NotFound):
		return false, fmt.Errorf("%w: install the plugin ApprovalBundle, 2.2.0 or later, or set approval: none", err)
	case errors.Is(err, remote.Rejected) && spoke:
		return false, fmt.Errorf("%w: give the user of the token the permission view_all_approval", err)
	}
	return false, err
}

// overtime is an answer of weekly_overtime: a sentence where it is switched off, else a list of weeks, or an
// object of them where the list had holes.
type overtime struct {
	off  bool
	rows []overtimeRow
}

type overtimeRow struct {
	StartDate      string      `json:"startDate"`
	Status         string      `json:"status"`
	ActualDuration json.Number `json:"actualDuration"`
}

// UnmarshalJSON reads any of the three.
func (o *overtime) UnmarshalJSON(data []byte) error {
	*o = overtime{}
	switch data[0] {
	case '"':
		o.off = true
		return nil
	case '{':
		var rows map[string]overtimeRow
		err := json.Unmarshal(data, &rows)
		for _, row := range rows {
			o.rows = append(o.rows, row)
		}
		return err
	case '[':
		return json.Unmarshal(data, &o.rows)
	}
	return errors.New("neither a list of weeks nor a sentence")
}
