package tryton

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"tidemark/sync/accounting"
)

const (
	creates = "model." + invoiceModel + ".create"
	changes = "model." + invoiceModel + ".write"
	stages  = "model." + lineModel + ".create"
)

// Prepare freezes the creation of a draft. Tryton works taxes out only when an invoice is written once more,
// which is the second step where there are any.
func (t *Tryton) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	h, lines, text, err := t.invoice(inv)
	if err != nil {
		return accounting.Request{}, err
	}
	parts := map[string]any{"head": h, "lines": lines}
	if t.settings.Guard == guardLine {
		parts["staged"] = text
	}
	body, err := json.Marshal(parts)
	if err != nil {
		return accounting.Request{}, fmt.Errorf("tryton: %w", err)
	}
	steps := []accounting.Step{{Method: http.MethodPost, Path: creates, Body: body}}
	if inv.Tax != "" {
		steps = append(steps, accounting.Step{Method: http.MethodPost, Path: changes, Body: []byte("{}")})
	}
	return accounting.Request{Steps: steps}, nil
}

// Create makes the draft and lets Tryton work out its taxes.
func (t *Tryton) Create(ctx context.Context, _ string, req accounting.Request, progress accounting.Progress, save func(accounting.Progress) error) (accounting.Receipt, error) {
	if progress.Done == 0 {
		id, err := t.make(ctx, req.Steps[0], progress.Document, save)
		if err != nil {
			return accounting.Receipt{}, err
		}
		progress = accounting.Progress{Done: 1, Document: id}
		if len(req.Steps) > 1 {
			if err := save(progress); err != nil {
				return accounting.Receipt{}, fmt.Errorf("tryton: invoice %s: %w", id, err)
			}
		}
	}
	if err := t.finish(ctx, req, progress); err != nil {
		return accounting.Receipt{}, made(progress.Document, err)
	}
	r, err := t.Read(ctx, progress.Document)
	if err != nil {
		return r, made(progress.Document, err)
	}
	return r, nil
}

// made is an error after the invoice was made: whatever it says of itself, it is never a refusal.
func made(id string, err error) error {
	if errors.Is(err, accounting.ErrPaused) {
		return fmt.Errorf("tryton: invoice %s was made: %w: %v", id, accounting.ErrPaused, err)
	}
	return fmt.Errorf("tryton: invoice %s was made: %v", id, err)
}

// finish does the second step. Repeating it does no harm.
func (t *Tryton) finish(ctx context.Context, req accounting.Request, progress accounting.Progress) error {
	if progress.Done >= len(req.Steps) {
		return nil
	}
	id, err := strconv.ParseInt(progress.Document, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not an id", progress.Document)
	}
	var none any
	return t.write(ctx, changes, &none, nil, []int64{id}, json.RawMessage(req.Steps[1].Body))
}

// make creates the invoice, from the line that was staged for it where there is one, and returns its id.
func (t *Tryton) make(ctx context.Context, step accounting.Step, document string, save func(accounting.Progress) error) (string, error) {
	var f frozen
	if err := json.Unmarshal(step.Body, &f); err != nil {
		return "", fmt.Errorf("%w: tryton: frozen request: %w", accounting.ErrRejected, err)
	}
	if err := t.address(ctx, f.Head); err != nil {
		return "", err
	}
	if f.Staged == nil {
		return t.commit(ctx, f, nil)
	}
	s, err := parseStage(document)
	if document == "" {
		if s, err = t.stage(ctx, f); err == nil {
			err = save(accounting.Progress{Document: s.String()})
		}
		err = unsent(err)
	}
	if err != nil {
		return "", err
	}
	return t.commit(ctx, f, &s)
}

// unsent is an error before the invoice was asked for. Where it is no refusal, the same may be tried again.
func unsent(err error) error {
	if err == nil || errors.Is(err, accounting.ErrRejected) || errors.Is(err, errTaken) {
		return err
	}
	return fmt.Errorf("%w: %w", accounting.ErrNotSent, err)
}

