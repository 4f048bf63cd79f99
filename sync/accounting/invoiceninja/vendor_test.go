package invoiceninja_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

const token = "ninja-api-token-1"

// vendor is Invoice Ninja's API over books. Its second client is billed in USD.
type vendor struct {
	*accountingtest.Books
	byNumber bool // references are numbers
}

func handler(byNumber bool) func(b *accountingtest.Books) http.Handler {
	return func(b *accountingtest.Books) http.Handler { return serve(vendor{b, byNumber}) }
}

func serve(v vendor) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/invoices", v.list)
	mux.HandleFunc("POST /api/v1/invoices", v.create)
	mux.HandleFunc("GET /api/v1/invoices/{id}", v.get)
	mux.HandleFunc("PUT /api/v1/invoices/{id}", v.update)
	mux.HandleFunc("GET /api/v1/clients", v.clients)
	mux.HandleFunc("GET /api/v1/clients/{id}", v.client)
	mux.HandleFunc("POST /api/v1/companies/current", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"data": map[string]any{"settings": map[string]any{"name": "Demo Agency"}}})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer v.Lock()()
		switch {
		case r.Header.Get("X-API-TOKEN") != token:
			reply(w, 403, map[string]any{"message": "Invalid token", "errors": map[string]any{}})
		case r.Header.Get("X-Requested-With") != "XMLHttpRequest":
			reply(w, 400, map[string]any{"message": "no"})
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

func (v vendor) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var all []any
	for _, d := range v.Seen() {
		has := strings.Contains(strings.ToLower(d.Reference), strings.ToLower(q.Get("filter")))
		if q.Has("number") {
			has = v.byNumber && d.Reference == q.Get("number")
		}
		if from, to, ranged := strings.Cut(q.Get("date_range"), ","); ranged {
			has = has && d.Date.String() >= from && d.Date.String() <= to
		}
		if has {
			all = append(all, v.show(d))
		}
	}
	v.page(w, r, all)
}

func (v vendor) page(w http.ResponseWriter, r *http.Request, all []any) {
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if v.PageSize > 0 {
		size = min(size, v.PageSize)
	}
	from := min((page-1)*size, len(all))
	reply(w, 200, map[string]any{
		"data": append([]any{}, all[from:min(from+size, len(all))]...),
		"meta": map[string]any{"pagination": map[string]any{"total": len(all), "current_page": page, "total_pages": (len(all) + size - 1) / size}},
	})
}

func hash(id string) string { return "hashed" + id }

var currencyIDs = map[money.Currency]string{"USD": "1", "GBP": "2", "EUR": "3", "JPY": "45", "KWD": "60"}

func (v vendor) show(d *accountingtest.Document) map[string]any {
	status := map[accounting.Status]string{accounting.Draft: "1", accounting.Final: "2", accounting.Void: "5"}[d.Status]
	lines := []any{}
	for _, l := range d.Lines {
		lines = append(lines, map[string]any{"quantity": number(l.Quantity), "cost": number(l.Price), "notes": l.Text, "line_total": number(l.Amount), "type_id": "2"})
	}
	if d.Deleted {
		status = "1"
	}
	fields := map[bool][2]string{true: {d.Reference, ""}, false: {"", d.Reference}}[v.byNumber]
	return map[string]any{
		"id": hash(d.ID), "number": fields[0], "po_number": fields[1], "client_id": hash(d.Customer), "date": d.Date.String(), "status_id": status, "is_deleted": d.Deleted, "archived_at": 0,
		"updated_at": d.Made.Unix() + int64(d.Edition), "amount": number(d.Net().Mul(decimal.RequireFromString("1.2"))), "line_items": lines,
		"client": map[string]any{"id": hash(d.Customer), "settings": map[string]any{"currency_id": currencyIDs[d.Currency]}},
	}
}

func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

type sent struct {
	ClientID  string `json:"client_id"`
	Number    string `json:"number"`
	PoNumber  string `json:"po_number"`
	Date      string `json:"date"`
	DueDate   string `json:"due_date"`
	Note      string `json:"private_notes"`
	Inclusive *bool  `json:"uses_inclusive_taxes"`
	Lines     []struct {
		Quantity decimal.Decimal `json:"quantity"`
		Cost     decimal.Decimal `json:"cost"`
		Notes    string          `json:"notes"`
		Type     string          `json:"type_id"`
		TaxName  string          `json:"tax_name1"`
		TaxRate  decimal.Decimal `json:"tax_rate1"`
	} `json:"line_items"`
}

