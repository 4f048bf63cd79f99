package remote

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/zerolog"
)

const secret = "(secret)"

// hiding replaces the secrets of an account in every form in which they travel.
func hiding(a Account) *strings.Replacer {
	all := slices.Clone(a.Secrets)
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Auth-Token"} {
		if value := a.Header.Get(name); value != "" {
			_, bare, _ := strings.Cut(value, " ")
			all = append(all, value, bare)
		}
	}
	var pairs []string
	for _, s := range all {
		if len(s) < 4 {
			continue // It would black out half of a text and hides nothing.
		}
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s))} {
			pairs = append(pairs, form, secret)
		}
	}
	return strings.NewReplacer(pairs...)
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
func (c *Client) tell(req *http.Request, s Sample, err error) {
	if c.network.options.Observe != nil {
		c.network.options.Observe(s)
	}
	event := c.network.log.Load().Debug()
	if !event.Enabled() {
		return
	}
	var names []string
	for name := range req.URL.Query() {
		names = append(names, name)
	}
	slices.Sort(names)
	event = event.Str("account", c.ID).Str("host", s.Host).Str("method", s.Method).Str("path", c.hide.Replace(req.URL.Path)).
		Strs("query", names).Object("headers", headers{req.Header, c.hide}).Int("status", s.Status).Dur("took", s.Took)
	if err != nil {
		event = event.Str("lost", c.hide.Replace(err.Error()))
	}
	event.Msg("request")
}
