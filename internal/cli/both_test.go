package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// desk is a folder with the quickstart, and the program that works on it.
type desk struct {
	*testing.T
	folder, binary string
}

func newDesk(t *testing.T, binary string) desk {
	t.Helper()
	d := desk{t, t.TempDir(), binary}
	for _, name := range []string{"tidemark.yaml", "exports"} {
		if err := copyTo(filepath.Join("../../examples/quickstart", name), filepath.Join(d.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(d.folder, "tidemark.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	quiet := strings.Replace(string(text), "*/15 * * * *", "0 0 29 2 *", 1)           // no pass by itself meanwhile
	quiet = strings.Replace(quiet, "    tracker:", "    workers: 1\n    tracker:", 1) // one order of the invoices
	if err := os.WriteFile(path, []byte(quiet), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := age(filepath.Join(d.folder, "exports")); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d desk) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.binary, append([]string{"--config", "tidemark.yaml"}, args...)...) //nolint:gosec // It is this test.
	cmd.Dir = d.folder
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	return cmd
}

// whoRuns is what a status says of the daemon itself.
var whoRuns = regexp.MustCompile(`(?m)^daemon .*$|, if a daemon runs|"daemon": (null|\{[^}]*\}),`)

// moments is what differs between two runs of the same commands.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d[:\d.]*(Z| [A-Z]+|[+-]\d\d:\d\d)?|\d{8}T\d{6}Z(-\d)?|\d+ KiB|\d+ bytes`)

// transcript runs a command and returns all that can be seen of it.
func (d desk) transcript(args []string) string {
	d.Helper()
	var out, errOut bytes.Buffer
	cmd := d.command(d.Context(), args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.Fatal(err)
	}
	text := fmt.Sprintf("$ tidemark %s\n%s%s[%d]\n", strings.Join(args, " "), out.String(), errOut.String(), cmd.ProcessState.ExitCode())
	text = strings.ReplaceAll(text, d.folder, "DIR")
	text = whoRuns.ReplaceAllString(text, "")
	return moments.ReplaceAllString(text, "MOMENT")
}

// edit changes an entry that was billed, so that a person has something to decide.
func (d desk) edit() {
	d.Helper()
	path := filepath.Join(d.folder, "exports/harvest-2026-11-23.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		d.Fatal(err)
	}
	changed := strings.Replace(string(text), "Accessibility fixes,4.50,4.50", "Accessibility fixes,6.50,6.50", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		d.Fatal(err)
	}
	if err := age(filepath.Join(d.folder, "exports")); err != nil {
		d.Fatal(err)
	}
}

// daemon starts one and returns once it answers. Its end must be the one that is wanted.
func (d desk) daemon(end syscall.Signal) (stop func()) {
	d.Helper()
	var log bytes.Buffer
	cmd := d.command(context.Background())
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	stop = func() {
		err := errors.Join(cmd.Process.Signal(end), cmd.Wait())
		if (err != nil) != (end == syscall.SIGKILL) {
			d.Errorf("the daemon: %v\n%s", err, log.String())
		}
	}
	for range 200 {
		if conn, err := net.Dial("unix", filepath.Join(d.folder, "var/tidemark.db.sock")); err == nil {
			conn.Close()
			return stop
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	d.Fatalf("the daemon does not listen:\n%s", log.String())
	return nil
}

// TestCommandsAreTheSameWithADaemonAndWithout runs every command that needs the state in two copies of the quickstart,
// one of which a daemon has open.
func TestCommandsAreTheSameWithADaemonAndWithout(t *testing.T) {
	binary := program(t)
	alone, beside := newDesk(t, binary), newDesk(t, binary)
	for _, d := range []desk{alone, beside} {
		d.transcript([]string{"--once"})
		d.edit()
	}
	defer beside.daemon(syscall.SIGTERM)()
	const ref = "ts-26w45-lprlfcnyyy"
	commands := [][]string{
		{"status"}, {"status", "--json"},
		{"plan"}, {"plan", "--json", "--exit-code"}, {"plan", "--sync", "nobody"},
		{"audit", "--from", "2026-11-02", "--to", "2026-11-22"}, {"audit", "--from", "2026-11-02", "--to", "2026-11-22", "--csv"}, {"audit"},
		{"--once"}, {"--once", "--json"}, {"--once", "--sync", "nobody"},
		{"review", "list"}, {"review", "list", "--json"}, {"review", "show", ref}, {"review", "show", "nothing"},
		{"review", "hold", ref}, {"review", "hold", ref, "--until", "2099-01-01", "--as", "bo"},
		{"review", "retry", ref, "nothing"}, {"--once"},
		{"review", "settle", ref}, {"review", "settle", ref, "--note", "credited by hand"}, {"review", "list", "--all"},
		{"explain", ref}, {"explain", ref, "--json"}, {"explain", "nothing"},
		{"pause", "nobody"}, {"pause", "--note", "month end"}, {"pause"}, {"--once"}, {"--backfill", "--from", "2026-11-02", "--to", "2026-11-08"}, {"status"},
		{"resume", "agency"}, {"resume"}, {"explain", "agency"},
		{"--backfill", "--from", "2026-11-02", "--to", "2026-11-22", "--dry-run"}, {"--backfill", "--from", "2026-11-02", "--to", "2026-11-22"},
		{"--backfill", "--from", "2026-10-05", "--to", "2026-11-22"}, {"--backfill"},
		{"state", "check"}, {"state", "backup", "copy.db"}, {"state", "backup", "copy.db"}, {"state", "compact"},
		{"state", "init"}, {"state", "rebuild"}, {"state", "init", "--yes"}, {"--once"}, {"status"},
		{"review", "hold"}, {"nonsense"},
	}
	for _, args := range commands {
		want, got := alone.transcript(args), beside.transcript(args)
		if got != want {
			t.Errorf("%s: %s", strings.Join(args, " "), firstDifference(want, got))
		}
	}
	for _, d := range []desk{alone, beside} {
		if _, err := os.Stat(filepath.Join(d.folder, "copy.db")); err != nil {
			t.Errorf("the copy is not where the command was run: %v", err)
		}
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwithout a daemon: %s\nwith one:         %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("without a daemon:\n%s\nwith one:\n%s", want, got)
}

// TestASocketOfADaemonThatDiedIsNoObstacle: neither for a command nor for the next daemon.
func TestASocketOfADaemonThatDiedIsNoObstacle(t *testing.T) {
	d := newDesk(t, program(t))
	d.transcript([]string{"--once"})
	d.daemon(syscall.SIGKILL)()
	if got := d.transcript([]string{"plan"}); !strings.Contains(got, "nothing new to bill") {
		t.Errorf("beside the socket of a dead daemon:\n%s", got)
	}
	defer d.daemon(syscall.SIGTERM)()
	if got := d.transcript([]string{"reload"}); !strings.Contains(got, "reloaded") {
		t.Errorf("with the next daemon:\n%s", got)
	}
}
