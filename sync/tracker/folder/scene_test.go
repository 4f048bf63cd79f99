package folder

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/config"
	"tidemark/sync/tracker"
)

// noon is when every pass of these tests begins, and longAgo when their files were written.
func noon() time.Time    { return time.Date(2026, time.December, 1, 12, 0, 0, 0, time.UTC) }
func longAgo() time.Time { return noon().Add(-24 * time.Hour) }

// scene is a folder in the making.
type scene struct {
	*testing.T
	settings Settings
}

func newScene(t *testing.T) *scene {
	return &scene{T: t, settings: Settings{Account: "agency", Path: config.Path(t.TempDir())}}
}

// drop writes a file that has rested since longAgo.
func (s *scene) drop(name, text string) { s.dropAt(name, text, longAgo()) }

func (s *scene) dropAt(name, text string, written time.Time) {
	s.Helper()
	path := filepath.Join(string(s.settings.Path), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Chtimes(path, written, written); err != nil {
		s.Fatal(err)
	}
}

// sample drops a file of testdata.
func (s *scene) sample(name string) {
	s.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		s.Fatal(err)
	}
	s.drop(name, string(data))
}

// rows drops a Toggl Track export of rows `user|client|project|note|date|hours`.
func (s *scene) rows(file string, rows ...string) {
	s.Helper()
	s.drop(file, togglFile(rows...))
}

func togglFile(rows ...string) string {
	text := "User,Client,Project,Description,Billable,Start date,Start time,Duration,Amount (EUR)\n"
	for _, r := range rows {
		c := strings.Split(r, "|")
		text += fmt.Sprintf("%s,%s,%s,%s,Yes,%s,09:00:00,%s,10.00\n", c[0], c[1], c[2], c[3], c[4], c[5])
	}
	return text
}

func (s *scene) folder() *Folder {
	s.Helper()
	f, err := New(s.settings)
	if err != nil {
		s.Fatal(err)
	}
	return f
}

// pass reads the whole folder, as one page.
func (s *scene) pass() tracker.Page {
	s.Helper()
	return s.ask(tracker.Query{Now: noon()})
}

func (s *scene) ask(q tracker.Query) tracker.Page {
	s.Helper()
	var all tracker.Page
	for page, err := range s.folder().Weeks(context.Background(), q) {
		if err != nil {
			s.Fatal(err)
		}
		all.Weeks = append(all.Weeks, page.Weeks...)
		all.Unread = append(all.Unread, page.Unread...)
		all.Notes = append(all.Notes, page.Notes...)
	}
	return all
}

// clean is pass for a folder in which nothing is wrong.
func (s *scene) clean() map[string]tracker.Week {
	s.Helper()
	page := s.pass()
	weeks := map[string]tracker.Week{}
	for _, w := range page.Weeks {
		if w.Trouble != nil {
			s.Errorf("week %s has the trouble %q, want none", w.ID, w.Trouble.Text)
		}
		weeks[w.ID] = w
	}
	if len(page.Unread)+len(page.Notes) > 0 {
		s.Errorf("Unread = %v, Notes = %q, want none", page.Unread, page.Notes)
	}
	return weeks
}

// unread is pass for a folder of which one file or record cannot be read.
func (s *scene) unread() string {
	s.Helper()
	page := s.pass()
	if len(page.Unread) != 1 || len(page.Weeks) > 0 {
		s.Fatalf("Unread = %v, Weeks = %s, want one unread and no week", page.Unread, dump(page.Weeks))
	}
	return page.Unread[0].ID + ": " + page.Unread[0].Reason
}

func dump(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func wantText(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("text = %q, want %q in it", got, p)
		}
	}
}
