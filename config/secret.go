package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Secret is a token or password. The config never holds it, only where it is: {credential: NAME} of the
// service manager, {env: NAME} of the environment, or {file: PATH}. It prints as (secret).
type Secret struct {
	value *string // a pointer: fmt prints fields that are not exported without asking them
	from  struct{ Credential, Env, File string }
	node  *yaml.Node
}

const hidden = "(secret)"

// Reveal returns the secret itself. It must not reach a log or an error.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// SecretOf returns a secret that does not come out of a config.
func SecretOf(text string) Secret { return Secret{value: &text} }

// Format hides the secret from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// String hides the secret.
func (s Secret) String() string { return hidden }

// GoString hides the secret.
func (s Secret) GoString() string { return hidden }

// MarshalText hides the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// UnmarshalYAML reads where a secret is. A secret itself is refused, and not repeated.
func (s *Secret) UnmarshalYAML(n *yaml.Node) error {
	s.node = n
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		return errors.New("a secret does not stand in the config: write {credential: NAME}, {env: NAME} or {file: PATH}")
	}
	name := n.Content[1].Value
	switch n.Content[0].Value {
	case "credential":
		s.from.Credential = name
	case "env":
		s.from.Env = name
	case "file":
		s.from.File = name
	default:
		return notThere(n.Content[0].Value)
	}
	if name == "" {
		return fmt.Errorf("the %s of a secret has no name", n.Content[0].Value)
	}
	return nil
}

// notThere says what to write instead of a place that is none. It repeats the known place that may be
// meant, and never what was written: that may be the secret.
func notThere(written string) error {
	if place, like := near(written, []string{"credential", "env", "file"}); like {
		return fmt.Errorf("unknown place of a secret; did you mean %q?", place)
	}
	return errors.New("unknown place of a secret: write {credential: NAME}, {env: NAME} or {file: PATH}")
}

// resolve fetches the secret. Folder is what a file is relative to.
func (s *Secret) resolve(folder string) (err error) {
	var value string
	switch {
	case s.from.Credential != "":
		value, err = credential(s.from.Credential)
	case s.from.Env != "":
		if value = os.Getenv(s.from.Env); value == "" {
			err = fmt.Errorf("the environment variable %s is not set, or empty", s.from.Env)
		}
	case s.from.File != "":
		value, err = secretFile(absolute(folder, s.from.File))
	default:
		return nil
	}
	s.value = &value
	return err
}

func credential(name string) (string, error) {
	folder := os.Getenv("CREDENTIALS_DIRECTORY")
	if folder == "" {
		return "", fmt.Errorf("the credential %s is not there: CREDENTIALS_DIRECTORY is not set; give the unit LoadCredential=%s:PATH", name, name)
	}
	if name != filepath.Base(name) {
		return "", fmt.Errorf("the credential %q is not a plain name", name)
	}
	return content(filepath.Join(folder, name), "credential "+name)
}

// secretFile reads a secret from a file that nobody else may read.
func secretFile(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the secret file %s does not exist", path)
	case err != nil:
		return "", fmt.Errorf("the secret file: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("the secret file %s can be read by others: chmod 600 %s", path, path)
	}
	return content(path, "secret file "+path)
}

func content(path, what string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the %s: %w", what, err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if value == "" {
		return "", fmt.Errorf("the %s is empty", what)
	}
	return value, nil
}

// absolute makes a path absolute, relative to a folder.
func absolute(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
