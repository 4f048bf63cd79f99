package remote

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// ParseBase reads the base URL of an API. Without TLS only this machine may be meant: a token would
// otherwise travel in the clear.
func ParseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("not a URL: write one such as https://example.com/api")
	case base.Hostname() == "" || base.Scheme != "https" && base.Scheme != "http":
		return nil, errors.New("not an http URL: write one such as https://example.com/api")
	case base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New("a URL with a name, a query or a fragment: write scheme, host and path only")
	case base.Scheme == "http" && !loopback(base.Hostname()):
		return nil, fmt.Errorf("http://%s would carry the token in the clear: use https", base.Host)
	}
	base.RawPath = strings.TrimRight(base.EscapedPath(), "/") // A slash that is escaped belongs to a name.
	base.Path, err = url.PathUnescape(base.RawPath)
	return base, err
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

// within reports whether a URL leads to the scheme, host and port of a base, and bears no name of its own.
func within(base, target *url.URL) bool {
	return target.Scheme == base.Scheme && target.User == nil && strings.EqualFold(target.Hostname(), base.Hostname()) && port(target) == port(base)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}
