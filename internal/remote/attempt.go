package remote

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// attempts makes single attempts, and tells of each.
type attempts struct{ *call }

// RoundTrip sends once.
func (a attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	a.done = a.done || a.sent
	resp, err := a.client.network.options.Transport.RoundTrip(req)
	a.sent = mayHaveEffect(resp, err)
	s := Sample{Account: a.client.ID, Host: req.URL.Host, Method: req.Method, Took: time.Since(began)}
	if resp != nil {
		s.Status = resp.StatusCode
	}
	a.tell(req, s, err)
	return resp, err
}

// mayHaveEffect reports whether an attempt may have done what it asked for: not one that never left, and not
// one that was answered with a refusal.
func mayHaveEffect(resp *http.Response, err error) bool {
	if err != nil {
		return !neverLeft(err)
	}
	if status := resp.StatusCode; status == http.StatusRequestTimeout || status == http.StatusTooEarly {
		return true
	}
	return resp.StatusCode < 400 || resp.StatusCode >= 500
}

// neverLeft reports whether an attempt ended before there was a connection to send it over.
func neverLeft(err error) bool {
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return true
	}
	dial, is := errors.AsType[*net.OpError](err)
	return is && (dial.Op == "dial" || dial.Op == "proxyconnect")
}
