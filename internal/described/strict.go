package described

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"
)

// strict reports members of both bodies that the document does not name.
func (d *Document) strict(r *http.Request, body []byte, rec *httptest.ResponseRecorder) {
	op := d.operation(r)
	if op == nil {
		return
	}
	if op.RequestBody != nil && len(body) > 0 {
		d.unnamed(r, "request", op.RequestBody.Content, body)
	}
	if op.Responses == nil {
		return
	}
	if answer, there := op.Responses.Codes.Get(fmt.Sprint(rec.Code)); there {
		d.unnamed(r, "answer", answer.Content, rec.Body.Bytes())
	}
}

// operation finds what the document says of a request.
func (d *Document) operation(r *http.Request) *v3.Operation {
	for path, item := range d.model.Paths.PathItems.FromOldest() {
		pattern := "^" + regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`) + "$"
		if regexp.MustCompile(pattern).MatchString(r.URL.Path) {
			if op, there := item.GetOperations().Get(strings.ToLower(r.Method)); there {
				return op
			}
		}
	}
	return nil
}

func (d *Document) unnamed(r *http.Request, what string, content *orderedmap.Map[string, *v3.MediaType], body []byte) {
	if content == nil {
		return
	}
	media, there := content.Get("application/json")
	var value any
	if !there || media.Schema == nil || json.Unmarshal(body, &value) != nil {
		return
	}
	d.walk(r, what, media.Schema.Schema(), value, 0)
}

// walk goes down a value along its schema. What the document does not describe at all is left alone.
func (d *Document) walk(r *http.Request, at string, s *base.Schema, value any, depth int) {
	if s == nil || depth > 12 {
		return
	}
	switch value := value.(type) {
	case []any:
		if s.Items != nil && s.Items.IsA() {
			for _, one := range value {
				d.walk(r, at+"[]", s.Items.A.Schema(), one, depth+1)
			}
		}
	case map[string]any:
		if s.Properties == nil || s.Properties.Len() == 0 {
			return
		}
		for name, one := range value {
			proxy, named := s.Properties.Get(name)
			if !named {
				d.say(r, fmt.Sprintf("%s.%s is no member that the document names", at, name))
				continue
			}
			d.walk(r, at+"."+name, proxy.Schema(), one, depth+1)
		}
	}
}
