package remote

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// ID is a vendor's id. Vendors write them as text or as a number of any size; here it is text, digit for
// digit. It is empty where there is none.
type ID string

// UnmarshalJSON reads text, a whole number or null.
func (id *ID) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		*id = ""
		return nil
	case len(data) > 0 && data[0] == '"':
		return json.Unmarshal(data, (*string)(id))
	case len(data) == 0 || strings.Trim(string(data), "0123456789") != "":
		return fmt.Errorf("%s is not an id", data)
	}
	*id = ID(data)
	return nil
}

// Time is a moment in any of the forms in which vendors write one. Where only a day is written it is the
// beginning of that day in UTC, and Day is set. It is zero where there is none.
type Time struct {
	time.Time
	Day bool
}

// UnmarshalJSON reads text or null.
func (t *Time) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*t = Time{}
	if string(data) == "null" {
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05 -0700", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			*t = Time{at, layout == time.DateOnly}
			return nil
		}
	}
	return fmt.Errorf("%q is not a time", Short(text))
}
