package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"tidemark/daemon"
	"tidemark/state"
)

// backupJobs returns what makes copies of the state by itself; nothing where no schedule is set.
func backupJobs(h *home, w *work) []daemon.Job {
	c := w.config.Backup
	if c.Schedule.String() == "" {
		return nil
	}
	return []daemon.Job{{
		Name: "(backup)", Schedule: c.Schedule, Location: time.UTC, Deadline: time.Hour,
		Last: func() (time.Time, error) {
			return over(h, func(s *session) (time.Time, error) { return s.store.LastBackup(string(c.Folder)) })
		},
		Run: func(_ context.Context, now time.Time) (daemon.Outcome, error) {
			return over(h, func(s *session) (daemon.Outcome, error) {
				r, err := s.store.Rotate(string(c.Folder), c.Keep, now)
				if errors.Is(err, state.ErrDamaged) {
					// Not the end of the daemon: the folder may be on a bad disk, and the next start would meet it again.
					err = fmt.Errorf("%v; see `tidemark state check`", err)
				}
				return rotated(r), err
			})
		},
	}}
}

// rotated is the outcome of a backup, for the log.
type rotated state.Rotated

// MarshalZerologObject writes where the backup is, its size, and how many older ones were deleted.
func (r rotated) MarshalZerologObject(ev *zerolog.Event) {
	if r.Path != "" {
		ev.Str("backup", r.Path).Int64("bytes", r.Size).Int("deleted", len(r.Deleted))
	}
}
