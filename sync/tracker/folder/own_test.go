package folder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

const ownHeader = "id,version,state,first,last,member,client,project,task,date,hours,billable,rate,amount,currency,note,entry\n"

// ownRow is a good row with some of its cells changed, each written column=cell.
func ownRow(changes ...string) string {
	cells := map[string]string{
		"id": "881", "version": "3", "state": "approved", "first": "2026-11-02", "last": "2026-11-08", "member": "Ann", "client": "Acme",
		"project": "Site", "date": "2026-11-02", "hours": "1", "billable": "yes", "rate": "95", "currency": "EUR", "entry": "e1",
	}
	for _, c := range changes {
		column, cell, _ := strings.Cut(c, "=")
		cells[column] = cell
	}
	var row []string
	for _, column := range strings.Split(strings.TrimSpace(ownHeader), ",") {
		row = append(row, cells[column])
	}
	return strings.Join(row, ",") + "\n"
}

func TestBadCellOfARecordIsItsTrouble(t *testing.T) {
	for change, part := range map[string]string{
		"hours=x":          "a.csv:3: column hours",
		"hours=":           "a.csv:3: column hours: is empty",
		"date=2026-02-30":  "a.csv:3: column date",
		"billable=":        "a.csv:3: column billable",
		"rate=$95":         "a.csv:3: column rate",
		"amount=x":         "a.csv:3: column amount",
		"currency=Euro":    "a.csv:3: column currency",
		"entry=":           "a.csv:3: column entry: is empty",
		"client=Halden":    `a.csv:3: column client: says "Halden" where the first row of record 881 says "Acme"`,
		"project=Other":    "a.csv:3: column project",
		"currency=USD":     "a.csv:3: column currency",
		"member=Bo":        "a.csv:3: column member",
		"version=4":        "a.csv:3: column version",
		"state=pending":    "a.csv:3: column state",
		"first=2026-11-01": "a.csv:3: column first",
	} {
		s := newScene(t)
		s.drop("a.csv", ownHeader+ownRow()+ownRow("entry=e2", change)+ownRow("id=882", "entry=e3"))
		page := s.pass()
		if len(page.Weeks) != 2 || len(page.Unread) != 0 {
			t.Fatalf("%s: page = %s, want two weeks", change, dump(page))
		}
		bad, good := page.Weeks[0], page.Weeks[1]
		if bad.Trouble == nil || bad.Trouble.Kind != tracker.Incomplete || len(bad.Entries) != 1 || good.Trouble != nil {
			t.Errorf("%s: weeks = %s, want 881 incomplete with its good row, and 882 good", change, dump(page.Weeks))
			continue
		}
		wantText(t, bad.Trouble.Text, part, "raise the version of record 881")
	}
}

func TestRecordThatIsNotUnderstoodIsUnreadAlone(t *testing.T) {
	for change, part := range map[string]string{
		"version=":         "a.csv:2: column version",
		"version=0":        "a.csv:2: column version",
		"version=1.5":      "a.csv:2: column version",
		"state=Approved!":  "a.csv:2: column state",
		"first=x":          "a.csv:2: column first",
		"last=2026-11-01":  "a.csv:2: column last: 2026-11-01 is before the first day",
		"last=2026-12-03":  "a.csv:2: column last: 2026-12-03 is 32 days",
		"member=":          "a.csv:2: column member",
		"member=A\x00":     "a.csv:2: column member",
		"first=02/11/2026": "dates: day-first",
	} {
		s := newScene(t)
		s.drop("a.csv", ownHeader+ownRow(change)+ownRow("id=882", "entry=e2"))
		page := s.pass()
		if len(page.Weeks) != 1 || page.Weeks[0].ID != "882" || len(page.Unread) != 1 || page.Unread[0].ID != "881" {
			t.Errorf("%s: page = %s, want 882, and 881 unread", change, dump(page))
			continue
		}
		wantText(t, page.Unread[0].Reason, part)
		if _, err := s.folder().Week(t.Context(), "881"); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: Week = %v, want why it cannot be read", change, err)
		}
	}
}

func TestRecordWithoutAnIDMakesTheFileUnread(t *testing.T) {
	for _, id := range []string{"", "Ann/2026-W45", "a\x1bb", strings.Repeat("9", 201)} {
		s := newScene(t)
		s.drop("a.csv", ownHeader+ownRow("id="+id))
		wantText(t, s.unread(), "a.csv: a.csv:2: column id: ")
	}
}

