package quickbooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tidemark/sync/civil"
)

// most is how many records a query asks for at once.
const most = 1000

// page is what a query returns, of whichever kind was asked for. Where there is nothing it is empty.
type page struct {
	Estimate []stored
	Customer []customer
}

type customer struct {
	ID          string `json:"Id"`
	DisplayName string
}

// all returns every record that a query selects. Each further page begins with the last record of the one
// before: where it does not, records came or went meanwhile, and one of them could have been missed.
func all[T any](ctx context.Context, q *QuickBooks, selects string, of func(page) []T, id func(T) string) (list []T, err error) {
	for last := ""; ; last = id(list[len(list)-1]) {
		more, err := q.query(ctx, fmt.Sprintf("%s ORDERBY Id STARTPOSITION %d MAXRESULTS %d", selects, max(len(list), 1), most))
		if err != nil {
			return nil, err
		}
		records := of(more)
		if slices.ContainsFunc(records, func(r T) bool { return id(r) == "" }) {
			return nil, q.client.Misread("GET /query", errors.New("a record has no Id"))
		}
		if last != "" {
			if len(records) == 0 || id(records[0]) != last {
				return nil, errors.New("quickbooks: GET /query: records came or went while they were listed: to be asked again")
			}
			records = records[1:]
		}
		if len(records) == 0 {
			return list, nil
		}
		list = append(list, records...)
	}
}

func (q *QuickBooks) query(ctx context.Context, statement string) (page, error) {
	var answer struct {
		envelope
		QueryResponse *page
	}
	if err := q.get(ctx, "/query", url.Values{"query": {statement}}, &answer); err != nil {
		return page{}, err
	}
	if answer.QueryResponse == nil {
		return page{}, q.client.Misread("GET /query", errors.New("the answer holds no QueryResponse"))
	}
	return *answer.QueryResponse, nil
}

// quoted writes a text as a query holds it.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// selects returns the query that selects every estimate that may bear a reference. Notes cannot be searched, so
// that all of a time are listed: since long before the week that the reference names. One that names no
// week has all of them listed.
func (q *QuickBooks) selects(reference string) string {
	if q.settings.Reference != privateNote {
		return "select * from Estimate where DocNumber = " + quoted(reference)
	}
	since, dated := sinceOf(reference)
	if !dated {
		return "select * from Estimate"
	}
	return "select * from Estimate where MetaData.CreateTime >= " + quoted(since.String()+"T00:00:00Z")
}

// early is how many days before a week begins its time may have been approved and billed.
const early = 92

var weekly = regexp.MustCompile(`([0-9]{2})w([0-9]{2})-[a-z2-7]{10}(-[0-9]+)?$`)

// sinceOf returns the day before which no estimate of a reference can have been made.
func sinceOf(reference string) (civil.Date, bool) {
	m := weekly.FindStringSubmatch(reference)
	if m == nil {
		return civil.Date{}, false
	}
	year, errYear := strconv.Atoi(m[1])
	week, errWeek := strconv.Atoi(m[2])
	return civil.Week{Year: 2000 + year, Number: week}.First().AddDays(-early), errors.Join(errYear, errWeek) == nil
}
