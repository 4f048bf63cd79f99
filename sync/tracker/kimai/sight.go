package kimai

import (
	"context"
	"fmt"
	"net/url"

	"tidemark/sync/civil"
)

// Kimai leaves out, without a word, what the token may not see. A week without entries then looks as if all work
// in it had been taken back.

// sight is what the token sees of the newest entries.
type sight struct {
	owner          user
	newest         []timesheet
	others, hidden int // entries of other users, and entries without a rate
}

// look looks at the newest entries.
func (r *reading) look(ctx context.Context, me user) (sight, error) {
	s := sight{owner: me}
	query := url.Values{"user": {everybody}, "full": {"1"}, "orderBy": {"begin"}, "order": {"DESC"}, "size": {"50"}}
	if _, err := r.client.Get(ctx, "/timesheets", query, &s.newest); err != nil {
		return s, err
	}
	for _, t := range s.newest {
		if t.User.ID != me.ID {
			s.others++
		}
		if t.Rate == nil {
			s.hidden++
		}
	}
	return s, nil
}

// unseen says why an approved week without entries cannot be believed to have none; nil if it can. What the plugin
// counted tells, and where it does not, whether anybody else's entry is to be seen at all.
func (r *reading) unseen(ctx context.Context, u user, monday civil.Date) (why, err error) {
	if r.form != weekStatus && r.rows[u.ID][monday].counted != "" {
		return nil, nil // weekOf compares.
	}
	if r.sight == nil {
		var me user
		if _, err := r.client.Get(ctx, "/users/me", nil, &me); err != nil {
			return nil, err
		}
		s, err := r.look(ctx, me)
		if err != nil {
			return nil, err
		}
		r.sight = &s
	}
	if r.sight.others > 0 || u.ID == r.sight.owner.ID {
		return nil, nil
	}
	return fmt.Errorf("kimai: week %s: it is approved and shows no entry, and no entry of anybody else is to be seen: give %s the permission view_other_timesheet, and access to all teams", weekID(u.ID, monday), r.sight.owner.name()), nil
}

// counted returns the seconds that the plugin counted when a week was submitted; 0 where it does not tell.
func (r *reading) counted(u user, monday civil.Date) int64 {
	n, err := r.rows[u.ID][monday].counted.Int64()
	if err != nil {
		return 0
	}
	return n
}

// seconds returns how long entries took that are not under way.
func seconds(sheets []timesheet) (sum int64) {
	for _, t := range sheets {
		if t.End != nil && t.Duration != nil {
			sum += *t.Duration
		}
	}
	return sum
}
