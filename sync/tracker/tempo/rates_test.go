package tempo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// A role or a price may change within a week.
func TestPriceIsThatOfTheDay(t *testing.T) {
	play(t, withTables, func(s *scene) {
		var entries []*trackertest.Entry
		for i := range 4 {
			e := s.world.Work(trackertest.Monday.AddDays(i))
			e.Client.ID = "502"
			entries = append(entries, e)
		}
		s.world.Approve(s.world.Join("Ada", "UTC"), trackertest.Monday, entries...)
		s.mend = both(teams(in(trainee, "", "2026-10-05", "2026-10-06"), in(developer, "2026-10-06", "", "")),
			globalRates(object{"roleId": trainee, "rates": []any{object{"value": number("45.5")}}}, object{"roleId": developer, "rates": []any{
				object{"value": number("90")}, object{"value": number("120"), "effectiveDate": "2026-10-08"},
			}}))
		var got []string
		for _, e := range s.only().Entries {
			got = append(got, e.Rate.Decimal.String())
		}
		slices.Sort(got)
		if fmt.Sprint(got) != "[120 45.5 90 90]" {
			s.Errorf("prices %v, want 45.5, 90, 90 and 120", got)
		}
	})
}

// Work that is not billed, or whose account nobody knows, gets no price, and no remark on it.
func TestWorkThatNeedsNoPrice(t *testing.T) {
	for name, change := range map[string]func(row object){
		"not billable":      func(row object) { row["billableSeconds"] = 0 },
		"on no day":         func(row object) { row["startDate"] = "2026-02-30" },
		"a strange account": func(row object) { row["attributes"].(object)["values"].([]any)[1].(object)["value"] = "OTHER" },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, withTables, func(s *scene) {
				s.join("Ada")
				s.mend = func(path string, body object) {
					if path == "/4/worklogs/search" {
						change(rows(body)[0])
					}
				}
				if w := s.only(); w.Entries[0].Rate.Valid || len(w.Remarks) > 0 || s.asked("GET "+globalPath)+s.asked("GET "+tablesPath) > 0 {
					s.Errorf("rate %v, remarks %q, and Tempo was asked for prices", w.Entries[0].Rate, w.Remarks)
				}
			})
		})
	}
}

// Without the setting Tempo is asked for no prices, and without accounts for those that are global alone.
func TestPricesAreAskedForWhereTheyAreWanted(t *testing.T) {
	for name, tt := range map[string]struct {
		change        func(*Settings)
		roles, tables int
		global        int
		rate          bool
	}{
		"not wanted":  {func(s *Settings) { s.Currency = "EUR" }, 0, 0, 0, false},
		"none":        {func(s *Settings) { s.Currency, s.Rates = "EUR", none }, 0, 0, 0, false},
		"wanted":      {withTables, 1, 3, 1, true},
		"no accounts": {func(s *Settings) { withTables(s); attributeIs("")(s) }, 1, 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, tt.change, func(s *scene) {
				for _, name := range []string{"Ada", "Bob", "Cid"} {
					m := s.world.Join(name, "UTC")
					for i := range 3 {
						first := trackertest.Monday.AddDays(-7 * i)
						odd, even := s.world.Work(first), s.world.Work(first)
						even.Client = tracker.Ref{ID: "502", Name: "Bmce"}
						s.world.Approve(m, first, odd, even)
					}
				}
				for round := 1; round <= 2; round++ {
					for _, w := range s.all().Weeks {
						if w.Entries[0].Rate.Valid != tt.rate || w.Entries[1].Rate.Valid != tt.rate {
							s.Errorf("rates %v and %v", w.Entries[0].Rate, w.Entries[1].Rate)
						}
					}
					for what, want := range map[string]int{"POST " + rolesPath: tt.roles, "GET " + tablesPath: tt.tables, "GET " + globalPath: tt.global} {
						if n := s.asked(what); n != round*want {
							s.Errorf("after %d traversals %s was asked %d times, want %d each", round, what, n, want)
						}
					}
				}
			})
		})
	}
}

// Whoever may not see prices is told what is missing, before anything is billed without them.
func TestPricesThatMayNotBeSeen(t *testing.T) {
	for _, status := range []int{402, 403, 404, 400} {
		for _, path := range []string{rolesPath, tablesPath, tablesPath + "/" + tableID, globalPath} {
			if path == rolesPath && status != 403 {
				continue // That may be about the member.
			}
			play(t, withTables, func(s *scene) {
				s.join("Ada")
				s.join("Bob").Entries[0].Client.ID = "502"
				s.other = refusing(path, status)
				page, err := s.read(lastMonth())
				if err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) || !strings.HasSuffix(err.Error(), licence) || len(page.Weeks) > 0 {
					s.Errorf("%d of %s: %d weeks and %v, want none and the cure", status, path, len(page.Weeks), err)
				}
				if status == 403 && !errors.Is(err, remote.Forbidden) {
					s.Errorf("%v is not %v", err, remote.Forbidden)
				}
			})
		}
	}
}

