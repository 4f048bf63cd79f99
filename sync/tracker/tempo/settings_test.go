package tempo

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

func TestSettingsAreEnough(t *testing.T) {
	s := good()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	tempo, err := New(s, remote.New(remote.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if tempo.Account() != "tempo:acme.atlassian.net" || tempo.tempo.Base != "https://api.tempo.io" || tempo.jira.Base != "https://acme.atlassian.net" || tempo.tempo.PerSecond != 2 {
		t.Errorf("account %s at %s and %s, %v requests a second", tempo.Account(), tempo.tempo.Base, tempo.jira.Base, tempo.tempo.PerSecond)
	}
	if s.attribute() != "_Account_" || s.pageSize() != 1000 {
		t.Errorf("attribute %q and pages of %d, want _Account_ and 1000", s.attribute(), s.pageSize())
	}
}

func TestEveryFaultOfTheSettingsIsPlaced(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Settings)
		want   []string
	}{
		"nothing at all":       {func(s *Settings) { *s = Settings{} }, []string{"site: missing", "token: missing", "jira.token: missing", "jira.user: missing"}},
		"a site that is a URL": {func(s *Settings) { s.Site = "https://" + site }, []string{`site: "https://acme.atlassian.net" is not the name of a site`}},
		"a bearer and a user":  {func(s *Settings) { s.Jira.Bearer = true }, []string{"jira.user: a bearer token is sent without a user"}},
		"too much":             {func(s *Settings) { s.PageSize, s.RequestsPerSecond = 5001, 6 }, []string{"page_size: 5001 is not between 1 and 5000", "requests_per_second: 6 is not between 0 and 5"}},
		"less than nothing":    {func(s *Settings) { s.PageSize, s.RequestsPerSecond = -1, -1 }, []string{"page_size: -1 is not", "requests_per_second: -1 is not"}},
		"a rate of its own":    {func(s *Settings) { s.Rates = "by role" }, []string{`rates: "by role" is neither none nor tables`}},
		"prices in what?":      {func(s *Settings) { s.Rates = tables }, []string{"currency: missing: Tempo's tables have prices without a currency"}},
		"tokens in the clear": {
			func(s *Settings) { s.URL, s.Jira.URL = "http://api.example.com", "http://jira.example.com" },
			[]string{"url: http://api.example.com would carry the token", "jira.url: http://jira.example.com would carry the token"},
		},
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
	const text = `{site: s, token: {env: A}, url: u, jira: {url: j, user: a, token: {env: B}, bearer: true},
		account_attribute: "", currency: EUR, rates: tables, page_size: 7, requests_per_second: 1.5}`
	var s Settings
	if err := yaml.Load([]byte(text), &s, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	if s.Site != "s" || s.URL != "u" || s.Jira.URL != "j" || s.Jira.User != "a" || !s.Jira.Bearer || s.attribute() != "" || s.Currency != "EUR" || s.Rates != tables || s.pageSize() != 7 || s.RequestsPerSecond != 1.5 {
		t.Errorf("settings %+v", s)
	}
}

func TestBearerIsSentAlone(t *testing.T) {
	s := good()
	s.Jira.User, s.Jira.Bearer = "", true
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := s.Jira.authorization(); got != "Bearer "+token {
		t.Errorf("Jira gets %q", got)
	}
}

// What Access says of a vendor that is not as the settings have it.
func TestAccessTellsWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		settings func(*Settings)
		change   func(path string, body object)
		want     string
	}{
		"all is well": {},
		"no attribute": {
			settings: attributeIs("_Billing_"),
			want:     `no work attribute "_Billing_", so that only the default accounts of projects tell the clients: set account_attribute to the key of the one that holds the account (of type ACCOUNT are ["_Account_"])`,
		},
		"no accounts wanted": {settings: attributeIs("")},
		"another site": {
			change: func(path string, body object) {
				if path == "/rest/api/3/serverInfo" {
					body["baseUrl"] = "https://other.atlassian.net"
				}
			},
			want: "its site is https://other.atlassian.net, the settings say acme.atlassian.net",
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, tt.settings, func(s *scene) {
				if tt.change != nil {
					s.mend = tt.change
				}
				a, err := s.tempo.Access(s.Context())
				if err != nil {
					s.Fatal(err)
				}
				if a.User != "Ada (in Jira)" || a.Account != "tempo:acme.atlassian.net" {
					s.Errorf("user %q of %q", a.User, a.Account)
				}
				found := slices.ContainsFunc(a.Notes, func(note string) bool { return strings.Contains(note, tt.want) })
				if want := 1 + min(1, len(tt.want)); len(a.Notes) != want || !found {
					s.Errorf("notes %q, want %d with %q", a.Notes, want, tt.want)
				}
			})
		})
	}
}

// Each of the two tokens is said to be wrong by the name of whose it is.
func TestAccessSaysWhichTokenIsWrong(t *testing.T) {
	for path, want := range map[string]string{"/4/": "tempo: POST ", "/rest/": "tempo: jira: GET "} {
		play(t, nil, func(s *scene) {
			refusing := signedIn(http.NotFoundHandler(), "another-token")
			transport := remotetest.Serve(s.T, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, path) {
					refusing.ServeHTTP(w, r)
					return
				}
				handler(s.world).ServeHTTP(w, r)
			}))
			_, err := tempoAt(s, remote.New(remote.Options{Transport: transport}), remotetest.Base, token, nil).Access(s.Context())
			if !errors.Is(err, remote.Unauthorised) || !strings.HasPrefix(err.Error(), want) {
				s.Errorf("Access = %v, want %v of %q", err, remote.Unauthorised, want)
			}
		})
	}
}

// Work of all members has the currency of the settings, and no price.
func TestCurrencyIsThatOfTheSettings(t *testing.T) {
	for _, want := range []config.Currency{"", "CHF"} {
		play(t, func(s *Settings) { s.Currency = want }, func(s *scene) {
			s.join("Ada")
			if e := s.only().Entries[0]; config.Currency(e.Currency) != want || e.Rate.Valid || e.Amount.Valid {
				s.Errorf("currency %q, rate %v, amount %v; want %q alone", e.Currency, e.Rate, e.Amount, want)
			}
		})
	}
}
