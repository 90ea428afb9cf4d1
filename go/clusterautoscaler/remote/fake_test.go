package remote_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"ebb/go/clusterautoscaler/remote"
	"ebb/go/ebb/plannerpb"
	"ebb/go/ebb/plannerpb/plannergrpc"
)

// fakeDaemon answers as a daemon that has no nodes, except where a test sets another answer.
type fakeDaemon struct {
	plannergrpc.UnimplementedPlannerServer
	protocol  uint32
	passTable func(context.Context, *plannerpb.PlanInput) (*plannerpb.PassTable, error)
	sync      func(plannergrpc.Planner_SyncServer) error
	status    func() error
}

func (f *fakeDaemon) Version(context.Context, *plannerpb.VersionRequest) (*plannerpb.VersionReply, error) {
	return &plannerpb.VersionReply{Version: "9.9.9", Protocol: f.protocol}, nil
}

func (f *fakeDaemon) Open(context.Context, *plannerpb.OpenRequest) (*plannerpb.SessionStatus, error) {
	return &plannerpb.SessionStatus{ClusterToken: "token"}, nil
}

func (f *fakeDaemon) Close(context.Context, *plannerpb.CloseRequest) (*plannerpb.CloseReply, error) {
	return nil, status.Error(codes.NotFound, "session autoscaler: does not exist")
}

func (f *fakeDaemon) Status(context.Context, *plannerpb.StatusRequest) (*plannerpb.StatusReply, error) {
	if f.status != nil {
		return nil, f.status()
	}
	return &plannerpb.StatusReply{}, nil
}

func (f *fakeDaemon) Sync(stream plannergrpc.Planner_SyncServer) error {
	if f.sync != nil {
		return f.sync(stream)
	}
	for {
		if _, err := stream.Recv(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if err := stream.Send(&plannerpb.SyncReply{ClusterToken: "token"}); err != nil {
			return err
		}
	}
}

func (f *fakeDaemon) PassTable(ctx context.Context, question *plannerpb.PlanInput) (*plannerpb.PassTable, error) {
	if f.passTable != nil {
		return f.passTable(ctx, question)
	}
	return &plannerpb.PassTable{Termination: "complete"}, nil
}

func fake() *fakeDaemon { return &fakeDaemon{protocol: remote.Protocol} }

func socket(t *testing.T) string { return filepath.Join(t.TempDir(), "ebb.sock") }

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// serve serves the daemon until the test ends, and returns its address.
func serve(t *testing.T, daemon *fakeDaemon) string {
	t.Helper()
	path := socket(t)
	server := grpc.NewServer()
	plannergrpc.RegisterPlannerServer(server, daemon)
	listener := listen(t, path)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		served.Wait()
	})
	return "unix:" + path
}

// cut is a proxy before a daemon. Once it is armed, it passes on only half of what the daemon sends
// next, and closes the connection.
type cut struct {
	mutex sync.Mutex
	armed bool
}

func (c *cut) arm() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.armed = true
}

func (c *cut) isArmed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.armed
}

func (c *cut) before(t *testing.T, address string) string {
	path := socket(t)
	listener := listen(t, path)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			daemon, err := net.Dial("unix", address[len("unix:"):])
			if err != nil {
				_ = client.Close()
				return
			}
			go func() {
				_, _ = io.Copy(daemon, client)
				_ = daemon.Close()
			}()
			go c.answers(daemon, client)
		}
	}()
	return "unix:" + path
}

func (c *cut) answers(from, to net.Conn) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && c.isArmed() {
			_, _ = to.Write(buffer[:n/2])
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}
