package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/outcome"
	"tidemark/sync/civil"
)

// mostLines is how many lines an invoice may have.
const mostLines = 250

// document stands in a frozen path for the id of the draft that the step before made.
const document = "{document}"

// Prepare freezes the two calls that make a draft.
func (s *Stripe) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	if n := len(inv.Lines); n == 0 || n > mostLines {
		return accounting.Request{}, fmt.Errorf("stripe: %d lines, and an invoice of Stripe has 1 to %d: let the lines be fewer, such as one for each member", n, mostLines)
	}
	lines := make([]form, len(inv.Lines))
	for i, l := range inv.Lines {
		var err error
		if lines[i], err = s.lineForm(l, inv); err != nil {
			return accounting.Request{}, err
		}
	}
	return accounting.Request{Steps: []accounting.Step{
		{Method: http.MethodPost, Path: "/v1/invoices" + late(inv), Body: s.head(inv).encode()},
		{Method: http.MethodPost, Path: "/v1/invoices/" + document + "/add_lines", Body: numbered(lines, none).encode()},
	}}, nil
}

func none(int) form { return nil }

// late is what is sent in place of a due date that is past by then, which Stripe refuses: as many days from the
// day on which the draft is made. It is frozen as a fragment of the path, which is never sent.
func late(inv accounting.Invoice) string {
	if inv.Due.IsZero() {
		return ""
	}
	return "#days_until_due=" + strconv.Itoa(max(1, inv.Date.DaysUntil(inv.Due)))
}

// head is an invoice without lines. A day is noon in UTC, which is that day in nearly every time zone.
func (s *Stripe) head(inv accounting.Invoice) (f form) {
	f.add("customer", inv.Customer)
	f.add("currency", strings.ToLower(string(inv.Currency)))
	f.add("collection_method", "send_invoice") // Who pays by card would be charged by the other one.
	f.add("auto_advance", "false")
	f.add("pending_invoice_items_behavior", "exclude")
	f.add("effective_at", noon(inv.Date))
	if inv.Due.IsZero() {
		f.add("days_until_due", strconv.Itoa(s.settings.days()))
	} else {
		f.add("due_date", noon(inv.Due))
	}
	if title := s.Traits().Limits.Short(inv.Title, 500); title != "" {
		f.add("description", title)
	}
	f.add("discounts", "") // That of the customer would be inherited.
	f.add(metadata, inv.Reference)
	return f
}

func noon(d civil.Date) string {
	return strconv.FormatInt(d.In(time.UTC).Add(12*time.Hour).Unix(), 10)
}

// Create makes the draft, and then its lines. It goes on with the draft of an earlier attempt.
func (s *Stripe) Create(ctx context.Context, key string, req accounting.Request, progress accounting.Progress, save func(accounting.Progress) error) (accounting.Receipt, error) {
	want, err := thaw(req)
	if err != nil {
		return accounting.Receipt{}, fmt.Errorf("%w: stripe: %w", accounting.ErrRejected, err)
	}
	if progress.Done > 0 {
		return s.resume(ctx, key, req, want, progress, save)
	}
	if err := s.pin(ctx); err != nil {
		return accounting.Receipt{}, fmt.Errorf("%w: %w", accounting.ErrNotSent, err)
	}
	made, err := s.begin(ctx, key+"/1", req.Steps[0])
	if err != nil {
		return accounting.Receipt{}, refused(err)
	}
	if made.ID == "" || made.Object != "invoice" {
		return accounting.Receipt{}, s.client.Misread("POST /v1/invoices", errors.New("the answer is not an invoice"))
	}
	if err := save(accounting.Progress{Done: 1, Document: made.ID}); err != nil {
		return accounting.Receipt{}, err
	}
	return s.fill(ctx, key, req, want, made.ID, save)
}

// begin makes the empty draft. One whose due date was refused as past was surely not made, and is asked for under
// a key of its own with the days that were frozen for that.
func (s *Stripe) begin(ctx context.Context, key string, step accounting.Step) (stored, error) {
	path, days, _ := strings.Cut(step.Path, "#")
	made, err := s.send(ctx, key, path, step.Body)
	if days == "" || !errors.Is(err, remote.Rejected) || faultOf(err).Param != "due_date" {
		return made, err
	}
	parts := strings.Split(string(step.Body), "&")
	for i, part := range parts {
		if strings.HasPrefix(part, "due_date=") {
			parts[i] = days
		}
	}
	return s.send(ctx, key+"/late", path, []byte(strings.Join(parts, "&")))
}

