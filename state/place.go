package state

import (
	"fmt"
	"path/filepath"
	"syscall"
)

// place is the kind of the file system that a file is on, as statfs numbers them.
type place uint32

// placed returns the kind of the file system of path, 0 if it cannot be told.
func placed(path string) place {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		return 0
	}
	return place(uint32(st.Type))
}

// network names a file system that several machines may share; it is empty for any other.
func (p place) network() string {
	switch p {
	case 0x6969:
		return "NFS"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "SMB"
	case 0x5346414f:
		return "AFS"
	case 0x00c36400:
		return "Ceph"
	case 0x01021997:
		return "9P"
	}
	return ""
}

// notes says what is wrong with the place of the file at path.
func (p place) notes(path string) []string {
	if name := p.network(); name != "" {
		return []string{fmt.Sprintf("%s is on %s, which several machines may share: the lock and the memory map need a local disk", path, name)}
	}
	return nil
}
