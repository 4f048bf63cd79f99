package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// hit is a transaction that bears a reference.
type hit struct {
	file      *file
	block     block
	text      []byte // of the block, with unified line ends
	reference string
}

// hits returns the transactions of f that bear reference. A person may put a number of their own in
// the place of the code: the tag then still tells.
func (f *file) hits(reference string) []hit {
	var found []hit
	for b := range blocks(f.data) {
		raw := f.data[b.start:b.end]
		if !b.isTransaction() || !bytes.Contains(raw, []byte(reference)) {
			continue
		}
		h := hit{f, b, unified(raw), reference}
		if parsed := parse(h.text); parsed.code == reference || parsed.tagged(reference) {
			found = append(found, h)
		}
	}
	return found
}

// commentedOut returns the line in which a transaction that bears reference as its code was commented out,
// line by line or as a whole; 0 if there is none. A person took it out of the books: it is not absent.
func (f *file) commentedOut(reference string) int {
	code := []byte("(" + reference + ")")
	for b := range blocks(f.data) {
		if b.isTransaction() || !bytes.Contains(f.data[b.start:b.end], code) {
			continue
		}
		line := b.line
		for text := range bytes.Lines(f.data[b.start:b.end]) {
			head := bytes.TrimLeft(text, ";#%|* \t")
			if bytes.Contains(head, code) && head[0] >= '0' && head[0] <= '9' && parse(unified(head)).code == reference {
				return line
			}
			line++
		}
	}
	return 0
}

// receipt never fails: a transaction that a person made unreadable is still a hit, without amounts.
func (h hit) receipt() accounting.Receipt {
	p := parse(h.text)
	token := sha256.Sum256(h.text)
	r := accounting.Receipt{
		ID:        h.reference,
		Reference: h.reference,
		Customer:  p.tags[tagCustomer],
		Status:    accounting.Edited,
		Token:     hex.EncodeToString(token[:]),
		Link:      fmt.Sprintf("%s:%d", h.file.name, h.block.line),
	}
	if p.code != h.reference {
		r.Number = p.code
	}
	r.Date = p.date
	readable := p.amounts(&r)
	switch {
	case p.mark == '*':
		r.Status = accounting.Final
	case p.mark == pending && readable && p.code == h.reference:
		r.Status = accounting.Draft
	}
	return r
}

// parsed is a transaction as it stands in a file, whoever wrote it.
type parsed struct {
	date       civil.Date // zero where it is not written as a whole
	mark       byte       // ! or *, 0 for none
	code       string
	tags       map[string]string // the first of each name
	references []string          // every value of the reference tag
	postings   []posting
	strange    bool // a posting does not read as we write it
}

func parse(text []byte) parsed {
	p := parsed{tags: make(map[string]string)}
	head, body, _ := strings.Cut(string(text), "\n")
	p.readHead(head)
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, ";"); ok {
			p.readTags(comment)
			continue
		}
		p.readPosting(line)
	}
	return p
}

func (p *parsed) readHead(head string) {
	date, rest, _ := strings.Cut(strings.ReplaceAll(head, "\t", " "), " ")
	p.date = readDate(date)
	rest = strings.TrimLeft(rest, " ")
	if rest != "" && (rest[0] == pending || rest[0] == '*') {
		p.mark, rest = rest[0], strings.TrimLeft(rest[1:], " ")
	}
	if code, ok := strings.CutPrefix(rest, "("); ok {
		code, rest, _ = strings.Cut(code, ")")
		p.code = strings.TrimSpace(code)
	}
	if _, comment, ok := strings.Cut(rest, ";"); ok {
		p.readTags(comment)
	}
}

// readDate reads a date with whatever parts it in two places, and leaves out a second one; zero for a date that only
// another line makes whole.
func readDate(text string) civil.Date {
	text, _, _ = strings.Cut(text, "=")
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("-/.", r) })
	if len(parts) != 3 || len(parts[1]) > 2 || len(parts[2]) > 2 {
		return civil.Date{}
	}
	date, err := civil.Parse(fmt.Sprintf("%s-%02s-%02s", parts[0], parts[1], parts[2]))
	if err != nil {
		return civil.Date{}
	}
	return date
}

// readTags reads "name: value, name: value"; words before a name are not part of it.
func (p *parsed) readTags(comment string) {
	for part := range strings.SplitSeq(comment, ",") {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		name, value = name[strings.LastIndexAny(name, " \t")+1:], strings.TrimSpace(value)
		if _, known := p.tags[name]; !known {
			p.tags[name] = value
		}
		if name == tagReference {
			p.references = append(p.references, value)
		}
	}
}

func (p *parsed) tagged(reference string) bool {
	return slices.Contains(p.references, reference)
}

func (p *parsed) readPosting(line string) {
	line, comment, _ := strings.Cut(line, ";")
	account, amount, ok := cutAccount(strings.TrimSpace(line))
	value, currency, err := readAmount(amount)
	if !ok || err != nil || strings.ContainsAny(account[:1], "!*([") {
		p.strange = true
		return
	}
	p.postings = append(p.postings, posting{account, value, currency, strings.TrimSpace(comment)})
}

// cutAccount ends an account where both programs do: at a tab or at two spaces.
func cutAccount(line string) (account, rest string, ok bool) {
	end := len(line)
	for _, gap := range []string{"  ", "\t"} {
		if n := strings.Index(line, gap); n >= 0 {
			end = min(end, n)
		}
	}
	return line[:end], strings.TrimSpace(line[end:]), end > 0 && end < len(line)
}

// readAmount reads "-95.00 EUR" and nothing more liberal: with a cost, an assertion or a digit group
// it is no longer an amount of ours.
func readAmount(text string) (decimal.Decimal, money.Currency, error) {
	number, code, _ := strings.Cut(text, " ")
	if strings.Trim(number, digits+".-") != "" || code == "" {
		return decimal.Zero, "", fmt.Errorf("%q is not an amount", text)
	}
	currency, err := money.ParseCurrency(code)
	if err != nil {
		return decimal.Zero, "", err
	}
	value, err := decimal.NewFromString(number)
	return value, currency, err
}

// amounts fills in the money, and reports whether the postings read as those of an invoice: one
// currency, a receivable, at least one line, and nothing left over.
func (p *parsed) amounts(r *accounting.Receipt) bool {
	if p.strange || len(p.postings) < 2 {
		return false
	}
	first := p.postings[0]
	rest, net, lines := first.amount, decimal.Zero, []decimal.Decimal(nil)
	for _, g := range p.postings[1:] {
		if g.currency != first.currency {
			return false
		}
		rest = rest.Add(g.amount)
		if strings.HasPrefix(g.comment, tagTax+":") {
			continue
		}
		net = net.Sub(g.amount)
		lines = append(lines, g.amount.Neg())
	}
	if !rest.IsZero() || len(lines) == 0 {
		return false
	}
	r.Currency, r.Net, r.Amounts = first.currency, net, lines
	return true
}
