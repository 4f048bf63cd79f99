package quickbooks_test

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
	realm = "9130347596842345"
	token = "quickbooks-access-token-1"
	root  = "/v3/company/" + realm
)

// vendor is QuickBooks' API over books.
type vendor struct {
	*accountingtest.Books
	byNote bool // references stand in notes
}

func handler(byNote bool) func(b *accountingtest.Books) http.Handler {
	return func(b *accountingtest.Books) http.Handler { return serve(vendor{b, byNote}) }
}

func serve(v vendor) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"/query", v.query)
	mux.HandleFunc("POST "+root+"/estimate", v.write)
	mux.HandleFunc("GET "+root+"/estimate/{id}", v.get)
	mux.HandleFunc("GET "+root+"/companyinfo/"+realm, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"CompanyInfo": map[string]any{"CompanyName": "Demo Agency", "Country": "IE", "NameValue": []any{
			map[string]any{"Name": "OfferingSku", "Value": "QuickBooks Online Plus"}, map[string]any{"Name": "SubscriptionStatus", "Value": "PAID"},
		}}})
	})
	mux.HandleFunc("GET "+root+"/preferences", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"Preferences": map[string]any{
			"SalesFormsPrefs": map[string]any{"CustomTxnNumbers": true, "AllowEstimates": true}, "CurrencyPrefs": map[string]any{"HomeCurrency": ref("EUR")},
		}})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer v.Lock()()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			reply(w, 401, map[string]any{"fault": map[string]any{"type": "AUTHENTICATION", "error": []any{map[string]any{"message": "message=AuthenticationFailed; errorCode=003200; statusCode=401", "code": "3200"}}}})
		case r.URL.Query().Get("minorversion") != "75":
			refusal(w, 400, "2020", "Required param missing", "minorversion")
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

// refusal answers with one error. Its status is 400 mostly, and now and then 200.
func refusal(w http.ResponseWriter, status int, code, message, detail string) {
	reply(w, status, map[string]any{"Fault": map[string]any{"type": "ValidationFault", "Error": []any{map[string]any{"code": code, "Message": message, "Detail": detail}}}})
}

func ref(value string) map[string]any { return map[string]any{"value": value} }

var (
	statement = regexp.MustCompile(`^select \* from (Estimate|Customer)(?: where (.+))? ORDERBY Id STARTPOSITION (\d+) MAXRESULTS (\d+)$`)
	condition = regexp.MustCompile(`^(DocNumber =|MetaData\.CreateTime >=) '((?:[^'\\]|\\.)*)'$`)
	between   = regexp.MustCompile(`^TxnDate >= '([0-9-]{10})' and TxnDate <= '([0-9-]{10})'$`)
)

func (v vendor) query(w http.ResponseWriter, r *http.Request) {
	m := statement.FindStringSubmatch(r.URL.Query().Get("query"))
	if m == nil {
		refusal(w, 400, "4000", "Error parsing query", "QueryParserError: "+r.URL.Query().Get("query"))
		return
	}
	var list []any
	if m[1] == "Customer" {
		list = v.customers(m[2])
	} else if list = v.estimates(m[2]); list == nil {
		refusal(w, 400, "4001", "Invalid query", "QueryValidationError: "+m[2])
		return
	}
	from, _ := strconv.Atoi(m[3])
	size, _ := strconv.Atoi(m[4])
	if v.PageSize > 0 {
		size = min(size, v.PageSize)
	}
	from = min(from-1, len(list))
	answer := map[string]any{}
	if part := list[from:min(from+size, len(list))]; len(part) > 0 {
		answer = map[string]any{m[1]: part, "startPosition": from + 1, "maxResults": len(part)}
	}
	reply(w, 200, map[string]any{"QueryResponse": answer, "time": time.Now()})
}

func (v vendor) customers(where string) (all []any) {
	if where == "Active = true" {
		for _, c := range v.Customers {
			all = append(all, map[string]any{"Id": c.ID, "DisplayName": c.Name, "Active": true})
		}
	}
	return all
}

