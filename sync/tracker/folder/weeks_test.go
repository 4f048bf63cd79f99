package folder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/sync/tracker"
)

// hours returns date=hours of every entry of the only week, in order.
func (s *scene) hours() string {
	s.Helper()
	weeks := s.clean()
	if len(weeks) != 1 {
		s.Fatalf("weeks = %s, want one", dump(weeks))
	}
	var texts []string
	for _, w := range weeks {
		for _, e := range w.Entries {
			texts = append(texts, e.Date.String()[8:]+"="+(time.Duration(e.Seconds)*time.Second).String())
		}
	}
	return strings.Join(texts, " ")
}

func TestNewestFileThatSpansADayWins(t *testing.T) {
	const (
		monday    = "Ann|Acme|Site|a|2026-11-02|1:00"
		tuesday   = "Ann|Acme|Site|b|2026-11-03|2:00"
		tuesday2  = "Ann|Acme|Site|b|2026-11-03|2:30"
		wednesday = "Ann|Acme|Site|c|2026-11-04|3:00"
		thursday  = "Ann|Acme|Site|d|2026-11-05|4:00"
	)
	for name, tt := range map[string]struct {
		drop func(*scene)
		want string
	}{
		"a file that ends in mid-week adds": {func(s *scene) {
			s.rows("2026-11-03.csv", monday, tuesday)
			s.rows("2026-11-06.csv", wednesday, thursday)
		}, "02=1h0m0s 03=2h0m0s 04=3h0m0s 05=4h0m0s"},
		"the overlap is the newer file's": {func(s *scene) {
			s.rows("2026-11-03.csv", monday, tuesday)
			s.rows("2026-11-06.csv", tuesday2, wednesday)
		}, "02=1h0m0s 03=2h30m0s 04=3h0m0s"},
		"whatever the names' order": {func(s *scene) {
			s.rows("b 2026-11-03.csv", monday, tuesday)
			s.rows("a 2026-11-06.csv", tuesday2)
		}, "02=1h0m0s 03=2h30m0s"},
		"without dates in names the later written": {func(s *scene) {
			s.dropAt("b.csv", togglFile(tuesday), longAgo())
			s.dropAt("a.csv", togglFile(tuesday2), longAgo().Add(time.Hour))
		}, "03=2h30m0s"},
		"a date in a name against a time": {func(s *scene) {
			s.dropAt("2026-11-06.csv", togglFile(tuesday), longAgo())
			s.dropAt("a.csv", togglFile(tuesday2), longAgo())
		}, "03=2h30m0s"},
		"one date in both names": {func(s *scene) {
			s.dropAt("2026-11-06.csv", togglFile(tuesday), longAgo())
			s.dropAt("2026-11-06 (1).csv", togglFile(tuesday2), longAgo().Add(time.Hour))
		}, "03=2h30m0s"},
		"one time of both files": {func(s *scene) {
			s.rows("a.csv", tuesday)
			s.rows("b.csv", tuesday2)
		}, "03=2h30m0s"},
	} {
		s := newScene(t)
		tt.drop(s)
		if got := s.hours(); got != tt.want {
			t.Errorf("%s: entries = %s, want %s", name, got, tt.want)
		}
	}
}

func TestFileSpeaksOnlyForMembersThatItHas(t *testing.T) {
	s := newScene(t)
	s.rows("2026-11-05.csv", "Ann|Acme|Site|x|2026-11-03|1:00")
	s.rows("2026-11-06.csv", "Bo|Acme|Site|x|2026-11-02|1:00", "Bo|Acme|Site|x|2026-11-04|1:00")
	if got := s.clean()["Ann/2026-W45"]; len(got.Entries) != 1 {
		t.Errorf("week = %s, want Ann's row: the newer file says nothing of Ann", dump(got))
	}
}

// troubled returns the only week of a pass.
func (s *scene) troubled() tracker.Week {
	s.Helper()
	page := s.pass()
	if len(page.Weeks) != 1 || page.Weeks[0].Trouble == nil || len(page.Unread) > 0 {
		s.Fatalf("page = %s, want one week, in trouble", dump(page))
	}
	return page.Weeks[0]
}

