package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/sync"
	"tidemark/sync/accounting/journal"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/folder"
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
	}
	return nil, nil, s.Unknown(slices.Sorted(maps.Keys(trackers())))
}

// newAccounting builds the accounting system that a section describes, and says which paths it uses. A
// new system is one more case here and one more line in systems.
func newAccounting(s config.Section) (sync.Accounting, []string, error) {
	switch s.Kind {
	case "journal":
		var c journal.Settings
		faults := s.Decode(&c)
		j, err := journal.New(c)
		return j, []string{string(c.Path)}, config.Join(faults, s.Fault(err))
	}
	return nil, nil, s.Unknown(slices.Sorted(maps.Keys(systems())))
}

// trackers are the settings of every kind of tracker, for the schema.
func trackers() map[string]any { return map[string]any{"folder": folder.Settings{}} }

// systems are the settings of every kind of accounting system, for the schema.
func systems() map[string]any { return map[string]any{"journal": journal.Settings{}} }

// Schema returns the JSON Schema of the config with every kind of tracker and accounting system.
func Schema() ([]byte, error) {
	schema, err := config.JSONSchema(trackers(), systems())
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return schema, nil
}
