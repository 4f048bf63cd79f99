package tempo

import (
	"encoding/json"
	"strings"
	"testing"
)

// number is what a vendor writes, digit for digit.
func number(text string) json.Number { return json.Number(text) }

// pricing are the ways in which tables tell an hour's price, or do not. The work is on an account with a table of
// its own if odd, else on one without.
var pricing = map[string]struct {
	odd    bool
	change func(path string, body object)
	rate   string // empty: none
	remark string
}{
	"the table of the account":   {odd: true, rate: "90"},
	"no table: the global rates": {rate: "90"},
	"the newest of those that apply": {
		change: globalRates(object{"roleId": developer, "rates": []any{
			object{"value": number("120"), "effectiveDate": "2026-10-06"}, object{"value": number("95"), "effectiveDate": "2026-10-05"}, object{"value": number("80")},
		}}),
		rate: "95",
	},
	"the one from the beginning": {
		change: globalRates(object{"roleId": developer, "rates": []any{object{"value": number("120"), "effectiveDate": "2026-10-06"}, object{"value": number("80"), "effectiveDate": nil}}}),
		rate:   "80",
	},
	"none that applies yet": {
		change: globalRates(object{"roleId": developer, "rates": []any{object{"value": number("120"), "effectiveDate": "2026-10-06"}}}, object{"rates": []any{object{"value": number("70")}}}),
		remark: `no price for "Ada" as "Developer" by the global rates: there is neither a rate of the role at the time of the work nor a default`,
	},
	"two from the same day": {
		change: globalRates(object{"roleId": developer, "rates": []any{object{"value": number("80")}, object{"value": number("81")}}}),
		remark: "there are two rates from the same day on, 80 and 81",
	},
	"two from the same day, and one after it": {
		change: globalRates(object{"roleId": developer, "rates": []any{object{"value": number("80")}, object{"value": number("81")}, object{"value": number("82"), "effectiveDate": "2026-01-01"}}}),
		rate:   "82",
	},
	"a day that is none": {
		change: globalRates(object{"roleId": developer, "rates": []any{object{"value": number("80"), "effectiveDate": "soon"}}}),
		remark: `the rate has a date that cannot be read: "soon" is not a date`,
	},
	"a table without the role: its default": {odd: true, change: tableRates(tableDefault("70.25"), object{"role": object{"id": trainee}, "rate": object{"value": number("45")}}), rate: "70.25"},
	"global rates without the role: their default": {
		change: globalRates(object{"roleId": nil, "rates": []any{object{"value": number("70")}}}, object{"roleId": developer, "rates": []any{}}),
		rate:   "70",
	},
	"a table with neither": {
		odd: true, change: tableRates(object{"role": object{"id": trainee}, "rate": object{"value": number("45")}}),
		remark: `no price for "Ada" as "Developer" by the billing rates table of the account "ACC-501": there is neither a rate of the role at the time of the work nor a default`,
	},
	"an empty table":                          {odd: true, change: tableRates(), remark: "neither a rate of the role"},
	"digits that a double cannot hold":        {odd: true, change: tableRates(tableDefault("90.10000000000000000000000000001")), rate: "90.10000000000000000000000000001"},
	"zero":                                    {odd: true, change: tableRates(tableDefault("0.00")), remark: "the rate is 0, which is no price: mend it in Tempo, or write the price under invoice.rates"},
	"less than zero":                          {odd: true, change: tableRates(tableDefault("-5")), remark: "the rate is -5, which is no price"},
	"no value":                                {odd: true, change: tableRates(object{"rate": object{"value": nil}}), remark: "the rate has no value"},
	"no rate":                                 {odd: true, change: tableRates(object{"role": nil}), remark: "the rate has no value"},
	"more digits than there are":              {odd: true, change: tableRates(tableDefault("1e400000000")), remark: `the rate is "1e400000000", which cannot be read`},
	"two tables of one account":               {odd: true, change: twoTables, remark: "Tempo tells of more than one"},
	"no team":                                 {change: teams(), remark: `no price for "Ada": Tempo shows no team of theirs at the time of the work`},
	"a team from the next day on":             {change: teams(in(developer, "2026-10-06", "", "")), remark: "Tempo shows no team of theirs"},
	"a team from the day on":                  {change: teams(in(developer, "2026-10-05", "", "")), rate: "90"},
	"a team until the day":                    {change: teams(in(developer, "", "2026-10-05", "2026-10-06")), rate: "90"},
	"a team until the day before":             {change: teams(in(developer, "", "2026-10-04", "2026-10-05")), remark: "Tempo shows no team of theirs"},
	"a team until the day, by its other end":  {change: teams(in(developer, "", "", "2026-10-06")), rate: "90"},
	"a team until the day before, by it":      {change: teams(in(developer, "", "", "2026-10-05")), remark: "Tempo shows no team of theirs"},
	"a team until nobody knows":               {change: teams(in(developer, "", "", "soon")), remark: `no dates that can be read: "soon" is not a date`},
	"a team from nobody knows":                {change: teams(in(developer, "once", "", "")), remark: `no dates that can be read: "once" is not a date`},
	"a role without an id":                    {change: teams(object{"role": object{"name": "Developer"}}), remark: "membership 1 of a team has no role"},
	"two roles with two prices":               {change: teams(in(developer, "", "", ""), in(trainee, "", "", "")), remark: `no price for "Ada": by the global rates it is 90 as "Developer", and 45.5 as "Trainee", both at the same time: mend it in Tempo`},
	"two roles with two prices, in the table": {odd: true, change: teams(in(trainee, "", "", ""), in(developer, "", "", "")), remark: `by the billing rates table of the account "ACC-501" it is 45.5 as "Trainee", and 90 as "Developer"`},
	"two roles, one without a price":          {change: both(teams(in(developer, "", "", ""), in(trainee, "", "", "")), globalRates(object{"roleId": developer, "rates": []any{object{"value": number("90")}}})), remark: `no price for "Ada" as "Trainee" by the global rates: there is neither`},
	"two roles with one price":                {change: both(teams(in(developer, "", "", ""), in(trainee, "", "", "")), globalRates(object{"rates": []any{object{"value": number("66.50")}}})), rate: "66.5"},
	"one role twice":                          {change: teams(in(developer, "", "", ""), in(developer, "", "", "")), rate: "90"},
}

