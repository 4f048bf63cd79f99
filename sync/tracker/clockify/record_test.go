package clockify

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

func TestRecordOutlivesAMoveToAnotherZone(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		id := s.only().ID
		for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York", "UTC"} {
			s.mend = func(one object) { head(one, "owner")["timeZone"] = zone }
			w := s.only()
			if w.ID != id || w.Period != trackertest.Week(trackertest.Monday) {
				s.Errorf("moved to %s: record %s for %s, was %s", zone, w.ID, w.Period, id)
			}
			if d := w.Entries[0].Date; d.Before(w.Period.First) || d.After(w.Period.Last) {
				s.Errorf("moved to %s: the entry is of %s, outside of its period", zone, d)
			}
		}
	})
}

func TestUnknownZoneIsSaidWithItsCure(t *testing.T) {
	for _, zone := range []string{"", "Local", "Mars/Olympus"} {
		play(t, nil, func(s *scene) {
			s.join("Ada")
			s.mend = func(one object) { head(one, "owner")["timeZone"] = zone }
			page := s.all()
			if len(page.Weeks) != 0 || len(page.Unread) != 1 || !strings.Contains(page.Unread[0].Reason, "Ada has the time zone") {
				s.Errorf("zone %q: %d weeks, unread %v", zone, len(page.Weeks), page.Unread)
			}
		})
	}
}

func TestPeriodsOfEveryLength(t *testing.T) {
	play(t, nil, func(s *scene) {
		ada := s.vendor.Join("Ada", "America/Chicago")
		for _, p := range [][2]string{{"2026-09-16", "2026-09-30"}, {"2026-10-01", "2026-10-31"}} {
			first, _ := civil.Parse(p[0])
			last, _ := civil.Parse(p[1])
			sheet := s.vendor.Submit(ada, civil.Period{First: first, Last: last}, s.vendor.Work(last))
			s.vendor.Set(sheet, tracker.Approved)
		}
		page := s.all()
		if len(page.Weeks) != 2 || page.Weeks[0].ID != ada.ID+":2026-10-01:2026-10-31:TIMESHEET" || page.Weeks[1].Period.Last.String() != "2026-09-30" {
			s.Errorf("weeks %+v", page.Weeks)
		}
	})
}

// A withdrawn approval keeps a frozen copy of its entries. They are not billed.
func TestWithdrawnCopiesAreNotBilled(t *testing.T) {
	play(t, nil, func(s *scene) {
		sheet := s.join("Ada")
		approvedAt := s.only().Version
		time.Sleep(time.Hour)
		s.vendor.Set(sheet, tracker.Withdrawn)
		if w := s.only(); w.State != tracker.Withdrawn || len(w.Entries) != 0 || w.Version.Number <= approvedAt.Number {
			s.Errorf("withdrawn: %+v", w)
		}
		time.Sleep(time.Hour)
		s.vendor.Set(sheet, tracker.Pending)
		time.Sleep(time.Hour)
		s.vendor.Set(sheet, tracker.Approved)
		if w := s.only(); w.State != tracker.Approved || len(w.Entries) != 1 {
			s.Errorf("approved again under a new id: %+v", w)
		}
	})
}

// A request that waits may be rejected, and then it vanishes: if it counted, the version would go back.
func TestRequestThatWaitsIsNoVersion(t *testing.T) {
	play(t, nil, func(s *scene) {
		sheet := s.join("Ada")
		time.Sleep(time.Hour)
		s.vendor.Grow(sheet, s.vendor.Work(trackertest.Monday))
		if w := s.only(); w.State != tracker.Growing || w.Version.Number >= sheet.Changed.UnixNano() || !w.Changed.Equal(sheet.Changed) {
			s.Errorf("with a request that waits since %s: %s, version %d, changed %s", sheet.Changed, w.State, w.Version.Number, w.Changed)
		}
	})
}

func TestSmallUnits(t *testing.T) {
	for _, tt := range []struct {
		units, currency string
		amount          any
		want            string
	}{
		{"", "EUR", 9000, "90"}, {"", "JPY", 1_200_000, "12000"}, {iso, "JPY", 12000, "12000"}, {iso, "KWD", 12500, "12.5"}, {hundred, "KWD", 1250, "12.5"},
	} {
		play(t, func(s *Settings) { s.MinorUnits = tt.units }, func(s *scene) {
			s.join("Ada")
			s.mend = func(one object) { work(one)[0]["hourlyRate"] = object{"amount": tt.amount, "currency": tt.currency} }
			e := s.only().Entries[0]
			if !e.Rate.Valid || !e.Rate.Decimal.Equal(decimal.RequireFromString(tt.want)) || string(e.Currency) != tt.currency {
				s.Errorf("%v %s in units %q = %v %s, want %s", tt.amount, tt.currency, tt.units, e.Rate, e.Currency, tt.want)
			}
		})
	}
}

