package xero_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// TestRefusalWithinAnAnswer holds when an answer of 200 that names errors says that nothing was written: not if an
// attempt before it may have been done, and not if it names an invoice.
func TestRefusalWithinAnAnswer(t *testing.T) {
	const named = `"ValidationErrors":[{"Message":"No."}],"HasErrors":true`
	for name, tt := range map[string]struct {
		first    remotetest.Fault
		id       string
		rejected bool
	}{
		"at once":                            {"", "00000000-0000-0000-0000-000000000000", true},
		"after an attempt without an answer": {remotetest.Status(500), "00000000-0000-0000-0000-000000000000", false},
		"with an invoice":                    {"", "4e1e0000-0000-4000-8000-000000000099", false},
	} {
		t.Run(name, func(t *testing.T) {
			first := tt.first
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if fault := first; fault != "" {
					first = ""
					fault.Answer(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"Invoices":[{"InvoiceID":"`+tt.id+`",`+named+`}]}`)
			})
			synctest.Test(t, func(t *testing.T) {
				x := dialect().New(t, remote.New(remote.Options{Transport: remotetest.Serve(t, h)}), remotetest.Base, token)
				day := civil.Date{Year: 2026, Month: 11, Day: 8}
				req, err := x.Prepare(accounting.Invoice{
					Reference: "ts-1", Customer: "c", Currency: "EUR", Date: day, Period: civil.Period{First: day, Last: day},
					Lines: []accounting.Line{{Text: "work", Seconds: 3600, Rate: decimal.NewFromInt(90), Amount: decimal.NewFromInt(90)}},
				})
				if err != nil {
					t.Fatal(err)
				}
				_, err = x.Create(t.Context(), "ts-1", req, accounting.Progress{}, nil)
				if err == nil || errors.Is(err, accounting.ErrRejected) != tt.rejected || errors.Is(err, accounting.ErrNotSent) {
					t.Errorf("Create = %v, want rejected: %v", err, tt.rejected)
				}
			})
		})
	}
}
