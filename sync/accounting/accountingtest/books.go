package accountingtest

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// Books are what an accounting system holds, in the words of no vendor. A dialect shows them as its vendor
// would, and writes into them what it is sent.
type Books struct {
	mu        sync.Mutex
	Documents []*Document
	Customers []accounting.Party
	Keys      map[string]string // of repeated requests: the id that each made
	Lag       time.Duration     // a search sees only what is older
	PageSize  int               // of every list; zero: as large as the request asks for
	serial    int
}

// Document is an invoice, or what stands for one.
type Document struct {
	ID        string // decimal digits
	Number    string
	Reference string
	Customer  string
	Currency  money.Currency
	Status    accounting.Status
	Deleted   bool // with status Void: deleted and not voided, where the vendor tells these apart
	Date, Due civil.Date
	Lines     []Line
	Made      time.Time
	Edition   int // raised by every change
	Extra     map[string]string
}

// Line is one line of a document.
type Line struct {
	Text            string
	Quantity, Price decimal.Decimal
	Amount          decimal.Decimal // as the vendor works it out
	Tax             string
}

// Lock gives a handler the books as they are at one moment; the function that it returns ends that.
func (b *Books) Lock() (unlock func()) {
	b.mu.Lock()
	return b.mu.Unlock
}

// NewBooks returns books with two customers, 71 and 72.
func NewBooks() *Books {
	return &Books{Keys: map[string]string{}, Customers: []accounting.Party{{ID: "71", Name: "Acme"}, {ID: "72", Name: "O'Keefe & Fleur’s"}}}
}

// Add puts a new document into the books, which must be locked, and gives it its id.
func (b *Books) Add(d *Document) *Document {
	b.serial++
	d.ID, d.Made, d.Edition = strconv.Itoa(9000+b.serial), time.Now(), 1
	b.Documents = append(b.Documents, d)
	return d
}

// Get returns the document with an id, or nil. The books must be locked.
func (b *Books) Get(id string) *Document {
	for _, d := range b.Documents {
		if d.ID == id {
			return d
		}
	}
	return nil
}

// Seen returns the documents that a search sees by now. The books must be locked.
func (b *Books) Seen() (seen []*Document) {
	for _, d := range b.Documents {
		if time.Since(d.Made) >= b.Lag {
			seen = append(seen, d)
		}
	}
	return seen
}

// Knows reports whether there is a customer with an id.
func (b *Books) Knows(customer string) bool {
	for _, c := range b.Customers {
		if c.ID == customer {
			return true
		}
	}
	return false
}

// Net returns the sum of the lines.
func (d *Document) Net() decimal.Decimal {
	sum := decimal.Zero
	for _, l := range d.Lines {
		sum = sum.Add(l.Amount)
	}
	return sum
}

// Touch is what a person does to a document.
func (b *Books) Touch(d *Document, change func(*Document)) {
	defer b.Lock()()
	change(d)
	d.Edition++
	time.Sleep(2 * time.Second) // Some vendors tell changes apart by the second; the clock is that of a bubble.
}

// UUID makes an id of the form that many vendors use.
func UUID(id string) string { return fmt.Sprintf("00000000-0000-4000-8000-%012s", id) }
