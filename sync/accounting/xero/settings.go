package xero

import (
	"errors"
	"regexp"
	"time"

	"tidemark/config"
	"tidemark/internal/grant"
	"tidemark/internal/remote"
)

const (
	defaultURL      = "https://api.xero.com/api.xro/2.0"
	defaultLogin    = "https://login.xero.com/identity/connect/authorize"
	defaultIdentity = "https://identity.xero.com/connect/token"
)

// Settings are Xero's part of the config.
type Settings struct {
	// Tenant is the organisation. It is pinned: a sign-in that spans others never bills to them.
	Tenant string `yaml:"tenant" jsonschema:"required" jsonschema_description:"The organisation's tenant id, a UUID. It is never guessed from the sign-in."`
	// ClientID is that of the application at Xero that signs in.
	ClientID string `yaml:"client_id" jsonschema:"required" jsonschema_description:"Of your application at developer.xero.com."`
	// ClientSecret is left out for an application that signs in with PKCE alone.
	ClientSecret config.Secret `yaml:"client_secret,omitempty" jsonschema_description:"Of your application; leave it out for one that signs in with PKCE alone."`
	// AccountCode is the revenue account of every line; without it Xero takes the contact's or none.
	AccountCode string `yaml:"account_code,omitempty" jsonschema_description:"The revenue account of every line, such as 200."`
	// SearchLag is how long a new invoice may stay invisible to a look-up. Xero does not say; left out, 2m.
	SearchLag *config.Duration `yaml:"search_lag,omitempty" jsonschema_description:"How long a new invoice may stay invisible to a look-up. Xero does not say. Default 2m."`
	// Scopes are those that the sign-in asks for; applications made before March 2026 use accounting.transactions.
	Scopes []string `yaml:"scopes,omitempty" jsonschema_description:"What the sign-in asks for. Default offline_access, accounting.invoices, accounting.contacts.read, accounting.settings.read."`
	URL    string   `yaml:"url,omitempty" jsonschema_description:"Of the API. Default https://api.xero.com/api.xro/2.0."`
	Login  string   `yaml:"login_url,omitempty" jsonschema_description:"Where a person signs in. Default https://login.xero.com/identity/connect/authorize."`
	Token  string   `yaml:"token_url,omitempty" jsonschema_description:"Where tokens are renewed. Default https://identity.xero.com/connect/token."`
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(field, text string) {
		faults = append(faults, config.FieldError{Field: field, Err: errors.New(text)})
	}
	if !uuid.MatchString(s.Tenant) {
		fault("tenant", "not a tenant id: it is a UUID, which tidemark connect lists")
	}
	if s.ClientID == "" {
		fault("client_id", "missing: make an application at developer.xero.com")
	}
	for field, address := range map[string]string{"url": s.url(), "login_url": s.login(), "token_url": s.identity()} {
		if _, err := remote.ParseBase(address); err != nil {
			faults = append(faults, config.FieldError{Field: field, Err: err})
		}
	}
	return errors.Join(faults...)
}

func (s Settings) url() string      { return or(s.URL, defaultURL) }
func (s Settings) login() string    { return or(s.Login, defaultLogin) }
func (s Settings) identity() string { return or(s.Token, defaultIdentity) }

func or(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}

// Vendor describes the sign-in.
func (s Settings) Vendor() grant.Vendor {
	scopes := s.Scopes
	if len(scopes) == 0 {
		scopes = []string{"offline_access", "accounting.invoices", "accounting.contacts.read", "accounting.settings.read"}
	}
	return grant.Vendor{
		Name: "xero", Account: s.Tenant, AuthURL: s.login(), TokenURL: s.identity(), Client: s.ClientID, Secret: s.ClientSecret.Reveal(),
		Scopes: scopes, Lives: 60 * 24 * time.Hour,
	}
}
