package folder

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/sync/tracker"
)

func TestClockifyReport(t *testing.T) {
	s := newScene(t)
	s.sample("clockify.csv")
	weeks := s.clean()
	w := weeks["Tomas Vik/2026-W45"]
	if len(weeks) != 1 || len(w.Entries) != 2 {
		t.Fatalf("weeks = %s, want one with two entries: the total is none, the project Total Refit is no total", dump(weeks))
	}
	for _, e := range w.Entries {
		if e.Project.ID != "Total Refit" || e.Client.ID != "Marlow Boats" || e.Currency != "USD" || e.Running {
			t.Errorf("entry = %s, want Total Refit of Marlow Boats in USD", dump(e))
		}
		switch e.Note {
		case "Hull":
			if e.Seconds != 7200 || e.Rate.Decimal.String() != "120" || !e.Billable || e.Task.ID != "Design" {
				t.Errorf("entry = %s, want 2 h of Design at 120", dump(e))
			}
		case "Lunch talk":
			if e.Seconds != 1200 || e.Rate.Valid || e.Billable {
				t.Errorf("entry = %s, want 20 minutes as the clock says, no rate, not billable", dump(e))
			}
		default:
			t.Errorf("entry = %s, want none such", dump(e))
		}
	}
	if !w.Approved.Equal(longAgo()) {
		t.Errorf("Approved = %s, want when the file was written", w.Approved)
	}
}

func TestTwoWritingsOfOneDurationAgreeOrAreTrouble(t *testing.T) {
	for _, tt := range []struct {
		clock, decimals, trouble string
	}{
		{"02:00:00", "2.00", ""},
		{"02:00:00", "2", ""},
		{"02:00:00", `"2,00"`, ""},
		{"00:20:00", "0.33", ""},
		{"00:20:17", "0.34", ""},
		{"00:20:17", "0.33", ""}, // cut off, not rounded
		{"02:00:00", "", ""},
		{"02:00:00", "2.01", "a.csv:2: column Duration (decimal): \"2.01\" is not the time that the clock beside it says, 2h0m0s"},
		{"02:00:00", "1.99", "a.csv:2: column Duration (decimal)"},
		{"02:00:00", "two", "a.csv:2: column Duration (decimal): \"two\" is not a number of hours"},
		{"lots", "2.00", "a.csv:2: column Duration (h)"},
	} {
		s := newScene(t)
		s.drop("a.csv", "Project,Client,Description,User,Billable,Start Date,Start Time,Duration (h),Duration (decimal)\n"+
			"Site,Acme,n,Ann,Yes,2026-11-02,09:00,"+tt.clock+","+tt.decimals+"\n")
		if tt.trouble == "" {
			s.clean()
			continue
		}
		w := s.troubled()
		wantText(t, w.Trouble.Text, tt.trouble)
		if w.Trouble.Kind != tracker.Incomplete || len(w.Entries) > 0 {
			t.Errorf("%s and %s: week = %s, want an incomplete one without the row", tt.clock, tt.decimals, dump(w))
		}
	}
}

func TestAmountBesideARateIsSaidWhereItIsAnother(t *testing.T) {
	harvest := "Date,Client,Project,Task,Notes,Hours,Billable?,First Name,Last Name,Billable Rate,Billable Amount,Currency\n2026-11-02,Acme,Site,Dev,n,%s,Ann,Berg,%s,%s,%s\n"
	clockify := "Project,Client,Description,User,Billable,Start Date,Start Time,Duration (h),Billable Rate (USD),Billable Amount (USD)\nSite,Acme,n,Ann,%s,2026-11-02,09:00,%s,%s,%s\n"
	for name, tt := range map[string]struct{ text, note string }{
		"equal":                    {fmt.Sprintf(harvest, "7.5,Yes", "95", "712.50", "EUR"), ""},
		"hours cut to 2 decimals":  {fmt.Sprintf(harvest, "7.42,Yes", "95", "704.58", "EUR"), ""},
		"rounding not in hours":    {fmt.Sprintf(harvest, "7.42,Yes", "95", "712.50", "EUR"), "a.csv:2: column Billable Amount: 712.5 is not hours × rate, which is 704.9 and counts"},
		"just within":              {fmt.Sprintf(harvest, "1,Yes", "100", "100.51", "EUR"), ""},
		"just beyond":              {fmt.Sprintf(harvest, "1,Yes", "100", "100.52", "EUR"), "100.52 is not hours × rate, which is 100 and counts"},
		"minor unit of the yen":    {fmt.Sprintf(harvest, "1,Yes", "100", "101.5", "JPY"), ""},
		"no amount":                {fmt.Sprintf(harvest, "1,Yes", "100", "", "EUR"), ""},
		"no rate":                  {fmt.Sprintf(harvest, "1,Yes", "", "90", "EUR"), ""},
		"not billable":             {fmt.Sprintf(harvest, "1,No", "100", "0", "EUR"), ""},
		"amount that may be two":   {fmt.Sprintf(harvest, "10,Yes", "125", `"1,250"`, "EUR"), ""},
		"Clockify, equal":          {fmt.Sprintf(clockify, "Yes", "00:20:00", "120", "40.00"), ""},
		"Clockify, other":          {fmt.Sprintf(clockify, "Yes", "00:20:00", "120", "41.00"), "a.csv:2: column Billable Amount (USD): 41 is not hours × rate, which is 40 and counts"},
		"Clockify, not billable":   {fmt.Sprintf(clockify, "No", "00:20:00", "", "0.00"), ""},
		"Clockify, billable, none": {fmt.Sprintf(clockify, "Yes", "00:20:00", "", "0.00"), ""},
	} {
		s := newScene(t)
		s.drop("a.csv", tt.text)
		page := s.pass()
		if len(page.Weeks) != 1 || page.Weeks[0].Trouble != nil || page.Weeks[0].Entries[0].Amount.Valid {
			t.Errorf("%s: weeks = %s, want one without trouble, billed by hours and rate", name, dump(page.Weeks))
		}
		if note := strings.Join(page.Notes, ""); !strings.Contains(note, tt.note) || (note == "") != (tt.note == "") {
			t.Errorf("%s: Notes = %q, want %q", name, note, tt.note)
		}
	}
}

