package trackertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/tracker"
)

// folderOfDescriptions names the environment variable that says where the vendors' OpenAPI documents are.
const folderOfDescriptions = "TIDEMARK_OPENAPI"

// Described holds the requests of a tracker, and the answers of its fake, against the vendor's own description
// of its API, so that the fake is not merely our own belief. The document is not part of the project: the test
// is skipped where the folder that the environment names does not hold it.
func Described(t *testing.T, d Dialect, file string) {
	document, err := os.ReadFile(filepath.Join(os.Getenv(folderOfDescriptions), file))
	if os.Getenv(folderOfDescriptions) == "" || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("set %s to a folder that holds %s, the vendor's OpenAPI document, to run this", folderOfDescriptions, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, err := libopenapi.NewDocument(document)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k := &checker{t: t, validator: v, said: map[string]bool{}}
	synctest.Test(t, func(t *testing.T) { k.live(t, d) })
	if k.checked == 0 {
		t.Error("no request was one that the document describes")
	}
	t.Logf("%d requests and answers were held against %s; not described there: %v", k.checked, file, keys(k.other))
}

// checker holds what passes by against a document.
type checker struct {
	t         *testing.T
	validator validator.Validator
	mu        sync.Mutex
	checked   int
	other     map[string]bool // requests that the document does not describe
	said      map[string]bool
}

// live lets a tracker read a world that has a bit of everything.
func (k *checker) live(t *testing.T, d Dialect) {
	time.Sleep(time.Until(begin))
	w := &World{PageSize: 2}
	handler := d.Handler(w)
	transport := remotetest.Serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { k.serve(rw, r, handler) }))
	from := d.New(t, remote.New(remote.Options{Transport: transport}), remotetest.Base, d.Token)
	s := &scene{T: t, Dialect: d, world: w, tracker: from}
	s.team(5)
	marks(s)
	growth2 := w.Approve(w.Join("Growing", "Asia/Tokyo"), Monday, w.Work(Monday))
	w.Grow(growth2, w.Work(Monday))
	w.Set(w.Sheets[1], tracker.Withdrawn)
	nothing := w.Work(Monday)
	nothing.Rate.Valid, nothing.Task, nothing.Note = false, tracker.Ref{}, ""
	w.Submit(w.Join("Pending", "UTC"), Week(Monday), nothing)
	weeks := s.all()
	s.changed(now().Add(-time.Hour))
	if _, err := from.Week(t.Context(), weeks[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := from.Access(t.Context()); err != nil {
		t.Error(err)
	}
}

func (k *checker) serve(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	body, _ := io.ReadAll(r.Body)
	fresh := func() *http.Request {
		one := r.Clone(r.Context())
		one.Body = io.NopCloser(bytes.NewReader(body))
		return one
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, fresh())
	answer := rec.Body.Bytes()
	k.check(fresh(), &http.Response{StatusCode: rec.Code, Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(answer)), Request: r})
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(answer)
}

func (k *checker) check(r *http.Request, resp *http.Response) {
	k.mu.Lock()
	defer k.mu.Unlock()
	good, errs := k.validator.ValidateHttpRequestResponse(r, resp)
	for _, e := range errs {
		if e.IsPathMissingError() || e.IsOperationMissingError() {
			if k.other == nil {
				k.other = map[string]bool{}
			}
			k.other[r.Method+" "+r.URL.Path] = true
			return
		}
		text := fmt.Sprintf("%s %s: %s: %s", r.Method, r.URL.Path, e.Message, e.Reason)
		for _, schema := range e.SchemaValidationErrors {
			text += fmt.Sprintf("; %s at %s", schema.Reason, schema.FieldPath)
		}
		if key := strings.Join([]string{r.URL.Path, e.Message, e.Reason}, " "); !k.said[key] && len(k.said) < 20 {
			k.said[key] = true
			k.t.Error(text)
		}
	}
	if good {
		k.checked++
	}
}
