package stripe_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

const (
	account = "acct_1Demo"
	token   = "rk_books_1"
	product = "prod_hours"
)

// vendor is Stripe's API over books.
type vendor struct{ *accountingtest.Books }

func handler(b *accountingtest.Books) http.Handler {
	v := vendor{b}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/account", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"id": account, "object": "account", "email": "ada@example.com", "country": "DE", "business_profile": map[string]any{"name": "Demo Agency"}})
	})
	mux.HandleFunc("GET /v1/customers", v.customers)
	mux.HandleFunc("GET /v1/invoices", v.list)
	mux.HandleFunc("GET /v1/invoices/{id}", v.get)
	mux.HandleFunc("GET /v1/invoices/{id}/lines", v.lines)
	mux.HandleFunc("POST /v1/invoices", v.create)
	mux.HandleFunc("POST /v1/invoices/{id}/{change}", v.change)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		wrong(w, 404, "", "Unrecognized request URL ("+r.Method+": "+r.URL.Path+").")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer b.Lock()()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			wrong(w, 401, "", "Invalid API Key provided: rk_*****")
		case r.Header.Get("Stripe-Version") != "2026-08-26.dahlia":
			wrong(w, 400, "", "Invalid Stripe API version")
		case r.Method == http.MethodPost:
			v.once(w, r, mux)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// once answers a key that was used before as it did then. It forgets keys after a day, and those of requests that
