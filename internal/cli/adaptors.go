package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tidemark/config"
	"tidemark/internal/grant"
	"tidemark/internal/remote"
	"tidemark/sync"
	"tidemark/sync/accounting/invoiceninja"
	"tidemark/sync/accounting/journal"
	"tidemark/sync/accounting/quickbooks"
	"tidemark/sync/accounting/stripe"
	"tidemark/sync/accounting/tryton"
	"tidemark/sync/accounting/xero"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/clockify"
	"tidemark/sync/tracker/folder"
	"tidemark/sync/tracker/harvest"
	"tidemark/sync/tracker/kimai"
	"tidemark/sync/tracker/tempo"
)

// source is a tracker that a person can check.
type source interface {
	sync.Tracker
	// Access signs in and tells of itself. It changes nothing that a pass would see.
	Access(ctx context.Context) (tracker.Access, error)
}

// newTracker builds the tracker that a section describes, and says which paths it uses. A new tracker
// is one more case here and one more line in trackers.
func newTracker(s config.Section, net *remote.Network) (source, []string, error) {
	switch s.Kind {
	case "folder":
		var c folder.Settings
		faults := s.Decode(&c)
		t, err := folder.New(c)
		return t, []string{string(c.Path)}, config.Join(faults, s.Fault(err))
	case "clockify":
		var c clockify.Settings
		faults := s.Decode(&c)
		t, err := clockify.New(c, net)
		return t, nil, config.Join(faults, s.Fault(err))
	case "harvest":
		var c harvest.Settings
		faults := s.Decode(&c)
		t, err := harvest.New(c, net)
		return t, nil, config.Join(faults, s.Fault(err))
	case "kimai":
		var c kimai.Settings
		faults := s.Decode(&c)
		t, err := kimai.New(c, net)
		return t, nil, config.Join(faults, s.Fault(err))
	case "tempo":
		var c tempo.Settings
		faults := s.Decode(&c)
		t, err := tempo.New(c, net)
		return t, nil, config.Join(faults, s.Fault(err))
	}
	return nil, nil, s.Unknown(slices.Sorted(maps.Keys(trackers())))
}

// newAccounting builds the accounting system that a section describes, with the sign-in that a person gives
// it, if it needs one, kept in the file tokens, and says which paths it uses. A new system is one more case
// here and one more line in systems.
func newAccounting(s config.Section, net *remote.Network, tokens string) (sync.Accounting, *grant.Grant, []string, error) {
	switch s.Kind {
	case "journal":
		var c journal.Settings
		faults := s.Decode(&c)
		j, err := journal.New(c)
		return j, nil, []string{string(c.Path)}, config.Join(faults, s.Fault(err))
	case "quickbooks":
		var c quickbooks.Settings
		faults := s.Decode(&c)
		g := grant.Open(tokens, c.Vendor())
		q, err := quickbooks.New(c, net, g)
		return q, g, nil, config.Join(faults, s.Fault(err))
	case "stripe":
		var c stripe.Settings
		faults := s.Decode(&c)
		x, err := stripe.New(c, net)
		return x, nil, nil, config.Join(faults, s.Fault(err))
	case "tryton":
		var c tryton.Settings
		faults := s.Decode(&c)
		x, err := tryton.New(c, net)
		return x, nil, nil, config.Join(faults, s.Fault(err))
	case "xero":
		var c xero.Settings
		faults := s.Decode(&c)
		g := grant.Open(tokens, c.Vendor())
		x, err := xero.New(c, net, g)
		return x, g, nil, config.Join(faults, s.Fault(err))
	case "invoiceninja":
		var c invoiceninja.Settings
		faults := s.Decode(&c)
		n, err := invoiceninja.New(c, net)
		return n, nil, nil, config.Join(faults, s.Fault(err))
	}
	return nil, nil, nil, s.Unknown(slices.Sorted(maps.Keys(systems())))
}

// trackers are the settings of every kind of tracker, for the schema.
func trackers() map[string]any {
	return map[string]any{
		"clockify": clockify.Settings{}, "folder": folder.Settings{}, "harvest": harvest.Settings{}, "kimai": kimai.Settings{}, "tempo": tempo.Settings{},
	}
}

// systems are the settings of every kind of accounting system, for the schema.
func systems() map[string]any {
	return map[string]any{
		"invoiceninja": invoiceninja.Settings{}, "journal": journal.Settings{}, "quickbooks": quickbooks.Settings{},
		"stripe": stripe.Settings{}, "tryton": tryton.Settings{}, "xero": xero.Settings{},
	}
}

// Schema returns the JSON Schema of the config with every kind of tracker and accounting system.
func Schema() ([]byte, error) {
	schema, err := config.JSONSchema(trackers(), systems())
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return schema, nil
}
