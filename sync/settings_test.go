package sync

import (
	"testing"

	"github.com/shopspring/decimal"

	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

func TestCustomerOfAClient(t *testing.T) {
	s := Settings{Customers: []Customer{
		{Client: "c1", Customer: "by id"}, {Client: "Beta Ltd", Customer: "by name"},
		{Client: "O'Keefe", Customer: "apostrophe"}, {Client: "Fleur’s", Customer: "curly"},
	}}
	tests := []struct {
		name   string
		client tracker.Ref
		pins   map[string]string
		want   string
	}{
		{"by id, whatever the name", tracker.Ref{ID: "c1", Name: "Beta Ltd"}, nil, "by id"},
		{"by exact name", tracker.Ref{ID: "c2", Name: "Beta Ltd"}, nil, "by name"},
		{"names differ in case", tracker.Ref{ID: "c2", Name: "beta ltd"}, nil, ""},
		{"renamed after it was pinned", tracker.Ref{ID: "c2", Name: "Gamma Ltd"}, map[string]string{"c2": "Beta Ltd"}, "by name"},
		{"name taken over by another client", tracker.Ref{ID: "c3", Name: "Beta Ltd"}, map[string]string{"c2": "Beta Ltd"}, ""},
		{"pinned to a line that is gone", tracker.Ref{ID: "c2", Name: "Beta Ltd"}, map[string]string{"c2": "Old Beta"}, "by name"},
		{"a straight apostrophe", tracker.Ref{ID: "c4", Name: "O'Keefe"}, nil, "apostrophe"},
		{"a curly apostrophe", tracker.Ref{ID: "c5", Name: "Fleur’s"}, nil, "curly"},
		{"no client at all", tracker.Ref{}, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, found := s.customer(tt.client, tt.pins)
			if got.Customer != tt.want || found != (tt.want != "") {
				t.Errorf("customer = %q, %v; want %q", got.Customer, found, tt.want)
			}
		})
	}
}

func TestRatesOnlyWhereTheTrackerGivesNone(t *testing.T) {
	s := Settings{Rates: []Rate{
		{Project: "Retainer", Rate: decimal.NewFromInt(95), Currency: "EUR"},
		{Member: "m2", Rate: decimal.NewFromInt(70), Currency: "USD"},
		{Rate: decimal.NewFromInt(50), Currency: "EUR"},
	}}
	none := func(e *tracker.Entry) { e.Rate, e.Currency = decimal.NullDecimal{}, "" }
	retainer := func(e *tracker.Entry) { e.Project.Name = "Retainer" }
	tests := []struct {
		name     string
		member   string
		mend     []func(*tracker.Entry)
		want     string
		currency money.Currency
	}{
		{"the tracker's own", "m1", nil, "100", "EUR"},
		{"the tracker's own zero", "m1", []func(*tracker.Entry){func(e *tracker.Entry) { e.Rate = price("0") }}, "0", "EUR"},
		{"by project name", "m1", []func(*tracker.Entry){none, retainer}, "95", "EUR"},
		{"the first that fits", "m2", []func(*tracker.Entry){none, retainer}, "95", "EUR"},
		{"by member id", "m2", []func(*tracker.Entry){none}, "70", "USD"},
		{"the one for all", "m1", []func(*tracker.Entry){none}, "50", "EUR"},
		{"a rate of the tracker's currency", "m2", []func(*tracker.Entry){none, func(e *tracker.Entry) { e.Currency = "EUR" }}, "50", "EUR"},
		{"no rate in the tracker's currency", "m2", []func(*tracker.Entry){none, func(e *tracker.Entry) { e.Currency = "GBP" }}, "", "GBP"},
		{"a rate without a currency", "m1", []func(*tracker.Entry){func(e *tracker.Entry) { e.Currency = "" }}, "100", "EUR"},
		{"a stated amount", "m1", []func(*tracker.Entry){func(e *tracker.Entry) { e.Amount = price("42") }}, "", "EUR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := entry("a", 1)
			for _, m := range tt.mend {
				m(&e)
			}
			rate, currency := s.effective(tracker.Ref{ID: tt.member}, e)
			if rate.Valid != (tt.want != "") || rate.Valid && !rate.Decimal.Equal(decimal.RequireFromString(tt.want)) || currency != tt.currency {
				t.Errorf("effective = %v %s, want %q %s", rate, currency, tt.want, tt.currency)
			}
		})
	}
}

func TestIgnoredByIdOrExactName(t *testing.T) {
	s := Settings{IgnoreClients: []string{"Internal"}, IgnoreProjects: []string{"p9"}}
	tests := []struct {
		name            string
		client, project tracker.Ref
		want            bool
	}{
		{"client by name", tracker.Ref{ID: "c9", Name: "Internal"}, tracker.Ref{}, true},
		{"project by id", tracker.Ref{}, tracker.Ref{ID: "p9", Name: "Tea"}, true},
		{"a longer name", tracker.Ref{ID: "c9", Name: "Internal Affairs"}, tracker.Ref{}, false},
		{"a project of that name", tracker.Ref{}, tracker.Ref{ID: "p1", Name: "Internal"}, false},
	}
	for _, tt := range tests {
		if got := s.ignores(tracker.Entry{Client: tt.client, Project: tt.project}); got != tt.want {
			t.Errorf("%s: ignores = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFingerprintIsOfWhatMakesGroups(t *testing.T) {
	base := testRules().fingerprint()
	tests := []struct {
		name string
		mend func(*Settings)
		same bool
	}{
		{"customers", func(s *Settings) { s.Customers = nil }, true},
		{"due date, lines and corrections", func(s *Settings) { s.DueDays, s.Lines, s.Corrections = 30, LineEntry, Review }, true},
		{"name", func(s *Settings) { s.Name = "renamed" }, true},
		{"start", func(s *Settings) { s.Start = s.Start.AddDays(-7) }, false},
		{"per", func(s *Settings) { s.Per = PerClient }, false},
		{"ignored clients", func(s *Settings) { s.IgnoreClients = []string{"c1"} }, false},
		{"ignored projects", func(s *Settings) { s.IgnoreProjects = []string{"c1"} }, false},
		{"rates", func(s *Settings) { s.Rates = []Rate{{Currency: "EUR"}} }, false},
	}
	for _, tt := range tests {
		s := testRules()
		tt.mend(&s)
		if got := s.fingerprint() == base; got != tt.same {
			t.Errorf("%s changed: same fingerprint = %v, want %v", tt.name, got, tt.same)
		}
	}
	if (Settings{IgnoreClients: []string{"a"}}).fingerprint() == (Settings{IgnoreProjects: []string{"a"}}).fingerprint() {
		t.Error("an ignored client and an ignored project have one fingerprint, want two")
	}
}
