package remote_test

import (
	"net/netip"
	"strings"
	"testing"

	"tidemark/internal/remote"
)

func TestBaseIsAnAddressThatATokenMayTravelTo(t *testing.T) {
	for _, tt := range []struct{ text, want, fault string }{
		{"https://api.example.com", "https://api.example.com", ""},
		{"https://api.example.com/", "https://api.example.com", ""},
		{"https://api.example.com/v1/", "https://api.example.com/v1", ""},
		{"https://api.example.com/v1//", "https://api.example.com/v1", ""},
		{"https://api.example.com:8443/v1", "https://api.example.com:8443/v1", ""},
		{"https://api.example.com/a%2Fb/", "https://api.example.com/a%2Fb", ""},
		{"https://api.example.com/a%2F", "https://api.example.com/a%2F", ""},
		{"HTTPS://api.example.com", "https://api.example.com", ""},
		{"http://localhost:8001/api", "http://localhost:8001/api", ""},
		{"http://LOCALHOST", "http://LOCALHOST", ""},
		{"http://127.0.0.1:8001", "http://127.0.0.1:8001", ""},
		{"http://127.8.8.8", "http://127.8.8.8", ""},
		{"http://[::1]:8001", "http://[::1]:8001", ""},
		{"http://api.example.com", "", "use https"},
		{"http://localhost.example.com", "", "use https"},
		{"http://127.0.0.1.example.com", "", "use https"},
		{"http://10.0.0.1", "", "use https"},
		{"http://0.0.0.0", "", "use https"},
		{"http://[fe80::1]", "", "use https"},
		{"https://user@api.example.com", "", "with a name"},
		{"https://user:hunter2@api.example.com", "", "with a name"},
		{"http://localhost@evil.example", "", "with a name"},
		{"https://api.example.com/?key=hunter2", "", "a query"},
		{"https://api.example.com/?", "", "a query"},
		{"https://api.example.com/#part", "", "a fragment"},
		{"api.example.com", "", "not an http URL"},
		{"api.example.com:443/v1", "", "not a"},
		{"/v1", "", "not an http URL"},
		{"", "", "not an http URL"},
		{"https://", "", "not an http URL"},
		{"https://:443/v1", "", "not an http URL"},
		{"https:api.example.com", "", "not an http URL"},
		{"ftp://api.example.com", "", "not an http URL"},
		{"https://api.example.com/%zz", "", "not a URL"},
		{"https://api example.com", "", "not a URL"},
		{"https://api.example.com\n", "", "not a URL"},
		{"https://hunter2:x:y@[", "", "not a URL"},
	} {
		base, err := remote.ParseBase(tt.text)
		switch {
		case tt.fault == "" && (err != nil || base.String() != tt.want):
			t.Errorf("ParseBase(%q) = %v, %v; want %s", tt.text, base, err, tt.want)
		case tt.fault != "" && (err == nil || base != nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("ParseBase(%q) = %v, %v; want an error of %q", tt.text, base, err, tt.fault)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("ParseBase(%q) shows the secret: %v", tt.text, err)
		}
		if _, made := remote.New(remote.Options{}).Client(remote.Account{Base: tt.text}); (made == nil) != (err == nil) {
			t.Errorf("Client of %q: %v, want %v", tt.text, made, err)
		}
	}
}

func FuzzParseBase(f *testing.F) {
	for _, seed := range []string{"https://h.example/api/", "http://[::1]:80", "https://h/a%2Fb//", "http://localhost", "https://:1", "https://h/?", "https://h/%2F/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		base, err := remote.ParseBase(text)
		if err != nil {
			return
		}
		host := base.Hostname()
		address, parsed := netip.ParseAddr(host)
		near := strings.EqualFold(host, "localhost") || parsed == nil && address.IsLoopback()
		if host == "" || base.Scheme != "https" && (base.Scheme != "http" || !near) {
			t.Errorf("%q leads to %s", text, base)
		}
		if base.User != nil || base.RawQuery != "" || base.Fragment != "" || strings.HasSuffix(base.String(), "/") || strings.Contains(base.String(), "?") {
			t.Errorf("%q holds more than scheme, host and path: %s", text, base)
		}
		if again, err := remote.ParseBase(base.String()); err != nil || again.String() != base.String() {
			t.Errorf("%q is %s, and that %v, %v", text, base, again, err)
		}
	})
}
