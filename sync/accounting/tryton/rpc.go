package tryton

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/outcome"
)

const (
	language = "en"
	loginID  = 0
)

// request has exactly these three members: with any other set Tryton answers without an envelope.
type request struct {
	ID     int64  `json:"id"`
	Method string `json:"method"`
	Params []any  `json:"params"`
}

// answer is an envelope. An error is in it though the status is 200.
type answer struct {
	ID     *int64            `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  []json.RawMessage `json:"error"`
}

// errConcurrent is what Tryton says where a record is no longer as a timestamp of the request says.
var errConcurrent = errors.New("modified in the meanwhile")

// result reads the answer to a request into a value, or returns the error that it is.
func (a answer) result(client *remote.Client, r request, reads bool, into any) error {
	malformed := func(cause error) error {
		kind := remote.Unknown
		if reads {
			kind = remote.Malformed
		}
		return &remote.Error{Kind: kind, Vendor: client.Vendor, Asked: r.Method, Cause: cause}
	}
	switch {
	case a.ID == nil || *a.ID != r.ID:
		return malformed(errors.New("the answer is not that to the request"))
	case a.Error != nil:
		return a.fault(client, r.Method, reads)
	case a.Result == nil:
		return malformed(errors.New("the answer holds no result"))
	}
	if err := json.Unmarshal(a.Result, into); err != nil {
		return malformed(err)
	}
	return nil
}

// fault returns the error of an answer. A read is refused for want of rights alone; what Tryton did not foresee
// leaves the outcome of a write unknown.
func (a answer) fault(client *remote.Client, method string, reads bool) error {
	name, text := a.said()
	e := &remote.Error{Kind: remote.Unknown, Vendor: client.Vendor, Asked: method, Text: remote.Short(text)}
	switch {
	case name == "ConcurrencyException":
		return fmt.Errorf("tryton: %s: %w", method, errConcurrent)
	case name == "LoginException":
		e.Kind = remote.Unauthorised
	case name == "UserError" || name == "UserWarning":
		if e.Kind = remote.Rejected; reads {
			e.Kind = remote.Forbidden
		}
	case reads:
		e.Kind = remote.Unavailable
	}
	return e
}

// said returns the kind of an error and its sentence: a UserError is [message, description, domain], a
// UserWarning [name, message, description]; anything else is the sentence and a traceback, which is not shown.
func (a answer) said() (name, text string) {
	if len(a.Error) == 0 || json.Unmarshal(a.Error[0], &name) != nil {
		return "", "an error without a name"
	}
	var parts []any
	if len(a.Error) < 2 || json.Unmarshal(a.Error[1], &parts) != nil {
		return name, name
	}
	if name == "UserWarning" && len(parts) > 0 {
		parts = parts[1:]
	}
	var texts []string
	for _, part := range parts[:min(len(parts), 2)] {
		if one, is := part.(string); is && one != "" {
			texts = append(texts, one)
		}
	}
	return name, strings.Join(texts, " ")
}

// call sends a request once it is signed in.
func (t *Tryton) call(ctx context.Context, reads bool, method string, into any, params ...any) error {
	r := request{t.serial.Add(1), method, params}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("tryton: %s: %w", method, err)
	}
	var a answer
	if _, err := t.client.Send(ctx, remote.Request{Method: http.MethodPost, Path: t.session.path, Body: body, ReadOnly: reads}, &a); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return a.result(t.client, r, reads, into)
}

// read asks. A session that has ended is opened once more.
func (t *Tryton) read(ctx context.Context, method string, into any, params ...any) error {
	var err error
	for range 2 {
		if err = t.session.open(ctx); err != nil {
			break
		}
		err = t.call(ctx, true, method, into, append(params, t.context(nil))...)
		if outcome.Status(err) != http.StatusUnauthorized {
			break
		}
	}
	return outcome.OfRead(err)
}

// write changes something, and is sent once: an answer of 401 may come from a proxy behind which it was done.
func (t *Tryton) write(ctx context.Context, method string, into any, stamps map[string]string, params ...any) error {
	if err := t.session.open(ctx); err != nil {
		return fmt.Errorf("%w: %w", accounting.ErrNotSent, outcome.OfRead(err))
	}
	return outcome.OfWrite(t.call(ctx, false, method, into, append(params, t.context(stamps))...))
}

// context is the last parameter of every method. Stamps name records that must be as they were read.
func (t *Tryton) context(stamps map[string]string) map[string]any {
	c := map[string]any{"company": t.settings.Company, "language": language}
	if len(stamps) > 0 {
		c["_timestamp"] = stamps
	}
	return c
}

// search reads records in pages, so that none is left out, and yields each page.
func search[T any](ctx context.Context, t *Tryton, model string, domain []any, order []any, fields []string) (all []T, err error) {
	for {
		var page []T
		if err := t.read(ctx, "model."+model+".search_read", &page, domain, len(all), pageSize, order, fields); err != nil {
			return nil, err
		}
		if page == nil {
			return nil, t.client.Misread(model, errors.New("the answer is not a list"))
		}
		if all = append(all, page...); len(page) < pageSize {
			return all, nil
		}
	}
}

// where is one condition of a domain.
func where(field, operator string, value any) []any { return []any{field, operator, value} }

// by orders by fields, the first one first.
func by(fields ...string) (order []any) {
	for _, f := range fields {
		order = append(order, []string{f, "ASC"})
	}
	return order
}
