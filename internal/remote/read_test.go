package remote_test

import (
	"encoding/json"
	"errors"
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
	var raw json.RawMessage
	var id remote.ID
	for _, into := range []any{&list, &raw, &id} {
		if err := answer.Decode(into); err != nil || len(list) != 0 {
			t.Errorf("null into %T: %v", into, err)
		}
	}
	if err := answer.Decode(&invoice{}); err == nil {
		t.Error("null is read as an invoice")
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
