package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/remote"
)

type invoice struct {
	ID    remote.ID   `json:"id"`
	Total json.Number `json:"total"`
	Made  remote.Time `json:"made"`
}

func TestAnswerIsOneWholeValueOrAnError(t *testing.T) {
	const good = `{"id":7,"total":1140.00}`
	for _, tt := range []struct{ name, body, fault string }{
		{"good", good, ""},
		{"good, between spaces", " \r\n" + good + "\n", ""},
		{"unknown members", `{"id":7,"total":1140.00,"new":{"id":"x"},"Tax":[1]}`, ""},
		{"page", "<!DOCTYPE html><title>Sign in</title>", "is a page"},
		{"page after spaces", "\n  <html>", "is a page"},
		{"empty", "", "is empty"},
		{"spaces", " \n", "is empty"},
		{"cut", `{"id":7,"tot`, "cut short"},
		{"cut before the end", `{"id":7,"total":1140.00`, "cut short"},
		{"two values", good + good, "something follows"},
		{"junk behind", good + "<!-- 12 ms -->", "something follows"},
		{"a brace behind", good + "}", "something follows"},
		{"null", "null", "is null"},
		{"null, between spaces", " null\n", "is null"},
		{"list", "[" + good + "]", "cannot unmarshal array"},
		{"text", `"ok"`, "cannot unmarshal string"},
		{"wrong member", `{"id":7,"total":true}`, "cannot unmarshal bool"},
		{"id that is none", `{"id":7.5}`, "7.5 is not an id"},
		{"no JSON", "OK", "invalid character"},
		{"other quotes", `{'id':7}`, "invalid character"},
	} {
		for _, request := range []remote.Request{readRequest, searchRequest, createRequest} {
			bubble(t, tt.name+" to a "+request.Method, func(t *testing.T) {
				v := serve(t, text(tt.body))
				var got invoice
				answer, err := v.client(t, remote.Account{}).Send(t.Context(), request, &got)
				want := remote.Malformed
				if reflect.DeepEqual(request, createRequest) {
					want = remote.Unknown
				}
				switch {
				case tt.fault == "" && (err != nil || got.ID != "7" || got.Total != "1140.00"):
					t.Errorf("%+v, %v; want it read", got, err)
				case tt.fault != "" && (kindOf(err) != want || !strings.Contains(err.Error(), tt.fault)):
					t.Errorf("error %v, want %v of %q", err, want, tt.fault)
				case string(answer.Body) != tt.body || answer.Status != 200:
					t.Errorf("answer %d %q, want it as it came", answer.Status, answer.Body)
				}
			})
		}
	}
}

// Vendors whose servers are written in Go answer null where a list is empty.
func TestNullIsAnEmptyListButNoRecord(t *testing.T) {
	answer := remote.Answer{Body: []byte("null")}
	var list []invoice
	var any json.RawMessage
	var id remote.ID
	for _, into := range []any{&list, &any, &id} {
		if err := answer.Decode(into); err != nil || len(list) != 0 {
			t.Errorf("null into %T: %v", into, err)
		}
	}
	if err := answer.Decode(&invoice{}); err == nil {
		t.Error("null is read as an invoice")
	}
}

func TestIDIsKeptDigitForDigit(t *testing.T) {
	for _, tt := range []struct {
		text string
		want remote.ID
		ok   bool
	}{
		{`"abc-1"`, "abc-1", true},
		{`""`, "", true},
		{`"007"`, "007", true},
		{`" 7"`, " 7", true},
		{`"a\u0041"`, "aA", true},
		{`null`, "", true},
		{`0`, "0", true},
		{`7`, "7", true},
		{`9007199254740993`, "9007199254740993", true}, // 2^53 + 1
		{`18446744073709551616`, "18446744073709551616", true},
		{`123456789012345678901234567890123456789`, "123456789012345678901234567890123456789", true},
		{`-1`, "", false},
		{`1.0`, "", false},
		{`9.007199254740993e15`, "", false},
		{`true`, "", false},
		{`{}`, "", false},
		{`["7"]`, "", false},
	} {
		before := invoice{ID: "before"}
		err := json.Unmarshal([]byte(`{"id":`+tt.text+`}`), &before)
		if (err == nil) != tt.ok || tt.ok && before.ID != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.text, before.ID, err, tt.want)
		}
	}
}

