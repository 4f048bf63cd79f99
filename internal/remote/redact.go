package remote

import (
	"bytes"
	"encoding/base64"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

const secret = "(secret)"

// secretsOf returns the secrets of an account, those in its headers with them.
func secretsOf(a Account) []string {
	all := slices.Clone(a.Secrets)
	for name, values := range a.Header {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "X-Api-Key", "X-Api-Token", "X-Auth-Token":
			for _, value := range values {
				all = append(all, credentials(value)...)
			}
		}
	}
	return all
}

// credentials returns the value of a header, and what follows the scheme in it.
func credentials(value string) []string {
	_, bare, _ := strings.Cut(value, " ")
	return []string{value, bare}
}

// hiding replaces secrets in every form in which they travel.
func hiding(secrets []string) *strings.Replacer {
	var all []string
	for _, s := range secrets {
		if len(s) < 4 {
			continue // It would black out half of a text and hides nothing.
		}
		all = append(all, forms(s)...)
	}
	// The longest first: a short one that begins a long one would leave the rest of that to be read.
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range all {
		pairs = append(pairs, form, secret)
	}
	return strings.NewReplacer(pairs...)
}

// forms returns how a text is written in URLs, in pages, in base64, in JSON, in errors of Go, and in JSON or an
// error that another holds.
func forms(s string) []string {
	all := []string{
		s, url.QueryEscape(s), url.PathEscape(s), lower(url.QueryEscape(s)), lower(url.PathEscape(s)),
		base64.StdEncoding.EncodeToString([]byte(s)),
	}
	once := append(quoted(s), html.EscapeString(s))
	all = append(all, once...)
	for _, form := range once {
		all = append(all, quoted(form)...)
	}
	return all
}

// quoted returns how a text is written between quotes: plainly, with the signs of HTML escaped, and slashes.
func quoted(s string) []string {
	plain := strconv.Quote(s)
	plain = plain[1 : len(plain)-1]
	signs := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(plain)
	return []string{plain, signs, strings.ReplaceAll(plain, "/", `\/`), strings.ReplaceAll(signs, "/", `\/`)}
}

// lower writes the digits of an escaped text small: %2f.
func lower(escaped string) string {
	text := []byte(escaped)
	for i, b := range text {
		if b == '%' && i+2 < len(text) {
			copy(text[i+1:], bytes.ToLower(text[i+1:i+3]))
		}
	}
	return string(text)
}

// shown says which headers of a request may be seen in a log.
func shown(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Content-Type", "Content-Length", "User-Agent", "Idempotency-Key", "Retry-After", "Date", "X-Request-Id":
		return true
	}
	return false
}

// headers writes headers to a log: those that cannot hold a secret as they are, of all others the name.
type headers struct {
	http.Header
	hide *strings.Replacer
}

// MarshalZerologObject writes the headers in the order of their names.
func (h headers) MarshalZerologObject(e *zerolog.Event) {
	for _, name := range slices.Sorted(maps.Keys(h.Header)) {
		value := secret
		if shown(name) {
			value = h.hide.Replace(strings.Join(h.Header[name], ", "))
		}
		e.Str(strings.ToLower(name), value)
	}
}

// tell tells of one attempt. Of the query only the names are shown.
func (c *call) tell(req *http.Request, s Sample, err error) {
	if c.client.network.options.Observe != nil {
		c.client.network.options.Observe(s)
	}
	event := c.client.network.log.Load().Debug().Ctx(req.Context())
	if !event.Enabled() {
		return
	}
	var names []string
	for name := range req.URL.Query() {
		names = append(names, name)
	}
	slices.Sort(names)
	event = event.Str("account", c.client.ID).Str("host", s.Host).Str("method", s.Method).Str("path", c.clear(req.URL.Path)).
		Strs("query", names).Object("headers", headers{req.Header, c.hide}).Int("status", s.Status).Dur("took", s.Took)
	if err != nil {
		event = event.Str("lost", c.plain(err).Error())
	}
	event.Msg("request")
}