func TestTogglReport(t *testing.T) {
	s := newScene(t)
	s.sample("toggl.csv")
	w := s.clean()["Noor Haddad/2026-W46"]
	if len(w.Entries) != 2 {
		t.Fatalf("week = %s, want two entries", dump(w))
	}
	e := w.Entries[0]
	if e.Note != "Prices\nsaid \"done\" twice" || e.Seconds != 5760 || e.Amount.Decimal.String() != "152" || e.Rate.Valid || e.Currency != "EUR" {
		t.Errorf("entry = %s, want 1 h 36 min for the stated 152 EUR", dump(e))
	}
	e = w.Entries[1]
	if e.Amount.Valid || e.Client != (tracker.Ref{}) || e.Billable {
		t.Errorf("entry = %s, want no amount, no client, not billable", dump(e))
	}
}

// entries reads one file of one week.
func (s *scene) entries(text string) []tracker.Entry {
	s.Helper()
	s.drop("a.csv", text)
	weeks := s.clean()
	if len(weeks) != 1 {
		s.Fatalf("weeks = %s, want one", dump(weeks))
	}
	for _, w := range weeks {
		return w.Entries
	}
	return nil
}

func TestHarvestVariants(t *testing.T) {
	for name, text := range map[string]string{
		"without rounding": "Date,Client,Project,Project Code,Task,Notes,Hours,Billable?,Invoiced?,Approved?,First Name,Last Name,Employee Id,Billable Rate,Currency\n" +
			"2026-11-02,Acme,Site,,Dev,n,7.5,Yes,No,Yes,Ann,Berg,12,95,Euro - EUR\n",
		"old, without rates and approval": "Date,Client,Project,Project Code,Task,Notes,Hours,Billable?,Invoiced?,First Name,Last Name,Department,Employee?\n" +
			"2026-11-02,Acme,Site,,Dev,n,7:30,Yes,No,Ann,Berg,Web,Yes\n",
		"other order, decimal comma": "Last Name;First Name;Hours;Date;Notes;Task;Project;Client;Billable?;Hours Rounded;Billable Rate;Currency\n" +
			"Berg;Ann;7,42;02.11.2026;n;Dev;Site;Acme;Yes;7,5;95,00;EUR\n",
		"rounding that is empty": "Date\tClient\tProject\tTask\tNotes\tHours\tHours Rounded\tBillable?\tFirst Name\tLast Name\n" +
			"2026-11-02\tAcme\tSite\tDev\tn\t7.5\t\tYes\tAnn\tBerg\n",
	} {
		s := newScene(t)
		s.settings.Currency = "EUR"
		e := s.entries(text)
		if len(e) != 1 || e[0].Seconds != 27000 || e[0].Currency != "EUR" || !e[0].Billable || e[0].Elsewhere || e[0].Date.String() != "2026-11-02" {
			t.Errorf("%s: entries = %s, want 7.5 billable hours in EUR", name, dump(e))
		}
		if rated := strings.Contains(text, "Rate"); len(e) == 1 && e[0].Rate.Valid != rated {
			t.Errorf("%s: rate = %v, want one: %v", name, e[0].Rate, rated)
		}
	}
}

const togglStart = "User,Client,Project,Description,Billable,Start date,Start time,End date,End time,Duration"

