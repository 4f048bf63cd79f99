package remote_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

func TestStatusHasOneMeaning(t *testing.T) {
	kinds := []remote.Kind{
		remote.Unauthorised, remote.Forbidden, remote.NotFound, remote.Rejected, remote.Limited, remote.Unavailable,
		remote.Malformed, remote.Unknown, remote.Moved, remote.Stopped,
	}
	for _, tt := range []struct {
		status       int
		read, create remote.Kind
	}{
		{301, remote.Moved, remote.Moved},
		{302, remote.Moved, remote.Unknown},
		{303, remote.Moved, remote.Unknown},
		{304, remote.Moved, remote.Unknown},
		{307, remote.Moved, remote.Moved},
		{308, remote.Moved, remote.Moved},
		{400, remote.Rejected, remote.Rejected},
		{401, remote.Unauthorised, remote.Unauthorised},
		{402, remote.Forbidden, remote.Forbidden},
		{403, remote.Forbidden, remote.Forbidden},
		{404, remote.NotFound, remote.NotFound},
		{405, remote.Rejected, remote.Rejected},
		{408, remote.Unavailable, remote.Unknown},
		{409, remote.Rejected, remote.Rejected},
		{410, remote.NotFound, remote.NotFound},
		{413, remote.Rejected, remote.Rejected},
		{418, remote.Rejected, remote.Rejected},
		{422, remote.Rejected, remote.Rejected},
		{425, remote.Unavailable, remote.Unknown},
		{429, remote.Limited, remote.Limited},
		{500, remote.Unavailable, remote.Unknown},
		{501, remote.Unavailable, remote.Unknown},
		{503, remote.Unavailable, remote.Unknown},
		{504, remote.Unavailable, remote.Unknown},
		{599, remote.Unavailable, remote.Unknown},
	} {
		for i, request := range []remote.Request{readRequest, createRequest} {
			want := []remote.Kind{tt.read, tt.create}[i]
			bubble(t, string(remotetest.Status(tt.status))+" of a "+request.Method, func(t *testing.T) {
				v := serve(t, always(remotetest.Status(tt.status)))
				_, err := v.client(t, remote.Account{}).Do(t.Context(), request)
				for _, kind := range kinds {
					if errors.Is(err, kind) != (kind == want) {
						t.Errorf("errors.Is(%v, %v) = %v", err, kind, kind != want)
					}
				}
				e, is := errors.AsType[*remote.Error](err)
				if !is || e.Status != tt.status || !strings.Contains(err.Error(), string(want)) {
					t.Errorf("error %v of status %d, want %v of %d", err, e.Status, want, tt.status)
				}
			})
		}
	}
}

func TestErrorWithoutCauseHasNone(t *testing.T) {
	err := error(&remote.Error{Kind: remote.Rejected, Vendor: "v", Asked: "GET /x"})
	if _, is := errors.AsType[*net.OpError](err); is || errors.Is(err, context.Canceled) || err.Error() != "v: GET /x: refused" {
		t.Errorf("%v has a cause", err)
	}
}

func TestErrorSaysWhatTheVendorSays(t *testing.T) {
	long := strings.Repeat("ä", 400)
	for _, tt := range []struct{ body, want string }{
		{`{"message":"no such client"}`, "no such client"},
		{`{"Message":"validation","Detail":"due date"}`, "validation"},
		{`{"error":{"message":"nested"}}`, "nested"},
		{`{"errors":[{"detail":"first"},{"detail":"second"}]}`, "first"},
		{`{"errorMessages":["plain"]}`, "plain"},
		{`"text"`, "text"},
		{`not JSON`, "not JSON"},
		{"two\n\tlines\x00\x1b[31m", "two lines [31m"},
		{"\xff\xfe bad bytes", "? bad bytes"},
		{`<html>502</html>`, "an HTML page"},
		{`{"code":7}`, ""},
		{`{"a":{"a":{}},"message":{"message":{"message":{"message":{"message":{"message":"too deep"}}}}}}`, ""},
		{``, ""},
		{long, strings.Repeat("ä", 299) + "…"},
	} {
		bubble(t, tt.want, func(t *testing.T) {
			v := serve(t, bodyWith(400, tt.body))
			_, err := v.client(t, remote.Account{}).Do(t.Context(), createRequest)
			e, is := errors.AsType[*remote.Error](err)
			if !is || e.Text != tt.want || string(e.Body) != tt.body {
				t.Errorf("text %q of body %q, want %q of %q", e.Text, e.Body, tt.want, tt.body)
			}
		})
	}
}
