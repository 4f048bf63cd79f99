package tempo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The roles of the fake. Everybody was a trainee once, and is a developer now.
const (
	developer = 3
	trainee   = 4
)

// tableID is the id of the table of an account.
const tableID = "dd442e10-75d1-4b80-9be3-9d1293ad23b9"

func (v vendor) memberships(r *http.Request) (int, any) {
	var asked struct{ AccountIDs []string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.AccountIDs) == 0 {
		return refuse(400, "no accountIds")
	}
	rows := []object{}
	for i, m := range v.Members {
		if slices.Contains(asked.AccountIDs, m.ID) {
			was, is := membershipOf(2*i+1, m.ID, trainee, "Trainee"), membershipOf(2*i+2, m.ID, developer, "Developer")
			was["to"], was["inclusiveTo"], is["from"] = "2026-02-01", "2026-01-31", "2026-02-01"
			rows = append(rows, was, is)
		}
	}
	return v.paged(r, rows)
}

// membershipOf is a membership for good.
func membershipOf(id int, member string, role int, name string) object {
	link := self + "/team-memberships/" + strconv.Itoa(id)
	return object{
		"id": id, "self": link, "commitmentPercent": 100,
		"member": object{"accountId": member, "self": "https://" + site}, "team": object{"id": 1, "name": "Team", "self": self + "/teams/1"},
		"role": object{"id": role, "name": name, "self": self + "/roles/" + strconv.Itoa(role)},
	}
}

// rateTables lists the one table, which is that of the accounts with an odd number.
func (v vendor) rateTables(r *http.Request) (int, any) {
	found := []object{}
	key := r.URL.Query().Get("accountKey")
	if n, err := strconv.Atoi(strings.TrimPrefix(key, "ACC-")); key == "" || err == nil && n%2 == 1 {
		found = append(found, object{"id": tableID, "name": "Odd", "self": self + "/billing-rates-tables/" + tableID})
	}
	return v.paged(r, found)
}

// rateTable says what all work of today costs: 90, as most work of a world.
func (v vendor) rateTable(r *http.Request) (int, any) {
	if r.PathValue("id") != tableID {
		return refuse(404, "Billing rates table not found")
	}
	return 200, object{"id": tableID, "name": "Odd", "self": "https://api.tempo.io" + r.URL.Path, "rates": []object{
		{"rate": object{"value": 70}, "defaultRateUsed": false},
		tableRate(developer, 90.00),
		tableRate(trainee, 45.5),
	}}
}

func tableRate(role int, value float64) object {
	return object{"role": object{"id": role, "self": self + "/roles/" + strconv.Itoa(role)}, "rate": object{"value": value}, "defaultRateUsed": false}
}

// globalRates say the same as the table, with a history.
func (v vendor) globalRates(r *http.Request) (int, any) {
	if r.URL.Query().Get("rateCategory") != "BILLING" {
		return refuse(400, "Non valid rateCategory")
	}
	return 200, object{"results": []object{
		{"rates": []object{{"value": 70}}},
		{"roleId": developer, "rates": []object{{"value": 110, "effectiveDate": "2027-06-01"}, {"value": 80}, {"value": 90, "effectiveDate": "2026-03-01"}}},
		{"roleId": trainee, "rates": []object{{"value": 45.5}}},
	}}
}
