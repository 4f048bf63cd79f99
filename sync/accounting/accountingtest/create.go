package accountingtest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/money"
)

func creates(s *scene) {
	inv := s.invoice("ts-881")
	got := s.must(s.create(inv))
	if got.Reference != inv.Reference || got.Status != accounting.Draft || !got.Bills(inv) || got.ID == "" {
		s.Errorf("Create = %+v, want a draft that bills what was wanted", got)
	}
	docs := s.live("ts-881")
	if len(docs) != 1 || docs[0].Status != accounting.Draft || !docs[0].Net().Equal(inv.Net()) || docs[0].Date != inv.Date || docs[0].Due != inv.Due {
		s.Errorf("the books hold %+v, want one draft of %s, of %s and due on %s", docs, inv.Net(), inv.Date, inv.Due)
	}
	s.settled()
	found := s.find("ts-881")
	if len(found) != 1 || !found[0].Bills(inv) || found[0].ID != got.ID || found[0].Status != accounting.Draft {
		s.Errorf("Find = %+v, want the draft %s", found, got.ID)
	}
	if len(found) == 1 && !found[0].Untouched(got) {
		s.Errorf("found %+v is not as it was left: %+v", found[0], got)
	}
}

func prepareIsPure(s *scene) {
	one, two := s.prepare(s.invoice("ts-1")), s.prepare(s.invoice("ts-1"))
	if !reflect.DeepEqual(one, two) || len(one.Steps) == 0 {
		s.Errorf("Prepare twice = %+v and %+v, want the same", one, two)
	}
	for _, step := range one.Steps {
		if strings.Contains(fmt.Sprint(step.Path, string(step.Body)), s.Token) {
			s.Error("a frozen step holds the token")
		}
	}
	if len(s.sent()) > 0 {
		s.Errorf("Prepare sent %v", s.sent())
	}
	time.Sleep(40 * 24 * time.Hour)
	if later := s.prepare(s.invoice("ts-1")); !reflect.DeepEqual(one, later) {
		s.Errorf("Prepare a month later = %+v, want the same", later)
	}
}

// sayable tries hours and rates whose product is not the amount, and amounts that a tracker stated.
func sayable(s *scene) {
	for i, tt := range []struct {
		seconds int64
		rate    string
		stated  string
	}{
		{3000, "100", ""}, {22800, "90", ""}, {720, "30", ""}, {119999, "0.1648", ""}, {1, "0.01", ""}, {4 * 3600, "33.333333", ""},
		{7596, "85.255", ""}, {3600, "100", "157.35"}, {0, "0", "12.34"}, {5400, "0", ""}, {360000000, "999.99", ""},
	} {
		inv := s.invoice(fmt.Sprintf("ts-%d", i))
		l := accounting.Line{Text: "work", Seconds: tt.seconds, Rate: decimal.RequireFromString(tt.rate)}
		l.Amount = inv.Currency.Quotient(l.Rate.Mul(decimal.NewFromInt(tt.seconds)), decimal.NewFromInt(3600))
		if tt.stated != "" {
			l.Stated, l.Amount = true, decimal.RequireFromString(tt.stated)
		}
		inv.Lines = append(inv.Lines, l)
		if got, err := s.create(inv); err != nil || !got.Bills(inv) {
			s.Errorf("%d s at %s (%s): %+v, %v; want %s", tt.seconds, tt.rate, tt.stated, got, err, inv.Net())
		}
	}
}

func currencies(s *scene) {
	all := s.Currencies
	if all == nil {
		all = []money.Currency{"EUR", "JPY", "KWD"}
	}
	for i, c := range all {
		inv := s.invoice(fmt.Sprintf("ts-c%d", i))
		inv.Currency = c
		for j := range inv.Lines {
			l := &inv.Lines[j]
			l.Amount = c.Quotient(l.Rate.Mul(decimal.NewFromInt(l.Seconds)), decimal.NewFromInt(3600))
		}
		if got, err := s.create(inv); err != nil || !got.Bills(inv) {
			s.Errorf("%s: %+v, %v; want %s", c, got, err, inv.Net())
		}
	}
}

// hostile sends texts that break careless programs. What the system cannot hold is cut between characters.
func hostile(s *scene) {
	inv := s.invoice("ts-h")
	inv.Lines[0].Text = "😀\u202e<script>alert(1)</script> :MONTH \"q\" 'a' \\ a\x00b\nc\td & ü=1+1"
	inv.Lines[1].Text = strings.Repeat("🏳️‍🌈 long ", 4000)
	inv.Title, inv.Client = inv.Lines[0].Text, "O'Keefe \"&\" Söhne"
	if got, err := s.create(inv); err != nil || !got.Bills(inv) {
		s.Fatalf("Create = %+v, %v", got, err)
	}
	for _, l := range s.live("ts-h")[0].Lines {
		if !utf8.ValidString(l.Text) || strings.ContainsAny(l.Text, "\x00") || strings.Contains(l.Text, ":MONTH") && s.system.Traits().Limits.Forbidden != "" {
			s.Errorf("the books hold the text %.80q", l.Text)
		}
	}
}

