//go:build unix

package serve

import (
	"net"
	"sync"
	"syscall"
)

// umaskHeld keeps two listeners from setting each other's mask.
var umaskHeld sync.Mutex

// listenPrivately makes a socket that nobody else can connect to, not for a moment either.
func listenPrivately(path string) (net.Listener, error) {
	umaskHeld.Lock()
	defer umaskHeld.Unlock()
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}
