package quickbooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/outcome"
)

// The codes of errors that mean something else than that the request was refused.
const (
	notThere  = "610"
	throttled = "3001"
	stale     = "5010"
	taken     = "6140"
	ended     = "6190" // the subscription
)

// envelope is around every answer. One of status 200 may hold a fault, too.
type envelope struct{ Fault *fault }

func (e envelope) failed() *fault { return e.Fault }

// enveloped is an answer that may be a fault.
type enveloped interface{ failed() *fault }

// fault is why a request was not done.
type fault struct {
	Type  string
	Error []struct {
		Code            remote.ID
		Message, Detail string
	}
}

// text returns the sentences of a fault, each once: the detail mostly repeats the message.
func (f fault) text() string {
	var all []string
	for _, e := range f.Error {
		switch {
		case e.Detail == "" || strings.EqualFold(e.Detail, e.Message):
			all = append(all, e.Message)
		case strings.HasPrefix(e.Detail, e.Message):
			all = append(all, e.Detail)
		default:
			all = append(all, e.Message+": "+e.Detail)
		}
	}
	return remote.Short(strings.Join(all, "; "))
}

func (f fault) has(codes ...string) bool {
	for _, e := range f.Error {
		if slices.Contains(codes, string(e.Code)) {
			return true
		}
	}
	return false
}

// pauses reports whether the same would be said of any other request: of the sign-in, the subscription or the
// rate.
func (f fault) pauses() bool {
	if strings.HasPrefix(strings.ToLower(f.Type), "auth") {
		return true
	}
	for _, e := range f.Error {
		if e.Code == throttled || e.Code == ended || len(e.Code) == 4 && (e.Code[:2] == "31" || e.Code[:2] == "32") {
			return true
		}
	}
	return false
}

var bearer = regexp.MustCompile(`TxnType=(\w+)`)

// taken reports whether the number that was sent may be borne by what an earlier attempt of ours made. That can
// only be an estimate.
func (f fault) taken() bool {
	if !f.has(taken) {
		return false
	}
	for _, e := range f.Error {
		if m := bearer.FindStringSubmatch(e.Detail + " " + e.Message); m != nil && !strings.EqualFold(m[1], "Estimate") {
			return false
		}
	}
	return true
}

// checked returns the error of an answer that says of itself that it is none.
func (q *QuickBooks) checked(asked string, a remote.Answer, f *fault, err error) error {
	if err != nil || f == nil {
		return err
	}
	kind := remote.Rejected
	if a.Again {
		kind = remote.Unknown // The attempt before this answer may have been executed.
	}
	return &remote.Error{Kind: kind, Vendor: q.client.Vendor, Asked: asked, Status: a.Status, Body: a.Body}
}

// faultOf returns what QuickBooks says of an error, and puts its sentences into it. Refused says that it was
// understood, and not done.
func faultOf(err error) (f fault, refused bool) {
	e, is := errors.AsType[*remote.Error](err)
	if !is || len(e.Body) == 0 {
		return f, false
	}
	var answer envelope
	if json.Unmarshal(e.Body, &answer) != nil || answer.Fault == nil {
		return f, false
	}
	f = *answer.Fault
	if text := f.text(); text != "" {
		e.Text = text
	}
	if e.Kind == remote.Rejected && f.Type != "" && f.Type != "ValidationFault" && !f.pauses() {
		e.Kind = remote.Unknown // A fault of the service, not of the request.
	}
	return f, e.Kind == remote.Rejected
}

// ofWrite says what the error of a write means. A number that is taken says nothing of an earlier attempt: that
// has to be looked up.
func ofWrite(err error) error {
	f, refused := faultOf(err)
	switch {
	case refused && f.pauses():
		return fmt.Errorf("%w, %w: %w", accounting.ErrNotSent, accounting.ErrPaused, err)
	case refused && f.has(stale):
		return fmt.Errorf("%w: %w", accounting.ErrTouched, err)
	case refused && f.taken():
		return err
	}
	return outcome.OfWrite(err)
}

// ofRead says what the error of a look-up means.
func ofRead(err error) error {
	if f, refused := faultOf(err); refused && f.pauses() {
		return fmt.Errorf("%w: %w", accounting.ErrPaused, err)
	}
	return outcome.OfRead(err)
}
