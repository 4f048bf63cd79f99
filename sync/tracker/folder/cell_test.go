package folder

import (
	"strings"
	"testing"
)

func TestHoursAreReadAsTheyAreWritten(t *testing.T) {
	for cell, want := range map[string]int64{
		"8:30": 30600, "8:05": 29100, "01:36:00": 5760, "0:00:59": 59, "120:00": 432000,
		"8.5": 30600, "7,5": 27000, "7.50": 27000, "0,125": 450, "8": 28800, "0": 0, "-1.5": -5400, "-1:30": -5400,
		"0.33": 1188, "0.333": 1199, "1.000": 3600,
	} {
		if got, err := seconds(cell); err != nil || got != want {
			t.Errorf("seconds(%q) = %d, %v; want %d", cell, got, err, want)
		}
	}
	for _, cell := range []string{"8:5", "8:60", "8:30:60", "8:30:00:00", ":30", "8:", "eight", "8h", "1e9", "8..5", "7,125", "10001", "99999:00", "-", ".", ""} {
		if got, err := seconds(cell); err == nil {
			t.Errorf("seconds(%q) = %d, want an error", cell, got)
		}
	}
}

func TestAmountsKnowBothDecimalMarks(t *testing.T) {
	for cell, want := range map[string]string{
		"95": "95", "95.50": "95.5", "95,50": "95.5", "1,234.50": "1234.5", "1.234,50": "1234.5", "1'234.50": "1234.5",
		"1 234,50": "1234.5", "1\u00a0234,50": "1234.5", "1.234.567,8": "1234567.8", "0,125": "0.125", "-12.00": "-12", "1.250": "1.25", "1 234": "1234", "1’234": "1234", "-1 234,5": "-1234.5", "1234,567": "1234.567",
	} {
		if got, err := amount(cell); err != nil || got.String() != want {
			t.Errorf("amount(%q) = %s, %v; want %s", cell, got, err, want)
		}
	}
	for _, cell := range []string{"1,250", "12,34.5", "1.23,4.5", "1,234,567", "1 2", "7 5", "1 2345", "1'23", "1.5 5", "$95", "95 EUR", "1e3", "0x10", "NaN", "--1", "", ".5", "5.", "1234567890123"} {
		if got, err := amount(cell); err == nil {
			t.Errorf("amount(%q) = %s, want an error", cell, got)
		}
	}
	if got, err := optional(""); err != nil || got.Valid {
		t.Errorf("optional of nothing = %v, %v; want none, which is not zero", got, err)
	}
}

func TestDatesAreReadOnlyWhereTheyCanMeanOneDay(t *testing.T) {
	for _, tt := range []struct{ cell, order, want string }{
		{"2026-11-02", "", "2026-11-02"},
		{"2026/11/02", "", "2026-11-02"},
		{"26.01.2015", "", "2015-01-26"},
		{"3.6.2024", "", "2024-06-03"},
		{"03.06.2024", monthFirst, "2024-06-03"},
		{"26/01/2015", "", "2015-01-26"},
		{"01/26/2015", "", "2015-01-26"},
		{"05/05/2024", "", "2024-05-05"},
		{"03/06/2024", dayFirst, "2024-06-03"},
		{"03/06/2024", monthFirst, "2024-03-06"},
		{"03-06-2024", dayFirst, "2024-06-03"},
	} {
		if got, err := date(tt.cell, tt.order); err != nil || got.String() != tt.want {
			t.Errorf("date(%q, %q) = %s, %v; want %s", tt.cell, tt.order, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ cell, order, cure string }{
		{"03/06/2024", "", "`dates: day-first` or `dates: month-first`"},
		{"26/01/2015", monthFirst, "second"},
		{"01/26/2015", dayFirst, "first"},
		{"26.13.2015", "", "2026-11-02"},
		{"30.02.2026", "", "2026-11-02"},
		{"03/06/24", dayFirst, "2026-11-02"},
		{"2026-02-30", "", "2026-11-02"},
		{"2 Nov 2026", "", "2026-11-02"},
		{"46328", "", "2026-11-02"},
		{"a/b/2024", "", "2026-11-02"},
		{"1/2/3/2024", dayFirst, "2026-11-02"},
	} {
		got, err := date(tt.cell, tt.order)
		if err == nil || !strings.Contains(err.Error(), tt.cure) {
			t.Errorf("date(%q, %q) = %s, %v; want an error with %q", tt.cell, tt.order, got, err, tt.cure)
		}
	}
}

func TestClocksOfBothKindsAreTheSameTime(t *testing.T) {
	for cell, want := range map[string]string{
		"14:05": "14:05:00", "14:05:09": "14:05:09", "2:05:09 PM": "14:05:09", "02:05 pm": "14:05:00", "2:05PM": "14:05:00",
		"12:00:00 AM": "00:00:00", "12:30 PM": "12:30:00", "2:05\u202fPM": "14:05:00", "": "",
	} {
		if got, err := clock(cell); err != nil || got != want {
			t.Errorf("clock(%q) = %q, %v; want %q", cell, got, err, want)
		}
	}
	for _, cell := range []string{"25:00", "14:05 PM", "noon"} {
		if got, err := clock(cell); err == nil {
			t.Errorf("clock(%q) = %q, want an error", cell, got)
		}
	}
}

func TestCurrenciesAndFlags(t *testing.T) {
	for cell, want := range map[string]string{"EUR": "EUR", "Euro - EUR": "EUR", "Swedish Krona - SEK": "SEK", "": ""} {
		if got, err := currency(cell); err != nil || string(got) != want {
			t.Errorf("currency(%q) = %q, %v; want %q", cell, got, err, want)
		}
	}
	for _, cell := range []string{"Euro", "€", "eur", "Euro - XQZ"} {
		if got, err := currency(cell); err == nil {
			t.Errorf("currency(%q) = %q, want an error", cell, got)
		}
	}
	for cell, want := range map[string]bool{"Yes": true, "yes": true, "true": true, "1": true, "No": false, "FALSE": false, "0": false} {
		if got, err := flag(cell); err != nil || got != want {
			t.Errorf("flag(%q) = %v, %v; want %v", cell, got, err, want)
		}
	}
	for _, cell := range []string{"", "Ja", "maybe"} {
		if got, err := flag(cell); err == nil {
			t.Errorf("flag(%q) = %v, want an error", cell, got)
		}
	}
}