var macro = regexp.MustCompile(`:(MONTH|YEAR|QUARTER|WEEK)`)

func (v vendor) read(r *http.Request, d *accountingtest.Document) map[string]any {
	var in sent
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return map[string]any{"body": []string{err.Error()}}
	}
	i := slices.IndexFunc(v.Customers, func(c accounting.Party) bool { return hash(c.ID) == in.ClientID })
	if i < 0 {
		return map[string]any{"client_id": []string{"The selected client id is invalid."}}
	}
	for _, other := range v.Documents {
		if in.Number != "" && other != d && v.byNumber && other.Reference == in.Number {
			return map[string]any{"number": []string{"The number has already been taken."}}
		}
	}
	if in.Inclusive == nil || *in.Inclusive { // The client's own setting would hold.
		return map[string]any{"uses_inclusive_taxes": []string{"amounts would include tax"}}
	}
	d.Customer, d.Reference, d.Status, d.Lines = v.Customers[i].ID, in.Number+in.PoNumber, accounting.Draft, nil
	d.Date, _ = civil.Parse(in.Date)
	d.Due, _ = civil.Parse(in.DueDate)
	if d.Currency == "" {
		d.Currency = v.currencyOf(in.ClientID)
	}
	for _, l := range in.Lines {
		d.Lines = append(d.Lines, accountingtest.Line{
			Text: macro.ReplaceAllString(l.Notes, "January"), Quantity: l.Quantity, Price: l.Cost, Amount: d.Currency.Round(l.Quantity.Mul(l.Cost)), Tax: l.TaxName,
		})
	}
	return nil
}

func (v vendor) create(w http.ResponseWriter, r *http.Request) {
	d := &accountingtest.Document{}
	if errs := v.read(r, d); errs != nil {
		reply(w, 422, map[string]any{"message": "The given data was invalid.", "errors": errs})
		return
	}
	v.Add(d)
	reply(w, 200, map[string]any{"data": v.show(d)})
}

func (v vendor) byHash(w http.ResponseWriter, r *http.Request) *accountingtest.Document {
	for _, d := range v.Documents {
		if hash(d.ID) == r.PathValue("id") {
			return d
		}
	}
	reply(w, 404, map[string]any{"message": "No query results for model [Invoice]"})
	return nil
}

func (v vendor) get(w http.ResponseWriter, r *http.Request) {
	if d := v.byHash(w, r); d != nil {
		reply(w, 200, map[string]any{"data": v.show(d)})
	}
}

func (v vendor) update(w http.ResponseWriter, r *http.Request) {
	d := v.byHash(w, r)
	if d == nil {
		return
	}
	if errs := v.read(r, d); errs != nil {
		reply(w, 422, map[string]any{"message": "The given data was invalid.", "errors": errs})
		return
	}
	d.Edition++
	reply(w, 200, map[string]any{"data": v.show(d)})
}

func (v vendor) currencyOf(client string) money.Currency {
	if client == hash("72") {
		return "USD"
	}
	return "EUR"
}

func (v vendor) showClient(c accounting.Party) map[string]any {
	return map[string]any{"id": hash(c.ID), "display_name": c.Name, "settings": map[string]any{"currency_id": currencyIDs[v.currencyOf(hash(c.ID))]}}
}

func (v vendor) client(w http.ResponseWriter, r *http.Request) {
	for _, c := range v.Customers {
		if hash(c.ID) == r.PathValue("id") {
			reply(w, 200, map[string]any{"data": v.showClient(c)})
			return
		}
	}
	reply(w, 404, map[string]any{"message": "No query results for model [Client]"})
}

func (v vendor) clients(w http.ResponseWriter, r *http.Request) {
	var all []any
	for _, c := range v.Customers {
		all = append(all, v.showClient(c))
	}
	v.page(w, r, all)
}

// danger are the names at which Invoice Ninja acts, in a query or a body.
var danger = []string{"send_email", "mark_sent", "paid", "amount_paid", "auto_bill", "cancel", "save_default_footer", "save_default_terms", "status_id", "action"}

func refuse(r *http.Request, body []byte) string {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	switch {
	case r.Method == http.MethodPost && path == "/invoices", r.Method == http.MethodPut && strings.HasPrefix(path, "/invoices/") && strings.Count(path, "/") == 2:
	default:
		return "neither creates nor changes one invoice"
	}
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		return err.Error()
	}
	for _, name := range danger {
		if _, there := in[name]; there || r.URL.Query().Has(name) {
			return fmt.Sprintf("names %s", name)
		}
	}
	return ""
}
