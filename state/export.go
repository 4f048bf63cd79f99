package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"go.etcd.io/bbolt"

	"tidemark/sync/accounting"
	"tidemark/sync/tracker"
)

// Row is one line of an export.
type Row struct {
	Kind  string         `json:"kind"`
	Key   map[string]any `json:"key"`   // the parts of the key by their names
	Value any            `json:"value"` // null where the key says it all
}

// Export writes the whole state as it is at this moment, one row a line, each a JSON object: kind by kind, in the order
// of the keys. It reads a copy in the folder for temporary files, so that a slow reader holds nothing up.
func (s *Store) Export(w io.Writer) error {
	folder, path, err := s.copied("export")
	if err != nil {
		return err
	}
	return errors.Join(exportFile(path, w), os.RemoveAll(folder))
}

func exportFile(path string, w io.Writer) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("state export: %w", err)
	}
	defer db.Close()
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err = db.View(func(tx *bbolt.Tx) error {
		for _, k := range exportedKinds() {
			if err := scan(tx, k.bucket, nil, func(key, value []byte) error { return k.export(enc, key, value) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("state export: %w", err)
	}
	return nil
}

// exportedKind says how the rows of a bucket are told to people.
type exportedKind struct {
	bucket []byte
	parts  []keyPart
	value  func(payload []byte) (any, error)
}

func (k exportedKind) export(enc *json.Encoder, key, value []byte) error {
	row := Row{Kind: string(k.bucket), Key: map[string]any{}}
	rest := key
	for _, p := range k.parts {
		var err error
		if row.Key[p.name], rest, err = p.read(rest); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: key %q goes on", ErrDamaged, key)
	}
	payload, err := unseal(value)
	if err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	if row.Value, err = k.value(payload); err != nil {
		return fmt.Errorf("%w: %q: %v", ErrDamaged, key, err)
	}
	return enc.Encode(row)
}

// keyPart is one part of a key.
type keyPart struct {
	name string
	read func(key []byte) (v any, rest []byte, err error)
}

// exportedKinds lists what is exported, as the list of buckets tells it. What is not in it is not exported: a bucket
// that holds secrets stays out.
func exportedKinds() []exportedKind {
	channel := []string{"tracker", "account", "prefix"}
	in := func(more ...string) []keyPart { return words(append(channel[:3:3], more...)...) }
	of := words
	return []exportedKind{
		{bucketMeta, []keyPart{{"name", whole}}, asJSON},
		{bucketChannel, in(), asJSON},
		{bucketWatermark, in(), asJSON},
		{bucketHeartbeat, in(), asJSON},
		{bucketSlice, in("range", "firstDay"), asJSON},
		{bucketWeek, in("firstDay", "week"), asHead},
		{bucketContent, in("firstDay", "week"), asJSON},
		{bucketFormer, append(in("firstDay", "week"), keyPart{"sequence", counted}), asJSON},
		{bucketPlace, in("week"), asText},
		{bucketHolder, in("entry", "firstDay", "week"), asNothing},
		{bucketUnread, in("week"), asJSON},
		{bucketMissing, in("firstDay", "week"), asJSON},
		{bucketVanished, in("entry"), asJSON},
		{bucketPin, in("client"), asJSON},
		{bucketClaim, of("tracker", "entry"), asJSON},
		{bucketGroup, of("account", "reference"), asJSON},
		{bucketDue, of("account", "reference"), asMark},
		{bucketReceipt, append(of("account", "reference"), keyPart{"document", counted}), asJSON},
		{bucketKey, of("account", "key"), asKey},
		{bucketFrozen, of("account", "key"), asFrozen},
		{bucketExpiry, append([]keyPart{{"firstSeen", stamped}}, of("account", "key")...), asNothing},
		{bucketItem, of("account", "subject"), asJSON},
		{bucketEvent, append(of("account", "subject"), keyPart{"number", counted}), asJSON},
	}
}

func words(names ...string) (parts []keyPart) {
	for _, name := range names {
		parts = append(parts, keyPart{name, word})
	}
	return parts
}

func word(key []byte) (any, []byte, error) {
	part, rest, err := cut(key)
	return part, rest, err
}

func whole(key []byte) (any, []byte, error) { return string(key), nil, nil }

func counted(key []byte) (any, []byte, error) {
	n, rest, err := cutNumber(key)
	return n, rest, err
}

func stamped(key []byte) (any, []byte, error) {
	n, rest, err := cutNumber(key)
	return time.Unix(0, int64(n)).UTC(), rest, err
}

func asJSON(payload []byte) (any, error) {
	if !json.Valid(payload) {
		return nil, errors.New("no JSON")
	}
	return json.RawMessage(payload), nil // The row is written while the transaction lives.
}

func asText(payload []byte) (any, error) { return string(payload), nil }

func asNothing(payload []byte) (any, error) {
	if len(payload) > 0 {
		return nil, errors.New("more than the key says")
	}
	return nil, nil
}

func asMark(payload []byte) (any, error) {
	n, rest, err := cutNumber(payload)
	if len(rest) > 0 {
		err = errors.New("not a mark")
	}
	return n, err
}

func asKey(payload []byte) (any, error) {
	var k Key
	err := k.unpack(payload)
	return k, err
}

// exportedHead is a head without what its key says.
type exportedHead struct {
	Version  tracker.Version `json:"version"`
	State    tracker.State   `json:"state"`
	Digest   Digest          `json:"digest"`
	Sequence uint64          `json:"sequence"`
}

func asHead(payload []byte) (any, error) {
	h, err := readHead(payload)
	return exportedHead{h.Version, h.State, h.Digest, h.Sequence}, err
}

// exportedFrozen is a frozen request whose bodies can be read. Requests are frozen without credentials.
type exportedFrozen struct {
	Frozen
	Request []exportedStep `json:"request"`
}

type exportedStep struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   any    `json:"body"` // JSON as it is, other text as text, and bytes as base64
}

func asFrozen(payload []byte) (any, error) {
	var f Frozen
	if err := json.Unmarshal(payload, &f); err != nil {
		return nil, err
	}
	e := exportedFrozen{Frozen: f}
	for _, step := range f.Request.Steps {
		e.Request = append(e.Request, exportedStep{step.Method, step.Path, bodyOf(step)})
	}
	return e, nil
}

func bodyOf(step accounting.Step) any {
	switch {
	case json.Valid(step.Body):
		return json.RawMessage(step.Body)
	case utf8.Valid(step.Body):
		return string(step.Body)
	}
	return step.Body
}