func globalRates(rates ...any) func(path string, body object) {
	return func(path string, body object) {
		if path == globalPath {
			body["results"] = rates
		}
	}
}

func tableRates(rates ...any) func(path string, body object) {
	return func(path string, body object) {
		if path == tablesPath+"/"+tableID {
			body["rates"] = append([]any{}, rates...)
		}
	}
}

func tableDefault(value string) object { return object{"rate": object{"value": number(value)}} }

func twoTables(path string, body object) {
	if path == tablesPath {
		body["results"] = append(body["results"].([]any), object{"id": "another", "name": "Another"})
	}
}

// in is being in a team with a role; an empty end is left out.
func in(role int, from, inclusiveTo, to string) object {
	one := object{"role": object{"id": role, "name": map[int]string{developer: "Developer", trainee: "Trainee"}[role]}}
	for name, day := range map[string]string{"from": from, "inclusiveTo": inclusiveTo, "to": to} {
		if day != "" {
			one[name] = day
		}
	}
	return one
}

// teams has the only member be in these teams.
func teams(all ...object) func(path string, body object) {
	return func(path string, body object) {
		if path != rolesPath {
			return
		}
		member, list := rows(body)[0]["member"], []any{}
		for i, one := range all {
			one["id"], one["member"] = i+1, member
			list = append(list, one)
		}
		body["results"] = list
	}
}

func both(a, b func(path string, body object)) func(path string, body object) {
	return func(path string, body object) { a(path, body); b(path, body) }
}

func TestPriceOfAnHour(t *testing.T) {
	for name, tt := range pricing {
		t.Run(name, func(t *testing.T) {
			play(t, withTables, func(s *scene) {
				e := s.join("Ada").Entries[0]
				if !tt.odd {
					e.Client.ID = "502"
				}
				s.mend = tt.change
				w := s.only()
				got := w.Entries[0]
				if got.Rate.Valid != (tt.rate != "") || got.Rate.Valid && got.Rate.Decimal.String() != tt.rate || got.Currency != "EUR" || got.Amount.Valid {
					s.Errorf("rate %v %s, amount %v; want %q EUR", got.Rate, got.Currency, got.Amount, tt.rate)
				}
				if tt.remark == "" && len(w.Remarks) > 0 || tt.remark != "" && (len(w.Remarks) != 1 || !strings.Contains(w.Remarks[0], tt.remark)) {
					s.Errorf("remarks %q, want %q", w.Remarks, tt.remark)
				}
				if w.Trouble != nil {
					s.Errorf("trouble %+v: a price that is not known is no doubt about the work", w.Trouble)
				}
			})
		})
	}
}
