package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// Get reads what is at a path into a value. Members that the value does not have are left alone.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) (Answer, error) {
	return c.decoded(ctx, Request{Path: path, Query: query}, into)
}

// Search reads with a POST that changes nothing. Its body is what is asked for.
func (c *Client) Search(ctx context.Context, path string, query url.Values, asked, into any) (Answer, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: POST %s: %w", c.Vendor, path, err)
	}
	return c.decoded(ctx, Request{Method: http.MethodPost, Path: path, Query: query, Body: body, ReadOnly: true}, into)
}

func (c *Client) decoded(ctx context.Context, r Request, into any) (Answer, error) {
	k := c.call(ctx, r)
	answer, err := k.do()
	if err != nil {
		return answer, err
	}
	if err := answer.Decode(into); err != nil {
		return answer, c.Misread(k.clear(k.Method+" "+r.Path), errors.New(k.clear(err.Error())))
	}
	return answer, nil
}

// Send does a request that may write, and reads its answer into a value. An answer that cannot be read leaves
// the outcome unknown, unless the request only reads.
func (c *Client) Send(ctx context.Context, r Request, into any) (Answer, error) {
	answer, err := c.decoded(ctx, r, into)
	if e, is := errors.AsType[*Error](err); is && e.Kind == Malformed && !r.ReadOnly && r.Method != http.MethodGet && r.Method != "" {
		e.Kind = Unknown
	}
	return answer, err
}

// Misread is the error of an answer that is not what it should be. Asked names the method and path, or the
// record.
func (c *Client) Misread(asked string, cause error) error {
	asked, _, _ = strings.Cut(asked, "?")
	return &Error{Kind: Malformed, Vendor: c.Vendor, Asked: c.hide.Replace(asked), Cause: cause}
}

// Decode reads the one JSON value that the answer is.
func (a Answer) Decode(into any) error {
	if err := a.decodable(); err != nil {
		return err
	}
	if string(bytes.TrimSpace(a.Body)) == "null" && record(into) {
		return errors.New("the answer is null")
	}
	d := json.NewDecoder(bytes.NewReader(a.Body))
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the answer is cut short")
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the answer")
	}
	return nil
}

// record reports whether a value has members: null would leave all of them as if each were zero.
func record(into any) bool {
	_, reads := into.(json.Unmarshaler)
	t := reflect.TypeOf(into)
	return !reads && t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// decodable returns why an answer cannot be the JSON that was asked for; nil if it can.
func (a Answer) decodable() error {
	body := bytes.TrimSpace(a.Body)
	switch {
	case len(body) == 0:
		return errors.New("the answer is empty")
	case body[0] == '<':
		return errors.New("the answer is a page, not JSON: set the right url, or look for a proxy in between")
	}
	return nil
}
