package remotetest

import (
	"fmt"
	"io"
	"net/http"
)

// Fault is a way in which a server answers other than it should.
type Fault string

// The faults of servers.
const (
	HTML    Fault = "a page in place of JSON"
	Empty   Fault = "an empty body"
	Cut     Fault = "JSON that is cut short"
	Short   Fault = "a connection that breaks in the body"
	Reset   Fault = "a connection that breaks before the answer"
	Silence Fault = "no answer at all"
	Quota   Fault = "a quota that is spent for the day"
)

// Status returns the fault of an answer with this status.
func Status(code int) Fault { return Fault(fmt.Sprint(code)) }

// Answer answers as the fault says.
func (f Fault) Answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var code int
	switch f {
	case HTML:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>Sign in</title>"))
	case Empty:
	case Cut:
		_, _ = w.Write([]byte(`[{"id":`))
	case Short:
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`[{"id":1},`))
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler)
	case Silence:
		_, _ = io.Copy(io.Discard, r.Body) // Only then does the server notice that the client hung up.
		<-r.Context().Done()
	case Quota:
		w.Header().Set("Retry-After", "66975")
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		if _, err := fmt.Sscan(string(f), &code); err != nil {
			panic(err)
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"message":"status %d was asked for"}`, code)
	}
}