// were refused at once.
func (v vendor) once(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.Header.Get("Idempotency-Key") == "" {
		wrong(w, 400, "", "a form and a key are expected")
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	key, print := r.Header.Get("Idempotency-Key"), fmt.Sprintf("%x", sha256.Sum256([]byte(r.URL.Path+" "+string(body))))
	used, kept, _ := strings.Cut(v.Keys[key], "\n")
	at, of, _ := strings.Cut(used, " ")
	if unix, err := strconv.ParseInt(at, 10, 64); err == nil && time.Since(time.Unix(unix, 0)) < 24*time.Hour {
		if of != print {
			problem(w, 400, map[string]any{"type": "idempotency_error", "message": "Keys for idempotent requests can only be used with the same parameters they were first used with."})
			return
		}
		w.Header().Set("Idempotent-Replayed", "true")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(kept))
		return
	}
	done := httptest.NewRecorder()
	next.ServeHTTP(done, r)
	if done.Code == 200 {
		v.Keys[key] = fmt.Sprintf("%d %s\n%s", time.Now().Unix(), print, done.Body)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(done.Code)
	_, _ = w.Write(done.Body.Bytes())
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func problem(w http.ResponseWriter, status int, what map[string]any) {
	reply(w, status, map[string]any{"error": what})
}

func wrong(w http.ResponseWriter, status int, param, text string) {
	problem(w, status, map[string]any{"type": "invalid_request_error", "param": param, "message": text})
}

// cut answers with a page of what is listed newest first.
func (v vendor) cut(w http.ResponseWriter, r *http.Request, all []any, ids []string) {
	q := r.URL.Query()
	size, err := strconv.Atoi(q.Get("limit"))
	from := 0
	if after := q.Get("starting_after"); after != "" {
		from = slices.Index(ids, after) + 1
	}
	if err != nil || size < 1 || size > 100 || q.Has("starting_after") && from == 0 {
		wrong(w, 400, "starting_after", "No such invoice, or no such limit")
		return
	}
	if v.PageSize > 0 {
		size = min(size, v.PageSize)
	}
	end := min(from+size, len(all))
	reply(w, 200, map[string]any{"object": "list", "url": r.URL.Path, "has_more": end < len(all), "data": append([]any{}, all[from:end]...)})
}

func (v vendor) list(w http.ResponseWriter, r *http.Request) {
	if name := unknown(r.URL.Query(), `limit|starting_after|created\[gte\]`); name != "" {
		wrong(w, 400, name, "Received unknown parameter: "+name)
		return
	}
	since, _ := strconv.ParseInt(r.URL.Query().Get("created[gte]"), 10, 64)
	var all []any
	var ids []string
	for _, d := range slices.Backward(v.Seen()) {
		if d.Made.Unix() >= since {
			all, ids = append(all, v.show(d)), append(ids, "in_"+d.ID)
		}
	}
	v.cut(w, r, all, ids)
}

func (v vendor) customers(w http.ResponseWriter, r *http.Request) {
	var all []any
	var ids []string
	for _, c := range v.Customers {
		all, ids = append(all, map[string]any{"id": "cus_" + c.ID, "object": "customer", "name": c.Name, "email": nil}), append(ids, "cus_"+c.ID)
	}
	v.cut(w, r, all, ids)
}

// unknown returns a name that is not known; Stripe refuses it.
func unknown(q url.Values, known string) string {
	for name := range q {
		if !regexp.MustCompile(`^(?:` + known + `)$`).MatchString(name) {
			return name
		}
	}
	return ""
}

func scale(c money.Currency) int32 {
	switch c {
	case "JPY":
		return 0
	case "KWD":
		return 3
	}
	return 2
}

func (v vendor) showLine(d *accountingtest.Document, i int) map[string]any {
	l := d.Lines[i]
	n := l.Amount.Shift(scale(d.Currency)).IntPart()
	shown := map[string]any{
		"id": lineID(d, i), "object": "line_item", "amount": n, "subtotal": n, "currency": strings.ToLower(string(d.Currency)), "description": l.Text,
		"quantity": l.Quantity.IntPart(), "quantity_decimal": l.Quantity.String(), "taxes": []any{},
	}
	if tax := included(d, l); tax != 0 {
		shown["taxes"] = []any{map[string]any{"amount": tax, "tax_behavior": "inclusive", "type": "tax_rate_details"}}
	}
	return shown
}

// included returns the fifth that an inclusive rate takes out of a line.
func included(d *accountingtest.Document, l accountingtest.Line) int64 {
	if l.Tax != "txr_inclusive" {
		return 0
	}
	gross := l.Amount.Shift(scale(d.Currency))
	return gross.Sub(gross.DivRound(decimal.RequireFromString("1.2"), 0)).IntPart()
}

func lineID(d *accountingtest.Document, i int) string { return fmt.Sprintf("il_%s_%d", d.ID, i) }

func (v vendor) show(d *accountingtest.Document) map[string]any {
	status := map[accounting.Status]string{accounting.Draft: "draft", accounting.Final: "open", accounting.Void: "void"}[d.Status]
	lines, tax := []any{}, int64(0)
	for i, l := range d.Lines {
		tax += included(d, l)
		if i < 10 {
			lines = append(lines, v.showLine(d, i))
		}
	}
	subtotal := d.Net().Shift(scale(d.Currency)).IntPart()
	return map[string]any{
		"id": "in_" + d.ID, "object": "invoice", "livemode": false, "number": nil, "status": status, "customer": "cus_" + d.Customer, "created": d.Made.Unix(), "effective_at": d.Date.In(time.UTC).Unix(),
		"currency": strings.ToLower(string(d.Currency)), "metadata": map[string]any{"tidemark": d.Reference, "other": "x"},
		"subtotal": subtotal, "subtotal_excluding_tax": subtotal - tax, "total": subtotal * 6 / 5, "auto_advance": false,
		"lines": map[string]any{"object": "list", "data": lines, "has_more": len(d.Lines) > 10, "url": "/v1/invoices/in_" + d.ID + "/lines"},
	}
}

func (v vendor) byID(w http.ResponseWriter, r *http.Request) *accountingtest.Document {
	if d := v.Get(strings.TrimPrefix(r.PathValue("id"), "in_")); d != nil {
		return d
	}
	problem(w, 404, map[string]any{"type": "invalid_request_error", "code": "resource_missing", "param": "invoice", "message": "No such invoice: '" + r.PathValue("id") + "'"})
	return nil
}

func (v vendor) get(w http.ResponseWriter, r *http.Request) {
	if d := v.byID(w, r); d != nil {
		reply(w, 200, v.show(d))
	}
}

func (v vendor) lines(w http.ResponseWriter, r *http.Request) {
	d := v.byID(w, r)
	if d == nil {
		return
	}
	var all []any
	var ids []string
	for i := range d.Lines {
		all, ids = append(all, v.showLine(d, i)), append(ids, lineID(d, i))
	}
	v.cut(w, r, all, ids)
}

func (v vendor) create(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	q := r.PostForm
	if name := unknown(q, `customer|currency|collection_method|auto_advance|pending_invoice_items_behavior|effective_at|days_until_due|due_date|description|discounts|metadata\[tidemark\]`); name != "" {
		wrong(w, 400, name, "Received unknown parameter: "+name)
		return
	}
	c := money.Currency(strings.ToUpper(q.Get("currency")))
	due, dueErr := strconv.ParseInt(q.Get("due_date"), 10, 64)
	days, daysErr := strconv.Atoi(q.Get("days_until_due"))
	effective, err := strconv.ParseInt(q.Get("effective_at"), 10, 64)
	switch {
	case !v.Knows(strings.TrimPrefix(q.Get("customer"), "cus_")):
		wrong(w, 400, "customer", "No such customer: '"+q.Get("customer")+"'")
		return
	case err != nil || len(c) != 3 || strings.ToLower(string(c)) != q.Get("currency"):
		wrong(w, 400, "currency", "Invalid currency or date")
		return
	case q.Has("due_date") && (dueErr != nil || due <= time.Now().Unix()):
		wrong(w, 400, "due_date", "Invalid timestamp: must be an integer Unix timestamp in the future.")
		return
	case q.Has("due_date") == q.Has("days_until_due") || q.Has("days_until_due") && (daysErr != nil || days < 0):
		wrong(w, 400, "due_date", "Either due_date or days_until_due is needed")
		return
	}
	d := &accountingtest.Document{
		Reference: q.Get("metadata[tidemark]"), Customer: strings.TrimPrefix(q.Get("customer"), "cus_"), Currency: c, Status: accounting.Draft,
		Date: civil.DateOf(time.Unix(effective, 0).UTC()), Due: civil.DateOf(time.Unix(due, 0).UTC()),
	}
	if q.Has("days_until_due") {
		d.Due = civil.DateOf(time.Now().UTC()).AddDays(days)
	}
	reply(w, 200, v.show(v.Add(d)))
}