func TestCurrencyStandsInTheHeader(t *testing.T) {
	for _, tt := range []struct{ columns, cells, settings, amount, currency string }{
		{",Amount (EUR)", ",10.00", "USD", "10", "EUR"},
		{",Amount ()", ",10.00", "USD", "10", "USD"},
		{",Amount", ",10.00", "", "10", ""},
		{"", "", "USD", "", "USD"},
		{",Amount (EUR),Amount (USD)", ",,10.00", "", "10", "USD"},
		{",Amount (EUR),Amount (USD)", ",0.00,10.00", "", "10", "USD"},
		{",Amount (EUR),Amount (USD)", ",10.00,0.00", "", "10", "EUR"},
		{",Amount (EUR),Amount (USD)", ",,", "", "", ""},
		{",Amount invoiced (USD),Amount (EUR)", ",7.00,10.00", "", "10", "EUR"},
		{",Amount (EUR)", ",0.00", "", "0", "EUR"},
	} {
		s := newScene(t)
		s.settings.Currency = tt.settings
		e := s.entries(togglStart + tt.columns + "\nAnn,Acme,Site,n,Yes,2026-11-02,09:00,2026-11-02,10:00,1:00" + tt.cells + "\n")[0]
		amount := ""
		if e.Amount.Valid {
			amount = e.Amount.Decimal.String()
		}
		if amount != tt.amount || string(e.Currency) != tt.currency {
			t.Errorf("%q with %q: amount %q %s, want %q %s", tt.columns, tt.cells, amount, e.Currency, tt.amount, tt.currency)
		}
	}
}

func TestTwoAmountsOfOneEntryAreTrouble(t *testing.T) {
	s := newScene(t)
	s.drop("a.csv", togglStart+",Amount (EUR),Amount (USD)\nAnn,Acme,Site,n,Yes,2026-11-02,09:00,2026-11-02,10:00,1:00,10.00,11.00\n")
	wantText(t, s.troubled().Trouble.Text, "a.csv:2: column Amount (USD)", "second amount")
}

func TestOneRowThatIsNotApprovedKeepsTheWeekPending(t *testing.T) {
	for _, rows := range [][]string{{"Yes", "No"}, {"No", "Yes"}} {
		s := newScene(t)
		text := "Date,Client,Project,Task,Notes,Hours,Billable?,Approved?,First Name,Last Name\n"
		for _, approved := range rows {
			text += "2026-11-02,Acme,Site,Dev,n,1,Yes," + approved + ",Ann,Berg\n"
		}
		s.drop("a.csv", text)
		if w := s.clean()["Ann Berg/2026-W45"]; w.State != tracker.Pending || len(w.Entries) != 2 {
			t.Errorf("%q: week = %s, want a pending one with both rows", rows, dump(w))
		}
	}
}

func TestTimerThatWasNotStoppedIsRunning(t *testing.T) {
	s := newScene(t)
	e := s.entries(togglStart + "\nAnn,Acme,Site,n,Yes,2026-11-02,09:00,,,0:10:00\n")
	if len(e) != 1 || !e[0].Running {
		t.Errorf("entries = %s, want one that is running", dump(e))
	}
}

func TestBadHeadersAreSaid(t *testing.T) {
	clockifyStart := "Project,Client,Description,User,Billable,Start Date,Start Time,Duration (h)"
	for header, parts := range map[string][]string{
		"a,b,c": {"a.csv:1", "is no export that is known here"},
		"Project,Client,Description,User,Billable,Start Date,Start Time,Duration (decimal)":                                  {"Clockify", "Duration (h)"},
		"Date,Client,Project,Task,Notes,Hours,First Name":                                                                    {"Harvest", "Billable?, Last Name: export the detailed report with them"},
		"User,Client,Project,Description,Start date,Start time,Duration":                                                     {"Toggl", "columns Billable"},
		"id,version,first,last,member,client,project,date,hours,billable":                                                    {"the plain form", "state, entry: add them"},
		"Date,From,To,Duration,Currency,Hourly rate,Price,User,Customer,Project,Activity,Description,Exported,Billable,Tags": {"a.csv:1", "Kimai", "plain form"},
		clockifyStart + ",Billable Rate (US$)":                                                                               {"a.csv:1", "Billable Rate (US$)", "names no currency"},
		clockifyStart + ",Billable Rate (USD),Billable Rate (EUR)":                                                           {"a.csv:1", "billable rate (usd)", "billable rate (eur)"},
		"User,Client,Project,Description,Billable,Start date,Start time,Duration,duration":                                   {"a.csv:1", "duration", "twice"},
		"":     {"a.csv", "is empty"},
		"\n\n": {"a.csv", "is empty"},
	} {
		s := newScene(t)
		s.drop("a.csv", header)
		wantText(t, s.unread(), parts...)
	}
}
