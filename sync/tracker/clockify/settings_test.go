package clockify

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"tidemark/config"
	"tidemark/internal/remote"
)

func TestSettingsAreEnough(t *testing.T) {
	s := good()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	c, err := New(s, remote.New(remote.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Account() != "clockify:"+workspace || c.core.Base != "https://api.clockify.me/api" || c.reports.Base != "https://reports.api.clockify.me" || c.core.PerSecond != 10 {
		t.Errorf("account %s at %s and %s, %v requests a second", c.Account(), c.core.Base, c.reports.Base, c.core.PerSecond)
	}
}

func TestEveryFaultOfTheSettingsIsPlaced(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Settings)
		want   []string
	}{
		"nothing at all":      {func(s *Settings) { *s = Settings{} }, []string{"workspace: missing", "token: missing"}},
		"a workspace by name": {func(s *Settings) { s.Workspace = "Agency" }, []string{`workspace: "Agency" is not the id of a workspace`}},
		"too much":            {func(s *Settings) { s.PageSize, s.RequestsPerSecond = 201, 51 }, []string{"page_size: 201 is not", "requests_per_second: 51 is not"}},
		"an unknown type":     {func(s *Settings) { s.Include = []string{"break", "lunch"} }, []string{`include[1]: "lunch" is neither`}},
		"words that are no such": {
			func(s *Settings) { s.MinorUnits, s.Invoiced = "cents", "yes" }, []string{`minor_units: "cents" is neither`, `invoiced: "yes" is neither`},
		},
		"a key in the clear": {func(s *Settings) { s.URL = "http://api.example.com" }, []string{"url: http://api.example.com would carry the token"}},
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

// Regional hosts and those of a sub-domain have both ends below other paths.
func TestRegionalHosts(t *testing.T) {
	play(t, func(s *Settings) { s.URL, s.ReportsURL = s.URL+"/api", s.ReportsURL+"/report" }, func(s *scene) {
		sheet := s.join("Ada")
		sheet.Entries[0].Invoiced = true
		s.other = func(r *http.Request) (int, any) {
			if strings.HasSuffix(r.URL.Path, "/detailed") != strings.HasPrefix(r.URL.Path, "/report/v1/") {
				return 404, object{}
			}
			r.URL.Path = strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api"), "/report")
			return 0, nil
		}
		if !s.only().Entries[0].Elsewhere {
			s.Error("the report of a regional host was not read")
		}
	})
}
