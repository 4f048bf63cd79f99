// Package remote speaks to the APIs of trackers and accounting systems. One [Network] holds what all of a
// process share: connections, the limits of each account, and who is told of each request.
//
// Its one hard rule: a request is repeated only where repeating it is harmless, which is a read, or a
// write under a key that the other side honours. Whether anything else arrived, it says it does not know.
package remote

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Options are what a network is made of. The zero Options are good: real connections, no log, nobody told.
type Options struct {
	Agent     string            // the User-Agent; empty: tidemark
	Transport http.RoundTripper // nil: real connections, over the proxy of the environment
	Log       zerolog.Logger    // of attempts, at debug level
	Observe   func(Sample)      // told of every attempt; must be quick; nil: nobody
	NoLimits  bool              // requests go out as fast as they can: for servers on this machine only
}

// Sample is one attempt of a request, for metrics.
type Sample struct {
	Account string
	Host    string
	Method  string
	Status  int // 0: no answer
	Took    time.Duration
}

// Network is what all clients of a process share. It may be used by several goroutines.
type Network struct {
	options  Options
	log      atomic.Pointer[zerolog.Logger]
	mu       sync.Mutex
	accounts map[string]*account
}

// New returns a network.
func New(o Options) *Network {
	if o.Agent == "" {
		o.Agent = "tidemark"
	}
	if o.Transport == nil {
		o.Transport = connections()
	}
	n := &Network{options: o, accounts: map[string]*account{}}
	n.LogTo(o.Log)
	return n
}

// LogTo changes where attempts are logged: the config that says so names the clients, too.
func (n *Network) LogTo(log zerolog.Logger) { n.log.Store(&log) }

// connections has a limit for every step before a request is sent. How long its answer may take is the account's
// Timeout.
func connections() http.RoundTripper {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxConnsPerHost:     8,
		ForceAttemptHTTP2:   true,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
	}
}

// Account is one account at a vendor, as its adaptor describes it.
type Account struct {
	Vendor  string      // begins each error: clockify
	ID      string      // clients with the same ID share their limits
	Base    string      // URL that paths are relative to
	Header  http.Header // sent with every request, and to no other host: credentials
	Secrets []string    // never shown, wherever they turn up
	// Authorize returns the Authorization header of a call, for credentials that change; nil: Header has
	// them. Refused is told of one that was answered with 401; nil: nobody is.
	Authorize func(ctx context.Context) (string, error)
	Refused   func(authorization string)
	PerSecond float64       // requests; zero: 5
	AtOnce    int           // requests under way; zero: 4
	Timeout   time.Duration // of one attempt; zero: a minute
	MaxBody   int64         // bytes of an answer; zero: 32 MiB
}

// Client sends the requests of one account. It may be used by several goroutines.
type Client struct {
	Account
	network *Network
	limits  *account
	base    *url.URL
	secrets []string
	hide    *strings.Replacer
}

// Client returns a client of an account. The error says what is wrong with its base URL, and the cure.
func (n *Network) Client(a Account) (*Client, error) {
	base, err := ParseBase(a.Base)
	if err != nil {
		return nil, err
	}
	if a.PerSecond <= 0 {
		a.PerSecond = 5
	}
	if a.AtOnce <= 0 {
		a.AtOnce = 4
	}
	if a.Timeout <= 0 {
		a.Timeout = time.Minute
	}
	if a.MaxBody <= 0 {
		a.MaxBody = 32 << 20
	}
	secrets := secretsOf(a)
	return &Client{Account: a, network: n, limits: n.limits(a), base: base, secrets: secrets, hide: hiding(secrets)}, nil
}

func (n *Network) limits(a Account) *account {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := a.Vendor + " " + a.ID
	if n.accounts[key] == nil {
		n.accounts[key] = newAccount(a)
	}
	if n.options.NoLimits {
		a.PerSecond = math.Inf(1)
	}
	n.accounts[key].rate(a.PerSecond)
	return n.accounts[key]
}
