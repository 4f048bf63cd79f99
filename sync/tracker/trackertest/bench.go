package trackertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

var benchWeeks = flag.Int("weeks", 100_000, "weeks that the benchmark of a tracker reads")

// exchange is a request that a tracker made, and its answer.
type exchange struct {
	method, target string
	body           []byte
	header         http.Header
	status         int
	answer         []byte
}

func (x exchange) key() string { return x.method + " " + x.target + " " + string(x.body) }

// Benchmark reads many unchanged weeks over loopback, turn by turn with merely fetching the same answers and
// decoding them, and reports how much longer it takes.
func Benchmark(b *testing.B, d Dialect) {
	script := d.record(b, *benchWeeks)
	replay := map[string]exchange{}
	for _, x := range script {
		replay[x.key()] = x
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		x, known := replay[exchange{method: r.Method, target: r.URL.String(), body: body}.key()]
		if !known {
			http.Error(w, "a request that was not recorded: "+r.URL.String(), http.StatusNotFound)
			return
		}
		maps.Copy(w.Header(), x.header)
		w.WriteHeader(x.status)
		_, _ = w.Write(x.answer)
	}))
	defer server.Close()
	subject := d.New(b, remote.New(remote.Options{NoLimits: true}), server.URL, d.Token)
	var read, fetch time.Duration
	for b.Loop() {
		began := time.Now()
		if n := count(b, subject); n != *benchWeeks {
			b.Fatalf("%d weeks, want %d", n, *benchWeeks)
		}
		middle := time.Now()
		d.fetch(b, server, script)
		read, fetch = read+middle.Sub(began), fetch+time.Since(middle)
	}
	b.ReportMetric(float64(read)/float64(fetch), "read/fetch")
	b.ReportMetric(float64(len(script))/float64(*benchWeeks), "requests/week")
}

// longAgo is the first day of the benchmark's weeks.
func longAgo(n int) civil.Date { return Monday.AddDays(-7 * (n/1000 + 1)) }

func count(b *testing.B, t Tracker) (n int) {
	q := tracker.Query{Now: begin, First: civil.Period{First: longAgo(*benchWeeks), Last: Monday}}
	for page, err := range t.Weeks(b.Context(), q) {
		if err != nil {
			b.Fatal(err)
		}
		n += len(page.Weeks)
	}
	return n
}

// record lets a tracker read a large world once.
func (d Dialect) record(b *testing.B, n int) (script []exchange) {
	handler := d.Handler(crowd(n))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		script = append(script, exchange{r.Method, r.URL.String(), body, rec.Header(), rec.Code, rec.Body.Bytes()})
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}))
	defer server.Close()
	count(b, d.New(b, remote.New(remote.Options{NoLimits: true}), server.URL, d.Token))
	return script
}

// crowd is a world of a thousand members, or as many as there are weeks, who each worked twice in every week.
func crowd(n int) *World {
	w := &World{}
	for i := range n {
		if i < 1000 {
			w.Join(fmt.Sprintf("Member %d", i), "Europe/Berlin")
		}
		m, first := w.Members[i%1000], longAgo(n).AddDays(7*(i/1000+1))
		w.Approve(m, first, w.Work(first), w.Work(first.AddDays(2)))
	}
	return w
}

// fetch asks for what the tracker asked for, and decodes each answer as it does.
func (d Dialect) fetch(b *testing.B, server *httptest.Server, script []exchange) {
	for _, x := range script {
		req, err := http.NewRequestWithContext(b.Context(), x.method, server.URL+x.target, bytes.NewReader(x.body))
		if err != nil {
			b.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			b.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err == nil {
			err = resp.Body.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
		if x.status < 300 {
			if err := json.Unmarshal(body, d.wire(x.target)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func (d Dialect) wire(path string) any {
	if d.Wire != nil {
		return d.Wire(path)
	}
	return new(any)
}
