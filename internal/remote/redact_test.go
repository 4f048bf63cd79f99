package remote_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

// key has what each form of writing escapes, and key2 begins with it.
const (
	key  = `s3cr3t/+"<&>\key`
	key2 = key + `-and-more`
)

// written returns how a vendor may write a secret back.
func written(s string) map[string]string {
	quoted, _ := json.Marshal(s)
	inner := string(quoted[1 : len(quoted)-1])
	return map[string]string{
		"as it is":            s,
		"in JSON":             inner,
		"in JSON of Go":       strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(inner),
		"in JSON of PHP":      strings.ReplaceAll(inner, "/", `\/`),
		"in a query":          url.QueryEscape(s),
		"in a path":           url.PathEscape(s),
		"in a query of C#":    strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3C", "%3c", "%3E", "%3e", "%5C", "%5c").Replace(url.QueryEscape(s)),
		"in a page":           html.EscapeString(s),
		"in basic sign-in":    base64.StdEncoding.EncodeToString([]byte(s)),
		"in an error of Go":   strings.Trim(fmt.Sprintf("%q", "|"+s+"|"), `"|`),
		"twice, side by side": s + s,
	}
}

// wantHidden fails if any half of a secret can be read.
func wantHidden(t *testing.T, where, text string) {
	t.Helper()
	for _, part := range []string{"s3cr3t", "and-more", "czNjcjN0"} {
		if strings.Contains(text, part) {
			t.Errorf("%s shows %q: %s", where, part, text)
		}
	}
}

func TestNoSecretIsShownWhereverTheVendorPutsIt(t *testing.T) {
	for form, echo := range written(key2) {
		for place, answer := range map[string]func(http.ResponseWriter, *http.Request, int){
			"a text":               bodyWith(400, "invalid: "+echo+"."),
			"a JSON message":       bodyWith(403, object("message", "invalid: "+echo)),
			"JSON within a text":   bodyWith(422, object("message", object("token", echo))),
			"JSON that is cut":     bodyWith(500, object("message", echo)[:len(object("message", echo))-1]),
			"an answer to a read":  text(object("id", "invalid "+echo) + "x"),
			"a time":               text(object("made", echo)),
			"an id":                text(`{"id":[` + object("x", echo) + `]}`),
			"a redirect":           statusWith(302, "Location", "http://evil.example/?token="+url.QueryEscape(echo)),
			"a redirect to a path": statusWith(302, "Location", "http://evil.example/"+url.PathEscape(echo)),
		} {
			bubble(t, form+", in "+place, func(t *testing.T) {
				for name, a := range accounts() {
					v := serve(t, answer)
					var log bytes.Buffer
					net := remote.New(remote.Options{Transport: v.transport, Log: zerolog.New(&log)})
					_, err := clientOf(t, net, a).Get(t.Context(), "/x", nil, &invoice{})
					if err == nil {
						t.Fatal("there is no error")
					}
					wantHidden(t, name+": the error", err.Error())
					wantHidden(t, name+": the log", log.String())
				}
			})
		}
	}
}

// accounts returns the ways in which an account bears the secret key2.
func accounts() map[string]remote.Account {
	authorize := func(value string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return value, nil }
	}
	return map[string]remote.Account{
		"named":               {Secrets: []string{"", "abc", key, key2}},
		"in a header":         {Header: http.Header{"x-api-key": {key2}}},
		"behind a scheme":     {Header: http.Header{"Authorization": {"Bearer " + key2}}},
		"changing":            {Authorize: authorize("Bearer " + key2)},
		"changing, no scheme": {Authorize: authorize(key2)},
	}
}

func object(name, value string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]string{name: value})
	return strings.TrimSpace(b.String())
}

