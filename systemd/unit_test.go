package systemd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	daemonUnit   = "tidemark.service"
	backfillUnit = "tidemark-backfill@.service"
	sandbox      = "# The sandbox"
)

// directive is a line NAME=VALUE of a unit.
type directive struct {
	name, value string
	told        bool // the line above is a comment
	sandboxed   bool // it stands below the heading of the sandbox
}

func (d directive) String() string { return d.name + "=" + d.value }

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// directives returns the lines of [Service].
func directives(t *testing.T, unit string) (all []directive) {
	t.Helper()
	_, text, _ := strings.Cut(read(t, unit), "\n[Service]\n")
	text, _, _ = strings.Cut(text, "\n[Install]\n")
	above, below := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		below = below || strings.HasPrefix(line, sandbox)
		if name, value, ok := strings.Cut(line, "="); ok && line[0] != '#' {
			all = append(all, directive{name, value, strings.HasPrefix(above, "# "), below})
		}
		above = line
	}
	if len(all) < 40 || !below {
		t.Fatalf("%s: %d directives, sandbox %v: not the unit that is meant", unit, len(all), below)
	}
	return all
}

// value returns what the only directive of a name says.
func value(t *testing.T, unit, name string) string {
	t.Helper()
	var found []string
	for _, d := range directives(t, unit) {
		if d.name == name {
			found = append(found, d.value)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: %s is there %d times, want once", unit, name, len(found))
	}
	return found[0]
}

func seconds(t *testing.T, unit, name string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(strings.Replace(value(t, unit, name), "min", "m", 1))
	if err != nil {
		t.Fatalf("%s: %s: %v", unit, name, err)
	}
	return d
}

// The exit codes of the program, and whether a start without a person's help may mend what they mean.
func TestRestartFollowsTheExitCodes(t *testing.T) {
	const done, failed, usage, found, damaged, temporary, config = 0, 1, 2, 3, 74, 75, 78
	mends := map[int]bool{done: true, failed: true, usage: false, found: true, damaged: false, temporary: true, config: false}
	var want []string
	for code := range 256 {
		if mend, known := mends[code]; known && !mend {
			want = append(want, fmt.Sprint(code))
		}
	}
	got := strings.Fields(value(t, daemonUnit, "RestartPreventExitStatus"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RestartPreventExitStatus (-want +got):\n%s", diff)
	}
	if got := value(t, daemonUnit, "Restart"); got != "on-failure" {
		t.Errorf("Restart = %s, want on-failure", got)
	}
}

// A panic and the watchdog's SIGABRT end a Go program with 2, as wrong use does, unless the unit says otherwise.
func TestPanicIsNotTakenForWrongUse(t *testing.T) {
	for _, unit := range []string{daemonUnit, backfillUnit} {
		if status := panicked(t, value(t, unit, "Environment")); !status.Signaled() || status.Signal() != syscall.SIGABRT {
			t.Errorf("%s: a panic ends with %v (exit code %d), want SIGABRT", unit, status.Signal(), status.ExitStatus())
		}
	}
	if status := panicked(t, "GOTRACEBACK=single"); status.ExitStatus() != 2 {
		t.Errorf("a panic ends with %d by itself: is Environment=GOTRACEBACK=crash still needed?", status.ExitStatus())
	}
}

func panicked(t *testing.T, environment string) syscall.WaitStatus {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), executable(t))
	cmd.Env = []string{childVariable + "=1", environment}
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "panic: as asked") {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return exit.Sys().(syscall.WaitStatus)
}

func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// The daemon stops within 10 seconds and looks at the clock every 30.
func TestTimesLeaveTheDaemonRoom(t *testing.T) {
	const stopWithin, longestSleep = 10 * time.Second, 30 * time.Second
	for _, unit := range []string{daemonUnit, backfillUnit} {
		if got := seconds(t, unit, "TimeoutStopSec"); got < 2*stopWithin {
			t.Errorf("%s: TimeoutStopSec = %v, want twice the %v of a stop", unit, got, stopWithin)
		}
	}
	if got := seconds(t, daemonUnit, "WatchdogSec"); got/2 < longestSleep {
		t.Errorf("WatchdogSec = %v, half of which is less than the %v between two reports", got, longestSleep)
	}
}

