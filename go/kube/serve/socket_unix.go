//go:build unix

package serve

import (
	"net"
	"sync"
	"syscall"
)

// umaskHeld keeps concurrent listeners from changing each other's umask.
var umaskHeld sync.Mutex

// listenPrivately creates a socket that at no moment another user can connect to.
func listenPrivately(path string) (net.Listener, error) {
	umaskHeld.Lock()
	defer umaskHeld.Unlock()
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}
