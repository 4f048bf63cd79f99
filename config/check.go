package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// at makes a fault at a setting of a sync, and at its accounting section where the setting is not written.
func (s Sync) at(n *yaml.Node, path, format string, args ...any) Fault {
	if n == nil {
		n = s.Accounting.node
	}
	return s.source.faultAt(n.Line, n.Column, join(s.source.names[s.node], path), fmt.Sprintf(format, args...))
}

// written returns the node of a setting, and nil where it is left out.
func (s Sync) written(keys ...string) *yaml.Node {
	n := s.node
	for _, key := range keys {
		v, there := child(n, key)
		if !there {
			return nil
		}
		n = v
	}
	return n
}

// CheckAccounts holds that references of two syncs on one accounting account are never the same: neither
// prefix begins with the other. Account tells the account of a sync.
func CheckAccounts(c *Config, account func(Sync) string) error {
	faults := &Faults{}
	for i, s := range c.Syncs {
		for _, other := range c.Syncs[:i] {
			if s.Accounting.Kind != other.Accounting.Kind || account(s) != account(other) {
				continue
			}
			if text := clash(s.Invoice.Prefix, other.Invoice.Prefix); text != "" {
				faults.All = append(faults.All, s.at(s.written("invoice", "prefix"), "invoice.prefix",
					"the syncs %s and %s bill to one account (%s) %s: their references could be the same; give one of them another invoice.prefix", other.Name, s.Name, account(s), text))
				break
			}
		}
	}
	return faults.orNil()
}

// clash says how references with two prefixes could be the same: ts and ts1 both make ts12 of ids 12 and 2.
func clash(a, b string) string {
	switch {
	case a == b:
		return fmt.Sprintf("with one prefix (%s)", a)
	case strings.HasPrefix(a, b), strings.HasPrefix(b, a):
		return fmt.Sprintf("with prefixes of which one begins with the other (%s, %s)", b, a)
	}
	return ""
}

// CheckGuards holds that drafts are updated at once only where the accounting system guards them.
func CheckGuards(c *Config, guards func(Sync) bool) error {
	faults := &Faults{}
	for _, s := range c.Syncs {
		if s.Corrections == "update-drafts" && !guards(s) {
			faults.All = append(faults.All, s.at(s.written("corrections"), "corrections",
				"corrections: update-drafts is not possible with %s: it would change an invoice that somebody else has just changed; use window or review", s.Accounting.Kind))
		}
	}
	return faults.orNil()
}

// CheckPaths holds that no file is used for two things: the config, the state and what lies beside it, and
// what each end of a sync uses. Two syncs may use one path. Paths tells the files and folders of a sync.
func CheckPaths(c *Config, paths func(Sync) []string) error {
	taken := map[string]string{real(c.source.path()): "this config", real(string(c.State)): "the state"}
	taken[real(string(c.Socket))] = "the socket"
	for _, extra := range []string{".lock", ".id", ".new"} {
		taken[real(string(c.State)+extra)] = "a file beside the state"
	}
	if c.Backup.Schedule.String() != "" {
		taken[real(string(c.Backup.Folder))] = "the backups"
	}
	faults := &Faults{}
	for _, s := range c.Syncs {
		mine := map[string]bool{}
		for _, path := range paths(s) {
			other := taken[real(path)]
			if other == "" && mine[real(path)] {
				other = "its other end"
			}
			mine[real(path)] = true
			if other != "" {
				n, name := s.naming(path)
				faults.All = append(faults.All, s.at(n, name, "%s is used by %s and by the sync %s: name another file", path, other, s.Name))
			}
		}
	}
	return faults.orNil()
}

// naming returns the setting in either section that names a path, the last if there are two, and nil
// where none is.
func (s Sync) naming(path string) (n *yaml.Node, name string) {
	for _, section := range []string{"tracker", "accounting"} {
		name = section
		for i, v := range followed(s.written(section)).Content {
			if i%2 == 1 && absolute(s.source.folder, followed(v).Value) == path {
				n = v
			}
		}
	}
	if n != nil {
		name = strings.TrimPrefix(s.source.names[n], s.source.names[s.node]+".")
	}
	return n, name
}

// real follows links as far as there is something to follow.
func real(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	folder := filepath.Dir(path)
	if folder == path {
		return path
	}
	return filepath.Join(real(folder), filepath.Base(path))
}