// resume goes on with a draft that was begun. The key of its lines may be forgotten by now, so they are sent
// only while there is none.
func (s *Stripe) resume(ctx context.Context, key string, req accounting.Request, want frozen, progress accounting.Progress, save func(accounting.Progress) error) (accounting.Receipt, error) {
	now, err := s.Read(ctx, progress.Document)
	switch {
	case errors.Is(err, accounting.ErrAbsent):
		return now, fmt.Errorf("%w: stripe: draft %s was begun and is gone: somebody deleted it", accounting.ErrRejected, progress.Document)
	case err != nil:
		return now, err
	case now.Bills(want.Invoice) && now.Status != accounting.Void:
		return now, save(accounting.Progress{Done: len(req.Steps), Document: progress.Document})
	case progress.Done < len(req.Steps) && now.Status == accounting.Draft && len(now.Amounts) == 0:
		return s.fill(ctx, key, req, want, progress.Document, save)
	}
	return now, fmt.Errorf("%w: stripe: draft %s was begun, and is %s: somebody changed it before it was finished", accounting.ErrRejected, progress.Document, said(now))
}

// fill gives an empty draft its lines.
func (s *Stripe) fill(ctx context.Context, key string, req accounting.Request, want frozen, id string, save func(accounting.Progress) error) (accounting.Receipt, error) {
	path := strings.Replace(req.Steps[1].Path, document, url.PathEscape(id), 1)
	filled, err := s.send(ctx, key+"/2", path, req.Steps[1].Body)
	if err != nil {
		return accounting.Receipt{}, begun(err, id)
	}
	if err := save(accounting.Progress{Done: 2, Document: id}); err != nil {
		return accounting.Receipt{}, err
	}
	return s.billed(ctx, filled, id, want)
}

// billed returns the receipt of a draft that was written, if it bills what was wanted.
func (s *Stripe) billed(ctx context.Context, inv stored, id string, want frozen) (accounting.Receipt, error) {
	if inv.ID != id {
		return accounting.Receipt{}, fmt.Errorf("stripe: the answer is about invoice %q, and %s was written", inv.ID, id)
	}
	inv, err := s.whole(ctx, inv)
	if err != nil {
		return accounting.Receipt{}, fmt.Errorf("stripe: invoice %s was written, and cannot be read: %w", id, err)
	}
	r, err := s.receipt(inv)
	if err == nil && !r.Bills(want.Invoice) {
		err = fmt.Errorf("stripe: invoice %s was written, and is %s, where %s was wanted: look whether its tax rate is inclusive", id, said(r), r.Currency.Format(want.Net()))
	}
	return r, err
}

// Update gives a draft, if it is as it was left, the lines of a frozen request. Those that it has are changed at
// once, and a second call adds or removes what differs in number. If that one fails, the draft is neither old nor
// new, and the error leaves the outcome unknown: a person is asked. There is no version token: what somebody changes in a line
// between the look and the write is overwritten. Date, due date and title stay.
func (s *Stripe) Update(ctx context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	want, err := thaw(req)
	if err != nil {
		return accounting.Receipt{}, fmt.Errorf("%w: stripe: %w", accounting.ErrRejected, err)
	}
	inv, err := s.untouched(ctx, left)
	if err != nil {
		return accounting.Receipt{}, err
	}
	calls := changes(*inv.Lines.Data, want.lines)
	for n, call := range calls {
		inv, err = s.send(ctx, key+"/"+strconv.Itoa(n+1), "/v1/invoices/"+url.PathEscape(left.ID)+call.path, call.body.encode())
		switch {
		case err == nil, n+1 < len(calls) && s.halfway(ctx, err, left, want):
		case n == 0:
			return accounting.Receipt{}, refused(err)
		default:
			return accounting.Receipt{}, unsettled(err)
		}
	}
	return s.billed(ctx, inv, left.ID, want)
}

// halfway reports whether the first of two calls, whose answer was lost, was done all the same.
func (s *Stripe) halfway(ctx context.Context, err error, left accounting.Receipt, want frozen) bool {
	if !errors.Is(err, remote.Unknown) {
		return false
	}
	both := min(len(left.Amounts), len(want.Lines))
	left.Amounts = append(want.Amounts()[:both:both], left.Amounts[both:]...)
	left.Net = decimal.Sum(decimal.Zero, left.Amounts...)
	now, err := s.Read(ctx, left.ID)
	return err == nil && now.Untouched(left)
}

