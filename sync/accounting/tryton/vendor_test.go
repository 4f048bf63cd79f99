package tryton_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/civil"
)

const (
	database = "books"
	login    = "tidemark"
	password = "tryton-password-1"
)

// office keeps what Tryton has beyond books: sessions, and lines without an invoice.
type office struct {
	mu sync.Mutex
	of map[*accountingtest.Books]*vendor
}

func (o *office) handler(b *accountingtest.Books) http.Handler {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of[b] == nil {
		o.of[b] = &vendor{Books: b, sessions: map[string]bool{}}
	}
	return o.of[b]
}

// vendor is Tryton's JSON-RPC over books.
type vendor struct {
	*accountingtest.Books
	sessions map[string]bool
	logins   int
	loose    []*loose
	calls    []string // of all methods
}

// loose is a line that was created without an invoice.
type loose struct {
	ID       int
	Text     string
	Currency int
	Party    int
	Invoice  *accountingtest.Document
	Stamp    string
}

// refusal is an error in an envelope.
type refusal []any

func (r refusal) Error() string { return fmt.Sprint([]any(r)...) }

func userError(format string, args ...any) error {
	return refusal{"UserError", []any{fmt.Sprintf(format, args...), "", nil}}
}

func unforeseen(format string, args ...any) error {
	return refusal{fmt.Sprintf(format, args...), "Traceback (most recent call last)"}
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer v.Lock()()
	var in struct {
		ID     *int64
		Method string
		Params []json.RawMessage
	}
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&in); {
	case r.Method != http.MethodPost || r.URL.Path != "/"+database+"/" || r.ContentLength <= 0:
		http.Error(w, "<!doctype html><title>404 Not Found</title>", http.StatusNotFound)
		return
	case err != nil || in.ID == nil:
		http.Error(w, "<!doctype html><title>500 Internal Server Error</title>", http.StatusInternalServerError)
		return
	}
	v.calls = append(v.calls, in.Method)
	var result any
	var err error
	switch {
	case in.Method == "common.db.login":
		result = v.login(in.Params)
	case v.sessions[r.Header.Get("Authorization")]:
		result, err = v.dispatch(in.Method, in.Params)
	}
	switch refused, is := errors.AsType[refusal](err); {
	case is:
		reply(w, map[string]any{"id": in.ID, "error": refused})
	case err != nil:
		http.Error(w, "<!doctype html><title>403 Forbidden</title>", http.StatusForbidden)
	case result == nil:
		http.Error(w, "<!doctype html><title>401 Unauthorized</title>", http.StatusUnauthorized)
	default:
		reply(w, map[string]any{"id": in.ID, "result": result})
	}
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (v *vendor) login(params []json.RawMessage) any {
	var user string
	var with struct{ Password string }
	v.logins++
	if len(params) != 3 || json.Unmarshal(params[0], &user) != nil || json.Unmarshal(params[1], &with) != nil || user != login || with.Password != password {
		return nil
	}
	key := fmt.Sprintf("%064d", v.logins)
	v.sessions["Session "+base64.StdEncoding.EncodeToString([]byte(login+":4:"+key))] = true
	return []any{4, key}
}

// none is the result null of a method that has one.
var none = json.RawMessage("null")

func (v *vendor) dispatch(method string, params []json.RawMessage) (any, error) {
	var context struct {
		Company   int
		Language  string
		Timestamp map[string]string `json:"_timestamp"`
	}
	if len(params) == 0 || strict(params[len(params)-1], &context) != nil {
		return nil, unforeseen("Missing context argument")
	}
	params = params[:len(params)-1]
	if context.Company != 1 || context.Language != "en" {
		return nil, userError("There is no such company.")
	}
	switch method {
	case "model.account.invoice.search_read", "model.account.invoice.line.search_read", "model.party.party.search_read", "model.company.company.search_read":
		return v.search(strings.TrimSuffix(strings.TrimPrefix(method, "model."), ".search_read"), params)
	case "model.account.invoice.create":
		return v.create(params, context.Timestamp)
	case "model.account.invoice.write":
		return v.write(params, context.Timestamp)
	case "model.account.invoice.line.create":
		return v.stage(params)
	case "model.ir.model.access.get_access":
		all := map[string]int{"read": 1, "write": 1, "create": 1, "delete": 1}
		return map[string]any{"account.invoice": all, "account.invoice.line": all}, nil
	}
	return nil, fmt.Errorf("%s is not exposed", method)
}

func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

func envelope(d decimal.Decimal) any {
	return map[string]any{"__class__": "Decimal", "decimal": d.String()}
}

// stamp is Tryton's timestamp of a document: the moment of its last change.
func stamp(d *accountingtest.Document) string {
	return fmt.Sprintf("%d.%06d", d.Made.Unix(), d.Edition)
}

func lineID(d *accountingtest.Document, i int) int {
	n, _ := strconv.Atoi(d.ID)
	return n*1000000 + d.Edition*1000 + i
}

// linesOf returns the ids of the lines of a document with their types; the line that was staged comes first.
func (v *vendor) linesOf(d *accountingtest.Document) (all []any) {
	for _, l := range v.loose {
		if l.Invoice == d {
			all = append(all, map[string]any{"id": l.ID, "type": "comment", "amount": envelope(decimal.Zero), "_timestamp": l.Stamp})
		}
	}
	for i, l := range d.Lines {
		all = append(all, map[string]any{"id": lineID(d, i), "type": "line", "amount": envelope(l.Amount), "_timestamp": stamp(d)})
	}
	return append([]any{}, all...)
}

