package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/sync/accounting"
	"tidemark/sync/money"
)

// attempts is how often a write starts again because a person saved the file meanwhile.
const attempts = 8

// Create appends the frozen transaction. If it is there already, byte for byte, that is the success
// of an earlier attempt; if another one bears the reference, it is ErrRejected. There is one step, so
// neither key nor progress is needed, and save is not called.
func (j *Journal) Create(ctx context.Context, _ string, req accounting.Request, _ accounting.Progress, _ func(accounting.Progress) error) (accounting.Receipt, error) {
	return j.write(ctx, req, j.created)
}

func (j *Journal) created(b *books, want frozen) (revision, error) {
	hits := b.find(want.reference)
	switch {
	case len(hits) == 1 && bytes.Equal(hits[0].text, want.body):
		return revision{file: hits[0].file}, nil
	case len(hits) > 0:
		return revision{}, rejected("%s: the reference is already in the books (%s)", want.reference, hits[0].receipt().Link)
	}
	main := b.files[0]
	if main.closed != "" {
		return revision{}, notSent(errors.New(main.closed))
	}
	return revision{main, main.appended(j.declarations(b, want), want.body)}, nil
}

// Update puts the frozen transaction in the place of the draft that left describes, and changes no
// other byte. ErrTouched means that the draft is no longer as it was left. If the transaction stands
// there already, byte for byte, that is success.
func (j *Journal) Update(ctx context.Context, _ string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	return j.write(ctx, req, j.updated(left))
}

func (j *Journal) updated(left accounting.Receipt) revise {
	return func(b *books, want frozen) (revision, error) {
		hits := b.find(want.reference)
		if len(hits) != 1 {
			return revision{}, fmt.Errorf("journal: %s: %w: %d transactions bear the reference", want.reference, accounting.ErrTouched, len(hits))
		}
		h := hits[0]
		if bytes.Equal(h.text, want.body) {
			return revision{file: h.file}, nil
		}
		if now := h.receipt(); !now.Untouched(left) {
			return revision{}, fmt.Errorf("journal: %s: %w (%s)", want.reference, accounting.ErrTouched, now.Link)
		}
		return revision{h.file, h.replaced(j.declarations(b, want), want.body)}, nil
	}
}

// revision is what a file of the books should become; nil data leaves it as it is.
type revision struct {
	file *file
	data []byte
}

// revise says what should become of the books so that they hold the transaction.
type revise func(*books, frozen) (revision, error)

// write reads the books under the lock, asks what should become of them, and does it. It
// begins again, a few times, when a person saved the file in between.
func (j *Journal) write(ctx context.Context, req accounting.Request, ask revise) (accounting.Receipt, error) {
	none := accounting.Receipt{}
	want, err := thaw(req)
	if err != nil {
		return none, err
	}
	target, err := resolve(j.path)
	if err != nil {
		return none, notSent(err)
	}
	release, err := lock(ctx, target)
	if err != nil {
		return none, notSent(err)
	}
	defer release()
	for range attempts {
		if err := ctx.Err(); err != nil {
			return none, notSent(err)
		}
		got, err := j.attempt(ctx, want, ask)
		if err == nil {
			remember(target)
		}
		if !errors.Is(err, errStale) {
			return got, err
		}
	}
	return none, notSent(fmt.Errorf("%s: saved by another program %d times while it was to be written", j.path, attempts))
}

func (j *Journal) attempt(ctx context.Context, want frozen, ask revise) (accounting.Receipt, error) {
	none := accounting.Receipt{}
	b, err := readBooks(j.path)
	if err != nil {
		return none, notSent(err)
	}
	if err := b.files[0].clearLeftovers(); err != nil {
		return none, notSent(err)
	}
	if place := b.comma(want.currency); place != "" {
		return none, notSent(fmt.Errorf("%s: asks for a decimal comma, which would change what is written with a point: invoices need books with a decimal point", place))
	}
	r, err := ask(b, want)
	if err != nil {
		return none, err
	}
	after := r.file
	if r.data != nil {
		after = &file{name: r.file.name, real: r.file.real, data: r.data}
	}
	// Seen before it is written: what could not be found again must not be there.
	seen := after.hits(want.reference)
	if len(seen) != 1 || !bytes.Equal(seen[0].text, want.body) {
		return none, notSent(fmt.Errorf("%s: the transaction could not be read back from there", r.file.name))
	}
	switch {
	case r.data == nil:
		err = flushFolder(r.file.real) // whoever wrote it may have died before doing so
	case r.file == b.files[0]:
		err = r.file.swap(r.data)
	default:
		err = r.file.swapIncluded(ctx, r.data)
	}
	switch {
	case errors.Is(err, accounting.ErrNotSent):
		return none, err
	case err != nil:
		return none, fmt.Errorf("journal: %s: %w", r.file.name, err)
	}
	return seen[0].receipt(), nil
}

// swapIncluded takes the lock of a file that other books may include too.
func (f *file) swapIncluded(ctx context.Context, next []byte) error {
	release, err := lock(ctx, f.real)
	if err != nil {
		return notSent(err)
	}
	defer release()
	if err := f.clearLeftovers(); err != nil {
		return notSent(err)
	}
	return f.swap(next)
}

// frozen is the one transaction of a request.
type frozen struct {
	parsed
	reference string
	currency  money.Currency
	body      []byte
}

// thaw takes a request apart, and refuses what is not one pending transaction: no request, of
// whichever release, makes more than a draft.
func thaw(req accounting.Request) (frozen, error) {
	if len(req.Steps) != 1 {
		return frozen{}, rejected("a request of %d steps, not of one", len(req.Steps))
	}
	body := req.Steps[0].Body
	whole := slices.Collect(blocks(body))
	if len(whole) != 1 || !whole[0].isTransaction() || !bytes.Equal(unified(body), body) {
		return frozen{}, rejected("the request is not one transaction")
	}
	p := parse(body)
	if p.mark != pending || p.code == "" || p.strange || len(p.postings) == 0 {
		return frozen{}, rejected("the request is not a pending transaction with a reference")
	}
	return frozen{p, p.code, p.postings[0].currency, body}, nil
}

// appended returns the file with the transaction behind it, after an empty line.
func (f *file) appended(declarations, body []byte) []byte {
	var gap []byte
	switch {
	case len(f.data) == 0, bytes.HasSuffix(f.data, []byte("\n\n")), bytes.HasSuffix(f.data, []byte("\n\r\n")):
	case bytes.HasSuffix(f.data, []byte("\n")):
		gap = []byte("\n")
	default:
		gap = []byte("\n\n")
	}
	return slices.Concat(f.data, f.ends(slices.Concat(gap, declarations, body)))
}

// replaced returns the hit's file with the transaction exchanged. New declarations come before it.
func (h hit) replaced(declarations, body []byte) []byte {
	f := h.file
	return slices.Concat(f.data[:h.block.start], f.ends(slices.Concat(declarations, body)), f.data[h.block.end:])
}

// ends gives text the line ends of the file.
func (f *file) ends(text []byte) []byte {
	first := f.data[:lineEnd(f.data, 0)]
	if !strings.HasSuffix(string(first), "\r\n") {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}
