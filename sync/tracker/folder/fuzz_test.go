package folder

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"tidemark/sync/tracker"
)

func FuzzCSV(f *testing.F) {
	samples, err := filepath.Glob("testdata/*.csv")
	if err != nil || len(samples) == 0 {
		f.Fatalf("samples = %v, %v; want some", samples, err)
	}
	for _, path := range samples {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(togglFile(oneRow)))
	f.Add([]byte(ownHeader + ownRow()))
	f.Fuzz(func(t *testing.T, data []byte) { examine(t, "a.csv", data) })
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"weeks":[` + goodJSON + `]}`))
	f.Add([]byte(`{"weeks":[{"id":1,"entries":[null,{"hours":1e9}]},null]}`))
	f.Add([]byte(`{"weeks":[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) { examine(t, "a.json", data) })
}

// examine holds what is true of every file, however it looks.
func examine(t *testing.T, name string, data []byte) {
	c, err := reading{dates: dayFirst, currency: "EUR"}.parse(source{name: name, data: data, written: longAgo(), declared: longAgo()})
	if err != nil {
		if len(c.rows)+len(c.records)+len(c.unread) > 0 {
			t.Errorf("parse = %s with the error %v, want nothing of a file that does not count", dump(c), err)
		}
		if !utf8.ValidString(err.Error()) {
			t.Errorf("error = %q, want text", err)
		}
		return
	}
	seen := map[string]bool{}
	for _, w := range append(weeksOf(c.rows), latest(c.records)...) {
		if w.ID == "" || w.Member.ID == "" || seen[w.ID] || w.Period.First.After(w.Period.Last) {
			t.Errorf("week = %s, want an id of its own, a member and a period", dump(w))
		}
		seen[w.ID] = true
		entries := map[string]bool{}
		for _, e := range w.Entries {
			if w.Version.Kind == tracker.None && (entries[e.ID] || !w.Period.Contains(e.Date)) || e.ID == "" || e.Date.IsZero() {
				t.Errorf("entry = %s of %s, want an id of its own and a day of the week", dump(e), w.Period)
			}
			entries[e.ID] = true
		}
	}
}