func TestNoSecretIsShownOfWhatIsSent(t *testing.T) {
	for _, fault := range []remotetest.Fault{remotetest.Status(500), remotetest.Status(401), remotetest.Reset, remotetest.Silence, remotetest.Short, remotetest.HTML, remotetest.Quota} {
		for _, account := range []string{"named", "in a header", "changing"} {
			bubble(t, string(fault)+", "+account, func(t *testing.T) {
				var log bytes.Buffer
				var told []remote.Sample
				net := remote.New(remote.Options{
					Transport: serve(t, always(fault)).transport, Log: zerolog.New(&log), Observe: func(s remote.Sample) { told = append(told, s) },
				})
				a := accounts()[account]
				a.Header = http.Header{"X-Other": {"and-more-of-it"}, "X-Api-Key": {key2}}
				c := clientOf(t, net, a)
				_, err := c.Send(t.Context(), remote.Request{
					Method: "PUT", Path: "/of/" + url.PathEscape(key2), Query: url.Values{"token": {key2}, "page": {"2"}},
					Header: http.Header{"Idempotency-Key": {"inv-1"}, "X-Request-Id": {"for " + key2}}, Body: []byte(object("token", key2)), Repeatable: true,
				}, &invoice{})
				wantHidden(t, "the error", err.Error())
				wantHidden(t, "the samples", fmt.Sprintf("%+v", told))
				wantHidden(t, "the log", log.String())
				for _, want := range []string{`"idempotency-key":"inv-1"`, `"x-request-id":"for (secret)"`, `"x-other":"(secret)"`, `"query":["page","token"]`, `"method":"PUT"`, `"path":"/api/of/(secret)"`, `"host":"localhost"`} {
					if !strings.Contains(log.String(), want) {
						t.Errorf("the log has no %s: %s", want, log.String())
					}
				}
			})
		}
	}
}

func TestNoSecretIsShownByConnections(t *testing.T) {
	var log bytes.Buffer
	lost := errors.New("proxy http://user:" + url.PathEscape(key2) + "@proxy: refused")
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: lost}
	})
	c := clientOf(t, remote.New(remote.Options{Transport: transport, Log: zerolog.New(&log), NoLimits: true}), remote.Account{Secrets: []string{key2}})
	_, err := c.Do(t.Context(), remote.Request{Method: "POST", Path: "/x", Query: url.Values{"token": {key2}, "other": {"and-more"}}})
	wantHidden(t, "the error", err.Error())
	if !errors.Is(err, lost) || strings.Contains(err.Error(), "token") {
		t.Errorf("error %v, want its cause and no query", err)
	}
	wantHidden(t, "the log", log.String())
}

func TestWhatIsNoSecretIsLeftToBeRead(t *testing.T) {
	for _, tt := range []struct {
		name    string
		account remote.Account
	}{
		{"none", remote.Account{}},
		{"empty", remote.Account{Secrets: []string{""}, Header: http.Header{"Authorization": {""}, "X-Api-Key": {}}}},
		{"short", remote.Account{Secrets: []string{"a", "of", "the"}, Header: http.Header{"Authorization": {"Bearer id"}}}},
		{"changing, empty", remote.Account{Authorize: func(context.Context) (string, error) { return "", nil }}},
		{"changing, short", remote.Account{Authorize: func(context.Context) (string, error) { return "Bearer a", nil }}},
		{"changing, no scheme", remote.Account{Authorize: func(context.Context) (string, error) { return "0123456789", nil }}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			const said = "the id of a customer is missing"
			var log bytes.Buffer
			v := serve(t, bodyWith(422, object("message", said)))
			_, err := clientOf(t, remote.New(remote.Options{Transport: v.transport, Log: zerolog.New(&log)}), tt.account).Do(t.Context(), createRequest)
			if want := "v: POST /api/x: refused (422 Unprocessable Entity): " + said; err == nil || err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
			if !strings.Contains(log.String(), `"path":"/api/x"`) || !strings.Contains(log.String(), `"accept":"application/json"`) {
				t.Errorf("the log cannot be read: %s", log.String())
			}
		})
	}
}

func TestAboveDebugNothingIsLogged(t *testing.T) {
	bubble(t, "info", func(t *testing.T) {
		var log, other bytes.Buffer
		net := remote.New(remote.Options{Transport: serve(t, text("{}")).transport, Log: zerolog.New(&log).Level(zerolog.InfoLevel)})
		c := clientOf(t, net, remote.Account{})
		for range 2 {
			if _, err := c.Do(t.Context(), readRequest); err != nil {
				t.Fatal(err)
			}
			net.LogTo(zerolog.New(&other))
		}
		if log.Len() != 0 || strings.Count(other.String(), "\n") != 1 {
			t.Errorf("logged %q at info, and %q at debug; want nothing and one line", log.String(), other.String())
		}
	})
}
