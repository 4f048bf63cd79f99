package stripe_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
)

// change does one of the three calls that change the lines of a draft, wholly or not at all.
func (v vendor) change(w http.ResponseWriter, r *http.Request) {
	d := v.byID(w, r)
	if d == nil {
		return
	}
	if d.Status != accounting.Draft {
		problem(w, 400, map[string]any{"type": "invalid_request_error", "code": "invoice_not_editable", "message": "This invoice is no longer editable"})
		return
	}
	sent, text := sentLines(r)
	lines := slices.Clone(d.Lines)
	gone := map[int]bool{}
	for _, fields := range sent {
		if text == "" {
			lines, text = changed(d, lines, r.PathValue("change"), fields, gone)
		}
	}
	if text == "" && len(lines)-len(gone) > 250 {
		text = "An invoice may have at most 250 items"
	}
	if text != "" {
		wrong(w, 400, "lines", text)
		return
	}
	d.Lines = nil
	for i, l := range lines {
		if !gone[i] {
			d.Lines = append(d.Lines, l)
		}
	}
	d.Edition++
	reply(w, 200, v.show(d))
}

// sentLines groups the fields of a form by line, in the order of their numbers.
func sentLines(r *http.Request) (sent []url.Values, wrong string) {
	_ = r.ParseForm()
	if name := unknown(r.PostForm, `lines\[\d+\]\[(?:id|behavior|description|amount|quantity_decimal|tax_rates\]\[0|price_data\]\[(?:currency|product|unit_amount_decimal))\]`); name != "" {
		return nil, "Received unknown parameter: " + name
	}
	for n := 0; ; n++ {
		prefix, fields := "lines["+strconv.Itoa(n)+"]", url.Values{}
		for name, values := range r.PostForm {
			if strings.HasPrefix(name, prefix) {
				fields[strings.TrimPrefix(name, prefix)] = values
			}
		}
		if len(fields) == 0 {
			break
		}
		sent = append(sent, fields)
	}
	if len(sent) == 0 {
		return nil, "Missing required param: lines."
	}
	return sent, ""
}

func changed(d *accountingtest.Document, lines []accountingtest.Line, how string, fields url.Values, gone map[int]bool) ([]accountingtest.Line, string) {
	at := -1
	for i := range d.Lines {
		if lineID(d, i) == fields.Get("[id]") {
			at = i
		}
	}
	if how == "remove_lines" {
		if at < 0 || fields.Get("[behavior]") != "delete" || len(fields) != 2 {
			return lines, "No such line, or no such behavior"
		}
		gone[at] = true
		return lines, ""
	}
	l, text := readLine(d, fields)
	switch {
	case text != "":
	case how == "add_lines" && !fields.Has("[id]"):
		lines = append(lines, l)
	case how == "update_lines" && at >= 0:
		lines[at] = l
	default:
		text = fmt.Sprintf("%s: no such line %q", how, fields.Get("[id]"))
	}
	return lines, text
}

func readLine(d *accountingtest.Document, f url.Values) (l accountingtest.Line, wrong string) {
	l = accountingtest.Line{Text: f.Get("[description]"), Tax: f.Get("[tax_rates][0]"), Quantity: decimal.NewFromInt(1)}
	name := "[amount]"
	if !f.Has(name) {
		name = "[price_data][unit_amount_decimal]"
		l.Quantity, _ = decimal.NewFromString(f.Get("[quantity_decimal]"))
		if f.Get("[price_data][product]") != product || f.Get("[price_data][currency]") != strings.ToLower(string(d.Currency)) {
			return l, "No such product, or another currency"
		}
	}
	price, err := decimal.NewFromString(f.Get(name))
	sum := l.Quantity.Mul(price).Round(0)
	switch {
	case err != nil || name == "[amount]" && (!price.IsInteger() || f.Has("[quantity_decimal]") || f.Has("[price_data][currency]")):
		return l, "Invalid integer, or an amount and a price"
	case name != "[amount]" && price.IsNegative() || l.Quantity.Exponent() < -12 || price.Exponent() < -12:
		return l, "Invalid decimal"
	case utf8.RuneCountInString(l.Text) > 5000 || l.Text == "":
		return l, "Invalid string: a description has 1 to 5000 characters"
	case f.Has("[tax_rates][0]") && l.Tax != "txr_vat" && l.Tax != "txr_inclusive":
		return l, "No such tax rate: '" + l.Tax + "'"
	case d.Currency == "KWD" && !sum.Mod(decimal.NewFromInt(10)).IsZero():
		return l, "Amounts in KWD end in 0"
	}
	l.Price, l.Amount = price.Shift(-scale(d.Currency)), sum.Shift(-scale(d.Currency))
	return l, ""
}

// danger are the names at which Stripe acts, or which take in what is not ours.
var danger = []string{
	"automatically_finalizes_at", "from_invoice", "subscription", "default_payment_method", "default_source", "transfer_data", "application_fee_amount", "on_behalf_of", "number",
}

// refuse says what is wrong with a request that writes: only drafts are made, and only their lines change.
func refuse(r *http.Request, body []byte) string {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return err.Error()
	}
	for _, name := range danger {
		if form.Has(name) {
			return "names " + name
		}
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/invoices"), "/")
	switch {
	case r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/invoices"):
		return "neither creates nor changes one invoice"
	case len(parts) == 1:
		if form.Get("auto_advance") != "false" || form.Get("collection_method") != "send_invoice" || form.Get("pending_invoice_items_behavior") != "exclude" || !form.Has("discounts") || form.Get("discounts") != "" {
			return "is not for a draft that stays one, and has nothing else on it"
		}
		return ""
	case len(parts) == 3 && slices.Contains([]string{"add_lines", "update_lines", "remove_lines"}, parts[2]):
		if strings.Contains(string(body), "unassign") || form.Has("auto_advance") {
			return "lets a line go to another invoice, or lets it advance"
		}
		return ""
	}
	return "does more than to change lines"
}
