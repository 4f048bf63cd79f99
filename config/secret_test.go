package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v4"
)

// vault are the settings of an adaptor that has a secret.
type vault struct {
	Token Secret `yaml:"token"`
}

// decodeTracker loads a config whose tracker has more lines, and decodes its section. Files beside it
// are written first.
func decodeTracker(t *testing.T, more string, into any, files ...file) error {
	t.Helper()
	path := write(t, strings.Replace(smallest, "{kind: folder}", "\n      kind: folder\n      "+more, 1))
	for _, f := range files {
		name := filepath.Join(filepath.Dir(path), f.name)
		if err := os.WriteFile(name, []byte(f.content), f.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, f.mode); err != nil { // past the umask
			t.Fatal(err)
		}
	}
	_, err := Load(path, func(_ *Config, s Sync) error { return s.Tracker.Decode(into) })
	return err
}

type file struct {
	name, content string
	mode          os.FileMode
}

const hush = "hunter2-hunter2"

func TestSecretIsFetchedFromItsPlace(t *testing.T) {
	credentials := t.TempDir()
	if err := os.WriteFile(filepath.Join(credentials, "clockify"), []byte(hush+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	t.Setenv("TIDEMARK_TEST_TOKEN", hush)
	for _, place := range []string{"{credential: clockify}", "{env: TIDEMARK_TEST_TOKEN}", "{file: token}"} {
		var v vault
		err := decodeTracker(t, "token: "+place, &v, file{"token", hush + "\r\n", 0o600})
		if err != nil || v.Token.Reveal() != hush {
			t.Errorf("%s: Reveal = %q, %v; want %q", place, v.Token.Reveal(), err, hush)
		}
	}
}

func TestSecretThatIsNotThereIsNamed(t *testing.T) {
	t.Setenv("TIDEMARK_TEST_EMPTY", "")
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	files := []file{{"open", hush, 0o644}, {"group", hush, 0o640}, {"empty", "\n", 0o600}}
	tests := []struct{ name, place, want string }{
		{"a variable that is empty", "{env: TIDEMARK_TEST_EMPTY}", "the environment variable TIDEMARK_TEST_EMPTY is not set, or empty"},
		{"no credentials", "{credential: clockify}", "LoadCredential=clockify:"},
		{"no file", "{file: none}", "none does not exist"},
		{"an empty file", "{file: empty}", "empty is empty"},
		{"a file for everybody", "{file: open}", "can be read by others: chmod 600 "},
		{"a file for a group", "{file: group}", "can be read by others: chmod 600 "},
		{"no name", "{env: }", "the env of a secret has no name"},
		{"a place that is none", "{evn: X}", `did you mean "env"?`},
		{"two places", "{env: A, file: b}", "write {credential: NAME}, {env: NAME} or {file: PATH}"},
	}
	for _, tt := range tests {
		err := decodeTracker(t, "token: "+tt.place, &vault{}, files...)
		f := faultsOf(t, err)
		if len(f) != 1 || f[0].Line != 8 || f[0].Column != 14 || !strings.Contains(f[0].Message, tt.want) {
			t.Errorf("%s: error = %v, want %q at 8:14", tt.name, err, tt.want)
		}
		if strings.Contains(err.Error(), hush) {
			t.Errorf("%s: the error shows the secret", tt.name)
		}
	}
}

func TestCredentialIsAPlainName(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", t.TempDir())
	err := decodeTracker(t, "token: {credential: ../passwd}", &vault{})
	if faultsOf(t, err); !strings.Contains(err.Error(), "is not a plain name") {
		t.Errorf("error = %v, want the name refused", err)
	}
}

func TestSecretInTheConfigIsRefusedAndNotRepeated(t *testing.T) {
	places := []string{
		hush, `"` + hush + `"`, "[" + hush + "]", "{value: " + hush + "}", ">\n        " + hush,
		"{" + hush + "}", "{" + hush + ": }", "*" + hush, "!" + hush, "@" + hush, "{env: [" + hush + "]}", "a: " + hush,
		"\n        value: x\n        other: *" + hush, "\n      - x\n      - *" + hush, "{\n        value: *" + hush + "}",
		"|\n          abc\n          " + hush + "\n         " + hush + "\n        : x",
	}
	for _, place := range places {
		err := decodeTracker(t, "token: "+place, &vault{})
		if faultsOf(t, err); strings.Contains(err.Error(), hush) {
			t.Errorf("%q: the error shows the secret: %v", place, err)
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	var v vault
	if err := decodeTracker(t, "token: {file: token}", &v, file{"token", hush, 0o600}); err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	prints := []string{string(inJSON), v.Token.String(), fmt.Sprintf("%v %+v %#v %s %q", v.Token, v.Token, v.Token, v.Token, v.Token), fmt.Sprintf("%v %+v %#v", v, v, &v)}
	inYAML, err := yaml.Dump(v)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	logger := zerolog.New(&log)
	logger.Info().Interface("settings", v).Stringer("token", v.Token).Msgf("%v", v)
	prints = append(prints, string(inYAML), log.String(), fmt.Sprintf("%d", v.Token), fmt.Sprintf("%x", v.Token))
	for _, text := range prints {
		if strings.Contains(text, hush) || !strings.Contains(text, "(secret)") {
			t.Errorf("printed as %s, want (secret)", text)
		}
	}
}

// TestSecretInAFieldOfAnAdaptorIsNeverPrinted holds it where fmt asks no method: in fields that are not exported.
func TestSecretInAFieldOfAnAdaptorIsNeverPrinted(t *testing.T) {
	var v vault
	if err := decodeTracker(t, "token: {file: token}", &v, file{"token", hush, 0o600}); err != nil {
		t.Fatal(err)
	}
	client := struct{ token Secret }{v.Token}
	for _, text := range []string{fmt.Sprintf("%v", client), fmt.Sprintf("%+v", &client), fmt.Sprintf("%#v", client)} {
		if strings.Contains(text, hush) {
			t.Errorf("printed as %s, want the secret left out", text)
		}
	}
}