func TestSandboxIsExplained(t *testing.T) {
	for _, d := range directives(t, daemonUnit) {
		if d.sandboxed && !d.told {
			t.Errorf("%v: no comment above it says why", d)
		}
	}
}

func TestBothUnitsHaveOneSandbox(t *testing.T) {
	lines := func(unit string) (all []string) {
		for _, d := range directives(t, unit) {
			if d.sandboxed {
				all = append(all, d.String())
			}
		}
		return all
	}
	if diff := cmp.Diff(lines(daemonUnit), lines(backfillUnit)); diff != "" {
		t.Errorf("sandbox (-%s +%s):\n%s", daemonUnit, backfillUnit, diff)
	}
}

func TestUnitsShareUserAndFolders(t *testing.T) {
	for _, name := range []string{"User", "Group", "StateDirectory", "StateDirectoryMode", "ConfigurationDirectory", "ConfigurationDirectoryMode", "UMask", "WorkingDirectory"} {
		if d, b := value(t, daemonUnit, name), value(t, backfillUnit, name); d != b {
			t.Errorf("%s = %s and %s, want one", name, d, b)
		}
	}
	if user := value(t, daemonUnit, "User"); !strings.Contains(read(t, "tidemark.sysusers"), "\nu "+user+" ") {
		t.Errorf("tidemark.sysusers makes no user %s", user)
	}
	// At the end of a unit its runtime directory goes, and with it the daemon's control socket.
	if slices.ContainsFunc(directives(t, backfillUnit), func(d directive) bool { return d.name == "RuntimeDirectory" }) {
		t.Errorf("%s has a RuntimeDirectory", backfillUnit)
	}
}

// analyze runs systemd-analyze, or ends the test where there is none.
func analyze(t *testing.T, arguments ...string) (out, complaints string, err error) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	switch {
	case err != nil && os.Getenv("TIDEMARK_CI") == "1":
		t.Fatal("systemd-analyze is missing: install the package systemd")
	case err != nil:
		t.Skip("systemd-analyze is missing: the units are not held against systemd")
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), path, arguments...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_COLORS=0", "SYSTEMD_PAGER=", "SYSTEMD_LOG_LEVEL=notice")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// installed writes a unit whose programs exist, since the test stands in for them, with one line changed.
func installed(t *testing.T, unit, line, other string) string {
	t.Helper()
	self := executable(t)
	text := strings.NewReplacer(
		"=/usr/local/bin/tidemark", "="+self, "/bin/kill", self, "\n"+line+"\n", "\n"+other+"\n",
	).Replace(read(t, unit))
	if !strings.Contains(text, "\n"+other+"\n") {
		t.Fatalf("%s: has no line %s", unit, line)
	}
	path := filepath.Join(t.TempDir(), unit)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSystemdUnderstandsTheUnits(t *testing.T) {
	const strict = "ProtectSystem=strict"
	for _, unit := range []string{daemonUnit, backfillUnit} {
		t.Run(unit, func(t *testing.T) {
			out, complaints, err := analyze(t, "verify", "--man=no", installed(t, unit, strict, strict))
			if err != nil || complaints != "" {
				t.Errorf("verify: %v\n%s%s", err, out, complaints)
			}
			// It ends with 0 even so, hence the look at what it says.
			if _, complaints, _ = analyze(t, "verify", "--man=no", installed(t, unit, strict, "ProtectSytem=strict")); !strings.Contains(complaints, "ProtectSytem") {
				t.Errorf("a wrong name is not found; stderr: %q", complaints)
			}
		})
	}
}

func TestExposure(t *testing.T) {
	const users, most = "PrivateUsers=yes", "--threshold=11" // ten times the exposure, which is 1.1
	for _, unit := range []string{daemonUnit, backfillUnit} {
		t.Run(unit, func(t *testing.T) {
			if out, complaints, err := analyze(t, "security", "--offline=true", most, installed(t, unit, users, users)); err != nil {
				t.Errorf("security %s: %v\n%s%s", most, err, out, complaints)
			}
			if out, _, err := analyze(t, "security", "--offline=true", most, installed(t, unit, users, "PrivateUsers=no")); err == nil {
				t.Errorf("a weaker unit passes, too:\n%s", out)
			}
		})
	}
}
