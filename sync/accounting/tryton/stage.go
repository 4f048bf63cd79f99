package tryton

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tidemark/sync/accounting"
)

// stage is a line of text that is staged, as it was read. Every change of the line changes its timestamp, and
// being taken by an invoice is one.
type stage struct {
	line  int64
	stamp string
}

// String writes the stage for Progress.
func (s stage) String() string { return fmt.Sprintf("line:%d@%s", s.line, s.stamp) }

func parseStage(document string) (stage, error) {
	text, is := strings.CutPrefix(document, "line:")
	n, stamp, cut := strings.Cut(text, "@")
	line, err := strconv.ParseInt(n, 10, 64)
	if !is || !cut || err != nil || stamp == "" {
		return stage{}, fmt.Errorf("%w: tryton: progress %q names no staged line: a draft bears the reference that was not made here", accounting.ErrRejected, document)
	}
	return stage{line, stamp}, nil
}

// errTaken means that an invoice has taken the staged line: an earlier attempt, whose answer was lost, or one
// that still went on. Which one has to be looked up.
var errTaken = errors.New("an earlier attempt has made the invoice")

// stagedLine is a line of text as Tryton has it.
type stagedLine struct {
	ID      int64                      `json:"id"`
	Stamp   string                     `json:"_timestamp"`
	Invoice *int64                     `json:"invoice"`
	On      struct{ Reference string } `json:"invoice."`
}

// stage returns the first line with the text of this invoice, which is created if there is none. A line whose
// answer was lost is found this way, so that none is left over.
func (t *Tryton) stage(ctx context.Context, f frozen) (stage, error) {
	var s staged
	if err := json.Unmarshal(f.Staged, &s); err != nil {
		return stage{}, fmt.Errorf("%w: tryton: frozen line: %w", accounting.ErrRejected, err)
	}
	text := []any{
		where("type", "=", s.Type), where("description", "=", s.Description), where("party", "=", s.Party),
		where("company", "=", s.Company), where("currency", "=", s.Currency),
	}
	lines, err := t.lines(ctx, text)
	if err == nil && len(lines) == 0 {
		var ids []int64
		if err := t.write(ctx, stages, &ids, nil, []any{f.Staged}); err != nil {
			return stage{}, err
		}
		lines, err = t.lines(ctx, text)
	}
	switch {
	case err != nil:
		return stage{}, err
	case len(lines) == 0:
		return stage{}, errors.New("tryton: the line that was staged is not there")
	case lines[0].Invoice != nil:
		return stage{}, lines[0].used(f)
	}
	return stage{lines[0].ID, lines[0].Stamp}, nil
}

func (t *Tryton) lines(ctx context.Context, domain []any) ([]stagedLine, error) {
	return search[stagedLine](ctx, t, lineModel, domain, by("id"), []string{"_timestamp", "invoice", "invoice.reference"})
}

// used says what it means that an invoice has the line.
func (l stagedLine) used(f frozen) error {
	var reference string
	if err := json.Unmarshal(f.Head["reference"], &reference); err == nil && reference == l.On.Reference {
		return fmt.Errorf("tryton: staged line %d: %w, %d", l.ID, errTaken, *l.Invoice)
	}
	return fmt.Errorf("%w: tryton: invoice %d was made for %s, and its reference was changed to %q: change it back, or change the text of its line %d to bill once more",
		accounting.ErrRejected, *l.Invoice, reference, l.On.Reference, l.ID)
}

// taken says why a commit was refused under the timestamp of its line. Where no invoice has the line, somebody
// has changed it, and no commit under that timestamp can ever have an effect.
func (t *Tryton) taken(ctx context.Context, f frozen, s stage) error {
	lines, err := t.lines(ctx, []any{where("id", "=", s.line)})
	switch {
	case err != nil:
		return fmt.Errorf("tryton: staged line %d was taken or changed: %v", s.line, err)
	case len(lines) == 1 && lines[0].Invoice != nil:
		return lines[0].used(f)
	}
	return fmt.Errorf("%w: tryton: somebody has changed or removed the staged line %d", accounting.ErrRejected, s.line)
}