func TestZeroIsNoPrice(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.mend = func(one object) { work(one)[0]["hourlyRate"] = object{"amount": 0, "currency": "EUR"} }
		if e := s.only().Entries[0]; e.Rate.Valid {
			s.Errorf("a rate of 0 on billable work = %v, want none", e.Rate)
		}
	})
}

func TestApprovedTimeThatIsNotShownIsTrouble(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.mend = func(one object) { delete(one, "entries") }
		if w := s.only(); w.Trouble == nil || !strings.Contains(w.Trouble.Text, "shows entries of 0s") {
			s.Errorf("an hour is approved and nothing shown: trouble %v", w.Trouble)
		}
	})
}

func TestOddEntriesAreTroubleThatNamesThem(t *testing.T) {
	interval := func(name string, value any) func(object) {
		return func(e object) { e["timeInterval"].(object)[name] = value }
	}
	for name, tt := range map[string]struct {
		change func(e object)
		want   string
	}{
		"an unknown type":         {func(e object) { e["type"] = "ON_CALL" }, `of the type "ON_CALL", which is unknown`},
		"no id":                   {func(e object) { delete(e, "id") }, "has no id"},
		"no beginning":            {interval("start", nil), "beginning or end cannot be read"},
		"an end that is no time":  {interval("end", "tomorrow"), "beginning or end cannot be read"},
		"no duration that is one": {interval("duration", "90 minutes"), `"90 minutes" is not a duration`},
		"less than no time":       {interval("duration", "-PT1H"), "lasts less than no time"},
		"a rate without currency": {func(e object) { e["hourlyRate"] = object{"amount": 9000} }, "rate has no currency"},
		"a negative rate":         {func(e object) { e["hourlyRate"] = object{"amount": -1, "currency": "EUR"} }, "not one that can be meant"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.join("Ada")
				s.mend = func(one object) { tt.change(work(one)[0]) }
				w := s.only()
				if w.Trouble == nil || w.Trouble.Kind != tracker.Incomplete || !strings.Contains(w.Trouble.Text, tt.want) || !strings.Contains(w.Trouble.Text, "withdraw the approval in Clockify") {
					s.Errorf("trouble %+v, want %q and the cure", w.Trouble, tt.want)
				}
			})
		})
	}
}

func TestManyDoubtsAreCut(t *testing.T) {
	play(t, nil, func(s *scene) {
		var list []*trackertest.Entry
		for range 9 {
			list = append(list, s.vendor.Work(trackertest.Monday))
		}
		s.vendor.Approve(s.vendor.Join("Ada", "UTC"), trackertest.Monday, list...)
		s.mend = func(one object) {
			for _, e := range work(one) {
				e["type"] = "ODD"
			}
		}
		w := s.only()
		if w.Trouble == nil || strings.Count(w.Trouble.Text, "ODD") != enoughDoubts || !strings.HasSuffix(w.Trouble.Text, "and 4 more") {
			s.Errorf("trouble %+v", w.Trouble)
		}
	})
}

func TestBreaksAndLeaveAreLeftOutUnlessIncluded(t *testing.T) {
	for _, tt := range []struct {
		include []string
		want    string
	}{{nil, "work"}, {[]string{"holiday"}, "work HOLIDAY"}, {[]string{"break", "time_off"}, "work BREAK TIME_OFF"}} {
		play(t, func(s *Settings) { s.Include = tt.include }, func(s *scene) {
			var list []*trackertest.Entry
			for range 4 {
				list = append(list, s.vendor.Work(trackertest.Monday))
			}
			s.vendor.Approve(s.vendor.Join("Ada", "UTC"), trackertest.Monday, list...)
			s.mend = func(one object) {
				for i, kind := range []string{"BREAK", "HOLIDAY", "TIME_OFF"} {
					e := work(one)[i+1]
					e["type"], e["description"] = kind, kind
				}
			}
			var got []string
			for _, e := range s.only().Entries {
				got = append(got, e.Note)
			}
			if strings.Join(got, " ") != tt.want {
				s.Errorf("include %v: %v, want %s", tt.include, got, tt.want)
			}
		})
	}
}

