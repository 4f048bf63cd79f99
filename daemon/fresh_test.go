package daemon_test

import (
	"testing"
	"time"

	"tidemark/config"
	"tidemark/daemon"
)

func TestJobIsStaleAtTheThirdStartWithoutAGoodRun(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ what, schedule, good, want string }{
		{"every quarter", "*/15 * * * *", "2026-12-01T12:01:00+01:00", "2026-12-01T12:45:00+01:00"},
		{"ended at a start", "*/15 * * * *", "2026-12-01T12:00:00+01:00", "2026-12-01T12:45:00+01:00"},
		{"on weekdays, since Friday", "0 8 * * 1-5", "2026-12-04T08:02:00+01:00", "2026-12-09T08:00:00+01:00"},
		{"over the night that is an hour longer", "30 2 * * *", "2026-10-23T03:00:00+02:00", "2026-10-26T02:30:00+01:00"},
		{"over the night that is an hour shorter", "30 2 * * *", "2026-03-27T03:00:00+01:00", "2026-03-30T02:30:00+02:00"},
	}
	for _, tt := range tests {
		schedule, err := config.ParseSchedule(tt.schedule)
		if err != nil {
			t.Fatal(err)
		}
		good, _ := time.Parse(time.RFC3339, tt.good)
		want, _ := time.Parse(time.RFC3339, tt.want)
		if got := (daemon.Job{Schedule: schedule, Location: berlin}).Stale(good); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", tt.what, got.In(berlin), want)
		}
	}
}
