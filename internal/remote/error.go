package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Kind says what an error of a request means. Test for one with [errors.Is].
type Kind string

// The kinds of error.
const (
	Unauthorised Kind = "not signed in"         // the credentials are wrong, or no longer good
	Forbidden    Kind = "not allowed"           // the account's plan or the user's permissions do not cover it
	NotFound     Kind = "not there"             // nothing, or nothing any more, under this address
	Rejected     Kind = "refused"               // understood and refused; the same request cannot succeed
	Limited      Kind = "too many requests"     // not executed; the same may be asked again at Until
	Unavailable  Kind = "not available"         // a read without an answer, or a write that was surely not sent
	Malformed    Kind = "not understood"        // an answer to a read that is not what it should be
	Unknown      Kind = "outcome unknown"       // a write that may have had its effect
	Moved        Kind = "redirected elsewhere"  // the address leads where credentials or a write do not follow
	Stopped      Kind = "stopped while waiting" // the context ended
)

// Error returns the kind in words.
func (k Kind) Error() string { return string(k) }

// Error is what became of a request. It shows neither secrets nor the query.
type Error struct {
	Kind   Kind
	Vendor string
	Asked  string // method and path
	Status int    // 0: no answer
	Text   string // the vendor's own sentence; may be empty
	Until  time.Time
	Cause  error
	Body   []byte // of the answer, as it came: for the adaptor, never for people
}

// Error says who was asked what, and what came of it.
func (e *Error) Error() string {
	parts := []string{e.Vendor, e.Asked, string(e.Kind)}
	if e.Status != 0 {
		parts[2] += fmt.Sprintf(" (%d %s)", e.Status, http.StatusText(e.Status))
	}
	if !e.Until.IsZero() {
		parts[2] += ", not before " + e.Until.UTC().Format(time.RFC3339)
	}
	if e.Text != "" {
		parts = append(parts, e.Text)
	}
	if e.Cause != nil {
		parts = append(parts, e.Cause.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

// ParkedUntil returns when the account may be asked again; zero for any other error.
func (e *Error) ParkedUntil() time.Time { return e.Until }

// outcome turns what a call ended with into its error; nil if it ended well.
func (c *call) outcome(err error) error {
	e := &Error{Vendor: c.client.Vendor}
	signIn, unsigned := errors.AsType[*signInError](err)
	held, parked := errors.AsType[*parkedError](err)
	switch {
	case c.ctx.Err() != nil && (err != nil || c.answer.Status == 0):
		e.Kind, e.Cause = c.halted(Stopped), c.ctx.Err()
	case errors.Is(err, errNoTime):
		e.Kind, e.Cause = c.halted(Stopped), err
	case parked:
		e.Kind, e.Until = c.halted(Limited), held.until
	case unsigned:
		e.Kind, e.Cause = Unauthorised, &hidden{c.clear(signIn.Error()), signIn.error}
	case errors.Is(err, errElsewhere):
		e.Kind, e.Cause = Moved, c.plain(err)
	case err != nil:
		e.Kind, e.Cause = c.lost(err), c.plain(err)
	case c.answer.Status >= 200 && c.answer.Status < 300:
		return nil
	default:
		c.refused(e)
	}
	e.Asked = c.clear(c.Method + " " + c.Path)
	if c.done && !c.ReadOnly {
		e.Kind = Unknown // Whatever the last attempt came to, one before it may have had its effect.
	}
	return e
}

// halted returns the kind of a call that ended between two attempts, or before the first.
func (c *call) halted(kind Kind) Kind {
	if c.sent && !c.ReadOnly {
		return Unknown
	}
	return kind
}

// refused fills in what a whole answer outside of 2xx says.
func (c *call) refused(e *Error) {
	if c.answer.Status == http.StatusUnauthorized && c.client.Refused != nil {
		c.client.Refused(c.authorization)
	}
	e.Status, e.Kind, e.Text, e.Body = c.answer.Status, c.kind(), c.sentence(), c.answer.Body
	e.Until = c.until
	if e.Kind == Moved {
		e.Text, e.Cause = "", errRedirected
	}
}

// lost says what an attempt means that got no whole answer.
func (c *call) lost(err error) Kind {
	switch {
	case errors.Is(err, errTooLarge) && c.ReadOnly:
		return Malformed
	case c.ReadOnly || !c.sent:
		return Unavailable
	}
	return Unknown
}

// kind says what the status of the last answer means.
func (c *call) kind() Kind {
	switch status := c.answer.Status; {
	case status == http.StatusUnauthorized:
		return Unauthorised
	case status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return Forbidden
	case status == http.StatusNotFound, status == http.StatusGone:
		return NotFound
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && !c.until.IsZero() && c.ReadOnly:
		return Limited
	case status >= 300 && status < 400 && c.ReadOnly, movedForGood(status):
		return Moved
	case status != http.StatusRequestTimeout && status != http.StatusTooEarly && status >= 400 && status < 500:
		return Rejected
	case c.ReadOnly:
		return Unavailable
	}
	return Unknown
}

// movedForGood tells the redirects that mean: ask there in place of here. The others may follow a write that
// was done.
func movedForGood(status int) bool {
	return status == http.StatusMovedPermanently || status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
}

// plain strips what net/http puts around an error: it holds the whole URL.
func (c *call) plain(err error) error {
	for around, ok := errors.AsType[*url.Error](err); ok; around, ok = errors.AsType[*url.Error](err) {
		err = around.Err
	}
	return &hidden{c.clear(err.Error()), err}
}

// hidden is an error whose text was cleared of secrets.
type hidden struct {
	text  string
	cause error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.cause }

// sentence returns what the vendor says of the error, short enough to read and cleared of secrets.
func (c *call) sentence() string {
	text := strings.TrimSpace(string(c.answer.Body))
	if strings.HasPrefix(text, "<") {
		return "an HTML page"
	}
	var said any
	if json.Unmarshal(c.answer.Body, &said) == nil {
		text = spoken(said, 0)
	}
	return Short(c.clear(text))
}

// clear takes the secrets out of a text.
func (c *call) clear(text string) string { return c.hide.Replace(text) }

// spoken finds the sentence in the shapes in which vendors wrap it.
func spoken(said any, depth int) string {
	switch said := said.(type) {
	case string:
		return said
	case []any:
		for _, one := range said {
			if text := spoken(one, depth+1); text != "" {
				return text
			}
		}
	case map[string]any:
		for _, name := range []string{"message", "Message", "error_description", "detail", "Detail", "error", "errors", "errorMessages"} {
			if text := spoken(said[name], depth+1); text != "" && depth < 4 {
				return text
			}
		}
	}
	return ""
}

// Short makes one line of at most 300 characters of what a vendor says.
func Short(text string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	runes := []rune(strings.Join(strings.Fields(clean), " "))
	if len(runes) > 300 {
		return string(runes[:299]) + "…"
	}
	return string(runes)
}