// estimates returns those that a condition selects, and some that are only alike; nil where it is none.
func (v vendor) estimates(where string) []any {
	c, days := condition.FindStringSubmatch(where), between.FindStringSubmatch(where)
	if c == nil && days == nil && where != "" {
		return nil
	}
	all := []any{}
	for _, d := range v.Seen() {
		selected := where == "" || days != nil && d.Date.String() >= days[1] && d.Date.String() <= days[2]
		if c != nil && strings.HasPrefix(c[1], "DocNumber") {
			want := regexp.MustCompile(`\\(.)`).ReplaceAllString(c[2], "$1")
			selected = !v.byNote && (strings.EqualFold(d.Reference, want) || strings.HasPrefix(d.Reference, want)) // More than was asked for.
		} else if c != nil {
			since, err := time.Parse(time.RFC3339, c[2])
			selected = err == nil && !d.Made.Before(since)
		}
		if selected && !d.Deleted {
			all = append(all, v.show(d))
		}
	}
	return all
}

func (v vendor) show(d *accountingtest.Document) map[string]any {
	status := map[accounting.Status]string{accounting.Draft: "Pending", accounting.Final: "Closed", accounting.Void: "Rejected"}[d.Status]
	lines := []any{}
	for i, l := range d.Lines {
		lines = append(lines, map[string]any{
			"Id": strconv.Itoa(i + 1), "LineNum": i + 1, "Description": l.Text, "Amount": number(l.Amount), "DetailType": "SalesItemLineDetail",
			"SalesItemLineDetail": map[string]any{"ItemRef": ref("19"), "Qty": number(l.Quantity), "UnitPrice": number(l.Price), "TaxCodeRef": ref(l.Tax)},
		})
	}
	tax := d.Net().Mul(decimal.RequireFromString("0.2")).Round(2)
	all := map[string]any{
		"Id": d.ID, "SyncToken": strconv.Itoa(d.Edition - 1), "domain": "QBO", "sparse": false, "TxnStatus": status, "EmailStatus": "NotSet", "DocNumber": d.Reference,
		"PrivateNote": d.Extra["note"], "CustomerRef": map[string]any{"value": d.Customer, "name": "…"}, "CurrencyRef": ref(string(d.Currency)), "TxnDate": d.Date.String(),
		"Line":     append(lines, map[string]any{"DetailType": "SubTotalLineDetail", "Amount": number(d.Net()), "SubTotalLineDetail": map[string]any{}}),
		"TotalAmt": number(d.Net().Add(tax)), "TxnTaxDetail": map[string]any{"TotalTax": number(tax)}, "MetaData": map[string]any{"CreateTime": d.Made.Format(time.RFC3339)},
	}
	if d.Status == accounting.Final {
		all["LinkedTxn"] = []any{map[string]any{"TxnId": "4711", "TxnType": "Invoice"}}
	}
	if v.byNote {
		all["DocNumber"], all["PrivateNote"] = "10"+d.ID, "["+d.Reference+"]"+d.Extra["note"]
	}
	return all
}

func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

type named struct {
	Value string `json:"value"`
}

// sent is what an estimate may hold.
type sent struct {
	ID                                                                                                string `json:"Id"`
	SyncToken, DocNumber, PrivateNote, TxnStatus, TxnDate, DueDate, EmailStatus, GlobalTaxCalculation string
	Sparse                                                                                            bool `json:"sparse"`
	CustomerRef, CurrencyRef                                                                          named
	Line                                                                                              []struct {
		DetailType, Description string
		Amount                  decimal.Decimal
		SalesItemLineDetail     struct {
			ItemRef, TaxCodeRef named
			Qty, UnitPrice      decimal.Decimal
		}
	}
}

// write creates an estimate, or changes the one that is named.
func (v vendor) write(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("requestid")
	if id := v.Keys[key]; id != "" {
		reply(w, 200, map[string]any{"Estimate": v.show(v.Get(id))})
		return
	}
	var in sent
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || key == "" || len(key) > 50 || r.URL.Query().Has("operation") {
		refusal(w, 400, "2010", "Request has invalid or unsupported property", fmt.Sprint(err))
		return
	}
	d := &accountingtest.Document{}
	if in.ID != "" {
		d = v.Get(in.ID)
	}
	switch {
	case d == nil || d.Deleted:
		refusal(w, 400, "610", "Object Not Found", "Object Not Found : Something you're trying to use has been made inactive.")
		return
	case in.ID != "" && (in.SyncToken != strconv.Itoa(d.Edition-1) || !in.Sparse):
		refusal(w, 400, "5010", "Stale Object Error", "Stale Object Error : You and another user were working on this at the same time.")
		return
	}
	if code, text := v.read(in, d); code != "" {
		refusal(w, 400, code, "A business validation error has occurred", text)
		return
	}
	if d.Edition++; in.ID == "" {
		v.Add(d)
	}
	v.Keys[key] = d.ID
	reply(w, 200, map[string]any{"Estimate": v.show(d), "time": time.Now()})
}

