package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// register is a system that lists its customers.
type register interface {
	Customers(ctx context.Context) ([]accounting.Party, error)
}

// match is a client of the tracker, and the customer that it may be.
type match struct {
	Client   tracker.Ref       `json:"client"`
	Customer *accounting.Party `json:"customer,omitempty"`
	Guess    bool              `json:"guess,omitempty"` // the names are alike, and not the same
}

// customersCommand proposes which customer each client is.
func (a *app) customersCommand() *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use: "customers SYNC", Short: "Propose which customer each client is, to paste into the config", Args: exactly(1, "the name of a sync"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.load()
			if err != nil {
				return err
			}
			e, err := w.named(args[0])
			if err != nil {
				return err
			}
			matches, err := a.matches(cmd.Context(), e, days)
			if err != nil {
				return temporaryError{fmt.Errorf("%s: %w", e.sync.Name, err)}
			}
			if a.json {
				return a.printJSON(matches)
			}
			a.showMatches(matches)
			return nil
		},
	}
	cmd.Flags().IntVar(&days, "days", 70, "look for clients in the weeks of so many days back")
	return cmd
}

func (a *app) matches(ctx context.Context, e ends, days int) ([]match, error) {
	list, can := e.books.(register)
	if !can {
		return nil, fmt.Errorf("%s keeps no list of customers: name them yourself under invoice.customers", e.sync.Accounting.Kind)
	}
	parties, partiesErr := list.Customers(ctx)
	clients, clientsErr := a.clients(ctx, e, days)
	if err := errors.Join(clientsErr, partiesErr); err != nil {
		return nil, err
	}
	var matches []match
	for _, c := range clients {
		matches = append(matches, matching(c, parties))
	}
	return matches, nil
}

// clients returns the clients of recent weeks, by name.
func (a *app) clients(ctx context.Context, e ends, days int) ([]tracker.Ref, error) {
	now := a.now().In(e.sync.Timezone.Location())
	all := map[string]tracker.Ref{}
	q := tracker.Query{Now: now, First: civil.Period{First: civil.DateOf(now).AddDays(-days)}}
	for page, err := range e.tracker.Weeks(ctx, q) {
		if err != nil {
			return nil, err
		}
		for _, w := range page.Weeks {
			for _, entry := range w.Entries {
				if entry.Client != (tracker.Ref{}) {
					all[cmp.Or(entry.Client.ID, entry.Client.Name)] = entry.Client
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b tracker.Ref) int { return strings.Compare(a.Label(), b.Label()) }), nil
}

// matching proposes a customer: one with the same id, else the one with the same name, else the one whose
// name is alike. Where there are several, none is proposed.
func matching(c tracker.Ref, parties []accounting.Party) match {
	for _, rule := range []func(p accounting.Party) bool{
		func(p accounting.Party) bool { return p.ID == c.ID },
		func(p accounting.Party) bool { return c.Name != "" && p.Name == c.Name },
		func(p accounting.Party) bool { return bare(c.Name) != "" && bare(p.Name) == bare(c.Name) },
	} {
		found := slices.DeleteFunc(slices.Clone(parties), func(p accounting.Party) bool { return !rule(p) })
		if len(found) == 1 {
			return match{c, &found[0], found[0].ID != c.ID && found[0].Name != c.Name}
		}
	}
	return match{Client: c}
}

// bare is a name without case, punctuation and what kind of company it is.
func bare(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	kinds := []string{"gmbh", "ag", "kg", "co", "ltd", "limited", "inc", "llc", "corp", "plc", "bv", "sa", "sas", "sarl", "srl", "oy", "ab", "as", "the"}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return slices.Contains(kinds, w) }), "")
}

// showMatches prints YAML. What is only a guess, or has no customer, is a comment.
func (a *app) showMatches(matches []match) {
	if len(matches) == 0 {
		fmt.Fprintln(a.out, "The recent weeks hold no client.")
		return
	}
	fmt.Fprintln(a.out, "      customers:")
	for _, m := range matches {
		name, key := clean(m.Client.Label()), cmp.Or(m.Client.ID, m.Client.Name)
		switch {
		case m.Customer == nil:
			fmt.Fprintf(a.out, "        # no customer is called like %s: - { client: %q, customer: … }\n", name, key)
		case m.Guess:
			fmt.Fprintf(a.out, "        # a guess, %s may be %s: - { client: %q, customer: %q }\n", name, clean(m.Customer.Name), key, m.Customer.ID)
		default:
			fmt.Fprintf(a.out, "        - { client: %q, customer: %q } # %s\n", key, m.Customer.ID, name)
		}
	}
}
