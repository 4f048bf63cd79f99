package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tidemark/state"
)

// TestMain lets the test binary be the program, for the scripts and for the probe of a state file.
func TestMain(m *testing.M) {
	if handled, code := state.Probe(os.Args[1:]); handled {
		os.Exit(code) // of a state that a test itself has opened
	}
	testscript.Main(m, map[string]func(){
		"tidemark": func() { os.Exit(Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the program as a person would. Every script starts with a copy of the quickstart.
func TestScripts(t *testing.T) {
	quickstart, err := filepath.Abs("../../examples/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LC_ALL", "C.UTF-8")
			for _, name := range []string{"tidemark.yaml", "exports"} {
				if err := copyTo(filepath.Join(quickstart, name), filepath.Join(env.WorkDir, name)); err != nil {
					return err
				}
			}
			return age(filepath.Join(env.WorkDir, "exports"))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":    code,
			"killed":  killed,
			"replace": replace,
			"append":  appendTo,
			"expire":  expire,
			"await":   await,
			"send":    send,
			"age":     ageFiles,
		},
	})
}

// age makes files look as if they had been written a while ago: nobody is writing them any more.
func age(folder string) error {
	then := time.Now().Add(-time.Hour)
	return filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, then, then)
	})
}

func copyTo(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// code N COMMAND… runs a command that must exit with N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	got := "0"
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = strconv.Itoa(exit.ExitCode())
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// killed COMMAND… runs a command that must be killed.
func killed(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: killed COMMAND…")
	}
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		ts.Fatalf("%v, want it killed", err)
	}
}

// replace FILE OLD NEW replaces text that must be there.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	path := ts.MkAbs(args[0])
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	out := strings.Replace(data, args[1], strings.ReplaceAll(args[2], `\n`, "\n"), 1)
	ts.Check(os.WriteFile(path, []byte(out), 0o600))
	then := time.Now().Add(-time.Minute)
	ts.Check(os.Chtimes(path, then, then))
}

// append FILE OTHER writes another file behind what a file holds.
func appendTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE OTHER")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+ts.ReadFile(args[1])), 0o600))
}

// expire waits until keys that live one second have lived.
func expire(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: expire")
	}
	time.Sleep(1100 * time.Millisecond)
}

// await FILE waits until a file is there, for ten seconds at most.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for range 200 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s does not come", args[0])
}

// send SIGNAL LOCKFILE sends a signal to the process that owns the state, and gives it a moment to act on it.
func send(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM}
	if neg || len(args) != 2 || signals[args[0]] == 0 {
		ts.Fatalf("usage: send HUP|TERM LOCKFILE")
	}
	pid, err := strconv.Atoi(strings.Fields(ts.ReadFile(args[1]))[0])
	ts.Check(err)
	ts.Check(syscall.Kill(pid, signals[args[0]]))
	time.Sleep(500 * time.Millisecond)
}

// ageFiles FOLDER makes the files of a folder look as if they had been written a while ago.
func ageFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age FOLDER")
	}
	ts.Check(age(ts.MkAbs(args[0])))
}
