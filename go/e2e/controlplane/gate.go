package controlplane

import (
	"net"
	"sync"
)

// gate is the API server's listener. It can be closed and opened again on the same port while the
// server behind it runs. To clients the API server disappears and comes back; the server itself
// only waits in Accept.
//
// Threads: all methods may run concurrently.
type gate struct {
	address net.Addr

	mu          sync.Mutex
	changed     *sync.Cond
	listener    net.Listener // nil while the gate is shut
	closed      bool
	connections map[*gateConnection]struct{}
}

func newGate() (*gate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{address: listener.Addr(), listener: listener, connections: map[*gateConnection]struct{}{}}
	g.changed = sync.NewCond(&g.mu)
	return g, nil
}

// Shut closes the port and every connection. A second call has no effect.
func (g *gate) Shut() {
	g.mu.Lock()
	if g.listener != nil {
		_ = g.listener.Close()
		g.listener = nil
	}
	g.mu.Unlock()
	g.Drop()
}

// Open listens on the same port again. It returns an error if another process uses the port now.
func (g *gate) Open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener != nil || g.closed {
		return nil
	}
	listener, err := net.Listen("tcp", g.address.String())
	if err != nil {
		return err
	}
	g.listener = listener
	g.changed.Broadcast()
	return nil
}

// Drop closes every connection, and thus every watch, and returns their number. New connections are
// accepted.
func (g *gate) Drop() int {
	g.mu.Lock()
	connections := make([]*gateConnection, 0, len(g.connections))
	for connection := range g.connections {
		connections = append(connections, connection)
	}
	g.mu.Unlock()
	for _, connection := range connections {
		_ = connection.Close()
	}
	return len(connections)
}

// Accept blocks while the gate is shut.
func (g *gate) Accept() (net.Conn, error) {
	for {
		listener := g.waitUntilOpen()
		if listener == nil {
			return nil, net.ErrClosed
		}
		connection, err := listener.Accept()
		if err != nil {
			if g.isCurrent(listener) {
				return nil, err
			}
			continue // Shut closed the listener during Accept.
		}
		if kept := g.keep(listener, connection); kept != nil {
			return kept, nil
		}
		_ = connection.Close() // Accepted just before Shut, which did not see it.
	}
}

func (g *gate) waitUntilOpen() net.Listener {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.listener == nil && !g.closed {
		g.changed.Wait()
	}
	if g.closed {
		return nil
	}
	return g.listener
}

func (g *gate) isCurrent(listener net.Listener) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listener == listener && !g.closed
}

func (g *gate) keep(listener net.Listener, connection net.Conn) *gateConnection {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener != listener {
		return nil
	}
	kept := &gateConnection{Conn: connection, gate: g}
	g.connections[kept] = struct{}{}
	return kept
}

// Close ends Accept for good; the server calls it when it stops.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.listener != nil {
		_ = g.listener.Close()
		g.listener = nil
	}
	g.changed.Broadcast()
	return nil
}

// Addr returns the port's address, whether the gate is open or shut.
func (g *gate) Addr() net.Addr { return g.address }

// gateConnection removes itself from its gate when it is closed.
type gateConnection struct {
	net.Conn
	gate *gate
}

func (c *gateConnection) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.connections, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}
