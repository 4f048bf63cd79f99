// Package described holds exchanges with a fake of a vendor against the vendor's own OpenAPI document, so that
// the fake is not merely our own belief. It is for tests.
//
// Its one hard rule: the documents are the vendors' and no part of the project. Where the folder that the
// environment names does not hold one, the test is skipped, and says so.
package described

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
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// Folder names the environment variable that says where the vendors' documents are.
const Folder = "TIDEMARK_OPENAPI"

// Document is a vendor's description of its API.
type Document struct {
	t         testing.TB
	name      string
	validator validator.Validator
	model     *v3.Document

	// Strict also finds members that the document does not name: most documents allow any.
	Strict bool
	// Strip is taken off the beginning of each path, where a fake serves below another one than the document.
	Strip string

	mu      sync.Mutex
	checked int
	other   map[string]bool // requests that the document does not describe
	said    map[string]bool
}

// Open reads a document, or skips the test.
func Open(t testing.TB, name string) *Document {
	t.Helper()
	folder := os.Getenv(Folder)
	content, err := os.ReadFile(filepath.Join(folder, name))
	if folder == "" || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("set %s to a folder that holds %s, the vendor's OpenAPI document, to run this", Folder, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, err := libopenapi.NewDocument(content)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	model, err := doc.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	return &Document{t: t, name: name, validator: v, model: &model.Model, other: map[string]bool{}, said: map[string]bool{}}
}

// Watch returns a handler that answers as another does, and holds each exchange against the document.
func (d *Document) Watch(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fresh := func() *http.Request {
			one := r.Clone(r.Context())
			one.Body = io.NopCloser(bytes.NewReader(body))
			return one
		}
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, fresh())
		d.check(fresh(), body, rec)
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// Done says what was held against the document. Nothing at all is an error.
func (d *Document) Done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.checked == 0 {
		d.t.Errorf("no exchange was one that %s describes", d.name)
	}
	d.t.Logf("%d exchanges were held against %s; not described there: %v", d.checked, d.name, slices.Sorted(maps.Keys(d.other)))
}

func (d *Document) check(r *http.Request, body []byte, rec *httptest.ResponseRecorder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.URL.Path = strings.TrimPrefix(r.URL.Path, d.Strip)
	resp := &http.Response{StatusCode: rec.Code, Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())), Request: r}
	_, errs := d.validator.ValidateHttpRequestResponse(r, resp)
	for _, e := range errs {
		if e.IsPathMissingError() || e.IsOperationMissingError() {
			d.other[r.Method+" "+r.URL.Path] = true
			return
		}
		text := e.Message + ": " + e.Reason
		for _, schema := range e.SchemaValidationErrors {
			text += fmt.Sprintf("; %s at %s", schema.Reason, schema.FieldPath)
		}
		d.say(r, text)
	}
	d.checked++
	if d.Strict {
		d.strict(r, body, rec)
	}
}

// say reports a fault once, and not more than twenty.
func (d *Document) say(r *http.Request, text string) {
	key := r.Method + " " + r.URL.Path + " " + text
	if d.said[key] || len(d.said) >= 20 {
		return
	}
	d.said[key] = true
	d.t.Errorf("%s %s: %s", r.Method, r.URL.Path, text)
}
