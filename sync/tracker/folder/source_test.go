package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tidemark/config"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

const oneRow = "Noor|Acme|Site|Work|2026-11-09|01:00:00"

func TestFileThatIsBeingWrittenHoldsBackTheFolder(t *testing.T) {
	s := newScene(t)
	s.rows("old.csv", oneRow)
	s.dropAt("new.csv", togglFile("Noor|Acme|Site|Work|2026-11-10|01:00:00"), noon().Add(-time.Second))
	s.drop("broken.csv", "a,b\n")
	page := s.pass()
	if len(page.Weeks) != 0 || len(page.Notes) != 1 || len(page.Unread) != 1 {
		t.Fatalf("page = %s, want no week, one note and what is unread all the same", dump(page))
	}
	wantText(t, page.Notes[0], "new.csv", "is being written")
	later := s.ask(tracker.Query{Now: noon().Add(2 * time.Second)})
	if len(later.Weeks) != 1 || len(later.Weeks[0].Entries) != 2 || len(later.Notes) != 0 {
		t.Errorf("page = %s, want the week of both files once the file has rested", dump(later))
	}
}

func TestRangeThatEndsIsNeverEmptyForAFileThatIsBeingWritten(t *testing.T) {
	s := newScene(t)
	s.rows("old.csv", oneRow)
	s.dropAt("new.csv", togglFile("Noor|Acme|Site|Work|2026-11-10|01:00:00"), noon().Add(-time.Second))
	week := civil.WeekOf(civil.Date{Year: 2026, Month: time.November, Day: 9})
	q := tracker.Query{Now: noon(), First: civil.Period{First: week.First(), Last: week.Last()}}
	answers := 0
	for page, err := range s.folder().Weeks(t.Context(), q) {
		if answers++; !errors.Is(err, errBusy) || len(page.Weeks) > 0 {
			t.Fatalf("Weeks = %s, %v; want that a file is being written", dump(page), err)
		}
		wantText(t, err.Error(), "folder: new.csv: is being written", "try again")
	}
	if answers != 1 {
		t.Errorf("Weeks answered %d times, want once", answers)
	}
	q.Now = noon().Add(2 * time.Second)
	if later := s.ask(q); len(later.Weeks) != 1 || len(later.Weeks[0].Entries) != 2 {
		t.Errorf("page = %s, want the week of both files once the file has rested", dump(later))
	}
}

func TestQuietIsASetting(t *testing.T) {
	s := newScene(t)
	s.dropAt("a.csv", togglFile(oneRow), noon().Add(-time.Minute))
	if got := s.pass(); len(got.Weeks) != 1 {
		t.Errorf("page = %s, want the week: a minute is longer than the 2s that are the default", dump(got))
	}
	quiet := config.Duration(5 * time.Minute)
	s.settings.Quiet = &quiet
	if got := s.pass(); len(got.Weeks) != 0 {
		t.Errorf("page = %s, want no week: a minute is shorter than five", dump(got))
	}
}

func TestClockOfTheFileSystemBlocksNothingForEver(t *testing.T) {
	s := newScene(t)
	s.dropAt("a.csv", togglFile(oneRow), noon().Add(30*time.Second))
	if got := s.pass(); len(got.Weeks) != 0 {
		t.Errorf("page = %s, want no week: the file is hardly ahead and will have rested soon", dump(got))
	}
	s.dropAt("a.csv", togglFile(oneRow), noon().AddDate(3, 0, 0))
	got := s.pass()
	if len(got.Weeks) != 1 || len(got.Notes) != 1 {
		t.Fatalf("page = %s, want the week and a note", dump(got))
	}
	wantText(t, got.Notes[0], "a.csv", "in the future")
}

