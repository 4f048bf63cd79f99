package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	tenant  = "4e1e0000-0000-4000-8000-000000000001"
	granted = "an-access-token"
	renewal = "a-refresh-token"
)

// vendor is an accounting system that signs people in. It spans one organisation.
type vendor struct {
	*httptest.Server
	spans     string
	challenge string // of the sign-in under way
}

func newVendor(t *testing.T) *vendor {
	v := &vendor{spans: tenant}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", v.token)
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+granted {
				http.Error(w, `{"Detail":"AuthenticationUnsuccessful"}`, http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "SPANS", v.spans))
		})
	}
	answer("GET /connections", `[{"tenantId":"SPANS","tenantName":"Agency Ltd"}]`)
	answer("GET /Organisation", `{"Organisations":[{"Name":"Agency Ltd","BaseCurrency":"EUR","Class":"STANDARD"}]}`)
	answer("GET /Contacts", `{"Contacts":[{"ContactID":"c-1","Name":"Acme GmbH"},{"ContactID":"c-2","Name":"Nordlicht-Verlag Ltd."},{"ContactID":"c-3","Name":"Somebody Else"}]}`)
	v.Server = httptest.NewServer(mux)
	t.Cleanup(v.Close)
	return v
}

// token gives a grant for the code of whoever knows the verifier.
func (v *vendor) token(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	w.Header().Set("Content-Type", "application/json")
	if r.FormValue("code") != "a-code" || base64.RawURLEncoding.EncodeToString(sum[:]) != v.challenge {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"refresh_token":%q,"expires_in":1800,"token_type":"Bearer"}`, granted, renewal)
}

// site is a config whose accounting system signs people in.
func site(t *testing.T, v *vendor) (config string) {
	t.Helper()
	folder := t.TempDir()
	if err := copyTo("../../examples/quickstart/exports", filepath.Join(folder, "exports")); err != nil {
		t.Fatal(err)
	}
	if err := age(folder); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`state: tidemark.db
syncs:
  agency:
    schedule: "*/15 * * * *"
    start: 2026-11-02
    tracker: {kind: folder, account: timesheets, path: exports, quiet: 0s}
    accounting: {kind: xero, tenant: %s, client_id: app, url: %q, login_url: %q, token_url: %q}
    invoice: {per: project}
`, tenant, v.URL, v.URL+"/login", v.URL+"/token")
	config = filepath.Join(folder, "tidemark.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// run runs a command, and returns its exit code and what it printed.
func run(in io.Reader, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = Run(args, in, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// signIn runs connect, and lets a browser come back to it.
func signIn(t *testing.T, v *vendor, config string) (code int, text string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	redirect := fmt.Sprintf("http://localhost:%d/callback", free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- Run([]string{"connect", "agency", "--config", config, "--redirect", redirect}, strings.NewReader(""), write, &stderr)
		_ = write.Close()
	}()
	var all strings.Builder
	for lines := bufio.NewScanner(read); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		fmt.Fprintln(&all, line)
		if strings.HasPrefix(line, v.URL+"/login?") {
			v.challenge = query(t, line).Get("code_challenge")
		}
		if strings.HasPrefix(line, "Waiting on ") {
			browse(t, redirect+"?code=a-code&state="+url.QueryEscape(query(t, address(all.String())).Get("state")))
		}
	}
	return <-ended, all.String() + stderr.String()
}

// address returns the line that is an address.
func address(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "http") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func query(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func browse(t *testing.T, address string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(page), "close this page") {
		t.Errorf("the browser sees %d %q, %v", resp.StatusCode, page, err)
	}
}

func TestConnectKeepsASignInAndCheckUsesIt(t *testing.T) {
	v := newVendor(t)
	config := site(t, v)
	code, _, errs := run(nil, "check", "--config", config)
	if code != 75 || !strings.Contains(errs, "tidemark connect") {
		t.Errorf("check before the sign-in = %d %s, want 75 and the command that signs in", code, errs)
	}
	if code, text := signIn(t, v, config); code != 0 || !strings.Contains(text, "agency: signed in to xero:"+tenant) {
		t.Fatalf("connect = %d\n%s", code, text)
	}
	kept := filepath.Join(filepath.Dir(config), "tokens", "agency.json")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v; want 0600", kept, info, err)
	}
	code, out, errs := run(nil, "check", "--config", config)
	if code != 0 || !strings.Contains(out, "signed in: Agency Ltd (EUR), STANDARD") || !strings.Contains(out, "draft invoices") {
		t.Errorf("check = %d\n%s%s", code, out, errs)
	}
	for _, text := range []string{out, errs} {
		if strings.Contains(text, granted) || strings.Contains(text, renewal) {
			t.Error("a token is shown")
		}
	}
}

func TestSignInToAnotherOrganisationIsRefused(t *testing.T) {
	v := newVendor(t)
	v.spans = "5f2f0000-0000-4000-8000-000000000002"
	config := site(t, v)
	code, text := signIn(t, v, config)
	if code != 1 || !strings.Contains(text, "Agency Ltd ("+v.spans+")") {
		t.Errorf("connect = %d\n%s, want 1 and what the sign-in spans", code, text)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(config), "tokens", "agency.json")); !os.IsNotExist(err) {
		t.Errorf("a sign-in that was refused was kept: %v", err)
	}
}

func TestPastedCode(t *testing.T) {
	v := newVendor(t)
	config := site(t, v)
	code, _, errs := run(strings.NewReader("http://localhost:8914/callback?code=a-code&state=another\n"), "connect", "agency", "--paste", "--config", config)
	if code != 1 || !strings.Contains(errs, "another sign-in") {
		t.Errorf("the answer of another sign-in = %d %s", code, errs)
	}
	code, _, errs = run(strings.NewReader("\n"), "connect", "agency", "--paste", "--config", config)
	if code != 1 || !strings.Contains(errs, "no code") {
		t.Errorf("nothing pasted = %d %s", code, errs)
	}
	code, _, errs = run(strings.NewReader("a-wrong-code\n"), "connect", "agency", "--paste", "--config", config)
	if code != 1 || !strings.Contains(errs, "invalid_grant") {
		t.Errorf("a wrong code = %d %s", code, errs)
	}
	code, _, errs = run(nil, "connect", "agncy", "--config", config)
	if code != 2 || !strings.Contains(errs, "agency") {
		t.Errorf("an unknown sync = %d %s, want 2 and the names", code, errs)
	}
}

func TestCustomersAreProposed(t *testing.T) {
	v := newVendor(t)
	config := site(t, v)
	if code, text := signIn(t, v, config); code != 0 {
		t.Fatalf("connect = %d\n%s", code, text)
	}
	code, out, errs := run(nil, "customers", "agency", "--days", "3650", "--config", config)
	if code != 0 {
		t.Fatalf("customers = %d %s", code, errs)
	}
	for _, want := range []string{
		`- { client: "Acme GmbH", customer: "c-1" }`, `# a guess, Nordlicht Verlag may be Nordlicht-Verlag Ltd.:`, `# no customer is called like Radio Wellenreiter:`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("customers lacks %q:\n%s", want, out)
		}
	}
	code, out, _ = run(nil, "customers", "agency", "--days", "3650", "--json", "--config", config)
	var all []match
	if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil || len(all) < 4 {
		t.Errorf("customers --json = %d, %v, %d clients\n%s", code, err, len(all), out)
	}
}