// effectWithoutAnswer does what was asked and loses the answer. That must never be called refused or unsent, and
// the document is found.
func effectWithoutAnswer(s *scene) {
	for i, fault := range []remotetest.Fault{
		remotetest.Silence, remotetest.Reset, remotetest.Short, remotetest.Cut, remotetest.Empty, remotetest.HTML,
		remotetest.Status(500), remotetest.Status(502), remotetest.Status(401), remotetest.Status(408),
	} {
		inv := s.invoice(fmt.Sprintf("ts-e%d", i))
		s.fail("after write", slices.Repeat([]remotetest.Fault{fault}, 12)...) // net/http repeats, too.
		progress := accounting.Progress{}
		_, err := s.resume(inv.Reference, s.prepare(inv), &progress)
		s.fail("after write")
		if err == nil || is(err, accounting.ErrRejected) || is(err, accounting.ErrNotSent) {
			s.Errorf("%s after the effect: %v, want an error that leaves the outcome unknown", fault, err)
		}
		s.hidden(err)
		s.settled()
		if n := len(s.live(inv.Reference)); n != 1 {
			s.Errorf("%s: %d documents in the books, want 1", fault, n)
		}
		if found := s.find(inv.Reference); len(found) != 1 {
			s.Errorf("%s: %d found afterwards, want 1", fault, len(found))
		}
	}
}

// noEffect refuses a write before anything is done.
func noEffect(s *scene) {
	for i, tt := range []struct {
		fault remotetest.Fault
		want  []error
	}{
		{remotetest.Status(429), []error{accounting.ErrNotSent, accounting.ErrPaused}},
		{remotetest.Status(401), []error{accounting.ErrPaused}},
		{remotetest.Status(402), []error{accounting.ErrPaused}},
	} {
		inv := s.invoice(fmt.Sprintf("ts-n%d", i))
		s.fail("write", slices.Repeat([]remotetest.Fault{tt.fault}, 12)...)
		_, err := s.create(inv)
		s.fail("write")
		if !is(err, tt.want...) || is(err, accounting.ErrRejected) {
			s.Errorf("%s: %v, want %v", tt.fault, err, tt.want)
		}
		s.hidden(err)
		time.Sleep(time.Hour)
	}
}

// refused names an unknown customer: a person sees the vendor's own sentence.
func refused(s *scene) {
	inv := s.invoice("ts-r")
	inv.Customer = s.customer("99")
	_, err := s.create(inv)
	if !is(err, accounting.ErrRejected) || is(err, accounting.ErrPaused) {
		s.Fatalf("Create for an unknown customer = %v, want it refused", err)
	}
	if n := len(s.live("ts-r")); n != 0 {
		s.Errorf("%d documents of a refused invoice, want 0", n)
	}
}

// quota is spent for the day: nothing is sent any more, and the time is told.
func quota(s *scene) {
	began := time.Now()
	s.mu.Lock()
	s.before["write"] = []remotetest.Fault{remotetest.Quota}
	s.mu.Unlock()
	_, err := s.create(s.invoice("ts-q"))
	var parked interface{ ParkedUntil() time.Time }
	if !is(err, accounting.ErrNotSent, accounting.ErrPaused) || !errors.As(err, &parked) || parked.ParkedUntil().Sub(began) < 18*time.Hour {
		s.Fatalf("Create with the quota spent = %v, want it paused until tomorrow", err)
	}
	sent := len(s.sent())
	if _, err := s.create(s.invoice("ts-q2")); !is(err, accounting.ErrNotSent, accounting.ErrPaused) || len(s.sent()) != sent {
		s.Errorf("the next Create = %v after %d requests, want it paused and none", err, len(s.sent())-sent)
	}
}

// sameKeyTwice sends the same request under the same key again. Where the system remembers keys, it has one
// effect.
func sameKeyTwice(s *scene) {
	if s.system.Traits().KeyMemory == 0 {
		return
	}
	inv := s.invoice("ts-k")
	req := s.prepare(inv)
	one := s.must(s.resume("ts-k", req, &accounting.Progress{}))
	two := s.must(s.resume("ts-k", req, &accounting.Progress{}))
	if n := len(s.live("ts-k")); n != 1 || one.ID != two.ID {
		s.Errorf("the same key twice made %d documents, %s and %s; want 1", n, one.ID, two.ID)
	}
	first := s.sent()[:len(s.sent())/2]
	for i, again := range s.sent()[len(first):] {
		if again != first[i] {
			s.Errorf("the second attempt sent\n%s\nthe first one\n%s", again, first[i])
		}
	}
}

// steps breaks a create of several steps off after each of them, and goes on with the same document.
func steps(s *scene) {
	n := len(s.prepare(s.invoice("ts-x")).Steps)
	for broken := 1; broken < n; broken++ {
		inv := s.invoice(fmt.Sprintf("ts-s%d", broken))
		req, progress := s.prepare(inv), accounting.Progress{}
		faults := make([]remotetest.Fault, broken)
		s.fail("write", append(faults, slices.Repeat([]remotetest.Fault{remotetest.Reset}, 12)...)...)
		if _, err := s.resume(inv.Reference, req, &progress); err == nil {
			s.Fatalf("Create with a broken step %d: no error", broken+1)
		}
		s.fail("write")
		if progress.Done != broken || progress.Document == "" {
			s.Errorf("progress = %+v after step %d, want that step and its document", progress, broken)
		}
		got := s.must(s.resume(inv.Reference, req, &progress))
		if docs := s.live(inv.Reference); len(docs) != 1 || !got.Bills(inv) || !docs[0].Net().Equal(inv.Net()) {
			s.Errorf("resumed after step %d: %+v in %d documents, want one that bills %s", broken, got, len(docs), inv.Net())
		}
	}
}