func TestPlainDecimalsStatedAmountsAndLongPeriods(t *testing.T) {
	s := newScene(t)
	s.settings.Currency, s.settings.Dates = "CHF", dayFirst
	s.drop("a.csv", strings.ReplaceAll(ownHeader, ",", ";")+
		strings.ReplaceAll(ownRow("first=02/11/2026", "last=02/12/2026", "date=02/11/2026", "currency=", "rate=", "state=pending"), ",", ";"))
	w := s.clean()["881"]
	if w.Period != (civil.Period{First: civil.Date{Year: 2026, Month: 11, Day: 2}, Last: civil.Date{Year: 2026, Month: 12, Day: 2}}) {
		t.Errorf("Period = %s, want all of the 31 days", w.Period)
	}
	if w.State != tracker.Pending || !w.Approved.IsZero() || w.Entries[0].Currency != "CHF" || w.Entries[0].Rate.Valid {
		t.Errorf("week = %s, want a pending one in the currency of the settings, without a rate", dump(w))
	}
	s.drop("a.csv", ownHeader+ownRow("rate=", "amount=12.34"))
	if e := s.clean()["881"].Entries[0]; e.Amount.Decimal.String() != "12.34" || e.Rate.Valid {
		t.Errorf("entry = %s, want the stated amount", dump(e))
	}
}

func TestOneRecordInTwoFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b      string
		version   int64
		ambiguous bool
	}{
		"the same":             {ownRow(), ownRow(), 3, false},
		"decimals, other form": {ownRow("rate=95"), ownRow("rate=95.00"), 3, false},
		"higher in the older":  {ownRow("version=4", "hours=2"), ownRow(), 4, false},
		"higher in the newer":  {ownRow(), ownRow("version=4", "hours=2"), 4, false},
		"different under one":  {ownRow("hours=2"), ownRow(), 3, true},
		"withdrawn under one":  {ownRow("state=withdrawn"), ownRow(), 3, true},
	} {
		s := newScene(t)
		s.dropAt("a.csv", ownHeader+tt.a, longAgo())
		s.dropAt("b.csv", ownHeader+tt.b, longAgo().Add(time.Hour))
		page := s.pass()
		if len(page.Weeks) != 1 || page.Weeks[0].Version.Number != tt.version {
			t.Fatalf("%s: page = %s, want one week of version %d", name, dump(page), tt.version)
		}
		trouble := page.Weeks[0].Trouble
		if (trouble != nil) != tt.ambiguous {
			t.Errorf("%s: Trouble = %v, want one: %v", name, trouble, tt.ambiguous)
		}
		if trouble != nil {
			if trouble.Kind != tracker.Ambiguous {
				t.Errorf("%s: Trouble = %s, want ambiguous", name, trouble.Kind)
			}
			wantText(t, trouble.Text, "a.csv", "b.csv", "881", "higher version")
		}
	}
}

func TestFirstContradictionIsNamed(t *testing.T) {
	s := newScene(t)
	for i, file := range []string{"a.csv", "b.csv", "c.csv"} {
		s.dropAt(file, ownHeader+ownRow(fmt.Sprintf("hours=%d", i)), longAgo().Add(time.Duration(i)*time.Hour))
	}
	text := s.troubled().Trouble.Text
	wantText(t, text, "in c.csv and in b.csv")
}

func TestIDsOfOneRecordDoNotDiffer(t *testing.T) {
	for _, column := range []string{"member_id", "client_id", "project_id"} {
		s := newScene(t)
		with := func(row, id string) string { return strings.TrimSuffix(row, "\n") + "," + id + "\n" }
		s.drop("a.csv", with(ownHeader, column)+with(ownRow(), "7")+with(ownRow("entry=e2"), "8"))
		wantText(t, s.troubled().Trouble.Text, "a.csv:3: column "+column, `says "8" where the first row of record 881 says "7"`)
	}
}

const goodJSON = `{"id":"882","version":1,"state":"approved","first":"2026-11-02","last":"2026-11-08","member":{"name":"Ann"},` +
	`"client":{"name":"Acme"},"project":{"name":"Site"},"currency":"EUR","entries":[{"id":"e9","date":"2026-11-02","hours":1,"billable":true}]}`

