package daemon_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"tidemark/daemon"
)

func TestLoggerWritesForItsReader(t *testing.T) {
	const json = `{"level":"warn","job":"agency","time":"2000-01-01T00:00:00.000Z","message":"run"}` + "\n"
	tests := []struct {
		name     string
		terminal bool
		format   string
		want     string
	}{
		{"auto to a file", false, "auto", json},
		{"by default", false, "", json},
		{"json on a terminal", true, "json", json},
		{"console to a file", false, "console", "2000-01-01T00:00:00.000Z WRN run job=agency\n"},
		{"auto on a terminal", true, "auto", "\x1b[90m2000-01-01T00:00:00.000Z\x1b[0m \x1b[33mWRN\x1b[0m \x1b[1mrun\x1b[0m \x1b[36mjob=\x1b[0magency\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "")
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				log, err := daemon.NewLogger(&out, tt.terminal, "info", tt.format)
				if err != nil {
					t.Fatal(err)
				}
				log.Warn().Str("job", "agency").Msg("run")
				if out.String() != tt.want {
					t.Errorf("wrote %q, want %q", out.String(), tt.want)
				}
			})
		})
	}
}

func TestLoggerLevels(t *testing.T) {
	tests := []struct{ level, want string }{
		{"debug", "debug info warn error"}, {"info", "info warn error"}, {"", "info warn error"},
		{"warn", "warn error"}, {"warning", "warn error"}, {"WARN", "warn error"}, {"error", "error"},
	}
	for _, tt := range tests {
		t.Run(tt.level, func(t *testing.T) {
			var out bytes.Buffer
			log, err := daemon.NewLogger(&out, false, tt.level, "json")
			if err != nil {
				t.Fatal(err)
			}
			log.Debug().Msg("")
			log.Info().Msg("")
			log.Warn().Msg("")
			log.Error().Msg("")
			var got []string
			for line := range strings.Lines(out.String()) {
				got = append(got, strings.Split(line, `"`)[3])
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("level %q writes %v, want %s", tt.level, got, tt.want)
			}
		})
	}
}

func TestLoggerRefusesUnknownSettings(t *testing.T) {
	tests := []struct{ level, format, want string }{
		{"99", "json", `log level "99": not one of debug, info, warn, error`},
		{"fatal", "json", `log level "fatal": not one of debug, info, warn, error`},
		{"info", "xml", `log format "xml": not one of auto, json, console`},
	}
	for _, tt := range tests {
		if _, err := daemon.NewLogger(&bytes.Buffer{}, false, tt.level, tt.format); err == nil || err.Error() != tt.want {
			t.Errorf("NewLogger(%s, %s) = %v, want %s", tt.level, tt.format, err, tt.want)
		}
	}
}

func TestConsoleKeepsControlCharactersAway(t *testing.T) {
	var out bytes.Buffer
	log, err := daemon.NewLogger(&out, false, "info", "console")
	if err != nil {
		t.Fatal(err)
	}
	log.Info().Str("client", "Acme\x1b[2J\nfake").Msg("said \x1b[2J\nfake")
	if strings.ContainsAny(strings.TrimSuffix(out.String(), "\n"), "\x1b\n") {
		t.Errorf("wrote %q, want no control characters", out.String())
	}
}