func TestClientThatOnlyAnOlderFileHasIsAmbiguous(t *testing.T) {
	for name, newer := range map[string][]string{
		"other client that day": {"Ann|Halden|Audit|x|2026-11-03|1:00"},
		"nothing that day":      {"Ann|Acme|Site|x|2026-11-02|1:00", "Ann|Acme|Site|x|2026-11-04|1:00"},
	} {
		s := newScene(t)
		s.rows("2026-11-05.csv", "Ann|Acme|Site|x|2026-11-03|1:00", "Ann|Acme|Site|y|2026-11-03|1:00")
		s.rows("2026-11-06.csv", newer...)
		w := s.troubled()
		if got := strings.Count(w.Trouble.Text, "Acme"); got != 1 {
			t.Errorf("%s: Trouble names Acme %d times, want once", name, got)
		}
		if w.Trouble.Kind != tracker.Ambiguous {
			t.Errorf("%s: Trouble = %s, want ambiguous", name, w.Trouble.Kind)
		}
		wantText(t, w.Trouble.Text, "2026-11-05.csv", "2026-11-06.csv", "2026-11-03", "Acme", "export the day again with all clients")
		s.rows("2026-11-07.csv", append(newer, "Ann|Acme|Site|x|2026-11-03|1:00")...)
		if weeks := s.clean(); len(weeks) != 1 {
			t.Errorf("%s: weeks = %s, want one without trouble once an export has all clients", name, dump(weeks))
		}
	}
}

func TestBadRowStopsOnlyItsOwnWeek(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", "Ann|Acme|Site|x|2026-11-03|1:00", "Ann|Acme|Site|y|2026-11-04|lots", "Ann|Acme|Site|x|2026-11-10|1:00", "Bo|Acme|Site|x|2026-11-04|1:00")
	page := s.pass()
	if len(page.Weeks) != 3 || len(page.Unread) != 0 {
		t.Fatalf("page = %s, want three weeks", dump(page))
	}
	for _, w := range page.Weeks {
		if bad := w.ID == "Ann/2026-W45"; bad != (w.Trouble != nil) || len(w.Entries) != 1 {
			t.Errorf("week = %s, want one entry, and trouble in Ann/2026-W45 alone", dump(w))
		}
	}
	first := page.Weeks[0]
	if first.Trouble == nil || first.Trouble.Kind != tracker.Incomplete {
		t.Fatalf("week = %s, want it incomplete", dump(first))
	}
	wantText(t, first.Trouble.Text, "a.csv:3: column Duration", `"lots"`, "write 8.5 or 8:30")
	s.rows("b.csv", "Ann|Acme|Site|y|2026-11-04|2:00")
	if weeks := s.clean(); len(weeks["Ann/2026-W45"].Entries) != 2 {
		t.Errorf("weeks = %s, want no trouble once a newer file has the day", dump(weeks))
	}
}

func TestEveryBadCellIsTroubleWithItsPlace(t *testing.T) {
	good := []string{"2026-11-02", "Acme", "Site", "Dev", "n", "7.5", "Yes", "No", "Yes", "Ann", "Berg", "95.00", "EUR"}
	header := []string{"Date", "Client", "Project", "Task", "Notes", "Hours", "Billable?", "Invoiced?", "Approved?", "First Name", "Last Name", "Billable Rate", "Currency"}
	for column, cell := range map[string]string{
		"Hours": "x", "Billable?": "", "Invoiced?": "?", "Approved?": "?", "Billable Rate": "$95", "Currency": "Euro", "Client": "A\x07", "Project": strings.Repeat("p", 201),
	} {
		row := append([]string(nil), good...)
		for i := range header {
			if header[i] == column {
				row[i] = cell
			}
		}
		s := newScene(t)
		s.drop("a.csv", strings.Join(header, ",")+"\n"+strings.Join(row, ",")+"\n")
		w := s.troubled()
		if w.Trouble.Kind != tracker.Incomplete || len(w.Entries) != 0 {
			t.Errorf("%s: week = %s, want an incomplete one without the row", column, dump(w))
		}
		wantText(t, w.Trouble.Text, "a.csv:2: column "+column+": ")
	}
}

func TestManyFaultsAreNotListedToTheLast(t *testing.T) {
	s := newScene(t)
	var rows []string
	for range 50 {
		rows = append(rows, "Ann|Acme|Site|y|2026-11-04|lots")
	}
	s.rows("a.csv", rows...)
	text := s.troubled().Trouble.Text
	wantText(t, text, "a.csv:2", "and 45 more")
	if strings.Contains(text, "a.csv:7") {
		t.Errorf("Trouble = %q, want five faults", text)
	}
}

func TestBrokenNewerFileLeavesTheOthers(t *testing.T) {
	s := newScene(t)
	s.rows("2026-11-05.csv", "Ann|Acme|Site|x|2026-11-03|1:00")
	s.drop("2026-11-06.csv", togglFile("Ann|Acme|Site|x|2026-11-03|1:00")+"cut")
	page := s.pass()
	if len(page.Weeks) != 1 || len(page.Unread) != 1 || page.Unread[0].ID != "2026-11-06.csv" {
		t.Errorf("page = %s, want the week of the older file, and the newer one unread", dump(page))
	}
}