// commit creates the invoice. The line that was staged is taken in the same transaction, under its timestamp, so
// that of any number of commits one has an effect.
func (t *Tryton) commit(ctx context.Context, f frozen, s *stage) (string, error) {
	lines := []any{[]any{"create", f.Lines}}
	var stamps map[string]string
	if s != nil {
		lines = []any{[]any{"add", []int64{s.line}}, lines[0]}
		stamps = map[string]string{stampOf(s.line): s.stamp}
	}
	raw, err := json.Marshal(lines)
	if err != nil {
		return "", fmt.Errorf("%w: tryton: %w", accounting.ErrRejected, err)
	}
	f.Head["lines"] = raw
	var ids []int64
	err = t.write(ctx, creates, &ids, stamps, []any{f.Head})
	switch {
	case errors.Is(err, errConcurrent) && s != nil:
		return "", t.taken(ctx, f, *s)
	case err != nil:
		return "", err
	case len(ids) != 1:
		return "", fmt.Errorf("tryton: %s: the answer holds %d ids, not one", creates, len(ids))
	}
	return strconv.FormatInt(ids[0], 10), nil
}

// address adds to a head what hangs on the customer: an address, an account, and the payment term where no due
// date is set.
func (t *Tryton) address(ctx context.Context, h map[string]json.RawMessage) error {
	list, err := search[struct {
		Receivable *int64 `json:"account_receivable"`
		Term       *int64 `json:"customer_payment_term"`
		Addresses  []struct {
			ID      int64
			Invoice truth
		} `json:"addresses."`
	}](ctx, t, "party.party", []any{where("id", "=", h["party"])}, nil, []string{"account_receivable", "customer_payment_term", "addresses.invoice"})
	switch {
	case err != nil:
		return unsent(err)
	case len(list) == 0:
		return fmt.Errorf("%w: tryton: there is no party %s", accounting.ErrRejected, h["party"])
	case len(list[0].Addresses) == 0:
		return fmt.Errorf("%w: tryton: party %s has no address: give it one", accounting.ErrRejected, h["party"])
	}
	p := list[0]
	address, account := p.Addresses[0].ID, t.settings.Receivable
	for _, a := range p.Addresses {
		if a.Invoice {
			address = a.ID
			break
		}
	}
	if p.Receivable != nil {
		account = *p.Receivable
	}
	h["invoice_address"], h["account"] = id(address), id(account)
	if h["payment_term_date"] == nil && p.Term != nil {
		h["payment_term"] = id(*p.Term)
	}
	return nil
}

func id(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

// Update gives a draft, if it is as it was left, the lines of a frozen request. Tryton refuses the write if the
// invoice or one of its lines was changed since it was looked at.
func (t *Tryton) Update(ctx context.Context, _ string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	var f frozen
	if err := json.Unmarshal(req.Steps[0].Body, &f); err != nil {
		return accounting.Receipt{}, fmt.Errorf("%w: tryton: frozen request: %w", accounting.ErrRejected, err)
	}
	s, err := t.untouched(ctx, left)
	if err != nil {
		return accounting.Receipt{}, err
	}
	var old []int64
	for _, l := range *s.Lines {
		if l.Type == "line" {
			old = append(old, l.ID)
		}
	}
	values := map[string]any{"description": f.Head["description"], "invoice_date": f.Head["invoice_date"], "lines": []any{[]any{"delete", old}, []any{"create", f.Lines}}}
	if due := f.Head["payment_term_date"]; due != nil {
		values["payment_term_date"] = due
	}
	var none any
	err = t.write(ctx, changes, &none, s.stamps(), []json.RawMessage{json.RawMessage(s.ID)}, values)
	switch {
	case errors.Is(err, errConcurrent):
		return accounting.Receipt{}, fmt.Errorf("tryton: invoice %s: %w: %w", left.ID, accounting.ErrTouched, err)
	case err != nil:
		return accounting.Receipt{}, err
	}
	r, err := t.Read(ctx, left.ID)
	if err != nil {
		return r, made(left.ID, err)
	}
	return r, nil
}

// untouched reads a draft and holds that it is as it was left. Nothing was sent.
func (t *Tryton) untouched(ctx context.Context, left accounting.Receipt) (stored, error) {
	s, err := t.one(ctx, left.ID)
	switch {
	case errors.Is(err, accounting.ErrAbsent):
		return s, fmt.Errorf("tryton: invoice %s: %w: it is gone", left.ID, accounting.ErrTouched)
	case err != nil:
		return s, unsent(err)
	}
	now, err := t.receipt(s)
	switch {
	case err != nil:
		return s, unsent(err)
	case !now.Untouched(left):
		return s, fmt.Errorf("tryton: invoice %s: %w: it is %s, %s", left.ID, accounting.ErrTouched, now.Status, now.Currency.Format(now.Net))
	}
	return s, nil
}
