package harvest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"tidemark/config"
	"tidemark/internal/remote"
)

func TestSettingsAreEnough(t *testing.T) {
	s := good()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	h, err := New(s, remote.New(remote.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if h.Account() != "harvest:1234567" || h.client.Base != "https://api.harvestapp.com/v2" || h.client.PerSecond != 6 || s.pageSize() != 2000 {
		t.Errorf("account %s at %s, %v requests a second, pages of %d", h.Account(), h.client.Base, h.client.PerSecond, s.pageSize())
	}
}

func TestEveryFaultOfTheSettingsIsPlaced(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Settings)
		want   []string
	}{
		"nothing at all":       {func(s *Settings) { *s = Settings{} }, []string{"account: missing", "token: missing", "contact: missing"}},
		"a name of an account": {func(s *Settings) { s.Account = "agency" }, []string{`account: "agency" is not the number`}},
		"a contact without a way": {
			func(s *Settings) { s.Contact = "Ada" }, []string{`contact: "Ada" is neither an e-mail address nor a URL`},
		},
		"a contact that breaks the header": {
			func(s *Settings) { s.Contact = "ada@example.com\r\nX: y" }, []string{`contact: "ada@example.com\r\nX: y" is neither`},
		},
		"a token in the clear": {func(s *Settings) { s.URL = "http://api.example.com" }, []string{"url: http://api.example.com would carry the token"}},
		"unknown words":        {func(s *Settings) { s.Hours, s.Partial = "billed", "some" }, []string{`hours: "billed" is neither`, `partial: "some" is neither`}},
		"too much":             {func(s *Settings) { s.PageSize, s.RequestsPerSecond = 2001, 6.7 }, []string{"page_size: 2001 is not between 1 and 2000", "requests_per_second: 6.7 is not between 0 and 6.6"}},
		"less than nothing":    {func(s *Settings) { s.PageSize, s.RequestsPerSecond = -1, -1 }, []string{"page_size: -1 is not", "requests_per_second: -1 is not"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			tt.change(&s)
			joined, is := s.Validate().(interface{ Unwrap() []error })
			if !is || len(joined.Unwrap()) != len(tt.want) {
				t.Fatalf("faults %v, want %d", s.Validate(), len(tt.want))
			}
			for i, err := range joined.Unwrap() {
				if _, placed := errors.AsType[config.FieldError](err); !placed || !strings.HasPrefix(err.Error(), tt.want[i]) {
					t.Errorf("fault %v, want %q, at its setting", err, tt.want[i])
				}
			}
		})
	}
}

func TestSettingsAreReadByTheirNames(t *testing.T) {
	const text = `{account: "7", token: {env: A}, contact: "https://agency.example/", url: u, hours: exact, partial: take, page_size: 7, requests_per_second: 1.5}`
	var s Settings
	if err := yaml.Load([]byte(text), &s, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	if s.Account != "7" || s.Contact != "https://agency.example/" || s.URL != "u" || s.Hours != exact || s.Partial != take || s.pageSize() != 7 || s.RequestsPerSecond != 1.5 {
		t.Errorf("settings %+v", s)
	}
}

func TestURLMayEndInTheVersion(t *testing.T) {
	for url, want := range map[string]string{
		"":                                "https://api.harvestapp.com/v2",
		"https://api.harvestapp.com/v2/":  "https://api.harvestapp.com/v2",
		"https://proxy.example.com/h":     "https://proxy.example.com/h/v2",
		"http://localhost:8080/harvest/":  "http://localhost:8080/harvest/v2",
		"https://proxy.example.com/h/v2/": "https://proxy.example.com/h/v2",
	} {
		if got := (Settings{URL: url}).base(); got != want {
			t.Errorf("%q leads to %s, want %s", url, got, want)
		}
	}
}

// Harvest answers with 400 who does not say whom to ask, and knows the account by a header alone.
func TestEveryRequestSaysForWhichAccountAndWhomToAsk(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.member("Ada", monday)
		s.good(from(monday))
		s.good(feed(monday.In(time.UTC)))
		if _, err := s.Week(s.Context(), "1:"+monday.String()); err != nil {
			s.Error(err)
		}
		if _, err := s.Access(s.Context()); err != nil {
			s.Error(err)
		}
		for _, r := range s.requests {
			h := r.sent.Header
			if h.Get("Harvest-Account-Id") != accountID || h.Get("User-Agent") != "Tidemark ("+contact+")" || h.Get("Authorization") != "Bearer "+token {
				s.Errorf("%s is asked with account %q by %q", r.sent.URL.Path, h.Get("Harvest-Account-Id"), h.Get("User-Agent"))
			}
		}
		if len(s.requests) < 10 {
			s.Errorf("%d requests, want those of four kinds of reading", len(s.requests))
		}
	})
}

func TestAccessTellsWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*vendor)
		want   string
	}{
		"all is well":             {func(*vendor) {}, ""},
		"a member":                {func(v *vendor) { v.roles = []string{"member"} }, "Bea Boss is a member, and sees no time but their own"},
		"a manager":               {func(v *vendor) { v.roles = []string{"manager", "time_and_expenses_manager"} }, "Bea Boss is a manager"},
		"nothing about the role":  {func(v *vendor) { v.roles = nil }, "does not tell what role"},
		"rates may not be seen":   {func(v *vendor) { v.rates = false }, "no entry shows a rate"},
		"clients may not be seen": {func(v *vendor) { v.clients = false }, "not their currencies"},
		"approval is off":         {func(v *vendor) { v.approval = false }, "switched off"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.member("Ada", monday)
				tt.change(s.vendor)
				a, err := s.Access(s.Context())
				if err != nil || a.User != "Bea Boss" || a.Account != "Agency (harvest:1234567)" || a.Plan != "simple-v4" {
					s.Fatalf("Access = %+v, %v", a, err)
				}
				if notes := strings.Join(a.Notes, "\n"); !strings.Contains(notes, tt.want) || len(a.Notes) != min(1, len(tt.want)) {
					s.Errorf("notes %q, want %q alone", a.Notes, tt.want)
				}
			})
		})
	}
}