// untouched reads a draft that must be as it was left.
func (s *Stripe) untouched(ctx context.Context, left accounting.Receipt) (stored, error) {
	inv, err := s.read(ctx, left.ID)
	if errors.Is(err, accounting.ErrAbsent) {
		return inv, fmt.Errorf("stripe: invoice %s: %w: it is gone", left.ID, accounting.ErrTouched)
	}
	var now accounting.Receipt
	if err == nil {
		now, err = s.receipt(inv)
	}
	switch {
	case err != nil:
		return inv, fmt.Errorf("%w: %w", accounting.ErrNotSent, err)
	case !now.Untouched(left):
		return inv, fmt.Errorf("stripe: invoice %s: %w: it is %s", left.ID, accounting.ErrTouched, said(now))
	}
	return inv, nil
}

type change struct {
	path string
	body form
}

// changes returns the calls that turn lines into others.
func changes(has []line, want []form) (calls []change) {
	both := min(len(has), len(want))
	if both > 0 {
		calls = append(calls, change{"/update_lines", numbered(want[:both], func(n int) form { return form{{"[id]", has[n].ID}} })})
	}
	if more := want[both:]; len(more) > 0 {
		calls = append(calls, change{"/add_lines", numbered(more, none)})
	}
	if fewer := has[both:]; len(fewer) > 0 {
		gone := make([]form, len(fewer))
		for i, l := range fewer {
			gone[i] = form{{"[id]", l.ID}, {"[behavior]", "delete"}} // "unassign" would put it on the next invoice.
		}
		calls = append(calls, change{"/remove_lines", numbered(gone, none)})
	}
	return calls
}

// send does one call under its key, and returns the invoice as it is then: an answer that was kept for the key
// tells of the past.
func (s *Stripe) send(ctx context.Context, key, path string, body []byte) (inv stored, err error) {
	answer, err := s.client.Send(ctx, remote.Request{
		Method: http.MethodPost, Path: path, Body: body, Repeatable: true,
		Header: http.Header{"Idempotency-Key": {key}, "Content-Type": {"application/x-www-form-urlencoded"}},
	}, &inv)
	if err != nil || inv.ID == "" || answer.Header.Get("Idempotent-Replayed") != "true" {
		return inv, err
	}
	now, err := s.read(ctx, inv.ID)
	if err != nil {
		return inv, fmt.Errorf("stripe: invoice %s was written before, and cannot be read: %v", inv.ID, err)
	}
	return now, nil
}

// fault is what Stripe says of an error.
type fault struct {
	Type  string `json:"type"`
	Code  string `json:"code"`
	Param string `json:"param"`
}

func faultOf(err error) fault {
	var body struct{ Error fault }
	if e, is := errors.AsType[*remote.Error](err); is {
		_ = json.Unmarshal(e.Body, &body)
	}
	return body.Error
}

// refused says what the error of a first call means. A key that is in use, or was used with other bytes, says
// nothing of what became of the call before.
func refused(err error) error {
	e, is := errors.AsType[*remote.Error](err)
	f := faultOf(err)
	switch {
	case !is, f.Type == "idempotency_error":
		return err
	case f.Code == "invoice_not_editable" && e.Kind == remote.Rejected:
		return fmt.Errorf("%w: %w", accounting.ErrTouched, err)
	case f.Type != "" && (e.Kind == remote.NotFound || e.Kind == remote.Forbidden && e.Status == http.StatusPaymentRequired):
		return fmt.Errorf("%w: %w", accounting.ErrRejected, err)
	}
	return outcome.OfWrite(err)
}

// begun says what the error of a later call means: the draft is there, so nothing is unsent any more.
func begun(err error, id string) error {
	err = refused(err)
	switch {
	case errors.Is(err, accounting.ErrTouched):
		return fmt.Errorf("%w: stripe: draft %s was begun and is none any more: %v", accounting.ErrRejected, id, err)
	case errors.Is(err, accounting.ErrRejected):
		return fmt.Errorf("%w: draft %s was begun and stays without lines: delete it in Stripe before you retry", err, id)
	}
	return unsettled(err)
}

// unsettled leaves an error nothing but a pause: what was done before it stands.
func unsettled(err error) error {
	e, is := errors.AsType[*remote.Error](err)
	switch {
	case !is:
		return err
	case errors.Is(e, remote.Limited), errors.Is(e, remote.Unauthorised), errors.Is(e, remote.Forbidden):
		return fmt.Errorf("%w: %w", accounting.ErrPaused, e)
	}
	return e
}
