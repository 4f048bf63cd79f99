package clockify

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
)

// reportRows is how many rows of a report are asked for at once.
const reportRows = 1000

// reported is a row of the detailed report. Where its id is differs from one description of the API to another.
type reported struct {
	ID     remote.ID `json:"_id"`
	Plain  remote.ID `json:"id"`
	Getter remote.ID `json:"get_id"`
}

// invoiced returns the entries of a period, and of a day on either side, that were invoiced in Clockify.
//
// That the report of invoicingState INVOICED holds just these is its documentation, and was not seen at work.
func (r *reading) invoiced(ctx context.Context, days civil.Period) (map[remote.ID]bool, error) {
	path := "/v1/workspaces/" + r.settings.Workspace + "/reports/detailed"
	ids := map[remote.ID]bool{}
	for page, before := 1, 0; ; page++ {
		var answer struct {
			Entries []reported `json:"timeentries"`
		}
		_, err := r.reports.Search(ctx, path, nil, map[string]any{
			"dateRangeStart": days.First.AddDays(-1).String() + "T00:00:00.000", "dateRangeEnd": days.Last.AddDays(1).String() + "T23:59:59.999",
			"timeZone": "UTC", "invoicingState": "INVOICED", "approvalState": "APPROVED",
			"detailedFilter": map[string]int{"page": page, "pageSize": reportRows},
		}, &answer)
		switch {
		case errors.Is(err, remote.Forbidden):
			return nil, fmt.Errorf("%w: give the key's owner the right to see everybody's reports, or set invoiced: ignore if nobody invoices in Clockify", err)
		case err != nil:
			return nil, err
		case answer.Entries == nil:
			return nil, r.reports.Misread("POST "+path, errors.New("the report has no timeentries"))
		}
		known := len(ids)
		for _, e := range answer.Entries {
			id := cmp.Or(e.ID, e.Plain, e.Getter)
			if id == "" {
				return nil, r.reports.Misread("POST "+path, errors.New("an entry of the report has no id"))
			}
			ids[id] = true
		}
		// A first page that is short may be all that Clockify gives at once.
		if n := len(answer.Entries); n == 0 || n < before || len(ids) == known {
			return ids, nil
		}
		before = len(answer.Entries)
	}
}
