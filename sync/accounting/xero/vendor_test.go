package xero_test

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	tenant = "4e1e0000-0000-4000-8000-000000000001"
	token  = "xero-access-token-1"
)

// vendor is Xero's API over books.
type vendor struct{ *accountingtest.Books }

func handler(b *accountingtest.Books) http.Handler {
	v := vendor{b}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api.xro/2.0/Invoices", v.list)
	mux.HandleFunc("PUT /api.xro/2.0/Invoices", v.create)
	mux.HandleFunc("GET /api.xro/2.0/Invoices/{id}", v.get)
	mux.HandleFunc("POST /api.xro/2.0/Invoices/{id}", v.update)
	mux.HandleFunc("GET /api.xro/2.0/Contacts", v.contacts)
	mux.HandleFunc("GET /api.xro/2.0/Organisation", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-DayLimit-Remaining", "4990")
		reply(w, 200, map[string]any{"Organisations": []any{map[string]any{"Name": "Demo Agency", "BaseCurrency": "EUR", "Class": "STANDARD"}}})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer b.Lock()()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			reply(w, 401, map[string]any{"Title": "Unauthorized", "Detail": "TokenExpired"})
		case r.Header.Get("xero-tenant-id") != tenant:
			reply(w, 403, map[string]any{"Title": "Forbidden", "Detail": "AuthenticationUnsuccessful"})
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// The forms of filter that are known here.
var (
	where = regexp.MustCompile(`^Type=="ACCREC" AND Reference=="([^"]*)"$`)
	dated = regexp.MustCompile(`^Type=="ACCREC" AND Date>=DateTime\((\d{4}),(\d\d),(\d\d)\) AND Date<=DateTime\((\d{4}),(\d\d),(\d\d)\)$`)
)

// selects reports whether a filter selects a document; known is false where it is none.
func selects(filter string, d *accountingtest.Document) (selected, known bool) {
	if m := where.FindStringSubmatch(filter); m != nil {
		return strings.EqualFold(d.Reference, m[1]) || strings.HasPrefix(d.Reference, m[1]), true // More than was asked for.
	}
	m := dated.FindStringSubmatch(filter)
	if m == nil {
		return false, false
	}
	day := d.Date.String()
	return day >= m[1]+"-"+m[2]+"-"+m[3] && day <= m[4]+"-"+m[5]+"-"+m[6], true
}

func (v vendor) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	_, known := selects(q.Get("where"), &accountingtest.Document{})
	page, err := strconv.Atoi(q.Get("page"))
	if !known || err != nil || page < 1 {
		reply(w, 400, map[string]any{"ErrorNumber": 16, "Type": "QueryParseException", "Message": "no such filter"})
		return
	}
	var all []any
	for _, d := range v.Seen() {
		if selected, _ := selects(q.Get("where"), d); selected {
			all = append(all, show(d))
		}
	}
	size, _ := strconv.Atoi(q.Get("pageSize"))
	if v.PageSize > 0 {
		size = min(size, v.PageSize)
	}
	from := min((page-1)*size, len(all))
	reply(w, 200, map[string]any{
		"Invoices":   append([]any{}, all[from:min(from+size, len(all))]...),
		"pagination": map[string]any{"page": page, "pageSize": size, "pageCount": (len(all) + size - 1) / size, "itemCount": len(all)},
	})
}

func show(d *accountingtest.Document) map[string]any {
	status := map[accounting.Status]string{accounting.Draft: "DRAFT", accounting.Final: "AUTHORISED", accounting.Void: "VOIDED"}[d.Status]
	if d.Deleted {
		status = "DELETED"
	}
	lines := []any{}
	for i, l := range d.Lines {
		lines = append(lines, map[string]any{
			"LineItemID": accountingtest.UUID(d.ID + strconv.Itoa(i)), "Description": l.Text, "Quantity": json.Number(l.Quantity.String()),
			"UnitAmount": json.Number(l.Price.String()), "LineAmount": json.Number(l.Amount.String()), "TaxType": l.Tax, "AccountCode": "200",
		})
	}
	stamp := fmt.Sprintf("/Date(%d+0000)/", d.Made.UnixMilli()+int64(d.Edition))
	return map[string]any{
		"Type": "ACCREC", "InvoiceID": accountingtest.UUID(d.ID), "InvoiceNumber": d.Number, "Reference": d.Reference, "Status": status, "CurrencyCode": string(d.Currency),
		"SubTotal": json.Number(d.Net().String()), "Total": json.Number(d.Net().Mul(decimal.RequireFromString("1.2")).String()), "UpdatedDateUTC": stamp, "LineAmountTypes": "Exclusive",
		"Date": fmt.Sprintf("/Date(%d+0000)/", d.Date.In(time.UTC).UnixMilli()), "Contact": map[string]any{"ContactID": accountingtest.UUID(d.Customer), "Name": "…"}, "LineItems": lines, "HasErrors": false,
	}
}

// sent is what an invoice may hold.
type sent struct {
	Type, LineAmountTypes, CurrencyCode, Reference, Status, Date, DueDate string
	Contact                                                               struct{ ContactID string }
	LineItems                                                             []struct {
		Description, AccountCode, TaxType string
		Quantity, UnitAmount              decimal.Decimal
	}
}

func (v vendor) create(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	if id := v.Keys[key]; id != "" {
		reply(w, 200, map[string]any{"Invoices": []any{show(v.Get(id))}})
		return
	}
	d := &accountingtest.Document{}
	if text := v.read(r, d); text != "" {
		invalid(w, text)
		return
	}
	v.Keys[key] = v.Add(d).ID
	reply(w, 200, map[string]any{"Invoices": []any{show(d)}})
}

func invalid(w http.ResponseWriter, text string) {
	reply(w, 400, map[string]any{
		"ErrorNumber": 10, "Type": "ValidationException", "Message": "A validation exception occurred",
		"Elements": []any{map[string]any{"ValidationErrors": []any{map[string]any{"Message": text}}}},
	})
}

// read writes the request into a document, and returns why it is refused.
func (v vendor) read(r *http.Request, doc *accountingtest.Document) string {
	var body struct{ Invoices []sent }
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil || len(body.Invoices) != 1 {
		return fmt.Sprintf("not one invoice: %v", err)
	}
	in := body.Invoices[0]
	i := slices.IndexFunc(v.Customers, func(c accounting.Party) bool { return accountingtest.UUID(c.ID) == in.Contact.ContactID })
	date, err := civil.Parse(in.Date)
	switch {
	case i < 0:
		return "The Contact could not be found."
	case err != nil || in.Type != "ACCREC" || in.LineAmountTypes != "Exclusive":
		return "A date, a type or the kind of amounts is missing."
	case r.URL.Query().Get("unitdp") != "4":
		return "Prices have two decimals."
	}
	doc.Customer, doc.Reference, doc.Currency, doc.Status, doc.Date, doc.Lines = v.Customers[i].ID, in.Reference, money.Currency(in.CurrencyCode), accounting.Draft, date, nil
	doc.Due, _ = civil.Parse(in.DueDate)
	for _, l := range in.LineItems {
		amount := l.Quantity.Mul(l.UnitAmount).Round(2)
		if l.Description == "" || l.Quantity.Exponent() < -4 || l.UnitAmount.Exponent() < -4 || len(l.Description) > 16000 {
			return "A line is not as it must be."
		}
		doc.Lines = append(doc.Lines, accountingtest.Line{Text: l.Description, Quantity: l.Quantity, Price: l.UnitAmount, Amount: amount, Tax: l.TaxType})
	}
	return ""
}

func (v vendor) byUUID(w http.ResponseWriter, r *http.Request) *accountingtest.Document {
	for _, d := range v.Documents {
		if accountingtest.UUID(d.ID) == r.PathValue("id") {
			return d
		}
	}
	reply(w, 404, map[string]any{"Title": "The resource you're looking for cannot be found"})
	return nil
}

func (v vendor) get(w http.ResponseWriter, r *http.Request) {
	if d := v.byUUID(w, r); d != nil {
		reply(w, 200, map[string]any{"Invoices": []any{show(d)}})
	}
}

func (v vendor) update(w http.ResponseWriter, r *http.Request) {
	d := v.byUUID(w, r)
	if d == nil {
		return
	}
	if text := v.read(r, d); text != "" {
		invalid(w, text)
		return
	}
	d.Edition++
	reply(w, 200, map[string]any{"Invoices": []any{show(d)}})
}

func (v vendor) contacts(w http.ResponseWriter, _ *http.Request) {
	var all []any
	for _, c := range v.Customers {
		all = append(all, map[string]any{"ContactID": accountingtest.UUID(c.ID), "Name": c.Name})
	}
	reply(w, 200, map[string]any{"Contacts": all})
}

// refuse says what is wrong with a request that writes: only drafts are created or changed.
func refuse(r *http.Request, body []byte) string {
	path := strings.TrimPrefix(r.URL.Path, "/api.xro/2.0")
	switch {
	case r.Method == http.MethodPut && path == "/Invoices", r.Method == http.MethodPost && strings.HasPrefix(path, "/Invoices/") && strings.Count(path, "/") == 2:
	default:
		return "neither creates nor changes one invoice"
	}
	var sent struct{ Invoices []map[string]any }
	if err := json.Unmarshal(body, &sent); err != nil {
		return err.Error()
	}
	for _, inv := range sent.Invoices {
		if inv["Status"] != "DRAFT" || inv["SentToContact"] != nil || inv["Payments"] != nil {
			return "is not for a draft"
		}
	}
	return ""
}
