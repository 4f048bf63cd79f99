package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// overflow is the id that a process sees in place of one that its user namespace does not map: a daemon with
// PrivateUsers= sees every other account but root so.
const overflow = 65534

// Caller is who has called, by the credentials that the kernel keeps of the other end of the socket.
type Caller struct {
	UID  int    // of the account
	Name string // of the account, or of the person behind it where that may be believed
	// Trusted: the account may say on whose behalf it acts, since it could write the state file itself.
	Trusted bool
}

// As returns how a person is written into the history who acts through this account: an account that may not speak
// for others stays visible.
func (c Caller) As(person string) string {
	switch {
	case person == "" || person == c.Name:
		return c.Name
	case c.Trusted:
		return person
	}
	return c.Name + " (as " + person + ")"
}

// saying takes in what the caller says of itself: root says who is behind sudo, and an account that the kernel does
// not tell is told by nothing else.
func (c Caller) saying(name string) Caller {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
	case c.Trusted:
		c.Name = name
	case c.UID == overflow:
		c.Name = name + " (as they say)"
	}
	return c
}

type peerKey struct{}

// peer is what was found out of a connection.
type peer struct {
	caller Caller
	err    error
}

func withPeer(ctx context.Context, conn net.Conn) context.Context {
	c, err := credentials(conn)
	return context.WithValue(ctx, peerKey{}, peer{c, err})
}

func callerOf(ctx context.Context) (Caller, error) {
	p, known := ctx.Value(peerKey{}).(peer)
	if !known {
		return Caller{}, errors.New("it is not known who calls")
	}
	return p.caller, p.err
}

// credentials asks the kernel who is at the other end.
func credentials(conn net.Conn) (Caller, error) {
	unix, is := conn.(*net.UnixConn)
	if !is {
		return Caller{}, errors.New("not a unix socket: it is not known who calls")
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return Caller{}, fmt.Errorf("peer credentials: %w", err)
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return Caller{}, fmt.Errorf("peer credentials: %w", err)
	}
	uid := int(cred.Uid)
	return Caller{UID: uid, Name: accountOf(uid), Trusted: uid == 0 || uid == os.Getuid()}, nil
}

func accountOf(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", uid)
}
