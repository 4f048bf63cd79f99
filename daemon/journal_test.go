package daemon_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"tidemark/daemon"
)

func TestJournalKnowsHowLoudALineIs(t *testing.T) {
	var out bytes.Buffer
	log, err := daemon.NewLogger(daemon.ForJournal(&out), false, "debug", "auto")
	if err != nil {
		t.Fatal(err)
	}
	log.Debug().Msg("d")
	log.Info().Msg("i")
	log.Warn().Msg("w")
	log.Error().Err(errors.New("two\n<0>lines")).Msg("e")
	log.WithLevel(zerolog.FatalLevel).Msg("f")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines, want 5:\n%s", len(lines), out.String())
	}
	for i, want := range []string{"<7>{", "<6>{", "<4>{", "<3>{", "<2>{"} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %q, want it to begin with %s", lines[i], want)
		}
	}
}