func TestFilesOnTheirWayAreNotLookedAt(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", oneRow)
	for _, name := range []string{".hidden.csv", "~lock.csv", "a.csv~", "b.csv.part", "b.csv.tmp", "b.csv.crdownload", ".b.csv.swp", "B.CSV.TMP"} {
		s.dropAt(name, "half a", noon())
	}
	if err := os.Mkdir(filepath.Join(string(s.settings.Path), "done"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := s.clean(); len(got) != 1 {
		t.Errorf("weeks = %s, want one", dump(got))
	}
}

func TestChangeWhileReadingIsNoticed(t *testing.T) {
	s := newScene(t)
	path := filepath.Join(string(s.settings.Path), "a.csv")
	look := func() fs.FileInfo {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	s.drop("a.csv", "12345")
	before := look()
	if !unchanged(before, look()) {
		t.Error("unchanged = false for a file that rested, want true")
	}
	s.drop("a.csv", "123456")
	if unchanged(before, look()) {
		t.Error("unchanged = true for a file that grew, want false")
	}
	s.dropAt("a.csv", "54321", longAgo().Add(time.Nanosecond))
	if unchanged(before, look()) {
		t.Error("unchanged = true for a file of a later time, want false")
	}
	s.drop("b.csv", "12345")
	if err := os.Rename(filepath.Join(string(s.settings.Path), "b.csv"), path); err != nil {
		t.Fatal(err)
	}
	if unchanged(before, look()) {
		t.Error("unchanged = true for another file of the same name, want false")
	}
}

func TestWhatIsNoFileIsSaid(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"regular": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"is larger": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, largest+1))
		},
		"is a link to a file that is not there": func(path string) error { return os.Symlink(path+".gone", path) },
		"is not a":                              func(path string) error { return os.Symlink(filepath.Dir(path), path) },
	} {
		s := newScene(t)
		path := filepath.Join(string(s.settings.Path), "a.csv")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		page := s.ask(tracker.Query{Now: time.Now().Add(time.Hour)})
		if len(page.Unread) != 1 || page.Unread[0].ID != "a.csv" {
			t.Fatalf("Unread = %v, want a.csv", page.Unread)
		}
		wantText(t, page.Unread[0].Reason, "a.csv", name)
	}
}

func TestLinkToAFileIsTheFile(t *testing.T) {
	s, other := newScene(t), newScene(t)
	other.rows("kept.csv", oneRow)
	link := filepath.Join(string(s.settings.Path), "a.csv")
	if err := os.Symlink(filepath.Join(string(other.settings.Path), "kept.csv"), link); err != nil {
		t.Fatal(err)
	}
	if w := s.clean()["Noor/2026-W46"]; len(w.Entries) != 1 || w.Origin != "a.csv" {
		t.Errorf("week = %s, want that of the file behind the link, under the link's name", dump(w))
	}
}

func TestFileThatWasRemovedMeanwhileNeedsNoWord(t *testing.T) {
	var g gathered
	_, err := open(t.TempDir(), "a.csv", noon(), 0)
	g.leave("a.csv", err)
	if !errors.Is(err, fs.ErrNotExist) || len(g.unread)+len(g.notes) > 0 || g.busy != nil {
		t.Errorf("open = %v, left %s; want that it does not exist, and no word of it", err, dump(g.unread))
	}
}

func TestFolderThatCannotBeReadIsAnError(t *testing.T) {
	s := newScene(t)
	s.settings.Path = config.Path(filepath.Join(string(s.settings.Path), "absent"))
	f := s.folder()
	pages := 0
	for page, err := range f.Weeks(context.Background(), tracker.Query{Now: noon()}) {
		pages++
		if !errors.Is(err, fs.ErrNotExist) || len(page.Weeks) > 0 {
			t.Errorf("Weeks = %v, %v; want that the folder does not exist", page, err)
		}
	}
	if pages != 1 {
		t.Errorf("Weeks yielded %d times, want once", pages)
	}
	if _, err := f.Week(context.Background(), "881"); err == nil || errors.Is(err, tracker.ErrGone) {
		t.Errorf("Week = %v, want an error that is not ErrGone: nothing is known", err)
	}
}

func TestLastDateInANameCounts(t *testing.T) {
	for name, want := range map[string]string{
		"report-2026-11-09.csv":                              "2026-11-09",
		"report_20261109.csv":                                "2026-11-09",
		"harvest_time_report_from2026-11-02to2026-11-08.csv": "2026-11-08",
		"2026-11-02-2026-11-08.csv":                          "2026-11-08",
		"20261102-20261108 (1).csv":                          "2026-11-08",
		"2026-11-08 run 12345678.csv":                        "2026-11-08",
		"report.csv":                                         "",
		"120261109.csv":                                      "",
		"202611091.csv":                                      "",
		"2026-13-09.csv":                                     "",
		"Time_Report_01_11_2026-30_11_2026.csv":              "",
	} {
		got, ok := dayInName(name)
		if text := got.Format(time.DateOnly); ok != (want != "") || ok && text != want {
			t.Errorf("dayInName(%q) = %s, %v; want %q", name, text, ok, want)
		}
	}
}
