package remote_test

import (
	"strings"
	"testing"

	"tidemark/internal/remote"
)

func TestAnswerHasAMaximumSize(t *testing.T) {
	for _, tt := range []struct {
		name     string
		size     int
		max      int64
		wantRead remote.Kind
		wantSent remote.Kind
	}{
		{"exactly", 1000, 1000, "no error", "no error"},
		{"one more", 1001, 1000, remote.Malformed, remote.Unknown},
		{"as usual", 32 << 20, 0, "no error", "no error"},
		{"one more than usual", 32<<20 + 1, 0, remote.Malformed, remote.Unknown},
	} {
		for i, request := range []remote.Request{readRequest, keyedRequest} {
			bubble(t, tt.name+" to a "+request.Method, func(t *testing.T) {
				v := serve(t, text(`"`+strings.Repeat("x", tt.size-2)+`"`))
				answer, err := v.client(t, remote.Account{MaxBody: tt.max}).Do(t.Context(), request)
				want := []remote.Kind{tt.wantRead, tt.wantSent}[i]
				if kindOf(err) != want || len(v.got()) != 1 || err == nil && len(answer.Body) != tt.size {
					t.Errorf("%d bytes after %d requests, %v; want %d after 1, %v", len(answer.Body), len(v.got()), err, tt.size, want)
				}
				if err != nil && !strings.Contains(err.Error(), "too large") {
					t.Errorf("error %v, want one that says why", err)
				}
			})
		}
	}
}
