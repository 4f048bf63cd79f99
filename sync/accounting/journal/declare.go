package journal

import (
	"bytes"
	"fmt"
	"strings"

	"tidemark/sync/money"
)

// declare notes what is declared as hledger sees it. Ledger takes a comment on the same line for a
// part of the name; to declare the name once more for its sake would undo hledger's display style.
func (b *books) declare(word, rest, prefix string, text []byte, place string) {
	switch word {
	case "account":
		name := accountName(rest)
		if prefix != "" {
			name = prefix + ":" + name
		}
		b.accounts[name] = true
	case "tag":
		b.tags[rest] = true
	case "decimal-mark":
		if strings.HasPrefix(rest, ",") {
			b.commas[""] = place
		}
	case "commodity", "D":
		b.declareCommodity(word, uncommented(rest), string(text), place)
	}
}

// declareCommodity reads "commodity EUR", "commodity 1000.00 EUR" and a format line below either.
func (b *books) declareCommodity(word, sample, text, place string) {
	symbol := strings.Trim(sample, "\"-+.,' "+digits)
	if word == "commodity" {
		b.commodities[symbol] = true
	}
	samples := []string{sample}
	for line := range strings.Lines(text) {
		if format, ok := strings.CutPrefix(strings.TrimSpace(line), "format"); ok {
			samples = append(samples, uncommented(format))
		}
	}
	for _, s := range samples {
		if n := strings.LastIndexAny(s, ".,"); n >= 0 && s[n] == ',' {
			b.commas[symbol] = place
		}
	}
}

// accountName ends where hledger ends it: at two white spaces, and nowhere else.
func accountName(rest string) string {
	for n := 1; n < len(rest); n++ {
		if strings.ContainsRune(" \t", rune(rest[n-1])) && strings.ContainsRune(" \t", rune(rest[n])) {
			return rest[:n-1]
		}
	}
	return rest
}

func uncommented(sample string) string {
	sample, _, _ = strings.Cut(sample, ";")
	return strings.TrimSpace(sample)
}

// comma returns the place that asks for a decimal comma in currency; empty where none does.
func (b *books) comma(currency money.Currency) string {
	if place := b.commas[""]; place != "" {
		return place
	}
	return b.commas[string(currency)]
}

// declarations returns the directives that the transaction needs and the books do not have yet.
func (j *Journal) declarations(b *books, want frozen) []byte {
	if !j.declare {
		return nil
	}
	var out bytes.Buffer
	add := func(word, name string, known map[string]bool) {
		if !known[name] {
			fmt.Fprintf(&out, "%s %s\n", word, name)
			known[name] = true
		}
	}
	for _, p := range want.postings {
		add("account", p.account, b.accounts)
	}
	add("commodity", string(want.currency), b.commodities)
	for _, name := range []string{tagReference, tagCustomer, tagPeriod, tagDue, tagTax} {
		if bytes.Contains(want.body, []byte("; "+name+": ")) {
			add("tag", name, b.tags)
		}
	}
	if out.Len() > 0 {
		out.WriteByte('\n')
	}
	return out.Bytes()
}
