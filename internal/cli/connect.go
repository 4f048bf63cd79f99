package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/grant"
)

// pinned is a system whose sign-in may span several organisations.
type pinned interface {
	// Pinned returns why a sign-in is not for the organisation of the config; nil if it is. It is told the query
	// with which the browser came back, and a client that is signed in.
	Pinned(ctx context.Context, answer url.Values, signedIn *http.Client) error
}

// connectCommand lets a person sign in to an accounting system.
func (a *app) connectCommand() *cobra.Command {
	var redirect string
	var paste bool
	cmd := &cobra.Command{
		Use: "connect SYNC", Short: "Sign in to the accounting system of a sync, in a browser", Args: exactly(1, "the name of a sync"),
		Long: "Prints an address to open in a browser, waits until the browser comes back, and keeps the sign-in beside the\n" +
			"state, readable by its owner alone. Run it as the user that the daemon runs as. On a machine without a\n" +
			"browser, open the address elsewhere and paste the address to which the browser was sent afterwards.",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.load()
			if err != nil {
				return err
			}
			e, err := w.named(args[0])
			if err != nil {
				return err
			}
			if e.grant == nil {
				return usage("%s: nobody signs in to %s: its credentials stand in the config", e.sync.Name, e.sync.Accounting.Kind)
			}
			return a.connect(cmd.Context(), e, redirect, paste)
		},
	}
	cmd.Flags().StringVar(&redirect, "redirect", "http://localhost:8914/callback", "the `address` to which the vendor sends the browser; register it there")
	cmd.Flags().BoolVar(&paste, "paste", false, "do not listen: paste the address, or the code, that the browser shows afterwards")
	return cmd
}

// named returns the ends of a sync.
func (w *work) named(name string) (ends, error) {
	var names []string
	for _, e := range w.ends {
		if e.sync.Name == name {
			return e, nil
		}
		names = append(names, e.sync.Name)
	}
	return ends{}, usage("no sync is called %q: the config has %s", name, strings.Join(names, ", "))
}

func (a *app) connect(ctx context.Context, e ends, redirect string, paste bool) error {
	c := e.grant.Connect(redirect)
	answer, err := a.answer(ctx, c, redirect, paste)
	if err != nil {
		return err
	}
	err = c.Finish(ctx, answer, func(q url.Values, signedIn *http.Client) error {
		if p, spans := e.books.(pinned); spans {
			return p.Pinned(ctx, q, signedIn)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: signed in to %s.\n", e.sync.Name, e.books.Account())
	return nil
}

// answer lets a person sign in, and returns what the browser comes back with.
func (a *app) answer(ctx context.Context, c *grant.Connect, redirect string, paste bool) (string, error) {
	fmt.Fprintf(a.out, "Open this address in a browser and sign in:\n\n  %s\n\n", c.URL)
	target, err := url.Parse(redirect)
	if err != nil {
		return "", usage("--redirect %q is no address", redirect)
	}
	if paste || target.Hostname() != "localhost" && target.Hostname() != "127.0.0.1" {
		fmt.Fprintf(a.out, "Then paste the address to which the browser was sent, or the code in it:\n> ")
		line, err := bufio.NewReader(a.in).ReadString('\n')
		if err != nil && line == "" {
			return "", errors.New("nothing was pasted")
		}
		return line, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", target.Port()))
	if err != nil {
		return "", fmt.Errorf("cannot wait for the browser on %s: %w; choose another --redirect, or --paste", target.Host, err)
	}
	fmt.Fprintf(a.out, "Waiting on %s for the browser to come back …\n", target.Host)
	back, err := c.Wait(ctx, listener)
	if err != nil {
		return "", err
	}
	return back.String(), nil
}