func TestRemovedFileWithdrawsNothing(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", "Ann|Acme|Site|x|2026-11-03|1:00")
	s.rows("b.csv", "Bo|Acme|Site|x|2026-11-03|1:00")
	if err := os.Remove(filepath.Join(string(s.settings.Path), "b.csv")); err != nil {
		t.Fatal(err)
	}
	weeks := s.clean()
	if _, ok := weeks["Ann/2026-W45"]; !ok || len(weeks) != 1 {
		t.Errorf("weeks = %s, want Ann's alone: nothing is said of Bo", dump(weeks))
	}
}

func TestEntryIDsSayWhatAnEntrySays(t *testing.T) {
	ids := func(rows ...string) map[string]int64 {
		s := newScene(t)
		s.rows("a.csv", rows...)
		got := map[string]int64{}
		for _, w := range s.clean() {
			for _, e := range w.Entries {
				if len(e.ID) < 16 {
					t.Errorf("id = %q, want 16 characters or more", e.ID)
				}
				got[e.ID] = e.Seconds
			}
		}
		if len(got) != len(rows) {
			t.Fatalf("ids of %q = %v, want one a row", rows, got)
		}
		return got
	}
	one, two, three := "Ann|Acme|Site|x|2026-11-03|1:00", "Ann|Acme|Site|x|2026-11-03|2:00", "Ann|Acme|Site|y|2026-11-03|1:00"
	want := ids(one, two, three)
	for id, n := range ids(three, two, one) {
		if want[id] != n {
			t.Errorf("id %s is of %d s in another order, want %d", id, n, want[id])
		}
	}
	for id := range ids("Ann|Acme|Site|x|2026-11-03|9:00") {
		if _, ok := want[id]; !ok {
			t.Errorf("id %s changed with the hours, want it kept", id)
		}
	}
	for _, other := range []string{
		"Bo|Acme|Site|x|2026-11-03|1:00", "Ann|Acme|Other|x|2026-11-03|1:00", "Ann|Acme|Site|z|2026-11-03|1:00", "Ann|Acme|Site|x|2026-11-04|1:00",
	} {
		for id := range ids(other) {
			if _, ok := want[id]; ok {
				t.Errorf("%s has the id of another entry", other)
			}
		}
	}
}

func TestHostileNotesAreOnlyNotes(t *testing.T) {
	for _, note := range []string{
		"'; DROP TABLE weeks; --", "=HYPERLINK(\"http://example.com\")", "\x1b]0;title\x07", "\u202egnp.exe", "a;b\tc", "Total", "id,version,state", strings.Repeat("long ", 5000), "\x00", "👩\u200d💻 🏳️\u200d🌈",
	} {
		s := newScene(t)
		e := s.entries("User,Client,Project,Description,Billable,Start date,Start time,Duration\n" +
			"Ann,Acme,Site,\"" + strings.ReplaceAll(note, `"`, `""`) + "\",Yes,2026-11-02,09:00,1:00\n" +
			"Ann,Acme,Site,plain,Yes,2026-11-02,10:00,1:00\n")
		if len(e) != 2 || e[0].Note != strings.TrimSpace(note) || e[0].Seconds != 3600 || e[1].Note != "plain" {
			t.Errorf("entries of %.40q = %s, want the note as it stands and the next row", note, dump(e))
		}
	}
}

func TestWeeksCarryTheirISOYear(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", "Ann|Acme|Site|x|2024-12-30|1:00", "Ann|Acme|Site|x|2021-01-03|1:00")
	weeks := s.clean()
	for _, id := range []string{"Ann/2025-W01", "Ann/2020-W53"} {
		if w, ok := weeks[id]; !ok || !w.Period.IsISOWeek() {
			t.Errorf("weeks = %s, want %s", dump(weeks), id)
		}
	}
}

func TestApprovalIsNeverLaterThanTheFile(t *testing.T) {
	s := newScene(t)
	s.rows("2026-12-31.csv", "Ann|Acme|Site|x|2026-11-03|1:00")
	s.rows("2026-11-10.csv", "Bo|Acme|Site|x|2026-11-03|1:00")
	weeks := s.clean()
	if got := weeks["Ann/2026-W45"]; !got.Approved.Equal(longAgo()) || !got.Changed.Equal(longAgo()) {
		t.Errorf("Approved = %s, want when the file was written: the day in its name is still to come", got.Approved)
	}
	if got := weeks["Bo/2026-W45"].Approved.Format(time.DateOnly); got != "2026-11-10" {
		t.Errorf("Approved = %s, want the day in the file's name", got)
	}
}
