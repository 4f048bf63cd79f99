package kimai

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/remote"
)

func TestSettingsFaultsAreAllNamedAtOnce(t *testing.T) {
	const good = "account: agency\nurl: https://time.example.com\ntoken: {file: token}\n"
	for _, tt := range []struct{ name, lines, faults string }{
		{"the least", good, ""},
		{"everything with the plugin", good + "approval: week_status\nlabels: {Approuvé: approved}\npage_size: 100\nrequests_per_second: 2.5", ""},
		{"everything without", good + "approval: none\napproved_when: {exported: true}\npartial: take", ""},
		{"nothing", "page_size: 501", "account url token page_size"},
		{"a host without https", "account: a\ntoken: {file: token}\nurl: http://time.example.com", "url"},
		{"not a URL", "account: a\ntoken: {file: token}\nurl: time", "url"},
		{"an unknown form", good + "approval: plugin", "approval"},
		{"neither wait nor take", good + "approval: none\napproved_when: {tag: ok}\npartial: some", "partial"},
		{"nothing says what is approved", good + "approval: none", "approved_when"},
		{"two things say what is approved", good + "approval: none\napproved_when: {tag: ok, exported: true}", "approved_when"},
		{"nothing in what says it", good + "approval: none\napproved_when: {}", "approved_when"},
		{"a mark beside the plugin", good + "approved_when: {tag: ok}\npartial: wait", "approved_when partial"},
		{"a label without meaning", good + "labels: {Godkendt: fine}", "labels.Godkendt"},
		{"less than nothing", good + "requests_per_second: -1\npage_size: -1", "requests_per_second page_size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := settings(t, tt.lines, token)
			for field := range strings.FieldsSeq(tt.faults) {
				if !strings.Contains(fmt.Sprint(err), field+": ") {
					t.Errorf("error %v does not name %s", err, field)
				}
			}
			if tt.faults == "" && err != nil {
				t.Error(err)
			}
			if n := strings.Count(fmt.Sprint(err), "config.yaml:"); n != len(strings.Fields(tt.faults)) {
				t.Errorf("%d faults, want %d: %v", n, len(strings.Fields(tt.faults)), err)
			}
		})
	}
}

func TestURLMayEndInTheAPI(t *testing.T) {
	for url, want := range map[string]string{
		"https://time.example.com":           "https://time.example.com/api",
		"https://time.example.com/":          "https://time.example.com/api",
		"https://time.example.com/api":       "https://time.example.com/api",
		"https://example.com/kimai/api/":     "https://example.com/kimai/api",
		"https://example.com/kimai":          "https://example.com/kimai/api",
		"http://localhost:8001/kimai/public": "http://localhost:8001/kimai/public/api",
	} {
		if got := (Settings{URL: url}).base(); got != want {
			t.Errorf("%s leads to %s, want %s", url, got, want)
		}
	}
}

func TestAccountIsTheNameAndNotTheHost(t *testing.T) {
	k := kimaiAt(t, remote.New(remote.Options{}), "https://moved.example.com", token, "")
	if got := k.Account(); got != "kimai:agency" {
		t.Errorf("Account = %s, want kimai:agency", got)
	}
}
