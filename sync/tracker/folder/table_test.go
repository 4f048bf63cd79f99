package folder

import (
	"strings"
	"testing"
)

func TestWritingsOfOneFileAreOne(t *testing.T) {
	plain := "User,Client,Project,Description,Billable,Start date,Start time,Duration,Amount (EUR)\n" +
		"Ann Berg,\"Acme, Inc\",Site,n,Yes,2026-11-02,09:00:00,8:30,10.00\n"
	want := newScene(t).entries(plain)
	if len(want) != 1 || want[0].Client.ID != "Acme, Inc" {
		t.Fatalf("entries = %s, want one of Acme, Inc", dump(want))
	}
	comma := func(s string) string { // quotes are not needed where the comma does not separate
		return strings.NewReplacer(`"Acme, Inc"`, "Acme, Inc", ",", ";").Replace(s)
	}
	for name, text := range map[string]string{
		"byte order mark":   "\ufeff" + plain,
		"CRLF":              strings.ReplaceAll(plain, "\n", "\r\n"),
		"semicolons":        strings.Replace(comma(plain), "10.00", "10,00", 1),
		"tabs":              strings.ReplaceAll(comma(plain), ";", "\t"),
		"CR alone":          strings.ReplaceAll(plain, "\n", "\r"),
		"CR twice":          strings.ReplaceAll(plain, "\n", "\r\r\n"),
		"a hint":            "sep=,\n" + plain,
		"a hint, CRLF":      "\"SEP=,\"\r\n" + strings.ReplaceAll(plain, "\n", "\r\n"),
		"no last line end":  strings.TrimSuffix(plain, "\n"),
		"all quoted":        strings.ReplaceAll(`"`+strings.ReplaceAll(strings.TrimSpace(comma(plain)), "\n", "\"\n\"")+`"`, ";", `","`),
		"empty lines":       strings.ReplaceAll(plain, "\n", "\n\n") + ",,,,,,,,\n",
		"trailing cells":    strings.ReplaceAll(plain, "\n", ",,\n"),
		"marks in a header": strings.NewReplacer("Amount (EUR)\n", "Amount (EUR),\";;;;;;;;;;\"\n", "10.00\n", "10.00,x\n").Replace(plain),
		"a total":           plain + "Total,,,,,,,8:30,10.00\n" + "TOTAL (EUR)\n",
		"spaces":            strings.NewReplacer("Ann Berg", "  Ann \u00a0 Berg ", "Site", " Site", "Start date", "Start  Date ").Replace(plain),
		"12-hour clock":     strings.ReplaceAll(plain, "09:00:00", "9:00 AM"),
		"decimal hours":     strings.ReplaceAll(plain, "8:30", `"8,5"`),
	} {
		s := newScene(t)
		if got := s.entries(text); dump(got) != dump(want) {
			t.Errorf("%s: entries = %s, want %s", name, dump(got), dump(want))
		}
	}
}

func TestCarriageReturnInANoteEndsNoLine(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", "Ann|Acme|Site|\"one\rtwo\"|2026-11-02|1:00", "Ann|Acme|Site|\"\"\"q\"\"\r\"|2026-11-02|1:00")
	e := s.clean()["Ann/2026-W45"].Entries
	if len(e) != 2 || e[0].Note != `"q"` || e[1].Note != "one\rtwo" {
		t.Errorf("entries = %s, want two with their notes as they stand", dump(e))
	}
}

func TestAccentsAreOneHoweverTheyAreEncoded(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", "Jose\u0301|Cafe\u0301|Site|n|2026-11-02|1:00")
	w, ok := s.clean()["Jos\u00e9/2026-W45"]
	if !ok || w.Entries[0].Client.ID != "Caf\u00e9" {
		t.Errorf("week = %s, want that of José at Café in the composed form", dump(w))
	}
}

func TestBrokenFilesAreSaidWithTheirPlace(t *testing.T) {
	header := "User,Client,Project,Description,Billable,Start date,Start time,Duration\n"
	good := "Ann,Acme,Site,n,Yes,2026-11-02,09:00,1:00\n"
	for name, tt := range map[string]struct {
		text  string
		parts []string
	}{
		"Latin-1":                   {header + good + strings.Replace(good, "Ann", "Ren\xe9", 1), []string{"a.csv:3", "UTF-8", "save it as CSV UTF-8"}},
		"UTF-16":                    {"\xff\xfeU\x00s\x00e\x00r\x00", []string{"UTF-16", "save it as CSV UTF-8"}},
		"spreadsheet":               {"PK\x03\x04rest", []string{"spreadsheet", "save it as CSV UTF-8"}},
		"open quote":                {header + good + "Ann,Acme,\"Site,n,Yes\n", []string{"a.csv:3", "line 3", "double the quotes"}},
		"bare quote":                {header + "Ann,Acme,5\" pipe,n,Yes,2026-11-02,09:00,1:00\n", []string{"a.csv:2", "double the quotes"}},
		"cut off":                   {header + good + "Ann,Acme,Site,n,Yes,2026-1", []string{"a.csv:3", "has 6 cells where the header has 8"}},
		"unquoted comma":            {header + "Ann,Acme,Site,n,Yes,2026-11-02,09:00,7,5\n", []string{"a.csv:2", "has 9 cells where the header has 8"}},
		"no member":                 {header + good + strings.Replace(good, "Ann", " ", 1), []string{"a.csv:3: column User: is empty"}},
		"no date":                   {header + strings.Replace(good, "2026-11-02", "", 1), []string{"a.csv:2: column Start date: is empty"}},
		"two dates":                 {header + strings.Replace(good, "2026-11-02", "02/11/2026", 1), []string{"a.csv:2: column Start date", "dates: day-first"}},
		"control in name":           {header + strings.Replace(good, "Ann", "A\x1b[2Jnn", 1), []string{"a.csv:2: column User", "control character", "A [2Jnn"}},
		"endless name":              {header + strings.Replace(good, "Ann", strings.Repeat("n", 201), 1), []string{"a.csv:2: column User", "longer than 200"}},
		"place after CR alone":      {strings.ReplaceAll(header+good+"\n"+strings.Replace(good, "Ann", "", 1), "\n", "\r"), []string{"a.csv:4: column User"}},
		"place after CR twice":      {strings.ReplaceAll(header+good+strings.Replace(good, "Ann", "", 1), "\n", "\r\r\n"), []string{"a.csv:3: column User"}},
		"place after a hint":        {"sep=,\n" + header + strings.Replace(good, "Ann", "", 1), []string{"a.csv:3: column User"}},
		"place after a quoted line": {header + strings.Replace(good, ",n,", ",\"n\nn\nn\",", 1) + strings.Replace(good, "Ann", "", 1), []string{"a.csv:5: column User"}},
	} {
		s := newScene(t)
		s.drop("a.csv", tt.text)
		got := s.unread()
		for _, part := range tt.parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: unread = %q, want %q in it", name, got, part)
			}
		}
	}
}

func TestNamesOfFilesDoNotReachTheTerminalRaw(t *testing.T) {
	s := newScene(t)
	s.drop("a\x1b[2J\n.csv", "nonsense")
	if got := s.unread(); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("unread = %q, want it without what moves a cursor", got)
	}
}
