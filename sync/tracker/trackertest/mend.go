package trackertest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// mended answers as the vendor would, with every JSON body changed.
func (s *scene) mended(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	s.Handler(s.world).ServeHTTP(recorder, r)
	body := recorder.Body.Bytes()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if d.Decode(&value) == nil {
		changed, err := json.Marshal(s.mend(value))
		if err != nil {
			s.Error(err)
		}
		body = changed
	}
	maps.Copy(w.Header(), recorder.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(body)
}

// walk changes every object of a JSON value.
func walk(value any, change func(object map[string]any)) any {
	switch value := value.(type) {
	case map[string]any:
		for name, one := range value {
			value[name] = walk(one, change)
		}
		change(value)
	case []any:
		for i, one := range value {
			value[i] = walk(one, change)
		}
	}
	return value
}

// isID reports whether a member of an object is an id by its name.
func isID(name string) bool {
	return name == "id" || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "_id")
}

// swapIDs writes ids that are numbers as text, and text that is a number as number.
func swapIDs(object map[string]any) {
	for name, value := range object {
		if !isID(name) {
			continue
		}
		switch value := value.(type) {
		case json.Number:
			object[name] = value.String()
		case string:
			if value != "" && value[0] != '0' && strings.Trim(value, "0123456789") == "" {
				object[name] = json.Number(value)
			}
		}
	}
}

// addMembers adds members that nobody knows.
func addMembers(object map[string]any) {
	object["xNew"] = map[string]any{"state": "APPROVED", "id": json.Number("1"), "list": []any{nil, "x"}}
}

// without removes members by their names.
func without(names []string) func(map[string]any) {
	return func(object map[string]any) {
		for _, name := range names {
			delete(object, name)
		}
	}
}

// keys returns the keys of a map in order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
