package daemon

import (
	"strings"
	"time"

	"tidemark/systemd"
)

// notify tells systemd something. That it cannot be told is no reason to stop.
func (l *loop) notify(say func(*systemd.Notifier) error) {
	if err := say(l.daemon.Notify); err != nil {
		l.log.Warn().Err(err).Msg("systemd was not told")
	}
}

// ready ends the start, or a reload, however it ended.
func (l *loop) ready() {
	l.notify(func(n *systemd.Notifier) error { return n.Ready(l.status) })
}

// alive is said by the loop itself, at every turn: a loop that hangs says nothing.
func (l *loop) alive() { l.notify((*systemd.Notifier).Watchdog) }

// longest is how long the loop may sleep.
func (l *loop) longest() time.Duration {
	if every := l.daemon.Notify.Every(); every > 0 {
		return min(longestSleep, every)
	}
	return longestSleep
}

// tellStatus tells the last run in words.
func (l *loop) tellStatus(r result) {
	outcome, _ := r.kind()
	words := []string{r.name, outcome, stamp(l.clock.now())}
	if r.err != nil {
		words = append(words, r.err.Error())
	}
	l.status = strings.Join(words, " ")
	l.notify(func(n *systemd.Notifier) error { return n.Status(l.status) })
}
