package tryton

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tidemark/internal/remote"
)

// patience is how long a login that was refused is not tried again. Tryton locks a user out after five within
// five minutes, and with it whoever shares the login.
const patience = 50 * time.Minute

// session is one sign-in, which is made when it is first needed and again when it has ended.
type session struct {
	client         *remote.Client
	path           string
	user, password string

	mu      sync.Mutex
	header  string    // of requests; empty: not signed in
	refused time.Time // when the password was refused
	why     error
}

// open signs in, unless that was done. It is apart from Authorize so that an error keeps its kind.
func (s *session) open(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header != "" {
		return nil
	}
	if s.why != nil && time.Since(s.refused) < patience {
		return fmt.Errorf("not tried again, or Tryton would lock the user out: change the password in the config: %w", s.why)
	}
	err := s.login(ctx)
	if errors.Is(err, remote.Unauthorised) {
		s.why, s.refused = err, time.Now()
	}
	return err
}

func (s *session) login(ctx context.Context) error {
	const method = "common.db.login"
	body, err := json.Marshal(request{loginID, method, []any{s.user, map[string]string{"password": s.password}, language}})
	if err != nil {
		return fmt.Errorf("tryton: %s: %w", method, err)
	}
	var a answer
	if _, err := s.client.Send(ctx, remote.Request{Method: http.MethodPost, Path: s.path, Body: body}, &a); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var pair [2]any
	if err := a.result(s.client, request{loginID, method, nil}, true, &pair); err != nil {
		return err
	}
	id, numeric := pair[0].(float64)
	key, text := pair[1].(string)
	if !numeric || !text || key == "" {
		return s.client.Misread(method, errors.New("the answer is not a user and a session"))
	}
	s.why = nil
	s.header = "Session " + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s:%d:%s", s.user, int64(id), key))
	return nil
}

// Authorize returns the header of a request of the session.
func (s *session) Authorize(ctx context.Context) (string, error) {
	if err := s.open(ctx); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header, nil
}

// Refused says that the session with this header has ended.
func (s *session) Refused(header string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header == header {
		s.header = ""
	}
}