func refusing(path string, status int) func(r *http.Request) (int, any) {
	return func(r *http.Request) (int, any) {
		if r.URL.Path == path {
			return status, object{"errors": []object{{"message": "no"}}}
		}
		return 0, nil
	}
}

// A member whom Tempo does not know any more hides nobody else's role. If it knows nobody, it is not about them.
func TestMemberWithoutARole(t *testing.T) {
	for name, tt := range map[string]struct {
		unknown []string
		want    string
	}{"one": {[]string{"Ada"}, "[Bob Cid]"}, "all": {[]string{"Ada", "Bob", "Cid"}, "refused"}} {
		t.Run(name, func(t *testing.T) {
			play(t, withTables, func(s *scene) {
				var ids []string
				for _, name := range []string{"Ada", "Bob", "Cid"} {
					if sheet := s.join(name); slices.Contains(tt.unknown, name) {
						ids = append(ids, sheet.Member.ID)
					}
				}
				s.other = func(r *http.Request) (int, any) {
					var asked struct{ AccountIDs []string }
					_ = json.NewDecoder(r.Body).Decode(&asked)
					if r.URL.Path == rolesPath && slices.ContainsFunc(asked.AccountIDs, func(id string) bool { return slices.Contains(ids, id) }) {
						return 400, object{}
					}
					return 0, nil
				}
				page, err := s.read(lastMonth())
				if tt.want == "refused" {
					if !errors.Is(err, remote.Rejected) || len(page.Weeks) > 0 {
						s.Errorf("%d weeks and %v, want %v", len(page.Weeks), err, remote.Rejected)
					}
					return
				}
				var known []string
				for _, w := range page.Weeks {
					if w.Entries[0].Rate.Valid {
						known = append(known, w.Member.Name)
					}
				}
				if slices.Sort(known); err != nil || len(page.Weeks) != 3 || fmt.Sprint(known) != tt.want {
					s.Errorf("%d weeks, prices for %v, %v; want 3, and prices for %s", len(page.Weeks), known, err, tt.want)
				}
			})
		})
	}
}

// An answer that is not about what was asked for is no price.
func TestPricesThatAreNotUnderstood(t *testing.T) {
	for name, change := range map[string]func(path string, body object){
		"no list of global rates": func(path string, body object) { drop(path == globalPath, body, "results") },
		"no list of tables":       func(path string, body object) { drop(path == tablesPath, body, "results") },
		"no list of roles":        func(path string, body object) { drop(path == rolesPath, body, "metadata") },
		"a table without rates":   func(path string, body object) { drop(path == tablesPath+"/"+tableID, body, "rates") },
		"another table":           func(path string, body object) { replace(path == tablesPath+"/"+tableID, body, "id", "another") },
		"a table without an id": func(path string, body object) {
			replace(path == tablesPath, body, "results", []any{object{"name": "Odd"}})
		},
		"a price that is none": func(path string, body object) { tableRates(object{"rate": object{"value": "dear"}})(path, body) },
		"the role of another": func(path string, body object) {
			if path == rolesPath {
				rows(body)[0]["member"] = object{"accountId": "99"}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, withTables, func(s *scene) {
				s.join("Ada")
				s.join("Bob").Entries[0].Client.ID = "502"
				s.mend = change
				if page, err := s.read(lastMonth()); !errors.Is(err, remote.Malformed) || len(page.Weeks) > 0 {
					s.Errorf("%d weeks and %v, want none and %v", len(page.Weeks), err, remote.Malformed)
				}
			})
		})
	}
}

func drop(here bool, body object, name string) {
	if here {
		delete(body, name)
	}
}

func replace(here bool, body object, name string, value any) {
	if here {
		body[name] = value
	}
}

func TestAccessTellsThatPricesAreMissing(t *testing.T) {
	for status, want := range map[int]int{0: 1, 402: 2, 403: 2} {
		play(t, withTables, func(s *scene) {
			if status != 0 {
				s.other = refusing(globalPath, status)
			}
			a, err := s.tempo.Access(s.Context())
			if err != nil || len(a.Notes) != want || len(a.Reads) != 3 || (want == 2) != strings.HasSuffix(a.Notes[0], licence) {
				s.Errorf("%d: reads %q, notes %q, %v; want %d notes with the cure", status, a.Reads, a.Notes, err, want)
			}
		})
	}
	play(t, withTables, func(s *scene) {
		s.other = refusing(globalPath, 401)
		if _, err := s.tempo.Access(s.Context()); !errors.Is(err, remote.Unauthorised) {
			s.Errorf("Access = %v, want %v", err, remote.Unauthorised)
		}
	})
	play(t, nil, func(s *scene) {
		if _, err := s.tempo.Access(s.Context()); err != nil || s.asked("GET "+globalPath) != 0 {
			s.Errorf("Access = %v, and prices that nobody wants were asked for", err)
		}
	})
}
