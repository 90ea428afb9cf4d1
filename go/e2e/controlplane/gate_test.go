package controlplane

import (
	"errors"
	"io"
	"net"
	"testing"
)

// echo serves connections of the gate until the gate closes.
func echo(g *gate) chan error {
	done := make(chan error, 1)
	go func() {
		for {
			connection, err := g.Accept()
			if err != nil {
				done <- err
				return
			}
			go func() { _, _ = io.Copy(connection, connection) }()
		}
	}()
	return done
}

func dial(t *testing.T, g *gate) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", g.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func answers(t *testing.T, connection net.Conn) error {
	t.Helper()
	if _, err := connection.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(connection, make([]byte, 1))
	return err
}

func newTestGate(t *testing.T) *gate {
	t.Helper()
	g, err := newGate()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestShutGateRefusesAndAnOpenedOneServesAgain(t *testing.T) {
	g := newTestGate(t)
	done := echo(g)
	before := dial(t, g)
	if err := answers(t, before); err != nil {
		t.Fatal(err)
	}
	g.Shut()
	if err := answers(t, before); err == nil {
		t.Error("a connection lives through a shut gate")
	}
	if _, err := net.Dial("tcp", g.Addr().String()); err == nil {
		t.Error("a shut gate takes a connection")
	}
	if err := g.Open(); err != nil {
		t.Fatal(err)
	}
	if err := answers(t, dial(t, g)); err != nil {
		t.Errorf("an opened gate does not serve: %v", err)
	}
	_ = g.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed gate: %v", err)
	}
}

func TestDropClosesConnectionsAndTakesNewOnes(t *testing.T) {
	g := newTestGate(t)
	done := echo(g)
	before := dial(t, g)
	if err := answers(t, before); err != nil {
		t.Fatal(err)
	}
	if dropped := g.Drop(); dropped != 1 {
		t.Errorf("dropped %d connections, not 1", dropped)
	}
	if err := answers(t, before); err == nil {
		t.Error("a dropped connection answers")
	}
	if err := answers(t, dial(t, g)); err != nil {
		t.Errorf("a new connection does not answer: %v", err)
	}
	_ = g.Close()
	<-done
}

func TestClosedGateEndsAcceptWhileShut(t *testing.T) {
	g := newTestGate(t)
	g.Shut()
	done := echo(g)
	_ = g.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed gate: %v", err)
	}
}