func TestExpensesAreSaidAndNotBilled(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.mend = func(one object) {
			one["expenses"] = []object{
				{"id": "x1", "total": 10500.5, "currency": "USD", "billable": true}, {"id": "x2", "total": 2000, "currency": "EUR", "billable": true}, {"id": "x3", "total": 1, "currency": "EUR", "billable": false},
			}
		}
		w := s.only()
		if len(w.Remarks) != 1 || w.Remarks[0] != "2 expenses of 20.00 EUR and 105.005 USD are not billed" && w.Remarks[0] != "2 expenses of 20.00 EUR and 105.01 USD are not billed" {
			s.Errorf("remarks %q", w.Remarks)
		}
		if len(w.Entries) != 1 {
			s.Errorf("%d entries, want the one that is time", len(w.Entries))
		}
	})
}

func TestExpenseRequestIsARecordOfItsOwn(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.mend = func(one object) { head(one)["type"] = expenses }
		w := s.only()
		if !strings.HasSuffix(w.ID, ":EXPENSE") || len(w.Entries) != 0 {
			s.Errorf("record %s with %d entries", w.ID, len(w.Entries))
		}
		s.mend = func(one object) { head(one)["type"] = both }
		if w := s.only(); !strings.HasSuffix(w.ID, ":TIMESHEET") || len(w.Entries) != 1 {
			s.Errorf("record %s with %d entries, want the timesheet", w.ID, len(w.Entries))
		}
	})
}

// Approved entries are locked, and so may others be. Only where their time is what is approved it is clear.
func TestPartThatIsApprovedMustAddUp(t *testing.T) {
	for _, tt := range []struct {
		approved string
		trouble  bool
	}{{"PT1H", false}, {"PT2H", true}, {"PT0S", true}} {
		play(t, nil, func(s *scene) {
			s.vendor.growth = stillApproved
			sheet := s.join("Ada")
			s.vendor.Grow(sheet, s.vendor.Work(trackertest.Monday))
			s.mend = func(one object) { one["approvedTime"] = tt.approved }
			w := s.only()
			if (w.Trouble != nil) != tt.trouble || w.State != tracker.Growing || len(w.Entries) != 1 {
				s.Errorf("approved %s: %s, %d entries, trouble %v", tt.approved, w.State, len(w.Entries), w.Trouble)
			}
		})
	}
}

func TestWhatDoesNotSayHowItStandsIsUnread(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(one object)
		want   string
	}{
		"no state":         {func(one object) { delete(head(one, "status"), "state") }, "it has no state"},
		"an unknown state": {func(one object) { head(one, "status")["state"] = "ESCALATED" }, `in the state "ESCALATED"`},
		"no update":        {func(one object) { delete(head(one, "status"), "updatedAt") }, "when it was updated last"},
		"an unknown type":  {func(one object) { head(one)["type"] = "MILEAGE" }, `of the type "MILEAGE"`},
		"no owner":         {func(one object) { delete(head(one, "owner"), "userId") }, "lacks its id, its owner"},
		"no period":        {func(one object) { delete(head(one), "dateRange") }, "lacks its id, its owner, or the beginning"},
		"a backward one":   {func(one object) { head(one, "dateRange")["end"] = "2026-01-01T00:00:00Z" }, "before it begins"},
		"odd entries":      {func(one object) { one["entries"] = "many" }, "cannot unmarshal"},
		"an odd duration":  {func(one object) { one["approvedTime"] = "a day" }, `"a day" is not a duration`},
		"a colon":          {func(one object) { head(one, "owner")["userId"] = "a:b" }, "has a colon"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.join("Ada")
				good := s.join("Bob").Member.ID
				s.mend = func(one object) {
					if head(one, "owner")["userId"] != good {
						tt.change(one)
					}
				}
				page := s.all()
				if len(page.Weeks) != 1 || len(page.Unread) != 1 || !strings.Contains(page.Unread[0].Reason, tt.want) {
					s.Errorf("%d weeks, unread %+v; want Bob's week, and %q", len(page.Weeks), page.Unread, tt.want)
				}
			})
		})
	}
}
