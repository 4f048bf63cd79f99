package tempo

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

const good = "site: " + site + "\ntoken: {file: token}\njira: {user: ada@example.com, token: {file: token}}"

func TestSettingsAreEnough(t *testing.T) {
	s, err := settings(t, good, token)
	if err != nil {
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
		lines string
		want  []string
	}{
		"nothing at all":       {"url: https://api.eu.tempo.io", []string{"site: missing", "token: missing", "jira.token: missing", "jira.user: missing"}},
		"a site that is a URL": {strings.Replace(good, site, "https://"+site, 1), []string{`site: "https://acme.atlassian.net" is not the name of a site`}},
		"a bearer and a user":  {strings.Replace(good, "{user", "{bearer: true, user", 1), []string{"jira.user: a bearer token is sent without a user"}},
		"out of bounds":        {good + "\npage_size: 5001\nrequests_per_second: 6", []string{"page_size: 5001 is not between 1 and 5000", "requests_per_second: 6 is not between 0 and 5"}},
		"URLs in the clear":    {strings.Replace(good, "{user", "{url: http://jira.example.com, user", 1) + "\nurl: http://api.example.com", []string{"url: http://api.example.com would carry the token", "jira.url: http://jira.example.com would carry the token"}},
		"no currency":          {good + "\ncurrency: Euro", []string{`"Euro" is not a currency code`}},
		"an unknown one":       {good + "\nrates: roles", []string{`unknown setting "rates"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := settings(t, tt.lines, token)
			faults, is := errors.AsType[*config.Faults](err)
			if !is || len(faults.All) != len(tt.want) {
				t.Fatalf("error %v, want %d faults", err, len(tt.want))
			}
			for _, want := range tt.want {
				if !slices.ContainsFunc(faults.All, func(f config.Fault) bool { return strings.HasPrefix(f.Message, want) && f.Line > 0 }) {
					t.Errorf("faults %v, want one that begins with %q", err, want)
				}
			}
		})
	}
}

func TestBearerIsSentAlone(t *testing.T) {
	s, err := settings(t, strings.Replace(good, "user: ada@example.com", "bearer: true", 1), token)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Jira.authorization(); got != "Bearer "+token {
		t.Errorf("Jira gets %q", got)
	}
}

// What Access says of a vendor that is not as the settings have it.
func TestAccessTellsWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		settings string
		change   func(path string, body object)
		want     string
	}{
		"all is well": {},
		"no attribute": {
			settings: "account_attribute: _Billing_",
			want:     `no work attribute "_Billing_", so that only the default accounts of projects tell the clients: set account_attribute to the key of the one that holds the account (of type ACCOUNT are ["_Account_"])`,
		},
		"no accounts wanted": {settings: `account_attribute: ""`},
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
		play(t, "", func(s *scene) {
			refusing := signedIn(http.NotFoundHandler(), "another-token")
			transport := remotetest.Serve(s.T, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, path) {
					refusing.ServeHTTP(w, r)
					return
				}
				handler(s.world).ServeHTTP(w, r)
			}))
			_, err := tempoAt(s, remote.New(remote.Options{Transport: transport}), remotetest.Base, token, "").Access(s.Context())
			if !errors.Is(err, remote.Unauthorised) || !strings.HasPrefix(err.Error(), want) {
				s.Errorf("Access = %v, want %v of %q", err, remote.Unauthorised, want)
			}
		})
	}
}

// Work of all members has the currency of the settings, and no price.
func TestCurrencyIsThatOfTheSettings(t *testing.T) {
	for settings, want := range map[string]string{"": "", "currency: CHF": "CHF"} {
		play(t, settings, func(s *scene) {
			s.join("Ada")
			if e := s.only().Entries[0]; string(e.Currency) != want || e.Rate.Valid || e.Amount.Valid {
				s.Errorf("currency %q, rate %v, amount %v; want %q alone", e.Currency, e.Rate, e.Amount, want)
			}
		})
	}
}