func (v *vendor) show(d *accountingtest.Document) map[string]any {
	state := map[accounting.Status]string{accounting.Draft: "draft", accounting.Final: "posted", accounting.Void: "cancelled"}[d.Status]
	n, _ := strconv.Atoi(d.ID)
	party, _ := strconv.Atoi(d.Customer)
	var number any
	if d.Number != "" {
		number = d.Number
	}
	var date any
	if !d.Date.IsZero() {
		date = dayOf("date", d.Date)
	}
	return map[string]any{
		"invoice_date": date, "create_date": dayOf("datetime", civil.DateOf(d.Made.UTC())), "id": n, "reference": d.Reference, "number": number, "state": state, "party": party, "currency": 1, "currency.": map[string]any{"id": 1, "code": d.Currency},
		"untaxed_amount": envelope(d.Net()), "_timestamp": stamp(d), "lines": []any{}, "lines.": v.linesOf(d),
	}
}

func (v *vendor) records(model string) (all []map[string]any) {
	switch model {
	case "account.invoice":
		for _, d := range v.Seen() {
			one := v.show(d)
			one["type"], one["company"] = "out", 1
			all = append(all, one)
		}
	case "account.invoice.line":
		for _, l := range v.loose {
			one := map[string]any{"id": l.ID, "type": "comment", "description": l.Text, "party": l.Party, "company": 1, "currency": l.Currency, "_timestamp": l.Stamp, "invoice": nil, "invoice.": nil}
			if l.Invoice != nil {
				n, _ := strconv.Atoi(l.Invoice.ID)
				one["invoice"], one["invoice."] = n, map[string]any{"id": n, "reference": l.Invoice.Reference}
			}
			all = append(all, one)
		}
	case "party.party":
		for _, c := range v.Customers {
			n, _ := strconv.Atoi(c.ID)
			addresses := []any{map[string]any{"id": n*10 + 1, "invoice": 0}, map[string]any{"id": n*10 + 2, "invoice": true}}
			all = append(all, map[string]any{"id": n, "rec_name": c.Name, "account_receivable": nil, "customer_payment_term": nil, "addresses": []int{n*10 + 1, n*10 + 2}, "addresses.": addresses})
		}
	case "company.company":
		all = append(all, map[string]any{"id": 1, "rec_name": "Demo Agency", "currency": 1, "currency.": map[string]any{"id": 1, "code": "EUR"}})
	}
	return all
}

// dayOf is a date as it travels, or the moment at which it begins.
func dayOf(class string, d civil.Date) map[string]any {
	return map[string]any{"__class__": class, "year": d.Year, "month": int(d.Month), "day": d.Day}
}

// within reports whether a record fits a domain: conditions of which all, or after "OR" one, must hold.
func within(domain []any, record map[string]any) (bool, error) {
	either := len(domain) > 0 && domain[0] == "OR"
	if either {
		domain = domain[1:]
	}
	for _, part := range domain {
		c, _ := part.([]any)
		var fits bool
		var err error
		if name, leaf := first(c); leaf && name != "OR" {
			fits, err = compare(c, record)
		} else {
			fits, err = within(c, record)
		}
		if err != nil || fits == either {
			return fits, err
		}
	}
	return !either, nil
}

func first(c []any) (string, bool) {
	if len(c) == 0 {
		return "", false
	}
	name, is := c[0].(string)
	return name, is
}

// compare holds a condition against a record. Days compare with moments.
func compare(c []any, record map[string]any) (bool, error) {
	value, known := record[c[0].(string)]
	if !known {
		return false, unforeseen("'%v'", c[0])
	}
	have, want := ordered(value), ordered(c[2])
	switch c[1] {
	case "=":
		return have == want, nil
	case ">=":
		return value != nil && have >= want, nil
	case "<=":
		return value != nil && have <= want, nil
	case "<":
		return value != nil && have < want, nil
	}
	return false, unforeseen("'%v'", c[1])
}

func ordered(value any) string {
	m, is := value.(map[string]any)
	if !is {
		return fmt.Sprint(value)
	}
	number := func(name string) int { n, _ := strconv.Atoi(fmt.Sprint(m[name])); return n }
	return fmt.Sprintf("%04d-%02d-%02d", number("year"), number("month"), number("day"))
}

// search answers domains.
func (v *vendor) search(model string, params []json.RawMessage) (any, error) {
	var domain []any
	var offset, limit int
	var order [][2]string
	var fields []string
	for i, into := range []any{&domain, &offset, &limit, &order, &fields} {
		if len(params) != 5 || json.Unmarshal(params[i], into) != nil {
			return nil, unforeseen("a domain, an offset, a limit, an order and fields are needed")
		}
	}
	found := []map[string]any{}
	for _, one := range v.records(model) {
		fits, err := within(domain, one)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			name, _, dotted := strings.Cut(f, ".")
			if _, known := one[name]; !known || dotted && !strings.HasSuffix(f, "_timestamp") && one[name+"."] == nil && model != "account.invoice.line" {
				return nil, unforeseen("'%s'", f)
			}
		}
		if fits {
			found = append(found, one)
		}
	}
	from := min(offset, len(found))
	return found[from:min(from+limit, len(found))], nil
}