func TestTimeIsReadInTheFormsOfVendors(t *testing.T) {
	at := time.Date(2026, 12, 3, 9, 30, 5, 0, time.UTC)
	for _, tt := range []struct {
		text string
		want time.Time
		day  bool
		ok   bool
	}{
		{`"2026-12-03T09:30:05Z"`, at, false, true},
		{`"2026-12-03T10:30:05+01:00"`, at, false, true},
		{`"2026-12-03T10:30:05+0100"`, at, false, true},
		{`"2026-12-03T09:30:05.25Z"`, at.Add(250 * time.Millisecond), false, true},
		{`"2026-12-03T10:30:05.000+0100"`, at, false, true},
		{`"2026-12-03T09:30Z"`, at.Add(-5 * time.Second), false, true},
		{`"2026-12-03 04:30:05 -0500"`, at, false, true},
		{`"2026-12-03"`, at.Truncate(day), true, true},
		{`null`, time.Time{}, false, true},
		{`"2026-12-03T09:30:05"`, time.Time{}, false, false}, // whose clock?
		{`"2026-02-30"`, time.Time{}, false, false},
		{`"2026-12-03T25:00:00Z"`, time.Time{}, false, false},
		{`"03/12/2026"`, time.Time{}, false, false},
		{`""`, time.Time{}, false, false},
		{`1796290205`, time.Time{}, false, false},
		{`{}`, time.Time{}, false, false},
	} {
		before := invoice{Made: remote.Time{Time: at, Day: true}}
		err := json.Unmarshal([]byte(`{"made":`+tt.text+`}`), &before)
		if (err == nil) != tt.ok || tt.ok && (!before.Made.Equal(tt.want) || before.Made.Day != tt.day) {
			t.Errorf("%s: %v, %v; want %v, a day: %v", tt.text, before.Made, err, tt.want, tt.day)
		}
	}
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{`"a"`, `7`, `null`, `9007199254740993`, `-1`, `"\ud800"`, `1e5`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var id remote.ID
		if json.Unmarshal(data, &id) != nil {
			return
		}
		written, err := json.Marshal(string(id))
		var again remote.ID
		if err != nil || json.Unmarshal(written, &again) != nil || again != id {
			t.Errorf("%q was read as %q, and that as %q", data, id, again)
		}
		if number := json.Number(""); json.Unmarshal(data, &number) == nil && data[0] != '"' && number.String() != string(id) {
			t.Errorf("%s lost digits: %s", data, id)
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, seed := range []string{"2026-12-03T09:30:05Z", "2026-12-03", "2026-12-03 04:30:05 -0500", "0000-01-01T00:00:00+2359", "9999-12-31"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		written, _ := json.Marshal(text)
		var at, again remote.Time
		if json.Unmarshal(written, &at) != nil {
			return
		}
		if at.Day != (len(text) == len(time.DateOnly)) || at.Day && at.Format(time.DateOnly) != text {
			t.Errorf("%q is %v, a day: %v", text, at, at.Day)
		}
		if y := at.UTC().Year(); y < 0 || y > 9999 {
			return // RFC 3339 cannot write it.
		}
		said := fmt.Sprintf("%q", at.UTC().Format(time.RFC3339Nano))
		if err := json.Unmarshal([]byte(said), &again); err != nil || !again.Equal(at.Time) {
			t.Errorf("%q is %v, written %s and read %v, %v", text, at, said, again, err)
		}
	})
}

func TestAnswerHasAMaximumSize(t *testing.T) {
	for _, tt := range []struct {
		name     string
		size     int
		max      int64
		wantRead remote.Kind
		wantSent remote.Kind
	}{
		{"exactly", 1000, 1000, "no error", "no error"},
		{"one more", 1001, 1000, remote.Malformed, remote.Unknown},
		{"as usual", 32 << 20, 0, "no error", "no error"},
		{"one more than usual", 32<<20 + 1, 0, remote.Malformed, remote.Unknown},
	} {
		for i, request := range []remote.Request{readRequest, keyedRequest} {
			bubble(t, tt.name+" to a "+request.Method, func(t *testing.T) {
				v := serve(t, text(`"`+strings.Repeat("x", tt.size-2)+`"`))
				answer, err := v.client(t, remote.Account{MaxBody: tt.max}).Do(t.Context(), request)
				want := []remote.Kind{tt.wantRead, tt.wantSent}[i]
				if kindOf(err) != want || len(v.got()) != 1 || err == nil && len(answer.Body) != tt.size {
					t.Errorf("%d bytes after %d requests, %v; want %d after 1, %v", len(answer.Body), len(v.got()), err, tt.size, want)
				}
				if err != nil && !strings.Contains(err.Error(), "too large") {
					t.Errorf("error %v, want one that says why", err)
				}
			})
		}
	}
}

func TestOtherSidesClockIsTold(t *testing.T) {
	for _, tt := range []struct {
		date string
		want time.Time
	}{{"Thu, 03 Dec 2026 09:30:05 GMT", time.Date(2026, 12, 3, 9, 30, 5, 0, time.UTC)}, {"today", time.Time{}}} {
		bubble(t, tt.date, func(t *testing.T) {
			v := serve(t, statusWith(200, "Date", tt.date))
			answer, err := v.client(t, remote.Account{}).Do(t.Context(), readRequest)
			if err != nil || !answer.Clock.Equal(tt.want) {
				t.Errorf("clock %s, %v; want %s", answer.Clock, err, tt.want)
			}
		})
	}
}

func TestMisreadNamesTheRecordAndNotTheQuery(t *testing.T) {
	bubble(t, "misread", func(t *testing.T) {
		c := serve(t, text("{}")).client(t, remote.Account{Secrets: []string{"hunter2hunter2"}})
		cause := errors.New("it has no total")
		err := c.Misread("GET /x/hunter2hunter2?key=abc", cause)
		if want := "v: GET /x/(secret): not understood: it has no total"; err.Error() != want || !errors.Is(err, cause) || !errors.Is(err, remote.Malformed) {
			t.Errorf("Misread = %q, want %q", err, want)
		}
	})
}