var note = regexp.MustCompile(`^\[([^]]*)\](.*)$`)

// read writes what was sent into a document, or returns why it is refused and leaves it as it is.
func (v vendor) read(in sent, d *accountingtest.Document) (code, text string) {
	i := slices.IndexFunc(v.Customers, func(c accounting.Party) bool { return c.ID == in.CustomerRef.Value })
	date, err := civil.Parse(in.TxnDate)
	switch {
	case i < 0:
		return "2500", "Invalid Reference Id : Names element id " + in.CustomerRef.Value + " not found"
	case err != nil || in.TxnStatus != "Pending" || in.EmailStatus != "NotSet" || len(in.Line) == 0 || len(in.DocNumber) > 21 || len(in.PrivateNote) > 4000:
		return "2020", "Required param missing, need to supply the required value for the API"
	}
	reference, rest := in.DocNumber, in.PrivateNote
	if m := note.FindStringSubmatch(in.PrivateNote); v.byNote && m != nil {
		reference, rest = m[1], m[2]
	}
	for _, other := range v.Documents {
		if other != d && !v.byNote && !other.Deleted && other.Reference == in.DocNumber {
			return "6140", "Duplicate Document Number Error : You must specify a different number. This number has already been used. DocNumber=" + in.DocNumber + " is assigned to TxnType=Estimate with TxnId=" + other.ID
		}
	}
	var lines []accountingtest.Line
	for _, l := range in.Line {
		sale := l.SalesItemLineDetail
		switch {
		case !l.Amount.Equal(sale.Qty.Mul(sale.UnitPrice).Round(2)):
			return "6070", "Amount calculation incorrect in the request. Amount is not equal to UnitPrice * Qty. Supplied value:" + l.Amount.String()
		case l.DetailType != "SalesItemLineDetail" || sale.ItemRef.Value != "19" || sale.Qty.Exponent() < -7 || sale.UnitPrice.Exponent() < -7 || len([]rune(l.Description)) > 4000:
			return "2010", "A line is not as it must be."
		}
		lines = append(lines, accountingtest.Line{Text: l.Description, Quantity: sale.Qty, Price: sale.UnitPrice, Amount: l.Amount, Tax: sale.TaxCodeRef.Value})
	}
	d.Reference, d.Customer, d.Currency, d.Status, d.Date, d.Lines = reference, in.CustomerRef.Value, money.Currency(in.CurrencyRef.Value), accounting.Draft, date, lines
	d.Due, _ = civil.Parse(in.DueDate)
	d.Extra = map[string]string{"note": rest, "tax": in.GlobalTaxCalculation}
	return "", ""
}

func (v vendor) get(w http.ResponseWriter, r *http.Request) {
	d := v.Get(r.PathValue("id"))
	if d == nil || d.Deleted {
		refusal(w, 400, "610", "Object Not Found", "Object Not Found : Something you're trying to use has been made inactive.")
		return
	}
	reply(w, 200, map[string]any{"Estimate": v.show(d)})
}

// refuse says what is wrong with a request that writes: only pending estimates are created or changed.
func refuse(r *http.Request, body []byte) string {
	if r.Method != http.MethodPost || r.URL.Path != root+"/estimate" || r.URL.Query().Has("operation") {
		return "neither creates nor changes one estimate"
	}
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		return err.Error()
	}
	for _, name := range []string{"BillEmail", "AcceptedBy", "AcceptedDate", "LinkedTxn", "DeliveryInfo"} {
		if _, there := in[name]; there {
			return "names " + name
		}
	}
	if in["TxnStatus"] != "Pending" || in["EmailStatus"] != "NotSet" {
		return "is not for a pending estimate"
	}
	return ""
}
