package outcome_test

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/outcome"
)

func TestOfWrite(t *testing.T) {
	all := []error{accounting.ErrRejected, accounting.ErrNotSent, accounting.ErrPaused}
	tests := []struct {
		kind   remote.Kind
		status int
		want   []error // and no other
	}{
		{remote.Rejected, 400, []error{accounting.ErrRejected}},
		{remote.Rejected, 422, []error{accounting.ErrRejected}},
		{remote.Rejected, 409, nil}, // a key in use says nothing of the first request
		{remote.Limited, 429, []error{accounting.ErrNotSent, accounting.ErrPaused}},
		{remote.Unavailable, 0, []error{accounting.ErrNotSent}},
		{remote.Unauthorised, 401, []error{accounting.ErrPaused}},
		{remote.Unauthorised, 0, []error{accounting.ErrNotSent, accounting.ErrPaused}},
		{remote.Forbidden, 402, []error{accounting.ErrPaused}},
		{remote.Forbidden, 403, []error{accounting.ErrPaused}},
		{remote.Unknown, 500, nil},
		{remote.Unknown, 0, nil},
		{remote.Malformed, 200, nil},
		{remote.Stopped, 0, nil},
		{remote.NotFound, 404, nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.kind, tt.status), func(t *testing.T) {
			sent := &remote.Error{Kind: tt.kind, Status: tt.status}
			got := outcome.OfWrite(sent)
			if !errors.Is(got, tt.kind) {
				t.Errorf("OfWrite = %v, which no longer is %v", got, tt.kind)
			}
			for _, one := range all {
				wanted := false
				for _, w := range tt.want {
					wanted = wanted || errors.Is(w, one)
				}
				if errors.Is(got, one) != wanted {
					t.Errorf("OfWrite = %v: is %q %v, want %v", got, one, !wanted, wanted)
				}
			}
		})
	}
	if err := outcome.OfWrite(nil); err != nil {
		t.Errorf("OfWrite(nil) = %v, want nil", err)
	}
}

func TestOfRead(t *testing.T) {
	for kind, paused := range map[remote.Kind]bool{
		remote.Limited: true, remote.Unauthorised: true, remote.Forbidden: true, remote.Unavailable: false, remote.Malformed: false, remote.NotFound: false, remote.Rejected: false,
	} {
		if err := outcome.OfRead(&remote.Error{Kind: kind}); errors.Is(err, accounting.ErrPaused) != paused || !errors.Is(err, kind) {
			t.Errorf("OfRead(%v) = %v, want it paused: %v", kind, err, paused)
		}
	}
}