func TestBadJSON(t *testing.T) {
	other := strings.NewReplacer(`"882"`, `"881"`, `"e9"`, `"e1"`).Replace(goodJSON)
	for name, tt := range map[string]struct {
		text  string
		weeks int
		parts []string
	}{
		"broken":          {"{\"weeks\": [\n" + goodJSON + ",\n}", 0, []string{"a.json: a.json:3: ", "mend the JSON"}},
		"empty":           {"", 0, []string{"a.json:1"}},
		"no weeks":        {"{}", 0, []string{`holds no list "weeks"`}},
		"a list":          {"[]", 0, []string{"array does not belong"}},
		"other fields":    {`{"time_entries":[]}`, 0, []string{`unknown field "time_entries"`}},
		"more behind":     {`{"weeks":[]} {}`, 0, []string{"something stands behind the end"}},
		"no id":           {`{"weeks":[` + goodJSON + `,` + strings.Replace(goodJSON, `"882"`, `""`, 1) + `]}`, 0, []string{"weeks[1]", "field id: is empty"}},
		"id is an object": {`{"weeks":[` + strings.Replace(goodJSON, `"882"`, `{}`, 1) + `]}`, 0, []string{"weeks[0]", "a text or a number belongs"}},
		"twice":           {`{"weeks":[` + goodJSON + `,` + goodJSON + `]}`, 0, []string{"weeks[1]", "882", "twice"}},
		"field twice":     {`{"weeks":[` + strings.Replace(goodJSON, `"hours":1`, `"hours":1,"Hours":8`, 1) + `]}`, 0, []string{`"Hours"`, "twice"}},
		"unknown field":   {`{"weeks":[` + goodJSON + `,` + strings.Replace(other, `"hours"`, `"hour":2,"hours"`, 1) + `]}`, 1, []string{"881: ", "weeks[1]", `unknown field "hour"`}},
		"wrong kind":      {`{"weeks":[` + goodJSON + `,` + strings.Replace(other, `{"name":"Ann"}`, `"Ann"`, 1) + `]}`, 1, []string{"881: ", "weeks[1]", `string does not belong into "member"`}},
		"bad state":       {`{"weeks":[` + goodJSON + `,` + strings.Replace(other, `"approved"`, `null`, 1) + `]}`, 1, []string{"881: ", "weeks[1].entries[0]: field state"}},
	} {
		s := newScene(t)
		s.drop("a.json", tt.text)
		page := s.pass()
		if len(page.Weeks) != tt.weeks || len(page.Unread) != 1 {
			t.Errorf("%s: page = %s, want %d weeks and one unread", name, dump(page), tt.weeks)
			continue
		}
		for _, part := range tt.parts {
			if got := page.Unread[0].ID + ": " + page.Unread[0].Reason; !strings.Contains(got, part) {
				t.Errorf("%s: unread = %q, want %q in it", name, got, part)
			}
		}
	}
}

func TestBadEntryInJSONIsTrouble(t *testing.T) {
	s := newScene(t)
	s.drop("a.json", `{"weeks":[`+strings.Replace(goodJSON, `"hours":1`, `"hours":"7,125"`, 1)+`]}`)
	w := s.troubled()
	wantText(t, w.Trouble.Text, "a.json: weeks[0].entries[0]: field hours", "write 8.5 or 8:30", "raise the version of record 882")
}

func TestNumbersInJSONAreExact(t *testing.T) {
	s := newScene(t)
	s.drop("a.json", `{"weeks":[`+strings.Replace(goodJSON, `"hours":1`, `"hours":1,"rate":95.1000000001`, 1)+`]}`)
	if got := s.clean()["882"].Entries[0].Rate.Decimal.String(); got != "95.1000000001" {
		t.Errorf("Rate = %s, want 95.1000000001", got)
	}
	s.drop("a.json", `{"weeks":[`+strings.NewReplacer(`"882"`, `9007199254740993`, `"e9"`, `9007199254740995`).Replace(goodJSON)+`]}`)
	if w := s.clean()["9007199254740993"]; len(w.Entries) != 1 || w.Entries[0].ID != "9007199254740995" {
		t.Errorf("week = %s, want ids beyond 2^53 digit by digit", dump(w))
	}
}
